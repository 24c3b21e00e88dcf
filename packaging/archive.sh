#!/usr/bin/env bash
# Builds the programs for release and packs them with manual pages and completions:
#   target/archive/poc-memory-VERSION-TARGET.tar.gz, and SHA256SUMS beside it.
# The folder with the same name without `.tar.gz` stays: the packages of distributions take their files from it.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --profile dist --locked
program=target/dist/poc-memory
version=$("$program" --version | cut -d' ' -f2)
target=$(rustc -vV | sed -n 's/^host: //p')
name=poc-memory-$version-$target
out=target/archive
folder=$out/$name
rm -rf "$folder"
mkdir -p "$folder"/{bin,share/man/man1,share/bash-completion/completions,share/zsh/site-functions}
mkdir -p "$folder/share/fish/vendor_completions.d"

install -m 755 "$program" "$folder/bin/poc-memory"
# The program is the daemon when it is started under this name.
ln -s poc-memory "$folder/bin/poc-daemon"
"$program" man --folder "$folder/share/man/man1" >/dev/null
"$program" completions bash >"$folder/share/bash-completion/completions/poc-memory"
"$program" completions zsh >"$folder/share/zsh/site-functions/_poc-memory"
"$program" completions fish >"$folder/share/fish/vendor_completions.d/poc-memory.fish"
cp LICENSE README.md CHANGELOG.md "$folder"
# For the packages of distributions, whose paths do not contain the version.
ln -sfn "$name" "$out/current"

# The same files give the same archive. This needs GNU tar, which is `gtar` on macOS.
tar=$(command -v gtar || command -v tar)
"$tar" --create --gzip --file "$out/$name.tar.gz" --directory "$out" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git log -1 --format=%ct)" "$name"
(
    cd "$out"
    if command -v sha256sum >/dev/null; then sha256sum "$name.tar.gz"; else shasum -a 256 "$name.tar.gz"; fi >SHA256SUMS
)
ls -l "$out/$name.tar.gz" "$folder/bin/poc-memory"
