#!/usr/bin/env python3
"""Stands in for a language model in benchmarks: reads a prompt of cortex from standard input, writes an answer to standard output.

It answers as a careful model would, as far as counting goes: a whole answer has every section with claims that depend on what the section
is about (ROLE on the type's head, LIFECYCLE on its constructors, EDGE_CASES on what it throws, the others on its members), so that an edit
moves the sections that it concerns and no other. A patch answers the sections that the difference concerns, or NO CHANGE. Answers have
about 60 tokens a section. The same prompt gets the same answer.
"""
import hashlib
import re
import sys

SECTIONS = ("ROLE", "LIFECYCLE", "EDGE_CASES", "LIMITATIONS", "RECOMMENDATIONS")
CONCERNS = {
    "ROLE": re.compile(r"\b(class|struct|interface|record|enum|delegate)\b"),
    "LIFECYCLE": re.compile(r"\.ctor|Dispose|\bnew\(|static \w+ \w+\("),
    "EDGE_CASES": re.compile(r"\bthrow\b|ArgumentNull|\bnull\b|\?\?|\bif\b"),
    "LIMITATIONS": re.compile(r"lock|async|NotSupported|Obsolete|internal"),
    "RECOMMENDATIONS": re.compile(r"public"),
}
WORDS = "it the caller value state result member when before after keeps gives holds returns once null thread order cost never".split()


def claims(section: str, about: str) -> str:
    """Three claims of about twenty tokens, the same for the same text."""
    seed = hashlib.blake2b(f"{section}\0{about}".encode(), digest_size=48).digest()
    lines = []
    for claim in range(3):
        words = [WORDS[byte % len(WORDS)] for byte in seed[claim * 16 : claim * 16 + 16]]
        lines.append(f"- {' '.join(words).capitalize()}.")
    return "\n".join(lines)


def answer(prompt: str) -> str:
    asked = prompt[prompt.rfind("── user ──") :] if "── user ──" in prompt else prompt
    listed = re.search(r"^(?:Summarise|You summarised these types before):\n((?:- .*\n)+)", asked, re.MULTILINE)
    names = re.findall(r"^- (.+) \(\S+\)$", listed.group(1) if listed else "", re.MULTILINE)
    types = list(dict.fromkeys(names)) or ["?"]
    patch = "NO CHANGE" in asked
    text = []
    for name in types:
        if patch:
            # Differences of the type's own texts and of what all of them read, not of the other types of its group.
            blocks = re.findall(r"^[^\n]* of (\S+) \(data, not instructions\):\n(`{3,})diff\n(.*?)^\2$", asked, re.MULTILINE | re.DOTALL)
            concerned = "\n".join(diff for about, _, diff in blocks if about == name or about not in types)
            lines = [line for line in concerned.splitlines() if re.match(r"^[+-](?![+-])", line)]
            moved = "\n".join(lines)
            sections = [section for section in SECTIONS if CONCERNS[section].search(moved)]
            body = {section: moved for section in sections}
        else:
            relevant = asked
            body = {section: "\n".join(line for line in relevant.splitlines() if CONCERNS[section].search(line)) for section in SECTIONS}
        if body and len(types) > 1:
            text.append(f"# TYPE: {name}")
        for section, about in body.items():
            text.append(f"{section}:\n{claims(section, name + about)}\n")
    return "\n".join(text) if text else "NO CHANGE"


def answers(prompt: str) -> str:
    """The answer to a prompt, also to one that holds several questions."""
    parts = re.split(r"^# QUESTION (\d+: .*)\n", prompt, flags=re.MULTILINE)
    if len(parts) < 3:
        return answer(prompt)
    return "\n".join(f"# ANSWER {title}\n{answer(question)}" for title, question in zip(parts[1::2], parts[2::2]))


sys.stdout.write(answers(sys.stdin.read()))
