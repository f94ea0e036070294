"""Judgments of several judges: `from_long`, agreement, the sensitivity to judges, and Judged@k per aspect."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest

import pt_multiaspect as ma

# -- Judged@k per aspect ----------------------------------------------------------------------------------

QRELS = pd.DataFrame(
    [
        ("q1", "d1", 1, 0),
        ("q1", "d2", 0, np.nan),
        ("q1", "d3", np.nan, 1),
        ("q1", "d4", 2, 9),
        ("q2", "d1", 2, np.nan),
    ],
    columns=["qid", "docno", "label", "credibility"],
)
RUN = {"q1": {"d1": 5.0, "d2": 4.0, "d9": 3.0, "d3": 2.0, "d4": 1.0}, "q2": {"d1": 1.0}}
SCALES = ma.Aspects({"relevance": 2, "credibility": ma.Aspect(1, unjudged=[9])})


def values_of(measure: object, qrels: pd.DataFrame = QRELS) -> list[float]:
    return ma.evaluate({"run": RUN}, qrels, measure, progress=False)["value"].tolist()


@pytest.mark.parametrize(
    ("k", "relevance", "credibility"),
    [(1, [1, 1], [1, 0]), (2, [1, 1], [1 / 2, 0]), (3, [2 / 3, 1], [1 / 3, 0]), (5, [3 / 5, 1], [2 / 5, 0]),
     (100, [3 / 5, 1], [2 / 5, 0])],
)  # fmt: skip
def test_judged_is_the_fraction_of_the_top_with_a_label_on_the_aspect(k, relevance, credibility) -> None:
    for aspect, expected in (("relevance", relevance), ("credibility", credibility)):
        measure = ma.On(aspect=aspect, base="Judged", aspects=SCALES) @ k
        assert values_of(measure) == expected
        assert values_of(str(measure)) == expected
        assert values_of(ma.On(aspect=aspect, base=ir_measures.Judged @ k, aspects=SCALES)) == expected


def test_judged_without_a_cutoff_is_that_of_ir_measures() -> None:
    assert values_of("Judged") == values_of(ma.On(base="Judged")) == [3 / 5, 1]


def test_judged_counts_labels_that_are_no_integers() -> None:
    """ir-measures, which computed it before, refused these."""
    fractions = QRELS.assign(credibility=QRELS["credibility"] / 4)
    assert values_of(ma.On(aspect="credibility", base="Judged@2"), fractions) == [1 / 2, 0]


def test_judged_keeps_the_ties_of_each_tool() -> None:
    tied = {"q1": {"d1": 1.0, "d9": 1.0}, "q2": {"d1": 1.0}}
    each = [
        ma.evaluate({"run": tied}, QRELS, each, progress=False)["value"][0]
        for each in ("Judged@1", "On(base='Judged')@1")
    ]
    assert each == [1.0, 0.0]  # docno ascending in ir-measures, descending as in trec_eval here


def test_judged_in_an_experiment() -> None:
    run = pd.DataFrame(
        [(qid, docno, score) for qid, docs in RUN.items() for docno, score in docs.items()],
        columns=["qid", "docno", "score"],
    )
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["one", "two"]})
    measure = ma.On(aspect="credibility", base="Judged", aspects=SCALES) @ 2
    for each in (measure, str(measure)):
        table = pt.Experiment([pt.Transformer.from_df(run)], topics, QRELS, [each, "Judged@2"])
        assert table[str(measure)].tolist() == [0.25]


def test_judged_is_explained() -> None:
    explanation = ma.On(aspect="credibility", base="Judged", aspects=SCALES).explain(RUN, QRELS, "q1")
    assert explanation.ranks["contribution"].tolist() == [1 / 5, 0, 0, 1 / 5, 0]
