# The tasks of the project. `just` without arguments lists them.

_default:
    @just --list

# Formatting, lints, tests and dependencies. Every change must pass.
check: lint test test-documents deny

# Formatting and lints, warnings denied.
lint:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings

# The test command of the README.
test:
    cargo test --release --workspace

# The formats of import with HTML and PDF, which need a feature that is off by default.
test-documents:
    cargo test --release --lib -p poc-notes --features documents import::format

# Licences, advisories and sources of the dependencies (needs `cargo install cargo-deny`).
deny:
    cargo deny check

# The lints for macOS, on Linux: nothing is linked or run. The target of older machines is x86_64-apple-darwin (needs
# rustup and Python; installs zig from PyPI).
check-macos TARGET="aarch64-apple-darwin":
    bash packaging/check-macos.sh {{TARGET}}

# Build, and run the first command of the README.
demo:
    cargo build --release && ./target/release/poc-memory demo

# Compare the speed with other tools: prints tables and writes JSON under target/bench. Without arguments all benches
# run at 1,000, 10,000 and 100,000 nodes. `just bench pipeline 1000000` runs one bench (pipeline, structure, memory,
# open, commands, retrieve, hooks, tenants) at one size. `embed` takes numbers of sentences and needs
# POC_MEMORY_BENCH_MODEL, the folder of a BERT sentence model. `ingest` takes numbers of notes, folders of test sets, or
# both.
bench NAME="*" *NODES:
    test -d target/bench/venv || (mkdir -p target/bench && python3 -m venv target/bench/venv)
    target/bench/venv/bin/pip install -q -r bench/requirements.txt
    cargo build --release
    cargo bench --workspace --features poc-bench/sqlite --bench '{{NAME}}' -- {{NODES}}

# Load a daemon with 100 clients for a minute while it imports, and print errors, lost notes and latencies.
load CLIENTS="100" SECONDS="60":
    cargo build --release
    cargo bench --workspace --bench load -- --clients={{CLIENTS}} --seconds={{SECONDS}}

# Measure how agents change search on data sets (folders as `poc-memory eval` takes them). By default with harmful
# models (`--only offered,unsourced` selects some), with `--month` the heuristic model for 30 nights, with `--recorded`
# the recorded replies of a language model (`model.jsonl`).
agents *FOLDERS:
    cargo build --release -p poc-daemon -p poc-bench --bins
    bash bench/agents.sh {{FOLDERS}}

# The end-to-end test against a real OpenAI-compatible server (builds one; about 15 minutes the first time).
live:
    bash tests/live/run.sh

# Run third-party tools against the real daemon and print their counts. Installs them into target/conformance.
conformance: conformance-mcp
    bash tests/conformance/rest.sh

# Run sessions of the real Claude Code and Codex against model servers on loopback. Installs them from npm.
conformance-assistants:
    cargo build --release
    bash tests/conformance/assistants.sh

# Run only the MCP clients of `conformance`, which takes a minute.
conformance-mcp:
    cargo build --release
    bash tests/conformance/mcp.sh

# Drive the page in a real browser, and write pictures of its screens to target/page/pictures (needs Chromium).
page:
    cargo build --release
    bash tests/page/run.sh

# Run the tests of the promises in RELIABILITY.md, and print a table. `full` runs each of them many more times, and
# plants bugs that the tests must find; it takes hours. Names of promises select some, and counts can be given:
# `just reliability full R2 R4 --count=5000 --seed=7`.
reliability FORM="quick" *ARGUMENTS:
    python3 tests/reliability/run.py {{FORM}} {{ARGUMENTS}}

# Test what RELIABILITY.md promises about several daemons over one log, with many random histories and a real PostgreSQL
# server, which is installed on Debian if it is missing. Then measure the speed of a shared log.
scale:
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || apt-get install -qy --no-install-recommends postgresql
    python3 tests/reliability/run.py full R22
    cargo bench --workspace --bench shared_log

# Fuzz the parsers with libFuzzer on stable Rust: every target of fuzz/fuzz_targets, or one, each with RUNS inputs
# (needs `cargo install cargo-fuzz` and a C++ compiler). An input that fails is written to fuzz/artifacts, and
# `cargo fuzz run -s none TARGET FILE` runs it again. Options of libFuzzer may follow: `just fuzz pipeline -1 -max_total_time=600`.
# `just fuzz 'import:*'` runs each format of imports on its own, `just fuzz import:csv` one of them.
fuzz TARGET="*" RUNS="1000000" *OPTIONS:
    bash fuzz/run.sh '{{TARGET}}' {{RUNS}} {{OPTIONS}}

# Build the program for release and pack it: an archive with manual pages, completions and its checksum, in target/archive.
archive:
    bash packaging/archive.sh

# Packages for Debian and Fedora from the files of `archive` (needs `cargo install cargo-deb cargo-generate-rpm`).
packages: archive
    cargo deb --no-build --no-strip -p poc-daemon
    cargo generate-rpm -p poc-daemon

# Print how fast the page is in a real browser with generated notes (13,000 by default), after `just page`.
page-speed *NOTES:
    bash tests/page/measure.sh {{NOTES}}

# Write the generated documents: REFERENCE.md and the schemas in schema/.
bless:
    POC_MEMORY_BLESS=1 cargo test --release --workspace up_to_date

# Rewrite inline snapshots after an intended change of output (needs `cargo install cargo-insta`).
snapshots:
    cargo insta test --accept --release --workspace
