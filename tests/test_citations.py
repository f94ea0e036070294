"""BibTeX of measures: every registered measure has a source, and the sources agree with what is said elsewhere."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import ir_measures
import pytest
from ir_measures.measures import registry

import pt_multiaspect as ma
from pt_multiaspect.measures import ALL
from pt_multiaspect.tables.citations import SOURCES_OF_IR_MEASURES, references

ROOT = Path(__file__).resolve().parent.parent


def keys(entries: str) -> list[str]:
    return re.findall(r"^@\w+{(.*),$", entries, re.MULTILINE)


def plain(text: str) -> str:
    """Without TeX, accents and case."""
    decomposed = unicodedata.normalize("NFD", re.sub(r"\\[\"'~]|[{}\\]", "", text))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).lower()


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_every_measure_has_a_source_that_its_citation_names(measure):
    """The citation "Järvelin and Kekäläinen 2002" names the entry jarvelin2002."""
    assert measure.SOURCES
    assert set(measure.SOURCES) <= set(references())
    assert set(measure.SOURCES) <= set(keys(ma.cite(measure)))
    # Such as "Korfhage 1997", "Järvelin and Kekäläinen 2002", "Amigó et al. 2018".
    cited = re.findall(r"(\w+)(?: et al\.| and \w+)? (\d{4}[b-z]?)", measure.CITATION)
    for surname, year in cited:
        assert plain(surname) + year in measure.SOURCES


#: Other tests may have registered measures of users.
REGISTERED = [
    name for name, measure in registry.items() if not type(measure).__module__.startswith("test_")
]


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_every_measure_of_ir_measures_has_a_source(name):
    measure = registry[name]
    if isinstance(measure, ma.Measure):
        return
    required = {
        parameter: 1 for parameter, param in measure.SUPPORTED_PARAMS.items() if param.required
    }
    cited = keys(ma.cite(measure(**required)))
    assert cited[-2:] == ["macavaney2022", "ptmultiaspect"]
    assert cited[:-2] == (
        [SOURCES_OF_IR_MEASURES[measure.NAME]] if measure.NAME in SOURCES_OF_IR_MEASURES else []
    )


def test_sources_of_ir_measures_have_entries():
    assert set(SOURCES_OF_IR_MEASURES.values()) <= set(references())


@pytest.mark.parametrize("key", references())
def test_entries_are_complete(key):
    """Each line between the first and the last is a field, such as "  author = {Sakai, Tetsuya},"."""
    entry = references()[key]
    assert entry.count("{") == entry.count("}")
    assert entry.isascii()
    _, *field_lines, _ = entry.splitlines()
    fields = dict(re.findall(r"^  (\w+) += {(.*)},?$", entry, re.MULTILINE))
    assert len(fields) == len(field_lines)
    assert {"author", "title"} <= set(fields)
    for line in field_lines[:-1]:
        assert line.endswith("},"), line


@pytest.mark.parametrize("key", [key for key in references() if key != "ptmultiaspect"])
def test_keys_are_the_first_surname_and_the_year(key):
    """Such as korfhage1997, with a letter from b on if there are several."""
    fields = dict(re.findall(r"^  (\w+) += {(.*)},?$", references()[key], re.MULTILINE))
    surname = plain(fields["author"].split(",")[0]).replace(" ", "")
    assert re.fullmatch(f"{surname}{fields['year']}[b-z]?", key)


def test_entries_agree_with_the_citation_file():
    """Words of the title, year and surnames of a reference in CITATION.cff are in its entry."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    entry_by_doi = {}
    for entry in references().values():
        for doi in re.findall(r"doi += {(.*)}", entry):
            entry_by_doi[doi] = entry
    _, *cited = text.split("  - type: ")  # the references follow the package itself
    for reference in cited:
        title = re.search(r'title: "(.*)"', reference)[1]
        year = re.search(r"year: (\d+)", reference)[1]
        surnames = re.findall(r"family-names: ([^,}]*)", reference)
        doi = re.search(r"doi: (.*)", reference)
        if doi is None:  # one has none
            entry = plain(references()["korfhage1997"])
        else:
            entry = plain(entry_by_doi[doi[1]])
        words_of_title = re.findall(r"\w+", plain(title))
        assert set(words_of_title) <= set(re.findall(r"\w+", entry)), title
        assert year in entry
        for surname in surnames:
            assert plain(surname) in entry, surname


def test_the_entry_of_the_package_has_its_version():
    assert f"Version {ma.__version__}" in references()["ptmultiaspect"]


def test_bases_are_cited_and_nothing_twice():
    measure = ma.CAM(
        base={"relevance": "ERR@10", "credibility": ma.DCG}, aspects=["relevance", "credibility"]
    )
    cited = keys(ma.cite([measure, "CAM", ma.TOMA(base="nDCG")]))
    assert cited == [
        "lioma2017",
        "maistro2021",
        "jarvelin2002",
        "chapelle2009",
        "macavaney2022",
        "ptmultiaspect",
    ]


def test_a_frame_cites_what_was_evaluated():
    qrels, run = {"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}
    perquery = ma.evaluate(
        run, qrels, {"ours": ma.MM(base="AP", aspects="label"), "RR": "RR@10"}, progress=False
    )
    assert ma.cite(perquery) == ma.cite([ma.MM(base="AP"), "RR@10"])


def test_own_measures_state_their_own_entries():
    """`SOURCES` of a class has BibTeX entries, and keys of those of the package."""
    class_of_dcg = type(ma.DCG)  # ma.DCG is an instance

    class Mine(class_of_dcg):
        NAME = "Mine"
        SOURCES = (" @misc{me, title = {Mine}}\n", "jarvelin2002")

    assert ma.cite(Mine()).startswith("@misc{me, title = {Mine}}\n\n@article{jarvelin2002,")

    class Wrong(class_of_dcg):
        NAME = "Wrong"
        SOURCES = ("nobody1900",)

    with pytest.raises(ma.MultiAspectError, match=r"SOURCES: expected.*got nobody1900"):
        ma.cite(Wrong())


@pytest.mark.parametrize(
    "unknown",
    [ir_measures.define_byquery(lambda qrels, run: 0.5, name="AP"), "a frame with a label only"],
)
def test_a_measure_without_a_source_is_reported(unknown):
    if isinstance(unknown, str):
        qrels, run = {"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}
        unknown = ma.evaluate(run, qrels, {"ours": "AP"}, progress=False)
        unknown.attrs.clear()
    with pytest.warns(ma.MultiAspectWarning, match="no source"):
        assert keys(ma.cite(unknown)) == ["ptmultiaspect"]


def test_bad_input():
    with pytest.raises(ma.MultiAspectError, match="nDGC"):
        ma.cite("nDGC@5")
