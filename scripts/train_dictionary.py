#!/usr/bin/env python3
"""Trains the dictionary that records of results are compressed with, and prints what it saves. Needs the program zstd.

usage: train_dictionary.py [OUT]

The records are those of a C# workspace, as `engine/src/store/codec.rs` writes them, with made up names and digests. The dictionary is a part
of the store's format: a new one takes a new codec in `engine/src/store/disk/compression.rs`, beside the old one.
"""
import random
import re
import struct
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from scale_workspace import ADJECTIVES, NOUNS, ROLES

ROOT = Path(__file__).resolve().parent.parent
SIZE = 8_192
VARIABLE = re.compile(r"\{(\w+)\}")


def head(major: int, number: int) -> bytes:
    """The first bytes of a CBOR value."""
    if number < 24:
        return bytes([major << 5 | number])
    for more, (width, form) in enumerate([(8, ">B"), (16, ">H"), (32, ">I"), (64, ">Q")]):
        if number < 1 << width:
            return bytes([major << 5 | 24 + more]) + struct.pack(form, number)
    raise ValueError(number)


def text(value: str) -> bytes:
    return head(3, len(value.encode())) + value.encode()


class Samples:
    """Records of one made up workspace; equal seeds give equal bytes."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.rules = tomllib.loads((ROOT / "producers/rulesets/csharp.toml").read_text())
        self.uses = {name: spec["uses"] for name, spec in self.rules["producer"].items()}
        self.company = self.name(1)

    def name(self, words: int) -> str:
        return "".join(self.random.choice(self.random.choice([ADJECTIVES, NOUNS, ROLES])) for _ in range(words))

    def variables(self) -> dict[str, str]:
        space = ".".join([self.company, *(self.name(1) for _ in range(self.random.randint(1, 3)))])
        kind = self.name(self.random.randint(1, 3))
        file = f"src/{space}/{self.name(1)}/{kind}.cs"
        project = f"src/{space}/{space}.csproj"
        return {"type": f"{space}.{kind}", "file": file, "project": project, "member": self.name(1), "group": "G_12345678", "pack": "core", "item": file}

    def digest(self) -> bytes:
        return head(2, 32) + self.random.randbytes(32)

    def inputs(self, rule: dict, variables: dict[str, str]):
        """Role and label of each input."""
        for role, spec in rule.get("inputs", {}).items():
            spec = {"target": spec} if isinstance(spec, str) else spec
            label = spec.get("table") or spec.get("target") or spec.get("node")
            if label is None or spec.get("if"):
                continue
            of_types = label.startswith("//types/{item}")
            times = self.random.choice([0, 0, 1]) if of_types else 1
            for _ in range(times):
                item = self.variables()["type"] if of_types else variables["file"]
                yield role, VARIABLE.sub(lambda found: {**variables, "item": item}[found[1]], label)

    def records(self):
        """One record for each rule over types or files."""
        variables = self.variables()
        for rule in self.rules["rule"]:
            each = rule.get("each", {})
            if not ({"type", "file"} & set(each)) or "member" in each:
                continue
            label = VARIABLE.sub(lambda found: variables[found[1]], rule["target"])
            inputs = list(self.inputs(rule, variables))
            record = head(5, 9) + head(0, 0) + self.digest() + head(0, 1) + head(0, self.random.randint(50, 4_000)) + head(0, 2) + text(label)
            record += head(0, 3) + text(f"{self.uses[rule['producer']]}@{self.random.randint(1, 30)}")
            record += head(0, 4) + head(0, 1_790_000_000 + self.random.randint(0, 99_999_999)) + head(0, 5) + head(0, self.random.randint(10, 3_000))
            record += head(0, 6) + head(4, len(inputs))
            for role, source in inputs:
                record += head(5, 3) + head(0, 0) + text(role) + head(0, 1) + text(source) + head(0, 2) + self.digest()
            yield record + head(0, 7) + head(4, 0) + head(0, 8) + head(0, 0)


def main() -> int:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "engine/src/store/disk/records.dictionary"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for seed in range(500):
            for number, record in enumerate(Samples(seed).records()):
                (folder / f"{seed:04}.{number:02}").write_bytes(record)
        subprocess.run(["zstd", "-q", "-f", "--train", "-r", folder, f"--maxdict={SIZE}", "-o", out], check=True, stderr=subprocess.DEVNULL)
        before = after = 0
        for record in Samples(1_000_000).records():
            before += len(record)
            after += len(subprocess.run(["zstd", "-q", "-1", "-c", "--no-check", "-D", out], input=record, capture_output=True, check=True).stdout)
    print(f"{out}: {out.stat().st_size} bytes; records that it was not trained on take {after / before:.2f} of their length")
    return 0


if __name__ == "__main__":
    sys.exit(main())
