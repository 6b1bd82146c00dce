#!/usr/bin/env python3
"""What a build with nothing to do costs on many files: alone, beside `cortex watch`, and against `git status`.

Usage: bench_watch.py [FILES] [CORTEX]   (default: 10000 files, target/release/cortex)
"""

import json, os, subprocess, sys, tempfile, time

FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
CORTEX = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else "target/release/cortex")
RUNS = 21

MANIFEST = """[workspace]
name = "many"
rulesets = []

[producer.text]
uses = "text"

[[rule]]
target = "//docs/{doc}:text"
each = { doc = "glob:**/*.md" }
producer = "text"
inputs = { bytes = "//files/{doc}:bytes" }
"""


def median(run):
    """The median of some runs in milliseconds, the first of which warms up."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    times = sorted(times[1:])
    return times[len(times) // 2], times[-2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        root, env = os.path.join(folder, "ws"), dict(os.environ, CORTEX_STORE=os.path.join(folder, "store"))
        for number in range(FILES):
            path = os.path.join(root, f"a{number % 20}", f"b{number % 400}")
            os.makedirs(path, exist_ok=True)
            with open(os.path.join(path, f"{number}.md"), "w") as file:
                file.write(f"document {number}\n" * 20)
        with open(os.path.join(root, "cortex.toml"), "w") as file:
            file.write(MANIFEST)
        quiet = dict(cwd=root, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for args in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all"]):
            subprocess.run(["git", *args], **quiet)
        build = lambda: subprocess.run([CORTEX, "build", "//..."], **quiet)
        build()
        time.sleep(2.5)  # stamps younger than two seconds prove nothing: the files are to be settled
        build()
        rows = [("git status", *median(lambda: subprocess.run(["git", "status"], **quiet))), ("no-op build", *median(build))]
        watch = subprocess.Popen([CORTEX, "watch", "--output", "json"], cwd=root, env=env, stdout=subprocess.PIPE, text=True)
        try:
            assert json.loads(watch.stdout.readline())["event"] == "watching"
            build()
            rows.append(("no-op build beside a watch", *median(build)))
            events = os.path.join(folder, "events")
            subprocess.run([CORTEX, "build", "//...", "--events", events], **quiet)
            with open(events) as file:
                scanned = next(event for event in map(json.loads, file) if event["event"] == "scanned")
            assert scanned["stated"] == 0, scanned
        finally:
            watch.terminate()
            watch.wait()
        print(f"| {FILES:,} files | median ms | next to slowest ms | of git status |\n|---|---|---|---|")
        for name, middle, slow in rows:
            print(f"| {name} | {middle:.1f} | {slow:.1f} | {middle / rows[0][1]:.2f}× |")
        (_, status, _), (_, alone, _), (_, beside, _) = rows
        print("\nGoals: 3.00× git status alone, 30 ms beside a watch.", flush=True)
        return int(alone > 3 * status or beside > 30)


sys.exit(main())
