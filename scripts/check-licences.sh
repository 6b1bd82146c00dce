#!/usr/bin/env bash
# Checks licences and sources of all dependencies by the rules of deny.toml (scripts/check_licences.py; `cargo deny check licenses bans sources` does the
# same, and takes minutes to compile).
# Usage: scripts/check-licences.sh    Needs python3 with venv and pip; what it installs goes into a folder that is removed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/python"
"$scratch/python/bin/pip" --quiet --disable-pip-version-check install license-expression==30.4.4
cargo fetch --locked --quiet
"$scratch/python/bin/python" scripts/check_licences.py
