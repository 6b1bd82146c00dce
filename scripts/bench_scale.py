#!/usr/bin/env python3
"""Measures how the cost of builds follows the change, from small workspaces to large ones, and prints Markdown tables.

Each workspace is written by scale_workspace.py, or is a copy of a checkout. For `//types/...:outline` and for `//...`, each with a store of
its own, one build follows the other: cold, nothing changed, a file touched, a comment, a method body edited, the busiest public method
renamed (its declaration alone: what a rename begins with), a type added, a file deleted, and a branch switched that edits a body, or the
end, of every tenth file, and back. What a step changed is taken back and built, unmeasured, before the next.

A step that takes longer than `--limit` gets SIGTERM, and the table says so; what would have built on it is not reached.

CORTEX_BIN  the binary to measure (default: target/release/cortex)
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import scale_workspace
from bench_csharp import OUTLINES, body_line, commit, first_body, git, insert, prepare, sources
from measured import Run, Runner, ms, table

SIZES = [1_000, 3_000, 10_000, 30_000, 100_000]
PATTERNS = [OUTLINES, "//..."]
STEPS = ["cold", "no-op", "status", "touch", "comment", "body edit", "method renamed", "type added", "file deleted", "branch switched", "and back"]
# A declaration of a method and a call of one, as far as a line shows it.
DECLARED = re.compile(rb"^\s*public\s+(?:(?:static|virtual|override|async|sealed|new)\s+)*[\w<>\[\],.?]+\s+(\w+)\s*\(", re.M)
CALLED = re.compile(rb"\.(\w+)\(")


class NotReached(Exception):
    """What a step begins with could not be built within its limit."""


@dataclass
class Built:
    """One measured build."""

    run: Run
    ran: int = 0
    producers: float = 0.0  # seconds inside producers
    by_producer: Counter = field(default_factory=Counter)


class Bench:
    """A workspace, the binary, and the store that it uses."""

    def __init__(self, tree: Path, cortex: Path, scratch: Path, runner: Runner, limit: float):
        self.tree, self.cortex, self.runner, self.limit = tree, str(cortex), runner, limit
        self.scratch, self.store, self.edits = scratch, scratch / "store", 0
        self.files = sources(tree)
        self.file, self.line = body_line(self.files)

    def call(self, *arguments: str) -> Run:
        return self.runner.run([self.cortex, "-C", str(self.tree), *arguments], self.tree, {"CORTEX_STORE": str(self.store)}, self.limit)

    def build(self) -> Built:
        """Builds, and reads from the build's events what ran."""
        events = self.scratch / "events"
        built = Built(self.call("build", "--events", str(events), self.pattern))
        if built.run.late is None and built.run.code not in (0, 1):
            raise RuntimeError(f"the build ended with {built.run.code}:\n{built.run.said}")
        for line in events.read_bytes().splitlines() if events.exists() else []:
            if line.startswith(b'{"event":"ran"'):
                event = json.loads(line)
                built.ran += 1
                built.by_producer[re.sub(r".*:", "", event["label"]) if not event["label"].startswith("//index") else event["label"]] += event["took"] / 1e6
        built.producers = built.by_producer.total()
        events.unlink(missing_ok=True)
        return built

    def settle(self) -> None:
        """Builds what the last step took back."""
        if self.build().run.late is not None:
            raise NotReached

    def step(self, name: str) -> Built:
        """Does one step and takes back what it changed."""
        self.edits += 1
        if name == "cold":
            for path in (self.store, self.tree / ".cortex"):
                shutil.rmtree(path, ignore_errors=True)
            return self.build()
        if name == "no-op":
            self.settle()  # files younger than two seconds are looked at twice
            return self.build()
        if name == "status":
            return Built(self.call("status"))
        if name == "touch":
            os.utime(self.file)
            return self.build()
        if name == "branch switched":
            git(self.tree, "checkout", "-q", "other")
            return self.build()
        if name == "and back":
            git(self.tree, "checkout", "-q", "main")
            return self.build()
        before = {self.file: self.file.read_bytes()}
        if name in ("comment", "body edit"):
            insert(self.file, self.line, f"// Note {self.edits}." if name == "comment" else f"_ = {self.edits};")
        elif name == "method renamed":
            file, method = busiest_method(self.files)
            before = {file: file.read_bytes()}
            file.write_bytes(re.sub(rb"\b%s(?=\s*\()" % method, b"%sRenamed%d" % (method, self.edits), before[file]))
        elif name == "type added":
            added = self.file.with_name(f"BenchAdded{self.edits}.cs")
            before = {added: None}
            added.write_text(f"namespace Bench.Added;\n\npublic sealed class BenchAdded{self.edits}\n{{\n}}\n")
        elif name == "file deleted":
            self.file.unlink()
        try:
            return self.build()
        finally:
            for file, text in before.items():
                file.unlink() if text is None else file.write_bytes(text)
            self.settle()

    def branch(self) -> None:
        """Makes the branch `other`, on which every tenth file is edited."""
        git(self.tree, "checkout", "-q", "-b", "other")
        for number, file in enumerate(self.files[::10]):
            line = first_body(file.read_bytes().decode(errors="replace"))
            if line is None:
                file.write_bytes(file.read_bytes().rstrip(b"\n") + b"\n// On the other branch.\n")
            else:
                insert(file, line, f"_ = {number + 1_000};")
        commit(self.tree, "other")
        git(self.tree, "checkout", "-q", "main")


