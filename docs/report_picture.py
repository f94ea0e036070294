"""Draws the picture of the page on reports: its own report, as Chromium shows it.

Run it after a change of reports: ``python docs/report_picture.py``. It needs Chromium, or
CHROME_PATH, as the tests of reports do.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))

from browser import Browser, executable  # noqa: E402

FILE = HERE / "_static" / "report.png"
#: In pixels, so that text is legible where the picture is as wide as a phone.
WIDTH, SCALE = 640, 1.5


def write_report(folder: str) -> Path:
    """Run the cells of the page up to the one that writes the report, and return its path."""
    page = (HERE / "howto" / "reports.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    os.chdir(folder)
    for cell in re.findall(
        r"^```{code-cell}\n(?:^:[^\n]*\n)*(.*?)^```", page, re.DOTALL | re.MULTILINE
    ):
        exec(cell, names)
        if "path=" in cell:
            break
    return Path("report.html").resolve()


def draw() -> None:
    """Take the picture of the report down to the table of systems, in light colours."""
    program = executable()
    if program is None:
        sys.exit("no Chromium: install it or set CHROME_PATH")
    with tempfile.TemporaryDirectory() as folder:
        report = write_report(folder)
        browser = Browser(program)
        try:
            browser.size(WIDTH, 1500)
            browser.open(report)
            height = browser("document.querySelector('#table').getBoundingClientRect().bottom + 12")
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": SCALE}
            picture = browser.call("Page.captureScreenshot", format="png", clip=clip)["data"]
        finally:
            browser.close()
            os.chdir(HERE)
    FILE.write_bytes(base64.b64decode(picture))


if __name__ == "__main__":
    draw()
