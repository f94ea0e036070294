"""What is listed of each measure: the tables of ``docs/measures.md``, PyTerrier's page, and values of the guard.

Run this file as a program to write what is missing. It changes no value that is stored, unless it
is told to accept changes, which is right only when a change of values is intended.
"""

from __future__ import annotations

import inspect
import re
import sys
import unicodedata
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest
import test_values

from pt_multiaspect import MM, RBU
from pt_multiaspect.measures import ALL, Measure
from pt_multiaspect.tables.citations import references

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "docs" / "measures.md"
PAGE = ROOT / "pt_multiaspect" / "pt_docs" / "measures.rst"
COMMAND = "python tests/test_measure_lists.py"
ACCEPT = "--accept-changes"


def family(measure: Measure) -> str:
    """The name of the family of a measure: the first words of its module, down to the colon."""
    return (inspect.getdoc(import_module(type(measure).__module__)) or "").partition(":")[0]


def plain(text: str) -> str:
    """A surname as in keys of references: without accents, spaces and case."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in decomposed if letter.isalpha()).lower()


def linked_citation(measure: Measure) -> str:
    """The citation of a measure, with links to the publications that have a DOI or an address."""

    def link(match: re.Match[str]) -> str:
        entry = references().get(plain(match[1]) + match[2], "")
        fields = dict(re.findall(r"(doi|url) += {(.*)}", entry))
        address = f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url")
        return f"[{match[0]}]({address})" if address else match[0]

    return re.sub(r"(\w+)(?: et al\.| and \w+)? (\d{4})", link, measure.CITATION)


def table(measures: list[Measure]) -> str:
    lines = ["| Family | Measure | Name | What it computes | Source |", "|---|---|---|---|---|"]
    for name, members in groupby(measures, family):
        for measure in members:
            cells = (
                name,
                f"`{measure.NAME}`",
                measure.PRETTY_NAME,
                measure.SHORT_DESC,
                linked_citation(measure),
            )
            lines.append(f"| {' | '.join(cells)} |")
            name = ""
    return "\n".join(lines).replace("|  |", "| |") + "\n"


def with_tables(page: str) -> str:
    """Replace the tables of a page: of measures of several aspects, and of one aspect."""
    tables = [
        table([measure for measure in ALL if measure.SINGLE_ASPECT is single])
        for single in (False, True)
    ]
    remaining = iter(tables)
    return re.sub(r"(?:^\|.*\n)+", lambda _: next(remaining), page, flags=re.MULTILINE)


def with_entries(page: str) -> str:
    """Replace what follows the head of PyTerrier's page: an entry for each measure, with its summary."""
    directive = ".. currentmodule:: pt_multiaspect\n"
    lines = [page.partition(directive)[0] + directive]
    for name, members in groupby(ALL, family):
        lines += [name, "-" * len(name), ""]
        for measure in members:
            summary = (inspect.getdoc(measure) or "").split("\n\n")[1]
            lines += [f".. py:data:: {measure.NAME}", "", f"   {' '.join(summary.split())}", ""]
    return "\n".join(lines)


#: What writes the lists of a page anew.
PAGES = {TABLES: with_tables, PAGE: with_entries}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_list_every_measure_as_it_describes_itself(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert page == PAGES[path](page), f"{path.name} is out of date: run {COMMAND}"


#: The entry of GAM: a row of a table, or a directive with its summary.
ENTRY_OF_GAM = {
    TABLES: r"^\|  ?\| `GAM`.*\n",  # | | `GAM` | Geometric aggregating measure | …
    PAGE: r"^\.\. py:data:: GAM\n\n.*\n\n",
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_measure_is_mentioned_once(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert all(page.count(mention) == 1 for mention in mentions(path))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_is_missing_from_a_page_is_written(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    without_gam = re.sub(ENTRY_OF_GAM[path], "", page, flags=re.MULTILINE)
    assert without_gam != page
    write_anew = PAGES[path]
    assert write_anew(without_gam) == page


def mentions(path: Path) -> Iterator[str]:
    """What a page contains once for each measure."""
    for measure in ALL:
        yield f" | `{measure.NAME}` | " if path == TABLES else f".. py:data:: {measure.NAME}\n"


def test_every_measure_has_a_family() -> None:
    assert [
        measure.NAME for measure in ALL if not re.fullmatch(r"[A-Z][\w -]{4,30}", family(measure))
    ] == []


def test_sources_with_an_address_are_links() -> None:
    palotti, maistro = (
        "https://doi.org/10.1145/3269206.3269261",
        "https://doi.org/10.1145/3459637.3482287",
    )
    assert (
        linked_citation(MM)
        == f"[Palotti et al. 2018]({palotti}); [Maistro et al. 2021]({maistro}), Eq. 6"
    )
    assert linked_citation(RBU).startswith("[Amigó et al. 2018](")


def main(arguments: list[str]) -> str | None:
    """Write the lists; return what is wrong, or None."""
    for path, rewrite in PAGES.items():
        path.write_text(rewrite(path.read_text(encoding="utf-8")), encoding="utf-8")
    changed = test_values.write(accept_changes=ACCEPT in arguments)
    if changed:
        return f"values changed: {', '.join(changed)}\nIf that is intended, run {COMMAND} {ACCEPT}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
