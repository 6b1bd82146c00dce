#!/usr/bin/env python3
"""The compiler's facts about C# sources: puts the oracle together, runs it, and writes the golden files of the fixtures.

  scripts/oracle.py setup           makes it (a .NET runtime and Roslyn 4.8, about 110 MB) under scripts/.work/oracle
  scripts/oracle.py golden          writes fixtures/csharp/facts/*.jsonl and uses/*.jsonl anew

CORTEX_ORACLE names another folder for it. What it prints is said at the head of scripts/oracle/Oracle.cs. The compiler is of C# 12:
what is newer has golden files written by hand, which are left alone."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent
FIXTURES = ROOT / "fixtures" / "csharp"
IMPLICIT = ["System", "System.Collections.Generic", "System.IO", "System.Linq", "System.Net.Http", "System.Threading", "System.Threading.Tasks"]


def folder():
    """Where the oracle is."""
    return Path(os.environ.get("CORTEX_ORACLE") or SCRIPTS / ".work" / "oracle")


def setup():
    """Puts it together unless it is there."""
    if not (folder() / "oracle.sh").exists():
        subprocess.run(["bash", str(SCRIPTS / "oracle" / "setup.sh"), str(folder())], check=True)


def manifest(projects):
    """The oracle's manifest: `projects` are dictionaries with name, assembly, defines, usings, refs, friends and absolute files;
    `under` names files that are read under symbols of their own."""
    lines = []
    for project in projects:
        lines.append(f"project {project['name']}")
        if project.get("assembly"):
            lines.append(f"assembly {project['assembly']}")
        if project.get("lang"):
            lines.append(f"lang {project['lang']}")
        for key, directive in (("defines", "define"), ("usings", "using"), ("refs", "ref"), ("friends", "ivt")):
            lines += [f"{directive} {value}" for value in project.get(key, [])]
        for file in project.get("files", []):
            lines.append(f"file {file}")
            if file in project.get("under", {}):
                lines.append(f"under {';'.join(project['under'][file])}")
        lines.append("end")
    return "\n".join(lines) + "\n"


def run(text, base, out, *options):
    """Runs the oracle over a manifest; the comparable facts go to `out`, with written names and edges of bodies."""
    setup()
    references = (folder() / "fw").read_text().strip()
    with tempfile.NamedTemporaryFile("w", suffix=".manifest", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = [str(folder() / "oracle.sh"), "manifest", file.name, "--base", str(base), "--refdir", references, "--facts", "--body", "--occ", "--uses"]
        subprocess.run(command + [*options, "--out", str(out)], check=True)


def read(path):
    """Records of a file of facts."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def fixtures():
    """Every fixture of one file, by name."""
    return {file.stem: file for part in ("features", "rules") for file in sorted((FIXTURES / part).glob("*.cs"))}


def golden():
    """Writes the golden file of every fixture that the compiler can read; those with `.hand.jsonl` are left alone."""
    target = FIXTURES / "facts"
    uses = FIXTURES / "uses"
    target.mkdir(exist_ok=True)
    uses.mkdir(exist_ok=True)
    found = fixtures()
    projects = [{"name": name, "usings": IMPLICIT, "files": [str(file)]} for name, file in found.items()]
    with tempfile.TemporaryDirectory() as temp:
        out = Path(temp) / "facts.jsonl"
        run(manifest(projects), FIXTURES, out)
        records = read(out)
    for name in found:
        if (target / f"{name}.hand.jsonl").exists():
            continue
        own = [record for record in records if record.get("p") == name]
        bad = [record for record in own if record["k"] == "file" and record["syntaxErrors"]]
        if bad:
            print(f"{name}: not C# 12 ({', '.join(bad[0]['codes'])}), write facts/{name}.hand.jsonl", file=sys.stderr)
            continue
        (target / f"{name}.jsonl").write_text("".join(shaped(own)), encoding="utf-8")
        (uses / f"{name}.jsonl").write_text("".join(uses_of(own)), encoding="utf-8")
    for file in [*target.glob("*.jsonl"), *uses.glob("*.jsonl")]:
        if file.name.split(".")[0] not in found:
            file.unlink()


def uses_of(records):
    """Golden lines: the places that name a member of the sources, as the compiler binds them, in order."""
    places = {(r["l"], r["c"], r["t"], r["to"], r["u"]) for r in records if r["k"] == "use" and r["w"] == "s" and r["u"] not in ("implement", "override") and r["to"][:2] in ("M:", "F:", "P:", "E:", "T:")}
    return [json.dumps({"c": c, "l": l, "t": t, "to": to, "u": u}, ensure_ascii=False) + "\n" for l, c, t, to, u in sorted(places)]


def shaped(records):
    """Golden lines: types, members and edges, without the project; names in bodies and inferred types kept apart."""
    lines = set()
    for record in records:
        if record["k"] not in ("type", "member", "edge"):
            continue
        record = {key: value for key, value in record.items() if key not in ("p", "parts") and not (key == "id" and record["k"] == "member")}
        if record["k"] == "edge" and record["cat"].startswith("body:"):
            record["cat"] = "body" if record["cat"] == "body:name" else "inferred"
        lines.add(json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n")
    return sorted(lines)


if __name__ == "__main__":
    commands = {"setup": setup, "golden": golden}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]]()
