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
    assert measure.SOURCES
    assert set(measure.SOURCES) <= set(references())
    assert set(measure.SOURCES) <= set(keys(ma.cite(measure)))
    for surname, year in re.findall(r"(\w+)(?: et al\.| and \w+)? (\d{4}[b-z]?)", measure.CITATION):
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


def test_entries_are_complete():
    assert set(SOURCES_OF_IR_MEASURES.values()) <= set(references())
    for key, entry in references().items():
        assert entry.count("{") == entry.count("}"), key
        assert entry.isascii(), key
        fields = dict(re.findall(r"^  (\w+) += {(.*)},?$", entry, re.MULTILINE))
        assert len(fields) == len(entry.splitlines()) - 2, key
        assert {"author", "title"} <= set(fields), key
        if key != "ptmultiaspect":
            surname = plain(fields["author"].split(",")[0]).replace(" ", "")
            assert re.fullmatch(f"{surname}{fields['year']}[b-z]?", key)
        for line in entry.splitlines()[1:-2]:
            assert line.endswith("},"), (key, line)


def test_entries_agree_with_the_citation_file():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    entry_by_doi = {
        doi: entry for entry in references().values() for doi in re.findall(r"doi += {(.*)}", entry)
    }
    for reference in text.split("  - type: ")[1:]:
        title = re.search(r'title: "(.*)"', reference)[1]
        year = re.search(r"year: (\d+)", reference)[1]
        doi = re.search(r"doi: (.*)", reference)
        entry = plain(entry_by_doi[doi[1]] if doi else references()["korfhage1997"])
        words = re.findall(r"\w+", plain(title))
        assert set(words) <= set(re.findall(r"\w+", entry)), title
        assert f"{{{year}}}".strip("{}") in entry
        for surname in re.findall(r"family-names: ([^,}]*)", reference):
            assert plain(surname) in entry, surname
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
    class Mine(type(ma.DCG)):
        NAME = "Mine"
        SOURCES = (" @misc{me, title = {Mine}}\n", "jarvelin2002")

    assert ma.cite(Mine()).startswith("@misc{me, title = {Mine}}\n\n@article{jarvelin2002,")

    class Wrong(type(ma.DCG)):
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
