"""From a paper to its measures: the options that papers use, and the search for measures by their sources."""

from __future__ import annotations

import inspect
import re

import ir_measures
import pytest

import pt_multiaspect as ma
from pt_multiaspect.measures import ALL, Measure
from pt_multiaspect.measures.definitions import as_in_paper
from pt_multiaspect.tables.citations import SOURCES_OF_IR_MEASURES, find_by_source

NAMES = {name: getattr(ma, name) for name in (*ma.measures.__all__, "Aspect", "Aspects")}

#: The labels of two documents by aspect, and the aspects of measures that need others than these
#: two.
LABELS = {
    "relevance": (2, 0), "credibility": (1, 0), "understandability": (3, 1),
    "known": (1, 0), "cause": (1, 0), "cure": (0, 1), "readable": (1, 1),
}  # fmt: skip
TWO = ("relevance", "credibility")
ASPECTS = {
    **dict.fromkeys(["uRBP", "uRBPgr"], ("relevance", "understandability")),
    **dict.fromkeys(["CoverageRatio", "NoveltyRatio"], ("relevance", "known")),
    **dict.fromkeys(["MDCU", "nMDCU"], ("cause", "cure", "readable")),
}
RUN = {"q1": {"d2": 2.0, "d1": 1.0}}


def expressions(measure: Measure) -> list[str]:
    """The code in the line on the paper, which Sphinx shows as such."""
    line = re.search(
        r"^As in .*?(?=\n\n|\Z)", inspect.getdoc(type(measure)) or "", re.DOTALL | re.MULTILINE
    )
    assert line is not None
    return [" ".join(code.split()) for code in re.findall(r"``(.*?)``", line[0], re.DOTALL)]


@pytest.mark.parametrize("name", [measure.NAME for measure in ALL])
def test_every_measure_says_how_its_paper_uses_it(name: str) -> None:
    """One line of its docstring, such as "As in Zuccon 2016: ``uRBP(p=0.8)``", has an expression that works."""
    docstring = inspect.getdoc(type(NAMES[name])) or ""
    assert len(re.findall(r"^As in ", docstring, re.MULTILINE)) == 1
    first_expression, *_ = expressions(NAMES[name])
    measure = eval(first_expression, NAMES)
    assert name == measure.NAME

    aspects = ASPECTS.get(name, TWO)  # of the measure; LABELS has those of d1 and d2 by aspect
    labels_of_d1 = {aspect: LABELS[aspect][0] for aspect in aspects}
    labels_of_d2 = {aspect: LABELS[aspect][1] for aspect in aspects}
    qrels = {"q1": {"d1": labels_of_d1, "d2": labels_of_d2}}
    scaled = measure.declare(ma.Aspects(dict.fromkeys(aspects, 3)))
    low, high = measure.range
    assert low <= scaled.calc_aggregate(qrels, RUN) <= high


@pytest.mark.parametrize(
    ("name", "difference"),
    [("TOMA", "equal axes"), ("uRBPgr", "linear"), ("NWCS", "joint"), ("DCG", r"log2\(i \+ 1\)")],
)
def test_defaults_that_differ_from_the_paper_are_named(name: str, difference: str) -> None:
    assert re.search(f"[dD]efault.*{difference}", as_in_paper(NAMES[name]))


@pytest.mark.parametrize("name", ["TOMA", "CAM", "CG", "DCG"])
def test_printed_values_are_shown(name: str) -> None:
    """The examples of docstrings run as tests."""
    printed = {"TOMA": "0.9367", "CAM": "0.9073", "CG": "16.0", "DCG": "9.61"}[name]
    assert f"\n{printed}\n" in f"{inspect.getdoc(type(NAMES[name]))}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zuccon 2016", ["uRBP", "uRBPgr", "unDCG", "uERR"]),
        ("Understandability Biased Evaluation", ["uRBP", "uRBPgr", "unDCG", "uERR"]),
        ("10.1145/3459637.3482287", ["TOMA", "CAM", "MM"]),
        ("https://doi.org/10.1145/3459637.3482287", ["TOMA", "CAM", "MM"]),
        ("Järvelin Sormunen", ["MDCU", "nMDCU"]),
        ("jarvelin SORMUNEN", ["MDCU", "nMDCU"]),
        ("palotti", ["MM"]),
        ("Measures for Relevance and Credibility", ["CAM", "WHAM", "GAM", "NWCS", "NLRE", "NGRE"]),
        ("robertson", []),
        ("uccon", []),
        (" ", []),
    ],
)  # fmt: skip
def test_measures_are_found_by_their_source(text: str, expected: list[str]) -> None:
    assert [measure.NAME for measure in find_by_source(text)] == expected


def test_measures_of_ir_measures_are_found() -> None:
    assert "RBP" in [measure.NAME for measure in find_by_source("Moffat Zobel")]
    assert all(name in ir_measures.measures.registry for name in SOURCES_OF_IR_MEASURES)


def test_a_paper_on_the_command_line(cli) -> None:
    for words in (["zuccon"], ["understandability", "biased"], ["10.1007/978-3-319-30671-1_21"]):
        code, out, err = cli("measures", *words, qrels=())
        assert (code, err) == (0, "")
        assert re.search(
            r"^uRBP  .*\n.*Zuccon 2016.*\n    As in Zuccon 2016, §6", out, re.MULTILINE
        )
        assert max(map(len, out.splitlines())) <= 110
    code, _, err = cli("measures", "zucchini", qrels=())
    assert (code, "unknown measure 'zucchini'" in err) == (2, True)
    assert (
        "As in Maistro et al. 2021, Table 3: ``TOMA(axes='gains'"
        in cli("measures", "TOMA", qrels=())[1]
    )