def busiest_method(files: list[Path]) -> tuple[Path, bytes]:
    """The public method whose name is called most often, of those whose name is declared once."""
    called, declared, where = Counter(), Counter(), {}
    for file in files:
        text = file.read_bytes()
        called.update(CALLED.findall(text))
        for name in DECLARED.findall(text):
            declared[name] += 1
            where[name] = file
    name = max((name for name, times in declared.items() if times == 1), key=lambda name: (called[name], name))
    return where[name], name


def measure(bench: Bench, patterns: list[str], steps: list[str], note) -> tuple[Run, Run, dict[str, dict[str, Built | None]]]:
    """All steps for each pattern; `None` for a step that was not reached."""
    status = ["git", "status", "--porcelain"]
    bench.runner.run(status, bench.tree)
    peer = min((bench.runner.run(status, bench.tree) for _ in range(3)), key=lambda run: run.wall)
    told = bench.call("dev", "parse-only", str(bench.tree))
    parsed = json.loads(told.said.strip().splitlines()[-1])
    parse = Run(parsed["wall_seconds"], parsed["cpu_seconds"], told.peak, told.code, "")
    note(f"git status {peer.wall:.3f} s wall, {peer.cpu:.3f} s CPU; parse-only {parse.cpu:.2f} s CPU")
    got: dict[str, dict[str, Built | None]] = {}
    for pattern in patterns:
        bench.pattern, reached = pattern, True
        results = got.setdefault(pattern, {})
        for name in steps:
            results[name] = None
            if not reached:
                continue
            try:
                built = results[name] = bench.step(name)
                note(f"{pattern} {name}: {built.run.cpu:.2f} s CPU, {built.run.wall:.2f} s wall, {built.run.peak:.0f} MB, {built.ran:,} ran")
                reached = built.run.late is None
            except NotReached:
                reached = False
            if name == "cold" and reached:
                results[name].store = store_size(bench.store)
                note("  " + ", ".join(f"{producer} {took:.2f}" for producer, took in results[name].by_producer.most_common(12)))
            git(bench.tree, "checkout", "-q", "-f", "other" if name == "branch switched" and reached else "main")
    return peer, parse, got


def store_size(store: Path) -> int:
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def report(title: str, size: int, peer: Run, parse: Run, got: dict[str, dict[str, Built | None]], limit: float) -> None:
    """Prints the table of one workspace."""
    print(f"\n### {title}\n\n`git status` {ms(peer.wall)} ms wall, {ms(peer.cpu)} ms CPU; parse only {parse.cpu:.2f} s CPU\n")
    rows = []
    for pattern, results in got.items():
        rest = results.get("no-op")
        for name, built in results.items():
            head = f"`{pattern}` {name}"
            if built is None:
                rows.append([head] + ["not reached"] + [""] * 6)
                continue
            run = built.run
            against = ""
            if name == "cold":
                against = f"{run.cpu / parse.cpu:.2f}× parse only"
            elif name == "no-op":
                against = f"{run.wall / peer.wall:.2f}× `git status`, wall"
            elif rest is not None and name not in ("status",):
                against = f"{ms(max(run.cpu - rest.run.cpu, 0))} ms above the no-op"
            each = f"{(run.cpu / built.ran) * 1000:.2f}" if built.ran else ""
            if run.late is not None:
                against = f"stopped after {limit:.0f} s; ended {run.late:.1f} s after SIGTERM"
            stored = getattr(built, "store", None)
            stored = f"{stored / 1e6:,.0f} ({stored / size:.1f}× the sources)" if stored else ""
            rows.append([head, f"{built.ran:,}", f"{run.cpu:,.2f}", each, f"{built.producers:,.2f}", f"{run.wall:,.2f}", f"{run.peak:,.0f}", stored, against])
    width = max(len(row) for row in rows)
    rows = [row + [""] * (width - len(row)) for row in rows]
    print(table(["", "ran", "CPU s", "CPU ms a target", "in producers s", "wall s", "peak MB", "store MB", "against"], rows), flush=True)


