#!/usr/bin/env bash
# What outlines cost a reader: tokens (o200k_base) of a folder's C# source and of its public API as cortex prints it, `api.md`, with first
# documentation lines and without. Prints a Markdown table.
#
# usage: scripts/outline-tokens.sh DIR…
#        each DIR is a folder with C# source. It is copied; nothing in it changes.
#
# CORTEX_BIN  the binary (default: target/release/cortex, built when it is missing)
# Needs node and npm; the tokenizer (npm gpt-tokenizer) is put into a temporary folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
(($#)) || { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 2; }
cortex=${CORTEX_BIN:-$here/../target/release/cortex}
[[ -x $cortex ]] || cargo build --release --manifest-path "$here/../Cargo.toml"
cortex=$(cd "$(dirname "$cortex")" && pwd)/$(basename "$cortex")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CORTEX_STORE=$scratch/store
npm install --silent --no-fund --no-audit --prefix "$scratch/npm" gpt-tokenizer >/dev/null
cat >"$scratch/npm/count.cjs" <<'JS'
const { countTokens } = require("gpt-tokenizer/encoding/o200k_base");
const names = require("fs").readFileSync(0, "utf8").split("\0").filter(Boolean);
console.log(names.reduce((sum, name) => sum + countTokens(require("fs").readFileSync(name, "utf8"), { allowedSpecial: "all" }), 0));
JS
tokens() { node "$scratch/npm/count.cjs"; }
share() { awk -v part="$1" -v whole="$2" 'BEGIN { printf "%d (%.1f %%)", part, 100 * part / whole }'; }

echo "| folder | files | tokens of source | with first documentation lines | without |"
echo "|---|--:|--:|--:|--:|"
for folder; do
    copy=$scratch/copy
    mkdir "$copy"
    (cd "$folder" && find . \( -name .git -o -name .cortex -o -name bin -o -name obj \) -prune -o -type f \( -name '*.cs' -o -name '*.csproj' -o -name '*.props' -o -name '*.targets' \) -print0) \
        | (cd "$folder" && xargs -0 cp --parents -t "$copy")
    cd "$copy"
    "$cortex" init >/dev/null
    files=$(find . -name '*.cs' | wc -l)
    source=$(find . -name '*.cs' -print0 | tokens)
    "$cortex" build //index:api >/dev/null 2>&1 || true
    with=$(printf .cortex/out/api.md | tokens)
    printf '\n[producer.api]\nparams = { docs = false }\n' >>cortex.toml
    "$cortex" build //index:api >/dev/null 2>&1 || true
    without=$(printf .cortex/out/api.md | tokens)
    cd - >/dev/null
    echo "| $(basename "$folder") | $files | $source | $(share "$with" "$source") | $(share "$without" "$source") |"
    rm -rf "$copy"
done
