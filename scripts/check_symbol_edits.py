#!/usr/bin/env python3
"""Checks edits of random symbols of real repositories by the C# compiler: each is refused, or the compiler binds every name as it did before.

  scripts/check_symbol_edits.py REPO…   REPO is a folder with a git repository or a URL, @COMMIT behind it chooses a commit
    --edit rename|signature|move        `cortex rename`, `edit change_signature` (a parameter more), `edit move_type`
    --count N                           edits of each repository (default 70)
    --batch N                           edits between two looks of the compiler (default 35)
    --seed S                            of the choice of symbols (default 1)
    --cortex PROGRAM                    default: target/release/cortex
    --work DIR                          where checkouts go (default: scripts/.work/symbol-edits)

The compiler reads the sources as scripts/accuracy.py has it: with the references of .NET and no packages. Compared are all uses of members
and written names of types, and all errors: what binds, binds still, to the same symbol, whose name may be another; what does not bind is what did
not before. Every fourth rename asks for the name of another symbol beside it.
CORTEX_ORACLE names the folder of the compiler."""

import argparse
import collections
import random
import re
import subprocess
import sys
from pathlib import Path

import accuracy
import oracle

KINDS = {"rename": ["method", "property", "field", "event", "constant", "enum member", "type"], "signature": ["method", "constructor"], "move": ["type"]}


def run(program, target, *words):
    return subprocess.run([program, "-C", str(target), *words], capture_output=True, text=True)


def symbols(ours, kinds):
    """Paths of symbols."""
    found = []
    for record in ours:
        if record["k"] == "member" and record["kind"] in kinds and "." not in record["key"].split("(")[0].lstrip("."):
            found.append(f"{record['type'][2:]}#{record['key']}")
        elif record["k"] == "type" and "type" in kinds:
            found.append(record["id"][2:])
    return sorted(set(found))


def parameters(signature):
    """The names of the parameters of a signature, and whether the first is what an extension method is called on."""
    inside, depth, pieces = signature[signature.index("(") + 1:], 0, [""]
    for c in inside:
        if c == ")" and depth == 0:
            break
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += c
    pieces = [piece.strip() for piece in pieces if piece.strip()]
    return [piece.split("=")[0].split()[-1] for piece in pieces], bool(pieces) and pieces[0].startswith("this ")


def own_name(path):
    """The name of a symbol without what it stands in."""
    return re.split(r"[`(]", path.split("#")[-1])[0].split(".")[-1].split("+")[-1]


def name_beside(path, paths):
    """The name of the first other symbol of the same type or namespace."""
    scope = path.rpartition("#")[0] or re.split(r"[`]", path)[0].rpartition(".")[0]
    beside = (other for other in paths if other != path and other.startswith(scope) and ("#" in other) == ("#" in path))
    return next((own_name(other) for other in beside if own_name(other) != own_name(path)), None)


def command(program, target, edit, path, number, paths):
    """The edit of a symbol; none where it cannot be put together."""
    if edit == "rename":
        taken = name_beside(path, paths) if number % 4 == 0 else None
        return ["rename", path, taken or f"{own_name(path)}Renamed{number}"]
    if edit == "move":
        return ["edit", "move_type", "--symbol", path]
    signature = next((line for line in run(program, target, "outline", path).stdout.splitlines() if line.startswith("  + ")), "")
    while re.match(r"  \+ \[", signature):
        signature = "  + " + signature.split("] ", 1)[1]
    if "(" not in signature:
        return None
    names, is_extension = parameters(signature.split("  — ")[0])
    at = 1 if is_extension else 0
    names[at:at] = [f"int added{number} := {number}"]
    return ["edit", "change_signature", "--symbol", path, "--new-text", ", ".join(names)]


def uses(records, by_file):
    """All uses, and by file also written names of types, in the order of places, by file or together."""
    found = collections.defaultdict(list)
    for record in records:
        if record["k"] == "occ" and by_file:
            found[f"{record['f']} (types)"].append((record["o"], record["c"], record["w"], record["to"]))
        if record["k"] == "use":
            found[record["f"] if by_file else ""].append(((record["l"], record["c"]) if by_file else record["t"], record["u"], record["w"], record["to"]))
    return {file: sorted(rows) for file, rows in found.items()}


