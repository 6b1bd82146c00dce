#!/usr/bin/env python3
"""What overlays cost: scripts/bench_overlay.py [FILES] [OVERLAYS]

A workspace of synthetic C# files is built once. Then so many overlays are opened, each with one file of its own edited, and the targets of all of
them are built. Prints times of whole processes (medians, in milliseconds) and bytes: what is kept of overlays, and by how much the store grew."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "target/release/cortex"
CLASS = """namespace Bench.N{space};

/// <summary>Type {at}.</summary>
public sealed class Type{at}
{{
    private readonly Type{next}? _next;

    /// <summary>The next one.</summary>
    public Type{next}? Next => _next;

    public int Value(int x)
    {{
        return x + {at}; // edited here
    }}
}}
"""


def length(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Bench:
    def __init__(self, folder, files):
        self.root, self.store, self.files = folder / "ws", folder / "store", files
        self.root.mkdir()
        (self.root / "cortex.toml").write_text('[workspace]\nname = "bench"\nrulesets = ["csharp"]\n')
        for at in range(files):
            path = self.root / self.path(at)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text(at))

    def path(self, at):
        return f"src/N{at // 50}/Type{at}.cs"

    def text(self, at):
        return CLASS.format(at=at, space=at // 50, next=(at + 1) % self.files)

    def run(self, *args, text=None):
        start = time.perf_counter()
        command = [PROGRAM, "--store", self.store, *args]
        done = subprocess.run(command, cwd=self.root, input=text, text=True, check=True, capture_output=True)
        return (time.perf_counter() - start) * 1000, (done.stdout + done.stderr).strip().splitlines()[-1]


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    overlays = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), files)
        print(f"| {files:,} files, {overlays} overlays of one edited file each | ms | |\n|---|--:|---|")

        def row(what, times, said=""):
            print(f"| {what} | {statistics.median(times):,.0f} | {said} |")

        took, said = bench.run("build", "//...")
        row("first build of the workspace", [took], said)
        names = [f"overlay-{at}" for at in range(overlays)]
        row("`overlay open`", [bench.run("overlay", "open", name)[0] for name in names])
        edit = bench.root / ".cortex/edit"
        noted = length(edit / "texts") + length(edit / "tree")
        puts = []
        for at, name in enumerate(names):
            edited = bench.text(at * 7 % files).replace("// edited here", f"* {at + 2};")
            puts.append(bench.run("overlay", "put", name, bench.path(at * 7 % files), "--from", "-", text=edited)[0])
        row("`overlay put` of one document", puts)
        kept, before = length(edit), length(bench.store)
        for what in ["first `overlay build` of all targets", "again, warm"]:
            built = [bench.run("overlay", "build", name, "//...") for name in names]
            row(what, [took for took, _ in built], built[-1][1])
        row("`build` of the workspace, nothing to do", [bench.run("build", "//...")[0] for _ in range(5)])
        target = f"//types/Type{7 % files}:outline"
        row(f"`overlay build` of one target, `{target}`, warm", [bench.run("overlay", "build", names[1], target)[0] for _ in range(9)])
        (bench.root / bench.path(7 % files)).write_text(bench.text(7 % files).replace("// edited here", "* 1000;"))
        took, said = bench.run("build", "//...")
        row("`build` after the same edit of a file, for comparison", [took], said)
        results = length(edit) - kept
        grown = length(bench.store) - before
        kept -= noted
        print(f"\ndocuments and what they were made of: {kept:,} bytes, {kept // overlays:,} an overlay; the names of their results {results:,}")
        print(f"what is noted of all files, once for all overlays: {noted:,} bytes, {noted // files:,} a file")
        print(f"the store: {before:,} bytes before, {grown:,} more after all of them were built, {grown // overlays:,} an overlay")


main()
