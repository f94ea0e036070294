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
    for case in golden(f"{name}.json")["cases"]:
        labels = {
            docno: {aspect: NAN if label is None else label for aspect, label in judged.items()}
            for docno, judged in case["labels"].items()
        }
        measure = read(case["measure"])(aspects=case["grades"])
        # A judged topic, as an aspect may have no label in the case.
        other = {"d": dict.fromkeys(case["grades"], 0)}
        runs = {side: run_of(*case[side]) for side in "ab"}
        result = quiet(runs, {"q": labels, "other": other}, measure)
        parts = (case["value_a"], case["value_b"], case["difference"])
        expected = [float(Fraction(part[end])) / 2 for part in parts for end in ("low", "high")]
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


@pytest.mark.every(5)
@pytest.mark.parametrize("enumerating", [True, False])
@pytest.mark.parametrize("text", MEASURES)
def test_intervals_are_those_of_enumeration(
    text: str, enumerating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without enumeration, what is called exact is so, and bounds are not too narrow."""
    if not enumerating:
        monkeypatch.setattr(_value_intervals, "MOST_OF_TOPIC", 0)
    measure = read(text)(aspects=SCALES)
    rng = np.random.default_rng(len(text))
    for _ in range(2):
        qrels, runs = draw_world(rng, 150)
        result = quiet(runs, qrels, measure)
        frames = (result.runs, result.pairs)
        for frame, expected in zip(frames, enumerate_means(measure, qrels, runs), strict=True):
            computed, exact = frame[["low", "high"]].to_numpy(), frame["exact"].to_numpy()
            np.testing.assert_allclose(computed[exact], expected[exact], rtol=1e-12, atol=1e-12)
            known = ~np.isnan(computed).any(axis=1)
            assert (computed[known, 0] <= expected[known, 0] + 1e-12).all()
            assert (computed[known, 1] >= expected[known, 1] - 1e-12).all()
            assert exact.all() or not enumerating


COUNTING = ["AP", "AP@2", "AP(rel=2)", "Rprec", "SetF", "SetF(beta=3.0)", "SetAP", "SetAP(rel=2)"]


@pytest.mark.every(4)
@pytest.mark.parametrize("base", COUNTING)
def test_bases_that_count_relevant_documents(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Topic by topic, on the documents that may be relevant, values are those of all documents of all topics."""
    monkeypatch.setattr(_value_intervals, "MOST_OF_TOPIC", 0)  # no enumeration
    measures = [
        ma.On(aspect="credibility", base=base, aspects=SCALES),
        ma.CAM(base=base, aspects=SCALES),
    ]
    rng = np.random.default_rng(20 + len(base))
    for _ in range(2):
        qrels, runs = draw_world(rng, 2000)
        runs["a"]["q1"]["new"] = runs["b"]["q2"]["other"] = -0.5
        results = [quiet(runs, qrels, measures)]
        with monkeypatch.context() as context:
            context.setattr(_value_intervals, "Counting", type(None))
            results.append(quiet(runs, qrels, measures))
        pd.testing.assert_frame_equal(results[0].runs, results[1].runs, rtol=1e-15, atol=0)
        pd.testing.assert_frame_equal(results[0].pairs, results[1].pairs, rtol=1e-13, atol=1e-15)
        assert results[0].runs["exact"].all()


@pytest.mark.parametrize(
    ("text", "of_runs", "of_pairs"),
    [
        ("CAM@3", True, True),
        ("TOMA@3", True, True),
        ("unDCG@3", True, True),
        ("uRBP", True, True),
        ("CAM(base='R@2')", True, True),
        ("CAM(base='DCG')@3", True, True),
        ("MM@3", True, False),
        ("CAM(base='AP')", True, False),
        ("TOMA(base='ERR')@3", True, False),
        ("NWCS@3", True, False),
        ("NWCS(ideal='judged')@1", True, True),
        ("NWCS(ideal='separate')@3", True, False),
        ("CAM(normalized=True)@3", False, False),
        ("NLRE@3", False, False),
    ],
)
def test_what_is_exact_without_enumeration(
    text: str, of_runs: bool, of_pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_value_intervals, "MOST_OF_TOPIC", 0)
    qrels, runs = draw_world(np.random.default_rng(1), 150)
    result = quiet(runs, qrels, read(text)(aspects=SCALES))
    assert result.runs["exact"].all() == of_runs
    assert result.runs["low"].notna().all() == of_runs
    assert result.pairs["exact"].all() == of_pairs
    assert any("bounded by" in note or "no interval" in note for note in result.notes) == (
        not of_pairs
    )


def test_a_measure_of_a_users_own_with_an_ideal_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    class Steep(ma.LinearMeasure):
        """A sum with the discount 1 / rank, over that of the ideal ranking."""

        SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}

        def linear(self, target: Any) -> Any:
            discount = ma.forms.Reciprocal()
            ideal = ma.forms.Ideal(discount, self.cutoff)
            return ma.forms.Linear(target, target.gain, discount, depth=self.cutoff, ideal=ideal)

    ma.testing.check_measure(Steep)
    monkeypatch.setattr(_value_intervals, "MOST_OF_TOPIC", 0)
    qrels, runs = draw_world(np.random.default_rng(2), 150)
    measure = ma.CAM(base=Steep(cutoff=3), aspects=SCALES)
    result = quiet(runs, qrels, measure)
    for frame, expected in zip(
        (result.runs, result.pairs), enumerate_means(measure, qrels, runs), strict=True
    ):
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
    measure = ma.On(base=name, aspects={"relevance": 1})
    result = quiet(KNOWN_RUNS, KNOWN, measure, n_samples=20)
    values = []
    for labels in itertools.product([0.0, 1.0], repeat=3):
        qrels = {
            "q1": {docno: dict(row) for docno, row in KNOWN["q1"].items()},
            "q2": {**KNOWN["q2"], "new": {"relevance": labels[2]}},
        }
        qrels["q1"]["d2"]["relevance"], qrels["q1"]["d3"]["relevance"] = labels[:2]
        values.append(value_of(KNOWN_RUNS, qrels, measure))
    a, b = np.transpose(values)
    expected = [end for column in (a, b, a - b) for end in (column.min(), column.max())]
    np.testing.assert_allclose(extremes(result), expected, atol=1e-15)
    assert result.runs["exact"].all()
    assert result.runs["expected"].between(result.runs["low"], result.runs["high"]).all()
    assert value_of(KNOWN_RUNS, KNOWN, measure) == result.runs["value"].tolist()


