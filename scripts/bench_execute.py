#!/usr/bin/env python3
"""Measures cold outlines with workers beside this machine: buildbox-casd on the same cores, each shard in a sandbox of bubblewrap. The sources
are synthetic C#, a class a file. Compares what comes out with what is made without workers, byte by byte: of a clean build, of one after
edits, and of one whose server is killed in the middle. Exits with 1 when a goal is missed; a single RUN is for what comes out, and has no
goal. Needs bubblewrap.

usage: scripts/bench_execute.py [FILES] [BINARY] [WORKER] [RUNS]    FILES: default 5000; WORKER: what scripts/static.sh builds; RUNS: default 3.
CASD names buildbox-casd, which is downloaded otherwise.
"""

import filecmp
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_remote import HERE, Casd, write

SLOWER = 1.5
STEPS = 60
OUTLINES = "//types/...:outline"


def manifest(worker: str, port: int | None) -> str:
    remote = f"""[remote]
endpoint = "grpc://127.0.0.1:{port}"
read = false
write = "never"
execute = true
worker = "{worker}"
platform = {{ OSFamily = "linux" }}
"""
    return f'[workspace]\nname = "made"\nrulesets = ["csharp"]\n{remote if port else ""}'


def build(binary: str, scratch: Path, text: str, during=None, fresh: bool = True) -> tuple[float, dict, str]:
    """Outlines of a checkout, usually a fresh one with a fresh store: seconds, the report, and what was said."""
    if fresh:
        for place in ("checkout", "store"):
            shutil.rmtree(scratch / place, ignore_errors=True)
        shutil.copytree(scratch / "sources", scratch / "checkout")
    (scratch / "checkout/cortex.toml").write_text(text)
    argv = [binary, "-C", str(scratch / "checkout"), "--output", "json", "build", OUTLINES]
    environment = {**os.environ, "CORTEX_STORE": str(scratch / "store"), "CORTEX_TRUST": "all"}
    start = time.monotonic()
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if during:
        during()
    out, said = process.communicate()
    took = time.monotonic() - start
    if process.returncode:
        sys.exit(f"bench_execute.py: {argv} ended with {process.returncode}:\n{said.decode()}")
    return took, json.loads(out), said.decode()


def edit(folder: Path) -> None:
    """Changes the outline of every second class."""
    for path in sorted(folder.rglob("*.cs"))[::2]:
        path.write_text(path.read_text().replace("Step1(int by)", "Step1(int by, int more = 0)"))


def die(server: Casd) -> None:
    """Kills a server once it executes something, which a program that it started does."""
    def is_child(stat: Path) -> bool:
        try:
            return int(stat.read_text().rsplit(")", 1)[1].split()[1]) == server.process.pid
        except OSError:
            return False

    while not any(map(is_child, Path("/proc").glob("[0-9]*/stat"))):
        time.sleep(0.005)
    server.process.kill()


def same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files."""
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    others = sorted(str(path.relative_to(other)) for path in other.rglob("*") if path.is_file())
    return names == others and not any(filecmp.cmpfiles(one, other, names, shallow=False)[1:])


def main() -> int:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    release = HERE.parent / "target/release"
    binary = str(Path(sys.argv[2] if len(sys.argv) > 2 else release / "cortex").resolve())
    worker = str(Path(sys.argv[3] if len(sys.argv) > 3 else release / "cortex-static").resolve())
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write(scratch / "sources", files, STEPS)
        casd = os.environ.get("CASD") or subprocess.run([HERE / "casd.sh", name], check=True, capture_output=True, text=True).stdout.strip()
        runner = (f"--buildbox-run={Path(casd).parent / 'buildbox-run'}", "--runner-arg=--staging-mode=copy-or-link", "--jobs=2")
        alone, shared = [], []
        for run in range(runs):
            took, here, _ = build(binary, scratch, manifest(worker, None))
            alone.append(took)
            out = scratch / "out"
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(scratch / "checkout/.cortex/out", out)
            with Casd(casd, scratch / f"casd{run}", *runner) as server:
                took, there, said = build(binary, scratch, manifest(worker, server.port))
                shared.append(took)
                assert there["remote"]["executed"] > 0 and not there["remote"]["execute_trouble"], (there["remote"], said)
                assert same(out, scratch / "checkout/.cortex/out"), "what workers made differs"
                if run == 0:
                    edit(scratch / "checkout")
                    edited, again, said = build(binary, scratch, manifest(worker, server.port), fresh=False)
                    shutil.copytree(scratch / "checkout/.cortex/out", scratch / "edited")
                    assert again["remote"]["executed"] > 0, again["remote"]
        shutil.copytree(scratch / "sources", scratch / "kept")
        edit(scratch / "sources")
        build(binary, scratch, manifest(worker, None))
        assert same(scratch / "edited", scratch / "checkout/.cortex/out"), "what workers made after edits differs from a clean build"
        shutil.rmtree(scratch / "sources")
        (scratch / "kept").rename(scratch / "sources")

        with Casd(casd, scratch / "dies", *runner) as server:
            killed, died, said = build(binary, scratch, manifest(worker, server.port), lambda: die(server))
        told = [line for line in said.splitlines() if '"severity":"warning"' in line]
        assert same(out, scratch / "checkout/.cortex/out"), "what was made without them differs"
        assert len(told) == 1 and died["remote"]["execute_trouble"] and died["remote"]["unmade"] > 0, (died["remote"], said)
        alone, shared = statistics.median(alone), statistics.median(shared)
        remote = there["remote"]
        print(f"| cold outlines of {files:,} files ({there['tally']['ran']:,} targets), loopback buildbox-casd in bubblewrap | seconds | goal |\n|---|--:|--:|")
        print(f"| here alone | {alone:.2f} | |")
        print(f"| with workers ({remote['executed']:,} targets in {remote['shards']} shards, {remote['bytes_up'] / 1e6:.0f} MB up) | {shared:.2f} | {alone * SLOWER:.2f} |")
        print(f"| with workers, after edits of every second file ({again['remote']['executed']:,} targets by workers) | {edited:.2f} | |")
        print(f"| with workers, killed in the middle ({died['remote']['executed']:,} made, {died['remote']['unmade']:,} came back) | {killed:.2f} | |")
        return int(runs > 1 and shared > alone * SLOWER)


if __name__ == "__main__":
    sys.exit(main())
