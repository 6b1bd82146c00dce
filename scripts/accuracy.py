#!/usr/bin/env python3
"""How far cortex's facts about real repositories agree with the C# compiler's.

  scripts/accuracy.sh REPO…             REPO is a folder with a git repository or a URL, @COMMIT behind it chooses a commit
  scripts/accuracy.sh --panel           the repositories of scripts/panel.tsv at their commits; the worst of each half is printed
    --half seen|unseen                  one half of the panel
    --from DIR                          folder with clones named OWNER+NAME/repo, before github.com is asked
    --cortex PROGRAM                    default: target/release/cortex
    --work DIR                          where checkouts and facts go (default: scripts/.work/accuracy)
    --list CLASS [--limit N]            print the differences of one class as well; `--list help` names the classes
    --kept                              compare the facts that an earlier run left in the work folder

All differences go to NAME.differences.txt in the work folder, a class and a place a line.

Each repository is cloned, described by the built-in ruleset unless it has a cortex.toml, and built by `cortex dev facts`. The compiler
then reads the same files under the defines, usings and references that cortex found, with the references of .NET itself and no packages.
Files that the compiler (C# 12) finds syntax errors in are left out, with every type that has a part in one, and counted.

Columns: types found of the compiler's (+ extra ones); members found, with the same kind and signature; references to types of the
workspace in signatures, bases, constraints and attributes, as (type, target, place), with wrong ones; occurrences of written type names
in bodies whose target is known for the type they stand in; pairs of types that bodies make, inferred ones included, with wrong ones, and
those that the compiler's own record leaves undecided: it has no packages, so what stands behind their types it cannot bind. The second
table has the uses of members and types by kind: those that are told as certain, those that are told at all, and of the certain ones those that are right
(where the compiler binds nothing at a place, or only guesses behind such a place, they are not counted). The third has what `implementations` tells of members that the
compiler says are implemented or overridden: the declarations that do so, those of them that are told, and those that are told and do not."""

import argparse
import collections
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import oracle

CLASSES = {
    "types-missing": "types that only the compiler has",
    "types-extra": "types that only cortex has",
    "headers": "types whose kind, accessibility, modifiers, bases, attributes, parts, type parameters or constraints differ",
    "members-missing": "members that only the compiler has",
    "members-extra": "members that only cortex has",
    "signatures": "members whose kind, accessibility or signature differ",
    "marks": "members whose attributes differ",
    "refs-missing": "references outside bodies that cortex lacks",
    "refs-unwritten": "references outside bodies that the compiler infers and nobody wrote (not counted)",
    "refs-wrong": "references outside bodies that are not there",
    "names-missing": "written names in bodies that cortex lacks",
    "pairs-missing": "pairs of types in bodies that cortex lacks",
    "pairs-wrong": "pairs of types in bodies that are not there",
    "pairs-undecided": "pairs of types in bodies that the compiler cannot tell without the packages (not counted)",
    "uses-lost": "uses of members and types that cortex does not tell",
    "uses-possible": "uses of members and types that cortex tells as possible",
    "uses-wrong": "certain uses of members and types that are others",
    "heirs-missing": "members that implement or override one that `implementations` does not tell",
    "heirs-wrong": "members that `implementations` tells and that do neither",
    "heirs-unasked": "members whose implementations cannot be asked for by name (not counted)",
    "syntax": "files that the compiler finds syntax errors in",
}

# Kinds of symbols whose uses are counted apart.
KINDS = ["methods", "properties", "fields", "events", "constructors", "indexers", "operators", "crefs"]


READ = ["*.cs", "*.csproj", "*.sln", "*.slnx", "*.slnf", "*.props", "*.targets", "*.projitems", "*.shproj", ".gitignore", "cortex.toml"]


