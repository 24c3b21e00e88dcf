# Every task of the project. `just` alone lists them.

_default:
    @just --list

# Format, lints, tests, dependencies: what a change must pass.
check: lint test deny

# Formatting and lints, warnings denied.
lint:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings

# The README's own test command.
test:
    cargo test --release --workspace

# Licences, advisories and sources of the dependencies (needs `cargo install cargo-deny`).
deny:
    cargo deny check

# Build and run the newcomer's first command.
demo:
    cargo build --release && ./target/release/poc-memory demo

# Speed beside peers: prints tables and writes JSON under target/bench. `just bench pipeline 1000000` runs one
# bench (pipeline, structure, memory, open) at one size; without arguments all at 13,000 and 100,000 nodes. `embed`
# counts sentences and needs POC_MEMORY_BENCH_MODEL, the folder of a sentence model of the BERT family.
bench NAME="*" *NODES:
    test -d target/bench/venv || (mkdir -p target/bench && python3 -m venv target/bench/venv)
    target/bench/venv/bin/pip install -q -r bench/requirements.txt
    cargo bench --workspace --features poc-bench/sqlite --bench '{{NAME}}' -- {{NODES}}

# A hundred clients at once for a minute, of a daemon that imports meanwhile: errors, lost notes, latencies.
load CLIENTS="100" SECONDS="60":
    cargo build --release
    cargo bench --workspace --bench load -- --clients={{CLIENTS}} --seconds={{SECONDS}}

# The end-to-end test against a real OpenAI-compatible server (builds one; about 15 minutes the first time).
live:
    bash tests/live/run.sh

# Tools nobody here wrote, against the real daemon: what they count is printed. Installs them into target/conformance.
conformance: conformance-mcp
    bash tests/conformance/rest.sh

# Of these the clients of MCP alone, which take a minute.
conformance-mcp:
    cargo build --release
    bash tests/conformance/mcp.sh

# Write the generated documents: REFERENCE.md and the schemas in schema/.
bless:
    POC_MEMORY_BLESS=1 cargo test --release --workspace up_to_date

# Rewrite inline snapshots after a wanted change of output (needs `cargo install cargo-insta`).
snapshots:
    cargo insta test --accept --release --workspace
