#!/usr/bin/env bash
# Measures the care of a store: gc over 1,000,000 results of which half are garbage, verify against plain blake3 over the same outputs,
# and opening a store of 1 GB whose last user was killed while it wrote. Prints what was measured as JSON and in words; exits with 1 when
# a goal is missed.
#
# usage: scripts/bench-store.sh [BLOBS]
#
# CORTEX_BIN  the binary to measure (default: target/release/cortex)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$here/bench_store.py" "$@"
