#!/usr/bin/env bash
# Executes the steps of docs/ci/ in fresh folders beside a cache folder (scripts/check_recipes.py).
# Usage: CORTEX=PROGRAM scripts/check-recipes.sh    Needs python3 with venv and pip, git and diff.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/python"
"$scratch/python/bin/pip" --quiet --disable-pip-version-check install pyyaml
"$scratch/python/bin/python" scripts/check_recipes.py "$CORTEX"
