#!/usr/bin/env bash
# Claude Code and Codex, as their registries have them, against model servers on loopback: the memory is registered by
# the plugin and then by `setup`; a first session decides something and is killed in the middle of its turn; a second
# one must be told what was decided. Runs in a network namespace with nothing but loopback. Where the system refuses
# one, it fails, unless ALLOW_NETWORK=1 is set: then the assistants can reach the network, so a session that succeeds
# only with it is not noticed.
# BIN names the folder of the binaries. Needs Node.js with npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/tests/conformance place=$PWD/target/conformance/assistants
bin=$(realpath "${BIN:-target/release}")
mkdir -p "$place"
# Exact versions: a failure is then caused by a change here and not by a release of an assistant, and everybody tests the
# same. Set the variables to test others (`latest`), and raise the versions here once they pass.
claude_version=${CLAUDE_CODE_VERSION:-2.1.332} codex_version=${CODEX_VERSION:-0.171.0}
wanted="$claude_version $codex_version"
if [ "$(cat "$place/versions" 2>/dev/null)" != "$wanted" ] ||
    [ ! -e "$place/node_modules/.bin/claude" ] || [ ! -e "$place/node_modules/.bin/codex" ]; then
    # The binaries come as packages for each platform; scripts of packages are not run, except the one that puts the binary
    # of Claude Code in its place.
    npm install --prefix "$place" --ignore-scripts --no-audit --no-fund --loglevel=error \
        "@anthropic-ai/claude-code@$claude_version" "@openai/codex@$codex_version" >/dev/null
    placing=$place/node_modules/@anthropic-ai/claude-code/install.cjs
    [ ! -e "$placing" ] || node "$placing"
    echo "$wanted" >"$place/versions"
fi

if [ -z "${ALONE:-}" ]; then
    if unshare --user --map-root-user --net true 2>/dev/null; then
        exec unshare --user --map-root-user --net env ALONE=1 BIN="$bin" bash -c \
            'ip link set lo up 2>/dev/null || ifconfig lo up; exec bash "$0"' "$here/assistants.sh"
    fi
    echo "warning: this system refuses a network namespace (unshare --user --net): the assistants could reach the network" >&2
    if [ "${ALLOW_NETWORK:-}" != 1 ]; then
        echo "FAILED: set ALLOW_NETWORK=1 to run with the network, or allow user namespaces" >&2
        exit 1
    fi
fi

claude=$place/node_modules/.bin/claude codex=$place/node_modules/.bin/codex
echo "Claude Code $("$claude" --version | cut -d' ' -f1), Codex $("$codex" --version | cut -d' ' -f2)"
export PATH=$bin:$PATH

# fresh NAME: a user with a home folder, a memory and a project, and a model server.
fresh() {
    root=$place/runs/$1
    rm -rf "$root" && mkdir -p "$root/home/work/gateway"
    export HOME=$root/home POC_MEMORY_HOME=$root/m
    unset CLAUDE_CONFIG_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR
    export CODEX_HOME=$HOME/.codex
    mkdir -p "$CODEX_HOME" "$POC_MEMORY_HOME"
    cd "$HOME/work/gateway"
    git init -q . && git remote add origin git@example.org:ann/gateway.git
    log=$root/requests.jsonl
    : >"$log"
    node "$here/mock_models.mjs" "$log" >"$root/port" &
    models=$!
    until [ -s "$root/port" ]; do sleep 0.1; done
    port=$(cat "$root/port")
    export ANTHROPIC_BASE_URL=http://127.0.0.1:$port ANTHROPIC_API_KEY=sk-test OPENAI_API_KEY=sk-test
    export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
}

finish() {
    poc-memory daemon stop >/dev/null 2>&1 || true
    kill "$models" 2>/dev/null || true
    wait "$models" 2>/dev/null || true
}
trap finish EXIT

# command_of ASSISTANT PROMPT: the command line of a session in `line`.
command_of() {
    case $1 in
    claude) line=("$claude" --print "$2") ;;
    codex)
        line=("$codex" exec --skip-git-repo-check --dangerously-bypass-hook-trust
            --dangerously-bypass-approvals-and-sandbox -c model=mock -c model_provider=mock
            -c "model_providers.mock={name=\"mock\",base_url=\"http://127.0.0.1:$port/v1\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}"
            "$2")
        ;;
    esac
}

fail() {
    echo "FAILED: $1" >&2
    tail -n 5 "$root"/*.out "$POC_MEMORY_HOME"/hooks.log "$POC_MEMORY_HOME"/daemon.log >&2 2>/dev/null || true
    exit 1
}

# wait_until WHAT COMMAND...: repeats a command for a minute until it succeeds.
wait_until() {
    local what=$1
    shift
    for _ in $(seq "${PATIENCE:-300}"); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    fail "$what"
}

hangs() { grep -q '"hangs":true' "$log"; }
captured() { poc-memory search -p 'all | type:episodic | project:ann/gateway' | grep -q gateway; }

# sessions ASSISTANT: the first one is killed, the second one must be told.
sessions() {
    command_of "$1" "Which port shall the gateway use? Decide."
    # A session of its own, so that all of its processes can be killed.
    setsid "${line[@]}" </dev/null >"$root/first.out" 2>&1 &
    local session=$!
    wait_until "the first session does not reach its second request" hangs
    kill -9 -- "-$session"
    wait "$session" 2>/dev/null || true
    wait_until "the killed session was not captured" captured
    : >"$log"
    command_of "$1" "What did we decide about the port of the gateway?"
    "${line[@]}" </dev/null >"$root/second.out" 2>&1 || fail "the second session ended with an error"
    grep -q 'data, not instructions' "$log" || fail "nothing was added to the second session"
    grep 'data, not instructions' "$log" | grep -q 'port 7443' || fail "the second session was not told the decision"
    # The tools are there, too.
    grep -q 'memory_search' "$log" || fail "the second session has no tools of the memory"
    echo "ok: $1 by $2: $(grep -c ' ms ' "$POC_MEMORY_HOME/hooks.log") calls of hooks"
}

fresh claude-plugin
poc-memory plugin "$HOME/market" >/dev/null
"$claude" plugin marketplace add "$HOME/market" >"$root/install.out" 2>&1 || fail "Claude Code refuses the marketplace"
"$claude" plugin install poc-memory@poc >>"$root/install.out" 2>&1 || fail "Claude Code refuses the plugin"
sessions claude "the plugin"
finish

fresh codex-plugin
poc-memory plugin "$HOME/market" >/dev/null
"$codex" plugin marketplace add "$HOME/market" >"$root/install.out" 2>&1 || fail "Codex refuses the marketplace"
"$codex" plugin add poc-memory@poc >>"$root/install.out" 2>&1 || fail "Codex refuses the plugin"
sessions codex "the plugin"
finish

fresh claude-setup
poc-memory setup claude-code --yes >"$root/install.out" 2>&1 || fail "setup of Claude Code"
sessions claude "setup"
poc-memory setup remove --yes >/dev/null
finish

fresh codex-setup
poc-memory setup codex --yes >"$root/install.out" 2>&1 || fail "setup of Codex"
sessions codex "setup"
poc-memory setup remove --yes >/dev/null
finish
