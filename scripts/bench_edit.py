#!/usr/bin/env python3
"""Times `cortex edit replace` in a large file, as a whole process: scripts/bench_edit.py [MEGABYTES] [RUNS]

The file has lines of source, the text to replace stands once near its end. Prints the median and the slowest in milliseconds, beside `sed -i`."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "target/release/cortex"


def timed(command, folder):
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main():
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "cortex.toml").write_text('[workspace]\nname = "bench"\nrulesets = []\n')
        line = "    public int Value{:08} => {:08}; // a line of source\n"
        count = megabytes * 1_000_000 // len(line.format(0, 0))
        with open(folder / "large.cs", "w") as file:
            file.writelines(line.format(number, number) for number in range(count))
        at = count - 100
        rows = {"cortex edit replace": [], "sed -i": []}
        for run in range(runs):
            old, new = f"=> {at:08};", f"=> {run:07}X;"
            edit = [PROGRAM, "edit", "replace", "--path", "large.cs", "--basic", "--old-text", old, "--new-text", new]
            rows["cortex edit replace"].append(timed(edit, folder))
            rows["sed -i"].append(timed(["sed", "-i", f"s/{new}/{old}/", "large.cs"], folder))
            # sed leaves its file to the kernel, and an edit that waits for the disk would wait for sed's bytes, too.
            os.sync()
        for name, times in rows.items():
            print(f"| {name} | {megabytes} MB | {statistics.median(times):.0f} ms | {max(times):.0f} ms |")


main()
