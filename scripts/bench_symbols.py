#!/usr/bin/env python3
"""Measures `resolve` and `search` over synthetic types in one process that has read their names: 1,200 questions of each:
whole names, ends of names, members, patterns, slips of the pen, names that are nowhere. Exits with 1 when a goal is missed.

usage: scripts/bench_symbols.py [TYPES]
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOALS = {"resolve": 5.0, "search": 20.0}


def main() -> int:
    types = sys.argv[1] if len(sys.argv) > 1 else "20000"
    command = ["cargo", "run", "--quiet", "--release", "-p", "workbench", "--example", "symbols_bench", "--", types]
    answer = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    print(f"| {answer['types']:,} types | P50 ms | P95 ms | slowest ms | goal of P95 |\n|---|--:|--:|--:|--:|")
    missed = 0
    for what, goal in GOALS.items():
        took = answer[what]
        missed += took["p95"] > goal
        print(f"| `{what}` | {took['p50']:.1f} | {took['p95']:.1f} | {took['max']:.1f} | {goal:.0f} |")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
