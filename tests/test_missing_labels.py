"""Intervals of values and differences over missing labels: golden cases, enumeration, refusals and notes."""

from __future__ import annotations

import importlib
import itertools
import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.analysis import _value_intervals, missing_labels
from pt_multiaspect.analysis.missing_labels import MissingLabels
from pt_multiaspect.integration.parsing import parse

NAN = float("nan")
SCALES = {"relevance": 2, "credibility": 3}
Labels = dict[str, dict[str, dict[str, float]]]


def run_of(*documents: str) -> dict[str, dict[str, float]]:
    return {"q": {docno: -float(rank) for rank, docno in enumerate(documents)}}


def extremes(result: MissingLabels) -> list[float]:
    """The extremes of a, b and their difference."""
    frames = (result.runs, result.pairs)
    return [
        number
        for frame in frames
        for row in frame[["low", "high"]].to_numpy().tolist()
        for number in row
    ]


def quiet(*args: Any, **options: Any) -> MissingLabels:
    """Intervals without warnings, and without expected values unless `n_samples` is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return missing_labels(*args, **{"n_samples": 0, **options})


def read(text: str) -> Any:
    (measure,) = parse(text)
    return measure


# -- golden cases
# --------------------------------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("missing_labels", 1e-12),
        ("missing_labels_fractions", 1e-15),
        ("missing_labels_large", 1e-12),
    ],
)
def test_golden_cases(name: str, tolerance: float) -> None:
    """The extremes of run a, run b and their difference equal the exact fractions of a reference."""
    for case in golden(f"{name}.json")["cases"]:
        labels = {
            docno: {aspect: NAN if label is None else label for aspect, label in judged.items()}
            for docno, judged in case["labels"].items()
        }
        measure = read(case["measure"])(aspects=case["grades"])
        runs = {side: run_of(*case[side]) for side in "ab"}
        # An aspect may have no label in the case: a second topic, which no run answers, has all.
        qrels = {"q": labels, "unanswered": {"d": dict.fromkeys(case["grades"], 0)}}

        result = quiet(runs, qrels, measure)

        expected = []
        for quantity in ("value_a", "value_b", "difference"):
            for end in ("low", "high"):
                value_of_q = float(Fraction(case[quantity][end]))
                expected.append((value_of_q + 0) / 2)  # the mean of two topics: unanswered is 0
        np.testing.assert_allclose(
            extremes(result), expected, rtol=0, atol=tolerance, err_msg=case["id"]
        )
        assert result.runs["exact"].all()
        assert result.pairs["exact"].all()


# -- enumeration through evaluate
# ----------------------------------------------------------------------------


def draw_world(
    rng: np.random.Generator, most: int
) -> tuple[Labels, dict[str, dict[str, dict[str, float]]]]:
    """Two topics with missing labels, and three runs, which also retrieve a document that is not judged."""
    qrels: Labels = {}
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in "abc"}
    for qid in ("q1", "q2"):
        documents = [f"d{number}" for number in range(int(rng.integers(3, 6)))]
        qrels[qid] = {
            docno: {name: float(rng.integers(0, top + 1)) for name, top in SCALES.items()}
            for docno in documents
        }
        number = 1
        for _ in range(5):
            docno, name = str(rng.choice(documents)), str(rng.choice(list(SCALES)))
            if number * (SCALES[name] + 1) <= most and not np.isnan(qrels[qid][docno][name]):
                qrels[qid][docno][name] = NAN
                number *= SCALES[name] + 1
        for run in runs.values():
            chosen = rng.permutation(documents)[: rng.integers(1, len(documents) + 1)]
            run[qid] = {str(docno): -float(rank) for rank, docno in enumerate(chosen)}
    return qrels, runs


def enumerate_means(measure: Any, qrels: Labels, runs: Any) -> tuple[Any, Any]:
    """The mean extremes of runs and pairs, of `evaluate` on every completion of each topic."""
    ends = []
    for qid, judged in qrels.items():
        holes = [
            (d, name)
            for d, labels in judged.items()
            for name, label in labels.items()
            if np.isnan(label)
        ]
        completed = {}
        for number, grades in enumerate(
            itertools.product(*(range(SCALES[name] + 1) for _, name in holes))
        ):
            labels = {docno: dict(row) for docno, row in judged.items()}
            for (docno, name), grade in zip(holes, grades, strict=True):
                labels[docno][name] = float(grade)
            completed[f"{number:05d}"] = labels
        copies = {name: dict.fromkeys(completed, run[qid]) for name, run in runs.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            long = ma.evaluate(copies, completed, measure, progress=False)
        table = long.pivot(index="name", columns="qid", values="value").loc[list(runs)].to_numpy()
        first, second = np.transpose(list(itertools.combinations(range(len(runs)), 2)))
        pairs = table[first] - table[second]
        ends.append(
            [np.stack([rows.min(axis=1), rows.max(axis=1)], axis=1) for rows in (table, pairs)]
        )
    of_runs, of_pairs = (np.mean(part, axis=0) for part in zip(*ends, strict=True))
    return of_runs, of_pairs


MEASURES = [
    "On(base='nDCG@3')", "On(base='nDCG(dcg=\"exp-log2\")@3')", "CAM(weights={'relevance':3,'credibility':1})@3",
    "CAM(gate='relevance')@3", "CAM(empty='drop')@3", "CAM(normalized=True)@3", "MM@3", "GAM(base='AP')",
    "TOMA@3", "TOMA(distance='chebyshev',gate='relevance')@3", "TOMA(weighting='exponential')@3",
    "TOMA(base='AP',positives='top-half')", "TOMA(base='ERR')@3", "CAM(base='R@2')", "CAM(base='Rprec')",
    "CAM(base='SetF')", "CAM(base='DCG')@3", "CAM(base={'relevance':'nDCG@2','credibility':'P@2'})", "uRBP",
    "uRBPgr", "unDCG@3", "uERR@3", "RBU", "NWCS@3", "NWCS(ideal='judged')@3", "NWCS(ideal='separate')",
    "NLRE@3", "On(base='CRP')@3",
]  # fmt: skip


def stop_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow no completion of the labels to be enumerated, so that intervals must be derived."""
    monkeypatch.setattr(_value_intervals, "MOST_OF_TOPIC", 0)


