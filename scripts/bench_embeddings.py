#!/usr/bin/env python3
"""Measures whether a search by meaning finds the C# files that a commit changed, given its message.

usage: scripts/bench_embeddings.py REPOSITORY... [--commits N] [--dimensions N] [--model TOML] [--binary CORTEX]

Commits are chosen as in scripts/bench_recall.py. For each the commit before it is checked out and these rank its files:

    meaning    `cortex search --semantic MESSAGE`, with the built-in model or the one that the file TOML defines as [model.it]
    BM25       Okapi BM25 over words split at humps
    both       the two rankings together (reciprocal rank fusion: the sum of 1 / (60 + n))

recall@10 is the mean share of the changed files among the first ten, MRR the mean of 1 / n, where the n-th file is the first changed one. The table
is printed as Markdown.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_recall import Files, commits, git

MOST = 200  # hits that are looked at


def by_meaning(binary: Path, root: Path, message: str) -> list[str]:
    ran = subprocess.run([binary, "search", "--semantic", message, "--limit", str(MOST), "--json"], cwd=root, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr[-2000:]
    return list(dict.fromkeys(file for hit in json.loads(ran.stdout)["hits"] for file in hit["files"]))


def fused(*rankings: list[str]) -> list[str]:
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, path in enumerate(ranking, 1):
            scores[path] = scores.get(path, 0) + 1 / (60 + place)
    return sorted(scores, key=lambda path: (-scores[path], path))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--dimensions", type=int, help="of the built-in model")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--binary", type=Path, default=Path("target/release/cortex"))
    args = parser.parse_args()
    print("| repository | commits | | recall@10 | MRR |\n|---|--:|---|--:|--:|")
    for repository in args.repositories:
        measure(repository.resolve(), args)
    return 0


def measure(repository: Path, args) -> None:
    model = args.model.read_text() + '\n[producer.embedding]\nparams.model = "it"\n' if args.model else ""
    if args.dimensions:
        model = f"\n[producer.embedding]\nparams.dimensions = {args.dimensions}\n"
    manifest = f'[workspace]\nrulesets = ["csharp", "embeddings"]\n{model}'
    with tempfile.TemporaryDirectory() as scratch:
        root, known = Path(scratch) / "checkout", {}
        os.environ.update(CORTEX_STORE=f"{scratch}/store", CORTEX_TRUST="all")
        subprocess.run(["git", "clone", "-q", "--no-checkout", repository, root], check=True)
        chosen = commits(root, args.commits)
        sums = {name: [0.0, 0.0] for name in ("meaning", "BM25", "both")}
        for commit, message, changed in chosen:
            git(root, "checkout", "-q", "-f", f"{commit}^")
            (root / "cortex.toml").write_text(manifest)
            if args.model:
                subprocess.run([args.binary.resolve(), "build", "//index:vectors"], cwd=root, check=True, capture_output=True)
            meaning = by_meaning(args.binary.resolve(), root, message)
            bm25 = Files(root, known).ranked(message)[:MOST]
            for name, ranking in (("meaning", meaning), ("BM25", bm25), ("both", fused(meaning, bm25))):
                places = [ranking.index(path) + 1 for path in changed if path in ranking]
                sums[name][0] += sum(1 for place in places if place <= 10) / len(changed)
                sums[name][1] += 1 / min(places) if places else 0
        for name, (recall, reciprocal) in sums.items():
            print(f"| {repository.name} | {len(chosen)} | {name} | {recall / len(chosen):.3f} | {reciprocal / len(chosen):.3f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
