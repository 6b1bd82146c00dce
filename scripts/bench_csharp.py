#!/usr/bin/env python3
"""Measures cortex on a checkout of a C# repository and prints a Markdown table. Start it through bench-csharp.sh.

All work happens on a copy. Edits are real ones: a statement goes into a method body of a mid-size file, a comment beside it, a new file
with a new type; after each measured build the edit is taken back and built again, unmeasured.
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
from pathlib import Path

import synthetic
from measured import Run, Runner, median, ms, table

OUTLINES = "//types/...:outline"
SKIPPED = {"bin", "obj", ".git", ".cortex"}


def sources(tree: Path) -> list[Path]:
    """All C# files that a build would read, in a fixed order."""
    found = []
    for folder, below, names in os.walk(tree):
        below[:] = sorted(set(below) - SKIPPED)
        found += [Path(folder) / n for n in sorted(names) if n.endswith(".cs")]
    return found


def first_body(text: str) -> int | None:
    """The number of the first line that begins a block of a method and is a `return`."""
    # Directives and multi-line strings could hide the line from the compiler.
    if re.search(r'^\s*#if|@"|"""', text, re.M):
        return None
    lines = text.split("\n")
    for i in range(2, len(lines) - 1):
        opens = lines[i - 1].strip() == "{" and lines[i - 2].rstrip().endswith(")")
        if opens and re.match(r"\s{8,}return\b.*;\s*$", lines[i]) and re.match(r"\s*(public|internal|private|protected)\b", lines[i - 2]):
            return i
    return None


def body_line(files: list[Path]) -> tuple[Path, int]:
    """A mid-size file and the number of a line in it that begins a block and is followed by a `return`."""
    sized = sorted((f for f in files if 4_000 < f.stat().st_size < 40_000), key=lambda f: (f.stat().st_size, str(f)))
    middle = len(sized) // 2
    for file in sorted(sized, key=lambda f: abs(sized.index(f) - middle))[:500]:
        line = first_body(file.read_bytes().decode(errors="replace"))
        if line is not None:
            return file, line
    raise RuntimeError("no method body with a return was found to edit")


def insert(file: Path, line: int, text: str) -> bytes:
    """Puts a line before a line, in the file's own line ending; returns what the file was."""
    before = file.read_bytes()
    lines = before.split(b"\n")
    end = b"\r" if lines[line].endswith(b"\r") else b""
    lines.insert(line, b"            " + text.encode() + end)
    file.write_bytes(b"\n".join(lines))
    return before