def git(*args, cwd=None):
    return subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def checkout(spec, work):
    """The name, folder and commit of a repository, cloned into the work folder."""
    place, _, commit = spec.partition("@") if not spec.startswith("git@") else (spec, "", "")
    parts = [part for part in place.removesuffix(".git").rstrip("/").split("/") if part]
    name = parts[-2].split("+")[-1] if parts[-1] == "repo" and len(parts) > 1 else parts[-1]
    target = work / name
    if not target.exists():
        git("clone", "-q", "--no-checkout", place, str(target))
        # Only what the C# graph reads is laid out.
        git("sparse-checkout", "set", "--no-cone", *READ, cwd=target)
        git("checkout", "-q", "-f", commit or "HEAD", cwd=target)
    elif commit:
        git("checkout", "-q", "-f", commit, cwd=target)
    if not (target / "cortex.toml").exists():
        (target / "cortex.toml").write_text(f'[workspace]\nname = "{name}"\nrulesets = ["csharp"]\n')
    return name, target, git("rev-parse", "--short=8", "HEAD", cwd=target)


def facts_of_cortex(program, target, work, name, kept):
    out = work / f"{name}.cortex.jsonl"
    if kept and out.exists():
        return oracle.read(out)
    with open(out, "wb") as file:
        command = [program, "-C", str(target), "--store", str(work / f"{name}.store"), "dev", "facts"]
        told = subprocess.run(command, stdout=file, stderr=subprocess.PIPE)
    if told.returncode not in (0, 1):
        sys.exit(f"{name}: {told.stderr.decode()}")
    if told.returncode:
        print(f"{name}: some targets failed: {told.stderr.decode()[-400:]}", file=sys.stderr)
    return oracle.read(out)


LOOSE = "(loose files)"


def facts_of_compiler(ours, target, work, name, *options):
    projects = [record for record in ours if record["k"] == "project"]
    named = [record["p"] for record in projects if record["p"]]
    asked = []
    for record in projects:
        asked.append({
            "name": record["p"] or LOOSE,
            "assembly": record["assembly"],
            "defines": record["defines"],
            "usings": record["usings"],
            "refs": record["refs"] if record["p"] else named,
            "friends": record.get("friends", []),
            "files": [str(target / file) for file in record["files"] + record.get("linked", [])],
            "under": {str(target / file): symbols for file, symbols in record.get("under", {}).items()},
        })
    text = oracle.manifest(asked)
    program = (oracle.folder() / "roslyn" / "oracle.dll").read_bytes()
    key = hashlib.sha256(text.encode() + program + git("rev-parse", "HEAD", cwd=target).encode()).hexdigest()[:12]
    out = work / f"{name}.{key}.jsonl"
    if not out.exists():
        part = out.with_suffix(".part")
        oracle.run(text, target, part, *options)
        part.rename(out)
    return columns_in_characters(oracle.read(out), target)


def columns_in_characters(records, target):
    """The compiler's records with columns in characters, as cortex counts them, instead of UTF-16 code units."""
    lines = {}
    for record in records:
        if record["k"] != "use":
            continue
        if record["f"] not in lines:
            # Global usings that the project sets stand in no file.
            file = target / record["f"]
            text = file.read_bytes().decode("utf-8-sig", "replace") if file.exists() else ""
            lines[record["f"]] = text.split("\n") if any(character > "\uffff" for character in text) else None
        if lines[record["f"]]:
            units = lines[record["f"]][record["l"] - 1].encode("utf-16-le")
            record["c"] = len(units[: 2 * (record["c"] - 1)].decode("utf-16-le", "replace")) + 1
    return records


def owned(theirs, ours):
    """The compiler's records without the types of files that another project owns: they are compared there."""
    linked = {(place(record), file) for record in ours if record["k"] == "project" for file in record.get("linked", [])}
    types = [record for record in theirs if record["k"] == "type"]
    outside = lambda record: all((place(record), part) in linked for part in record["parts"])
    home = {record["id"] for record in types if not outside(record)}
    # What only other projects' symbols declare is one type, at home in the first of them.
    mine = {(place(record), record["id"]) for record in ours if record["k"] == "type"}
    home |= {id for _, id in mine}
    foreign = {(place(record), record["id"]) for record in types if outside(record) and record["id"] in home and (place(record), record["id"]) not in mine}
    about = {"type": "id", "member": "type", "edge": "from", "occ": "in", "gap": "in", "file": "path", "use": "f"}

    def kept(record):
        key = (place(record), record[about[record["k"]]]) if record["k"] in about else None
        return key not in (linked if record["k"] in ("file", "use") else foreign)

    return [record for record in theirs if kept(record)]


