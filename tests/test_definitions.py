"""Definitions of measures in words."""

from __future__ import annotations

import html

import ir_measures
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.bases.adapters import ADAPTERS
from pt_multiaspect.cli import main
from pt_multiaspect.evaluation.long_frames import labels_of_answers
from pt_multiaspect.measures import ALL
from pt_multiaspect.measures.definitions import details, sentence

WORLD = {
    q: {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}
    for q in ("q1", "q2")
}
RUNS = {
    name: {q: {"d1": 1.0, "d2": score} for q in WORLD}
    for name, score in (("one", 0.0), ("other", 2.0))
}

BASE = "Base nDCG"


def test_every_class_states_a_sentence() -> None:
    for measure in ALL:
        assert measure.SHORT_DESC.endswith(".")
        assert sentence(measure)
        assert "Range " in details(measure)
    for adapter in ADAPTERS.values():
        assert adapter.SHORT_DESC.endswith(".")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nDCG@10", "Only the first 10 ranks count. Range 0 to 1. Source: ir-measures."),
        ("CRP", "Range any number. Source: Angelini et al. 2012, Eq. 4-5."),
        (
            "On(aspect='credibility',base='P')@1",
            "Only the first rank counts. Range 0 to 1. Source: ir-measures.",
        ),
        ("ESL", "Range 0 or more, lower is better. Source: Cooper 1968."),
        pytest.param(
            "CAM(weights={'relevance':.7,'credibility':.3})",
            f"{BASE} (the measure for each aspect); weights credibility 0.3, relevance 0.7 (the "
            "importance of each aspect, normalised to sum to 1). Range 0 to 1. Source: Lioma et "
            "al. 2017, Eq. 12; Maistro et al. 2021, Eq. 5.",
            id="weights",
        ),
        pytest.param(
            "TOMA(gate='relevance')@5",
            f"{BASE} (the measure evaluated on the classes); gate relevance (an aspect that is a "
            "precondition for the others); only the first 5 ranks count. Range 0 to 1. Source: "
            "Maistro et al. 2021, §3.",
            id="gate",
        ),
    ],
)
def test_details(text: str, expected: str) -> None:
    assert details(ir_measures.parse_measure(text)) == expected


def test_on_is_described_by_its_base() -> None:
    for base in ("nDCG@10", "CRP", "SDCG@5"):
        assert sentence(ma.On(aspect="credibility", base=base)) == sentence(
            ir_measures.parse_measure(base)
        )


def test_tables_define_measures_of_several_aspects() -> None:
    scales = {"relevance": 1, "credibility": 1}
    measures = [ma.TOMA(aspects=scales), ma.On(aspect="relevance"), "AP"]
    values = ma.evaluate(RUNS, WORLD, measures, progress=False)
    assert ma.TOMA.SHORT_DESC not in str(ma.systems_table(values))
    table = ma.systems_table(values, notes="full")
    stated = ma.TOMA.SHORT_DESC.removesuffix(".")
    defined = [note.text for note in table.cells.notes if stated in note.text]
    assert defined == [f"TOMA: {stated}"]
    assert not [note for note in table.cells.notes if sentence(ir_measures.nDCG) in note.text]


CRITERIA_MEANS = {
    "CAM": "CAM",
    "MM": ma.MM(aspects="faithful,complete"),
    "TOMA": ma.TOMA(aspects={"faithful": 2, "complete": 2}),
}


def test_means_of_criteria_have_no_base() -> None:
    """Answers have no ranking: definitions of their means name no base as nDCG."""
    judged = pd.DataFrame({"qid": ["q1"], "name": ["mine"], "faithful": [2], "complete": [1]})
    criteria = ma.answers.from_criteria(judged, aspects={"faithful": 2, "complete": 2})
    values = ma.answers.combine(criteria, CRITERIA_MEANS)
    notes = str(ma.systems_table(values, notes="full"))
    for name in CRITERIA_MEANS:
        beginning = getattr(ma, name).CRITERIA_DESC[:60]
        assert f"{name}: {beginning}" in notes
    page = ma.report(values).to_html()
    assert "Base nDCG" not in page
    assert html.escape(ma.MM.CRITERIA_DESC) in page


def test_means_of_rankings_beside_other_values_have_their_base() -> None:
    cam = {"CAM": ma.CAM(aspects={"relevance": 1, "credibility": 1})}
    of_rankings = ma.evaluate(RUNS, WORLD, cam, progress=False)
    latency = of_rankings.assign(measure="latency")
    table = ma.systems_table(
        pd.concat([of_rankings, latency]), {"CAM": ma.CAM, "latency": "lower"}, notes="full"
    )
    assert f"CAM: {ma.CAM.SHORT_DESC}" in " ".join(str(table).split())


def test_labels_of_means_of_criteria() -> None:
    """Those measures are means of criteria of which all aspects are labels without a measure."""
    criteria = {"faithful": None, "complete": None}
    mean = {"MM": CRITERIA_MEANS["MM"]}  # of faithful and complete
    assert labels_of_answers({**mean, **criteria, "AP": ir_measures.AP}) == {"MM"}
    assert labels_of_answers({"CAM": ma.CAM, "AP": ir_measures.AP, "faithful": None}) == set()


@pytest.mark.parametrize("name", ["TOMA", "nDCG"])
def test_the_shell_defines_a_measure(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", name]) == 0
    out = " ".join(capsys.readouterr().out.split())
    measure = ir_measures.measures.registry[name]
    assert sentence(measure) in out
    assert details(measure) in out
