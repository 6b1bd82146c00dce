#!/usr/bin/env bash
# Runs the benchmarks and prints their tables in Markdown; progress goes to standard error.
#
# usage: scripts/bench.sh [--csharp DIR] [--large] [--quick]
#        --csharp DIR   also measure a checkout of a C# repository (it is copied, not touched); repeatable
#        --large        also measure the synthetic graph with 100,000 targets
#        --quick        1,000 targets only and fewer repetitions: a look, not a result
#
# CORTEX_BIN  the binary to measure (default: target/release/cortex, built when it is missing)
# N2_BIN      an n2 binary, to be measured too
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
engine=()
sharp=()
folders=()
while (($#)); do
    case $1 in
        --csharp)
            [[ $# -ge 2 ]] || { echo "bench.sh: --csharp wants a folder" >&2; exit 2; }
            folders+=("$2")
            shift
            ;;
        --large) engine+=(--large) ;;
        --quick)
            engine+=(1000 --runs 3 --cold-runs 1)
            sharp+=(--runs 3 --cold-runs 1)
            ;;
        -h | --help)
            sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *)
            echo "bench.sh: what is '$1'? (--csharp DIR, --large, --quick)" >&2
            exit 2
            ;;
    esac
    shift
done
if [[ -z ${CORTEX_BIN:-} ]]; then
    export CORTEX_BIN=$here/../target/release/cortex
    [[ -x $CORTEX_BIN ]] || cargo build --release --manifest-path "$here/../Cargo.toml"
fi
echo "$(nproc) cores, $(uname -sr), $(python3 -c 'import platform; print("Python", platform.python_version())')"
"$here/bench-engine.sh" ${engine[@]+"${engine[@]}"}
if [[ " ${engine[*]-} " == *" 1000 "* ]]; then "$here/bench_watch.py" 1000 "$CORTEX_BIN"; else "$here/bench_watch.py" 10000 "$CORTEX_BIN"; fi
for folder in ${folders[@]+"${folders[@]}"}; do
    "$here/bench-csharp.sh" "$folder" ${sharp[@]+"${sharp[@]}"}
done