class Undecided:
    """Pairs of which the compiler's own record says that it could not tell: it met a name in code of the one type that it could bind to
    nothing, as behind a value whose type comes from a package, and members of that name belong to the other type or mention it."""

    def __init__(self, theirs):
        self.gaps, self.declaring, self.mentioning = collections.defaultdict(set), collections.defaultdict(set), collections.defaultdict(set)
        for record in theirs:
            if record["k"] == "gap":
                self.gaps[(place(record), record["in"] or "T:Program")].add(record["t"])
            elif record["k"] == "member":
                name = re.split(r"[(`]", record["key"])[0].rsplit(".", 1)[-1]
                self.declaring[record["type"]].add(name)
                for word in re.findall(r"\w+", record["sig"]):
                    self.mentioning[word].add(name)

    def __call__(self, pair):
        simple = re.split(r"[.:]", pair[2])[-1].split("`")[0]
        return not self.gaps[pair[:2]].isdisjoint(self.declaring[pair[2]] | self.mentioning[simple])

    def mark(self, pair):
        """Whether the type is named where the compiler cannot tell that what it found is an attribute: its base is from a package."""
        simple = re.split(r"[.:]", pair[2])[-1].split("`")[0]
        return not self.gaps[pair[:2]].isdisjoint({simple, simple.removesuffix("Attribute")})


class Side:
    """One side's facts, by what they are about."""

    def __init__(self, records, bad_files):
        self.types, self.members = {}, collections.defaultdict(list)
        self.edges, self.pairs = collections.defaultdict(set), set()
        left_out = set()
        for record in records:
            if record["k"] == "type":
                key = (place(record), record["id"])
                if any((place(record), part) in bad_files for part in record["parts"]):
                    left_out.add(key)
                elif key in self.types:
                    self.types[key] = dict(record, parts=sorted(set(self.types[key]["parts"]) | set(record["parts"])))
                else:
                    self.types[key] = record
        self.left_out = left_out
        self.records = records

    def gather(self, left_out):
        for key in left_out:
            self.types.pop(key, None)
        for record in self.records:
            if record["k"] == "member" and (place(record), record["type"]) not in left_out:
                self.members[(place(record), record["type"], record["key"])].append(record)
            elif record["k"] == "edge" and (place(record), record["from"]) not in left_out:
                self.edges[record["cat"]].add((place(record), record["from"], record["to"]))
        for cat, edges in self.edges.items():
            self.pairs |= edges


def mark(record):
    """Attributes without their suffix: `[XmlAttribute]` may be written for XmlAttributeAttribute."""
    return [name.replace("Attribute", "") for name in record["marks"]]


def place(record):
    return "" if record["p"] == LOOSE else record["p"]


def line_of(target, file, offset, texts):
    if file not in texts:
        texts[file] = (target / file).read_bytes()
    return texts[file].count(b"\n", 0, offset) + 1


def used(record):
    """The type and the name of the member that a documentation identifier means, or the type, and its kind."""
    path = record["to"][2:].split("(")[0]
    is_cref = record["u"] == "cref"
    if record["to"].startswith("T:"):
        return path, "crefs"  # the oracle tells of uses of types in documentation alone
    owner, _, name = path.rpartition(".")
    name = name.split("``")[0]
    kind = {"P": "properties", "F": "fields", "E": "events"}.get(record["to"][0], "methods")
    if name == "#ctor":
        name, kind = ".ctor", "constructors"
    elif name.startswith("op_"):
        kind = "operators"
    elif record["to"].startswith("P:") and "(" in record["to"]:
        name, kind = "this[]", "indexers"
    # An explicit implementation, as `System#IDisposable#Dispose`, goes by the name of the interface's member.
    return f"{owner}#{name.rpartition('#')[2]}", "crefs" if is_cref else kind


