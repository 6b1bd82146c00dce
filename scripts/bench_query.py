#!/usr/bin/env python3
"""What `cortex query 'deps(//...)'` costs on the synthetic graph of synthetic.py: before anything was built, when every command reads the
rules from their text; after the first build, of one target, which keeps the rules compiled; and after a build of everything.

Usage: bench_query.py [TARGETS] [--unbuilt]   (default: 100000; with --unbuilt the build of everything, which takes minutes, is left out)

CORTEX_BIN  the binary to measure (default: target/release/cortex)
"""
import os
import sys
import tempfile
from pathlib import Path

import synthetic
from measured import Runner, median, ms, table

RUNS = 7


def main() -> int:
    numbers = [arg for arg in sys.argv[1:] if arg != "--unbuilt"]
    targets, root = int(numbers[0]) if numbers else 100_000, Path(__file__).resolve().parent.parent
    cortex = str(Path(os.environ.get("CORTEX_BIN", root / "target/release/cortex")).resolve())
    with tempfile.TemporaryDirectory(prefix="bench-query-") as scratch, Runner(Path(scratch)) as runner:
        folder = Path(scratch) / "ws"
        synthetic.write(targets, folder)
        env = {"CORTEX_STORE": f"{folder}.store", "CORTEX_TRUST": "all"}

        def run(*args: str):
            run = runner.run([cortex, *args], folder, env)
            if run.code != 0:
                raise RuntimeError(f"cortex {' '.join(args)} ended with {run.code}:\n{run.said}")
            return run

        def asked(name: str) -> list[str]:
            first, *runs = [run("query", "deps(//...)") for _ in range(RUNS + 1)]
            wall, peak = median([run.wall for run in runs]), max(run.peak for run in [first, *runs])
            walls.append(wall)
            row = [name, ms(first.wall), ms(wall), f"{peak:.0f}"]
            print(*row, file=sys.stderr)
            return row

        walls: list[float] = []
        rows = [asked("before a build")]
        run("build", "//l0/0:out")
        rows.append(asked("one target built"))
        if "--unbuilt" not in sys.argv:
            built = run("build", "//...")
            print(f"(the build took {built.wall:.0f} s)", file=sys.stderr)
            rows.append(asked("all built"))
        print(f"\n`cortex query 'deps(//...)'`, {targets:,} targets and {targets // 10:,} files, goal 1 s at 100,000 once something was built:\n")
        print(table(["", "first ms", "median ms", "peak MB"], rows), flush=True)
    return int(targets <= 100_000 and any(wall > 1 for wall in walls[1:]))


if __name__ == "__main__":
    sys.exit(main())
