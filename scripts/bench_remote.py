#!/usr/bin/env python3
"""Measures a build beside a remote cache on this machine (buildbox-casd): how much offering slows a cold build, how long a fresh
checkout takes that finds everything, and what one hit costs when the server is 20 ms away. The sources are synthetic C#. Exits with 1 when a goal is
missed.

usage: scripts/bench_remote.py [TYPES] [BINARY]    TYPES: default 700, about 10,000 targets
"""

import asyncio
import json
import os
import queue
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = 5
SLOWER, RESTORED, TRIPS = 1.10, 3.0, 1.5
ONE_WAY = 0.01


def write(folder: Path, types: int, steps: int = 6) -> None:
    """A class a file; each reads two others."""
    for number in range(types):
        others = [(number * 7 + 1) % types, (number * 13 + 5) % types]
        held = "\n".join(f"    public T{other}? Other{at} {{ get; set; }}" for at, other in enumerate(others))
        calls = "\n".join(
            f"    /// <summary>Says {step}.</summary>\n    public int Step{step}(int by) => by + {step} + (Other0?.Step{(step + 1) % steps}(by) ?? 0);"
            for step in range(steps)
        )
        path = folder / f"Part{number % 20}" / f"T{number}.cs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"namespace Made.Part{number % 20};\n\n/// <summary>Type {number}.</summary>\npublic class T{number}\n{{\n{held}\n{calls}\n}}\n")


def manifest(port: int | None) -> str:
    remote = f'[remote]\nendpoint = "grpc://127.0.0.1:{port}"\nwrite = "always"\nrequired = true\n' if port else ""
    return f'[workspace]\nname = "made"\nrulesets = ["csharp"]\n{remote}'


