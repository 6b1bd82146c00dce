#!/usr/bin/env python3
"""Measures what a coding agent spends on thirty tasks in three repositories: by the obvious calls of cortex, and by grep, reading and plain edits.

  scripts/bench_agent.py                the tasks of scripts/agent_tasks.py
    --from DIR                          folder with clones named OWNER+NAME/repo, before github.com is asked
    --cortex PROGRAM                    default: target/release/cortex
    --work DIR                          where checkouts go (default: scripts/.work/agent)
    --each                              a line for each task

Tasks are to find, to understand, to edit, and to verify; scripts/agent_tasks.py has them, with what is right: of uses it was told by the C# compiler
(scripts/accuracy.sh), of edits it is what the files hold then.

Both sides are followed call by call. Tokens are those of the calls and of their answers, 3.3 bytes each. cortex is asked by `cortex mcp` and answers as
it does to a model. The other side has three tools: grep (numbered lines, as of ripgrep), read (a whole file with line numbers, at most 2,000 lines, as
agents do before they edit), and edit (an exact text for another one, answered by one line). It is taken to draw the right conclusion from whatever it was
shown, and to make the right edits: it is wrong only where what it was shown does not have the answer. cortex is right where what it told as certain
is the answer: no place is missing, and none is too many."""

import argparse
import collections
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import accuracy
from agent_tasks import TASKS

BYTES = 3.3  # of a token, about
LONGEST = 2_000  # lines of one reading
PLACE = re.compile(r"([\w./-]+\.cs):(\d+)")
DONE = "The file has been updated."


def tokens(text):
    return len(text.encode()) / BYTES


