#!/usr/bin/env bash
# Builds this program linked to no library, for the workers of a farm (see "Remote execution" in README.md), and prints where it is: beside
# the release build, where it is looked for. Needs what the release build needs, and libc.a (Debian: libc6-dev, which every C compiler has).
# Usage: scripts/static.sh [TARGET]    TARGET: default x86_64-unknown-linux-gnu. x86_64-unknown-linux-musl works, too, with musl-tools and
# `rustup target add`; its allocator makes it slower.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${1:-x86_64-unknown-linux-gnu}
folder=${CARGO_TARGET_DIR:-$PWD/target}
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" cargo build --quiet --locked --release --target "$target" --bin cortex >&2
mkdir -p "$folder/release"
cp "$folder/$target/release/cortex" "$folder/release/cortex-static"
echo "$folder/release/cortex-static"
