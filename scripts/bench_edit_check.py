#!/usr/bin/env python3
"""Times plain edits whose new text is looked at: names that mean nothing, and code that names what went (docs/editing.md, "Names that an edit loses").

usage: scripts/bench_edit_check.py [TYPES] [BINARY]

The workspace is that of scripts/bench_context.py, with TYPES classes (1,000). A service (`cortex serve --stdio`) that is warm is asked for 100 edits of
bodies, and for 100 that rename a method which others may use. Printed are the median and the 95th of 100, in milliseconds, beside those of the same
edits where nothing was ever asked of the workspace, so that nothing is looked at."""

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_context import Service, workspace

EDITS = 100


def timed(service, files, edit):
    took, said = [], 0
    for file, old, new in edit(files):
        answer, ms = service.ask("edit", {"op": "replace", "path": file, "oldText": old, "newText": new})
        took.append(ms)
        said += bool(answer.get("lost"))
    took.sort()
    return took[len(took) // 2], took[len(took) * 95 // 100], said


def bodies(files):
    for file in files:
        text = file.read_text()
        yield str(file.relative_to(file.parents[2])), (old := re.search(r"return \d+;", text[text.rindex("public int"):]).group()), f"return {len(old)} + Nowhere;"


def names(files):
    for file in files:
        name = re.search(r"public int (\w+)\(", file.read_text()).group(1)
        yield str(file.relative_to(file.parents[2])), f"public int {name}(", f"public int {name}Renamed("


def measure(binary, types, is_known):
    with tempfile.TemporaryDirectory(prefix="check-") as scratch:
        os.environ["CORTEX_STORE"] = str(Path(scratch) / "store")
        root = Path(scratch) / "tree"
        workspace(root, types)
        if is_known:
            subprocess.run([binary, "-C", str(root), "build", "//types/...:usages"], check=True, capture_output=True)
        files = sorted(file for file in root.glob("src/*/*.cs"))
        random.Random(3).shuffle(files)
        service = Service(binary, root)
        if is_known:
            service.ask("search", {"query": "Node"})
        rows = []
        for name, edit, chosen in [("another body", bodies, files[:EDITS]), ("another name of a method", names, files[EDITS:2 * EDITS])]:
            good = [file for file in chosen if all(file.read_text().count(old) == 1 for _, old, _ in edit([file]))]
            rows.append((name, len(good), *timed(service, good, edit)))
        service.process.terminate()
        return rows


def main():
    types = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    binary = str(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent / "target/release/cortex")
    print("| edit | edits | looked at: median, ms | 95th of 100, ms | said something | not looked at: median, ms | 95th of 100, ms |\n|---|--:|--:|--:|--:|--:|--:|")
    for looked, plain in zip(measure(binary, types, True), measure(binary, types, False)):
        print(f"| {looked[0]} | {looked[1]} | {looked[2]:.0f} | {looked[3]:.0f} | {looked[4]} | {plain[2]:.0f} | {plain[3]:.0f} |")


if __name__ == "__main__":
    main()
