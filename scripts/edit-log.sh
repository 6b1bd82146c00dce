#!/usr/bin/env bash
# Follows the logs of edits of a workspace: scripts/edit-log.sh [FOLDER] [CATEGORY…]
# They are written where CORTEX_DEBUG_CATEGORIES asks for them, for instance CORTEX_DEBUG_CATEGORIES=all.
set -euo pipefail
folder=${1:-.}
shift || true
logs=$folder/.cortex/edit/log
mkdir -p "$logs"
if [ $# -eq 0 ]; then
  set -- TextEdit.MatchTrace TextEdit.Persistence TextEdit.External TextEdit.Schema
fi
files=()
for category in "$@"; do
  files+=("$logs/$category.log")
done
# A log is begun anew when it is long, and may not be there yet.
exec tail -n 20 -F "${files[@]}"
