#!/usr/bin/env python3
"""Measures what running a small program as a producer costs beyond starting it: without a sandbox and in a strict one, one program after
the other, against a shell that starts the same program as often. Exits with 1 when a goal is missed.

usage: scripts/bench_programs.py [PROGRAMS] [BINARY]    PROGRAMS: default 500
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = 7
GOALS = {"off": 1.5, "strict": 6.0}


def manifest(sandbox: str) -> str:
    return f"""[workspace]
name = "programs"
rulesets = []
[sources.text]
include = ["*.txt"]
[producer.head]
uses = "command"
argv = ["head", "-c", "3", "{{in.text}}"]
sandbox = "{sandbox}"
[[rule]]
target = "//heads/{{file}}:made"
each = {{ file = "sources:text" }}
producer = "head"
inputs = {{ text = "//files/{{file}}:bytes" }}
"""


def took(argv: list[str], folder: Path, store: Path | None = None) -> tuple[float, bytes]:
    env = {**os.environ, "CORTEX_TRUST": "all"} | ({"CORTEX_STORE": str(store)} if store else {})
    start = time.monotonic()
    said = subprocess.run(argv, cwd=folder, env=env, capture_output=True)
    wall = time.monotonic() - start
    if said.returncode:
        sys.exit(f"bench_programs.py: {argv} ended with {said.returncode}:\n{said.stderr.decode()}")
    return wall, said.stdout


def main() -> int:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    binary = str(Path(sys.argv[2] if len(sys.argv) > 2 else HERE.parent / "target/release/cortex").resolve())
    loop = f"i=0; while [ $i -lt {programs} ]; do head -c 3 0.txt >/dev/null; i=$((i+1)); done"
    spawned, built, level = [], {sandbox: [] for sandbox in GOALS}, {}
    for run in range(RUNS):
        for sandbox in GOALS:
            with tempfile.TemporaryDirectory() as name:
                folder, store = Path(name, "work"), Path(name, "store")
                folder.mkdir()
                for number in range(programs):
                    (folder / f"{number}.txt").write_text(f"{number} {run}\n")
                (folder / "cortex.toml").write_text(manifest(sandbox))
                # The graph is there before; only what is run is measured.
                nothing = [binary, "--output", "json", "build", "--dry-run", "//..."]
                took(nothing, folder, store)
                planned = took(nothing, folder, store)[0]
                wall, said = took([binary, "--output", "json", "build", "-j1", "//..."], folder, store)
                report = json.loads(said)
                assert report["tally"]["ran"] == programs, report["tally"]
                built[sandbox].append((wall - planned) / programs * 1000)
                level[sandbox] = ", ".join(report["tally"]["confined"])
                spawned.append(took(["sh", "-c", loop], folder)[0] / programs * 1000)
    spawn = statistics.median(spawned)
    print(f"| {programs} programs, one after the other | ms each | over the spawn | goal |\n|---|--:|--:|--:|")
    print(f"| a shell's loop | {spawn:.2f} | | |")
    missed = False
    for sandbox, goal in GOALS.items():
        each = statistics.median(built[sandbox])
        missed |= each - spawn > goal
        print(f'| `sandbox = "{sandbox}"` ({level[sandbox]}) | {each:.2f} | {each - spawn:.2f} | {goal} |')
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
