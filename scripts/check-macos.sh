#!/usr/bin/env bash
# Checks the types of the whole workspace for macOS, on any machine: nothing is linked or run, so no compiler of C for macOS is needed.
# Usage: scripts/check-macos.sh [TARGET]    [default: aarch64-apple-darwin]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${1:-aarch64-apple-darwin}
rustup target add "$target"
CC=true AR=true RUSTFLAGS="-D warnings" cargo check --locked --workspace --target "$target" --target-dir "${CARGO_TARGET_DIR:-target}/macos"
