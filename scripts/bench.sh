#!/usr/bin/env bash
# Runs the benchmarks and prints their tables in Markdown; progress goes to standard error.
#
# usage: scripts/bench.sh [--csharp DIR] [--large] [--quick]
#        --csharp DIR   also measure a checkout of a C# repository (it is copied, not touched); repeatable
#        --large        also measure the synthetic graph with 100,000 targets, and queries over it once it is built
#        --quick        1,000 targets only and fewer repetitions: a look, not a result
#
# Goes through all of it and exits with 1 at the end when one of them misses its goal.
#
# CORTEX_BIN  the binary to measure (default: target/release/cortex, built when it is missing)
# N2_BIN      an n2 binary, to be measured too
set -euo pipefail
# What is run here is what this script wrote.
export CORTEX_TRUST=all
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
export PYTHONDONTWRITEBYTECODE=1
echo "$(nproc) cores, $(uname -sr), $(python3 -c 'import platform; print("Python", platform.python_version())')"
"$here/bench-engine.sh" ${engine[@]+"${engine[@]}"}
missed=0
if [[ " ${engine[*]-} " == *" 1000 "* ]]; then
    "$here/bench_watch.py" 1000 "$CORTEX_BIN" || missed=1
    "$here/bench_query.py" 1000 || missed=1
    "$here/bench-store.sh" 20000 || missed=1
else
    "$here/bench_watch.py" 10000 "$CORTEX_BIN" || missed=1
    if [[ " ${engine[*]-} " == *" --large "* ]]; then "$here/bench_query.py" 100000 || missed=1; else "$here/bench_query.py" 100000 --unbuilt || missed=1; fi
    "$here/bench-store.sh" || missed=1
fi
"$here/bench_symbols.py" 20000 || missed=1
"$here/bench_programs.py" 500 "$CORTEX_BIN" || missed=1
"$here/bench_remote.py" 700 "$CORTEX_BIN" || missed=1
for folder in ${folders[@]+"${folders[@]}"}; do
    "$here/bench-csharp.sh" "$folder" ${sharp[@]+"${sharp[@]}"}
done
exit "$missed"
