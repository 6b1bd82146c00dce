#!/usr/bin/env python3
"""Opens the live page in a real browser: search, every view, an edit and a build that it follows, hostile names, accessibility, narrow windows.

usage: check_page.py CORTEX WORKSPACE CHROMIUM [--pictures FOLDER] [--first-view SECONDS]

The workspace has been built, and holds the hostile names that check-page.sh writes. Prints one line when all is as it must be.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from urllib.parse import quote

from browser import Browser

VIEWS = {
    "overview": "",
    "outline": "symbol/MemoTree.Core.NodeStore",
    "source": "symbol/MemoTree.Core.NodeStore/source",
    "graph": "symbol/MemoTree.Core.NodeStore/graph",
    "member": "symbol/MemoTree.Core.NodeStore%23Get(NodeId)/graph",
    "summary": "symbol/MemoTree.Core.NodeStore/summary",
    "why": "symbol/MemoTree.Core.NodeStore/why",
    "target": "target/%2F%2Ftypes%2FMemoTree.Core.NodeStore%3Asemantic",
    "hits": "search/Node",
    "queue": "queue",
    "packs": "packs",
    "pack": "packs/core",
    "contexts": "contexts/save%20the%20node%20store/4000",
    "cost": "cost",
}
# The view of the address is shown, and has all its answers. An address changes before its view does.
FILLED = ("document.querySelector('main').dataset.view === location.hash.replace(/^#[/]?/, '')"
          " && document.querySelectorAll('[aria-busy=true]').length === 0 && document.querySelector('main article, main .empty') !== null")
TOO_WIDE = """[...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > screen.width + 1 && !one.closest('.scroll, pre, nav'))
  .slice(0, 3).map((one) => one.tagName + '.' + one.className + ': ' + one.textContent.slice(0, 80)).join('; ')"""
# When the first answer stands on the page, from the beginning of its loading on.
FIRST_VIEW = """
new MutationObserver((_, observer) => {
  if (!document.querySelector('main .slot:not([aria-busy])')) return;
  observer.disconnect();
  requestAnimationFrame(() => { window.firstView = performance.now(); });
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


class Check:
    def __init__(self, args):
        self.cortex, self.workspace, self.pictures = args.cortex, Path(args.workspace), args.pictures
        self.server = subprocess.Popen([self.cortex, "-C", args.workspace, "--output", "json", "serve", "--http", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        begun = json.loads(self.server.stdout.readline())
        self.page, self.token = begun["page"], Path(begun["token"]).read_text().strip()
        self.browser = Browser(args.chromium)

    def go(self, view: str):
        address = json.dumps("#/" + view)
        self.browser.value(f"location.hash = {address}")
        self.browser.await_(f"location.hash === {address} && {FILLED}", f"the view '{view}' is not filled")

    def text(self) -> str:
        return self.browser.value("document.querySelector('main').innerText")

    def comes(self, words: str, what: str):
        self.browser.await_(f"document.querySelector('main').innerText.includes({json.dumps(words)})", what)

    def quiet(self, where: str):
        assert not self.browser.complaints, f"{where}: the console has {self.browser.complaints}"

    def lets_in(self):
        """Without the token nothing is shown, and with it everything, though the address does not keep it."""
        self.browser.open(self.page)
        self.comes("The token, please", "no token was asked for")
        assert "memotree" not in self.browser.value("document.body.innerText").lower(), "something is shown without the token"
        self.browser.open("about:blank")
        self.browser.open(f"{self.page}#token={self.token}")
        self.browser.await_(FILLED, "the overview is not filled")
        assert "token" not in self.browser.value("location.href"), "the address keeps the token"
        self.quiet("the overview")

    def searches(self):
        """By keyboard alone: a slash, a few letters, an arrow, Enter."""
        self.browser.value("document.dispatchEvent(new KeyboardEvent('keydown', { key: '/' }))")
        assert self.browser.value("document.activeElement.id") == "search", "a slash does not begin a search"
        self.browser.type("NodeSto")
        self.browser.await_("document.querySelectorAll('#found [data-path]').length > 1", "no hits")
        self.browser.press("ArrowDown")
        active = self.browser.value("document.getElementById('search').getAttribute('aria-activedescendant')")
        assert active == "hit-0", f"the arrow chose {active}"
        self.browser.press("Enter")
        self.browser.await_(f"location.hash.includes('NodeStore') && {FILLED}", "the hit does not open")
        title = self.browser.value("document.querySelector('h1').textContent")
        assert "NodeStore" in title, f"the hit opens '{title}'"
        self.quiet("the search")

    def shows(self):
        """Every view fits a wide and a narrow window, is named for those who do not see it, and complains of nothing."""
        for width in (1280, 390):
            self.browser.window(width, 900)
            for name, address in VIEWS.items():
                self.go(address)
                wide = self.browser.value("document.documentElement.scrollWidth")
                assert wide <= width, f"{name} is {wide} pixels wide in a window of {width}: {self.browser.value(TOO_WIDE)}"
                assert self.browser.value("document.querySelectorAll('main [role=alert]').length") == 0, f"{name}: {self.text()[:600]}"
                self.named(name)
                self.quiet(name)
                if self.pictures:
                    self.draw(name, width)

    def draw(self, name: str, width: int):
        for scheme in ("light", "dark"):
            height = min(max(self.browser.value("document.documentElement.scrollHeight"), 900), 3000)
            self.browser.window(width, height, scheme)
            self.browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            self.browser.picture(Path(self.pictures) / f"page-{name}-{width}-{scheme}.png")
            self.browser.window(width, 900)

    def named(self, view: str):
        roles = self.browser.roles()
        count = lambda role: sum(1 for one, _, _ in roles if one == role)
        for role, number in (("main", 1), ("banner", 1), ("search", 1), ("combobox", 1), ("status", 1)):
            assert count(role) == number, f"{view}: {count(role)} of role {role}"
        headings = [name for role, name, properties in roles if role == "heading" and properties.get("level") == 1]
        assert len(headings) == 1, f"{view}: headings of the first level are {headings}"
        nameless = [role for role, name, _ in roles if role in ("link", "button", "combobox", "heading", "navigation", "table", "textbox", "spinbutton", "image") and not name.strip()]
        nameless = [role for role in nameless if role != "table"]
        assert not nameless, f"{view}: without a name are {nameless}"

    def follows(self):
        """An edit is shown without a reload, and so is a build of another process."""
        self.go(VIEWS["source"])
        self.browser.value("window.sameDocument = true")
        file = self.workspace / "src/MemoTree.Core/NodeStore.cs"
        text = file.read_text()
        file.write_text(text.replace("public sealed partial class NodeStore", "/* followed by the page */ public sealed partial class NodeStore", 1))
        self.comes("followed by the page", "the edit does not come")
        self.go("")
        builds = "document.querySelector('tbody th').textContent"
        before = self.browser.value(builds)
        (file.parent / "Followed.cs").write_text("namespace MemoTree.Core;\npublic class Followed { }\n")
        subprocess.run([self.cortex, "-C", str(self.workspace), "build", "//types/...:outline"], check=True, capture_output=True)
        self.browser.await_(f"{builds} !== {json.dumps(before)}", "the build does not come")
        assert self.browser.value("window.sameDocument"), "the page was loaded again"
        self.quiet("following")

    def withstands(self):
        """Hostile names are shown as they are written; nothing of them runs, and nothing that is slipped in does."""
        told = subprocess.run([self.cortex, "-C", str(self.workspace), "query", "//docs/...:words"], check=True, capture_output=True, text=True).stdout
        unseen = "//docs/docs/\u202edm.md:words"
        hostile = next(label for label in told.splitlines() if "onmouseover" in label)
        for label, shown in ((hostile, hostile), (unseen, unseen.replace("\u202e", "\\u{202e}"))):
            self.go("target/" + quote(label, safe="-_.!~*'()"))
            self.comes(shown, "the hostile name is not shown as it is written")
        self.go("symbol/MemoTree.Core.Evil/source")
        self.comes("</script>", "the hostile text is not shown")
        owned = "document.title.includes('owned') || document.querySelector('main img, main script, main iframe, b[onmouseover]') !== null"
        assert not self.browser.value(owned), "a text became an element"
        self.quiet("hostile names")
        self.browser.value("document.body.append(Object.assign(document.createElement('script'), { textContent: \"document.title = 'owned'\" }))")
        self.browser.value("document.body.append(Object.assign(document.createElement('img'), { src: '/x.png' }))")
        self.browser.await_("document.title !== 'owned'", "a script that was slipped in ran")
        refused = "fetch('http://127.0.0.1:9/').then(() => 'reached', () => 'refused')"
        assert self.browser.value(refused) == "refused", "the page may speak to others"
        assert any("Content Security Policy" in one for one in self.browser.complaints), "the policy does not hold"

    def first_view(self) -> float:
        """Milliseconds until the first answer stands, the median of five loads."""
        self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=FIRST_VIEW)
        times = []
        for _ in range(5):
            self.browser.open("about:blank")
            self.browser.open(f"{self.page}#token={self.token}")
            times.append(self.browser.await_("window.firstView", "there is no first view"))
            # What one load asked is not to be answered while the next one is measured.
            self.browser.await_(FILLED, "the overview is not filled")
        return median(times)

    def close(self):
        self.browser.close()
        self.server.terminate()
        self.server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cortex", "workspace", "chromium"):
        parser.add_argument(name)
    parser.add_argument("--pictures")
    parser.add_argument("--first-view", type=float, help="milliseconds that the first view may take; nothing else is checked then")
    args = parser.parse_args()
    check = Check(args)
    try:
        if args.first_view:
            took = check.first_view()
            assert took <= args.first_view, f"the first view took {took:.0f} ms"
            print(f"first view: {took:.0f} ms")
            return
        for step in (check.lets_in, check.searches, check.shows, check.follows, check.withstands):
            step()
        print("search, views, following, hostile names, accessibility, windows of 1280 and 390 pixels: all as it must be")
    except AssertionError as wrong:
        sys.exit(f"check-page.sh: {wrong}")
    finally:
        check.close()


if __name__ == "__main__":
    main()
