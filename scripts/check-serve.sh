#!/usr/bin/env bash
# Puts a service under load and has a real JSON-RPC client talk to it: 1,000 requests at once, 50 clients while files change (no answer older
# than the last edit before it was asked), thousands of idle connections, clients that stop in the middle or never read, memory that stays flat;
# then npm's vscode-jsonrpc: both framings' requests, progress, cancellation. Prints the figures.
# Usage: scripts/check-serve.sh [SECONDS]    how long the 50 clients go on [default: 10]. Needs python3; the client needs node and npm.
# CORTEX names the program [default: it is built].
set -euo pipefail
# What is run here is what this script wrote.
export CORTEX_TRUST=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-10}

scratch=$(mktemp -d)
service=
trap 'if [ -n "$service" ]; then kill "$service" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
if [ -z "${CORTEX:-}" ]; then
    cargo build --quiet --locked
    CORTEX=${CARGO_TARGET_DIR:-target}/debug/cortex
fi
CORTEX=$(realpath "$CORTEX")
export CORTEX_STORE=$scratch/store
cp -r fixtures/memotree "$scratch/work"
rm -rf "$scratch/work/.cortex"

"$CORTEX" -C "$scratch/work" --output json serve >"$scratch/begun" &
service=$!
for _ in $(seq 6000); do
    [ -s "$scratch/begun" ] && break
    kill -0 "$service" || { echo "check-serve.sh: the service ended" >&2; exit 1; }
    sleep 0.05
done
socket=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["socket"])' "$scratch/begun")
python3 scripts/load_serve.py "$socket" "$scratch/work" "$service" "$seconds"

if command -v npm >/dev/null && command -v node >/dev/null; then
    (cd "$scratch" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund vscode-jsonrpc@8 >/dev/null)
    cp scripts/client_serve.js "$scratch/client.js"
    node "$scratch/client.js" "$socket"
else
    echo "check-serve.sh: SKIPPED the client of npm: there is no node" >&2
fi
"$CORTEX" -C "$scratch/work" serve --stop >/dev/null
wait "$service"
service=
echo "check-serve.sh: OK"
