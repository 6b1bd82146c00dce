#!/usr/bin/env bash
# Measures cortex and other build engines on one synthetic graph of trivial commands; prints Markdown tables.
#
# usage: scripts/bench-engine.sh [SIZE…] [--large] [--runs N] [--cold-runs N] [--only NAMES] [--skip SCENARIOS] [-j N]
#        (default: 1000 10000; --large adds 100,000)
#
# CORTEX_BIN  the binary to measure (default: target/release/cortex)
# N2_BIN      an n2 binary; without it n2 is left out
# ninja, make and doit are measured when they are on PATH; ninja is put into a temporary virtual environment when it is not.
set -euo pipefail
# What is run here is what this script wrote.
export CORTEX_TRUST=all
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! command -v ninja >/dev/null; then
    venv=$(mktemp -d)
    trap 'rm -rf "$venv"' EXIT
    if python3 -m venv "$venv" && "$venv/bin/pip" --quiet --disable-pip-version-check install ninja; then
        PATH=$venv/bin:$PATH
    else
        echo "ninja could not be installed; going on without it" >&2
    fi
fi
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/bench_engine.py" "$@"
