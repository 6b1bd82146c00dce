#!/usr/bin/env bash
# Builds this program linked to no library, for the workers of a farm (see "Remote execution" in docs/remote.md), and prints where it is: beside
# the build of its profile, where it is looked for. All but the last step is that of the same build with libraries. Needs libc.a, which Debian's C
# compilers bring along (libc6-dev).
# Usage: scripts/static.sh [dev|release]    the profile [default: release]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
profile=${1:-release}
folder=${CARGO_TARGET_DIR:-$PWD/target}/$([ "$profile" = dev ] && echo debug || echo "$profile")
# Cargo gives both the same name.
if [ -e "$folder/cortex" ]; then mv "$folder/cortex" "$folder/cortex-with-libraries"; fi
trap 'if [ -e "$folder/cortex-with-libraries" ]; then mv "$folder/cortex-with-libraries" "$folder/cortex"; fi' EXIT
cargo rustc --quiet --locked --profile "$profile" --bin cortex -- -C target-feature=+crt-static >&2
mv "$folder/cortex" "$folder/cortex-static"
echo "$folder/cortex-static"
