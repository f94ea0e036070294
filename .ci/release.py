"""Check that a tag can be released, and print the section of the changelog that describes it.

Usage: python .ci/release.py v1.2.3. The tag is "v" and the version of the package, and the
changelog has a section "## 1.2.3 (2026-12-31)" with the day of the release. Otherwise a message
says what to change, with exit code 1.
"""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes(tag: str, root: Path = ROOT) -> str:
    """Return the section of a tag's version; raise ValueError if the tag must not be released."""
    code = (root / "pt_multiaspect" / "_version.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', code, re.MULTILINE)[1]
    if tag != f"v{version}":
        raise ValueError(
            f"the tag is {tag}, but pt_multiaspect/_version.py states {version}: expected "
            f"v{version}"
        )
    # Pairs of a heading and the text below it, after what precedes the first heading.
    sections = re.split(
        r"^## (.+)\n", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]
    found = [
        (heading, text)
        for heading, text in zip(sections[::2], sections[1::2], strict=True)
        if heading.partition(" ")[0] == version
    ]
    if len(found) != 1:
        raise ValueError(f"CHANGELOG.md has {len(found)} sections of version {version}, expected 1")
    heading, text = found[0]
    try:
        datetime.strptime(heading, f"{version} (%Y-%m-%d)")
    except ValueError:
        raise ValueError(
            f'CHANGELOG.md has no date of release: expected "## {version} (YYYY-MM-DD)", got "## '
            f'{heading}"'
        ) from None
    if not text.strip():
        raise ValueError(f"the section of version {version} in CHANGELOG.md is empty")
    return text.strip() + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        print(notes(sys.argv[1]), end="")
    except ValueError as error:
        sys.exit(f"not released: {error}")
