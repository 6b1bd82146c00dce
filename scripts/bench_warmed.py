#!/usr/bin/env python3
"""Measures what a warmed cache saves a fresh machine, on a real repository: the tree that was warmed, the same with one, ten and a hundred edited
files, and warming it again; beside no cache and the store's folder copied. The cache is a folder, and with CASD (the path of buildbox-casd,
`scripts/casd.sh`) a server on the loopback, and the same 20 and 80 ms away and back at 100 Mbit/s.

usage: [CASD=PROGRAM] scripts/bench_warmed.py REPOSITORY [BINARY]    REPOSITORY: a checkout, which is copied
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_remote import HERE, Casd, far

EDITS = (1, 10, 100)
RATE = 100e6 / 8


def edit(folder: Path, count: int) -> None:
    """Adds a private method to the last type of so many files, spread over the repository."""
    files = sorted(path for path in folder.rglob("*.cs") if "}" in path.read_text(errors="ignore") and ".cortex" not in path.parts)
    for number, path in enumerate(files[:: max(1, len(files) // count)][:count]):
        text = path.read_text(errors="surrogateescape")
        at = text.rindex("}")
        path.write_text(text[:at] + f"\n// edited {number}\n" + text[at:], errors="surrogateescape")


class Bench:
    def __init__(self, scratch: Path, sources: Path, binary: str):
        self.scratch, self.sources, self.binary, self.count = scratch, sources, binary, 0

    def fresh_folders(self) -> None:
        """Places for a checkout and a store. Earlier ones stay until the end: ext4 takes seconds of CPU to find inodes for new files where many
        were deleted in the last minutes."""
        self.count += 1
        self.checkout, self.store = (self.scratch / f"{place}{self.count}" for place in ("checkout", "store"))

    def machine(self, endpoint: str | None, edits: int = 0, store: Path | None = None) -> None:
        """A fresh checkout and a fresh store, or a copy of one."""
        self.fresh_folders()
        shutil.copytree(self.sources, self.checkout, symlinks=True, ignore=shutil.ignore_patterns(".cortex", ".git"))
        if store:
            shutil.copytree(store, self.store)
        if edits:
            edit(self.checkout, edits)
        remote = f'[remote]\nendpoint = "{endpoint}"\nwrite = "always"\n' if endpoint else ""
        text = f'[workspace]\nname = "real"\nrulesets = ["csharp"]\n{remote}'
        (self.checkout / "cortex.toml").write_text(text)

    def run(self, verb: str) -> dict:
        """A command there: its report, seconds, CPU seconds."""
        argv = [self.binary, "-C", str(self.checkout), "--json", verb, "//..."]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        env = {**os.environ, "CORTEX_STORE": str(self.store), "CORTEX_TRUST": "all"}
        said = subprocess.run(argv, env=env, capture_output=True)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if said.returncode not in (0, 1):
            sys.exit(f"bench_warmed.py: {argv} ended with {said.returncode}:\n{said.stderr.decode()}")
        report = json.loads(said.stdout)
        report["wall"], report["cpu"] = wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return report


def row(what: str, report: dict) -> None:
    remote = report.get("remote") or {}
    down, up = remote.get("bytes_down", 0) / 1e6, remote.get("bytes_up", 0) / 1e6
    print(
        f"| {what} | {report['tally']['ran']:,} | {report['cpu']:.1f} | {report['wall']:.1f} | {down:.1f} | {up:.1f} | {remote.get('requests', 0):,} |",
        flush=True,
    )


def measure(bench: Bench, name: str, endpoint: str) -> None:
    bench.machine(endpoint)
    row(f"{name}: exactly the warmed tree", bench.run("build"))
    for count in EDITS:
        bench.machine(endpoint, count)
        row(f"{name}: {count} edited", bench.run("build"))


def main() -> int:
    sources = Path(sys.argv[1]).resolve()
    binary = str(Path(sys.argv[2] if len(sys.argv) > 2 else HERE.parent / "target/release/cortex").resolve())
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        bench = Bench(scratch, sources, binary)
        print("| fresh machine, `build '//...'` | ran | CPU s | wall s | MB down | MB up | requests |\n|---|--:|--:|--:|--:|--:|--:|")
        share = f"dir:{scratch / 'share'}"
        bench.machine(share)
        row("`warm` of a folder, nothing there", bench.run("warm"))
        shutil.copytree(bench.store, scratch / "warmed-store")
        row("`warm` again", bench.run("warm"))
        measure(bench, "folder", share)
        bench.machine(share, 1)
        row("`warm` on another machine, one edited", bench.run("warm"))
        bench.machine(None)
        row("no cache", bench.run("build"))
        for count in (0, 1):
            bench.machine(None, count, scratch / "warmed-store")
            row(f"the store copied, {count} edited", bench.run("build"))
        if casd := os.environ.get("CASD"):
            with Casd(casd, scratch / "casd") as server:
                bench.machine(f"grpc://127.0.0.1:{server.port}")
                row("`warm` of a server", bench.run("warm"))
                measure(bench, "server", f"grpc://127.0.0.1:{server.port}")
                for way in (20, 80):
                    distant = far(server.port, way / 2000, RATE)
                    measure(bench, f"server {way} ms away, 100 Mbit/s", f"grpc://127.0.0.1:{distant}")
                for rate in (8, 1):
                    bench.machine(f"grpc://127.0.0.1:{far(server.port, 0.1, rate * 1e6 / 8)}")
                    row(f"server 200 ms away, {rate} Mbit/s: exactly the warmed tree", bench.run("build"))
            bench.machine("grpc://127.0.0.1:9")
            row("a server that does not answer", bench.run("build"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
