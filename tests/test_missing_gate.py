"""Warnings about what newcomers leave out: TOMA's gate, and the scales of measures in the shell."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from sklearn.linear_model import Ridge

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectWarning, errors

SCALES = ma.Aspects({"relevance": 2, "credibility": 2})
#: A credible document that is not relevant, and a relevant one.
ROWS = [["q1", "d1", 0, 2], ["q1", "d2", 2, 1], ["q2", "d1", 1, 0], ["q2", "d2", 0, 0]]
QRELS = pd.DataFrame(ROWS, columns=["qid", "docno", "label", "credibility"])
TOPICS = pd.DataFrame({"qid": ["q1", "q2"], "query": ["a", "b"]})
RUN = QRELS[["qid", "docno"]].assign(score=[2.0, 1.0, 2.0, 1.0])
PLAIN, GATED = ma.TOMA(aspects=SCALES) @ 5, ma.TOMA(aspects=SCALES, gate="relevance") @ 5
GATE = r"TOMA has no gate, .* labels of credibility\. .* TOMA\(gate='relevance'\)@5$"


def rows() -> tuple[Any, pd.DataFrame]:
    """Features and labels of documents."""
    labels = QRELS.rename(columns={"label": "relevance"}).drop(columns="docno").set_index("qid")
    return np.arange(4.0)[:, None], labels


DOORS: dict[str, Callable[[Any], object]] = {
    "evaluate": lambda measure: ma.evaluate(
        {"one": RUN, "two": RUN}, QRELS, measure, progress=False
    ),
    "pt.Experiment": lambda measure: pt.Experiment(
        [RUN, RUN], TOPICS, QRELS, [measure], names=["one", "two"]
    ),
    "ir_measures": lambda measure: measure.calc_aggregate(QRELS, RUN),
    "report": lambda measure: ma.report({"one": RUN, "two": RUN}, QRELS, measure, progress=False),
    "scorer": lambda measure: ma.ranking_scorer(measure)(
        Ridge().fit(rows()[0], rows()[1].relevance), *rows()
    ),
    "mean": lambda measure: ma.evaluate(RUN, QRELS, ma.MeanOf([measure]), progress=False),
}


@pytest.fixture(autouse=True)
def first_call(monkeypatch) -> None:
    """Forget earlier warnings."""
    monkeypatch.setattr(errors, "_given", set())


def warnings_of(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught if "has no gate" in str(warning.message)]


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_gate_is_said_once(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call warns once, although it evaluates several runs; PLAIN has no gate."""
    call = DOORS[door]
    with pytest.warns(MultiAspectWarning, match=GATE):
        call(PLAIN)
    # Forget that this has been said, so that only repetitions within the next call are silenced.
    monkeypatch.setattr(errors, "_given", set())
    assert len(warnings_of(lambda: call(PLAIN))) == 1


def test_parameters_that_remain_are_hinted_at() -> None:
    measure = ma.TOMA(aspects=SCALES, distance="manhattan")
    with pytest.warns(MultiAspectWarning, match=r"TOMA\(gate='relevance', …\)$"):
        DOORS["evaluate"](measure)


SILENT = {
    "a gate": (QRELS, GATED),
    "no labels of documents that are not relevant": (QRELS.assign(credibility=[0, 1, 0, 0]), PLAIN),
    "no relevance": (
        QRELS.rename(columns={"label": "usefulness"}),
        ma.TOMA(aspects={"usefulness": 2, "credibility": 2}) @ 5,
    ),
    "relevance is not evaluated": (
        QRELS.assign(trust=1),
        ma.TOMA(aspects={"credibility": 2, "trust": 2}) @ 5,
    ),
    "a distance that needs none": (QRELS, ma.TOMA(aspects=SCALES, distance="chebyshev") @ 5),
    "an order": (QRELS, ma.TOMA(order=ma.Order.from_distance(SCALES, sum)) @ 5),
    "an aspect without weight": (
        QRELS,
        ma.TOMA(aspects=SCALES, weights={"relevance": 1, "credibility": 0}) @ 5,
    ),
    "another measure": (QRELS, ma.CAM(aspects=SCALES) @ 5),
    "with and without": (QRELS, [PLAIN, GATED]),
}


@pytest.mark.parametrize("case", SILENT)
def test_nothing_is_said_of(case: str) -> None:
    qrels, measures = SILENT[case]
    assert warnings_of(lambda: ma.evaluate({"one": RUN}, qrels, measures, progress=False)) == []


def test_robustness_shows_both() -> None:
    runs = {"one": RUN, "two": RUN.assign(score=[1.0, 2.0, 1.0, 2.0])}
    assert warnings_of(lambda: ma.robustness(runs, QRELS, PLAIN)) == []


@pytest.mark.parametrize(
    "measure", ["TOMA(gate=relevance)@10", "CAM@10", "uRBP", "uRBPgr", "MM", "NLRE"]
)
def test_undeclared_scales_in_the_shell(cli, measure: str) -> None:
    code, _, err = cli("evaluate", "-m", measure, "runs")
    assert code == 0
    name = measure.partition("(")[0].partition("@")[0]
    start = f"pt-multiaspect: warning: {name} depends on the label scales, which were inferred from these qrels: "
    assert err.startswith(
        f"{start}relevance 0, 1, 2; credibility 0, 1, 2, 3. Declare them with --aspects FILE"
    )
    assert err.count("were inferred") == 1
    assert cli("evaluate", "-m", measure, "--aspects", "scales.json", "runs")[::2] == (0, "")


def test_undeclared_scales_of_several_measures_are_said_once(cli) -> None:
    code, _, err = cli(
        "evaluate", "-m", "CAM@10", "MM", "TOMA(gate=relevance)", "uRBPgr", "nDCG@10", "runs"
    )
    assert code == 0
    assert err.count("\n") == err.count("were inferred") == 1


@pytest.mark.parametrize("measures", [["nDCG@10", "AP"], ["On(aspect=credibility)"]])
def test_measures_of_one_aspect_need_no_scales(cli, measures: list[str]) -> None:
    assert cli("evaluate", "-m", *measures, "runs")[::2] == (0, "")
