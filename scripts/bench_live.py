#!/usr/bin/env python3
"""Measures the tokens that `context live --since` sends against the whole file (seed 002): the document is told again after every edit.

usage: scripts/bench_live.py REPOSITORY [BINARY]

REPOSITORY is a git checkout; it is only read. The twelve C# files with the most commits among the last 2,000 are replayed, each through its last
30 versions, of which each is an edit that a model is told of. "Whole" is the file in a fenced block, "live" all that `context live` sends: the
difference since the version sent before, the last differences, and the editor's state. Both are counted alike, at 3.3 bytes a token.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BYTES = 3.3
FILES, VERSIONS, COMMITS = 12, 30, 2000


def git(repository: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", repository, *args], check=True, capture_output=True, text=True, errors="replace").stdout


def most_edited(repository: Path) -> list[str]:
    """The files that most commits touched and that are still there."""
    names = git(repository, "log", "-n", str(COMMITS), "--no-merges", "--format=", "--name-only", "--", "*.cs").split("\n")
    there = set(git(repository, "ls-files", "*.cs").split("\n"))
    counts = collections.Counter(name for name in names if name in there and name)
    return [name for name, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:FILES]]


def versions(repository: Path, name: str) -> list[str]:
    """The last texts of a file, oldest first."""
    commits = git(repository, "log", "-n", str(VERSIONS), "--no-merges", "--format=%H", "--", name).split()
    texts = []
    for commit in reversed(commits):
        shown = subprocess.run(["git", "-C", repository, "show", f"{commit}:{name}"], capture_output=True, check=False)
        if shown.returncode == 0 and (not texts or texts[-1] != shown.stdout):
            texts.append(shown.stdout)
    return [text.decode("utf-8", "replace") for text in texts]


def tokens(text: str) -> int:
    return round(len(text.encode()) / BYTES)


def replay(binary: str, root: Path, texts: list[str]) -> tuple[int, int]:
    """Tokens of all messages but the first, which is the whole file either way: whole, live."""
    file = root / "Live.cs"
    file.write_text(texts[0])
    seen, whole, live = None, 0, 0
    for text in texts:
        file.write_text(text)
        since = [] if seen is None else ["--since", str(seen), "--author", "agent"]
        ran = subprocess.run([binary, "-C", root, "context", "live", "Live.cs", "--json", "--budget", "100000", *since], check=True, capture_output=True)
        answer = json.loads(ran.stdout)
        if seen is not None:
            whole += tokens(f"```\n{text}\n```\n")
            live += tokens(answer["contextText"])
        seen = answer["version"]
    return whole, live


def main() -> int:
    repository = Path(sys.argv[1]).resolve()
    binary = str(Path(sys.argv[2] if len(sys.argv) > 2 else "target/release/cortex").resolve())
    rows, sums = [], [0, 0]
    for name in most_edited(repository):
        texts = versions(repository, name)
        if len(texts) < 2:
            continue
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            os.environ["CORTEX_STORE"] = str(root / "store")
            (root / "cortex.toml").write_text('[workspace]\nname = "live"\nrulesets = ["csharp"]\n')
            whole, live = replay(binary, root, texts)
        turns = len(texts) - 1
        rows.append([name.rsplit("/", 1)[-1], texts[-1].count("\n"), turns, whole // turns, live // turns, f"{whole / live:.1f}x"])
        sums = [sums[0] + whole, sums[1] + live]
    print("| file | lines | edits | whole, tokens an edit | live, tokens an edit | less |\n|---|--:|--:|--:|--:|--:|")
    for row in rows:
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |")
    print(f"| all | | {sum(row[2] for row in rows)} | {sums[0]:,} in all | {sums[1]:,} in all | {sums[0] / sums[1]:.1f}x |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
