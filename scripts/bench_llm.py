"""Counts what summaries cost over a series of real commits: called by scripts/bench-llm.sh, which says how."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

HERE = Path(__file__).resolve().parent
PATTERN = "//types/...:semantic"
# Tokens of the instructions and sections that stand in every question.
INSTRUCTIONS = 170


def git(clone: Path, *args: str) -> str:
    return subprocess.run(["git", "-C", str(clone), *args], check=True, capture_output=True, text=True).stdout


class Pass:
    """One way to keep summaries, with a checkout and a store of its own."""

    def __init__(self, name: str, repository: Path, work: Path, cortex: str, params: str, options: list[str] = [], more: str = ""):
        self.name, self.cortex, self.options, self.more = name, cortex, options, more
        self.clone, self.store = work / name, work / f"{name}.store"
        for folder in (self.clone, self.store):
            shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", "--no-checkout", str(repository), str(self.clone)], check=True)
        self.params = params

    def start(self, commit: str) -> dict:
        git(self.clone, "checkout", "-q", "--force", commit)
        self.run("init", "--force")
        manifest = self.clone / "cortex.toml"
        simulated = json.dumps([sys.executable, str(HERE / "llm_sim.py"), *self.options])
        manifest.write_text(
            f'{manifest.read_text()}\n[model.simulated]\napi = "command"\ncommand = {simulated}\n'
            f'[producer.semantic]\nparams = {{ model = "simulated", {self.params} }}\n{self.more}'
        )
        return self.build()

    def step(self, commit: str) -> dict:
        git(self.clone, "checkout", "-q", "--force", commit)
        return self.build()

    def sources(self) -> list[Path]:
        return [self.clone / path for path in git(self.clone, "ls-files", "*.cs").split("\n") if path]

    def scenario(self, commit: str, change) -> dict:
        """What a build asks after a change of the sources of a commit, which is taken back."""
        self.step(commit)
        change(self.sources())
        spent = self.build()
        git(self.clone, "checkout", "-q", "--force", commit)
        git(self.clone, "clean", "-fdq", "--", "*.cs")
        self.build()
        return spent

    def run(self, *args: str) -> str:
        env = {**os.environ, "CORTEX_STORE": str(self.store)}
        done = subprocess.run([self.cortex, "-C", str(self.clone), *args], capture_output=True, text=True, env=env)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{args}: {done.stderr[-2000:]}")
        return done.stdout

    def build(self) -> dict:
        report = json.loads(self.run("--output", "json", "build", PATTERN, "//index:json"))
        for failure in [] if self.options else report["failures"][:3]:
            print(f"{self.name}: {failure['code']} {failure['message']} {failure.get('label')}", file=sys.stderr)
        return report["tally"]["spent"]

    def cost(self) -> dict[str, tuple[int, int, int]]:
        """Calls and tokens of each target so far."""
        spent = {label: sum_["spent"] for label, sum_ in json.loads(self.run("cost", "--json"))["targets"]}
        return {label: (one["calls"], one["input_tokens"], one["output_tokens"]) for label, one in spent.items()}

    def index(self) -> list[dict]:
        return json.loads((self.clone / ".cortex/out/index.json").read_text())["types"]

    def readers(self, types: set[str], index: list[dict]) -> set[str]:
        """What a cache whose unit is the file makes anew when these types' files changed: every type of those files, and of every file
        with a type whose summary is written, however far, from one of theirs."""
        files = {named(one): {one["file"], *one.get("files", [])} for one in index}
        while types:
            labels = sorted(map(summary_of, types))
            # An argument has a limit.
            parts = [" + ".join(labels[at:at + 200]) for at in range(0, len(labels), 200)]
            nodes = {label for part in parts for label in self.run("query", f"rdeps({part})").split()}
            stale = types | {key for key in map(type_of, nodes) if key}
            touched = set().union(*(files.get(key, set()) for key in stale))
            more = stale | {key for key, own in files.items() if own & touched}
            if more == types:
                return set(map(summary_of, types))
            types = more
        return set()


def named(entry: dict) -> str:
    return entry.get("key", entry["fqn"])


def summary_of(key: str) -> str:
    """The label of the summary of a type."""
    return "//types/" + re.sub(r"[*?:%#]", lambda found: f"%{ord(found.group()):02X}", key) + ":semantic"


def type_of(label: str) -> str | None:
    """The key of the type whose summary a label names; None of other labels."""
    found = re.fullmatch(r"//types/([^#]+):semantic", label)
    return found and unquote(found.group(1))


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def replacing(pattern: str, new: str):
    """A change of all places where a pattern stands."""
    def change(sources: list[Path]):
        for path in sources:
            old = text_of(path)
            text = re.sub(pattern, new, old)
            if text != old:
                path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return change


def renames(one: Pass, index: list[dict]) -> dict:
    """Changes of names, chosen by what is most used: a type whose simple name stands in most files and names nothing else, the namespace with
    most types, a private member with a body."""
    texts = [text_of(path) for path in one.sources()]
    simple = [re.split(r"[.+]", named(entry).split("@")[0])[-1] for entry in index]
    plain = {name for name in simple if simple.count(name) == 1 and re.fullmatch(r"[A-Z]\w{7,}", name)}
    counts = {name: sum(1 for text in texts if re.search(rf"\b{name}\b", text)) for name in sorted(plain)}
    name = max(counts, key=lambda name: counts[name])
    spaces = [named(entry).split("@")[0].split("+")[0].rpartition(".")[0] for entry in index]
    space = max(sorted({space for space in spaces if space.count(".") == 1}), key=spaces.count)
    bodies = re.findall(r"^\s+(?:private |static )+[\w<>?]+ (\w{5,})\([^)\n]*\)\s*\{(?:\n(?:        .*)?){6,}", "\n".join(texts), re.MULTILINE)
    member = next((member for member in bodies if sum(len(re.findall(rf"\b{member}\b", text)) for text in texts) == 2), None)
    found = {
        f"type {name} renamed, in {counts[name]} files": replacing(rf"\b{name}\b", f"{name}Renamed"),
        f"namespace {space} renamed, {spaces.count(space)} types": replacing(rf"\b{re.escape(space)}\b", f"{space}Renamed"),
    }
    if member:
        found[f"private member {member} renamed"] = replacing(rf"\b{member}\b", f"{member}Renamed")
    return found


METHOD = re.compile(r"^( +)(?:(?:public|private|protected|internal|static|async) )+[\w<>?\[\], ]+ \w+\([^)\n]*\)\n\1\{\n(?:(?!\1\}\n).*\n)*\1\}\n", re.MULTILINE)
CLASS = re.compile(r"^ *(?:(?:public|internal|sealed|static) )+class (\w+)", re.MULTILINE)


def split(one: Pass) -> dict:
    """Half of the methods of a class move to a new one in a file of its own: of the class, alone in its file and no test, with most methods."""
    sources = [path for path in one.sources() if "test" not in str(path.relative_to(one.clone)).lower()]
    of = {path: list(METHOD.finditer(text_of(path))) for path in sources if len(re.findall(r"\b(?:class|struct|interface|enum|record)\b", text_of(path))) == 1}
    of = {path: methods for path, methods in of.items() if CLASS.search(text_of(path))}
    path = max(sorted(of), key=lambda path: len(of[path]), default=None)
    if path is None or len(of[path]) < 4:
        return {}
    text, moved = text_of(path), of[path][len(of[path]) // 2 :]
    found = CLASS.search(text)
    head, name = text[: found.start()], found.group(1)

    def change(_: list[Path]):
        rest = text
        for method in reversed(moved):
            rest = rest[: method.start()] + rest[method.end() :]
        methods = "\n".join(method.group() for method in moved)
        part = f"{head}{found.group().replace(name, f'{name}Part')}\n{{\n{methods}}}\n" + "}\n" * (head.count("{") - head.count("}"))
        path.write_bytes(rest.encode("utf-8", "surrogateescape"))
        path.with_name(f"{name}Part.cs").write_bytes(part.encode("utf-8", "surrogateescape"))
    return {f"class {name} split, {len(moved)} of {len(of[path])} methods moved": change}


def second_machine(args, commits: list[str]) -> dict[str, dict]:
    """What commits ask on the machine that asked before, and on one that has its summaries from a cache folder."""
    remote = f'[remote]\nendpoint = "dir:{args.work / "cache"}"\nwrite = "always"\n'
    make = lambda name: Pass(name, args.repository, args.work, args.cortex, "", more=remote)
    found = {}
    for name in ("the machine that asked", "a machine with a cache"):
        one = make(name.replace(" ", "-"))
        first = one.start(commits[0])
        # What is asked from here on is not shared.
        manifest = one.clone / "cortex.toml"
        manifest.write_text(manifest.read_text().replace('write = "always"', 'write = "never"'))
        found[f"{name}, {len(commits) - 1} commits after {first['calls']} calls"] = [one.step(commit) for commit in commits[1:]]
    return {name: {what: sum(spent[what] for spent in all_) for what in ("calls", "input_tokens", "output_tokens")} for name, all_ in found.items()}


def file_questions(one: Pass, changed: set[str], index: list[dict], answer: float) -> list[float]:
    """One question a changed file: its text in, with the instructions, and summaries of all its types out."""
    total = [0.0, 0.0, 0.0]
    for path in changed:
        types = sum(1 for entry in index if path in {entry["file"], *entry.get("files", [])})
        if types and (one.clone / path).exists():
            tokens = (one.clone / path).stat().st_size / 3.3 + INSTRUCTIONS
            total = [sum(pair) for pair in zip(total, (1, tokens, answer * types))]
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--until", default="HEAD")
    parser.add_argument("--patches-only", action="store_true")
    parser.add_argument("--ways", default="", help="names of ways to keep summaries, separated by commas; patches are always measured")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--cortex", required=True)
    args = parser.parse_args()
    log = git(args.repository, "log", "--first-parent", f"-{args.commits + 1}", "--format=%H", args.until, "--", "*.cs").split()
    commits = list(reversed(log))
    ways = {
        "patches": "",
        "carry likely": 'carry = "likely"',
        "carry never": 'carry = "never"',
        "one by one": "together = 1",
        "cut-offs": "max_patches = 0",
        "patches, roles only": "structures = false",
        "tests by declarations": 'declarations_only = ["**/test/**", "test/**", "tests/**", "**/*Tests/**", "**/*.Tests.*/**"]',
    }
    chosen = set(args.ways.split(",")) | {"patches"} if args.ways else None
    usual = ("patches", "carry likely", "carry never", "one by one")
    passes = {
        name: Pass(name.replace(", ", "-").replace(" ", "-"), args.repository, args.work, args.cortex, params)
        for name, params in ways.items()
        if (name in chosen if chosen else name in usual or not args.patches_only)
    }
    patches = passes["patches"]
    first = [one.start(commits[0]) for one in passes.values()][0]
    # Other ways show a model the bodies of tests, too.
    others = Pass("others", args.repository, args.work, args.cortex, "test_bodies = true")
    others.start(commits[0])
    whole = others.cost()
    single = [cost for label, cost in whole.items() if label.startswith("//types/")]
    average = [sum(column) / len(single) for column in zip(*single)]

    def anew(labels: set[str], index: list[dict]) -> list[float]:
        """What it costs to write these summaries whole: as at first, or as the average type where there was none. Types of a group are
        written once, with the group."""
        groups = {summary_of(named(one)): f"//groups/{one['semanticGroupId']}:semantic" for one in index if one.get("semanticGroupId")}
        sizes = {group: list(groups.values()).count(group) for group in groups.values()}
        asked = {groups.get(label, label) for label in labels}
        unknown = lambda label: [1, average[1] * sizes.get(label, 1), average[2] * sizes.get(label, 1)]
        return [sum(column) for column in zip(*(whole.get(label) or unknown(label) for label in asked))] or [0, 0, 0]
    # A file-level cache knows that a file changed, and nothing of what in it did: every type of the file is summarised anew (first figure),
    # and so is every file that is written from those summaries ("files and readers"). "File questions": what most people run.
    total = {name: [0, 0, 0] for name in ("files", "file questions", "files and readers", *passes)}

    def add(name: str, spent):
        total[name] = [before + more for before, more in zip(total[name], spent)]

    for before, after in zip(commits, commits[1:]):
        changed = set(git(args.repository, "diff", "--name-only", before, after, "--", "*.cs").split("\n")) - {""}
        for name, one in passes.items():
            spent = one.step(after)
            add(name, (spent["calls"], spent["input_tokens"], spent["output_tokens"]))
        index = patches.index()
        types = {named(one) for one in index if changed & {one["file"], *one.get("files", [])}}
        add("files", anew(set(map(summary_of, types)), index))
        add("file questions", file_questions(patches, changed, index, average[2]))
        add("files and readers", anew(patches.readers(types, index), index))
        print(f"{after[:8]} {len(changed)} files: {total}", file=sys.stderr)
    print(f"{args.repository.name}, {len(commits) - 1} commits from {commits[0][:8]} to {commits[-1][:8]}; first build: "
          f"{first['calls']} calls, {first['input_tokens']:,} tokens in, {first['output_tokens']:,} out\n")
    print("| | calls | tokens in | tokens out | all tokens | of file questions | of files and readers |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    ratio = lambda of, by: f"{of / by:.1f}×" if by else "–"
    for name, (calls, into, out) in total.items():
        against = [f"{ratio(base[0], calls)} / {ratio(base[1] + base[2], into + out)}" for base in (total["file questions"], total["files and readers"])]
        print(f"| {name} | {calls:,.0f} | {into:,.0f} | {out:,.0f} | {into + out:,.0f} | {' | '.join(against)} |")
    row = lambda name, spent: print(f"| {name} | {spent['calls']:,} | {spent['input_tokens']:,} | {spent['output_tokens']:,} |")
    print("\n| after the last commit | calls | tokens in | tokens out |\n|---|--:|--:|--:|")
    for name, change in {**renames(patches, patches.index()), **split(patches)}.items():
        row(name, patches.scenario(commits[-1], change))
    for name, spent in second_machine(args, commits[len(commits) // 2 :]).items():
        row(name, spent)


if __name__ == "__main__":
    main()
