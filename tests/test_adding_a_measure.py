"""A measure is added to the package as CONTRIBUTING.md says, in a copy, with the example of that page."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAME = "HalfLifeUtility"

#: What the example takes from `pt_multiaspect` outside the package.
IMPORTS = '''"""Half-life utility: HalfLifeUtility."""

from __future__ import annotations

from ..kernels import forms
from . import parameters as params
from .parameters import Param
from .registry import register
from .single_aspect import LinearMeasure
'''
STATEMENTS = """
    SHORT_DESC = "Gains that halve every few ranks, over those of the ideal ranking."
    CITATION = "Breese et al. 1998"
    SOURCES = ("breese1998",)
"""
#: The sections that every docstring of the package has.
SECTIONS = """
    Parameters
    ----------
    half : float > 0, default 5
        The number of ranks after which gains are halved.
    cutoff : int, optional
        The last rank.

    References
    ----------
    Breese, Heckerman, Kadie: Empirical Analysis of Predictive Algorithms for Collaborative Filtering. UAI 1998.

    Examples
    --------
    >>> from pt_multiaspect import HalfLifeUtility
    >>> HalfLifeUtility.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}})
    1.0
"""
ENTRY = """
@inproceedings{breese1998,
  author    = {Breese, John S. and Heckerman, David and Kadie, Carl},
  title     = {Empirical Analysis of Predictive Algorithms for Collaborative Filtering},
  year      = {1998}
}
"""

#: The files that are written by hand, and by the command. The reference test is the author's.
BY_HAND = {
    "pt_multiaspect/measures/half_life_utility.py",
    "pt_multiaspect/measures/__init__.py",
    "pt_multiaspect/data/references.bib",
}
BY_COMMAND = {"docs/measures.md", "pt_multiaspect/pt_docs/measures.rst", "tests/values.json"}

#: The tests that ask something of every measure, except the slower ones of testing, explanations
#: and properties.
RULES = (
    "test_citations", "test_documentation", "test_docstrings", "test_extension",
    "test_extension_page", "test_help", "test_ir_measures", "test_measure_lists", "test_structure", "test_values",
)  # fmt: skip


def class_of_the_page() -> str:
    """The module of the example of CONTRIBUTING.md: from its imports down to its registration."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = "".join(example.source for example in doctest.DocTestParser().get_examples(page))
    code = code[: code.index(f"{NAME} = ma.register")] + f"{NAME} = ma.register(_{NAME})\n"
    return code.replace("import pt_multiaspect as ma\n", "").replace("ma.", "")


def contents(root: Path) -> dict[str, bytes]:
    folders = ("docs", "pt_multiaspect", "tests")
    paths = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in paths
        if "__pycache__" not in path.parts
    }


def edit(path: Path, pattern: str, replacement: str) -> None:
    """Replace the only match of a pattern, which may have groups."""
    text = path.read_text(encoding="utf-8")
    edited, count = re.subn(
        pattern, lambda match: match.expand(replacement), text, count=1, flags=re.MULTILINE
    )
    assert count == 1, pattern
    path.write_text(edited, encoding="utf-8")


def add_by_hand(copy: Path) -> None:
    """Add the example to a copy of the repository: its module, its name in the package, its source."""
    measures = copy / "pt_multiaspect" / "measures"
    path = measures / "half_life_utility.py"
    path.write_text(IMPORTS + class_of_the_page(), encoding="utf-8")
    # The docstring of the example, of one line, is extended by sections and statements.
    edit(path, r'^(    """Half-life utility) .*"""$', rf'\1.\n{SECTIONS}    """\n{STATEMENTS}')
    # The import follows that of search_length, and the name in __all__ precedes HarmfulCompat.
    edit(
        measures / "__init__.py",
        r"^(from \.search_length .*)$",
        rf"\1\nfrom .half_life_utility import {NAME}",
    )
    edit(measures / "__init__.py", r'^(    "HarmfulCompat",)$', rf'    "{NAME}",\n\1')
    with (copy / "pt_multiaspect" / "data" / "references.bib").open("a", encoding="utf-8") as file:
        file.write(ENTRY)


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PYTHONPATH": str(copy),
        "PATH": "",
        "HOME": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_example_works_inside_the_package(tmp_path: Path) -> None:
    """Three files are edited by hand and a command writes the others; then the tests of measures pass."""
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(
        ".git", "__pycache__", "_build", "*.egg-info", ".*_cache", "build", "dist"
    )
    shutil.copytree(ROOT, copy, ignore=ignored)
    before = contents(copy)
    add_by_hand(copy)
    pytest_in_copy = ("-m", "pytest", "-q", "-n", "0")

    # Tests of lists and values fail, and name the command.
    tested = run(copy, *pytest_in_copy, "tests/test_measure_lists.py", "tests/test_values.py")
    assert tested.returncode == 1
    # Such as "FAILED tests/test_values.py::test_values_are_those_of_the_guard - …".
    failed = set(re.findall(r"^FAILED .*?::(\w+)", tested.stdout, re.MULTILINE))
    assert failed <= {
        "test_pages_list_every_measure_as_it_describes_itself",
        "test_every_measure_is_mentioned_once",
        "test_what_is_missing_from_a_page_is_written",
        "test_values_are_those_of_the_guard",
        "test_the_guard_has_every_measure",
    }
    assert tested.stdout.count("run python tests/test_measure_lists.py") >= 3

    # The command writes what is missing.
    written = run(copy, "tests/test_measure_lists.py")
    assert (written.returncode, written.stderr) == (0, "")
    after = contents(copy)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == BY_HAND | BY_COMMAND

    # All tests of what a measure has pass, and that of the new measure by itself.
    paths = [f"tests/{name}.py" for name in RULES]
    tested = run(copy, *pytest_in_copy, "CONTRIBUTING.md", *paths)
    assert tested.returncode == 0, tested.stdout[-4000:]
    tested = run(copy, *pytest_in_copy, "-m", "", "tests/test_testing.py", "-k", NAME)
    assert "1 passed" in tested.stdout, tested.stdout[-4000:]