def plain(symbol):
    """A type and its member without the interface that the name of an explicit implementation begins with."""
    owner, sign, name = symbol.partition("#")
    return symbol if name.startswith(".") else f"{owner}{sign}{name.rpartition('.')[2]}"


def is_told(service, symbol, place):
    """Whether `usages` lists a place that no type's facts hold: outside of types, and in what `#if` excludes."""
    result, error = service.ask("usages", {"symbol": symbol, "limit": 1_000_000, "possible": 1_000_000})
    if error:
        found = [one for one in (error.get("data") or {}).get("candidates") or [] if one != symbol and "@" not in symbol]
        return any(is_told(service, one, place) for one in found)
    return any((use["file"], use["line"], use["column"]) == place for use in result["certain"] + result["possible"])


TOKENS = re.compile(r'''"""(?:.|\n)*?"""|(?:\$@|@\$|@)"(?:[^"]|"")*"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\])+'|//[^\n]*|\w+|\s+|.''')


class Guesses:
    """Places that stand behind a name which the compiler could not bind, as it has no packages: of the calls that a package declares, it takes
    the one of the workspace (`5.Should().Be(5)`), and converts the arguments to its parameters."""

    def __init__(self, theirs, target):
        self.members, self.arguments, self.starts = collections.defaultdict(set), collections.defaultdict(list), {}
        unbound = collections.defaultdict(list)
        for record in theirs:
            if record["k"] == "use" and record["w"] == "?":
                unbound[record["f"]].append((record["l"], record["c"] + len(record["t"]) - 1))
        for file, places in unbound.items():
            if (target / file).exists():
                text = (target / file).read_bytes().decode("utf-8-sig", "replace")
                self.starts[file] = [0, *(found.end() for found in re.finditer("\n", text))]
                for line, column in places:
                    self.follow(file, text, self.starts[file][line - 1] + column)

    def follow(self, file, text, start):
        """Follows calls, indexes and members with theirs behind a name."""
        depth, is_member, end = 0, False, start
        for token in TOKENS.finditer(text, start):
            word, end = token.group(), token.start()
            if not depth and not is_member and word.isidentifier() or depth == 0 and word in ")]}":
                break
            depth += (word in "([{") - (word in ")]}")
            if depth == 0 and not word.isspace() and not word.startswith("//"):
                if is_member and word.isidentifier():
                    self.members[file].add(token.start())
                elif word not in ".?!)]>":
                    break
                is_member = word == "."
        self.arguments[file].append((start, end))

    def __contains__(self, record):
        file = record["f"]
        if file not in self.starts:
            return False
        at = self.starts[file][record["l"] - 1] + record["c"] - 1
        is_argument = (record["u"] == "convert" or ".op_" in record["to"]) and any(start < at < end for start, end in self.arguments[file])
        return is_argument or at in self.members[file]


