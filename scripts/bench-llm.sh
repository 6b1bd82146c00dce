#!/usr/bin/env bash
# Counts calls and tokens of summaries over a series of real commits of a C# repository: by a cache of whole files, with cortex's
# cut-offs, with cut-offs and patches, and with each question asked alone ("one by one"; otherwise up to eight of a build are one). Nothing
# is sent: a program stands in for the model (scripts/llm_sim.py says how it answers); what is counted are the prompts that a model would get
# and answers of plausible length.
#
# Compared with: every type of changed files ("files"), one question a changed file with its text ("file questions"), and every type of every file
# that holds a reader ("files and readers"). Then, at the last commit, a type, a namespace and a private member are renamed, and a class is split.
#
# usage: scripts/bench-llm.sh REPOSITORY [--commits N] [--until REV] [--patches-only | --ways NAMES]
#        REPOSITORY is a git repository with history, bare or not. It is cloned; nothing in it changes.
#
# CORTEX_BIN  the binary (default: target/release/cortex)
set -euo pipefail
# What is run here is what this script wrote.
export CORTEX_TRUST=all
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/bench_llm.py" "$@" --work "$work" --cortex "${CORTEX_BIN:-$here/../target/release/cortex}"