@pytest.mark.every(5)
@pytest.mark.parametrize("enumerating", [True, False])
@pytest.mark.parametrize("text", MEASURES)
def test_intervals_are_those_of_enumeration(
    text: str, enumerating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals marked exact equal the extremes over all completions of the labels; others contain them.

    With enumeration (the default for few missing labels) all are exact.
    """
    if not enumerating:
        stop_enumeration(monkeypatch)
    measure = read(text)(aspects=SCALES)
    rng = np.random.default_rng(len(text))
    for _ in range(2):
        qrels, runs = draw_world(rng, 150)
        result = quiet(runs, qrels, measure)
        runs_expected, pairs_expected = enumerate_means(measure, qrels, runs)
        for frame, expected in ((result.runs, runs_expected), (result.pairs, pairs_expected)):
            exact = frame["exact"].to_numpy()
            if enumerating:
                assert exact.all()
            computed = frame[["low", "high"]].to_numpy()
            np.testing.assert_allclose(computed[exact], expected[exact], rtol=1e-12, atol=1e-12)

            has_interval = frame["low"].notna() & frame["high"].notna()
            low, high = computed[has_interval].T
            lowest, highest = expected[has_interval].T
            assert (low <= lowest + 1e-12).all()
            assert (high >= highest - 1e-12).all()


COUNTING = ["AP", "AP@2", "AP(rel=2)", "Rprec", "SetF", "SetF(beta=3.0)", "SetAP", "SetAP(rel=2)"]


@pytest.mark.every(4)
@pytest.mark.parametrize("base", COUNTING)
def test_bases_that_count_relevant_documents(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast way for these bases (class Counting) gives the intervals of the general way."""
    stop_enumeration(monkeypatch)
    measures = [
        ma.On(aspect="credibility", base=base, aspects=SCALES),
        ma.CAM(base=base, aspects=SCALES),
    ]
    rng = np.random.default_rng(20 + len(base))
    for _ in range(2):
        qrels, runs = draw_world(rng, 2000)
        # Two documents without judgments between ranks 1 (score 0) and 2 (score -1).
        runs["a"]["q1"]["new"] = -0.5
        runs["b"]["q2"]["other"] = -0.5

        fast = quiet(runs, qrels, measures)
        with monkeypatch.context() as context:
            # No measure is an instance of this type: all go the general way.
            context.setattr(_value_intervals, "Counting", type(None))
            general = quiet(runs, qrels, measures)

        pd.testing.assert_frame_equal(fast.runs, general.runs, rtol=1e-15, atol=0)
        pd.testing.assert_frame_equal(fast.pairs, general.pairs, rtol=1e-13, atol=1e-15)
        assert fast.runs["exact"].all()


@pytest.mark.parametrize(
    ("text", "runs_exact", "pairs_exact"),
    [
        # Sums over ranks with known weights.
        ("CAM@3", True, True),
        ("TOMA@3", True, True),
        ("unDCG@3", True, True),
        ("uRBP", True, True),
        ("CAM(base='R@2')", True, True),
        ("CAM(base='DCG')@3", True, True),
        ("NWCS(ideal='judged')@1", True, True),
        # Extremes of a run are known; those of a difference are bounded only.
        ("MM@3", True, False),
        ("CAM(base='AP')", True, False),
        ("TOMA(base='ERR')@3", True, False),
        ("NWCS@3", True, False),
        ("NWCS(ideal='separate')@3", True, False),
        # No extremes are known.
        ("CAM(normalized=True)@3", False, False),
        ("NLRE@3", False, False),
    ],
)
def test_what_is_exact_without_enumeration(
    text: str, runs_exact: bool, pairs_exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A note tells where intervals are not exact."""
    stop_enumeration(monkeypatch)
    qrels, runs = draw_world(np.random.default_rng(1), 150)
    result = quiet(runs, qrels, read(text)(aspects=SCALES))
    assert result.runs["exact"].all() == runs_exact
    assert result.runs["low"].notna().all() == runs_exact
    assert result.pairs["exact"].all() == pairs_exact
    is_noted = any("bounded by" in note or "no interval" in note for note in result.notes)
    assert is_noted == (not pairs_exact)


def test_a_measure_of_a_users_own_with_an_ideal_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of a user's own linear measure are exact, although no completion is enumerated."""

    class Steep(ma.LinearMeasure):
        """A sum of gains with the discount 1 / rank, divided by that of the ideal ranking."""

        SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}

        def linear(self, target: Any) -> Any:
            discount = ma.forms.Reciprocal()
            ideal = ma.forms.Ideal(discount, self.cutoff)
            return ma.forms.Linear(target, target.gain, discount, depth=self.cutoff, ideal=ideal)

    ma.testing.check_measure(Steep)
    stop_enumeration(monkeypatch)
    qrels, runs = draw_world(np.random.default_rng(2), 150)
    measure = ma.CAM(base=Steep(cutoff=3), aspects=SCALES)

    result = quiet(runs, qrels, measure)

    runs_expected, pairs_expected = enumerate_means(measure, qrels, runs)
    for frame, expected in ((result.runs, runs_expected), (result.pairs, pairs_expected)):
        assert frame["exact"].all()
        np.testing.assert_allclose(frame[["low", "high"]], expected, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 2.0**52])
