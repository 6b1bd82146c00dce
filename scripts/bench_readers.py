#!/usr/bin/env python3
"""How long questions take while others build: scripts/bench_readers.py [TYPES] [ROUNDS] [--program PROGRAM]

A workspace of synthetic C# types. Six questions are asked ROUNDS times, each as a process of its own, on a quiet machine before and after all
is made, during a cold build,
during a build of all files edited, while another process waits ten seconds for a model, while `gc` runs over and over, and the same with
`store verify`; then of a `cortex serve`, quiet and while its own request waits for the model. Prints P50 and P95 in milliseconds, how many
questions were asked before the other work ended, and how many were not answered (any exit code but 0)."""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from measured import table

HERE = Path(__file__).resolve().parent
DELAY = 10  # seconds that a model takes
CLASS = """namespace Bench.N{space};

/// <summary>Type {at}.</summary>
public sealed class Type{at}
{{
    private readonly Type{next}? _next;

    /// <summary>The next one.</summary>
    public Type{next}? Next => _next;

    public int Value(int x) => x + {at};
}}
"""
QUESTIONS = {
    "resolve": (["resolve", "Type7"], {"symbol": "Type7"}),
    "outline": (["outline", "Type7"], {"symbols": ["Type7"]}),
    "search": (["search", "Value"], {"query": "Value"}),
    "usages": (["usages", "Type8"], {"symbol": "Type8"}),
    "source": (["source", "Type7.Value"], {"symbols": ["Type7.Value"]}),
    "semantic": (["semantic", "Type7"], {"symbol": "Type7"}),
}


class Bench:
    def __init__(self, folder, program, types):
        self.root, self.store, self.program, self.types = folder / "ws", folder / "store", program, types
        self.root.mkdir()
        model = json.dumps(["sh", "-c", f"sleep {DELAY}; exec {sys.executable} {HERE / 'llm_sim.py'}"])
        (self.root / "cortex.toml").write_text(
            '[workspace]\nname = "bench"\nrulesets = ["csharp"]\n[producer.semantic]\nparams.model = "slow"\n'
            f'[model.slow]\napi = "command"\ncommand = {model}\n'
        )
        for at in range(types):
            path = self.root / f"src/N{at // 50}/Type{at}.cs"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(CLASS.format(at=at, space=at // 50, next=(at + 1) % types))

    def start(self, *args, **more):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.root.parent), "CORTEX_STORE": str(self.store), "CORTEX_TRUST": "all"}
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
        return subprocess.Popen([self.program, *args], cwd=self.root, env=env, **pipes)

    def run(self, *args):
        return self.start(*args).wait()


def percentile(times, part):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * part))] if times else float("nan")


def ask(rounds, goes_on, answer):
    """Asks all questions over and over; `goes_on` says whether what they are asked beside still runs."""
    times, failed = {name: [] for name in QUESTIONS}, 0
    for _ in range(rounds):
        for name in QUESTIONS:
            if not goes_on():
                return times, failed
            begin = time.perf_counter()
            failed += not answer(name)
            times[name].append((time.perf_counter() - begin) * 1000)
    return times, failed


def beside(rounds, process, answer):
    asked = ask(rounds, lambda: process.poll() is None, answer)
    process.terminate()
    process.wait()
    return asked


def beside_repeated(rounds, command, answer):
    """Beside a command that runs over and over."""
    over = threading.Event()

    def repeat():
        while not over.is_set():
            command()

    thread = threading.Thread(target=repeat)
    thread.start()
    asked = ask(rounds, lambda: True, answer)
    over.set()
    thread.join()
    return asked


class Client:
    """A client of the service."""

    def __init__(self, path):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.connect(path)
        self.lines = self.stream.makefile("r")

    def ask(self, method, params):
        self.stream.sendall((json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n").encode())
        return "result" in json.loads(self.lines.readline())


def of_service(bench, rounds):
    service = bench.start("serve", "--json", stdout=subprocess.PIPE)
    path = json.loads(service.stdout.readline())["socket"]
    client, other = Client(path), Client(path)

    def answer(name):
        return client.ask(name, QUESTIONS[name][1])

    answer("resolve")
    quiet = ask(rounds, lambda: True, answer)
    waiting = threading.Thread(target=lambda: other.ask("semantic", {"symbol": "Type90", "refresh": True}))
    waiting.start()
    time.sleep(1)
    during = ask(rounds, waiting.is_alive, answer)
    waiting.join()
    service.terminate()
    service.wait()
    return [("served, quiet", quiet), ("served, a request of its own waits for a model", during)]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("types", type=int, nargs="?", default=2000)
    arguments.add_argument("rounds", type=int, nargs="?", default=10)
    arguments.add_argument("--program", default=str(HERE.parent / "target/release/cortex"))
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.program, options.types)

        def answer(name):
            return bench.run(*QUESTIONS[name][0]) == 0

        def again(*args):
            process = bench.start(*args)
            time.sleep(0.3)
            return beside(options.rounds, process, answer)

        free = ["//...", "-//types/...:semantic", "-//types/...:role", "-//groups/...", "--keep-going"]
        def from_nothing(name):
            shutil.rmtree(bench.store, ignore_errors=True)
            return answer(name)

        rows = [("nothing, and nothing is made yet", ask(options.rounds, lambda: True, from_nothing))]
        shutil.rmtree(bench.store)
        rows.append(("a cold build", again("build", *free)))
        bench.run("build", *free)
        bench.run("semantic", "Type7")
        rows.insert(0, ("nothing", ask(options.rounds, lambda: True, answer)))
        rows.append((f"a build that waits {DELAY} s for a model", again("build", "//types/Bench.N0.Type3:semantic")))
        for command in (["gc"], ["store", "verify"]):
            asked = beside_repeated(options.rounds, lambda command=command: bench.run(*command), answer)
            rows.append((f"`{' '.join(command)}`, over and over", asked))
        for path in bench.root.rglob("Type*.cs"):
            path.write_text(path.read_text().replace("x +", "x - 1 +"))
        rows.append(("a build of all files edited", again("build", *free)))
        rows += of_service(bench, options.rounds)
    head = ["beside"] + [f"{name} P50 / P95" for name in QUESTIONS] + ["asked", "failed"]
    lines = []
    for what, (times, failed) in rows:
        cells = [f"{percentile(times[name], 0.5):,.0f} / {percentile(times[name], 0.95):,.0f}" for name in QUESTIONS]
        lines.append([what, *cells, str(sum(map(len, times.values()))), str(failed)])
    print(f"{options.types:,} types, {options.rounds} rounds, milliseconds\n")
    print(table(head, lines))


main()
