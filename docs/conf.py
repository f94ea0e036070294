"""Sphinx configuration. Pages with code cells are executed on each build; nothing is downloaded."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import runpy
import shutil
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from numpydoc.docscrape_sphinx import get_doc_object

import pt_multiaspect
from pt_multiaspect.measures import ALL

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
FORMULAS: dict[str, str] = runpy.run_path(str(HERE / "formulas.py"))["FORMULAS"]
provisional = runpy.run_path(str(HERE / "stability.py"))["provisional"]

project = "pt_multiaspect"
author = "The pt_multiaspect developers"
copyright = f"2026, {author}"
version = release = pt_multiaspect.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "pt_multiaspect"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    # Other pages need the room for tables and for output of 90 columns.
    "secondary_sidebar_items": {
        page: ["page-toc"]
        for page in ("api", "before_you_report", "changelog", "measures/*", "start", "which_measure")
    },
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# How-tos are long: their headings are above the list of pages (the index has none to show).
html_sidebars: dict[str, list[str]] = {"howto/[!i]*": ["sidebar-collapse", "page-toc", "sidebar-nav-bs"]} | {
    page: []
    for page in (
        "index",
        "install",
        "start",
        "which_measure",
        "api",
        "before_you_report",
        "comparison",
        "conventions",
        "changelog",
    )
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
# Pages show the warnings of this package, but not those of others about their installation and PyTerrier's calls.
os.environ["PYTHONWARNINGS"] = ",".join(
    f"ignore:{start}" for start in ("IProgress not found", "Failed to import numba", "The argument 'eval_set'")
)
# They need data of others, and are executed by notebooks/execute.py.
nb_execution_excludepatterns = ["notebooks/*", "reproductions/*"]
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
# The CHANGELOG starts with a heading of its own, and its sections repeat their names.
suppress_warnings = ["myst.header"]


def _page(module_name: str, members: list[object]) -> str:
    """Return the page of a family: the measures of one module, with their docstrings."""
    names = ", ".join(measure.NAME for measure in members)
    summary = inspect.getdoc(importlib.import_module(module_name)) or ""
    lines = [names, "=" * len(names), "", summary, ""]
    for measure in members:
        signature, _, text = (inspect.getdoc(measure) or "").partition("\n\n")
        rendered = get_doc_object(type(measure), "class", doc=text, config={"show_class_members": False})
        heading = [measure.NAME, "-" * len(measure.NAME), ""] if len(members) > 1 else []
        arguments = re.sub(r"\s+", " ", signature).removeprefix(measure.NAME)
        lines += [
            *heading,
            f".. py:data:: pt_multiaspect.{measure.NAME}",
            "",
            f"   ``{measure.NAME}{arguments}``",
            "",
        ]
        body = str(rendered)
        if measure.NAME in FORMULAS:
            first, _, rest = body.strip().partition("\n\n")
            formula = textwrap.indent(textwrap.dedent(FORMULAS[measure.NAME]).strip(), "   ")
            body = f"{first}\n\n.. math::\n\n{formula}\n\n{rest}"
        lines += [f"   {line}".rstrip() for line in body.splitlines()]
        lines.append("")
    return "\n".join(lines)


def write_measure_pages(app: Sphinx) -> None:
    """Write a page for each family of measures, from what is registered."""
    families: dict[str, list[object]] = defaultdict(list)
    for measure in ALL:
        families[type(measure).__module__].append(measure)
    folder = HERE / "measures"
    folder.mkdir(exist_ok=True)
    for module_name, members in families.items():
        page = module_name.rpartition(".")[2]
        (folder / f"{page}.rst").write_text(_page(module_name, members), encoding="utf-8")


def copy_notebooks(app: Sphinx) -> None:
    """Copy the notebooks, which are shown with their saved outputs."""
    folder = HERE / "notebooks"
    folder.mkdir(exist_ok=True)
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        shutil.copy(notebook, folder)


def link_copies(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links to the notebooks, which are those of the repository, lead to the copies, and theirs to pages."""
    source[0] = re.sub(r"\]\((\.\./)?\.\./notebooks/", r"](\1notebooks/", source[0]).replace("](../docs/", "](../")


def list_provisional_names(app: Sphinx, path: Path, page: str, source: list[str]) -> None:
    """List what may change on the page of the API, with the reasons that docstrings state."""
    if path.name == "api.rst":
        lines = ["These names are provisional; where a part is in parentheses, only that part is:", ""]
        for name, (parts, reason) in provisional().items():
            shown = f"{name.removeprefix('pt_multiaspect.')} <{name}>"
            stated = re.sub("`(.+?)`", r"``\1``", f" ({parts}): {reason}" if parts else f": {reason}")
            lines.append(f"- :py:obj:`{shown}`{stated}")
        source[0] = re.sub(r"^\.\. provisional names.*$", lambda _: "\n".join(lines), source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Connect what is generated before each build."""
    app.connect("builder-inited", write_measure_pages)
    app.connect("builder-inited", copy_notebooks)
    app.connect("source-read", link_copies)
    app.connect("include-read", list_provisional_names)