def test_the_unit_of_gains_makes_no_difference(factor: float) -> None:
    qrels, runs = draw_world(np.random.default_rng(4), 150)
    plain, scaled = (
        quiet(
            runs,
            qrels,
            ma.CAM(aspects={"relevance": ma.Aspect(2, gains=gains), "credibility": 3}) @ 3,
        )
        for gains in ([0, 1, 3], [0, factor, 3 * factor])
    )
    np.testing.assert_allclose(extremes(plain), extremes(scaled), atol=1e-14)


KNOWN = {
    "q1": {
        "d1": {"relevance": 1, "known": 1},
        "d2": {"relevance": NAN, "known": 1},
        "d3": {"relevance": NAN, "known": 0},
    },
    "q2": {"d1": {"relevance": 0, "known": 0}, "d2": {"relevance": 1, "known": 1}},
}
KNOWN_RUNS = {
    "a": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d2": 1.0}},
    "b": {"q1": {"d3": 1.0}, "q2": {"new": 1.0}},
}


@pytest.mark.parametrize("name", ["CoverageRatio", "NoveltyRatio"])
def test_measures_that_read_further_columns_of_the_qrels(name: str) -> None:
    """These measures read the column `known` of the qrels, too; only relevance has missing labels.

    The intervals equal the extremes over the 2³ completions of the missing labels of relevance:
    of d2 and d3 in topic q1, and of the document without judgments in topic q2.
    """
    measure = ma.On(base=name, aspects={"relevance": 1})
    result = quiet(KNOWN_RUNS, KNOWN, measure, n_samples=20)

    values = []
    for label_d2, label_d3, label_new in itertools.product([0.0, 1.0], repeat=3):
        qrels = {
            "q1": {
                **KNOWN["q1"],
                "d2": {**KNOWN["q1"]["d2"], "relevance": label_d2},
                "d3": {**KNOWN["q1"]["d3"], "relevance": label_d3},
            },
            "q2": {**KNOWN["q2"], "new": {"relevance": label_new}},
        }
        values.append(value_of(KNOWN_RUNS, qrels, measure))
    a, b = np.transpose(values)
    difference = a - b
    expected = [a.min(), a.max(), b.min(), b.max(), difference.min(), difference.max()]

    np.testing.assert_allclose(extremes(result), expected, atol=1e-15)
    assert result.runs["exact"].all()
    assert result.runs["expected"].between(result.runs["low"], result.runs["high"]).all()
    assert result.runs["value"].tolist() == value_of(KNOWN_RUNS, KNOWN, measure)


