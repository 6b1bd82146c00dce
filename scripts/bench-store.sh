#!/usr/bin/env bash
# Measures the care of a store: gc over 1,000,000 results of which half are garbage, and verify against plain blake3 over the same outputs.
# Prints a line of JSON a store, then the ratios; exits with 1 when one misses its goal.
#
# usage: scripts/bench-store.sh [BLOBS]
#
# CORTEX_BIN  the binary to measure (default: target/release/cortex)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cortex=${CORTEX_BIN:-$here/../target/release/cortex}
blobs=${1:-1000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
many=$("$cortex" dev store-bench "$folder/many" --blobs "$blobs" --size 64)
large=$("$cortex" dev store-bench "$folder/large" --blobs $((blobs / 50)) --size 16384)
python3 - "$cortex" "$folder/many" "$many" "$large" <<'PYTHON'
import json
import resource
import subprocess
import sys
import time

cortex, folder = sys.argv[1:3]
many, large = (json.loads(text) for text in sys.argv[3:])
start = time.monotonic()
told = subprocess.run([cortex, "gc", "--store", folder, "--json"], check=True, capture_output=True, text=True, cwd=folder).stdout
seconds = time.monotonic() - start
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
ratio = large["hash_ms"] / max(large["verify_ms"], 1)
print(json.dumps(many), json.dumps(large), json.dumps(json.loads(told)), sep="\n")
print(f"gc of {many['blobs']:,} outputs: {seconds:.1f} s (goal 20 s), {memory:.0f} MiB of memory at most")
print(f"verify at {ratio:.2f} of the speed of plain blake3 (goal 0.50)")
sys.exit(seconds > 20 or ratio < 0.5)
PYTHON
