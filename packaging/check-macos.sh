#!/usr/bin/env bash
# Runs clippy for macOS on another system, with warnings denied. Nothing is linked or run.
#   check-macos.sh [TARGET]
# TARGET is aarch64-apple-darwin by default; the other one is x86_64-apple-darwin. Installs its standard library with
# rustup, and zig from PyPI into target/macos: zig compiles C and C++ with the headers of macOS, which it contains.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-aarch64-apple-darwin}
folder=$PWD/target/macos
zig=$folder/venv/bin/python-zig

rustup target add "$target"
if ! test -x "$zig"; then
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install -q ziglang
fi

# Build scripts pass the target and its version in the form of Clang, which zig does not understand.
mkdir -p "$folder/$target"
for tool in cc c++; do
    cat >"$folder/$target/$tool" <<END
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
    case \$argument in
        --target=* | -mmacosx-version-min=*) ;;
        *) arguments+=("\$argument") ;;
    esac
done
exec "$zig" $tool -target ${target%%-*}-macos "\${arguments[@]}"
END
done
printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig" >"$folder/$target/ar"
chmod +x "$folder/$target"/*

# zig lacks a header that jemalloc includes. Without linking, any file does.
touch "$folder/libjemalloc.dylib"
export JEMALLOC_OVERRIDE=$folder/libjemalloc.dylib

name=${target//-/_}
export "CC_$name=$folder/$target/cc" "CXX_$name=$folder/$target/c++" "AR_$name=$folder/$target/ar"
cargo clippy --target "$target" --workspace --all-targets -- -D warnings