def test_functions_read_further_columns_and_miss_none_silently() -> None:
    """A function that reads a further column of the qrels gets it, and an error tells if there is none."""

    def count_known(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        """Return the number of documents judged to be known, whatever their relevance."""
        return float(qrels["known"].sum())

    inputs = ["query_id", "doc_id", "relevance", "known"]
    function = ir_measures.define_byquery(count_known, name="CountKnown", qrel_inputs=inputs)
    measure = ma.On(base=function, aspects={"relevance": 1})

    result = quiet(KNOWN_RUNS, KNOWN, measure)
    # Two known documents in topic q1 and one in q2, for any run and any labels of relevance.
    assert result.runs["low"].tolist() == [(2 + 1) / 2] * 2
    assert result.runs["high"].tolist() == [(2 + 1) / 2] * 2

    without_known = {"q1": {"d1": {"relevance": 1}}}
    with pytest.raises(MultiAspectError, match=r"expected columns of the qrels \(.*\), got known"):
        quiet(KNOWN_RUNS, without_known, measure)


# -- what is said, and refused
# -------------------------------------------------------------------------------

ONE_HOLE = {
    "q": {
        "d1": {"relevance": 2, "credibility": 3},
        "d2": {"relevance": 1},
        "d3": {"relevance": 0, "credibility": 0},
    }
}
CAM = ma.CAM(aspects=SCALES) @ 2
RUNS = {"a": run_of("d1", "d2"), "b": run_of("d3", "new"), "c": run_of("d1", "d3")}


def test_one_run_has_no_pairs() -> None:
    result = missing_labels({"a": RUNS["a"]}, ONE_HOLE, CAM)
    assert len(result.runs) == 1
    assert result.pairs.empty
    assert "missing: 0 of relevance, 1 of credibility" in result.summary


def test_equal_runs_differ_by_0_for_certain() -> None:
    result = missing_labels({"a": RUNS["b"], "b": RUNS["b"]}, ONE_HOLE, CAM)
    row = result.pairs.iloc[0]
    assert (row["low"], row["high"], row["certain"]) == (0.0, 0.0, True)
    assert result.runs["high"].iloc[0] > result.runs["low"].iloc[0]


def test_pairs_with_a_baseline() -> None:
    pairs = missing_labels(RUNS, ONE_HOLE, CAM, baseline="c").pairs
    assert pairs[["a", "b"]].to_numpy().tolist() == [["a", "c"], ["b", "c"]]
    with pytest.raises(MultiAspectError, match="baseline"):
        missing_labels(RUNS, ONE_HOLE, CAM, baseline="d")


@pytest.mark.parametrize(
    ("cutoff", "n_documents"),
    [
        pytest.param(2, 3, id="the three judged documents"),
        pytest.param(3, 4, id="also the unjudged document at rank 3"),
    ],
)
def test_the_universe_reaches_to_the_cutoff(cutoff: int, n_documents: int) -> None:
    """Documents whose labels matter are those judged (d1, d2, d3) and those retrieved up to the cutoff."""
    run = {"a": run_of("d1", "d2", "new", "newer")}
    result = missing_labels(run, ONE_HOLE, CAM @ cutoff)
    assert result.universe["documents"][0] == n_documents


@pytest.mark.parametrize(
    "base", ["P(judged_only=True)@2", "nDCG(judged_only=True)@2", "AP(judged_only=True)@2"]
)
@pytest.mark.parametrize(
    ("unjudged", "coded", "d2_counts"),
    [
        pytest.param([], "d0", True, id="rank 1 is left out, so that d2 comes to rank 2"),
        pytest.param([], "d1", True, id="rank 2 is left out, so that d2 comes to rank 2"),
        pytest.param([], "d2", False, id="d2 itself is left out"),
        pytest.param([-1], "d0", False, id="the label of rank 1 is missing, and some completion"),
    ],
)
def test_condensed_rankings_are_cut_after_they_are_condensed(
    unjudged: list[int], coded: str, d2_counts: bool, base: str
) -> None:
    """With judged_only, a document that is left out makes room for one from below the cutoff of 2.

    The document `coded` has the label -1: with `unjudged=[-1]` a missing label, otherwise one of
    a document that is always left out. Intervals equal the extremes over all completions.
    """
    aspect = ma.Aspect(grades=[0, 1], unjudged=unjudged)
    measure = ma.On(base=base, aspects={"relevance": aspect})
    runs = {"a": run_of("d0", "d1", "d2", "d3"), "b": run_of("d1", "d0")}
    for label in (0, 1, NAN):
        labels = {"d0": label, "d1": label, coded: -1, "other": 1}
        qrels = pd.DataFrame(
            {"qid": "q", "docno": list(labels), "relevance": list(labels.values())}
        )
        result = quiet(runs, qrels, measure)

        # d2 has no judgment unless it is `coded`.
        universe = {**labels, "d2": NAN} if d2_counts else labels
        missing = [
            docno for docno, label in universe.items() if np.isnan(label) or label in unjudged
        ]
        values = []
        for grades in itertools.product([0, 1], repeat=len(missing)):
            complete = {**universe, **dict(zip(missing, grades, strict=True))}
            completion = {"q": {docno: {"relevance": label} for docno, label in complete.items()}}
            long = ma.evaluate(runs, completion, measure, progress=False)
            values.append(long["value"].to_numpy())

        assert result.runs["exact"].all()
        assert result.runs["low"].to_numpy() == pytest.approx(np.min(values, axis=0), abs=1e-12)
        assert result.runs["high"].to_numpy() == pytest.approx(np.max(values, axis=0), abs=1e-12)
        as_evaluated = ma.evaluate(runs, qrels, measure, progress=False)["value"].to_numpy()
        assert result.runs["value"].to_numpy() == pytest.approx(as_evaluated, abs=1e-12)


def test_codes_that_mean_not_judged_are_missing_labels() -> None:
    scales = {"relevance": 2, "credibility": ma.Aspect(3, unjudged=[9])}
    coded = {"q": {**ONE_HOLE["q"], "d2": {"relevance": 1, "credibility": 9}}}
    results = [
        missing_labels(RUNS, qrels, ma.CAM(aspects=scales) @ 2) for qrels in (coded, ONE_HOLE)
    ]
    pd.testing.assert_frame_equal(results[0].runs, results[1].runs)


def test_values_as_evaluated_may_lie_outside() -> None:
    """`evaluate` gives an unjudged document the gain 0, but every grade of this scale has a gain above 0."""
    result = quiet(
        {"a": run_of("d1", "unjudged")},
        {"q": {"d1": {"relevance": 1}}},
        ma.CAM(base="DCG", aspects={"relevance": [1, 2, 3]}),
    )
    assert result.runs["value"][0] < result.runs["low"][0]
    assert any("not that of any completion" in note for note in result.notes)


def test_a_run_that_widens_all_intervals_is_named() -> None:
    runs = {**RUNS, "b": run_of("d1", "d3"), "new": run_of("n1", "n2")}
    (note,) = missing_labels(runs, ONE_HOLE, CAM).notes
    assert note.startswith("CAM(aspects=")
    assert "new alone retrieves 2 of 2 documents without judgments" in note


@pytest.mark.parametrize(
    ("measures", "qrels", "message"),
    [
        ("CAM@2", ONE_HOLE, "expected declared grades of relevance"),
        (ma.HelpfulCompat, ONE_HOLE, "grades of relevance.*; leave the measure out"),
        (
            "nDCG@2",
            ONE_HOLE,
            r"declare them, as in On\(base='nDCG@2', aspects=\{'relevance': \[0, 1, 2\]\}\)",
        ),
        (
            ma.CAM(aspects={"relevance": ma.Aspect(2, gains=[-1, 0, 1]), "credibility": 3}),
            ONE_HOLE,
            "negative ones",
        ),
        (
            ma.uRBPgr(aspects={"relevance": ma.Aspect([0, 1], probabilities="identity")}),
            {"q": {"d1": 1}},
            "identity",
        ),
        (
            CAM,
            {"q": {"d1": {"relevance": 1, "credibility": NAN}}},
            "expected labels of credibility, got none",
        ),
    ],
)
def test_refusals(measures: Any, qrels: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=message):
        quiet({"a": run_of("d1")}, qrels, measures)


def test_suites_over_positive_topics_are_refused() -> None:
    with pytest.raises(MultiAspectError, match="over all judged topics"):
        missing_labels(RUNS, ONE_HOLE, ma.suite("trec-misinfo-2020"))


def test_it_prints_and_shows() -> None:
    result = missing_labels(RUNS, ONE_HOLE, CAM)
    assert "Missing labels" in str(result)
    assert "certain" in result.to_html()


# -- expected values
# -----------------------------------------------------------------------------------------


def lose_labels(seed: int) -> tuple[Labels, Any]:
    """Two topics with two complete documents each, of which one is positive and one is not, and missing labels."""
    qrels, runs = draw_world(np.random.default_rng(seed), 10**6)
    for judged in qrels.values():
        judged |= {
            "high": {"relevance": 2, "credibility": 3},
            "low": {"relevance": 0, "credibility": 0},
        }
    runs["a"]["q2"]["new"] = 5.0
    return qrels, runs


def value_of(runs: Any, qrels: Any, measure: Any) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = ma.aggregate(ma.evaluate(runs, qrels, {"m": measure}, progress=False))
    return list(table.set_index("name")["m"][list(runs)])


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "text", ["CAM@3", "TOMA@3", "MM(base='AP')", "NLRE@3", "CAM(base='Bpref')"]
)
@pytest.mark.parametrize("seed", [0, 3])
def test_one_draw_is_that_of_filled_qrels(text: str, seed: int) -> None:
    """The expected value of a single draw is the value on the qrels that `fill_labels` fills, by the same seed."""
    measure = read(text)(aspects=SCALES)
    world_seed = seed + len(text)  # another collection for each case
    qrels, runs = lose_labels(world_seed)
    result = quiet(runs, qrels, measure, n_samples=1, seed=seed)

    filled = ma.fill_labels(qrels, runs, aspects=SCALES, depth=measure.cutoff, seed=seed)
    np.testing.assert_allclose(result.runs["expected"], value_of(runs, filled, measure), rtol=1e-13)

    expected_values = result.runs.set_index("name")["expected"]
    a = result.pairs["a"].map(expected_values)
    b = result.pairs["b"].map(expected_values)
    np.testing.assert_array_equal(result.pairs["expected"], a - b)