class Bench:
    """A copy of the checkout, the binary and the store it uses."""

    def __init__(self, tree: Path, cortex: Path, scratch: Path, runner: Runner):
        self.tree, self.cortex, self.runner, self.store = tree, str(cortex), runner, scratch / "store"
        self.edits = 0

    def call(self, *arguments: str) -> Run:
        run = self.runner.run([self.cortex, "-C", str(self.tree), *arguments], self.tree, {"CORTEX_STORE": str(self.store)})
        if run.code not in (0, 1):
            raise RuntimeError(f"cortex {' '.join(arguments)} ended with {run.code}:\n{run.said}")
        return run

    def build(self, *flags: str) -> Run:
        run = self.call("build", *flags, OUTLINES)
        if run.code:
            raise RuntimeError(f"the build failed:\n{run.said}")
        return run

    def cold(self, *flags: str) -> Run:
        for path in (self.store, self.tree / ".cortex"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        return self.build(*flags)

    def edited(self, file: Path, line: int, text: str) -> Run:
        """One edit of one line: measured, taken back, settled."""
        self.edits += 1
        before = insert(file, line, text.format(n=self.edits))
        try:
            return self.build()
        finally:
            file.write_bytes(before)
            self.build()

    def added(self, folder: Path) -> Run:
        """One new file with one new type: measured, taken back, settled."""
        self.edits += 1
        file = folder / f"BenchAdded{self.edits}.cs"
        file.write_text(f"namespace Bench.Added;\n\npublic sealed class BenchAdded{self.edits}\n{{\n}}\n")
        try:
            return self.build()
        finally:
            file.unlink()
            self.build()


def prepare(checkout: Path, scratch: Path) -> Path:
    """A copy of the checkout that is a clean git work tree, so that `git status` does on it what it does for everybody."""
    tree = scratch / "tree"
    shutil.copytree(checkout, tree, symlinks=True, ignore=shutil.ignore_patterns("bin", "obj", ".git", ".cortex"))
    git(tree, "init", "-q")
    commit(tree, "as it was")
    return tree


def git(tree: Path, *arguments: str) -> None:
    """Runs git in a way that no configuration of the user changes."""
    settings = ["user.name=bench", "user.email=bench@localhost", "core.autocrlf=false", "gc.auto=0", "core.hooksPath=/dev/null"]
    subprocess.run(["git", *(word for one in settings for word in ("-c", one)), *arguments], cwd=tree, check=True, stdout=subprocess.DEVNULL)


def commit(tree: Path, message: str) -> None:
    """Commits everything that is there."""
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", message)


def last_line(run: Run) -> str:
    """What the last run said at its end, fit for a table."""
    lines = [line.strip() for line in run.said.splitlines() if line.strip()]
    return re.sub(r"[|\x00-\x1f]", " ", lines[-1])[:100] if lines else ""


def ninja_noop(targets: int, scratch: Path, runner: Runner, runs: int) -> list[Run]:
    """No-op runs of ninja on a graph of at least so many targets, which it has built once."""
    ninja = shutil.which("ninja")
    if not ninja:
        return []
    folder = scratch / "ninja"
    synthetic.write(max(20, (targets + 9) // 10 * 10), folder)
    first = runner.run([ninja, "--quiet"], folder)
    if first.code:
        raise RuntimeError(f"ninja failed:\n{first.said}")
    return [runner.run([ninja, "--quiet"], folder) for _ in range(runs)]


def measure(bench: Bench, runs: int, cold_runs: int, targets: int, scratch: Path) -> None:
    files = sources(bench.tree)
    size = sum(f.stat().st_size for f in files)
    file, line = body_line(files)
    note = lambda text: print(text, file=sys.stderr)
    if not (bench.tree / "cortex.toml").exists():
        bench.call("init")
    got: dict[str, list[Run]] = {}

    def take(name: str, run: Run) -> None:
        note(f"{name}: {run.wall:.3f} s wall, {run.cpu:.3f} s CPU, {run.peak:.0f} MB")
        got.setdefault(name, []).append(run)

    for _ in range(cold_runs):
        parse = bench.call("dev", "parse-only", str(bench.tree))
        try:
            told = json.loads(parse.said.strip().splitlines()[-1])
            parse = Run(told.get("wall_seconds", parse.wall), told.get("cpu_seconds", parse.cpu), parse.peak, parse.code, "")
        except (ValueError, IndexError, AttributeError):
            note("parse-only printed no JSON; its process is measured instead")
        take("parse only", parse)
        take("cold, -j1", bench.cold("-j1"))
        take("cold", bench.cold())
    if not targets:
        targets = count_nodes(bench)
    status = ["git", "status", "--porcelain"]
    bench.runner.run(status, bench.tree)
    for run in ninja_noop(targets, scratch, bench.runner, runs):
        take("ninja no-op", run)
    for _ in range(runs):
        take("git status", bench.runner.run(status, bench.tree))
        take("no-op", bench.build())
    for _ in range(runs):
        take("method body edited", bench.edited(file, line, "_ = {n};"))
        take("comment edited", bench.edited(file, line, "// Note {n}."))
        take("type added", bench.added(file.parent))
    report(got, len(files), size, targets, file.relative_to(bench.tree))


def count_nodes(bench: Bench) -> int:
    """How many nodes the workspace has."""
    output = subprocess.run([bench.cortex, "-C", str(bench.tree), "query", "//..."], env={**os.environ, "CORTEX_STORE": str(bench.store)},
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return output.count(b"\n")


def report(got: dict[str, list[Run]], files: int, size: int, targets: int, edited: Path) -> None:
    """Prints the table of medians and ratios."""
    wall = {name: median([r.wall for r in runs]) for name, runs in got.items()}
    cpu = {name: median([r.cpu for r in runs]) for name, runs in got.items()}
    against = {
        "cold, -j1": [("parse only", cpu, "CPU")],
        "cold": [("parse only", cpu, "CPU"), ("cold, -j1", wall, "wall")],
        "no-op": [("git status", wall, "wall"), ("ninja no-op", wall, "wall")],
        "method body edited": [("no-op", wall, "wall")],
        "comment edited": [("no-op", wall, "wall")],
        "type added": [("no-op", wall, "wall")],
    }
    print(f"\n### {files:,} C# files, {size / 1e6:.1f} MB, {targets:,} nodes; edits in {edited.name}\n")
    rows = []
    for name, runs in got.items():
        ratios = ", ".join(f"{of[name] / of[peer]:.2f}× {peer} ({unit})" for peer, of, unit in against.get(name, []) if of.get(peer))
        rows.append([name, ms(wall[name]), ms(cpu[name]), f"{max(r.peak for r in runs):.0f}", ratios, last_line(runs[-1])])
    print(table(["", "wall ms", "CPU ms", "peak MB", "ratios", "said"], rows), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, metavar="DIR", help="a checkout of a C# repository; it is not touched")
    parser.add_argument("--runs", type=int, default=7, help="repetitions; medians are reported")
    parser.add_argument("--cold-runs", type=int, default=3, help="repetitions of the cold builds")
    parser.add_argument("--targets", type=int, default=0, help="size of ninja's graph (default: the number of nodes that `query //...` lists)")
    args = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    cortex = Path(os.environ.get("CORTEX_BIN", root / "target/release/cortex")).resolve()
    if not cortex.is_file():
        parser.exit(2, f"cortex is not at {cortex}; build it with `cargo build --release` or set CORTEX_BIN\n")
    if not args.checkout.is_dir() or min(args.runs, args.cold_runs) < 1:
        parser.exit(2, f"{args.checkout} is not a folder, or no run is to be made\n")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves through the `with`, which cleans up
    with tempfile.TemporaryDirectory(prefix="bench-csharp-") as folder, Runner(Path(folder)) as runner:
        scratch = Path(folder)
        try:
            measure(Bench(prepare(args.checkout, scratch), cortex, scratch, runner), args.runs, args.cold_runs, args.targets, scratch)
        except KeyboardInterrupt:
            return 130
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            print(f"{args.checkout}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
