#!/usr/bin/env python3
"""Counts false alarms of what plain edits are told to lose: every C# file of repositories that compile is emptied and written again by `edit write`, so that
all of its lines count as new, and whatever the second edit is told is false.

usage: scripts/check_losses.py REPOSITORY... [--files N] [--binary CORTEX] [--wrong N]

REPOSITORY is a git repository of C# (bare ones do); N files of it (200) are drawn by a rule. With --wrong a literal among the arguments of calls is also
replaced by one of another type (a text by a number, a number by a text), N times for each repository, and it is counted how often that is told."""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_context import Service

LITERAL = re.compile(r'(?<=[(,] )"[^"{}\\]*"(?=[,)])|(?<=\()"[^"{}\\]*"(?=[,)])|(?<=[(,] )\d+(?=[,)])|(?<=\()\d+(?=[,)])')


def measure(repository, asked):
    name = repository.parent.name.split("+")[-1] if repository.name == "repo" else repository.name
    with tempfile.TemporaryDirectory(prefix="losses-") as scratch:
        os.environ["CORTEX_STORE"] = str(Path(scratch) / "store")
        root = Path(scratch) / "tree"
        root.mkdir()
        archive = subprocess.Popen(["git", "-C", str(repository), "archive", "HEAD"], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", str(root)], stdin=archive.stdout, check=True)
        (root / "cortex.toml").write_text('[workspace]\nname = "losses"\nrulesets = ["csharp"]\n')
        subprocess.run([asked.binary, "-C", str(root), "build", "//types/...:usages"], capture_output=True, check=False)
        service = Service(asked.binary, root)
        service.ask("search", {"query": "Program"})
        tracked = sorted(str(file.relative_to(root)) for file in root.rglob("*.cs"))
        chance = random.Random(27)
        chance.shuffle(tracked)
        false, alarms = 0, []
        for path in tracked[: asked.files]:
            before = (root / path).read_bytes()
            text = before.decode("utf-8-sig", "replace")
            service.ask("edit", {"op": "write", "path": path, "newText": "\n"})
            answer, _ = service.ask("edit", {"op": "write", "path": path, "newText": text})
            false += bool(answer.get("lost"))
            alarms += answer.get("lost") or []
            (root / path).write_bytes(before)
        wrong = told = 0
        for path in tracked * 3:
            before = (root / path).read_bytes()
            text = before.decode("utf-8-sig", "replace")
            found = list(LITERAL.finditer(text))
            if wrong == asked.wrong or not found:
                continue
            one = chance.choice(found)
            other = "12345" if one.group().startswith('"') else '"text"'
            answer, _ = service.ask("edit", {"op": "write", "path": path, "newText": text[: one.start()] + other + text[one.end():]})
            wrong += 1
            told += any(line.startswith("no ") and " takes the arguments" in line for line in answer.get("lost") or [])
            (root / path).write_bytes(before)
        service.process.stdin.close()
        service.process.wait()
    print(f"| {name} | {min(asked.files, len(tracked))} | {false} | {len(alarms)} | {wrong} | {told} |", flush=True)
    for alarm in alarms:
        print(f"<!-- {alarm} -->", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--wrong", type=int, default=0)
    parser.add_argument("--binary", default=str(Path(__file__).resolve().parent.parent / "target/release/cortex"))
    asked = parser.parse_args()
    print("| repository | files written anew | with a false alarm | false alarms | literals of another type | told |\n|---|--:|--:|--:|--:|--:|")
    for repository in asked.repositories:
        measure(repository.resolve(), asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
