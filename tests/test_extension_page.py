"""The page that PyTerrier's documentation takes from the installed package."""

from __future__ import annotations

import doctest
import importlib.metadata
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import pt_multiaspect
from pt_multiaspect.tables.citations import references

PAGE = files("pt_multiaspect").joinpath("pt_docs", "index.rst")


def test_the_page_is_where_pyterrier_looks_for_it() -> None:
    """It copies ``pt_docs`` of the package that is installed under the name of the extension."""
    assert PAGE.is_file()
    assert importlib.metadata.metadata("pt_multiaspect")["name"] == "pt-multiaspect"
    title, line = PAGE.read_text(encoding="utf-8").splitlines()[:2]
    assert line == "=" * len(title)
    modules = importlib.metadata.entry_points(group="pyterrier.modules")
    assert "pt_multiaspect_pyterrier:load" in {module.value for module in modules}


def test_its_citations_are_those_of_the_package() -> None:
    # A directive and the indented lines below it:
    # .. cite:: maistro2021
    #    :citation: …
    #    :link: https://doi.org/…
    directive = r"^\.\. cite:: (\w+)\n((?:(?:   .*)?\n)+)"
    cited = dict(re.findall(directive, PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {"maistro2021", "lioma2017"} <= set(cited)
    for key, indented in cited.items():
        entry = references()[key]  # in BibTeX, with a line such as doi = {10.…}
        lines = [line.removeprefix("   ") for line in indented.splitlines()]
        assert "\n".join(lines).strip().endswith(entry), key
        doi = re.search(r"doi += {(.*)}", entry)[1]
        assert f":link: https://doi.org/{doi}" in lines, key


#: The settings of PyTerrier's documentation that concern a page of an extension, and its directive
#: for citations.
SETTINGS = """
from docutils.parsers.rst import Directive, directives

class Cite(Directive):
    required_arguments, has_content = 1, True
    option_spec = {"citation": directives.unchanged_required, "link": directives.uri}
    def run(self):
        assert self.content
        return []

def setup(app):
    app.add_directive("cite", Cite)

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "description"
autoclass_content = "both"
autodoc_inherit_docstrings = False
autodoc_default_options = {"member-order": "bysource"}
suppress_warnings = ["ref.python"]  # words of types; PyTerrier takes types from annotations
"""


@pytest.mark.slow
def test_pyterriers_documentation_can_be_built_with_it(tmp_path: Path) -> None:
    """It reads docstrings by napoleon, not numpydoc."""
    source = tmp_path / "source"
    source.mkdir()
    for page in PAGE.parent.iterdir():
        source.joinpath(page.name).write_bytes(page.read_bytes())
    source.joinpath("conf.py").write_text(SETTINGS, encoding="utf-8")
    built = tmp_path / "built"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        source,
        built,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    page = built.joinpath("api.html").read_text(encoding="utf-8")
    assert 'id="pt_multiaspect.evaluate"' in page
    assert "Stability: provisional" in page


def test_its_examples() -> None:
    test = doctest.DocTestParser().get_doctest(
        PAGE.read_text(encoding="utf-8"), {}, "index.rst", None, 0
    )
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).failed == 0


def test_what_else_ships_with_the_package() -> None:
    root = files(pt_multiaspect.__name__)
    for name in (
        "py.typed",
        "data/references.bib",
        "data/health/documents.jsonl",
        "data/health/topics.tsv",
    ):
        assert root.joinpath(*name.split("/")).is_file(), name
