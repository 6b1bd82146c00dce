#!/usr/bin/env bash
# Opens the live page of `cortex serve --http` in a real, headless Chromium: scripts/check_page.py says what is looked at. Takes the Chromium that is
# there, or installs Debian's where it may; without either it says that it checked nothing. Needs python3.
# Usage: scripts/check-page.sh [FOLDER]    FOLDER gets pictures of every view, wide and narrow, light and dark. CORTEX names the program [default: it is built].
#        scripts/check-page.sh --first-view MS WORKSPACE    opens the page of a workspace that was built, and fails when the first view takes longer.
set -euo pipefail
# What is run here is what scripts/chromium.sh wrote.
export CORTEX_TRUST=all
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/chromium.sh
find_or_install_chromium
[ -n "$chromium" ] || { echo "check-page.sh: SKIPPED: there is no Chromium, and none could be installed" >&2; exit 0; }
if [ -z "${CORTEX:-}" ]; then
    cargo build --quiet --locked
    CORTEX=${CARGO_TARGET_DIR:-target}/debug/cortex
fi
CORTEX=$(realpath "$CORTEX")
if [ "${1:-}" = --first-view ]; then
    exec python3 scripts/check_page.py "$CORTEX" "$3" "$chromium" --first-view "$2"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CORTEX_STORE=$scratch/store
work=$scratch/work
cp -r fixtures/memotree "$work"
rm -rf "$work/.cortex"
write_hostile "$work"
run() { "$CORTEX" -C "$work" "$@" >>"$scratch/log" 2>&1; }
# Two builds, a pack, and an edit that was not built.
run build '//...' || true
sed -i 's/Nodes cannot be moved yet/Moving is for later/' "$work/src/MemoTree.Core/NodeStore.cs"
run build '//...' || true
run pack build core --filter 'namespace:MemoTree.Core' --budget 3000 || { cat "$scratch/log" >&2; exit 1; }
sed -i 's/Moving is for later/Never/' "$work/src/MemoTree.Core/NodeStore.cs"
for file in "$work"/docs/*.md "$work"/docs/*/*.md; do echo two >>"$file"; done
[ -z "${1:-}" ] || mkdir -p "$1"
told=$(python3 scripts/check_page.py "$CORTEX" "$work" "$chromium" ${1:+--pictures "$1"})
echo "check-page.sh: $(basename "$chromium"): $told"