def differences(before, after, by_file):
    """What the compiler binds otherwise than before. Edits of symbols leave the order of all uses as it is, but arguments may change theirs."""
    one, two = uses(before, by_file), uses(after, by_file)
    told, names = [], {}
    for place in sorted(set(one) | set(two)):
        left, right = one.get(place, []), two.get(place, [])
        if not by_file:
            lost = collections.Counter(row[1:3] for row in left) - collections.Counter(row[1:3] for row in right)
            told += [f"{row}: {count} fewer" for row, count in lost.items()]
            continue
        for row, other in zip(left, right):
            if row[1:3] != other[1:3]:
                told.append(f"{place}:{row[0]}: {row[1:]} became {other[1:]}")
                break
            if names.setdefault(row[3], other[3]) != other[3] and row[2] in ("s", "source"):
                told.append(f"{place}:{row[0]}: {row[3]} is {names[row[3]]} elsewhere and {other[3]} here")
        if len(left) != len(right):
            told.append(f"{place}: {len(right)} uses, and {len(left)} before")
    errors = [collections.Counter((record["f"], record["id"]) for record in records if record["k"] == "error") for records in (before, after)]
    told += [f"{file}: {count} new {code}" for (file, code), count in (errors[1] - errors[0]).items()]
    gaps = [sum(record["k"] == "gap" for record in records) for records in (before, after)]
    if gaps[0] != gaps[1]:
        told.append(f"{gaps[1]} names are not bound, and {gaps[0]} were not before")
    return told


def reason(text):
    """Why an edit was refused, in a class."""
    for word, told in [
        ("possible use", "a possible use"), ("overrides or implements", "a base outside"), ("may declare", "a base that is not known"),
        ("without a call", "a method group"), ("is generated", "a generated file"), ("not in this workspace", "a base outside"), ("would refer", "another meaning"),
        ("has the file to itself", "the file to itself"), ("another type", "a nested type"), ("begin in it", "where a program begins"), ("syntax errors", "syntax errors"),
        ("would mean", "another meaning"), ("could mean", "another meaning"), ("#if", "#if"), ("already", "a clash"), ("may mean", "a possible use"), ("no signature", "a primary constructor"), ("attribute", "an attribute"),
    ]:
        if word in text:
            return told
    return "other"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--edit", choices=sorted(KINDS), default="rename")
    parser.add_argument("--count", type=int, default=70)
    parser.add_argument("--batch", type=int, default=35)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cortex", default=str(Path(__file__).resolve().parent.parent / "target/release/cortex"))
    parser.add_argument("--work", default=str(Path(__file__).resolve().parent / ".work/symbol-edits"))
    asked = parser.parse_args()
    work = Path(asked.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    program = str(Path(asked.cortex).resolve())
    wrong = 0
    print("| repository | edits | made | refused | names that bind otherwise | why refused |\n|---|--:|--:|--:|--:|---|")
    for spec in asked.repositories:
        name, target, _ = accuracy.checkout(spec, work)
        subprocess.run(["git", "checkout", "-q", "-f", "."], cwd=target, check=True)
        subprocess.run(["git", "clean", "-q", "-fdx", "-e", "cortex.toml", "-e", ".cortex"], cwd=target, check=True)
        ours = accuracy.facts_of_cortex(program, target, work, name, False)
        looks = 0

        def compile_now():
            nonlocal looks
            looks += 1
            return accuracy.facts_of_compiler(accuracy.facts_of_cortex(program, target, work, name, False), target, work, f"{name}.{asked.edit}.{asked.seed}.{looks}", "--errors")

        for old in work.glob(f"{name}.{asked.edit}.{asked.seed}.*"):
            old.unlink()
        before = compile_now()
        paths = symbols(ours, KINDS[asked.edit])
        chosen = list(paths)
        random.Random(asked.seed).shuffle(chosen)
        # Members first: a renamed type is another's name no more.
        chosen = sorted(chosen[:asked.count], key=lambda path: ("#" not in path, -path.count("+")))
        made, why, told, batch = 0, collections.Counter(), [], []
        for number, path in enumerate(chosen, 1):
            words = command(program, target, asked.edit, path, number, paths)
            ran = run(program, target, *words) if words else subprocess.CompletedProcess([], 2, "", "no signature")
            if ran.returncode == 0:
                made += 1
                batch.append(path)
            elif ran.returncode == 2:
                why[reason(ran.stderr)] += 1
                if reason(ran.stderr) == "other":
                    print(f"{path}: {ran.stderr.strip()}", file=sys.stderr)
            else:
                told.append(f"{path}: exit code {ran.returncode}: {ran.stderr.strip()}")
            if batch and (len(batch) == asked.batch or number == len(chosen)):
                after = compile_now()
                found = differences(before, after, asked.edit != "move")
                told += found
                if found:
                    print(f"{name}: of {', '.join(batch)}:\n  " + "\n  ".join(found[:20]), file=sys.stderr)
                before, batch = after, []
        wrong += len(told)
        reasons = ", ".join(f"{word} {count}" for word, count in why.most_common())
        print(f"| {name} | {len(chosen)} | {made} | {sum(why.values())} | {len(told)} | {reasons} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
