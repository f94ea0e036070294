"""The structure of the package: few places that ask what a measure, order or base is.

Run ``python tests/test_structure.py`` to list these places.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "pt_multiaspect"

#: How many lines ask for the kind of a measure, order or base, instead of asking the object itself. These
#: numbers may only go down: three places read what users give (as_base, supports, parse_order).
DISPATCHES = {
    r"isinstance\([^)]*(Measure|Order|Base)\b|type\((TOMA|On)\)|NAME ==|has_kernel|is_linear": 3,
}


def lines() -> list[tuple[str, int, str]]:
    """All lines of the package, with the name of the file and the number of the line."""
    return [
        (path.relative_to(PACKAGE).as_posix(), number, line)
        for path in sorted(PACKAGE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]


def dispatches(pattern: str) -> list[str]:
    return [f"{file}:{number}: {line.strip()}" for file, number, line in lines() if re.search(pattern, line)]


@pytest.mark.parametrize("pattern", DISPATCHES)
def test_dispatches_do_not_increase(pattern):
    occurrences = dispatches(pattern)
    assert len(occurrences) <= DISPATCHES[pattern], "\n".join(["ask the object instead of its type:", *occurrences])


if __name__ == "__main__":
    for pattern, most in DISPATCHES.items():
        places = dispatches(pattern)
        print(*places, f"{len(places)} of at most {most}: {pattern}", sep="\n")
