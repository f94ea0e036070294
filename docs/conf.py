"""Sphinx configuration. Pages with code cells are executed on each build; nothing is downloaded."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pt_multiaspect

# The extensions of these pages are modules beside this file, and pages import others of them.
here = str(Path(__file__).resolve().parent)
sys.path.insert(0, here)
os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]).rstrip(
    os.pathsep
)

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
    "generated_pages",
    "measure_links",
    "page_checks",
    "search_terms",
]
exclude_patterns = ["_build"]
default_role = "autolink"
autosummary_generate = False
# Formulas are drawn without a network and fonts: MathJax 3.2.2 in one file.
mathjax_path = "tex-svg.js"
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
        for page in (
            "api",
            "api/*",
            "before_you_report",
            "changelog",
            "measures/*",
            "start",
            "which_measure",
        )
    },
    # The links and the search fit into one line at 1300 pixels.
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# How-tos are long: their headings are above the list of pages (the index has none to show).
html_sidebars: dict[str, list[str]] = {
    "howto/[!i]*": ["sidebar-collapse", "page-toc", "sidebar-nav-bs"]
} | {
    page: []
    for page in (
        "index",
        "install",
        "start",
        "which_measure",
        "measures_compared",
        "api",
        "before_you_report",
        "comparison",
        "conventions",
        "changelog",
    )
}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3


def hash_of_package() -> str:
    """Return a hash of what the pages show: the package's sources."""
    sources = sorted(Path(pt_multiaspect.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


# Pages are executed anew after any change of the package.
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / "executed" / hash_of_package())
# Pages show the warnings of this package, but not those of others about their installation and
# PyTerrier's calls.
os.environ["PYTHONWARNINGS"] = ",".join(
    f"ignore:{start}" for start in ("IProgress not found", "The argument 'eval_set'")
)
# Figures have a transparent ground, for light and dark pages.
os.environ["MATPLOTLIBRC"] = here
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
