#!/usr/bin/env bash
# Builds this program linked to no library, for the workers of a farm (see "Remote execution" in docs/remote.md), and prints where it is: beside
# the release build, where it is looked for. All but the last step is that of the release build. Needs libc.a, which Debian's C compilers
# bring along (libc6-dev). WORKER_FLAGS are further flags of rustc for that step: with "-C opt-level=0" it is sooner there, for checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=${CARGO_TARGET_DIR:-$PWD/target}/release
# Cargo gives both the same name.
if [ -e "$release/cortex" ]; then mv "$release/cortex" "$release/cortex-with-libraries"; fi
trap 'if [ -e "$release/cortex-with-libraries" ]; then mv "$release/cortex-with-libraries" "$release/cortex"; fi' EXIT
cargo rustc --quiet --locked --release --bin cortex -- -C target-feature=+crt-static ${WORKER_FLAGS:-} >&2
mv "$release/cortex" "$release/cortex-static"
echo "$release/cortex-static"
