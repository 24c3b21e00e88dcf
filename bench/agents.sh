#!/usr/bin/env bash
# What agents do to the figures of data sets: prints one `poc-memory eval` for each model.
#
# `agents.sh FOLDER…`: models that try to make a memory worse (`hostile-model`), one after the other.
# `agents.sh --only offered,unsourced FOLDER…`: some of these models.
# `agents.sh --month FOLDER…`: the heuristic model for 30 nights, asked with `retrieve` and with `recall`.
# `agents.sh --recorded FOLDER…`: what a language model said about each set, from its `model.jsonl` (`recorded-model`).
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$PWD/target/release
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export POC_MEMORY_HOME=$home

model() { # name, program, arguments…
    local name=$1 words
    shift
    words=$(printf '"%s", ' "$@")
    printf '[providers.%s]\nkind = "command"\ncommand = [%s]\n[models.%s]\nprovider = "%s"\nid = "%s"\n' \
        "$name" "${words%, }" "$name" "$name" "$name" >>"$home/config.toml"
}

evaluate() {
    echo "== $*"
    "$bin/poc-memory" --quiet eval "$@"
}

mode=hostile
tasks="links offered facts unseen unsourced"
case ${1:-} in
--month | --recorded)
    mode=${1#--}
    shift
    ;;
--only)
    tasks=$(tr , ' ' <<<"${2:-}")
    shift $(($# < 2 ? $# : 2))
    ;;
esac
[ $# -gt 0 ] || {
    echo "usage: agents.sh [--month | --recorded | --only MODEL,…] FOLDER…" >&2
    exit 2
}

for folder in "$@"; do
    case $mode in
    month)
        agents=facts,linker,quotations,rename,replay,separator,split,transfer
        evaluate "$folder" --agents $agents --nights 30
        evaluate "$folder" --agents $agents --nights 30 --recall
        ;;
    recorded)
        # Each set has its own recording, with the same name.
        : >"$home/config.toml"
        if head -n 1 "$folder/model.jsonl" | grep -q '"sources"'; then
            model recorded "$bin/recorded-model" facts "$(realpath "$folder/model.jsonl")"
            evaluate "$folder" --agents facts --model recorded
            evaluate "$folder" --agents facts,quotations --model recorded
        else
            model recorded "$bin/recorded-model" links "$(realpath "$folder/model.jsonl")"
            evaluate "$folder" --agents linker --model recorded
        fi
        ;;
    hostile)
        for task in $tasks; do
            [ -n "${written:-}" ] || model "hostile-$task" "$bin/hostile-model" "$task"
        done
        written=yes
        for task in $tasks; do
            evaluate "$folder" --agents linker,facts --model "hostile-$task"
        done
        ;;
    esac
done
