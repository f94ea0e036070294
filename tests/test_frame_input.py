"""Frames of Polars, PyArrow and any Arrow library, in every function that takes frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import matplotlib
import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest
from frame_forms import FORMS, As
from frame_world import LONG, MEASURE, QID, QRELS, RUNS, SCALES, SCORE, TABLE, X, Y
from sklearn.linear_model import Ridge

import pt_multiaspect as ma
from pt_multiaspect import analysis, plots
from pt_multiaspect.collection.other_libraries import to_pandas
from pt_multiaspect.reporting import Report

matplotlib.use("Agg")

JUDGED = pd.DataFrame(
    [
        (f"q{q}", f"d{d}", criterion, judge, (d * q + number) % 3)
        for q in (1, 2) for d in range(4) for criterion in ("correct", "fluent")
        for number, judge in enumerate(("x", "y"))
    ],
    columns=["qid", "docno", "criterion", "judge", "value"],
)  # fmt: skip
JUDGED_RELEVANCE = JUDGED.replace({"criterion": {"correct": "relevance"}})
SUBTOPICS = pd.DataFrame(
    {"qid": ["q1"] * 2, "iteration": ["1", "2"], "docno": ["d1", "d2"], "label": [1, 2]}
)
BY_KIND = LONG.assign(kind=LONG["qid"].map({"q1": "x", "q2": "y", "q3": "x"}))
MANY = pd.DataFrame(
    [
        (name, f"q{q}", "AP", (q * step % 7) / 7)
        for name, step in (("a", 2), ("b", 3))
        for q in range(9)
    ],
    columns=["name", "qid", "measure", "value"],
)
TEXTS = pd.DataFrame(
    {"docno": [f"d{d}" for d in range(6)], "text": ["A hospital. " * (d + 1) for d in range(6)]}
)
RANKER = ma.AspectRanker(Ridge(), target=MEASURE).fit(X, Y)


def _evaluator_results(as_: As) -> Any:
    evaluator = ma.evaluator(as_(QRELS), {"CAM": MEASURE, "P@3": "P@3"})
    values = evaluator(as_(TABLE))
    return to_pandas(values), evaluator.complete(as_(LONG))


def _ranker_results(as_: As) -> Any:
    ranker = ma.AspectRanker(Ridge(), target=MEASURE).fit(as_(X), as_(Y), sample_weight=as_(SCORE))
    by_qid = ma.AspectRanker(Ridge(), target=MEASURE).fit(
        as_(X[["f1", "f2"]]), as_(Y), qid=as_(QID)
    )
    return ranker.predict(as_(X)), by_qid.coef if hasattr(by_qid, "coef") else by_qid.score(
        as_(X), as_(Y)
    )


def _boosters(as_: As) -> Any:
    metric = ma.metric_for("lightgbm", MEASURE, as_(Y), as_(QID))
    return metric(Y["relevance"], SCORE.to_numpy())


def _figure(ax: Any) -> Any:
    lines = [np.asarray(line.get_xydata()).tolist() for line in ax.lines]
    points = [
        np.asarray(drawn.get_offsets()).tolist()
        for drawn in ax.collections
        if hasattr(drawn, "get_offsets")
    ]
    return (
        lines,
        points,
        [text.get_text() for text in ax.texts],
        [str(image.get_array()) for image in ax.images],
    )


#: Calls that take frames, with a function that brings the frame of pandas it is given into another
#: form.
DOORS: dict[str, Callable[[As], Any]] = {
    "Judgments": lambda as_: (j := ma.Judgments(as_(QRELS)), j.label_names, j.labels("credibility"))[1:],
    "evaluate, by name": lambda as_: ma.evaluate(
        {"a": as_(RUNS["a"])}, as_(QRELS), [MEASURE, "AP"], progress=False
    ),
    "evaluate, alone": lambda as_: ma.evaluate(as_(RUNS["a"]), as_(QRELS), MEASURE, progress=False),
    "evaluate, listed": lambda as_: ma.evaluate([as_(RUNS["a"])], as_(QRELS), MEASURE, progress=False),
    "evaluate, generated": lambda as_: ma.evaluate(
        ((name, as_(run)) for name, run in RUNS.items()), as_(QRELS), MEASURE, progress=False
    ),
    "evaluator": _evaluator_results,
    "aggregate": lambda as_: ma.aggregate(as_(LONG), {"CAM": MEASURE, "P@3": "P@3"}, ci=0.9),
    "explain": lambda as_: ma.explain("AP", {"a": as_(RUNS["a"])}, as_(QRELS), "q1").ranks,
    "Measure.explain": lambda as_: MEASURE.explain(as_(RUNS["a"]), as_(QRELS), "q1").ranks,
    "largest_differences": lambda as_: ma.largest_differences(as_(LONG), "a", "b", "CAM"),
    "describe": lambda as_: str(ma.describe(as_(QRELS), SCALES, runs={"a": as_(RUNS["a"])})),
    "report": lambda as_: _report_content(ma.report({"a": as_(RUNS["a"])}, as_(QRELS), MEASURE, progress=False)),
    "systems_table": lambda as_: ma.systems_table(as_(LONG), {"CAM": MEASURE, "P@3": "P@3"}).to_latex(),
    "cite": lambda as_: ma.cite(as_(LONG[LONG["measure"] == "P@3"])),
    "crp_curve": lambda as_: ma.crp_curve(as_(RUNS["a"]), as_(QRELS)),
    "as_subtopics": lambda as_: ma.as_subtopics(as_(QRELS), SCALES),
    "from_subtopics": lambda as_: ma.from_subtopics(as_(SUBTOPICS)),
    "from_long": lambda as_: ma.from_long(as_(JUDGED), aspects={"correct": 2, "fluent": 2}),
    "with_readability": lambda as_: ma.with_readability(as_(QRELS), as_(TEXTS)),
    "Order.apply": lambda as_: ma.Order(
        {(r, c): r + c for r in range(3) for c in range(2)}, ["relevance", "credibility"]
    ).apply(as_(QRELS)),
    "correctness": lambda as_: ma.orders.correctness(
        as_(QRELS), dict.fromkeys(("q1", "q2", "q3"), "yes"), {0: "no", 1: "yes"}, "credibility"
    ),
    "aggregate_labels": lambda as_: ma.aggregate_labels(as_(QRELS), MEASURE).values,
    "correlation": lambda as_: analysis.correlation(as_(LONG)),
    "discriminative_power": lambda as_: analysis.discriminative_power(as_(LONG), "t").table,
    "compare_with_baseline": lambda as_: analysis.compare_with_baseline(as_(LONG), "a"),
    "groups of topics": lambda as_: (
        ma.aggregate(as_(BY_KIND), {"CAM": MEASURE, "P@3": "P@3"}, by="kind"),
        analysis.compare_with_baseline(as_(BY_KIND), "a", by="kind"),
    ),
    "weightings": lambda as_: analysis.weightings(
        as_(LONG), measures={"CAM": "higher", "P@3": "higher"}, n_resamples=10
    ).pairs,
    "multiverse": lambda as_: analysis.multiverse(as_(LONG), measures={"CAM": MEASURE, "P@3": "P@3"}).pairs,
    "ranks": lambda as_: analysis.ranks(as_(LONG), {"CAM": MEASURE, "P@3": "P@3"}, n_resamples=10).table,
    "zero_aspect_documents": lambda as_: analysis.zero_aspect_documents(
        as_(LONG), {name: as_(run) for name, run in RUNS.items()}, as_(QRELS), aspects=SCALES, cutoff=3
    ),
    "document_quality": lambda as_: analysis.document_quality(
        as_(LONG), {name: as_(run) for name, run in RUNS.items()}, as_(QRELS), aspects=SCALES, ranges=[(1, 3)]
    ),
    "judge_agreement": lambda as_: analysis.judge_agreement(as_(JUDGED), aspects={"correct": 2, "fluent": 2}),
    "robustness by judge": lambda as_: ma.robustness(
        {name: as_(run) for name, run in RUNS.items()}, as_(QRELS), "AP", judges=as_(JUDGED_RELEVANCE)
    ).judges,
    "prediction_powered": lambda as_: analysis.prediction_powered(as_(MANY[MANY["qid"] < "q4"]), as_(MANY)).table,
    "upper_bound": lambda as_: analysis.upper_bound(as_(QRELS), MEASURE),
    "ideal_values": lambda as_: analysis.ideal_values(as_(QRELS), ma.TOMA(aspects=SCALES) @ 5),
    "attainable": lambda as_: analysis.attainable(as_(QRELS), MEASURE),
    "ranking_score": lambda as_: ma.ranking_score(
        as_(Y), as_(SCORE), measure=MEASURE, qid=as_(QID), sample_weight=as_(pd.Series([1.0] * 12))
    ),
    "ranking_score of one column": lambda as_: ma.ranking_score(
        as_(Y["relevance"]), as_(SCORE), measure="AP", qid=as_(QID), aspects={"relevance": 2}
    ),
    "ranking_scorer": lambda as_: ma.ranking_scorer(MEASURE)(RANKER, as_(X), as_(Y)),
    "ranking_scorer of several": lambda as_: ma.ranking_scorer({"CAM": MEASURE, "MM": ma.MM(aspects=SCALES)})(
        RANKER, as_(X), as_(Y), qid=as_(QID)
    ),
    "AspectRanker": _ranker_results,
    "metric_for": _boosters,
    "RepeatedQueryKFold": lambda as_: [
        list(map(list, split)) for split in ma.RepeatedQueryKFold(3, 1).split(as_(X), groups=as_(QID))
    ],
    "pareto_front": lambda as_: ma.pareto_front(as_(X), ["f1", "f2"]),
    "the choice on a front": lambda as_: ma.pareto_front(as_(X), ["f1", "f2"], choose="knee"),
    "plots.systems": lambda as_: _figure(plots.systems(as_(LONG), "CAM", "P@3")),
    "plots.crp_over_ranks": lambda as_: _figure(
        plots.crp_over_ranks({"a": as_(ma.crp_curve(RUNS["a"], QRELS))}, "q1")
    ),
    "plots.upper_bounds": lambda as_: _figure(
        plots.upper_bounds(
            as_(analysis.ideal_values(QRELS, MEASURE)), as_(analysis.upper_bound(QRELS, MEASURE))
        )
    ),
    "plots.correlation_heatmap": lambda as_: _figure(
        plots.correlation_heatmap(as_(analysis.correlation(LONG, ci=0.9, n_resamples=5)))
    ),
    "plots.search_front": lambda as_: _figure(
        plots.search_front(as_(ma.pareto_front(X, ["f1", "f2"])), "f1", "f2")
    ),
}  # fmt: skip


def _report_content(report: Report) -> Any:
    return (
        report.perquery,
        str(report.description),
        json.dumps(report._data, default=str, sort_keys=True),
    )


def _plain_values(value: Any) -> Any:
    """Values that compare equal if they are, whatever library they are of."""
    if isinstance(value, pd.DataFrame):
        return list(value.columns), [
            list(map(_plain_values, row)) for row in value.itertuples(index=False, name=None)
        ]
    if isinstance(value, pd.Series | np.ndarray):
        return list(map(_plain_values, value.tolist()))
    if isinstance(value, tuple | list):
        return list(map(_plain_values, value))
    return "NaN" if isinstance(value, float) and np.isnan(value) else value


@pytest.fixture(scope="module")
def pandas_results() -> dict[str, Any]:
    return {}


@pytest.mark.every(7)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", DOORS)
def test_frames_of_any_library_give_the_result_of_pandas(
    door: str, form: As, pandas_results: dict[str, Any]
) -> None:
    """Also those that can be read only once: no door reads its argument twice."""
    if door not in pandas_results:
        pandas_results[door] = _plain_values(DOORS[door](lambda frame: frame))
    assert _plain_values(DOORS[door](form)) == pandas_results[door]
    matplotlib.pyplot.close("all")
