#!/usr/bin/env bash
# Compiles the example of a producer in WebAssembly (fixtures/wasm) and runs it over the documents of the fixture.
# Usage: scripts/check-wasm.sh    Needs rustup, which adds the target wasm32-unknown-unknown; without it the script says that it checked nothing.
# CORTEX names the program [default: it is built].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${CORTEX:-}" ]; then
    cargo build --quiet --locked
    CORTEX=${CARGO_TARGET_DIR:-target}/debug/cortex
fi
CORTEX=$(realpath "$CORTEX")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! rustup target list --installed 2>/dev/null | grep -qx wasm32-unknown-unknown && ! rustup target add wasm32-unknown-unknown 2>/dev/null; then
    echo "check-wasm.sh: SKIPPED: there is no target wasm32-unknown-unknown, and none could be installed" >&2
    exit 0
fi
CARGO_TARGET_DIR=$scratch/target cargo build --quiet --release --target wasm32-unknown-unknown --manifest-path fixtures/wasm/Cargo.toml

cp -r fixtures/memotree "$scratch/work"
rm -rf "$scratch/work/.cortex"
cp "$scratch/target/wasm32-unknown-unknown/release/outline_size.wasm" "$scratch/work/tools/lines.wasm"
cat >>"$scratch/work/cortex.toml" <<'EOF'

[producer.lines]
uses = "wasm"
params.most = 2

[[rule]]
target   = "//docs:lines"
producer = "lines"
inputs   = { module = "//files/tools/lines.wasm:bytes", texts = { each = "glob:docs/**/*.md", target = "//files/{item}:bytes" } }
EOF
export CORTEX_STORE=$scratch/store
"$CORTEX" -C "$scratch/work" show //docs:lines | tee "$scratch/shown"
expected=$(cd "$scratch/work" && wc -l docs/*.md | grep -v total | sort -k1,1nr -k2 | head -2 | awk '{ printf "%6d  %s\n", $1, $2 }')
[ "$(cat "$scratch/shown")" = "$expected" ] || { echo "check-wasm.sh: expected"; echo "$expected"; exit 1; } >&2
echo "check-wasm.sh: $(stat -c %s "$scratch/work/tools/lines.wasm") bytes of WebAssembly: as it must be"
