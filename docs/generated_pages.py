"""A Sphinx extension: pages written at each build, from the package and from ``pt_docs/api.rst``."""

from __future__ import annotations

import inspect
import re
import runpy
import shutil
import textwrap
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import api_page
import families
from numpydoc.docscrape_sphinx import get_doc_object

from pt_multiaspect.measures import ALL

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from pt_multiaspect.measures import Measure

HERE = Path(__file__).resolve().parent
FORMULAS: dict[str, str] = runpy.run_path(str(HERE / "formulas.py"))["FORMULAS"]
provisional = runpy.run_path(str(HERE / "stability.py"))["provisional"]

#: A name on the page of the API, with the options of its directive.
ENTRY = re.compile(
    r"^\.\. (?P<kind>auto\w+):: (?P<name>\S+)(?:\n|\Z)(?P<options>(?:   .*\n)*)", re.MULTILINE
)


def short_name(name: str) -> str:
    """Return the name of an object as users of ``ma`` write it."""
    return name.removeprefix("pt_multiaspect.")


def api_pages() -> dict[str, str]:
    """Return the page of each name on the page of the API. Classes are marked if they differ in case only."""
    kinds = {
        short_name(entry["name"]): entry["kind"] for entry in ENTRY.finditer(api_page.read_page())
    }
    spelled = Counter(name.lower() for name in kinds)
    return {
        name: f"api/{name}{'-class' if kind == 'autoclass' and spelled[name.lower()] > 1 else ''}"
        for name, kind in kinds.items()
    }


def measure_pages() -> dict[str, str]:
    """Return the page of each measure: that of its family."""
    return {
        measure.NAME: f"measures/{type(measure).__module__.rpartition('.')[2]}" for measure in ALL
    }


def write(page: str, text: str) -> None:
    """Write a page if it has changed, as Sphinx reads all pages that are newer than its last build."""
    path = HERE / f"{page}.rst"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def remove_others(folder: str, pages: set[str]) -> None:
    """Remove the pages that earlier builds have written of what is gone."""
    for path in (HERE / folder).glob("*.rst"):
        if f"{folder}/{path.stem}" not in pages:
            path.unlink()


def write_api_pages(app: Sphinx) -> None:
    """Write a page for each public function and class."""
    pages = api_pages()
    (HERE / "api").mkdir(exist_ok=True)
    for entry in ENTRY.finditer(api_page.read_page()):
        name = short_name(entry["name"])
        write(
            pages[name],
            f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: pt_multiaspect\n\n"
            f".. {entry['kind']}:: {entry['name']}\n{entry['options']}",
        )
    remove_others("api", set(pages.values()))


def tables_of_names(section: str, caption: str) -> str:
    """Return a section of the page of the API with tables of names instead of directives, and hidden links."""
    pages, links = api_pages(), []

    def table(match: re.Match[str]) -> str:
        names = [short_name(entry["name"]) for entry in ENTRY.finditer(match[0])]
        links.extend(f"   {name} <{pages[name]}>" for name in names)
        return "\n".join(
            [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
        )

    entries = re.compile(rf"(?:{re.sub(r'[?]P<[a-z]+>', '?:', ENTRY.pattern)})+", re.MULTILINE)
    text = entries.sub(table, section)
    if not links:
        return section
    return "\n".join(
        [text, ".. toctree::", "   :hidden:", f"   :caption: {caption}", "", *links, "", ""]
    )


def edit_api(app: Sphinx, path: Path, page: str, source: list[str]) -> None:
    """Make the page of the API an index of names by task, and list at its end what may change, with the reasons."""
    if path.name != "api.rst":
        return
    lines = ["These names are provisional; where a part is in parentheses, only that part is:", ""]
    for name, (parts, reason) in provisional().items():
        stated = re.sub("`(.+?)`", r"``\1``", f" ({parts}): {reason}" if parts else f": {reason}")
        lines.append(f"- :py:obj:`{short_name(name)} <{name}>`{stated}")
    page_text = api_page.list_functions(source[0])
    text = re.sub(
        r"^\.\. provisional names.*$", lambda _: "\n".join(lines), page_text, flags=re.MULTILINE
    )
    start, *sections = re.split(r"^(?=.+\n---+\n)", text, flags=re.MULTILINE)
    stable, *tasks = (tables_of_names(section, section.partition("\n")[0]) for section in sections)
    source[0] = start + "".join([*tasks, stable])


def family_page(module_name: str, members: list[Measure]) -> str:
    """Return the page of a family: the measures of one module, with their docstrings."""
    subject = (inspect.getdoc(import_module(module_name)) or "").partition(":")[0]
    names = ", ".join(measure.NAME for measure in members)
    title = f"{names}: {subject[0].lower()}{subject[1:]}"
    page = measure_pages()[members[0].NAME]
    lines = [title, "=" * len(title), "", ".. currentmodule:: pt_multiaspect", ""]
    lines += families.picture(page.partition("/")[2], HERE / "measures")
    for measure in members:
        heading = [measure.NAME, "-" * len(measure.NAME), ""] if len(members) > 1 else []
        lines += [*heading, f".. py:data:: {measure.NAME}", "", _entry(measure)]
    return "\n".join(lines)


def _entry(measure: Measure) -> str:
    """Return the entry of a measure: its docstring, with its formula typeset after the first sentence."""
    signature, _, text = (inspect.getdoc(measure) or "").partition("\n\n")
    rendered = get_doc_object(
        type(measure), "class", doc=text, config={"show_class_members": False}
    )
    arguments = re.sub(r"\s+", " ", signature).removeprefix(measure.NAME)
    first, _, rest = str(rendered).strip().partition("\n\n")
    formula = textwrap.dedent(FORMULAS.get(measure.NAME, "")).strip()
    parts = [
        f"``{measure.NAME}{arguments}``",
        first,
        f".. math::\n\n{textwrap.indent(formula, '   ')}" if formula else "",
        families.range_and_comparison(measure),
        rest,
    ]
    return textwrap.indent("\n\n".join(filter(None, parts)), "   ") + "\n"


def write_measure_pages(app: Sphinx) -> None:
    """Write a page for each family of measures, from what is registered."""
    (HERE / "measures").mkdir(exist_ok=True)
    by_module: dict[str, list[Measure]] = defaultdict(list)
    for measure in ALL:
        by_module[type(measure).__module__].append(measure)
    for module_name, members in by_module.items():
        write(measure_pages()[members[0].NAME], family_page(module_name, members))
    remove_others("measures", set(measure_pages().values()))
    families.draw("which_measure", HERE / "measures" / "which_measure.svg")


def copy_notebooks(app: Sphinx) -> None:
    """Copy the notebooks, which are shown with their saved outputs."""
    folder = HERE / "notebooks"
    folder.mkdir(exist_ok=True)
    for notebook in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        shutil.copy(notebook, folder)


def link_copies(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links to the notebooks, which are those of the repository, lead to the copies, and theirs to pages."""
    source[0] = re.sub(r"\]\((\.\./)?\.\./notebooks/", r"](\1notebooks/", source[0]).replace(
        "](../docs/", "](../"
    )


def setup(app: Sphinx) -> None:
    """Connect what is generated before each build."""
    app.connect("builder-inited", write_api_pages)
    app.connect("builder-inited", write_measure_pages)
    app.connect("builder-inited", copy_notebooks)
    app.connect("source-read", link_copies)
    app.connect("include-read", edit_api)
