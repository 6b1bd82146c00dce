#!/usr/bin/env python3
"""Measures the care of a store. Start it through bench-store.sh.

Usage: bench_store.py [BLOBS]   (default: 1,000,000; a fiftieth of that for what is verified, and a gigabyte for each million to be opened)
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured import Runner, median

BLOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ROOT = Path(__file__).resolve().parent.parent
CORTEX = str(Path(os.environ.get("CORTEX_BIN", ROOT / "target/release/cortex")).resolve())
FILL = str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release/examples/store_bench")
KILLS = 5
SIZE = 16_384  # bytes of an output that is verified


def bench(folder: Path, blobs: int, size: int) -> list[str]:
    return [FILL, str(folder), str(blobs), str(size)]


def filled(folder: Path, blobs: int, size: int) -> dict:
    said = subprocess.run(bench(folder, blobs, size), check=True, capture_output=True, text=True).stdout
    print(said, flush=True)
    return json.loads(said)


def killed(folder: Path, length: int) -> int:
    """Fills a store until so many bytes of its file are written and kills the process that writes; how many are written then."""
    file = folder / "store.redb"
    # A file grows ahead of what is written to it: its blocks count, not its length.
    written = lambda: file.stat().st_blocks * 512 if file.exists() else 0
    filling = subprocess.Popen(bench(folder, length, SIZE), stdout=subprocess.DEVNULL)
    try:
        while written() < length:
            if filling.poll() is not None:
                raise RuntimeError("the filling process ended by itself")
            time.sleep(0.001)
    finally:
        filling.send_signal(signal.SIGKILL)
        filling.wait()
    return written()


def opened(workspace: Path, store: Path, runner: Runner) -> tuple[float, float, float]:
    """Seconds and MB of the first look after a kill, and seconds of the next one, which finds the file in order."""
    workspace.mkdir(exist_ok=True)
    (workspace / "cortex.toml").write_text('[workspace]\nname = "empty"\nrulesets = []\n')
    first, second = (runner.run([CORTEX, "log"], workspace, {"CORTEX_STORE": str(store)}) for _ in range(2))
    for run in (first, second):
        if run.code != 0:
            raise RuntimeError(f"cortex log ended with {run.code}:\n{run.said}")
    return first.wall, first.peak, second.wall


def told(what: str, value: str, missed: bool) -> bool:
    print(what + value + (" MISSED" if missed else ""), flush=True)
    return missed


def main() -> int:
    missed = False
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "workbench", "--example", "store_bench"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory(prefix="bench-store-") as scratch, Runner(Path(scratch)) as runner:
        folder = Path(scratch)
        filled(folder / "many", BLOBS, 64)
        run = runner.run([CORTEX, "gc", "--store", str(folder / "many"), "--json"], folder)
        if run.code != 0:
            raise RuntimeError(f"gc ended with {run.code}:\n{run.said}")
        missed |= told(f"gc of {BLOBS:,} outputs: ", f"{run.wall:.1f} s (goal 20 s), {run.peak:.0f} MB of memory at most", run.wall > 20)

        large = filled(folder / "large", BLOBS // 50, SIZE)
        alone, all_cores = (large[hash] / max(large["verify_ms"], 1) for hash in ("hash_alone_ms", "hash_ms"))
        missed |= told("verify: ", f"{alone:.2f} of the speed of plain blake3 on one thread (goal 0.50), "
                       f"{all_cores:.2f} of that on all {os.cpu_count()} cores, which verifying uses", alone < 0.5)

        rows = []
        for kill in range(KILLS):
            store = folder / f"killed-{kill}"
            # A little later each time: in another part of a commit.
            written = killed(store, BLOBS * (1000 + 30 * kill))
            rows.append((*opened(folder / "empty", store, runner), written))
            subprocess.run(["rm", "-rf", str(store)], check=True)
        first, peak, second = max(row[0] for row in rows), max(row[1] for row in rows), median([row[2] for row in rows])
        missed |= told(f"opening {max(row[3] for row in rows) / 1e9:.2f} GB after kill -9, the slowest of {KILLS}: ",
                       f"{first * 1000:.0f} ms (goal 1 s), {peak:.0f} MB of memory; the next time {second * 1000:.1f} ms", first > 1)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