def test_functions_read_further_columns_and_miss_none_silently() -> None:
    def count_known(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        return float(qrels["known"].sum())

    inputs = ["query_id", "doc_id", "relevance", "known"]
    function = ir_measures.define_byquery(count_known, name="CountKnown", qrel_inputs=inputs)
    measure = ma.On(base=function, aspects={"relevance": 1})
    result = quiet(KNOWN_RUNS, KNOWN, measure)
    assert set(extremes(result)[:4]) == {1.5}
    without = {"q1": {"d1": {"relevance": 1}}}
    with pytest.raises(MultiAspectError, match=r"expected columns of the qrels \(.*\), got known"):
        quiet(KNOWN_RUNS, without, measure)


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


def test_the_universe_reaches_to_the_cutoff() -> None:
    run = {"a": run_of("d1", "d2", "new", "newer")}
    counts = [
        missing_labels(run, ONE_HOLE, measure).universe["documents"][0]
        for measure in (CAM, CAM @ 3)
    ]
    assert counts == [3, 4]


@pytest.mark.parametrize(
    "base", ["P(judged_only=True)@2", "nDCG(judged_only=True)@2", "AP(judged_only=True)@2"]
)
@pytest.mark.parametrize(
    ("unjudged", "code", "reaches"),
    [([], 0, True), ([], 1, True), ([], 2, False), ([-1], 0, False)],
)
def test_condensed_rankings_are_cut_after_they_are_condensed(
    unjudged: list[int], code: int, reaches: bool, base: str
) -> None:
    """Kind: cutoffs before documents are left out. A code -1 in the first ranks gave [0, .5] for [.5, 1]."""
    aspect = ma.Aspect(grades=[0, 1], unjudged=unjudged)
    measure = ma.On(base=base, aspects={"relevance": aspect})
    runs = {"a": run_of("d0", "d1", "d2", "d3"), "b": run_of("d1", "d0")}
    for known in (0, 1, NAN):
        # Of a code that is a label, the document is always left out: d2 counts, which has no
        # judgment.
        labels = {"d0": known, "d1": known, f"d{code}": -1, "other": 1}
        qrels = pd.DataFrame(
            {"qid": "q", "docno": list(labels), "relevance": list(labels.values())}
        )
        result = quiet(runs, qrels, measure)
        universe = {**labels, "d2": NAN} if reaches else labels
        missing = [
            docno for docno, label in universe.items() if np.isnan(label) or label in unjudged
        ]
        values = []
        for grades in itertools.product([0, 1], repeat=len(missing)):
            complete = {**universe, **dict(zip(missing, grades, strict=True))}
            completion = {"q": {docno: {"relevance": label} for docno, label in complete.items()}}
            values.append(
                ma.evaluate(runs, completion, measure, progress=False)["value"].to_numpy()
            )
        assert result.runs["exact"].all()
        ends = result.runs[["low", "high"]].to_numpy()
        assert ends == pytest.approx(
            np.stack([np.min(values, axis=0), np.max(values, axis=0)], axis=1), abs=1e-12
        )
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
    scales = {"relevance": [1, 2, 3]}
    result = quiet(
        {"a": run_of("d1", "new")},
        {"q": {"d1": {"relevance": 1}}},
        ma.CAM(base="DCG", aspects=scales),
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
    measure = read(text)(aspects=SCALES)
    qrels, runs = lose_labels(seed + len(text))
    result = quiet(runs, qrels, measure, n_samples=1, seed=seed)
    filled = ma.fill_labels(qrels, runs, aspects=SCALES, depth=measure.cutoff, seed=seed)
    np.testing.assert_allclose(result.runs["expected"], value_of(runs, filled, measure), rtol=1e-13)
    a, b = (result.pairs[side].map(result.runs.set_index("name")["expected"]) for side in "ab")
    np.testing.assert_array_equal(result.pairs["expected"], a - b)


def test_expected_values_are_means_over_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three donors are of the topic, so that theirs is drawn in 2/7 of the cases, and any in 5/7."""
    donors = {"q1": {"d1": 1, "d2": 1}, "q2": {"d3": 0}}
    qrels = {
        qid: {docno: {"relevance": label} for docno, label in judged.items()}
        for qid, judged in donors.items()
    }
    runs = {"a": {"q1": {"new": 1.0}, "q2": {"d3": 1.0}}}
    measure = ma.On(base="P@1", aspects={"relevance": 1})
    expected = (2 / 7 + 5 / 7 * 2 / 3) / 2
    values = []
    module = importlib.import_module(
        "pt_multiaspect.analysis.missing_labels"
    )  # the attribute is the function
    for size in (module._BATCH, 3 * 700):
        monkeypatch.setattr(module, "_BATCH", size)
        values.append(quiet(runs, qrels, measure, n_samples=20_000).runs["expected"][0])
    assert values[0] == pytest.approx(expected, abs=0.006)
    assert values[1] == pytest.approx(values[0], rel=1e-12)


def test_labels_of_a_model_fill_what_they_have() -> None:
    qrels, runs = lose_labels(7)
    model = {"q2": {"new": {"relevance": 2, "credibility": 1}}}
    measure = ma.CAM(aspects=SCALES) @ 3
    result = quiet(runs, qrels, measure, n_samples=100, labels=model)
    filled = ma.fill_labels(qrels, runs, model, aspects=SCALES, depth=3)
    assert result.runs["expected"].tolist() == pytest.approx(
        value_of(runs, filled, measure), rel=1e-13
    )
    assert (result.universe["unfilled"] == result.universe["missing"] - 1).all()
    assert result.universe["unfilled"].tolist() == filled[list(SCALES)].isna().sum().tolist()


def test_labels_behind_a_gate_are_not_missing() -> None:
    """Credibility is judged for relevant documents only."""
    qrels = {
        "q": {
            "d1": {"relevance": 2, "credibility": 1},
            "d2": {"relevance": 0},
            "d3": {"relevance": 0},
        }
    }
    runs = {"a": run_of("d1", "d2"), "b": run_of("d3", "d1")}
    gated = missing_labels(runs, qrels, ma.CAM(gate="relevance", aspects=SCALES) @ 2)
    assert (gated.universe["missing"] == 0).all()
    assert (gated.runs[["value", "low", "high", "expected"]].nunique(axis=1) == 1).all()
    assert (gated.runs["judged"] == 1).all()
    alone = missing_labels(runs, qrels, ma.CAM(aspects=SCALES) @ 2)
    assert alone.runs["expected"].isna().all()
    assert alone.runs["exact"].all()
    assert re.search(
        r"no expected values: .* none for document d2 of topic q .*gate=.*labels=\.$",
        alone.notes[0],
    )
    without = missing_labels(runs, qrels, ma.CAM(aspects=SCALES) @ 2, n_samples=0)
    assert without.runs["expected"].isna().all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("year", "files", "signs"),
    [
        (
            2015,
            {"relevance": "qrels.graded", "understandability": "qread.graded"},
            (549, 2278, 367, 1688),
        ),
        (
            2018,
            {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"},
            (624, 630, 345, 345),
        ),
    ],
)
def test_certain_signs_on_clef(year: int, files: dict[str, str], signs: tuple[int, ...]) -> None:
    folder = shared_path("data", f"clef{year}")
    qrels = ma.read_qrels({name: folder / f"{file}.txt.gz" for name, file in files.items()})
    table = pd.read_csv(
        folder / "runs.top100.tsv.gz", sep="\t", names=["run", "qid", "rank", "docno"], dtype=str
    )
    runs = dict(iter(table.assign(score=-table["rank"].astype(float)).groupby("run")))
    result = quiet(
        runs, qrels, ma.CAM(aspects=ma.datasets.info(f"clef-ehealth-{year}").aspects) @ 10
    )
    certain, pairs, of_tested, tested = signs
    text = f"certain for {certain} of {pairs} pairs, and for {of_tested} of {tested} with p < 0.05."
    assert result.summary.endswith(text)
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
    """Run a has the better document, which only it retrieves: its difference turns if this document is lost."""
    aspects = ma.Aspects({"relevance": 2})
    labels = {"good": 2, "fair": 1, "bad": 0}
    qrels = pd.DataFrame({"qid": "q", "docno": list(labels), "relevance": list(labels.values())})
    runs = {
        name: pd.DataFrame({"qid": "q", "docno": docnos, "score": [2.0, 1.0]})
        for name, docnos in {"a": ["good", "bad"], "b": ["fair", "bad"]}.items()
    }
    nothing = np.zeros((3, 1), dtype=bool)
    assert set(readings.right_signs(runs, qrels, nothing, aspects).values()) == {1.0}
    lost = (qrels["docno"] == "good").to_numpy()[:, None]
    shares = readings.right_signs(runs, qrels, lost, aspects, "a")
    assert (shares["lowest"], shares["condensed"]) == (0.0, 0.0)
    top = pd.concat([run.assign(name=name) for name, run in runs.items()])
    masks = {name: mask[:, 0].tolist() for mask, name in readings.new_system(top, qrels)}
    assert masks == {"a": [True, False, False], "b": [False, True, False]}