def summary(cold: dict[str, dict[str, float]]) -> None:
    """CPU per target of cold builds, by size."""
    print("\n### CPU per target of cold builds\n")
    patterns = list(dict.fromkeys(pattern for of in cold.values() for pattern in of))
    first = next(iter(cold.values()))
    rows = []
    for title, of in cold.items():
        cells = [f"{of[p] * 1000:.2f} ms" + (f" ({of[p] / first[p]:.2f}×)" if first.get(p) else "") if p in of else "not reached" for p in patterns]
        rows.append([title, *cells])
    print(table(["", *(f"`{pattern}`" for pattern in patterns)], rows), flush=True)


def workspaces(args, scratch: Path):
    """Each workspace to measure: its name, its folder."""
    for number, checkout in enumerate(args.checkout):
        home = scratch / f"checkout{number}"
        home.mkdir()
        yield checkout.resolve().name, prepare(checkout, home)
    for types in args.types or ([] if args.checkout else SIZES):
        tree = scratch / f"types{types}" / "tree"
        tree.mkdir(parents=True)
        scale_workspace.write(types, tree)
        git(tree, "init", "-q")
        commit(tree, "as it was")
        yield f"{types:,} types", tree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", type=int, nargs="*", metavar="N", help=f"types of the workspaces (default: {SIZES})")
    parser.add_argument("--checkout", type=Path, action="append", default=[], metavar="DIR", help="a checkout of a C# repository, which is copied; repeatable")
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="how long a step may take")
    parser.add_argument("--steps", default=",".join(STEPS), help="which steps, separated by commas; all others need `cold`")
    parser.add_argument("--patterns", default=",".join(PATTERNS), help="what is built, separated by commas")
    args = parser.parse_args()
    steps = args.steps.split(",")
    unknown = set(steps) - set(STEPS)
    root = Path(__file__).resolve().parent.parent
    cortex = Path(os.environ.get("CORTEX_BIN", root / "target/release/cortex")).resolve()
    if not cortex.is_file():
        parser.exit(2, f"cortex is not at {cortex}; build it with `cargo build --release` or set CORTEX_BIN\n")
    if unknown or min(args.types, default=10) < 10 or not all(folder.is_dir() for folder in args.checkout):
        parser.exit(2, f"no steps {sorted(unknown)}, fewer than ten types, or a checkout is no folder\n")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves through the `with`, which cleans up
    cold: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as folder, Runner(Path(folder)) as runner:
        scratch = Path(folder)
        try:
            for title, tree in workspaces(args, scratch):
                git(tree, "branch", "-q", "-M", "main")
                bench = Bench(tree, cortex, tree.parent, runner, args.limit)
                if not (tree / "cortex.toml").exists() and bench.call("init").code:
                    raise RuntimeError("cortex init failed")
                commit(tree, "with a manifest")
                bench.branch()
                size = sum(file.stat().st_size for file in bench.files)
                title = f"{title}: {len(bench.files):,} files, {size / 1e6:.1f} MB"
                peer, parse, got = measure(bench, args.patterns.split(","), steps, lambda text: print(f"{title}: {text}", file=sys.stderr))
                report(title, size, peer, parse, got, args.limit)
                done = {pattern: results["cold"] for pattern, results in got.items() if results.get("cold")}
                cold[title] = {pattern: built.run.cpu / built.ran for pattern, built in done.items() if built.run.late is None and built.ran}
                shutil.rmtree(tree.parent)
        except KeyboardInterrupt:
            return 130
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            print(f"bench_scale.py: {error}", file=sys.stderr)
            return 1
    if len(cold) > 1:
        summary(cold)
    return 0


if __name__ == "__main__":
    sys.exit(main())
