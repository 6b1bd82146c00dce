#!/usr/bin/env python3
"""Damages copies of a store and looks whether work goes on: pages swapped, zeroed, filled with noise, bits flipped, the file cut.

    scripts/fuzz_store.py PROGRAM [CASES [FIRST_SEED]]

After any damage each of two commands works (0) or is refused with the next step (3), the second build at the latest works, its output is that
of an undamaged store, and nothing panics or hangs. Each case depends on its seed alone; the seeds of those that fail are printed.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

PAGE = 4096
LIMIT = 120
MANIFEST = """[workspace]
name = "fuzz"
rulesets = ["csharp"]
"""
COMMANDS = [
    ["build", "//..."],
    ["store", "verify"],
    ["store", "verify", "--repair"],
    ["gc", "--older-than", "0", "--keep-versions", "0"],
    ["status"],
    ["store", "stats"],
]


def damaged(whole, draw):
    pages = len(whole) // PAGE
    used = [n for n in range(pages) if any(whole[n * PAGE : (n + 1) * PAGE])]
    data = bytearray(whole)
    kind = draw.choice(["swap", "swap", "zero", "noise", "flip", "cut"])
    place = lambda n: slice(n * PAGE, (n + 1) * PAGE)
    one, other = draw.choice(used), draw.choice(used)
    if kind == "swap":
        data[place(one)], data[place(other)] = whole[place(other)], whole[place(one)]
    elif kind == "zero":
        data[place(one)] = bytes(PAGE)
    elif kind == "noise":
        data[place(one)] = draw.randbytes(PAGE)
    elif kind == "flip":
        for _ in range(draw.randint(1, 8)):
            at = draw.choice(used) * PAGE + draw.randrange(PAGE)
            data[at] ^= 1 << draw.randrange(8)
    else:
        del data[draw.randrange(1, len(data)) :]
    return f"{kind} {one} {other}", bytes(data)


def run(program, args, root, store):
    env = {"PATH": os.environ["PATH"], "HOME": root, "CORTEX_STORE": store, "CORTEX_TRUST": "all"}
    try:
        ran = subprocess.run([program, *args], cwd=root, env=env, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return ran.returncode, ran.stderr.decode(errors="replace")


def trouble(program, root, store, args, codes):
    code, err = run(program, args, root, store)
    if code not in codes or "panicked" in err or (code != 0 and "help:" not in err):
        return f"{' '.join(args)}: {code} {err[-400:]}"
    return None


def main():
    program = os.path.abspath(sys.argv[1])
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        root, store = os.path.join(folder, "ws"), os.path.join(folder, "store")
        os.makedirs(root)
        with open(os.path.join(root, "cortex.toml"), "w") as file:
            file.write(MANIFEST)
        for number in range(40):
            with open(os.path.join(root, f"T{number}.cs"), "w") as file:
                file.write(f"public class T{number} {{ public int F; public T{(number * 7) % 40} M() {{ return null; }} }}\n")
        assert run(program, ["build", "//..."], root, store)[0] == 0
        with open(os.path.join(store, "store.redb"), "rb") as file:
            whole = file.read()
        output = os.path.join(root, ".cortex/out/index.json")
        right = open(output, "rb").read()
        for seed in range(first, first + cases):
            draw = random.Random(seed)
            what, data = damaged(whole, draw)
            shutil.rmtree(store)
            os.mkdir(store)
            with open(os.path.join(store, "store.redb"), "wb") as file:
                file.write(data)
            found = [trouble(program, root, store, draw.choice(COMMANDS), [0, 3]) for _ in range(2)]
            found.append(trouble(program, root, store, ["build", "//..."], [0, 3]))
            found.append(trouble(program, root, store, ["build", "//..."], [0]))
            if open(output, "rb").read() != right:
                found.append("another index.json")
            found = [one for one in found if one]
            if found:
                failed.append(seed)
                print(f"seed {seed} ({what}):", *found, sep="\n  ", flush=True)
    print(f"{cases} cases, {len(failed)} failed: {failed}")
    sys.exit(bool(failed))


main()
