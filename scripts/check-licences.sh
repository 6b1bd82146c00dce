#!/usr/bin/env bash
# Checks licences, sources and bans of all dependencies by the rules of deny.toml. Advisories are not looked up: they need a clone of their database.
# Usage: scripts/check-licences.sh    cargo-deny is taken from PATH, otherwise compiled into a folder that is removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! command -v cargo-deny >/dev/null; then
    # Without optimisation it compiles in a third of the time, and runs for two seconds.
    CARGO_TARGET_DIR=$scratch/target cargo install cargo-deny --version 0.20.2 --locked --debug --quiet --root "$scratch"
    export PATH=$scratch/bin:$PATH
fi
cargo fetch --locked --quiet
cargo-deny --locked --offline --log-level error check --hide-inclusion-graph --allow duplicate licenses bans sources
