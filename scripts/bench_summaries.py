#!/usr/bin/env python3
"""Judges summaries over a series of real commits of a C# repository, without a model: how many sentences are no longer true, how many names stand
for nothing, how many sections lack, and what it cost.

A program stands in for the model (scripts/llm_sim.py): each of its sentences is about one line of code, so that after each commit it is known which
are still true. Compared are whole answers (`max_patches = 0`), patches (`carry = "never"`), and patches where answers are carried over
(`carry = "safe"`, `"likely"`). A sentence about a type or a member that was renamed since counts as not true, in whichever way it was kept.

With `--judge COMMAND` a real model looks at the summaries of the last commit, too: the command gets code and numbered sentences on its standard
input and prints the numbers of those that the code does not support; its answers are kept in `--recording FILE` and not asked for again.

usage: scripts/bench_summaries.py REPOSITORY [--commits N] [--until REV] [--judge COMMAND --recording FILE]
       CORTEX_BIN  the binary (default: target/release/cortex)
"""
import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from bench_llm import HERE, Pass, git

WAYS = {
    "whole answers": 'max_patches = 0, carry = "never"',
    "patches": 'carry = "never"',
    'carry = "safe"': 'carry = "safe"',
    'carry = "likely"': 'carry = "likely"',
}
SECTIONS = ("ROLE", "LIFECYCLE", "EDGE_CASES", "LIMITATIONS", "RECOMMENDATIONS")


def texts(one: Pass) -> dict[str, str]:
    """The summaries of all types, by key."""
    found = {}
    for path in (one.clone / ".cortex/out").rglob("*.semantic.md"):
        text = path.read_text()
        # The file of a group holds its types under headings of their own.
        for part in re.split(r"^(?=#{1,2} (?:Semantic: )?\S+ T_)", text, flags=re.MULTILINE):
            head = re.match(r"#{1,2} (?:Semantic: )?(\S+) T_", part)
            if head:
                found[head.group(1)] = part
    return found


def sentences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ") and line != "- None."]


def judge(one: dict[str, str], truth: dict[str, str], sources: str) -> dict[str, int]:
    words = set(re.findall(r"\w+", sources))
    count = {"sentences": 0, "untrue": 0, "names of nothing": 0, "sections that lack": 0}
    for key, text in one.items():
        if key not in truth:
            # More is true of it than an answer may hold.
            continue
        true = set(sentences(truth[key]))
        said = sentences(text)
        names = [name for line in said for names in re.findall(r"\[([^\]]*)\]", line) for name in names.split(", ")]
        count["sentences"] += len(said)
        count["untrue"] += sum(1 for line in said if line not in true)
        count["names of nothing"] += sum(1 for name in names if name != ".ctor" and name.split(".")[-1] not in words)
        count["sections that lack"] += sum(1 for section in SECTIONS if f"\n{section}:\n" not in text)
    return count


def judged(one: Pass, command: str, recording: Path) -> tuple[int, int]:
    """How many sentences a model looked at, and how many of them it calls unsupported."""
    answers = json.loads(recording.read_text()) if recording.exists() else {}
    looked, untrue = 0, 0
    for key, text in sorted(texts(one).items()):
        said = sentences(text)
        numbered = "\n".join(f"{number}. {line[2:]}" for number, line in enumerate(said, 1))
        question = (
            f"Code of {key}:\n{one.run('source', key)}\n\nSentences about it:\n{numbered}\n\n"
            "Print the numbers of the sentences that the code does not support, one a line, or NONE."
        )
        digest = hashlib.sha256(question.encode()).hexdigest()
        if said and digest not in answers:
            done = subprocess.run(shlex.split(command), input=question, capture_output=True, text=True, check=True)
            answers[digest] = done.stdout
            recording.write_text(json.dumps(answers, indent=1))
        numbers = {int(number) for number in re.findall(r"^\s*(\d+)", answers.get(digest, ""), re.MULTILINE)}
        looked, untrue = looked + len(said), untrue + len(numbers & set(range(1, len(said) + 1)))
    return looked, untrue


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--until", default="HEAD")
    parser.add_argument("--judge")
    parser.add_argument("--recording", type=Path, default=Path("judged.json"))
    args = parser.parse_args()
    os.environ["CORTEX_TRUST"] = "all"
    cortex = os.environ.get("CORTEX_BIN", str(HERE.parent / "target/release/cortex"))
    log = git(args.repository, "log", "--first-parent", f"-{args.commits + 1}", "--format=%H", args.until, "--", "*.cs").split()
    commits = list(reversed(log))
    with tempfile.TemporaryDirectory() as work:
        make = lambda name, params, *options: Pass(name, args.repository, Path(work), cortex, params, *options)
        truth = make("truth", 'max_patches = 0, carry = "never", max_tokens = 1000000', ["--all"])
        ways = {name: make(f"way{place}", params) for place, (name, params) in enumerate(WAYS.items())}
        for one in (truth, *ways.values()):
            one.start(commits[0])
        total = {name: {} for name in ways}

        def add(name: str, counts: dict):
            total[name] = {what: total[name].get(what, 0) + count for what, count in counts.items()}

        for commit in commits[1:]:
            truth.step(commit)
            true = texts(truth)
            sources = "\n".join(path.read_bytes().decode("utf-8", "replace") for path in truth.sources())
            for name, one in ways.items():
                spent = one.step(commit)
                counts = {"calls": spent["calls"], "tokens": spent["input_tokens"] + spent["output_tokens"]}
                add(name, {**counts, **judge(texts(one), true, sources)})
        verdicts = {name: judged(one, args.judge, args.recording) for name, one in ways.items()} if args.judge else {}
    columns = ("calls", "tokens", "sentences", "untrue", "names of nothing", "sections that lack")
    print(f"{args.repository.name}, {len(commits) - 1} commits to {commits[-1][:8]}; sentences are counted after each commit\n")
    print(f"| | {' | '.join(columns)} | untrue, % |\n|---|{'--:|' * (len(columns) + 1)}")
    for name, counts in total.items():
        share = 100 * counts["untrue"] / max(counts["sentences"], 1)
        print(f"| {name} | {' | '.join(f'{counts[column]:,}' for column in columns)} | {share:.2f} |")
    for name, (looked, untrue) in verdicts.items():
        print(f"\n{name}: by the judge {untrue} of {looked} sentences of the last commit are unsupported")


if __name__ == "__main__":
    main()
