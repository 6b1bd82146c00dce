#!/usr/bin/env python3
"""Measures whether the context for a commit's message holds the C# files that the commit changed.

usage: scripts/bench_recall.py REPOSITORY... [--commits N] [--budget TOKENS]... [--binary CORTEX] [--aider PYTHON] [--weights W] [--each]

REPOSITORY is a git repository of C# (bare ones do). Of its history the last N commits count that are no merges and not of a bot, whose message has four words
or more, and that change one to ten C# files that were there before. For each of them the commit before it is checked out, and every contender is
given the message and the same budget:

    cortex     `cortex context build --query MESSAGE --budget B`: the files of the types that it shows as code, as an outline or in brief
    BM25       whole files, the best first, until the budget is full (Okapi BM25 over words split at humps; k1 = 1.2, b = 0.75)
    aider      the repository map of aider-chat with that budget and the identifiers and files of the message, as aider itself asks for it;
               PYTHON is an interpreter that has it (`python3 -m venv v && v/bin/pip install aider-chat`)

The budget is counted in tokens of o200k by cortex, in 3.3 bytes by the others, which is what C# takes about. Recall is the mean share of the
changed files that the text holds; hit is the share of commits of which it holds one at least. The table is printed as Markdown.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

BYTES = 3.3  # of a token, about


def git(folder: Path, *argv: str) -> str:
    ran = subprocess.run(["git", "-C", str(folder), *argv], check=True, capture_output=True)
    return ran.stdout.decode("utf-8", "replace")


def commits(repository: Path, most: int) -> list[tuple[str, str, list[str]]]:
    """(commit, message, changed files that were there before), newest first."""
    found = []
    for commit in git(repository, "rev-list", "--no-merges", "--author=^((?!\\[bot\\]).)*$", "--perl-regexp", "HEAD").split():
        parents = git(repository, "rev-list", "--parents", "-n1", commit).split()[1:]
        if len(parents) != 1:
            continue
        changed = git(repository, "diff", "--name-only", "--diff-filter=MDR", "--no-renames", parents[0], commit, "--", "*.cs").splitlines()
        message = git(repository, "log", "-n1", "--format=%B", commit).strip()
        # What tools add to messages says nothing about the change.
        message = re.sub(r"^(Co-authored-by|Signed-off-by|Bumps?|Updates?) .*$", "", message, flags=re.M | re.I).strip()
        if 1 <= len(changed) <= 10 and len(re.findall(r"\w+", message)) >= 4:
            found.append((commit, message, changed))
        if len(found) == most:
            break
    return found


def words(text: str) -> list[str]:
    """Words, and the humps of identifiers."""
    found = []
    for name in re.findall(r"\w+", text):
        humps = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
        found += [hump.lower() for hump in humps]
        if len(humps) > 1:
            found.append(name.lower())
    return found


class Files:
    """All C# files of a checkout, ranked by BM25."""

    def __init__(self, root: Path, known: dict[str, tuple[Counter, int, int]]):
        self.documents = {}
        for line in git(root, "ls-files", "-s", "--", "*.cs").splitlines():
            (_, blob, _), path = line.split("\t")[0].split(), line.split("\t")[1]
            if blob not in known:
                text = (root / path).read_text("utf-8", "replace")
                counted = Counter(words(text + " " + path))
                known[blob] = (counted, sum(counted.values()), len(text.encode()))
            self.documents[path] = known[blob]
        self.having = Counter(word for counted, _, _ in self.documents.values() for word in counted)
        self.mean = sum(length for _, length, _ in self.documents.values()) / max(1, len(self.documents))

    def ranked(self, query: str) -> list[str]:
        asked, count = set(words(query)), len(self.documents)
        rare = {word: math.log(1 + (count - self.having[word] + 0.5) / (self.having[word] + 0.5)) for word in asked}

        def score(path: str) -> float:
            counted, length, _ = self.documents[path]
            norm = 1.2 * (0.25 + 0.75 * length / self.mean)
            return sum(rare[word] * counted[word] * 2.2 / (counted[word] + norm) for word in asked if counted[word])

        scores = {path: score(path) for path in self.documents}
        return sorted((path for path in scores if scores[path] > 0), key=lambda path: (-scores[path], path))

    def held(self, query: str, budget: int) -> set[str]:
        """The best files that fit; one that does not fit is cut, and counts as held."""
        room, held = budget * BYTES, set()
        for path in self.ranked(query):
            if room <= 0:
                break
            held.add(path)
            room -= self.documents[path][2]
        return held