def test_expected_values_are_means_over_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The label of a document without judgments is drawn from judged documents, of its own topic more often.

    With n judged documents in the topic, one of these is drawn with the probability n / (n + 5),
    otherwise one of any topic. Draws are made in batches, whose size makes no difference.
    """
    qrels = {
        "q1": {"d1": {"relevance": 1}, "d2": {"relevance": 1}},
        "q2": {"d3": {"relevance": 0}},
    }
    runs = {"a": {"q1": {"new": 1.0}, "q2": {"d3": 1.0}}}
    measure = ma.On(base="P@1", aspects={"relevance": 1})
    # The attribute of the package of this name is the function.
    module = importlib.import_module("pt_multiaspect.analysis.missing_labels")
    n_samples = 20_000

    in_one_batch = quiet(runs, qrels, measure, n_samples=n_samples).runs["expected"][0]
    monkeypatch.setattr(module, "_BATCH", 3 * 700)  # some 700 draws at a time
    in_small_batches = quiet(runs, qrels, measure, n_samples=n_samples).runs["expected"][0]

    own_topic = 2 / (2 + 5)  # the probability of d1 or d2, which are both relevant
    relevant_of_any_topic = 2 / 3
    value_q1 = own_topic + (1 - own_topic) * relevant_of_any_topic
    value_q2 = 0
    assert in_one_batch == pytest.approx((value_q1 + value_q2) / 2, abs=0.006)
    assert in_small_batches == pytest.approx(in_one_batch, rel=1e-12)


def test_labels_of_a_model_fill_what_they_have() -> None:
    """Labels of a model fill the missing labels that the model gives; the others stay missing."""
    qrels, runs = lose_labels(7)
    model = {"q2": {"new": {"relevance": 2, "credibility": 1}}}
    measure = ma.CAM(aspects=SCALES) @ 3

    result = quiet(runs, qrels, measure, n_samples=100, labels=model)

    filled = ma.fill_labels(qrels, runs, model, aspects=SCALES, depth=3)
    assert result.runs["expected"].tolist() == pytest.approx(
        value_of(runs, filled, measure), rel=1e-13
    )
    n_filled = 1  # per aspect: that of the document `new`
    assert (result.universe["missing"] - result.universe["unfilled"] == n_filled).all()
    assert result.universe["unfilled"].tolist() == filled[list(SCALES)].isna().sum().tolist()


GATED_QRELS = {
    "q": {
        "d1": {"relevance": 2, "credibility": 1},
        "d2": {"relevance": 0},  # credibility is judged for relevant documents only
        "d3": {"relevance": 0},
    }
}
GATED_RUNS = {"a": run_of("d1", "d2"), "b": run_of("d3", "d1")}


def test_labels_behind_a_gate_are_not_missing() -> None:
    """With the gate relevance, the credibility of documents that are not relevant does not matter."""
    result = missing_labels(GATED_RUNS, GATED_QRELS, ma.CAM(gate="relevance", aspects=SCALES) @ 2)
    assert (result.universe["missing"] == 0).all()
    assert (result.runs["judged"] == 1).all()
    for column in ("low", "high", "expected"):
        assert (result.runs[column] == result.runs["value"]).all()


def test_labels_that_are_never_judged_have_no_expected_values() -> None:
    """Without the gate, d2 needs the credibility of a judged document with relevance 0: there is none.

    The intervals, which need no such document, are known.
    """
    measure = ma.CAM(aspects=SCALES) @ 2

    result = missing_labels(GATED_RUNS, GATED_QRELS, measure)
    assert result.runs["expected"].isna().all()
    assert result.runs["exact"].all()
    assert re.search(
        r"no expected values: .* none for document d2 of topic q .*gate=.*labels=\.$",
        result.notes[0],
    )

    without_draws = missing_labels(GATED_RUNS, GATED_QRELS, measure, n_samples=0)
    assert without_draws.runs["expected"].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("year", "files", "summary"),
    [
        (
            2015,
            {"relevance": "qrels.graded", "understandability": "qread.graded"},
            "certain for 549 of 2278 pairs, and for 367 of 1688 with p < 0.05.",
        ),
        (
            2018,
            {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"},
            "certain for 624 of 630 pairs, and for 345 of 345 with p < 0.05.",
        ),
    ],
)
def test_certain_signs_on_clef(year: int, files: dict[str, str], summary: str) -> None:
    """The summary counts the pairs of real runs whose difference has one sign, whatever the missing labels."""
    folder = shared_path("data", f"clef{year}")
    qrels = ma.read_qrels({name: folder / f"{file}.txt.gz" for name, file in files.items()})
    table = pd.read_csv(
        folder / "runs.top100.tsv.gz", sep="\t", names=["run", "qid", "rank", "docno"], dtype=str
    )
    table["score"] = -table["rank"].astype(float)
    runs = dict(list(table.groupby("run")))
    measure = ma.CAM(aspects=ma.datasets.info(f"clef-ehealth-{year}").aspects) @ 10

    result = quiet(runs, qrels, measure)

    assert result.summary.endswith(summary)
    assert result.runs["exact"].all()
    assert result.pairs["exact"].all()


# -- the study of three readings
# -----------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def readings(study_module: Callable[[str], Any]) -> Any:
    return study_module("readings")


def test_the_page_has_the_recorded_figures(readings: Any) -> None:
    results = readings.load(readings.RESULTS)
    page = (ROOT / "docs" / "howto" / "unjudged.md").read_text(encoding="utf-8")
    assert "\n".join(readings.table(results)) in page
    for by_setting in (results["2015"], results["2018"]):
        for row in by_setting.values():
            others = [share for share in (row["condensed"], row["expected"]) if not np.isnan(share)]
            assert row["lowest"] <= min(others) + 0.005  # "never better", in two decimals


def test_the_study_counts_right_signs(readings: Any) -> None:
    """`right_signs` gives the fraction of pairs of runs whose order stays as labels are lost.

    Only run a retrieves the better document. If the label of this document is lost, the order of
    a and b turns with two of the readings.
    """
    aspects = ma.Aspects({"relevance": 2})
    qrels = pd.DataFrame({"qid": "q", "docno": ["good", "fair", "bad"], "relevance": [2, 1, 0]})
    runs = {
        "a": pd.DataFrame({"qid": "q", "docno": ["good", "bad"], "score": [2.0, 1.0]}),
        "b": pd.DataFrame({"qid": "q", "docno": ["fair", "bad"], "score": [2.0, 1.0]}),
    }
    # Masks have a row per judgment and a column per aspect.
    nothing_lost = np.array([[False], [False], [False]])
    good_lost = np.array([[True], [False], [False]])

    fractions = readings.right_signs(runs, qrels, nothing_lost, aspects)
    assert set(fractions.values()) == {1.0}
    fractions = readings.right_signs(runs, qrels, good_lost, aspects, "a")
    assert (fractions["lowest"], fractions["condensed"]) == (0.0, 0.0)


def test_the_study_loses_the_labels_that_a_run_contributes_alone(readings: Any) -> None:
    """`new_system` masks, for each run, the judgments of documents that no other run retrieves."""
    qrels = pd.DataFrame({"qid": "q", "docno": ["good", "fair", "bad"], "relevance": [2, 1, 0]})
    run_a = pd.DataFrame({"qid": "q", "docno": ["good", "bad"], "score": [2.0, 1.0], "name": "a"})
    run_b = pd.DataFrame({"qid": "q", "docno": ["fair", "bad"], "score": [2.0, 1.0], "name": "b"})

    masks = {}
    for mask, name in readings.new_system(pd.concat([run_a, run_b]), qrels):
        masks[name] = mask[:, 0].tolist()  # of the one aspect

    assert masks == {"a": [True, False, False], "b": [False, True, False]}