def compare_uses(service, ours, theirs, target, bad, row, differences):
    """Places that use members: those of the compiler against those of cortex, by place."""
    mine = collections.defaultdict(set)
    for record in ours:
        if record["k"] == "use":
            mine[(record["p"], record["f"], record["l"], record["c"])].add((plain(record["to"]), record["maybe"]))
    counts = {kind: [0, 0, 0, 0, 0] for kind in KINDS}  # all, certain, told; certain ones that are right, wrong
    bound = collections.defaultdict(set)
    declared = {record["id"] for record in theirs if record["k"] == "member"}
    guesses = Guesses(theirs, target)
    converted = (record for record in theirs if record["k"] == "use" and record["u"] == "convert" and record["t"] == "new")
    made = {(place(record), record["f"], record["l"], record["c"], record["to"]) for record in converted}
    for record in theirs:
        if record["k"] != "use" or (place(record), record["f"]) in bad or record["u"] in ("implement", "override"):
            continue
        if record["to"].startswith(("F:System.ValueTuple", "P:.")):
            continue  # an element of a tuple or a member of an anonymous type is declared nowhere
        if record["t"] == "??" or record["t"] in ("&&", "||", "is") and ".op_Implicit" in record["to"]:
            continue  # the conversion of the whole value, which is told where that begins
        if record["t"] == "(" and record["u"] == "call" and ".op_" not in record["to"] or record["t"] == "[" and ".op_" in record["to"]:
            continue  # a method by the cast of its name, a conversion by a bracket of what is converted: told at the name, and where the value begins
        if record["u"] == "convert" and (place(record), record["f"], record["l"], record["c"] - 4, record["to"]) in made:
            continue  # the type behind `new`: told at the word
        if record["to"].startswith("M:") and record["to"] not in declared:
            continue  # what the compiler makes: equality of records, a constructor of none
        at = (place(record), record["f"], record["l"], record["c"])
        if record["w"] != "s" or record in guesses:
            bound[at] |= {used({"to": to, "u": record["u"]}) for to in record["maybe"]} | {None}
            continue
        to, kind = used(record)
        bound[at].add((to, kind))
        found = mine.get(at, set())
        name = to.rpartition("#")[2]
        certain = (to, False) in found
        told = certain or any(other.rpartition("#")[2] == name for other, _ in found) or is_told(service, to, at[1:])
        counts[kind][0] += 1
        counts[kind][1] += certain
        counts[kind][2] += told
        if not certain:
            line = f"{record['f']}:{record['l']}:{record['c']}: {record['to']} ({record['u']})"
            differences["uses-possible" if told else "uses-lost"].append(line)
    for at, found in mine.items():
        there = bound.get(at, set())
        if not there or None in there:
            continue
        for to, maybe in found:
            if maybe:
                continue
            right = next((kind for own, kind in there if own == to), None)
            name = to.rpartition("#")[2]
            other = next((kind for own, kind in there if own.rpartition("#")[2] == name), None)
            if right:
                counts[right][3] += 1
            elif other:
                counts[other][4] += 1
                differences["uses-wrong"].append(f"{at[1]}:{at[2]}:{at[3]}: {to}, not {', '.join(sorted(own for own, _ in there))}")
    row["uses"] = counts


# Members at most whose implementations are asked for, chosen by a hash of their names.
MOST_ASKED = 1_000


