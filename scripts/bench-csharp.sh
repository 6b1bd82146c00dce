#!/usr/bin/env bash
# Measures cortex on a C# repository: parsing alone, cold outlines, no-op, an edited method body, an edited comment, an added type;
# against `git status` on the same tree and ninja on a graph of as many targets. Prints a Markdown table of medians.
#
# usage: scripts/bench-csharp.sh DIR [--runs N] [--cold-runs N] [--targets N]
#        DIR is a checkout of a C# repository. It is copied; nothing in it changes. Without a cortex.toml `cortex init` writes one.
#
# CORTEX_BIN  the binary to measure (default: target/release/cortex)
# ninja is measured when it is on PATH; it is put into a temporary virtual environment when it is not.
set -euo pipefail
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
python3 "$here/bench_csharp.py" "$@"
