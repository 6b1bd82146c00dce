#!/usr/bin/env python3
"""Prints name, version, licence and licence texts of all crates that are linked into cortex.

Usage: licences.py TARGET    such as x86_64-unknown-linux-gnu
The crates must have been fetched. A crate that brings no text is named with its licence and repository.
"""

import json
import pathlib
import subprocess
import sys

TEXTS = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")


def linked(metadata):
    """Packages that the binary reaches by normal dependencies, without those of the workspace itself."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    reached, waiting = set(), list(metadata["workspace_members"])
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += [dep["pkg"] for dep in nodes[one]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    packages = [one for one in metadata["packages"] if one["id"] in reached - set(metadata["workspace_members"])]
    return sorted(packages, key=lambda one: (one["name"], one["version"]))


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", sys.argv[1]]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for package in linked(metadata):
        folder = pathlib.Path(package["manifest_path"]).parent
        texts = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.upper().startswith(TEXTS)]
        print(f"{'=' * 120}\n{package['name']} {package['version']}: {package['license']} {package['repository'] or ''}\n")
        for path in texts:
            print(f"{path.name}:\n\n{path.read_text(encoding='utf-8', errors='replace').strip()}\n")


if __name__ == "__main__":
    main()
