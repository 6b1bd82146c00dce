#!/usr/bin/env python3
"""Measures whether the context for a commit's message holds the C# files that the commit changed.

usage: scripts/bench_recall.py REPOSITORY... [--commits N] [--budget TOKENS]... [--binary CORTEX] [--aider PYTHON] [--weights W] [--each]

REPOSITORY is a git repository of C# (bare ones do). Of its history the last N commits count that are no merges and not of a bot, whose message has four words
or more, and that change one to ten C# files that were there before. For each of them the commit before it is checked out, and every contender is
given the message and the same budget:

    cortex     `cortex context build --query MESSAGE --budget B`
    BM25       the lines that say a word of the message, of the best files first (Okapi BM25 over words split at humps; k1 = 1.2, b = 0.75)
    grep       the lines that hold one of the five rarest words of the message, the files with most of them first, as one would ask ripgrep
    aider      the repository map of aider-chat with that budget and the identifiers and files of the message, as aider itself asks for it;
               PYTHON is an interpreter that has it (`python3 -m venv v && v/bin/pip install aider-chat`)

The budget is counted in tokens of o200k by cortex, in 3.3 bytes by the others, which is what C# takes about. Recall is the mean share of the
changed files that the text names; MRR the mean of 1 / n, where the n-th file of the text is the first changed one; code the mean share of the changed
places (hunks) whose first line the text shows. The table is printed as Markdown.
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
LONGEST_LINE = 200  # characters of a line that are shown
# Words of prose, which nobody would search for.
PROSE = set("a an and are as at be by can for from has have if in into is it its not of on or so that the their then there this to was we when will with you".split())


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

    def lines(self, root: Path, paths: list[str], asked: set[str], budget: int) -> tuple[list[str], set[tuple[str, int]]]:
        """Files in their order, and the lines of them that say a word, until the budget is full."""
        room, held, shown = budget * BYTES, [], set()
        for path in paths:
            room -= len(path) + 1
            if room <= 0:
                break
            held.append(path)
            for number, line in enumerate((root / path).read_text("utf-8", "replace").splitlines(), 1):
                if asked.isdisjoint(words(line)):
                    continue
                room -= min(len(line.strip()), LONGEST_LINE) + len(f"{number}:\n")
                if room <= 0:
                    return held, shown
                shown.add((path, number))
        return held, shown

    def by_rank(self, root: Path, query: str, budget: int) -> tuple[list[str], set[tuple[str, int]]]:
        return self.lines(root, self.ranked(query), set(words(query)) - PROSE, budget)

    def by_grep(self, root: Path, query: str, budget: int) -> tuple[list[str], set[tuple[str, int]]]:
        known = sorted((word for word in set(words(query)) - PROSE if self.having[word]), key=lambda word: (self.having[word], word))[:5]
        count = {path: sum(1 for word in known if document[0][word]) for path, document in self.documents.items()}
        return self.lines(root, sorted((path for path in count if count[path]), key=lambda path: (-count[path], path)), set(known), budget)


def changed_lines(root: Path, commit: str, paths: list[str]) -> set[tuple[str, int]]:
    """The first line, as it was before, of each changed place."""
    found = set()
    for path in paths:
        text = git(root, "diff", "-U0", "--no-renames", f"{commit}^", commit, "--", path)
        found |= {(path, max(1, int(first))) for first in re.findall(r"^@@ -(\d+)", text, re.M)}
    return found


def cortex(binary: Path, root: Path, message: str, budget: int, weights: str | None) -> tuple[list[str], set[tuple[str, int]], int]:
    argv = [str(binary), "-C", str(root), "context", "build", "--json", f"--query={message}", "--budget", str(budget)]
    ran = subprocess.run(argv + (["--weights", weights] if weights else []), capture_output=True)
    if ran.returncode not in (0, 1):
        sys.exit(f"cortex failed: {ran.stderr.decode()[-2000:]}")
    answer = json.loads(ran.stdout)
    text = answer["contextText"]
    files = {file for item in answer["items"] for file in item["files"]}
    shown = set()
    for places in re.findall(r"^(?:.* at )?(\S.*:\d+-\d+)\n```csharp$", text, re.M):
        for path, first, last in re.findall(r"(?:^|, )([^:]+):(\d+)-(\d+)", places):
            shown |= {(path, number) for number in range(int(first), int(last) + 1)}
    return sorted((file for file in files if file in text), key=text.index), shown, answer["tokens"]


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
    print("| repository | commits | budget | contender | recall | MRR | code | files | tokens |\n|---|--:|--:|---|--:|--:|--:|--:|--:|")
    for repository in args.repositories:
        measure(repository.resolve(), budgets, args)
    return 0


def measure(repository: Path, budgets: list[int], args) -> None:
    name = repository.name if repository.name != "repo" else repository.parent.name.split("+")[-1]
    name = name.removesuffix(".git")
    chosen = commits(repository, args.commits)
    figures: dict[tuple[int, str], list[tuple[float, float, float, int, int]]] = {}
    known: dict[str, tuple[Counter, int, int]] = {}
    aider = Aider(args.aider) if args.aider else None
    with tempfile.TemporaryDirectory(prefix="recall-") as scratch:
        root = Path(scratch) / "tree"
        os.environ["CORTEX_STORE"] = str(Path(scratch) / "store")
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", str(repository), str(root)], check=True)
        # Mirrors may lack large files, which C# does not need.
        git(root, "sparse-checkout", "set", "--no-cone", "*.cs", "*.csproj", "*.sln", "*.slnx", "*.props", "*.targets")
        for commit, message, changed in chosen:
            git(root, "checkout", "-q", "--force", f"{commit}^")
            if not (root / "cortex.toml").exists():
                (root / "cortex.toml").write_text('[workspace]\nname = "recall"\nrulesets = ["csharp"]\n')
            files = Files(root, known)
            places = changed_lines(root, commit, changed)
            for budget in budgets:
                answers = {"cortex": cortex(args.binary, root, message, budget, args.weights)}
                answers["BM25"] = (*files.by_rank(root, message, budget), budget)
                answers["grep"] = (*files.by_grep(root, message, budget), budget)
                if aider:
                    held, tokens = aider.held(root, sorted(files.documents), message, budget)
                    answers["aider"] = (sorted(held), set(), tokens)
                for who, (paths, shown, tokens) in answers.items():
                    found = [path for path in changed if path in paths]
                    first = min((paths.index(path) for path in found), default=None)
                    reciprocal = 0.0 if first is None else 1 / (1 + first)
                    code = len(places & shown) / max(1, len(places))
                    figures.setdefault((budget, who), []).append((len(found) / len(changed), reciprocal, code, len(paths), tokens))
                missed = [path for path in changed if path not in answers["cortex"][0]]
                if args.each and missed:
                    print(f"<!-- {commit[:10]} {budget} {message.splitlines()[0][:80]!r}: {missed} -->", flush=True)
    for (budget, who), all_of in sorted(figures.items(), key=lambda pair: pair[0][0]):
        mean = [sum(column) / len(all_of) for column in zip(*all_of)]
        print(f"| {name} | {len(all_of)} | {budget:,} | {who} | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} | {mean[3]:.1f} | {mean[4]:,.0f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
