#!/usr/bin/env python3
"""Replays the last commits of real repositories beside a shared folder: the main line is warmed at each commit, and a fresh machine builds the next
one. Prints sums over all commits: producers that ran, CPU seconds, bytes and requests of the fresh machines and of the machine that warms, which keeps
its store; and what one build from nothing takes.

usage: scripts/bench_history.py [--commits N] [--binary PATH] REPOSITORY…    REPOSITORY: a clone with its history
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_remote import HERE
from bench_warmed import Bench

FIELDS = ("ran", "cpu", "down", "up", "requests")


def git(folder: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


def figures(report: dict) -> dict:
    remote = report.get("remote") or {}
    return {
        "ran": report["tally"]["ran"],
        "cpu": report["cpu"],
        "down": remote.get("bytes_down", 0) / 1e6,
        "up": remote.get("bytes_up", 0) / 1e6,
        "requests": remote.get("requests", 0),
    }


def clone(bench: Bench, commit: str) -> None:
    """A fresh clone at a commit, and a fresh store."""
    bench.fresh_folders()
    subprocess.run(["git", "clone", "-q", "--shared", bench.sources, bench.checkout], check=True)
    go_to(bench, commit)


def go_to(bench: Bench, commit: str) -> None:
    git(bench.checkout, "checkout", "-q", "--force", commit)
    share = bench.scratch.parent / "share"
    (bench.checkout / "cortex.toml").write_text(f'[workspace]\nname = "real"\nrulesets = ["csharp"]\n[remote]\nendpoint = "dir:{share}"\nwrite = "always"\n')


def label(repository: Path) -> str:
    """Its name as its remote has it, or that of its folder."""
    found = subprocess.run(["git", "config", "remote.origin.url"], cwd=repository, capture_output=True, text=True).stdout.strip()
    return found.removesuffix(".git").rpartition("/")[2] or repository.name


def replay(repository: Path, commits: int, binary: str) -> None:
    line = git(repository, "rev-list", "--first-parent", f"--max-count={commits + 1}", "HEAD").split()[::-1]
    with tempfile.TemporaryDirectory() as name:
        warming, fresh = (Bench(Path(name) / role, repository, binary) for role in ("warming", "fresh"))
        sums = {what: dict.fromkeys(FIELDS, 0) for what in ("fresh", "warming")}

        def add(what: str, report: dict) -> None:
            for field, value in figures(report).items():
                sums[what][field] += value

        clone(warming, line[0])
        first = warming.run("warm")
        for commit in line[1:]:
            clone(fresh, commit)
            add("fresh", fresh.run("build"))
            go_to(warming, commit)
            add("warming", warming.run("warm"))
    for what, text in (("fresh", "fresh machines"), ("warming", "the machine that warms")):
        found = sums[what]
        cells = f"{found['ran']:,} | {found['cpu']:.1f} | {found['down']:.0f} | {found['up']:.1f} | {found['requests']:,}"
        print(f"| {label(repository)}: {text} | {cells} |", flush=True)
    print(f"| {label(repository)}: {first['targets']:,} targets made once | {first['tally']['ran']:,} | {first['cpu']:.1f} | | | |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=30)
    parser.add_argument("--binary", default=HERE.parent / "target/release/cortex")
    args = parser.parse_args()
    print("| | ran | CPU s | MB down | MB up | requests |\n|---|--:|--:|--:|--:|--:|")
    for repository in args.repositories:
        replay(repository.resolve(), args.commits, str(Path(args.binary).resolve()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
