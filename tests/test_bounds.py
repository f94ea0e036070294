"""The best values rankings can reach: against all permutations, the paper's strategies, and Table 3."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, nDCG
from reference import ref_aspect
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    ESL,
    GAM,
    MM,
    NLRE,
    TOMA,
    WHAM,
    Aspect,
    Aspects,
    Judgments,
    MultiAspectError,
    On,
)
from pt_multiaspect.analysis import attainable, ideal_values, upper_bound
from pt_multiaspect.bases import as_base
from pt_multiaspect.kernels import best_ranking
from pt_multiaspect.kernels.hits import row_keys
from pt_multiaspect.kernels.progress import ConvexProgress, Progress

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:pt_multiaspect.MultiAspectWarning")
    for text in (
        "the threshold of",
        "no label of",
        "every judged document",
        "all labels of",
        "rel=",
    )  # of what is drawn
]

NAMES = ("relevance", "credibility", "understandability")
DOCNOS = "abcdefg"
LINEAR = ("nDCG", "nDCG@2", "nDCG(dcg='exp-log2')", "P@3", "R@2", "SetR", "Rprec", "RBP(p=0.6)@4")
GAINED = "nDCG(gains={1: 0, 2: 3})"
OTHERS = ("AP", "AP@3", "AP(rel=2)", "RR", "RR@2", "ERR", "ERR@2", "Success@2")
GRADES = 2

Judged = dict[str, dict[str, float]]


def pools(max_aspects: int = 3, max_documents: int = 5) -> st.SearchStrategy[Judged]:
    """The labels of the documents of one query, some of them missing or junk."""
    label = st.sampled_from([0, 1, 2, 2, 1, -1, float("nan")])

    def judged_pools(n_aspects: int) -> st.SearchStrategy[Judged]:
        names = NAMES[:n_aspects]
        documents = st.lists(st.tuples(*[label] * n_aspects), min_size=1, max_size=max_documents)
        return documents.map(
            lambda rows: {
                docno: dict(zip(names, labels, strict=True))
                for docno, labels in zip(DOCNOS, rows, strict=False)
            }
        )

    return st.integers(1, max_aspects).flatmap(judged_pools)


def weights_of(names: list[str]) -> st.SearchStrategy[dict[str, float]]:
    return st.fixed_dictionaries({name: st.sampled_from([0, 0.2, 1, 3]) for name in names}).filter(
        lambda weights: any(weights.values())
    )


def aspects_of(judged: Judged) -> dict[str, int]:
    return dict.fromkeys(next(iter(judged.values())), GRADES)


def best_by_force(measure: ma.Measure, judged: Judged) -> float:
    """Return the maximum over all permutations, each of which is a separate query."""
    permutations = list(itertools.permutations(judged))
    runs = {
        str(index): {docno: -rank for rank, docno in enumerate(permutation)}
        for index, permutation in enumerate(permutations)
    }
    return max(metric.value for metric in measure.iter_calc(dict.fromkeys(runs, judged), runs))


def bound_of(judged: Judged, measure: object, strategy: str = "auto", **options: int) -> pd.Series:
    (row,) = [row for _, row in upper_bound({"q": judged}, measure, strategy, **options).iterrows()]
    return row


def check_proven(row: pd.Series, wanted: float) -> None:
    """Check that the bound and the best value are correct."""
    assert row["value"] <= wanted + 1e-9
    assert row["bound"] >= wanted - 1e-9
    assert row["gap"] == pytest.approx(row["bound"] - row["value"], abs=1e-12)
    assert row["gap"] >= 0


def test_narrow_searches_leave_small_gaps() -> None:
    """The bounds of what follows are close, so that few partial rankings suffice."""
    rng = np.random.default_rng(1)
    qrels = {
        f"q{topic}": {
            f"d{number}": dict(zip("abc", rng.integers(0, 3, 3).tolist(), strict=True))
            for number in range(12)
        }
        for topic in range(3)
    }
    measure = MM(base="AP", aspects=dict.fromkeys("abc", Aspect(2, threshold=1)))
    assert upper_bound(qrels, measure, width=3)["gap"].mean() < 0.01


def test_tangents_approach_the_maximum() -> None:
    rng = np.random.default_rng(3)
    qrels = {
        f"q{topic}": {
            f"d{number}": dict(zip("abc", rng.integers(0, 3, 3).tolist(), strict=True))
            for number in range(30)
        }
        for topic in range(3)
    }
    measure = MM(base="RBP", aspects=dict.fromkeys("abc", Aspect(2, threshold=1)))
    assert upper_bound(qrels, measure, width=1)["gap"].max() < 0.003


# -- the steps of the search --------------------------------------------------------------------


def progress_of(base: str, labels: list[int]) -> tuple[Progress, tuple[int, ...]]:
    """The measure rank by rank, and the number of documents of each type, by ascending gain."""
    judgments = Judgments({"q": dict(zip(DOCNOS, labels, strict=False))})
    (view,) = judgments.views(Aspects({"relevance": GRADES}))
    progression = as_base(ir_measures.parse_measure(base)).progression(view.target)
    assert progression is not None
    types, totals = np.unique(progression.gain, return_counts=True)
    return progression.begin(types, totals.astype(np.int32), 0), tuple(totals.tolist())


def ways(
    progress: Progress, counts: tuple[int, ...], totals: tuple[int, ...]
) -> Iterator[list[float]]:
    """The gains at each further rank, for every order of the documents that are left."""
    if counts == totals:
        yield []
        return
    steps = progress.step(sum(counts) + 1, np.array([counts], dtype=np.int32))[0]
    for index, (had, total) in enumerate(zip(counts, totals, strict=True)):
        if had < total:
            for later in ways(progress, (*counts[:index], had + 1, *counts[index + 1 :]), totals):
                yield [float(steps[index]), *later]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("base", "depth"),
    [
        ("nDCG", 4), ("nDCG@2", 2), ("nDCG(dcg='exp-log2')@3", 3), ("P@3", 3), ("R@2", 2), ("Rprec", 3),
        ("RBP(p=0.6)", 4), ("AP", 4), ("AP@2", 2), ("AP(rel=2)", 4), ("RR", 4), ("RR@1", 1), ("RR@2", 2),
        ("Success@1", 1), ("Success@2", 2), ("ERR", 4), ("ERR@2", 2),
    ],
)  # fmt: skip
def test_the_rest_is_what_the_best_continuation_gains(base: str, depth: int) -> None:
    """From each partial ranking: the maximum over all orders of the remaining documents (ERR: a bound)."""
    labels = [2, 2, 1, 0]
    progress, totals = progress_of(base, labels)
    judged = {docno: {"relevance": label} for docno, label in zip(DOCNOS, labels, strict=False)}
    best = best_by_force(On(base=base, aspects={"relevance": GRADES}), judged)
    assert max(map(sum, ways(progress, (0,) * len(totals), totals))) == pytest.approx(
        best, abs=1e-12
    )
    assert progress.depth == depth
    for counts in itertools.product(*(range(total + 1) for total in totals)):
        rank = sum(counts)
        continuations = list(ways(progress, counts, totals))
        assert not any(gain for gains in continuations for gain in gains[max(depth - rank, 0) :])
        rest = progress.bound_of_rest(rank, np.array([counts], dtype=np.int32))[0]
        wanted = max(map(sum, continuations))
        if base.startswith("ERR") and rank < 3:  # the bound of a single document is its gain
            assert rest >= wanted - 1e-12
        else:
            assert rest == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("base", ["RR", "Success@3", "AP", "Rprec"])
def test_the_rest_of_a_single_positive_document_is_1(base: str) -> None:
    progress, totals = progress_of(base, [1, 0, 0])
    assert progress.bound_of_rest(0, np.zeros((1, len(totals)), dtype=np.int32)).tolist() == [1]


@pytest.mark.parametrize(
    "base", ["nDCG", "nDCG@2", "P@3", "Rprec", "RBP(p=0.6)", "AP", "AP@2", "AP@3"]
)
def test_convex_measures_are_sums_of_levels(base: str) -> None:
    """Σ level(documents up to a rank) · (factor of the rank - factor of the next rank) is the value."""
    progress, totals = progress_of(base, [2, 2, 1, 0])
    assert isinstance(progress, ConvexProgress)
    types = range(len(totals))
    for order in set(itertools.permutations(np.repeat(types, totals).tolist())):
        before = np.array(
            [[order[:rank].count(kind) for kind in types] for rank in range(5)], dtype=np.int32
        )
        steps = [
            float(progress.step(rank + 1, before[rank : rank + 1])[0, order[rank]])
            for rank in range(4)
        ]
        levels = progress.level(before[1:]) * -np.diff(progress.factor)
        assert levels.sum() == pytest.approx(sum(steps), abs=1e-12)


def test_without_relevant_documents_no_rank_counts() -> None:
    """Rprec ends at rank R, so it ends before the first rank here."""
    progress, _ = progress_of("Rprec", [0, 0])
    assert progress.depth == 0


# -- against brute force ------------------------------------------------------------------------


@given(judged=pools(3, 7), data=st.data())
@examples(25)
def test_exact_cam_is_the_best_of_all_permutations(judged: Judged, data: st.DataObject) -> None:
    names = list(aspects_of(judged))
    weights = data.draw(weights_of(names))
    base = data.draw(st.sampled_from(["nDCG", "nDCG@2", "nDCG@5"]))
    measure = CAM(base=base, weights=weights, aspects=aspects_of(judged))
    row = bound_of(judged, measure)
    assert row["strategy"] == "exact"
    assert row["gap"] == 0
    assert row["value"] == pytest.approx(best_by_force(measure, judged), abs=1e-9)


@given(judged=pools(2, 4), base=st.sampled_from(["nDCG", "P", "R", "Rprec"]))
@examples(25)
def test_exact_cam_against_the_reference(judged: Judged, base: str) -> None:
    aspects = {name: ref_aspect(range(GRADES + 1)) for name in aspects_of(judged)}
    params = {"cutoff": 2} if base in ("P", "R") else None
    ours = f"{base}@2" if params else base
    row = bound_of(judged, CAM(base=ours, aspects=aspects_of(judged)))
    assert row["value"] == pytest.approx(ref.best_cam(judged, aspects, base, params), abs=1e-9)


@given(judged=pools(), data=st.data())
@examples(60)
def test_mixed_linear_bases(judged: Judged, data: st.DataObject) -> None:
    base = {name: data.draw(st.sampled_from((*LINEAR, GAINED))) for name in aspects_of(judged)}
    measure = CAM(base=base, weights=data.draw(weights_of(list(base))), aspects=aspects_of(judged))
    row = bound_of(judged, measure)
    wanted = best_by_force(measure, judged)
    assert row["value"] == row["bound"] == pytest.approx(wanted, abs=1e-9)
    check_proven(bound_of(judged, measure, "search", width=1), wanted)


@pytest.mark.slow
@given(judged=pools(), data=st.data())
@examples(50)
def test_search_finds_the_best_of_few_documents(judged: Judged, data: st.DataObject) -> None:
    """Nothing is dropped, so the search is exact, whatever is combined, and how."""
    base = {
        name: data.draw(st.sampled_from((*LINEAR, *OTHERS, GAINED))) for name in aspects_of(judged)
    }
    family = data.draw(st.sampled_from([CAM, MM, GAM]))
    empty = data.draw(st.sampled_from(["zero", "drop"]))
    measure = family(
        base=base,
        weights=data.draw(weights_of(list(base))),
        empty=empty,
        aspects=aspects_of(judged),
    )
    wanted = best_by_force(measure, judged)
    row = bound_of(judged, measure, "search", rounds=3)
    check_proven(row, wanted)
    assert row["value"] == pytest.approx(wanted, abs=1e-9)
    assert row["gap"] < 1e-6
    check_proven(bound_of(judged, measure, "search", width=1, rounds=1), wanted)


@pytest.mark.parametrize(
    ("family", "labels"),
    [(CAM, [(0, 2), (2, 0), (0, 2), (1, 1), (0, 0)]), (MM, [(2, 0), (1, 1), (0, 1), (0, 0)])],
)
def test_worthless_documents_follow_the_best_ranking(
    family: ma.Measure, labels: list[tuple[float, float]]
) -> None:
    """No strategy of the paper finds these rankings, which the search continues with the last document."""
    judged = {
        docno: dict(zip(NAMES, pair, strict=False))
        for docno, pair in zip(DOCNOS, labels, strict=False)
    }
    measure = family(base="AP", aspects=aspects_of(judged))
    row = bound_of(judged, measure, "search")
    assert row["value"] == pytest.approx(best_by_force(measure, judged), abs=1e-9)
    assert row["gap"] < 1e-6


@given(judged=pools(), base=st.sampled_from(LINEAR + OTHERS), data=st.data())
@examples(60)
def test_measures_of_one_number_a_document(judged: Judged, base: str, data: st.DataObject) -> None:
    aspects = aspects_of(judged)
    measure = data.draw(
        st.sampled_from(
            [
                On(base=base, aspects=aspects),
                TOMA(base=base, distance="manhattan", aspects=aspects),
                ma.uRBP(aspects=aspects),
                ma.uRBPgr(aspects=aspects) @ 2,
                ma.unDCG(aspects=aspects, s=2),
                ma.uERR(aspects=aspects),
            ]
        )
    )
    row = bound_of(judged, measure)
    assert row["strategy"] == "exact"
    assert row["value"] == row["bound"] == pytest.approx(best_by_force(measure, judged), abs=1e-9)
    searched = bound_of(judged, measure, "search")
    assert searched["value"] == searched["bound"] == pytest.approx(row["value"], abs=1e-9)


@pytest.mark.parametrize("measure", [ma.CRPRecovery, ma.RecallEffort(expected=2)], ids=str)
def test_measures_that_only_sorting_maximises(measure: ma.Measure) -> None:
    """They have no other form to search with."""
    for labels in ([2, 1, 1, 0], [0, 1, 0, 2], [0, 0, 1]):
        judged = {docno: {"relevance": label} for docno, label in zip(DOCNOS, labels, strict=False)}
        row = bound_of(judged, measure)
        assert row["strategy"] == "exact"
        assert (
            row["value"] == row["bound"] == pytest.approx(best_by_force(measure, judged), abs=1e-12)
        )


@pytest.mark.filterwarnings("ignore:.*labels below:pt_multiaspect.errors.MultiAspectWarning")
@given(judged=pools(2, 4), share=st.sampled_from([0.01, 0.2, 1]))
@examples(15)
def test_crp_beside_a_linear_base_is_assigned(judged: Judged, share: float) -> None:
    """Sorting by the gains of the linear base alone would ignore CRP."""
    aspects = aspects_of(judged)
    base = dict(zip(aspects, ("CRP", "nDCG"), strict=False))
    row = bound_of(
        judged,
        CAM(base=base, weights=dict(zip(aspects, (share, 1), strict=False)), aspects=aspects),
    )
    wanted = best_by_force(
        CAM(base=base, weights=dict(zip(aspects, (share, 1), strict=False)), aspects=aspects),
        judged,
    )
    assert row["value"] == row["bound"] == pytest.approx(wanted, abs=1e-9)


class _Later(ma.LinearMeasure):
    """Documents further down count a little more."""

    def linear(self, target):
        return ma.forms.Linear(target, target.gain, lambda rank: 1 + rank / 100)


class _ToTheIdeal(_Later):
    """Divided by a sum that is not the largest."""

    def linear(self, target):
        form = super().linear(target)
        return replace(form, norm=target.best_sum(form.gain, form.discount))


class _Negative(_Later):
    """Documents that are better left out."""

    def linear(self, target):
        return ma.forms.Linear(target, target.gain - 5, ma.forms.Log2())


class _OneMinus(_Later):
    """The lowest grade gains the most."""

    def linear(self, target):
        return ma.forms.Linear(target, target.top - target.gain, ma.forms.Log2())


INCREASES, NEGATIVE = (
    "a non-negative discount that does not increase with the rank",
    "expected non-negative gains",
)


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", ["auto", "exact", "search", "sum"])
@pytest.mark.parametrize("kind", [On, TOMA, CAM, MM, GAM], ids=lambda kind: kind.NAME)
@pytest.mark.parametrize(
    ("base", "message"),
    [(_Later(), INCREASES), (_ToTheIdeal(), INCREASES), (_Negative(), NEGATIVE)],
    ids=["later", "norm", "negative"],
)
def test_sorting_is_not_best_where_discounts_increase(
    kind: ma.Measure, base: ma.SingleAspectMeasure, message: str, strategy: str
) -> None:
    """On and TOMA gave the minimum as an exact bound, and the search pruned the best rankings."""
    judged = {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    with pytest.raises(MultiAspectError, match=message):
        upper_bound(
            {"q": judged}, kind(base=base, aspects={"relevance": 2, "credibility": 1}), strategy
        )


@pytest.mark.parametrize("kind", [On, TOMA, CAM], ids=lambda kind: kind.NAME)
def test_explanations_have_no_best_ranking_where_discounts_increase(kind: ma.Measure) -> None:
    judged = {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    measure = kind(base=_Later(), aspects={"relevance": 2, "credibility": 1})
    explained = measure.explain({"q": {"a": 2.0, "b": 1.0}}, {"q": judged}, "q")
    assert explained.ideal is None
    assert "rank" in str(explained)


def test_discounts_that_increase_beyond_the_cutoff_make_no_difference() -> None:
    class Cut(_Later):
        RANGE = (0.0, np.inf)

        def linear(self, target):
            return ma.forms.Linear(
                target, target.gain, lambda rank: np.where(rank <= 2, 1.0, rank), depth=2
            )

    judged = {
        docno: {"relevance": label} for docno, label in zip(DOCNOS, (0, 1, 2, 1), strict=False)
    }
    assert bound_of(judged, On(base=Cut()))["value"] == 3


def test_documents_are_sorted_by_the_gain_of_the_sum() -> None:
    """They were sorted by the labels."""
    judged = {
        docno: {"relevance": label} for docno, label in zip(DOCNOS, (0, 1, 2, 1), strict=False)
    }
    measure = On(base=_OneMinus())
    row = bound_of(judged, measure)
    assert row["value"] == row["bound"] == pytest.approx(best_by_force(measure, judged), abs=1e-12)


@pytest.mark.parametrize("cutoff", [None, 1, 3, 5])
def test_unjudged_documents_that_gain(cutoff: int | None) -> None:
    """A run with unjudged documents below the judged ones exceeded the bound."""
    scale = Aspect(2, probabilities=[0.1, 0.5, 1])
    measure = ma.uRBPgr(p=0.9, aspects={"relevance": scale, "understandability": scale})
    measure = measure if cutoff is None else measure @ cutoff
    judged = {
        "a": {"relevance": 0, "understandability": 0},
        "b": {"relevance": 2, "understandability": 0},
    }
    row = bound_of(judged, measure)
    run = {"q": {"b": 3.0, "a": 2.0, **{f"new {n}": -float(n) for n in range(1000)}}}
    assert measure.calc_aggregate({"q": judged}, run) == pytest.approx(row["bound"], abs=1e-12)
    assert row["gap"] == pytest.approx(row["bound"] - row["value"])
    assert (row["gap"] > 1e-4) == (cutoff != 1)


@pytest.mark.every(2)
@pytest.mark.parametrize("measure", [TOMA(base="AP"), TOMA, ma.uRBP, ma.uERR], ids=str)
def test_each_topic_has_its_own_bound(measure: ma.Measure) -> None:
    """One by one or all together, whatever the strategy."""
    qrels = {
        "q1": {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 1, "credibility": 2}},
        "q2": {"a": {"relevance": 1, "credibility": 1}, "b": {"relevance": 2, "credibility": 2}},
        "q3": {"a": {"relevance": 0, "credibility": 0}},
    }
    measure = measure(aspects={"relevance": 2, "credibility": 2})
    alone = pd.concat(
        [upper_bound({qid: judged}, measure) for qid, judged in qrels.items()], ignore_index=True
    )
    assert alone["value"].nunique() > 1
    for strategy in ("exact", "search"):
        together = upper_bound(qrels, measure, strategy)
        columns = ["qid", "value", "bound", "gap"]
        pd.testing.assert_frame_equal(together[columns], alone[columns], rtol=0, atol=1e-12)


@given(judged=pools(), data=st.data())
@examples(30)
def test_never_below_the_strategies_of_the_paper(judged: Judged, data: st.DataObject) -> None:
    base = data.draw(st.sampled_from(LINEAR + OTHERS))
    measure = data.draw(st.sampled_from([CAM, MM, GAM]))(base=base, aspects=aspects_of(judged))
    best = bound_of(judged, measure)
    values = ideal_values({"q": judged}, measure)
    n_aspects = len(aspects_of(judged))
    assert len(values) == len(list(itertools.permutations(range(n_aspects)))) + 3
    assert best["value"] >= values["value"].max() - 1e-12
    recursive = values[~values["strategy"].isin(["sum", "squares", "max"])]
    assert bound_of(judged, measure, "recursive")["value"] == recursive["value"].max()
    for name in ("sum", "squares", "max"):
        row = bound_of(judged, measure, name)
        assert [row["value"]] == values.loc[values["strategy"] == name, "value"].tolist()
        assert row["bound"] >= best["value"] - 1e-9


@pytest.mark.slow
def test_normalized_cam_reaches_1_and_what_is_empty_reaches_0() -> None:
    qrels = {
        "q1": {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 0, "credibility": 2}},
        "q2": {"a": {"relevance": 0, "credibility": 0}},
    }
    aspects = {"relevance": 2, "credibility": 2}
    for strategy in ("auto", "exact"):
        table = upper_bound(qrels, CAM(normalized=True, aspects=aspects), strategy)
        assert table["value"].tolist() == table["bound"].tolist() == [1, 0]
    for measure in (CAM, MM, GAM, TOMA):
        assert upper_bound(qrels, measure(aspects=aspects))["bound"].tolist()[1] == 0


# -- known figures ------------------------------------------------------------------------------

TABLE_3 = {"d1": (5, 10), "d2": (15, 5), "d3": (15, 0)}
QRELS_3 = {"t": {docno: {"relevance": r, "correctness": c} for docno, (r, c) in TABLE_3.items()}}
ASPECTS_3 = Aspects(
    {
        "relevance": Aspect([0, 5, 10, 15], threshold=10),
        "correctness": Aspect([0, 5, 10], threshold=10),
    }
)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("measure", "best"),
    [
        (CAM(base="AP"), 0.7917),
        (CAM(base="nDCG"), 0.9073),
        (MM(base="AP"), 0.7368),
        (WHAM(base="nDCG"), 0.9033),
    ],
)
def test_the_bold_values_of_table_3(measure: ma.Measure, best: float) -> None:
    """The best CAM printed in the paper; of MM, whose cells are misprinted, twice what is printed."""
    (row,) = upper_bound(QRELS_3, measure(aspects=ASPECTS_3)).to_dict("records")
    assert round(row["value"], 4) == best
    assert row["gap"] == 0


def test_the_strategies_of_the_paper_on_its_example() -> None:
    table = ideal_values(QRELS_3, CAM(base="nDCG", aspects=ASPECTS_3))
    values = {row["strategy"]: round(row["value"], 4) for row in table.to_dict("records")}
    # By Table 3: d2 d3 d1; d1 d2 d3; the sums 15, 20, 15 and the greatest 10, 15, 15 tie, and so
    # on.
    assert values == {
        "relevance > correctness": 0.8801,
        "correctness > relevance": 0.9073,
        "sum": 0.8801,
        "squares": 0.8801,
        "max": 0.8801,
    }


def test_sorting_is_not_always_best_for_ap() -> None:
    """Labels (0, 1), (1, 0), (1, 0): sorting by weight takes the second first, the best is the first."""
    labels = [(0, 1), (1, 0), (1, 0)]
    judged = {
        docno: dict(zip(NAMES, pair, strict=False))
        for docno, pair in zip("abc", labels, strict=True)
    }
    measure = CAM(
        base="AP",
        weights={"relevance": 0.66, "credibility": 0.34},
        aspects={"relevance": 1, "credibility": 1},
    )
    row = bound_of(judged, measure)
    assert row["gap"] == 0
    assert round(row["value"], 3) == round(best_by_force(measure, judged), 3) == 0.773


@pytest.mark.every(5)
@pytest.mark.parametrize("top", [53, 54, 60, 100])
@pytest.mark.parametrize("family", [CAM, MM])
def test_err_on_long_scales(family: ma.Measure, top: int) -> None:
    """The best document stops the user for certain, as far as floating point tells."""
    labels = [(0, top), (top, 1), (top, 0), (1, top - 1)]
    judged = {
        docno: dict(zip(NAMES, pair, strict=False))
        for docno, pair in zip("abcd", labels, strict=True)
    }
    measure = family(base="ERR", aspects=dict.fromkeys(NAMES[:2], top))
    row = bound_of(judged, measure)
    assert row["value"] == row["bound"] == pytest.approx(best_by_force(measure, judged), abs=1e-9)


def test_labels_that_contradict_each_other_are_found() -> None:
    frame = pd.DataFrame(
        {"qid": "q", "docno": ["d", "d", "e"], "relevance": 1, "credibility": [0, 1, 1]}
    )
    for rows in (frame, frame[::-1]):
        for call in (upper_bound, ideal_values, attainable):
            with pytest.raises(MultiAspectError, match="expected one label in column"):
                call(rows, MM(base="AP", aspects={"relevance": 1, "credibility": 1}))
    once = frame.assign(credibility=1)
    assert upper_bound(once, MM(base="AP", aspects={"relevance": 1, "credibility": 1}))[
        "value"
    ].tolist() == [1]


# -- larger pools -------------------------------------------------------------------------------


def large(n_documents: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"qid": np.repeat(["q1", "q2", "q3"], n_documents)})
    frame["docno"] = [f"d{index}" for index in range(len(frame))]
    for name in NAMES:
        frame[name] = rng.choice([0, 0, 0, 1, 2], len(frame))
    return frame


@pytest.mark.slow
@pytest.mark.parametrize(
    "base",
    [
        "AP",
        "AP@30",
        "RR",
        "ERR@20",
        {"relevance": "nDCG", "credibility": "AP@50", "understandability": "P@10"},
    ],
)
@pytest.mark.parametrize("family", [CAM, MM])
def test_bounds_hold_on_large_pools_and_wider_searches_leave_less(
    family: ma.Measure, base: object
) -> None:
    qrels, measure = large(), family(base=base, aspects=dict.fromkeys(NAMES, GRADES))
    narrow = upper_bound(qrels, measure, width=5, rounds=10)
    wide = upper_bound(qrels, measure, width=100, rounds=10)
    for first, second in ((narrow, wide), (wide, narrow)):
        assert (first["value"] <= second["bound"] + 1e-9).all()
    assert wide["gap"].mean() <= narrow["gap"].mean() + 1e-9
    assert wide["gap"].max() < 0.03
    hundred = np.random.default_rng(1).random((100, len(qrels)))
    runs = {
        f"run {index}": qrels[["qid", "docno"]].assign(score=score)
        for index, score in enumerate(hundred)
    }
    reached = ma.evaluate(runs, qrels, measure, progress=False).groupby("qid")["value"].max()
    assert (reached.to_numpy() <= wide["bound"].to_numpy()).all()
    assert (reached.to_numpy() <= wide["value"].to_numpy()).all()


@pytest.mark.slow
def test_nothing_depends_on_the_order_of_rows_or_the_hash_seed() -> None:
    qrels = large(40)
    measures = [
        CAM(base="AP"),
        MM(base="nDCG"),
        CAM(base={**dict.fromkeys(NAMES, "AP"), "relevance": "nDCG@5"}),
    ]
    for measure in (
        measure_class(aspects=dict.fromkeys(NAMES, GRADES)) for measure_class in measures
    ):
        table = upper_bound(qrels, measure, width=3, rounds=3)
        shuffled = upper_bound(qrels.sample(frac=1, random_state=1), measure, width=3, rounds=3)
        pd.testing.assert_frame_equal(table, shuffled, rtol=0, atol=1e-12)
    script = (
        "import pt_multiaspect as ma, test_bounds as t\n"
        "m = ma.CAM(base='AP', aspects=dict.fromkeys(t.NAMES, t.GRADES))\n"
        "print(ma.analysis.upper_bound(t.large(40), m, width=3).to_json(double_precision=15))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(outputs) == 1


# -- shares of topics ---------------------------------------------------------------------------


def test_attainable_counts_topics() -> None:
    aspects = {"relevance": 1, "credibility": 1}
    both, either, neither = (1, 1), [(1, 0), (0, 1)], (0, 0)
    labels = {"q1": [both], "q2": either, "q3": [neither], "q4": [both, *either]}
    qrels = {
        qid: {
            f"d{index}": dict(zip(aspects, pair, strict=True)) for index, pair in enumerate(pairs)
        }
        for qid, pairs in labels.items()
    }
    measures = [
        CAM(base="AP", aspects=aspects),
        CAM(base="RR", aspects=aspects),
        TOMA(aspects=aspects),
        "AP",
    ]
    table = attainable(qrels, measures).set_index("measure")
    # On q3 nothing can score; on q4 AP cannot have all, but RR can.
    assert table["attainable"].tolist() == [0.25, 0.5, 0.75, 0.75]
    assert table["unattainable"].tolist() == [0.75, 0.5, 0.25, 0.25]
    assert (table["undecided"] == 0).all()
    assert table["n_queries"].tolist() == [4] * 4
    assert (table["minimum"] == 0).all()
    assert table.index[-1] == "AP"
    assert len(attainable(qrels, CAM(aspects=aspects))) == 1


def test_attainable_says_what_the_search_leaves_open(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["pt_multiaspect.analysis.upper_bounds.attainable_values"]
    table = pd.DataFrame({"value": [1.0, 0.5, 0.5], "bound": [1.0, 1.0, 0.75]})
    monkeypatch.setattr(module, "upper_bound", lambda *_, **__: table)
    (row,) = attainable({"q": {"d": 1}}, "nDCG").to_dict("records")
    assert (row["attainable"], row["unattainable"], row["undecided"]) == pytest.approx(
        (1 / 3, 1 / 3, 1 / 3)
    )


# -- bad input ----------------------------------------------------------------------------------

QRELS = {"q": {"d": {"relevance": 1, "credibility": 1}}}
TWO = {"relevance": 1, "credibility": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: upper_bound(QRELS, CAM(aspects=TWO), "best"), "strategy: expected one of 'auto', 'exact'"),
        (lambda: upper_bound(QRELS, CAM(base="AP", aspects=TWO), "exact"), "use strategy='search'"),
        (lambda: upper_bound(QRELS, CAM(normalized=True, aspects=TWO), "search"), "use strategy='exact'"),
        (lambda: upper_bound(QRELS, CAM(base="SetF", aspects=TWO)), "no upper bound is known for SetF"),
        (lambda: upper_bound(QRELS, CAM(base="SetF", aspects=TWO), "sum"), "no upper bound is known for SetF"),
        (lambda: upper_bound(QRELS, CAM(base="Bpref", aspects=TWO), "exact"), "no upper bound is known for Bpref"),
        (lambda: upper_bound(QRELS, CAM(base="Bpref", aspects=TWO)), "no upper bound is known for Bpref"),
        (lambda: upper_bound(QRELS, NLRE(aspects=TWO)), "no upper bound is known for NLRE"),
        (lambda: upper_bound(QRELS, ESL(wanted=1)), "undefined for lower-is-better measures such as ESL"),
        (lambda: upper_bound(QRELS, On(base="P", aspects=TWO)), "requires cutoff"),
        (lambda: upper_bound(QRELS, "P"), "expands to 9: P@5"),
        (lambda: upper_bound(QRELS, "nonsense"), "nonsense"),
        (lambda: upper_bound(QRELS, CAM(aspects=TWO), width=0), "width: expected a whole number of at least 1"),
        (lambda: upper_bound(QRELS, CAM(aspects=TWO), rounds=1.5), "rounds: expected a whole number of at least 1"),
        (lambda: upper_bound({"q": {"d": "x"}}, "nDCG"), "expected a finite number, or NaN if unjudged"),
        (lambda: upper_bound([1], CAM(aspects=TWO)), "qrels"),
        (lambda: upper_bound(QRELS, CAM(aspects={"relevance": 1, "mood": 1})), "mood"),
        (lambda: attainable(QRELS, []), "expected at least one measure, got none"),
        (lambda: attainable(pd.DataFrame({"qid": [], "docno": [], "label": []}), "nDCG"), "at least one query"),
        (
            lambda: ideal_values({"q": {"d": dict.fromkeys(DOCNOS, 1)}}, CAM(aspects=dict.fromkeys(DOCNOS, 1))),
            "got 7 for CAM: a, b, c, d, e, f, g",
        ),
    ],
)  # fmt: skip
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(MultiAspectError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.parametrize(
    "measure",
    [
        ma.nCRP,
        ma.CRPRecovery,
        ma.HelpfulCompat,
        ma.IRec(aspects=TWO),
        ma.DSharpnDCG(aspects=TWO),
        CAM(base="CRP", aspects=TWO),
    ],
    ids=str,
)
def test_the_error_states_a_condition_and_excludes_no_measure_with_a_bound(
    measure: ma.Measure,
) -> None:
    judged = {
        "q": {
            "a": {"relevance": 1, "credibility": 0},
            "b": {"relevance": 0, "credibility": 1},
            "c": {"relevance": 1},
        }
    }
    table = upper_bound(judged, measure)
    assert np.isfinite(table[["value", "bound"]].to_numpy()).all()
    with pytest.raises(MultiAspectError) as error:
        upper_bound(judged, NLRE(aspects=TWO))
    assert "bases are computed rank by rank, such as" in str(error.value)
    assert "sums over ranks, such as" in str(error.value)


def test_measures_of_ir_measures_and_names_are_taken() -> None:
    judged = {"a": {"relevance": 0}, "b": {"relevance": 1}}
    for measure in (nDCG @ 10, AP, "nDCG@10", "map", "On(base='AP')"):
        assert bound_of(judged, measure)["value"] == 1


def test_an_empty_collection_gives_an_empty_table() -> None:
    empty = pd.DataFrame({"qid": [], "docno": [], "relevance": [], "credibility": []})
    for measure in (
        CAM(aspects=TWO),
        CAM(base="AP", aspects=TWO),
        MM(aspects=TWO),
        TOMA(aspects=TWO),
    ):
        assert upper_bound(empty, measure).empty
        assert ideal_values(empty, measure).empty


CUTOFFS = {"relevance": "nDCG@10", "credibility": "nDCG@20"}
TWO = {"relevance": 2, "credibility": 3}


def graded(n_documents: int, n_queries: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(n_documents)
    pairs = [(f"q{q}", f"d{d}") for q in range(n_queries) for d in range(n_documents)]
    labels = {name: rng.integers(0, grades + 1, len(pairs)) for name, grades in TWO.items()}
    return pd.DataFrame(pairs, columns=["qid", "docno"]).assign(**labels)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "base",
    [
        CUTOFFS,
        {"relevance": "nDCG@3", "credibility": "RBP@40"},
        {"relevance": "nDCG@2", "credibility": "nDCG"},
    ],
    ids=str,
)
@pytest.mark.parametrize("normalized", [False, True])
def test_equal_documents_and_ranks_below_the_cutoffs_do_not_matter(
    base: dict[str, str], normalized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = CAM(base=base, aspects=TWO, normalized=normalized)
    qrels = graded(60, n_queries=4)
    reduced = upper_bound(qrels, measure)
    monkeypatch.setattr(
        best_ranking,
        "_required_documents",
        lambda linear, gains, index, documents, ranks: (documents, ranks),
    )
    whole = upper_bound(qrels, measure)
    assert reduced["value"].tolist() == pytest.approx(whole["value"].tolist(), rel=1e-13)
    assert reduced["bound"].tolist() == pytest.approx(whole["bound"].tolist(), rel=1e-13)


@pytest.mark.slow
def test_many_judged_documents() -> None:
    """A matrix of all documents and ranks would take 20 GB."""
    qrels = graded(50_000)
    table = upper_bound(qrels, CAM(base=CUTOFFS, aspects=TWO))
    best = qrels[(qrels["relevance"] == 2) & (qrels["credibility"] == 3)]
    assert len(best) > 20
    assert table["value"].tolist() == [1.0]
    assert table["gap"].tolist() == [0.0]


def test_rankings_that_would_take_too_much_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(best_ranking, "_MOST_CELLS", 30 * 30)
    base = {"relevance": "nDCG", "credibility": "RBP"}
    upper_bound(graded(30), CAM(base=base, aspects=TWO))
    with pytest.raises(MultiAspectError, match=r"assignment.*cutoff"):
        upper_bound(graded(60), CAM(base=base, aspects=TWO))


def test_classes_above_the_highest_one_are_named() -> None:
    """Two aspects of one grade have the classes 0 to 2."""
    qrels = {"q": {"a": {"relevance": 1, "credibility": 0}}}
    aspects = {"relevance": 1, "credibility": 1}
    with pytest.warns(
        ma.MultiAspectWarning, match="rel=3 of the base is above 2, the highest class index"
    ):
        ma.TOMA(base="P(rel=3)@1", aspects=aspects).calc_aggregate(qrels, {"q": {"a": 1.0}})
    ma.TOMA(base="P(rel=2)@1", aspects=aspects).calc_aggregate(qrels, {"q": {"a": 1.0}})


@pytest.mark.parametrize("size", [2, 10, 2**12, 2**16])
def test_keys_of_rows_tell_them_apart(size: int) -> None:
    """Up to the number of rows that 62 bits tell apart, and beyond."""
    rng = np.random.default_rng(size)
    rows = rng.integers(size, size=(60, 5))[rng.integers(60, size=200)]
    rows[0], rows[1] = size - 1, 0
    keys = row_keys(rows, [size] * 5)
    assert keys.dtype == np.int64
    assert ((keys[:, None] == keys) == (rows[:, None] == rows).all(axis=2)).all()
