"""The page that PyTerrier's documentation takes from the installed package."""

from __future__ import annotations

import doctest
import importlib.metadata
from importlib.resources import files

import pt_multiaspect

PAGE = files("pt_multiaspect").joinpath("pt_docs", "index.rst")


def test_the_page_is_where_pyterrier_looks_for_it() -> None:
    """It copies ``pt_docs`` of the package that is installed under the name of the extension."""
    assert PAGE.is_file()
    assert importlib.metadata.metadata("pt_multiaspect")["name"] == "pt-multiaspect"
    title, line = PAGE.read_text(encoding="utf-8").splitlines()[:2]
    assert line == "=" * len(title)
    modules = importlib.metadata.entry_points(group="pyterrier.modules")
    assert "pt_multiaspect_pyterrier:load" in {module.value for module in modules}


def test_its_examples() -> None:
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, "index.rst", None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).failed == 0


def test_what_else_ships_with_the_package() -> None:
    root = files(pt_multiaspect.__name__)
    for name in ("py.typed", "data/references.bib", "data/health/documents.jsonl", "data/health/topics.tsv"):
        assert root.joinpath(*name.split("/")).is_file(), name