class Service:
    """`cortex serve --stdio`, asked one question after the other."""

    def __init__(self, program, target, store):
        command = [program, "-C", str(target), "--store", str(store), "serve", "--stdio"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8")

    def ask(self, method, params):
        """The result, or the error."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        while line := self.process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == 1:
                return answer.get("result"), answer.get("error")
        sys.exit("the service ended")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def implementations(service, symbol):
    """The places of the members that implement or override one, in all types of that name; None where the name means nothing."""
    result, error = service.ask("implementations", {"symbol": symbol, "all": True, "limit": 1_000_000})
    if error:
        candidates = (error.get("data") or {}).get("candidates") or []
        found = [implementations(service, one) for one in candidates if one != symbol] if "@" not in symbol else []
        found = [one for one in found if one is not None]
        return set().union(*found) if found else None
    places = [one["place"] for one in result["implementations"] if "through" not in one and "place" in one]
    found = {(place["file"], place["line"], place["column"]) for place in places}
    # A type that a project compiles goes before one of that name which none compiles.
    type_, _, member = symbol.partition("#")
    loose = implementations(service, f"{type_}@loose#{member}") if "@" not in symbol else None
    return found | (loose or set())


def compare_heirs(service, theirs, bad, row, differences):
    """Members that implement or override others: those of the compiler against those that `implementations` tells."""
    bad_files = {path for _, path in bad}
    expected = collections.defaultdict(set)
    for record in theirs:
        if record["k"] == "use" and record["u"] in ("implement", "override") and record["w"] == "s":
            expected[used(dict(record, u="call"))[0]].add((record["f"], record["l"], record["c"]))
    asked = sorted(expected, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:MOST_ASKED]
    total = found = wrong = 0
    for symbol in sorted(asked):
        got = implementations(service, symbol)
        if got is None:
            differences["heirs-unasked"].append(symbol)
            continue
        there = {place for place in expected[symbol] if place[0] not in bad_files}
        got = {place for place in got if place[0] not in bad_files}
        total, found, wrong = total + len(there), found + len(there & got), wrong + len(got - there)
        for kind, places in (("heirs-missing", there - got), ("heirs-wrong", got - there)):
            differences[kind] += [f"{file}:{line}:{column}: {symbol}" for file, line, column in sorted(places)]
    row["heirs"] = (found, total, wrong)


def share(found, all_):
    return f"{found:,} of {all_:,} ({100 * found / all_ if all_ else 100:.2f} %)"


def compare(name, target, ours, theirs, listed, report, service):
    bad = {(place(record), record["path"]) for record in theirs if record["k"] == "file" and record["syntaxErrors"]}
    we, they = Side(ours, bad), Side(theirs, bad)
    left_out = we.left_out | they.left_out
    we.gather(left_out)
    they.gather(left_out)
    differences, texts, row = collections.defaultdict(list), {}, {}

    def where(key):
        record = they.types.get(key) or we.types.get(key)
        return record["parts"][0] if record else "?"

    row["files"] = sum(len(record["files"]) for record in ours if record["k"] == "project")
    row["syntax"] = len(bad)
    differences["syntax"] = [f"{p}: {path}" for p, path in sorted(bad)]

    missing, extra = they.types.keys() - we.types.keys(), we.types.keys() - they.types.keys()
    differences["types-missing"] = [f"{where(key)}: {key[1]} ({they.types[key]['kind']})" for key in sorted(missing)]
    differences["types-extra"] = [f"{where(key)}: {key[1]} ({we.types[key]['kind']})" for key in sorted(extra)]
    row["types"] = (len(they.types) - len(missing), len(they.types), len(extra))
    same = 0
    for key in sorted(they.types.keys() & we.types.keys()):
        fields = ("kind", "arity", "acc", "mods", "bases", "marks", "parts", "head")
        one, other = dict(they.types[key], marks=mark(they.types[key])), dict(we.types[key], marks=mark(we.types[key]))
        unequal = [field for field in fields if one[field] != other[field]]
        same += not unequal
        for field in unequal:
            differences["headers"].append(f"{where(key)}: {key[1]} {field}: compiler {they.types[key][field]!r}, cortex {we.types[key][field]!r}")
    row["headers"] = (same, len(they.types))

    total = equal = extras = 0
    for key in sorted(they.members.keys() | we.members.keys()):
        expected, got = they.members.get(key, []), we.members.get(key, [])
        total += len(expected)
        for record in expected[len(got):]:
            differences["members-missing"].append(f"{where(key[:2])}: {key[1]} {record['sig']} ({record['kind']})")
        for record in got[len(expected):]:
            extras += 1
            differences["members-extra"].append(f"{where(key[:2])}: {key[1]} {record['sig']} ({record['kind']})")
        for one, other in zip(sorted(expected, key=lambda r: r["sig"]), sorted(got, key=lambda r: r["sig"])):
            if (one["kind"], one["acc"], one["sig"]) == (other["kind"], other["acc"], other["sig"]):
                equal += 1
            else:
                differences["signatures"].append(f"{where(key[:2])}: {key[1]} compiler {one['kind']} {one['sig']!r}, cortex {other['kind']} {other['sig']!r}")
            if mark(one) != mark(other):
                differences["marks"].append(f"{where(key[:2])}: {key[1]} {key[2]} compiler {one['marks']}, cortex {other['marks']}")
    row["members"] = (equal, total, extras)

    written, occurrences = set(), [0, 0]
    own_bodies = we.edges["body"] | we.edges["inferred"]
    places = {}
    for record in theirs:
        if record["k"] != "occ" or record["w"] != "source":
            continue
        pair = (place(record), record["in"] or "T:Program", record["to"])
        if pair[:2] in left_out or pair[1] == pair[2]:
            continue
        written.add(pair)
        places.setdefault(pair + (record["c"] == "body",), record)
        if record["c"] == "body" and record["in"]:
            occurrences[1] += 1
            if pair in own_bodies:
                occurrences[0] += 1
            else:
                line = line_of(target, record["f"], record["o"], texts)
                differences["names-missing"].append(f"{record['f']}:{line}: {record['t']} → {record['to']} in {record['in']}")
    row["names"] = tuple(occurrences)

    def spot(pair, body):
        record = places.get(pair + (body,)) or places.get(pair + (not body,))
        return f"{record['f']}:{line_of(target, record['f'], record['o'], texts)}" if record else where(pair[:2])

    open_ = Undecided(theirs)
    found = total = wrong = undecided = 0
    for cat in ("base", "sig", "attr"):
        # Constraints of overridden methods and type arguments of inherited nested types are in the compiler's answer, but nowhere written.
        expected, got = {pair for pair in they.edges[cat] if pair in written or pair in we.edges[cat]}, we.edges[cat]
        differences["refs-unwritten"] += [f"{where(pair[:2])}: {pair[1]} → {pair[2]} ({cat})" for pair in sorted(they.edges[cat] - expected)]
        total += len(expected)
        found += len(expected & got)
        differences["refs-missing"] += [f"{spot(pair, False)}: {pair[1]} → {pair[2]} ({cat})" for pair in sorted(expected - got)]
        invented = sorted(pair for pair in got - expected if pair not in they.pairs and pair not in written)
        if cat == "attr":
            undecided += sum(open_.mark(pair) for pair in invented)
            invented = [pair for pair in invented if not open_.mark(pair)]
        wrong += len(invented)
        differences["refs-wrong"] += [f"{where(pair[:2])}: {pair[1]} → {pair[2]} ({cat})" for pair in invented]
    row["refs"] = (found, total, wrong, undecided)

    bodies = collections.defaultdict(set)
    for cat, edges in they.edges.items():
        if cat.startswith("body:"):
            # A type without a name, such as an anonymous one, is no target.
            for pair in (pair for pair in edges if pair[2] != "T:"):
                bodies[pair].add(cat.removeprefix("body:"))
    found = len(bodies.keys() & own_bodies)
    invented = sorted(pair for pair in own_bodies if pair not in they.pairs and pair not in written)
    undecided, invented = [pair for pair in invented if open_(pair)], [pair for pair in invented if not open_(pair)]
    differences["pairs-undecided"] = [f"{where(pair[:2])}: {pair[1]} → {pair[2]}" for pair in undecided]
    row["pairs"] = (found, len(bodies), len(invented), len(own_bodies), len(undecided))
    differences["pairs-missing"] = [f"{spot(pair, True)}: {pair[1]} → {pair[2]} ({', '.join(sorted(bodies[pair]))})" for pair in sorted(bodies.keys() - own_bodies)]
    differences["pairs-wrong"] = [f"{where(pair[:2])}: {pair[1]} → {pair[2]}" for pair in invented]
    compare_uses(service, ours, theirs, target, bad, row, differences)
    compare_heirs(service, theirs, bad, row, differences)
    with open(report, "w", encoding="utf-8") as file:
        file.writelines(f"{kind} {line}\n" for kind in CLASSES for line in differences[kind])
    if listed:
        for line in differences[listed[0]][: listed[1]]:
            print(f"{name} {listed[0]} {line}")
    row["differences"] = {kind: len(found) for kind, found in differences.items()}
    return row


PANEL = oracle.SCRIPTS / "panel.tsv"
UNSEEN = 7


def panel():
    """The lines of the panel as (repository, commit, half), after checking that the unseen half follows its rule."""
    text = PANEL.read_text(encoding="utf-8")
    release = re.search(r"^# release (\S+)$", text, re.M).group(1)
    rows = [tuple(line.split("\t")[:3]) for line in text.splitlines() if line and not line.startswith("#")]
    drawn = sorted((name for name, _, half in rows if half != "seen"), key=lambda name: hashlib.sha256(f"{release} {name}".encode()).hexdigest())
    if {name for name, _, half in rows if half == "unseen"} != set(drawn[:UNSEEN]):
        sys.exit(f"{PANEL}: the unseen half of release {release} is {', '.join(sorted(drawn[:UNSEEN]))}")
    return rows


def chosen(args):
    """What is measured: (what to clone, half)."""
    for spec in args.repositories:
        yield spec, ""
    for name, commit, half in panel() if args.panel or args.half else []:
        if half in ([args.half] if args.half else ["seen", "unseen"]):
            local = args.source / name.replace("/", "+") / "repo" if args.source else None
            yield f"{local if local and local.exists() else f'https://github.com/{name}.git'}@{commit}", half


def print_uses(rows):
    """The table of uses, and of each half the worst share of each kind."""
    print("\n| repository | half | " + " | ".join(f"{kind}: certain / told / right" for kind in KINDS) + " |")
    print("|---|---|" + "--:|" * len(KINDS))
    percent = lambda part, whole: f"{100 * part / whole:.2f}" if whole else "–"
    worst = collections.defaultdict(lambda: 100.0)
    for name, half, row in rows:
        cells = []
        for kind in KINDS:
            all_, certain, told, right, wrong = row["uses"][kind]
            cells.append(f"{percent(certain, all_)} / {percent(told, all_)} / {percent(right, right + wrong)} % of {all_:,}")
            for what, part, whole in (("certain", certain, all_), ("told", told, all_), ("right", right, right + wrong)):
                if whole:
                    worst[half, what] = min(worst[half, what], 100 * part / whole)
        print(f"| {name} | {half} | " + " | ".join(cells) + " |")
    print("\n| repository | half | implementations of members: told | wrong |\n|---|---|--:|--:|")
    for name, half, row in rows:
        found, total, wrong = row["heirs"]
        print(f"| {name} | {half} | {share(found, total)} | {wrong:,} |")
    for (half, what), value in sorted(worst.items()):
        if half:
            print(f"worst of the {half} half, {what}: {value:.2f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*")
    parser.add_argument("--cortex", default=str(oracle.ROOT / "target" / "release" / "cortex"))
    parser.add_argument("--work", type=Path, default=oracle.SCRIPTS / ".work" / "accuracy")
    parser.add_argument("--list", choices=["help", *CLASSES])
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--panel", action="store_true")
    parser.add_argument("--half", choices=["seen", "unseen"])
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--limit", type=int, default=100)
    args = parser.parse_args()
    if args.list == "help":
        print("\n".join(f"{kind:16} {words}" for kind, words in CLASSES.items()))
        return
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    oracle.setup()
    rows = []
    for spec, half in chosen(args):
        name, target, commit = checkout(spec, work)
        ours = facts_of_cortex(args.cortex, target, work, name, args.kept)
        theirs = facts_of_compiler(ours, target, work, name)
        service = Service(args.cortex, target, work / f"{name}.store")
        listed = (args.list, args.limit) if args.list else None
        row = compare(name, target, ours, owned(theirs, ours), listed, work / f"{name}.differences.txt", service)
        service.close()
        rows.append((name, commit, half, row))
        print(f"{name}: {json.dumps(row['differences'])}", file=sys.stderr)
    print("| repository | commit | files | left out | types | headers | members | references | names in bodies | pairs in bodies |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, commit, _, row in rows:
        types, members, refs, pairs = row["types"], row["members"], row["refs"], row["pairs"]
        wrong = f"{pairs[2]:,} wrong ({100 * pairs[2] / pairs[3] if pairs[3] else 0:.2f} %), {pairs[4]:,} undecided"
        print(f"| {name} | {commit} | {row['files']:,} | {row['syntax']} | {share(*types[:2])}, +{types[2]} | {share(*row['headers'])} | {share(*members[:2])}, +{members[2]}"
              f" | {share(*refs[:2])}, {refs[2]} wrong, {refs[3]} undecided | {share(*row['names'])} | {share(*pairs[:2])}, {wrong} |")
    print_uses([(name, half, row) for name, _, half, row in rows])


if __name__ == "__main__":
    main()
