#!/usr/bin/env python3
"""Executes the steps of docs/ci/github.yml and docs/ci/gitlab.yml in order, as a push to the main branch and as a request to merge, each in a
fresh shallow clone of the C# fixture with a cache folder, which is required. What actions of others do (checkout, cache) is done here, and `install` puts
CORTEX into PATH. A request to merge that edits one file may run only what the file reaches, and says what changed in the public API.

usage: scripts/check_recipes.py CORTEX    needs git, diff and PyYAML (`pip install pyyaml`)
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
REMOTE = '\n[remote]\nendpoint = "dir:.cortex-cache"\nwrite = "ci"\nprefer = "fetch"\nrequired = true\n'
CACHE = ".cortex-cache"
EDITED = "src/MemoTree.Core/Query/QueryException.cs"


def run(argv: list, folder: Path, env: dict | None = None) -> str:
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"check_recipes.py: {argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def git(folder: Path, *argv: str) -> str:
    return run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *argv], folder)


def repository(scratch: Path) -> Path:
    """The fixture on `main`, and a branch `side` that adds a public method to one file."""
    origin = scratch / "origin"
    shutil.copytree(HERE.parent / "fixtures/memotree", origin, ignore=shutil.ignore_patterns(".cortex"))
    with (origin / "cortex.toml").open("a") as manifest:
        manifest.write(REMOTE)
    git(origin, "init", "--quiet")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "one")
    git(origin, "checkout", "--quiet", "-b", "side")
    file = origin / EDITED
    text = file.read_text()
    at = text.rindex("}")
    file.write_text(text[:at] + "    /// <summary>Added.</summary>\n    public static int Added() => 1;\n" + text[at:])
    git(origin, "commit", "--quiet", "-am", "two")
    return origin


class Job:
    """A machine: a clone without history, a store and a home of its own."""

    def __init__(self, scratch: Path, name: str, cortex: str, variables: dict, cache: Path | None = None):
        self.folder = scratch / name / "work"
        self.temporary = scratch / name / "temporary"
        self.temporary.mkdir(parents=True)
        branch = "side" if "GITHUB_BASE_REF" in variables or "CI_MERGE_REQUEST_TARGET_BRANCH_NAME" in variables else "main"
        git(scratch, "clone", "--quiet", "--depth=1", f"--branch={branch}", f"file://{scratch}/origin", str(self.folder))
        if cache:
            shutil.copytree(cache / CACHE, self.folder / CACHE)
        programs = scratch / name / "bin"
        programs.mkdir()
        (programs / "cortex").symlink_to(Path(cortex).resolve())
        self.env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(scratch / name),
            "CORTEX_STORE": str(scratch / name / "store"),
            "CI": "true",
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md"),
            **variables,
        }

    def step(self, script: str, env: dict | None = None) -> str:
        return run(["bash", "-e", "-o", "pipefail", "-c", script], self.folder, {**self.env, **(env or {})})

    def summary(self) -> str:
        return (self.temporary / "summary.md").read_text()


def github(recipe: dict, job: Job, event: str) -> str:
    """The steps whose condition holds; what they print."""
    told = ""
    environment = {name: value for name, value in recipe["env"].items() if "${{" not in str(value)}
    for step in recipe["steps"]:
        condition = re.fullmatch(r"github\.event_name == '(\w+)'", step.get("if", f"github.event_name == '{event}'"))
        if condition is None:
            sys.exit(f"check_recipes.py: a condition that it does not know: {step['if']}")
        if condition.group(1) == event and "run" in step and step.get("name") != "install":
            told += job.step(step["run"], environment)
    return told


def gitlab(recipe: dict, job: Job, rule: int) -> str:
    environment = {**recipe["variables"], **recipe["rules"][rule]["variables"]}
    return "".join(job.step(line, environment) for line in recipe["script"])


def main() -> int:
    cortex = sys.argv[1]
    recipes = HERE.parent / "docs/ci"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        origin = repository(scratch)
        actions = yaml.safe_load((recipes / "github.yml").read_text())["jobs"]["knowledge"]
        push = Job(scratch, "push", cortex, {"GITHUB_REF": "refs/heads/main"})
        github(actions, push, "push")
        merging = Job(scratch, "merging", cortex, {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main"}, push.folder)
        told = github(actions, merging, "pull_request")
        ran = re.search(r"(\d[\d,]*) ran", told)
        summary = merging.summary()
        if ran is None or int(ran.group(1).replace(",", "")) > 60:
            sys.exit(f"check_recipes.py: a request to merge of one file ran too much:\n{told}")
        if "+" not in summary or "Added" not in summary or "Price of summaries" not in summary:
            sys.exit(f"check_recipes.py: the summary lacks something:\n{summary}")
        print(f"GitHub: warmed; a request to merge ran {ran.group(1)}\n{summary}")

        lab = yaml.safe_load((recipes / "gitlab.yml").read_text())["knowledge"]
        main_line = {"CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}
        push = Job(scratch, "lab-push", cortex, main_line)
        gitlab(lab, push, 0)
        request = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_DEFAULT_BRANCH": "main"}
        merging = Job(scratch, "lab-merging", cortex, request, push.folder)
        told = gitlab(lab, merging, 1)
        ran = re.search(r"(\d[\d,]*) ran", told)
        if ran is None or int(ran.group(1).replace(",", "")) > 60 or "Added" not in (merging.folder / "api.md").read_text():
            sys.exit(f"check_recipes.py: a request to merge of one file ran too much, or the API lacks it:\n{told}")
        print(f"GitLab: warmed; a request to merge ran {ran.group(1)}")
        assert origin.is_dir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
