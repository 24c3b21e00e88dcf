#!/usr/bin/env bash
# Prints how fast the page is with 13,000 generated notes, or the given number. `tests/page/run.sh` must have run once, to
# install what both need.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=$PWD/target/page
POC_MEMORY_BIN=$(realpath "${BIN:-target/release}") CHROMIUM=${CHROMIUM:-$(command -v chromium)} PAGE_PLACE=$place \
    PYTHONPATH=tests/page PYTHONDONTWRITEBYTECODE=1 "$place/venv/bin/python" tests/page/measure.py "$@"
