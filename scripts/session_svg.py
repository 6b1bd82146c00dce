#!/usr/bin/env python3
"""Draws the README's session as a terminal recording: docs/session.svg, in which the commands appear one after the other.

    scripts/session_svg.py

What is drawn is what stands in README.md, which a test runs; another test compares the two. A reader that asks for less motion, or plays no
animations, sees the whole session.
"""

from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, WIDTH, HEIGHT, MARGIN = 100, 7.8, 17, 16
SECONDS_A_COMMAND = 2.0


def session(text: str) -> list[str]:
    """The lines of the first block that is marked as a session."""
    block = text.split("```console\n", 1)[1].split("\n```", 1)[0]
    return block.split("\n")


def drawn(lines: list[str]) -> str:
    """The recording."""
    rows, step = [], -1
    for number, line in enumerate(lines):
        is_command = line.startswith("$ ")
        step += is_command
        shown = line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"
        begin = step * SECONDS_A_COMMAND + (0 if is_command else 0.8)
        style = "command" if is_command else "output"
        rows.append(
            f'<text class="{style}" style="animation-delay:{begin:.1f}s" x="{MARGIN}" y="{MARGIN + (number + 1) * HEIGHT}">{escape(shown)}</text>'
        )
    width, height = round(2 * MARGIN + COLUMNS * WIDTH), 2 * MARGIN + (len(lines) + 1) * HEIGHT
    style = (
        "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#c9d1d9;animation:show .2s both}"
        ".command{fill:#7ee787;font-weight:bold}"
        "@keyframes show{from{opacity:0}to{opacity:1}}"
        "@media(prefers-reduced-motion){text{animation:none}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="A session in a terminal">\n<style>{style}</style>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


if __name__ == "__main__":
    lines = session((ROOT / "README.md").read_text(encoding="utf-8"))
    (ROOT / "docs/session.svg").write_text(drawn(lines), encoding="utf-8")
