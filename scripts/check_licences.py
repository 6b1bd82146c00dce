#!/usr/bin/env python3
"""Checks licences and sources of all dependencies, and that none is left open, by the rules of deny.toml, which cargo-deny reads, too.

Usage: check_licences.py    Needs the package license-expression; the crates must have been fetched."""

import json
import pathlib
import subprocess
import sys
import tomllib

from license_expression import get_spdx_licensing

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPDX = get_spdx_licensing()


def is_allowed(expression, allowed):
    """Whether a parsed expression is met by allowed licences alone."""
    if isinstance(expression, SPDX.OR):
        return any(is_allowed(part, allowed) for part in expression.args)
    if isinstance(expression, SPDX.AND):
        return all(is_allowed(part, allowed) for part in expression.args)
    return str(expression) in allowed


def faults(package, rules, is_own):
    name = f"{package['name']} {package['version']}"
    if is_own:
        yield from (f"{name}: any version of {one['name']}" for one in package["dependencies"] if one["req"] == "*" and not one.get("path"))
        return
    # Older crates write `MIT/Apache-2.0`.
    written = (package["license"] or "").replace("/", " OR ")
    if not written or not is_allowed(SPDX.parse(written, validate=True), rules["licenses"]["allow"]):
        yield f"{name}: licence {written or 'unknown'}"
    if package["source"] not in [f"registry+{registry}" for registry in rules["sources"]["allow-registry"]]:
        yield f"{name}: from {package['source']}"


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    own = set(metadata["workspace_members"])
    found = [fault for package in metadata["packages"] for fault in faults(package, rules, package["id"] in own)]
    print("\n".join(found) or f"{len(metadata['packages']) - len(own)} dependencies: licences and sources are allowed")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
