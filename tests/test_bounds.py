"""The best values rankings can reach: against all permutations, the paper's strategies, and Table 3."""

from __future__ import annotations

import itertools
import math
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
    """Check that the value found is at most the wanted maximum, and the bound at least."""
    assert row["value"] <= wanted + 1e-9
    assert row["bound"] >= wanted - 1e-9
    assert row["gap"] == pytest.approx(row["bound"] - row["value"], abs=1e-12)
    assert row["gap"] >= 0


def random_qrels(n_documents: int, seed: int) -> dict[str, Judged]:
    """Return labels 0 to 2 of three topics for the aspects a, b and c."""
    rng = np.random.default_rng(seed)
    return {
        f"q{topic}": {
            f"d{number}": dict(zip("abc", rng.integers(0, 3, 3).tolist(), strict=True))
            for number in range(n_documents)
        }
        for topic in range(3)
    }


def test_narrow_searches_leave_small_gaps() -> None:
    """A search that keeps 3 partial rankings per rank already bounds the maximum closely."""
    measure = MM(base="AP", aspects=dict.fromkeys("abc", Aspect(2, threshold=1)))
    table = upper_bound(random_qrels(n_documents=12, seed=1), measure, width=3)
    assert table["gap"].mean() < 0.01


def test_tangents_approach_the_maximum() -> None:
    """The harmonic mean is at most its tangent at a point; points near the maximum bound it closely.

    With one partial ranking per rank, the gap is small by these tangents and not by the search.
    """
    measure = MM(base="RBP", aspects=dict.fromkeys("abc", Aspect(2, threshold=1)))
    table = upper_bound(random_qrels(n_documents=30, seed=3), measure, width=1)
    assert table["gap"].max() < 0.003


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
    """From each partial ranking: the maximum over all orders of the remaining documents (ERR: a bound).

    `depth` is the last rank of four that the base reads.
    """
    labels = [2, 2, 1, 0]
    progress, totals = progress_of(base, labels)
    assert progress.depth == depth
    for counts in itertools.product(*(range(total + 1) for total in totals)):
        n_ranked = sum(counts)
        gains_of_continuations = list(ways(progress, counts, totals))
        for gains in gains_of_continuations:
            gains_below_depth = gains[max(depth - n_ranked, 0) :]
            assert not any(gains_below_depth)
        rest = progress.bound_of_rest(n_ranked, np.array([counts], dtype=np.int32))[0]
        most = max(sum(gains) for gains in gains_of_continuations)
        n_left = len(labels) - n_ranked
        if base.startswith("ERR") and n_left > 1:  # the bound of a single document is its gain
            assert rest >= most - 1e-12
        else:
            assert rest == pytest.approx(most, abs=1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "base",
    [
        "nDCG", "nDCG@2", "nDCG(dcg='exp-log2')@3", "P@3", "R@2", "Rprec", "RBP(p=0.6)", "AP", "AP@2",
        "AP(rel=2)", "RR", "RR@1", "RR@2", "Success@1", "Success@2", "ERR", "ERR@2",
    ],
)  # fmt: skip
def test_gains_rank_by_rank_add_up_to_the_best_value(base: str) -> None:
    labels = [2, 2, 1, 0]
    progress, totals = progress_of(base, labels)
    nothing_ranked = (0,) * len(totals)
    sums = [sum(gains) for gains in ways(progress, nothing_ranked, totals)]
    judged = {docno: {"relevance": label} for docno, label in zip("abcd", labels, strict=True)}
    best = best_by_force(On(base=base, aspects={"relevance": GRADES}), judged)
    assert max(sums) == pytest.approx(best, abs=1e-12)


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
    n_types = len(totals)
    types_of_documents = np.repeat(range(n_types), totals).tolist()
    for order in set(itertools.permutations(types_of_documents)):
        # Row r counts the documents of each type at the first r ranks.
        counts = np.array(
            [[order[:rank].count(kind) for kind in range(n_types)] for rank in range(5)],
            dtype=np.int32,
        )
        value = 0.0
        for rank in range(1, 5):
            counts_before = counts[rank - 1 : rank]
            gain_by_type = progress.step(rank, counts_before)[0]
            value += float(gain_by_type[order[rank - 1]])
        levels = progress.level(counts[1:])
        decreases_of_factor = -np.diff(progress.factor)
        assert (levels * decreases_of_factor).sum() == pytest.approx(value, abs=1e-12)


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
    """A search of few documents drops no partial ranking, so that it finds the maximum.

    A search that keeps one partial ranking per rank may miss it, but its bound holds.
    """
    aspects = aspects_of(judged)
    bases = {name: data.draw(st.sampled_from((*LINEAR, *OTHERS, GAINED))) for name in aspects}
    family = data.draw(st.sampled_from([CAM, MM, GAM]))
    measure = family(
        base=bases,
        weights=data.draw(weights_of(list(bases))),
        empty=data.draw(st.sampled_from(["zero", "drop"])),
        aspects=aspects,
    )
    wanted = best_by_force(measure, judged)
    row = bound_of(judged, measure, "search", rounds=3)
    check_proven(row, wanted)
    assert row["value"] == pytest.approx(wanted, abs=1e-9)
    assert row["gap"] < 1e-6
    narrow = bound_of(judged, measure, "search", width=1, rounds=1)
    check_proven(narrow, wanted)


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
@given(judged=pools(2, 4), weight_of_crp=st.sampled_from([0.01, 0.2, 1]))
@examples(15)
def test_crp_beside_a_linear_base_is_assigned(judged: Judged, weight_of_crp: float) -> None:
    """Documents are assigned to ranks by what they add at each; sorting by gain would ignore CRP."""
    bases, weights = {}, {}
    settings_of_aspects = [("CRP", weight_of_crp), ("nDCG", 1)]
    for aspect, (base, weight) in zip(aspects_of(judged), settings_of_aspects, strict=False):
        bases[aspect] = base
        weights[aspect] = weight
    measure = CAM(base=bases, weights=weights, aspects=aspects_of(judged))
    row = bound_of(judged, measure)
    assert row["value"] == pytest.approx(best_by_force(measure, judged), abs=1e-9)
    assert row["bound"] == row["value"]


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
    """Sorting is not the best then; the explanation leaves the ideal out and shows the ranks."""
    # _Later multiplies gains by 1 + rank / 100.
    measure = kind(base=_Later(), aspects={"relevance": 2, "credibility": 1})
    qrels = {
        "q": {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    }
    explained = measure.explain({"q": {"a": 2.0, "b": 1.0}}, qrels, "q")
    assert explained.ideal is None
    assert "rank" in str(explained)


def test_discounts_that_increase_beyond_the_cutoff_make_no_difference() -> None:
    class SumOfTwo(_Later):
        """Sum the gains at ranks 1 and 2; the discount increases below rank 2, which is not read."""

        RANGE = (0.0, np.inf)

        def linear(self, target):
            return ma.forms.Linear(
                target, target.gain, lambda rank: np.where(rank <= 2, 1.0, rank), depth=2
            )

    judged = {
        "a": {"relevance": 0},
        "b": {"relevance": 1},
        "c": {"relevance": 2},
        "d": {"relevance": 1},
    }
    assert bound_of(judged, On(base=SumOfTwo()))["value"] == 2 + 1  # c, then b or d


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
    """Where the lowest grade has a probability, unjudged documents below the judged ones add to a value.

    The bound includes any number of them; `value` is that of the judged documents alone.
    """
    scale = Aspect(2, probabilities=[0.1, 0.5, 1])
    measure = ma.uRBPgr(p=0.9, aspects={"relevance": scale, "understandability": scale})
    if cutoff is not None:
        measure = measure @ cutoff
    judged = {
        "lowest": {"relevance": 0, "understandability": 0},
        "better": {"relevance": 2, "understandability": 0},
    }
    row = bound_of(judged, measure)
    unjudged = {f"new {n}": -float(n) for n in range(1000)}
    run = {"q": {"better": 3.0, "lowest": 2.0, **unjudged}}
    assert measure.calc_aggregate({"q": judged}, run) == pytest.approx(row["bound"], abs=1e-12)
    assert row["gap"] == pytest.approx(row["bound"] - row["value"])
    if cutoff == 1:  # reads the first judged document only
        assert row["gap"] <= 1e-4
    else:
        assert row["gap"] > 1e-4


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
    """The paper sorts documents by aspect after aspect ("recursive"), or by a figure of their labels."""
    base = data.draw(st.sampled_from(LINEAR + OTHERS))
    family = data.draw(st.sampled_from([CAM, MM, GAM]))
    measure = family(base=base, aspects=aspects_of(judged))
    best = bound_of(judged, measure)
    values = ideal_values({"q": judged}, measure).set_index("strategy")["value"]
    by_figure = ["sum", "squares", "max"]
    n_recursive = math.factorial(len(aspects_of(judged)))  # one per order of the aspects
    assert len(values) == n_recursive + len(by_figure)
    assert best["value"] >= values.max() - 1e-12
    highest_recursive = values.drop(by_figure).max()
    assert bound_of(judged, measure, "recursive")["value"] == highest_recursive
    for strategy in by_figure:
        row = bound_of(judged, measure, strategy)
        assert row["value"] == values[strategy]
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
    """Relevance and correctness are d1 (5, 10), d2 (15, 5), d3 (15, 0): Table 3 of the paper."""
    table = ideal_values(QRELS_3, CAM(base="nDCG", aspects=ASPECTS_3))
    values = {row["strategy"]: round(row["value"], 4) for row in table.to_dict("records")}
    assert values == {
        "relevance > correctness": 0.8801,  # d2 d3 d1
        "correctness > relevance": 0.9073,  # d1 d2 d3
        "sum": 0.8801,  # d2 by 20; d3 and d1, which tie by 15
        "squares": 0.8801,  # d2 by 250, d3 by 225, d1 by 125
        "max": 0.8801,  # d2 and d3, which tie by 15, d1 by 10
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
@pytest.mark.parametrize(
    "measure",
    [
        CAM(base="AP", aspects=dict.fromkeys(NAMES, GRADES)),
        MM(base="nDCG", aspects=dict.fromkeys(NAMES, GRADES)),
        CAM(
            base={"relevance": "nDCG@5", "credibility": "AP", "understandability": "AP"},
            aspects=dict.fromkeys(NAMES, GRADES),
        ),
    ],
    ids=["CAM of AP", "MM of nDCG", "CAM of nDCG@5 and AP"],
)
def test_bounds_do_not_depend_on_the_order_of_rows(measure: ma.Measure) -> None:
    qrels = large(40)
    table = upper_bound(qrels, measure, width=3, rounds=3)
    shuffled = upper_bound(qrels.sample(frac=1, random_state=1), measure, width=3, rounds=3)
    pd.testing.assert_frame_equal(table, shuffled, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_bounds_do_not_depend_on_the_hash_seed() -> None:
    """Two processes whose sets have other orders print the same."""
    script = (
        "import pt_multiaspect as ma, test_bounds as t\n"
        "m = ma.CAM(base='AP', aspects=dict.fromkeys(t.NAMES, t.GRADES))\n"
        "print(ma.analysis.upper_bound(t.large(40), m, width=3).to_json(double_precision=15))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    ]  # fmt: skip
    assert outputs[0] == outputs[1]


# -- shares of topics ---------------------------------------------------------------------------


def test_attainable_counts_topics() -> None:
    """Attainable is the fraction of topics with a ranking of value 1."""
    aspects = {"relevance": 1, "credibility": 1}
    both = {"relevance": 1, "credibility": 1}
    relevant = {"relevance": 1, "credibility": 0}
    credible = {"relevance": 0, "credibility": 1}
    neither = {"relevance": 0, "credibility": 0}
    qrels = {
        "q1": {"d0": both},
        "q2": {"d0": relevant, "d1": credible},
        "q3": {"d0": neither},
        "q4": {"d0": both, "d1": relevant, "d2": credible},
    }
    measures = [
        CAM(base="AP", aspects=aspects),
        CAM(base="RR", aspects=aspects),
        TOMA(aspects=aspects),
        "AP",
    ]
    table = attainable(qrels, measures).set_index("measure")
    expected = [
        1 / 4,  # q1: below the first rank, one of the aspects has a document too late
        2 / 4,  # q1, q4: the first document has both
        3 / 4,  # all but q3, where nothing can score
        3 / 4,  # of relevance: all but q3
    ]
    assert table["attainable"].tolist() == expected
    assert table["unattainable"].tolist() == [1 - fraction for fraction in expected]
    assert (table["undecided"] == 0).all()
    assert table["n_queries"].tolist() == [4] * 4
    assert (table["minimum"] == 0).all()  # on q3
    assert table.index[-1] == "AP"


def test_attainable_of_a_single_measure_is_one_row() -> None:
    assert len(attainable(QRELS_3, CAM(aspects=ASPECTS_3))) == 1


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


UNLIKE_DOCUMENTS = {
    "q": {
        "a": {"relevance": 1, "credibility": 0},
        "b": {"relevance": 0, "credibility": 1},
        "c": {"relevance": 1},
    }
}


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
def test_measures_with_a_bound_that_are_no_sums_over_ranks_of_gains(measure: ma.Measure) -> None:
    table = upper_bound(UNLIKE_DOCUMENTS, measure)
    assert np.isfinite(table[["value", "bound"]].to_numpy()).all()


def test_the_error_of_a_measure_without_a_bound_states_conditions() -> None:
    """No list of measures, which would leave some out."""
    with pytest.raises(MultiAspectError) as error:
        upper_bound(UNLIKE_DOCUMENTS, NLRE(aspects=TWO))
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
    """The bound of the documents and ranks that are required is the bound of all of them."""
    measure = CAM(base=base, aspects=TWO, normalized=normalized)
    qrels = graded(60, n_queries=4)
    reduced = upper_bound(qrels, measure)

    def keep_all(objective, index, documents, ranks):
        return documents, ranks

    monkeypatch.setattr(best_ranking, "_required_documents", keep_all)
    whole = upper_bound(qrels, measure)
    assert reduced["value"].tolist() == pytest.approx(whole["value"].tolist(), rel=1e-13)
    assert reduced["bound"].tolist() == pytest.approx(whole["bound"].tolist(), rel=1e-13)


@pytest.mark.slow
def test_many_judged_documents() -> None:
    """A matrix of all 50 000 documents and ranks would take 20 GB."""
    qrels = graded(50_000)
    table = upper_bound(qrels, CAM(base=CUTOFFS, aspects=TWO))
    # As many documents as nDCG@20 reads have the highest grades on both aspects.
    n_best = ((qrels["relevance"] == 2) & (qrels["credibility"] == 3)).sum()
    assert n_best > 20
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
    """Rows of five numbers below `size` have equal keys if they are equal, also if 62 bits are too few."""
    rng = np.random.default_rng(size)
    different_rows = rng.integers(size, size=(60, 5))
    rows = different_rows[rng.integers(60, size=200)]  # most of them several times
    rows[0] = size - 1  # the highest and the lowest possible row
    rows[1] = 0
    keys = row_keys(rows, [size] * 5)
    assert keys.dtype == np.int64
    for position in range(len(rows)):
        are_equal_rows = (rows == rows[position]).all(axis=1)
        assert ((keys == keys[position]) == are_equal_rows).all()
