#!/usr/bin/env python3
"""Measures build engines on the synthetic graph of synthetic.py and prints Markdown tables. Start it through bench-engine.sh.

The commands count themselves in a log; after every build a sample of the outputs is compared with a recomputation that uses no build
tool. Engines take turns within each repetition, so that a busy minute hits all of them. "wrong" beside a count means that outputs
differed from the recomputation after the build.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import synthetic
from measured import Runner, median, ms, table

SCENARIOS = ["cold", "no-op", "leaf change", "touch", "comment only", "outputs deleted", "A→B→A", "output edited"]


@dataclass
class Engine:
    """One build tool: how it is called and what it leaves behind."""

    name: str
    argv: list[str]
    outputs: str = "out"
    log: str = "ran.log"
    state: list[str] = field(default_factory=list)  # what else a build from nothing must not find
    env: dict[str, str] = field(default_factory=dict)


class Bed:
    """One engine in a checkout of its own, with a model of what its outputs must be."""

    def __init__(self, engine: Engine, folder: Path, targets: int, runner: Runner):
        self.engine, self.folder, self.runner = engine, folder, runner
        self.graph = synthetic.write(targets, folder)
        self.leaves = [synthetic.leaf(i) for i in range(self.graph.width)]
        self.want = self.graph.expected(self.leaves)
        self.env = {k: v.replace("@DIR@", str(folder)) for k, v in engine.env.items()}
        self.random = random.Random(targets)
        self.runs: dict[str, list] = {s: [] for s in SCENARIOS}
        self.counts: dict[str, set] = {s: set() for s in SCENARIOS}
        self.wrong: set[str] = set()
        self.peak = 0.0
        self.edits = 0

    def path(self, target) -> Path:
        return self.folder / self.engine.outputs / f"{synthetic.name(*target)}.txt"

    def set_leaf(self, i: int, text: bytes) -> None:
        """Writes a leaf and brings the model up to date along the targets that it reaches."""
        (self.folder / f"src/{i}.txt").write_bytes(text)
        self.leaves[i] = text
        reached = {i}
        for layer in range(self.graph.layers):
            for k in reached:
                below = b"".join(self.want[x] for x in self.graph.inputs(layer, k))
                self.want[layer, k] = synthetic.strip(text) if layer == 0 else synthetic.checksum(below)
            reached |= {(k - 1) % self.graph.width for k in reached}

    def edit(self, i: int) -> None:
        """Changes what a leaf says, to something it never said before."""
        self.edits += 1
        self.set_leaf(i, self.leaves[i] + f"edit {self.edits}\n".encode())

    def clear(self) -> None:
        for name in [self.engine.outputs, self.engine.log, *self.engine.state]:
            path = self.folder / name.replace("@DIR@", str(self.folder))
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def correct(self, near: int) -> bool:
        """Whether a sample of outputs, all those reached by a leaf among it, is as recomputed."""
        sample = {(layer, (near - d) % self.graph.width) for layer in range(self.graph.layers) for d in range(layer + 1)}
        sample |= {(self.random.randrange(self.graph.layers), self.random.randrange(self.graph.width)) for _ in range(200)}
        try:
            return all(self.path(target).read_bytes() == self.want[target] for target in sample)
        except FileNotFoundError:
            return False

    def build(self, near: int, scenario: str | None = None) -> None:
        """Builds; with a scenario the run is measured, counted and checked under its name."""
        log = self.folder / self.engine.log
        log.unlink(missing_ok=True)
        run = self.runner.run(self.engine.argv, self.folder, self.env)
        if run.code != 0:
            raise RuntimeError(f"{self.engine.name} ended with {run.code} in {self.folder}:\n{run.said}")
        if scenario is None:
            return
        self.runs[scenario].append(run.wall)
        self.counts[scenario].add(len(log.read_bytes().splitlines()) if log.exists() else 0)
        self.peak = max(self.peak, run.peak)
        if not self.correct(near):
            self.wrong.add(scenario)

    def scenario(self, name: str, leaf: int) -> None:
        """Brings about what a scenario is named after, and builds."""
        if name == "cold":
            self.clear()
        elif name == "leaf change":
            self.edit(leaf)
        elif name == "touch":
            os.utime(self.folder / f"src/{leaf}.txt")
        elif name == "comment only":
            self.edits += 1
            self.set_leaf(leaf, self.leaves[leaf] + f"# note {self.edits}\n".encode())
        elif name == "outputs deleted":
            shutil.rmtree(self.folder / self.engine.outputs)
        elif name == "A→B→A":
            before = self.leaves[leaf]
            self.edit(leaf)
            self.build(leaf)
            self.set_leaf(leaf, before)
        elif name == "output edited":
            edited = self.path((self.graph.layers // 2, leaf))
            with open(edited, "ab") as file:
                file.write(b"by hand\n")
        self.build(leaf, name)
        if name == "output edited" and not self.correct(leaf):
            self.path((self.graph.layers // 2, leaf)).unlink(missing_ok=True)
            self.build(leaf)
            if not self.correct(leaf):
                raise RuntimeError(f"{self.engine.name} does not recover from an edited output")


def engines(jobs: int) -> tuple[list[Engine], list[str]]:
    """The engines that are here, and remarks about those that are not."""
    found, missing = [], []
    ninja = shutil.which("ninja")
    if ninja:
        state = [".ninja_log", ".ninja_deps"]
        found.append(Engine("ninja", [ninja, "--quiet", f"-j{jobs}"], state=state))
        found.append(Engine("ninja restat", [ninja, "--quiet", f"-j{jobs}", "-f", "build-restat.ninja"], state=state))
    else:
        missing.append("ninja is not here, so there are no ratios")
    if os.environ.get("N2_BIN"):
        found.append(Engine("n2", [os.environ["N2_BIN"], f"-j{jobs}"], state=[".n2_db"]))
    else:
        missing.append("n2: set N2_BIN to include it")
    if make := shutil.which("make"):
        found.append(Engine("make", [make, "--silent", f"-j{jobs}"]))
    if doit := shutil.which("doit"):
        found.append(Engine("doit", [doit, "-n", str(jobs)], state=[".doit.db", ".doit.db.db", ".doit.db.dat", ".doit.db.dir", ".doit.db.bak"]))
    root = Path(__file__).resolve().parent.parent
    cortex = Path(os.environ.get("CORTEX_BIN", root / "target/release/cortex")).resolve()
    if cortex.is_file():
        argv = [str(cortex), "-C", ".", "build", f"-j{jobs}", "//..."]
        found.append(Engine("cortex", argv, ".cortex/out", "ran-cortex.log", [".cortex", "@DIR@.store"], {"CORTEX_STORE": "@DIR@.store"}))
    else:
        missing.append(f"cortex is not at {cortex}; set CORTEX_BIN")
    return found, missing


def measure(size: int, tools: list[Engine], scenarios: list[str], runs: int, cold_runs: int, jobs: int, scratch: Path, runner: Runner) -> None:
    """One size: all engines, all scenarios that are wanted, one table."""
    beds = [Bed(engine, scratch / f"{size}-{engine.name.replace(' ', '-')}", size, runner) for engine in tools]
    bare = []
    for repetition in range(max(runs, cold_runs)):
        for name in scenarios:
            if repetition >= (cold_runs if name == "cold" else runs):
                continue
            print(f"{size} targets, {name}, run {repetition + 1}", file=sys.stderr)
            if name == "cold":
                bed = beds[0]
                shutil.rmtree(bed.folder / "out", ignore_errors=True)
                for layer in range(bed.graph.layers):
                    (bed.folder / f"out/l{layer}").mkdir(parents=True, exist_ok=True)
                bare.append(runner.spawn_all(bed.folder / "commands.sh", bed.folder, jobs))
                shutil.rmtree(bed.folder / "out")
                (bed.folder / "ran.log").unlink()
            # The order turns, so that nobody always comes after the same neighbour.
            turn = repetition % len(beds)
            for bed in beds[turn:] + beds[:turn]:
                bed.scenario(name, (17 + 31 * repetition) % bed.graph.width)
    base = next((bed for bed in beds if bed.engine.name == "ninja"), None)
    print(f"\n### {size:,} targets, -j{jobs}; one leaf reaches {beds[0].graph.reached()} (wall ms, ratio to ninja, commands that ran)\n")
    rows = []
    for bed in beds:
        row = [bed.engine.name]
        for name in scenarios:
            wall = median(bed.runs[name])
            ratio = f" ({wall / median(base.runs[name]):.2f}×)" if base and bed is not base else ""
            ran = "–".join(f"{n:,}" for n in sorted({min(bed.counts[name]), max(bed.counts[name])}))
            row.append(f"{ms(wall)}{ratio}, {ran}" + (" wrong" if name in bed.wrong else ""))
        rows.append(row + [f"{bed.peak:.0f}"])
    print(table(["engine", *scenarios, "peak MB"], rows))
    print(f"\nThe same commands started by a bare loop, {jobs} at a time: {ms(median(bare))} ms. Cold, over that: " + ", ".join(
        f"{bed.engine.name} {100 * (median(bed.runs['cold']) / median(bare) - 1):+.0f} %" for bed in beds) + ".")
    print("Peak memory is that of the largest process; 14 MB is the least that can be seen.", flush=True)
    for bed in beds:
        shutil.rmtree(bed.folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", help="numbers of targets (default: 1000 10000)")
    parser.add_argument("--large", action="store_true", help="100,000 targets too")
    parser.add_argument("--runs", type=int, default=5, help="repetitions of each scenario; medians are reported")
    parser.add_argument("--cold-runs", type=int, default=0, help="repetitions of the cold build (default: 3 up to 1,000 targets, else 1)")
    parser.add_argument("--only", help="engines by name, separated by commas")
    parser.add_argument("--skip", default="", help="scenarios to leave out, separated by commas (never the cold one)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    tools, remarks = engines(args.jobs)
    if args.only:
        tools = [tool for tool in tools if tool.name in args.only.split(",")]
    scenarios = [name for name in SCENARIOS if name == "cold" or name not in args.skip.split(",")]
    for remark in remarks:
        print(f"({remark})", file=sys.stderr)
    if not tools or args.runs < 1:
        parser.exit(2, "no engine to measure or no run to make\n")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves through the `with`, which cleans up
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as scratch, Runner(Path(scratch)) as runner:
        for size in (args.sizes or [1000, 10000]) + ([100000] if args.large else []):
            try:
                measure(size, tools, scenarios, args.runs, args.cold_runs or (3 if size <= 1000 else 1), args.jobs, Path(scratch), runner)
            except KeyboardInterrupt:
                return 130
            except (RuntimeError, ValueError, OSError) as error:
                print(f"{size} targets: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
