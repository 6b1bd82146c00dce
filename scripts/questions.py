#!/usr/bin/env python3
"""How many natural questions about a repository are refused, and how much a first build says.

  scripts/questions.py REPO…            REPO is a folder with a git repository or a URL
    --cortex PROGRAM                    default: target/release/cortex
    --work DIR                          where checkouts and stores go (default: scripts/.work/questions)
    --count N                           questions of each kind (default: 50)

A fresh clone is built into an empty store by the built-in ruleset, and the lines on standard error are counted; then those of a second command,
which has nothing new to say. The questions are `outline NAME` and `usages NAME`, for the N names of types that stand most often in the sources: a
name of a type is a word behind `class`, `struct`, `interface`, `enum` or `record`. A question is refused if the command fails."""

import argparse
import collections
import re
import shutil
import subprocess
import sys
from pathlib import Path

from accuracy import checkout

DECLARED = re.compile(r"\b(?:class|struct|interface|enum|record(?:\s+(?:class|struct))?)\s+([A-Z]\w*)")
WORD = re.compile(r"[A-Za-z_]\w*")
# Comments, and strings of one line: names in them are no uses.
ASIDE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def names(target, count):
    declared, words = set(), collections.Counter()
    for path in sorted(target.rglob("*.cs")):
        text = ASIDE.sub(" ", path.read_text(encoding="utf-8", errors="replace"))
        declared.update(DECLARED.findall(text))
        words.update(WORD.findall(text))
    used = sorted(declared, key=lambda name: (-words[name], name))
    return used[:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", metavar="REPO")
    parser.add_argument("--cortex", default="target/release/cortex")
    parser.add_argument("--work", default="scripts/.work/questions", type=Path)
    parser.add_argument("--count", default=50, type=int)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    program = str(Path(options.cortex).resolve())
    print("| repository | commit | lines of a first build | of the next command | `outline` refused | `usages` refused |")
    print("|---|---|--:|--:|--:|--:|")
    for place in options.repositories:
        name, target, commit = checkout(place, options.work)
        store = options.work / f"{name}.store"
        shutil.rmtree(store, ignore_errors=True)

        def run(*args):
            command = [program, "-C", str(target), "--store", str(store.resolve()), *args]
            return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")

        first, second = run("build"), run("status")
        lines = [len(one.stderr.splitlines()) for one in (first, second)]
        (options.work / f"{name}.stderr.txt").write_text(first.stderr)
        asked = names(target, options.count)
        refused = {}
        for question in ("outline", "usages"):
            answers = {asked_name: run(question, asked_name) for asked_name in asked}
            refused[question] = [one for one, answer in answers.items() if answer.returncode]
            for one in refused[question]:
                told = answers[one].stderr.strip().splitlines()
                print(f"{name}: {question} {one}: {' / '.join(told[:4])}", file=sys.stderr)
        shares = " | ".join(f"{len(refused[question])} of {len(asked)}" for question in ("outline", "usages"))
        print(f"| {name} | {commit} | {lines[0]} | {lines[1]} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