class Server:
    """`cortex mcp` over a checkout."""

    def __init__(self, program, root):
        self.process = subprocess.Popen([program, "-C", str(root), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        for line in self.process.stdout:
            reply = json.loads(line)
            if reply.get("id") == self.number:
                return reply
        sys.exit("cortex mcp ended")

    def call(self, tool, arguments):
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in reply:
            return json.dumps(reply["error"])
        return "\n".join(part.get("text", "") for part in reply["result"]["content"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Spent:
    """What a side did for one task."""

    def __init__(self):
        self.calls, self.tokens, self.texts, self.shown = 0, 0.0, [], set()

    def add(self, call, answer):
        self.calls += 1
        self.tokens += tokens(call) + tokens(answer)
        self.texts.append(answer)


def by_cortex(server, task):
    spent = Spent()
    for tool, arguments in task["cortex"]:
        answer = server.call(tool, arguments)
        spent.add(json.dumps({"name": tool, "arguments": arguments}), answer)
        # What it tells as possible or wired is told apart.
        certain = re.split(r"^(?:possible|wired)", answer, flags=re.M)[0]
        lines = [line for line in certain.splitlines() if "[cref]" not in line]
        spent.shown |= {(path, int(line)) for path, line in PLACE.findall("\n".join(lines))}
    return spent


def by_hand(root, task):
    spent = Spent()
    for step in task["plain"]:
        if step[0] == "grep":
            found = subprocess.run(["git", "grep", "-nE", *step[1:2], "--", *(step[2:] or ["*.cs"])], cwd=root, capture_output=True, text=True).stdout
            spent.add(json.dumps({"name": "grep", "arguments": {"pattern": step[1], "glob": (step[2:] or ["*.cs"])[0]}}), found)
            spent.shown |= {(path, int(line)) for path, line in PLACE.findall(found)}
        elif step[0] == "read":
            lines = (root / step[1]).read_text(encoding="utf-8-sig").splitlines()[:LONGEST]
            spent.add(json.dumps({"name": "read", "arguments": {"path": step[1]}}), "".join(f"{at:6}\t{line}\n" for at, line in enumerate(lines, 1)))
            spent.shown |= {(step[1], at) for at in range(1, len(lines) + 1)}
        elif step[0] == "move":
            _, path, begins, new_path, head = step
            text = (root / path).read_bytes().decode("utf-8")
            gone = text[text.replace("\r\n", "\n").index(begins):] if "\r\n" not in text else text[text.index(begins.replace("\n", "\r\n")):]
            (root / path).write_bytes(text.removesuffix(gone).encode())
            (root / new_path).write_bytes((head + gone).encode())
            spent.add(json.dumps({"name": "edit", "arguments": {"path": path, "oldText": gone, "newText": ""}}), DONE)
            spent.add(json.dumps({"name": "write", "arguments": {"path": new_path, "text": head + gone}}), DONE)
        else:
            _, path, old, new, *every = step
            file = root / path
            text = file.read_bytes().decode("utf-8")
            old, new = (part.replace("\n", "\r\n") if "\r\n" in text else part for part in (old, new))
            if old and text.count(old) != 1 and not every:
                sys.exit(f"{path} has {text.count(old)} times: {old}")
            file.write_bytes((text.replace(old, new) if old else new).encode())
            arguments = {"path": path, "oldText": old, "newText": new, **({"all": True} if every else {})}
            spent.add(json.dumps({"name": "edit", "arguments": arguments}), DONE)
    return spent


def is_right(root, task, spent, is_exact):
    text = "\n".join(spent.texts)
    places = {(path, line) for path, lines in task.get("places", {}).items() for line in lines}
    if places and not (places <= spent.shown and (not is_exact or task.get("more") or places == spent.shown)):
        return False
    if not all(said in text for said in task.get("says", [])):
        return False
    for path, (has, lacks) in task.get("files", {}).items():
        held = (root / path).read_text(encoding="utf-8-sig").replace("\r\n", "\n") if (root / path).exists() else ""
        if any(one not in held for one in has) or any(one in held for one in lacks):
            return False
    return True


def restore(root):
    subprocess.run(["git", "checkout", "-q", "-f", "."], cwd=root, check=True)
    subprocess.run(["git", "clean", "-q", "-fd", "-e", "cortex.toml", "-e", ".cortex"], cwd=root, check=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--from", dest="source")
    parser.add_argument("--cortex", default=str(Path(__file__).resolve().parent.parent / "target/release/cortex"))
    parser.add_argument("--work", default=str(Path(__file__).resolve().parent / ".work/agent"))
    parser.add_argument("--each", action="store_true")
    asked = parser.parse_args()
    program, work = str(Path(asked.cortex).resolve()), Path(asked.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    rows = collections.defaultdict(list)
    if asked.each:
        print("| repository | task | cortex: calls, tokens, right | by hand: calls, tokens, right | × |\n|---|---|--:|--:|--:|")
    for (repository, commit), tasks in TASKS.items():
        place = f"https://github.com/{repository}"
        if asked.source and (Path(asked.source) / repository.replace("/", "+") / "repo").exists():
            place = str(Path(asked.source) / repository.replace("/", "+") / "repo")
        name, root, _ = accuracy.checkout(f"{place}@{commit}", work)
        restore(root)
        subprocess.run([program, "-C", str(root), "build"], capture_output=True, check=False)
        server = Server(program, root)
        for task in tasks:
            sides = []
            for side in ("cortex", "plain"):
                spent = by_cortex(server, task) if side == "cortex" else by_hand(root, task)
                sides.append((spent, is_right(root, task, spent, side == "cortex")))
                restore(root)
            (own, own_right), (hand, hand_right) = sides
            rows[task["kind"]].append((own, own_right, hand, hand_right))
            if asked.each:
                words = [f"{one.calls}, {one.tokens:,.0f}, {'yes' if right else 'no'}" for one, right in sides]
                print(f"| {name} | {task['kind']}: {task['name']} | {words[0]} | {words[1]} | {own.tokens / hand.tokens:.2f} |", flush=True)
        server.close()
    print("\n| tasks | | cortex: right | calls | tokens, median | by hand: right | calls | tokens, median | tokens ×, median | worst |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    every = [row for kind in rows.values() for row in kind]
    for kind, found in [*rows.items(), ("all", every)]:
        def median(values):
            return statistics.median(list(values))

        ratios = [own.tokens / hand.tokens for own, _, hand, _ in found]
        print(
            f"| {kind} | {len(found)} | {sum(row[1] for row in found)} | {sum(row[0].calls for row in found)} | {median(row[0].tokens for row in found):,.0f} "
            f"| {sum(row[3] for row in found)} | {sum(row[2].calls for row in found)} | {median(row[2].tokens for row in found):,.0f} "
            f"| {median(ratios):.2f} | {max(ratios):.2f} |"
        )


if __name__ == "__main__":
    main()