class Casd:
    """A server with nothing in it."""

    def __init__(self, program: str, folder: Path, *more: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        argv = [program, f"--bind=127.0.0.1:{self.port}", "--quota-high=5G", *more, str(folder)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def cortex(binary: str, scratch: Path, verb: str, port: int | None) -> tuple[float, dict]:
    """A command in a fresh checkout with a fresh store: seconds and its report."""
    for place in ("checkout", "store"):
        shutil.rmtree(scratch / place, ignore_errors=True)
    shutil.copytree(scratch / "sources", scratch / "checkout")
    (scratch / "checkout/cortex.toml").write_text(manifest(port))
    argv = [binary, "-C", str(scratch / "checkout"), "--output", "json", verb, "//..."]
    start = time.monotonic()
    said = subprocess.run(argv, env={**os.environ, "CORTEX_STORE": str(scratch / "store"), "CORTEX_TRUST": "all"}, capture_output=True)
    took = time.monotonic() - start
    if said.returncode:
        sys.exit(f"bench_remote.py: {argv} ended with {said.returncode}:\n{said.stderr.decode()}")
    return took, json.loads(said.stdout)


def chain(port: int, links: int) -> str:
    """Programs of which each reads what the one before made: hits come one after the other."""
    text = f'[workspace]\nname = "chain"\nrulesets = []\n[sources.text]\ninclude = ["*.txt"]\n[remote]\nendpoint = "grpc://127.0.0.1:{port}"\nwrite = "always"\n'
    before = "//files/{file}:bytes"
    for link in range(links):
        text += f"""[producer.link{link}]
uses = "command"
argv = ["sed", "$a {link}", "{{in.text}}"]
[[rule]]
target = "//link{link}/{{file}}:made"
each = {{ file = "sources:text" }}
producer = "link{link}"
inputs = {{ text = "{before}" }}
"""
        before = f"//link{link}/{{file}}:made"
    return text


def far(port: int, one_way: float = ONE_WAY, rate: float = 0) -> int:
    """A port behind which that one seems to be further away; `rate` bytes a second pass in each direction, 0: all that come."""
    ready = queue.Queue()

    async def carry(reader, writer):
        late = asyncio.Queue()

        async def deliver():
            free = 0.0
            while (entry := await late.get())[1]:
                free = max(free, entry[0]) + (len(entry[1]) / rate if rate else 0)
                await asyncio.sleep(free - time.monotonic())
                writer.write(entry[1])
            writer.close()

        delivery = asyncio.create_task(deliver())
        while data := await reader.read(65536):
            late.put_nowait((time.monotonic() + one_way, data))
        late.put_nowait((0, b""))
        await delivery

    async def meet(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(carry(reader, there[1]), carry(there[0], writer), return_exceptions=True)

    async def stand():
        server = await asyncio.start_server(meet, "127.0.0.1", 0)
        ready.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(stand()), daemon=True).start()
    return ready.get()


def hit(binary: str, scratch: Path, port: int) -> float:
    """Seconds that one more hit takes in a chain of them."""

    def build(links: int, port: int) -> float:
        for place in ("chain", "store"):
            shutil.rmtree(scratch / place, ignore_errors=True)
        (scratch / "chain").mkdir()
        (scratch / "chain/a.txt").write_text("begin\n")
        (scratch / "chain/cortex.toml").write_text(chain(port, links))
        argv = [binary, "-C", str(scratch / "chain"), "--output", "json", "build", f"//link{links - 1}/a.txt:made"]
        start = time.monotonic()
        said = subprocess.run(argv, env={**os.environ, "CORTEX_STORE": str(scratch / "store"), "CORTEX_TRUST": "all"}, check=True, capture_output=True)
        took = time.monotonic() - start
        report = json.loads(said.stdout)
        assert report["tally"]["cached"] + report["tally"]["ran"] == links, report["tally"]
        return took

    distant = far(port)
    for links in (10, 50):
        build(links, port)
    # A link is filed under the bytes of the programs before it only, whatever comes behind.
    return statistics.median((build(50, distant) - build(10, distant)) / 40 for _ in range(RUNS))


def main() -> int:
    types = int(sys.argv[1]) if len(sys.argv) > 1 else 700
    binary = str(Path(sys.argv[2] if len(sys.argv) > 2 else HERE.parent / "target/release/cortex").resolve())
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        write(scratch / "sources", types)
        casd = subprocess.run([HERE / "casd.sh", name], check=True, capture_output=True, text=True).stdout.strip()
        alone, offering, restored = [], [], []
        for run in range(RUNS):
            took, report = cortex(binary, scratch, "build", None)
            alone.append(took)
            with Casd(casd, scratch / f"casd{run}") as server:
                took, offered = cortex(binary, scratch, "build", server.port)
                offering.append(took)
        with Casd(casd, scratch / "casd") as server:
            warming, warm = cortex(binary, scratch, "warm", server.port)
            for _ in range(RUNS):
                took, found = cortex(binary, scratch, "build", server.port)
                restored.append(took)
                assert found["tally"]["ran"] == 0, found["tally"]
            one = hit(binary, scratch, server.port)
        alone, offering, restored = (statistics.median(times) for times in (alone, offering, restored))
        print(f"| {report['targets']:,} targets, loopback buildbox-casd | seconds | goal |\n|---|--:|--:|")
        print(f"| cold build, no remote cache | {alone:.2f} | |")
        print(f"| cold build that offers ({offered['remote']['stored']:,} results) | {offering:.2f} | {alone * SLOWER:.2f} |")
        print(f"| `warm` ({warm['bundle']['results']:,} results, {warm['remote']['bytes_up'] / 1e6:.1f} MB) | {warming:.2f} | |")
        print(f"| fresh checkout, nothing runs ({found['remote']['bytes_down'] / 1e6:.1f} MB) | {restored:.2f} | {RESTORED:.2f} |")
        print(f"| one hit, the server {ONE_WAY * 2000:.0f} ms away and back | {one:.4f} | {ONE_WAY * 2 * TRIPS:.4f} |")
        return int(offering > alone * SLOWER or restored > RESTORED or one > ONE_WAY * 2 * TRIPS)


if __name__ == "__main__":
    sys.exit(main())
