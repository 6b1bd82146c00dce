#!/usr/bin/env python3
"""Takes the picture of the live page that README.md shows: docs/page.png, the target whose edit was not built yet.

usage: page_picture.py [CORTEX] [CHROMIUM]    [default: target/release/cortex chromium]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser

ROOT = Path(__file__).resolve().parent.parent
VIEW = "target/%2F%2Ftypes%2FMemoTree.Core.NodeStore%3Asemantic"
WIDTH, HEIGHT = 1280, 860


def main():
    cortex, chromium = [*sys.argv[1:], *["target/release/cortex", "chromium"][len(sys.argv) - 1:]]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(CORTEX_STORE=f"{scratch}/store", CORTEX_TRUST="all")
        work = Path(scratch) / "memotree"
        shutil.copytree(ROOT / "fixtures/memotree", work, ignore=shutil.ignore_patterns(".cortex"))
        run = [str(Path(cortex).resolve()), "-C", str(work)]
        subprocess.run([*run, "build", "//..."], check=True, capture_output=True)
        file = work / "src/MemoTree.Core/NodeStore.cs"
        file.write_text(file.read_text().replace("Nodes cannot be moved yet", "Moving is for later"))
        server = subprocess.Popen([*run, "--output", "json", "serve", "--http", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        browser = Browser(chromium)
        try:
            begun = json.loads(server.stdout.readline())
            browser.window(WIDTH, HEIGHT)
            browser.open(f"{begun['page']}#token={Path(begun['token']).read_text().strip()}")
            browser.await_("document.getElementById('workspace').textContent", "the overview does not come")
            browser.value(f"location.hash = '#/{VIEW}'")
            browser.await_("document.querySelector('.graph svg') && document.querySelectorAll('[aria-busy=true]').length === 0", "the view does not come")
            browser.value("new Promise((done) => setTimeout(done, 300))")
            browser.picture(ROOT / "docs/page.png")
        finally:
            browser.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
