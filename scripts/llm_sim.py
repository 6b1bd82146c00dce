#!/usr/bin/env python3
"""Stands in for a language model in benchmarks: reads a prompt of cortex from standard input, writes an answer to standard output.

It answers as a careful model would, as far as counting goes. A claim is about one line of a member and names the member as its evidence; its
words follow from section, member and line, so that it is known of each claim whether it is still true. A section has up to three claims, of lines
that it is about: ROLE of the type's head, LIFECYCLE of constructors, EDGE_CASES of what is thrown and of nulls, LIMITATIONS of locks, async and
obsolete code, RECOMMENDATIONS of public declarations. A patch takes claims of removed lines out, puts claims of added lines in, and abbreviates
the rest; NO CHANGE if that is nothing. Sections that it must write are written. Of a removed member, whose lines are not shown, the claims that rest on it go. A claim has about 29
tokens. With `--all` a section has a claim of each line that it is about: all that is true. The same prompt gets the same answer.
"""
import hashlib
import re
import sys

SECTIONS = ("ROLE", "LIFECYCLE", "EDGE_CASES", "LIMITATIONS", "RECOMMENDATIONS")
CODE = {
    "LIFECYCLE": re.compile(r"_\w+ = |\bnew\b|Dispose"),
    "EDGE_CASES": re.compile(r"\bthrow\b|ThrowIf|\bnull\b|\?\?"),
    "LIMITATIONS": re.compile(r"\block\b|\bawait\b|NotSupported|Obsolete"),
}
# What precedes the name of a member in code, and is no part of its claims.
DECORATION = re.compile(r"(/\* #if .*? \*/ )?(\[(?:[^\[\]\"]|\"[^\"]*\"|\[[^\]]*\])*\] )*((?:async|extern|unsafe) )*")
BODY = re.compile(r" (?:\{|=>|= |(?:get|set|init|add|remove)\b)")
STATEMENTS = re.compile(r"(if|for|foreach|while|switch|using|lock|catch|else|try|return|fixed|case|do|finally|await|throw|var)\b")
WORDS = "it the caller value state result member when before after keeps gives holds returns once empty thread order cost never".split()
FENCED = re.compile(r"^(Declarations|Code)(?: of (\S+))?:\n(`{3,})(cs|diff)\n(.*?)^\3$", re.MULTILINE | re.DOTALL)
EARLIER = re.compile(r"^Earlier answer about (\S+):\n(`{3,})\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
MOST = None if "--all" in sys.argv[1:] else 3


def claim(section: str, member: str, line: str) -> str:
    """The claim that a section makes of a line of a member."""
    seed = hashlib.blake2b(f"{section}\0{member}\0{line}".encode(), digest_size=16).digest()
    return f"- {' '.join(WORDS[byte % len(WORDS)] for byte in seed)} [{member}]."


def member_of(line: str) -> str | None:
    """The name of the member that a line begins."""
    line = DECORATION.sub("", line, count=1)
    head = line.split(" = ")[0].split(" => ")[0]
    if STATEMENTS.match(line) or line.startswith(("}", "{", "/", "@", "-", "+")) or head.endswith((";", ")", ",")) and "(" not in head:
        return None
    found = re.search(r"([\w.]+)(?:<[^(]*>)?\(", head) or re.search(r"(\w+)(?: \{.*| (?:get|set|init|add|remove)\b.*)?$", head)
    return found.group(1) if found else None


def members(code: str) -> list[tuple[str, str, str]]:
    """Sign, member and text of each line of code; the sign of code that is no difference is a blank."""
    lines, member, is_diff, is_named = [], "", code.startswith("@@"), False
    depth = 0
    for line in code.splitlines():
        if is_diff and line.startswith("@@"):
            # The head of a hunk names its member, with parameters where several have the name; the next ones of the same member name nothing.
            title = line[2:].strip()
            if title == "(added)":
                is_named = False
            elif title:
                member, is_named = ".ctor" if title.startswith(".ctor") else re.split(r"[(<]", title)[0].split(".")[-1], True
            continue
        sign, text = (line[:1], line[1:]) if is_diff else (" ", line)
        begins = member_of(text) if depth <= 0 and not is_named else None
        if begins:
            member, depth = begins, 0
        if sign != "-":
            depth += text.count("{") - text.count("}")
        lines.append((sign, member, text.strip()))
    return lines


def claims(kind: str, name: str, code: str) -> dict[str, list[tuple[str, str]]]:
    """Sign and claim of the lines that each section is about, in declarations or in code of a type."""
    found: dict[str, list[tuple[str, str]]] = {}
    simple = simple_name(name)
    for sign, member, line in members(code):
        if kind == "Declarations" and re.search(r"\b(class|struct|interface|record|enum|delegate)\b", line):
            found.setdefault("ROLE", []).extend((sign, claim("ROLE", simple, f"{line}{count}")) for count in range(3))
        elif line.startswith(("public", "async public")) and member == member_of(line):
            # The same claim, whether it is declared with its code or without.
            declared = BODY.split(line.removeprefix("async "), maxsplit=1)[0]
            found.setdefault("RECOMMENDATIONS", []).append((sign, claim("RECOMMENDATIONS", member, declared)))
        # A difference may show the name of a member in place of its declaration.
        said = BODY.split(line, maxsplit=1)[-1] if member == member_of(line) else line
        for section, about in CODE.items() if kind == "Code" else ():
            if about.search(said) and (section != "LIFECYCLE" or member in (".ctor", "Dispose", "DisposeAsync")):
                found.setdefault(section, []).append((sign, claim(section, member, said)))
    return found


def simple_name(key: str) -> str:
    return re.split(r"[.+]", key.split("@")[0].split("`")[0])[-1]


def sections_of(text: str) -> dict[str, list[str]]:
    """The claims of an earlier answer."""
    found = {}
    for part in re.split(r"^(?=[A-Z_]+:$)", text, flags=re.MULTILINE):
        name, _, body = part.partition(":\n")
        if name in SECTIONS:
            found[name] = [line for line in body.splitlines() if line.startswith("- ") and line != "- None."]
    return found


def chosen(claims_of_section: list[str], most: int | None = MOST) -> str:
    return "\n".join(sorted(set(claims_of_section))[:most]) or "- None."


def abbreviated(one: str, before: list[str]) -> str:
    """The first words of a claim of an earlier answer, if it has no other claim that begins with them."""
    start = " ".join(one.split(" ")[:6])
    return f"{start} …" if one in before and sum(other.startswith(start) for other in before) == 1 else one


def answer(prompt: str) -> str:
    listed = re.search(r"^Summarise:\n((?:- .*\n)+)", prompt, re.MULTILINE)
    names = re.findall(r"^- (.+) \(\S+\)$", listed.group(1) if listed else "", re.MULTILINE)
    new = set(names) | set(re.findall(r"^Earlier answer about (\S+), none", prompt, re.MULTILINE))
    names += re.findall(r"^Earlier answer about ([^\s,:]+)(?:,|:$)", prompt, re.MULTILINE)
    types = list(dict.fromkeys(names)) or ["?"]
    # The only type is not named by its texts; of several, simple names stand for keys.
    keys = {simple_name(key): key for key in types}
    blocks = [(kind, keys.get(about, about) or types[0], code) for kind, about, _, _, code in FENCED.findall(prompt)]
    # The number of claims that are not shown, by type and section.
    unshown: dict[str, dict[str, int]] = {}
    about = types[0]
    for line in prompt.splitlines():
        about = next(iter(re.findall(r"^Earlier answer about ([^\s,:]+)", line)), about)
        if " claims stay: " in line:
            counts = re.findall(r"([A-Z_]{4,}) (\d+)", line.split(" claims stay: ")[1])
            unshown[about] = {section: int(count) for section, count in counts}
    # Sections of a type that was split off are written in any case.
    asked = set(re.findall(r"[A-Z_]{4,}", " ".join(re.findall(r" Write in any case: (.*)$", prompt, re.MULTILINE))))
    earlier = {name: sections_of(text) for name, _, text in EARLIER.findall(prompt)}
    text = []
    for name in types:
        body: dict[str, str] = {}
        moved: dict[str, list[tuple[str, str]]] = {}
        removed: set[str] = set()
        for kind, about, code in blocks:
            if about == name:
                removed.update(re.findall(r"^@@ (\S+) \(removed\)$", code, re.MULTILINE))
                for section, signed in claims(kind, name, code).items():
                    moved.setdefault(section, []).extend(signed)
        for section in SECTIONS:
            signed = moved.get(section, [])
            stay = {one for sign, one in signed if sign in " +"}
            if name in new:
                body[section] = chosen(list(stay))
                continue
            before = earlier.get(name, {}).get(section, [])
            hidden = unshown.get(name, {}).get(section, 0)
            gone = {one for sign, one in signed if sign == "-"} - stay
            gone |= {one for one in before if any(one.endswith(f"[{member}].") for member in removed)}
            room = None if MOST is None else max(MOST - hidden, 0)
            after = chosen([one for one in before if one not in gone] + [one for sign, one in signed if sign == "+"], room)
            if section in asked or after != ("\n".join(before) or "- None."):
                body[section] = "\n".join(abbreviated(one, before) for one in after.splitlines())
        if body and len(types) > 1:
            text.append(f"# TYPE: {name}")
        text.extend(f"{section}:\n{told}\n" for section, told in body.items())
    return "\n".join(text) if text else "NO CHANGE"


def answers(prompt: str) -> str:
    """The answer to a prompt, also to one that holds several questions."""
    parts = re.split(r"^# QUESTION (\d+: .*)\n", prompt, flags=re.MULTILINE)
    if len(parts) < 3:
        return answer(prompt)
    # A heading names the subject of a patch.
    named = lambda title, question: re.sub(r"^Earlier answer(?=[:,])", f"Earlier answer about {title.split(': ')[1]}", question, count=1, flags=re.MULTILINE)
    return "\n".join(f"# ANSWER {title}\n{answer(named(title, question))}" for title, question in zip(parts[1::2], parts[2::2]))


if __name__ == "__main__":
    sys.stdout.write(answers(sys.stdin.read()))