def cortex(binary: Path, root: Path, message: str, budget: int, weights: str | None) -> tuple[set[str], int]:
    argv = [str(binary), "-C", str(root), "context", "build", "--json", f"--query={message}", "--budget", str(budget)]
    ran = subprocess.run(argv + (["--weights", weights] if weights else []), capture_output=True)
    if ran.returncode not in (0, 1):
        sys.exit(f"cortex failed: {ran.stderr.decode()[-2000:]}")
    answer = json.loads(ran.stdout)
    return {file for item in answer["items"] for file in item["files"]}, answer["tokens"]


AIDER = r'''
import json, os, sys
from pathlib import Path
from aider.repomap import RepoMap
from aider.io import InputOutput
import re

class Model:
    """Counts as the others do."""
    def token_count(self, text):
        return int(len(text.encode()) / 3.3)

for line in sys.stdin:
    ask = json.loads(line)
    root, message, budget = ask["root"], ask["message"], ask["budget"]
    os.chdir(root)
    files = [str(Path(root) / name) for name in ask["files"]]
    # As aider.coders.base_coder finds what a message mentions.
    idents = set(re.split(r"\W+", message))
    said = {word.strip("\"'`*_,.!;:?") for word in message.split()}
    named = {name for name in ask["files"] if name in said or os.path.basename(name) in said or os.path.splitext(os.path.basename(name))[0] in idents}
    io = InputOutput(yes=True, pretty=False, fancy_input=False)
    map = RepoMap(map_tokens=budget, root=root, main_model=Model(), io=io, map_mul_no_files=1, refresh="always")
    text = map.get_repo_map(set(), files, mentioned_fnames=named, mentioned_idents=idents) or ""
    held = [name for name in ask["files"] if re.search(r"^" + re.escape(name) + r":?$", text, re.M)]
    print("\x01" + json.dumps({"held": held, "tokens": Model().token_count(text)}), flush=True)
'''


class Aider:
    """A process that makes maps."""

    def __init__(self, python: str):
        self.process = subprocess.Popen([python, "-c", AIDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def held(self, root: Path, files: list[str], message: str, budget: int) -> tuple[set[str], int]:
        self.process.stdin.write(json.dumps({"root": str(root), "files": files, "message": message, "budget": budget}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("\x01"):
                answer = json.loads(line[1:])
                return set(answer["held"]), answer["tokens"]
        sys.exit("aider ended")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPOSITORY")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--binary", type=Path, default=Path(__file__).resolve().parent.parent / "target/release/cortex")
    parser.add_argument("--aider", metavar="PYTHON")
    parser.add_argument("--weights")
    parser.add_argument("--each", action="store_true", help="print what is missed, commit by commit")
    args = parser.parse_args()
    budgets = args.budget or [2000, 4000, 8000]
    print("| repository | commits | budget | contender | recall | hit | files held | tokens |\n|---|--:|--:|---|--:|--:|--:|--:|")
    for repository in args.repositories:
        measure(repository.resolve(), budgets, args)
    return 0


def measure(repository: Path, budgets: list[int], args) -> None:
    name = repository.name if repository.name != "repo" else repository.parent.name.split("+")[-1]
    name = name.removesuffix(".git")
    chosen = commits(repository, args.commits)
    figures: dict[tuple[int, str], list[tuple[float, bool, int, int]]] = {}
    known: dict[str, tuple[Counter, int, int]] = {}
    aider = Aider(args.aider) if args.aider else None
    with tempfile.TemporaryDirectory(prefix="recall-") as scratch:
        root = Path(scratch) / "tree"
        os.environ["CORTEX_STORE"] = str(Path(scratch) / "store")
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(repository), str(root)], check=True)
        for commit, message, changed in chosen:
            git(root, "checkout", "-q", "--force", f"{commit}^")
            if not (root / "cortex.toml").exists():
                (root / "cortex.toml").write_text('[workspace]\nname = "recall"\nrulesets = ["csharp"]\n')
            files = Files(root, known)
            for budget in budgets:
                held = {"cortex": cortex(args.binary, root, message, budget, args.weights)}
                whole = files.held(message, budget)
                held["BM25"] = (whole, min(budget, int(sum(files.documents[path][2] for path in whole) / BYTES)))
                if aider:
                    held["aider"] = aider.held(root, sorted(files.documents), message, budget)
                for who, (paths, tokens) in held.items():
                    found = [path for path in changed if path in paths]
                    figures.setdefault((budget, who), []).append((len(found) / len(changed), bool(found), len(paths), tokens))
                if args.each:
                    missed = [path for path in changed if path not in held["cortex"][0]]
                    if missed:
                        print(f"<!-- {commit[:10]} {budget} {message.splitlines()[0][:80]!r}: {missed} -->", flush=True)
    for (budget, who), all_of in sorted(figures.items(), key=lambda pair: pair[0][0]):
        mean = [sum(column) / len(all_of) for column in zip(*all_of)]
        print(f"| {name} | {len(all_of)} | {budget:,} | {who} | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.1f} | {mean[3]:,.0f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
