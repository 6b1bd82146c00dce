#!/bin/sh
# Compares cortex's facts about repositories with the C# compiler's; see scripts/accuracy.py --help.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --quiet
exec python3 scripts/accuracy.py "$@"
