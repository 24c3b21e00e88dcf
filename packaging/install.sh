#!/bin/sh
# Installs poc-memory from a released archive:
#   install.sh SOURCE [PREFIX]
# SOURCE is a folder or an https address with `SHA256SUMS` and the archives. PREFIX is ~/.local by default: the programs
# go to PREFIX/bin, manual pages and completions to PREFIX/share. Nothing is changed unless the checksum is right.
set -eu

fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

[ $# -ge 1 ] && [ $# -le 2 ] || fail "one or two arguments are expected" "install.sh SOURCE [PREFIX]"
source=${1%/}
prefix=${2:-$HOME/.local}

case $(uname -s) in
    Linux) system=unknown-linux-gnu ;;
    Darwin) system=apple-darwin ;;
    *) fail "there is no archive for $(uname -s)" "build it: cargo install --path poc-daemon" ;;
esac
case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no archive for $(uname -m)" "build it: cargo install --path poc-daemon" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fetch() {
    case $source in
        https://*) curl --fail --silent --show-error --location --proto '=https' --output "$work/$1" "$source/$1" ;;
        *://*) fail "\`$source\` is not an https address" ;;
        *) cp "$source/$1" "$work/$1" ;;
    esac || fail "\`$1\` cannot be read from $source"
}

fetch SHA256SUMS
line=$(grep -E "^[0-9a-f]{64}  poc-memory-[0-9][0-9A-Za-z.+-]*-$machine-$system\.tar\.gz\$" "$work/SHA256SUMS" | tail -n 1)
[ -n "$line" ] ||
    fail "SHA256SUMS lists no archive for $machine-$system" "it lists: $(cut -c67- "$work/SHA256SUMS" | tr '\n' ' ')"
archive=${line#*  }
fetch "$archive"
if command -v sha256sum >/dev/null; then
    actual=$(sha256sum "$work/$archive")
else
    actual=$(shasum -a 256 "$work/$archive")
fi
[ "${actual%% *}" = "${line%% *}" ] || fail "the checksum of $archive is wrong" "download it again"

tar -xzf "$work/$archive" -C "$work"
folder=$work/${archive%.tar.gz}
"$folder/bin/poc-memory" --version >/dev/null || fail "the program does not start on this system"
mkdir -p "$prefix/bin" "$prefix/share"
# Renamed into place: a program that runs keeps its file.
cp "$folder/bin/poc-memory" "$prefix/bin/.poc-memory.new"
mv -f "$prefix/bin/.poc-memory.new" "$prefix/bin/poc-memory"
ln -sf poc-memory "$prefix/bin/poc-daemon"
cp -R "$folder/share/." "$prefix/share/"

echo "installed $("$prefix/bin/poc-memory" --version) into $prefix"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "add it to your path: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "next: poc-memory setup"
