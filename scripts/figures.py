#!/usr/bin/env python3
"""Prints figures of "Size and shape" in docs/architecture.md from the sources: lines with and without tests by crate, and top modules of crates that
import each other in a circle.

usage: scripts/figures.py
"""

import collections
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMBERS = sorted((m for m in tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"] if m != "."), key=len, reverse=True)
TEXTS = {name: (ROOT / name).read_text() for name in subprocess.check_output(["git", "ls-files", "*.rs"], cwd=ROOT, text=True).split()}


def crate_of(name):
    return next((member for member in MEMBERS if name.startswith(member + "/")), "fixtures" if name.startswith("fixtures/") else "cortex")


def test_files():
    """Files of tests and examples, and modules declared under `#[cfg(test)]` with what is below them."""
    found = {name for name in TEXTS if re.search(r"(^|/)(tests|examples)/|tests\.rs$", name)}
    for name, text in TEXTS.items():
        folder = re.sub(r"(mod|lib|main)\.rs$|\.rs$", "", name).rstrip("/")
        for module in re.findall(r"#\[cfg\((?:all\()?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\(\w+\))? )?mod (\w+);", text):
            found |= {other for other in TEXTS if other == f"{folder}/{module}.rs" or other.startswith(f"{folder}/{module}/")}
    return found


def reachable(start, imports):
    seen, todo = set(), list(imports[start])
    while todo:
        if (one := todo.pop()) not in seen:
            seen.add(one)
            todo.extend(imports.get(one, ()))
    return seen


tests = test_files()
total, plain = collections.Counter(), collections.Counter()
imports = collections.defaultdict(lambda: collections.defaultdict(set))
for name, text in TEXTS.items():
    crate = crate_of(name)
    total[crate] += text.count("\n")
    if name in tests or crate == "fixtures":
        continue
    code = re.sub(r"(?ms)^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub(?:\(\w+\))? )?mod \w+ \{.*?^\}\n", "", text)
    plain[crate] += code.count("\n")
    path = name.split("src/", 1)[1].removesuffix(".rs").removesuffix("/mod").split("/")
    if path[0] not in ("lib", "main"):
        code = re.sub(r"(?m)^\s*//.*", "", code).replace("super::" * len(path), "crate::")
        lists = re.findall(r"\bcrate::\{([^}]*)\}", code)
        imports[crate][path[0]] |= {*re.findall(r"\bcrate::(\w+)", code), *re.findall(r"\w+", " ".join(lists))} - {path[0]}

print("| crate | lines | without tests |\n|---|--:|--:|")
for crate in sorted(total):
    print(f"| `{crate}` | {total[crate]:,} | {plain[crate]:,} |")
print(f"| all | {sum(total.values()):,} | {sum(plain.values()):,} |\n")
for crate, of in sorted(imports.items()):
    if found := sorted(module for module in of if module in reachable(module, of)):
        print(f"`{crate}`: {len(found)} of {len(of)} ({', '.join(found)})")
