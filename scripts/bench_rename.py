#!/usr/bin/env python3
"""Renames random symbols of real repositories and lets the C# compiler judge.

  scripts/bench_rename.py REPO…         REPO as for scripts/accuracy.sh
    --count N                           symbols of each repository (default 50), drawn by a digest of their identifiers
    --cortex PROGRAM                    default: target/release/cortex
    --work DIR                          where checkouts and facts go (default: scripts/.work/accuracy)

Every fourth symbol is to get the name of another member of its type, or of another type of its namespace, which must be refused or must be right; the others get a
name that stands nowhere. All renames of a repository are made one after the other. The compiler binds every name of the sources before
and after them. A rename is *complete* if every name that meant its symbol means the renamed one, and *harmless* if every other name
means what it meant and the compiler reports the same errors. What differs is printed with its place."""

import argparse
import collections
import hashlib
import shutil
import sys
from pathlib import Path

import accuracy
import oracle

KINDS = {"method", "property", "field", "event", "class", "struct", "interface", "enum", "delegate", "record", "record struct", "enum member", "constant"}


def symbols(ours, count):
    """(name of the symbol, its own name, another name that stands beside it), drawn by digest. Members come before types, and nested
    types before those around them, so that no name of a later one has changed."""
    siblings = collections.defaultdict(set)
    drawn = []
    for record in ours:
        if record["k"] == "type":
            plain = record["id"][2:].replace("+", ".")
            own = plain.rpartition(".")[2].split("`")[0]
            scope = plain.rpartition(".")[0]
            siblings[scope].add(own)
            drawn.append((record["id"], record["id"][2:], own, scope))
        elif record["k"] == "member" and record["kind"] in KINDS and "." not in record["key"].split("(")[0]:
            own = record["key"].split("(")[0].split("`")[0]
            scope = record["type"]
            siblings[scope].add(own)
            drawn.append((record["id"], f"{record['type'][2:]}#{record['key']}", own, scope))
    drawn = sorted(set(drawn), key=lambda one: hashlib.sha256(one[0].encode()).digest())
    for _, symbol, own, scope in sorted(drawn[:count], key=lambda one: (one[0].startswith("T:"), -one[1].count("+"))):
        others = sorted(siblings[scope] - {own})
        yield symbol, own, others[0] if others else None


def rename_all(service, ours, count):
    """Renames; yields (symbol, new name, why it was refused)."""
    for number, (symbol, own, other) in enumerate(symbols(ours, count)):
        new = other if number % 4 == 3 and other else f"{own}Anew{number}"
        _, error = service.ask("rename", {"symbol": symbol, "new": new})
        yield symbol, new, error


def names_of_files(records):
    """Every bound name of every file, in order: (line, text, what it means)."""
    files = collections.defaultdict(list)
    for record in records:
        if record["k"] == "use" and record["t"] != "??":
            files[(record["p"], record["f"])].append((record["l"], record["c"], record["t"], record["to"] + "".join(sorted(record["maybe"])), record["u"]))
    return {file: sorted(names) for file, names in files.items()}


def types_of_files(records):
    files = collections.defaultdict(list)
    for record in records:
        if record["k"] == "occ":
            files[(record["p"], record["f"])].append((record["o"], 0, record["t"], record["to"], record["c"]))
    return {file: sorted(names) for file, names in files.items()}


def pair_names(before, after, differences):
    """What each meaning became, from names that stand at the same place of their file's order."""
    became = collections.defaultdict(collections.Counter)
    places = {}
    for file in sorted(before.keys() | after.keys()):
        old, new = before.get(file, []), after.get(file, [])
        if len(old) != len(new):
            differences.append(f"{file[1]}: {len(old)} names before, {len(new)} after")
            continue
        for one, other in zip(old, new):
            became[one[3]][other[3]] += 1
            places.setdefault((one[3], other[3]), f"{file[1]}:{other[0]}: {one[2]} → {other[2]}")
    return became, places


def judge(before, after, differences):
    """Adds what means something else after the renames, and errors that are new or gone."""
    for names in (names_of_files, types_of_files):
        became, places = pair_names(names(before), names(after), differences)
        sources = collections.defaultdict(set)
        for old, news in became.items():
            for new in news:
                sources[new].add(old)
            if len(news) > 1:
                for new, count in news.most_common()[1:]:
                    differences.append(f"{places[(old, new)]}: {count} names meant {old}, and mean {new} now")
        for new, olds in sources.items():
            if len(olds) > 1:
                differences.append(f"{new} means what {len(olds)} names meant: {', '.join(sorted(olds)[:3])}")
    errors = lambda records: collections.Counter((record["f"], record["l"], record["id"]) for record in records if record["k"] == "error")
    texts = {(record["f"], record["l"], record["id"]): record["m"] for record in before + after if record["k"] == "error"}
    for error, count in (errors(after) - errors(before)).items():
        differences.append(f"{error[0]}:{error[1]}: {count} new {error[2]}: {texts[error]}")
    for error, count in (errors(before) - errors(after)).items():
        differences.append(f"{error[0]}:{error[1]}: {count} lost {error[2]}: {texts[error]}")


def bind(text, target, out):
    oracle.run(text, target, out, "--errors")
    return oracle.read(out)


def measure(spec, options):
    name, source, commit = accuracy.checkout(spec, options.work)
    target = options.work / f"{name}.renamed"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)
    ours = accuracy.facts_of_cortex(options.cortex, source, options.work, name, True)
    text = accuracy.manifest_of(ours, target)
    before = bind(text, target, options.work / f"{name}.before.jsonl")
    service = accuracy.Service(options.cortex, target, options.work / f"{name}.renamed.store")
    made, refused = [], []
    for symbol, new, error in rename_all(service, ours, options.count):
        (refused if error else made).append((symbol, new, error))
        print(f"  {symbol} → {new}: {error['message'].splitlines()[0] if error else 'renamed'}", file=sys.stderr)
    service.close()
    differences = []
    judge(before, bind(text, target, options.work / f"{name}.after.jsonl"), differences)
    reasons = collections.Counter((error.get("data") or {}).get("code", "?") for _, _, error in refused)
    print(f"| {name} {commit} | {len(made)} | {len(refused)} | {len(differences)} |", flush=True)
    print(f"  {dict(reasons)}", file=sys.stderr)
    for difference in differences:
        print(f"  {difference}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--cortex", default=str(oracle.ROOT / "target" / "release" / "cortex"))
    parser.add_argument("--work", type=Path, default=oracle.SCRIPTS / ".work" / "accuracy")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| repository | renamed | refused | names or errors that differ |\n|---|--:|--:|--:|")
    for spec in options.repositories:
        measure(spec, options)


if __name__ == "__main__":
    main()
