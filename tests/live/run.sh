#!/usr/bin/env bash
# Runs the tests with `live_server` in their name against a real OpenAI-compatible server: llama.cpp on loopback,
# which serves a tiny model with random weights. All files are written below target/live; the first run builds the
# server. Arguments are passed to `cargo test` instead of `--release --workspace`.
set -euo pipefail
cd "$(dirname "$0")/../.."
live=target/live
mkdir -p "$live"

python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null || ! "$python" -m venv --help >/dev/null 2>&1; then
    echo "the live test needs Python with venv: install it, or set PYTHON" >&2
    exit 1
fi
if ! cmp -s tests/live/requirements.txt "$live/installed.txt"; then
    "$python" -m venv "$live/venv"
    # Without instructions of this processor, because the model is tiny and the build is then portable.
    CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" \
        "$live/venv/bin/pip" install --quiet --requirement tests/live/requirements.txt
    cp tests/live/requirements.txt "$live/installed.txt"
fi

"$live/venv/bin/python" tests/live/tiny_model.py "$live/tiny.gguf"
port=$("$live/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$live/venv/bin/python" -m llama_cpp.server --host 127.0.0.1 --port "$port" \
    --model "$live/tiny.gguf" --n_ctx 32768 --n_threads 1 >"$live/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT

base="http://127.0.0.1:$port/v1"
until curl --silent --fail --output /dev/null "$base/models"; do
    if ! kill -0 "$server" 2>/dev/null; then
        echo "the server ended; the end of $live/server.log:" >&2
        tail -n 20 "$live/server.log" >&2
        exit 1
    fi
    sleep 0.2
done
[ $# -gt 0 ] || set -- --release --workspace
POC_MEMORY_LIVE_OPENAI=$base cargo test "$@" live_server -- --ignored --nocapture
