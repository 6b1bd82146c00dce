#!/usr/bin/env bash
# Real MCP clients against `cortex mcp`: the inspector in both eras of the protocol, the conformance scenarios over HTTP, and PyPI's client over
# both transports: tools, resources, prompts, progress and cancellation. Needs node and npm, python3 with venv; without them it says what it did not check.
# Usage: scripts/check-mcp.sh [FOLDER]    FOLDER keeps the clients between runs. CORTEX names the program [default: it is built].
set -euo pipefail
# What is run here is what this script wrote.
export CORTEX_TRUST=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

scratch=$(mktemp -d)
server=
proxy=
trap 'for one in $server $proxy; do kill "$one" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT
failed() { echo "check-mcp.sh: $1" >&2; exit 1; }
clients=${1:-$scratch/clients}
mkdir -p "$clients"
clients=$(cd "$clients" && pwd)

if [ -z "${CORTEX:-}" ]; then
    cargo build --quiet --locked
    CORTEX=${CARGO_TARGET_DIR:-target}/debug/cortex
fi
CORTEX=$(realpath "$CORTEX")
export CORTEX_STORE=$scratch/store HOME=$scratch
work=$scratch/work
cp -r fixtures/memotree "$work"
rm -rf "$work/.cortex"
"$CORTEX" -C "$work" outline NodeStore >/dev/null

# A client that is there is not fetched again.
if command -v npm >/dev/null; then
    if [ ! -x "$clients/node_modules/.bin/conformance" ]; then
        (cd "$clients" && npm init -y && npm install --no-audit --no-fund node@22 @modelcontextprotocol/inspector@2 @modelcontextprotocol/conformance) \
            >"$scratch/npm" 2>&1 || { cat "$scratch/npm" >&2; failed "npm cannot install the clients"; }
    fi
    export PATH=$clients/node_modules/.bin:$PATH

    for era in legacy modern; do
        cat >"$scratch/$era.json" <<JSON
{"mcpServers": {"cortex": {"type": "stdio", "command": "$CORTEX", "args": ["-C", "$work", "mcp"]}}}
JSON
        inspect() { timeout 300 mcp-inspector --cli --protocol-era $era --config "$scratch/$era.json" --server cortex "$@" >"$scratch/told" 2>"$scratch/err" || { cat "$scratch/told" "$scratch/err" >&2; failed "$era: inspector $*"; }; }
        inspect --strict --method tools/list
        grep -q '"outline"' "$scratch/told" || failed "$era: no tools"
        ! grep -qiE 'warning|portab' "$scratch/err" || { cat "$scratch/err" >&2; failed "$era: the inspector objects to a schema"; }
        inspect --method tools/call --tool-name outline --tool-arg 'symbols=["NodeStore"]'
        grep -q 'MemoTree.Core.NodeStore' "$scratch/told" || failed "$era: no outline"
        inspect --method resources/read --uri cortex://type/NodeStore/outline
        grep -q 'NodeStore' "$scratch/told" || failed "$era: no resource"
        inspect --method prompts/get --prompt-name explore_type --prompt-args symbol=NodeStore
        grep -q 'NodeStore' "$scratch/told" || failed "$era: no prompt"
        echo "check-mcp.sh: the inspector, $era era: tools, resources, prompts"
    done

    "$CORTEX" -C "$work" mcp --http 0 2>"$scratch/begun" &
    server=$!
    for _ in $(seq 6000); do
        grep -q '^serving at' "$scratch/begun" && break
        kill -0 "$server" || { cat "$scratch/begun" >&2; failed "the server ended"; }
        sleep 0.05
    done
    port=$(sed -n 's|^serving at http://127.0.0.1:\([0-9]*\)/mcp$|\1|p' "$scratch/begun")
    token=$(cat "$(sed -n 's/^clients need the token in //p' "$scratch/begun")")
    # The suite has no token to send: a proxy puts it in and leaves everything else as it is.
    cat >"$scratch/proxy.js" <<'JS'
const http = require("http");
const [port, token] = [Number(process.argv[2]), process.argv[3]];
http.createServer((from, to) => {
  const headers = { ...from.headers, authorization: "Bearer " + token };
  const ask = http.request({ port, host: "127.0.0.1", path: from.url, method: from.method, headers }, (answer) => {
    to.writeHead(answer.statusCode, answer.headers);
    answer.pipe(to);
  });
  ask.on("error", () => to.destroy());
  to.on("close", () => ask.destroy());
  from.pipe(ask);
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
JS
    node "$scratch/proxy.js" "$port" "$token" >"$scratch/proxy.port" &
    proxy=$!
    for _ in $(seq 6000); do [ -s "$scratch/proxy.port" ] && break; sleep 0.05; done
    url=http://localhost:$(cat "$scratch/proxy.port")/mcp
    for scenario in server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection; do
        timeout 300 conformance server --url "$url" --scenario "$scenario" --spec-version 2025-11-25 >"$scratch/told" 2>&1 \
            || { cat "$scratch/told" >&2; failed "conformance: $scenario"; }
    done
    echo "check-mcp.sh: conformance: initialize, ping, lists of tools, resources and prompts, DNS rebinding"
else
    echo "check-mcp.sh: SKIPPED the inspector and the conformance suite: there is no npm" >&2
fi

if [ ! -x "$clients/venv/bin/python" ]; then
    { python3 -m venv "$clients/venv" && "$clients/venv/bin/pip" install --quiet 'mcp>=2,<3'; } >"$scratch/pip" 2>&1 \
        || { cat "$scratch/pip" >&2; failed "PyPI's client cannot be installed"; }
fi
timeout 300 "$clients/venv/bin/python" "$root/scripts/client_mcp.py" "$CORTEX" "$work"
echo "check-mcp.sh: OK"
