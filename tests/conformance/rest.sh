#!/usr/bin/env bash
# Holds REST against its own OpenAPI document with tools nobody here wrote: openapi-spec-validator reads the
# document, schemathesis makes requests of it, right and wrong ones, and checks every answer. Everything it
# makes lies in target/conformance. Arguments go to schemathesis, such as `--max-examples 1000`.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=$PWD/target/conformance
bin=$(realpath "${BIN:-target/release}")
mkdir -p "$place"

if ! cmp -s tests/conformance/requirements.txt "$place/installed.txt"; then
    "${PYTHON:-python3}" -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --requirement tests/conformance/requirements.txt
    cp tests/conformance/requirements.txt "$place/installed.txt"
fi

export POC_MEMORY_HOME=$place/home
rm -rf "$POC_MEMORY_HOME" && mkdir -p "$POC_MEMORY_HOME"
printf '[rest]\nenabled = true\ndelete = true\naddress = "127.0.0.1:0"\n' >"$POC_MEMORY_HOME/config.toml"
"$bin/poc-daemon" 2>"$place/daemon.log" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null || true' EXIT
until "$bin/poc-memory" daemon status >/dev/null 2>&1; do
    kill -0 "$daemon" 2>/dev/null || { echo "the daemon ended:" >&2; tail -n 20 "$place/daemon.log" >&2; exit 1; }
    sleep 0.2
done
for note in btree journal replay; do
    "$bin/poc-memory" -q insert --key "$note" --title "About $note" --body "What $note is about." -k storage >/dev/null
done

address=$("$bin/poc-memory" daemon status | sed -n 's/^rest *//p')
"$place/venv/bin/python" -c '
import sys, urllib.request
open(sys.argv[2], "wb").write(urllib.request.urlopen(sys.argv[1] + "/openapi.json").read())
' "$address" "$place/openapi.json"
"$place/venv/bin/openapi-spec-validator" "$place/openapi.json"

# Two differences that are meant, in the copy that schemathesis reads. It fails at the response schema of a tuple
# (`prefixItems`), which it rewrites to a form that OpenAPI 3.1 does not have. And a request may give one text for a
# list of texts, which the document does not say, because clients should send a list.
"$place/venv/bin/python" -c '
import json, sys

def changed(value, in_request):
    if isinstance(value, list):
        return [changed(item, in_request) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: changed(item, in_request or key == "requestBody") for key, item in value.items()}
    if isinstance(value.get("prefixItems"), list):
        del value["prefixItems"]
    if in_request and value.get("type") == "array" and value.get("items", {}).get("type") == "string":
        value["type"] = ["array", "string"]
    return value

document = json.load(open(sys.argv[1]))
json.dump(changed(document, False), open(sys.argv[2], "w"))
' "$place/openapi.json" "$place/schemathesis.json"

# Left out: that everything a schema allows is accepted. Rules between fields (`update` needs a `key`) and the
# pipeline language are more than a JSON Schema can say; such a request must get a 400 that is described.
cd "$place"
"$place/venv/bin/schemathesis" run schemathesis.json --url "$address" \
    --header "Authorization: Bearer $(cat "$POC_MEMORY_HOME/token")" \
    --checks all --exclude-checks positive_data_acceptance --seed 1 --max-examples 100 "$@"
