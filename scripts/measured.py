"""Runs commands and measures them: wall time, CPU time and peak memory of the command with all its descendants.

A process inherits the high-water mark of memory of whoever starts it, so commands are started by a small process of their own (this
file run as a program) and not by a benchmark that has grown. That sets a floor of about 14 MB under every figure of peak memory.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


# What this process ignores, its children must not.
DEFAULT = [signal.SIGINT, signal.SIGPIPE]
# Seconds that a command has to end after SIGTERM before it is killed.
GRACE = 60


@dataclass
class Run:
    """What one command cost and said."""

    wall: float  # seconds
    cpu: float  # seconds, user and system together
    peak: float  # MB
    code: int
    said: str  # the end of what it printed
    late: float | None = None  # seconds from SIGTERM to its end, when it was stopped at its limit


class Runner:
    """The small process that starts the commands. Use it as a context."""

    def __init__(self, scratch: Path):
        self.said = scratch / "said.txt"

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-S", "-E", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, request: dict) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the measuring process ended")
        return json.loads(answer)

    def run(self, argv: list[str], cwd: Path, env: dict[str, str] | None = None, limit: float = 0) -> Run:
        """Runs one command to its end; after `limit` seconds, if that is not 0, it gets SIGTERM."""
        answer = self.ask({"argv": argv, "cwd": str(cwd), "env": {**os.environ, **(env or {})}, "said": str(self.said), "limit": limit})
        with open(self.said, "rb") as file:
            file.seek(max(0, self.said.stat().st_size - 4000))
            said = file.read().decode(errors="replace")
        return Run(answer["wall"], answer["cpu"], answer["peak"], answer["code"], said, answer.get("late"))

    def spawn_all(self, commands: Path, cwd: Path, jobs: int) -> float:
        """Runs the lines of a file with `sh -c`, `jobs` at a time, nothing checked or remembered; seconds."""
        return self.ask({"commands": str(commands), "cwd": str(cwd), "jobs": jobs})["wall"]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def median(values: list[float]) -> float:
    return statistics.median(values)


def ms(seconds: float) -> str:
    """Milliseconds with two to three digits that mean something."""
    value = seconds * 1000
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def run_one(argv: list[str], env: dict[str, str], said: str, limit: float) -> dict:
    out = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
           (os.POSIX_SPAWN_OPEN, 1, said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
           (os.POSIX_SPAWN_DUP2, 1, 2)]
    begin = time.perf_counter()
    try:
        pid = os.posix_spawnp(argv[0], argv, env, file_actions=out, setsigdef=DEFAULT)
    except OSError as error:
        Path(said).write_text(f"{argv[0]}: {error}\n")
        return {"wall": 0.0, "cpu": 0.0, "peak": 0.0, "code": 127}
    told: list[float] = []

    def stop(*_) -> None:
        os.kill(pid, signal.SIGKILL if told else signal.SIGTERM)
        told.append(time.perf_counter())
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, usage = os.wait4(pid, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    wall = time.perf_counter() - begin
    late = {"late": begin + wall - told[0]} if told else {}
    return {**late, "wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss / 1024, "code": os.waitstatus_to_exitcode(status)}


def spawn_lines(path: str, jobs: int) -> float:
    with open(path) as file:
        lines = file.read().splitlines()
    running = 0
    begin = time.perf_counter()
    for line in lines:
        while running and (running >= jobs or line == "wait"):
            os.wait()
            running -= 1
        if line != "wait":
            os.posix_spawn("/bin/sh", ["sh", "-c", line], os.environ, setsigdef=DEFAULT)
            running += 1
    while running:
        os.wait()
        running -= 1
    return time.perf_counter() - begin


def serve() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the commands; the benchmark decides what follows
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["cwd"])
        if "commands" in request:
            answer = {"wall": spawn_lines(request["commands"], request["jobs"])}
        else:
            answer = run_one(request["argv"], request["env"], request["said"], request["limit"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
