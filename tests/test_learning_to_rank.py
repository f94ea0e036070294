"""One label of several aspects, and PyTerrier's learning to rank trained, stopped and selected by it."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, MultiAspectError, On
from pt_multiaspect.datasets import Collection, load_health
from pt_multiaspect.demo import TfidfRetriever, readability

#: PyTerrier cannot tell what a learned model puts out, and says so at every evaluation.
pytestmark = pytest.mark.filterwarnings("ignore:Experiment Pipeline Validation Report")

GRADES = {"relevance": 2, "credibility": 1}
#: Neither sorted by query nor by document, with a missing and a negative label.
QRELS = pd.DataFrame(
    [
        ("q2", "d1", 2, 1),
        ("q1", "d9", 2, 0),
        ("q1", "d10", 1, 1),
        ("q2", "d3", 0, 1),
        ("q1", "d3", -1, np.nan),
    ],
    columns=["qid", "docno", "label", "credibility"],
)
ORDER = ma.Order({(0, 0): 0, (0, 1): -1, (1, 0): 1, (1, 1): 4, (2, 0): 3, (2, 1): 9}, GRADES, allow_violations=True)
MANHATTAN = TOMA(distance="manhattan", axes="gains", aspects=GRADES)

# -- labels -------------------------------------------------------------------------------------

#: The labels of (q1, d9), (q1, d10), (q1, d3), (q2, d1) and (q2, d3).
LABELS: dict[str, tuple[Any, list[float]]] = {
    "TOMA": (MANHATTAN, [2, 2, 0, 3, 1]),
    "TOMA, equal axes": (MANHATTAN(axes="equal"), [2, 3, 0, 4, 2]),
    "TOMA, gate": (MANHATTAN(gate="relevance"), [2, 2, 0, 3, 0]),
    "TOMA, normalized": (MANHATTAN(weighting="normalized"), [2 / 3, 2 / 3, 0, 1, 1 / 3]),
    "TOMA, exponential": (MANHATTAN(weighting="exponential"), [3, 3, 0, 7, 1]),
    "TOMA over another base": (MANHATTAN(base="AP"), [2, 2, 0, 3, 1]),
    "TOMA over an order": (TOMA(order=ORDER), [3, 4, 0, 9, 0]),
    "CAM": (CAM(aspects=GRADES), [2, 2, 0, 3, 1]),
    "CAM, weights": (CAM(aspects=GRADES, weights={"relevance": 1, "credibility": 0.5}), [2, 1.5, 0, 2.5, 0.5]),
    "On": (On(aspect="credibility"), [0, 1, 0, 1, 1]),
    "the name of an aspect": ("credibility", [0, 1, 0, 1, 1]),
    "the name of the first": ("relevance", [2, 1, 0, 2, 0]),
    "Order": (ORDER, [3, 4, 0, 9, 0]),
    "DistanceOrder": (ma.DistanceOrder(GRADES, "manhattan", axes="gains"), [2, 2, 0, 3, 1]),
    "DistanceOrder, equal axes": (ma.DistanceOrder(GRADES, "manhattan"), [2, 3, 0, 4, 2]),
    "string": (
        "TOMA(distance='manhattan',axes='gains',aspects={'relevance': 2, 'credibility': 1})@10",
        [2, 2, 0, 3, 1],
    ),
    "string CAM": ("CAM(aspects={'relevance': 2, 'credibility': 1})", [2, 2, 0, 3, 1]),
}


@pytest.mark.parametrize("case", LABELS, ids=str)
def test_labels(case: str) -> None:
    measure_or_order, expected = LABELS[case]
    labels = ma.aggregate_labels(QRELS, measure_or_order).set_index(["qid", "docno"])["label"]
    pairs = [("q1", "d9"), ("q1", "d10"), ("q1", "d3"), ("q2", "d1"), ("q2", "d3")]
    assert labels[pairs].tolist() == pytest.approx(expected, abs=1e-12)
    whole = all(float(label).is_integer() for label in expected)
    assert labels.dtype == (np.int64 if whole else np.float64)


def test_the_frame_is_one_of_pyterriers_qrels_whatever_came_in() -> None:
    def aggregated(qrels: Any) -> pd.DataFrame:
        labels = ma.aggregate_labels(qrels, MANHATTAN)
        assert list(labels.columns) == ["qid", "docno", "label"]
        assert labels["qid"].is_monotonic_increasing
        return labels.sort_values(["qid", "docno"], ignore_index=True)

    expected = aggregated(QRELS)
    renamed = QRELS.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
    as_dict: dict[str, dict[str, Any]] = {}
    for qid, docno, relevance, credibility in QRELS.itertuples(index=False):
        as_dict.setdefault(qid, {})[docno] = {"relevance": relevance, "credibility": credibility}
    tuples = list(renamed.itertuples(index=False, name="Qrel"))
    more = QRELS.assign(iteration=0, comment="none")[
        ["credibility", "iteration", "label", "docno", "comment", "qid"]
    ]
    for qrels in (renamed, as_dict, tuples, ma.Judgments(QRELS), more, QRELS.set_index(pd.Index(list("edcba")))):
        pd.testing.assert_frame_equal(aggregated(qrels), expected)


def test_undeclared_scales_warn() -> None:
    with pytest.warns(ma.MultiAspectWarning, match="scales of the aspects, which were inferred"):
        ma.aggregate_labels(QRELS, TOMA)


@pytest.mark.parametrize(
    ("measure_or_order", "message"),
    [
        (nDCG @ 10, "labels are aggregated by TOMA"),
        (AP, "labels are aggregated by TOMA"),
        (MM, "labels are aggregated by TOMA"),
        ("nDCG@10", "labels are aggregated by TOMA"),
        (None, "labels are aggregated by TOMA"),
        ("mood", "no column for the aspect mood"),
        (TOMA(aspects={"relevance": 2, "mood": 2}), "no column for the aspect mood"),
        (TOMA(aspects={"relevance": 1, "credibility": 1}), "label 2, which is above the top grade"),
    ],
    ids=str,
)
def test_what_aggregates_no_labels(measure_or_order: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.aggregate_labels(QRELS, measure_or_order)


def test_on_the_labels_ndcg_is_toma() -> None:
    health = load_health()
    measure = TOMA(aspects={name: max(grades) for name, grades in health.grades.items()}) @ 10
    run = TfidfRetriever(health.documents)(health.topics)
    labels = ma.aggregate_labels(health.qrels, measure)
    plain = pt.Evaluate(run, labels, [nDCG @ 10], perquery=True)
    ours = pt.Evaluate(run, health.qrels, [measure], perquery=True)
    for qid in health.topics["qid"]:
        assert plain[qid]["nDCG@10"] == pytest.approx(ours[qid][str(measure)], abs=1e-12)


# -- in PyTerrier -------------------------------------------------------------------------------

MEASURE = TOMA(aspects={"relevance": 2, "understandability": 3, "credibility": 2}) @ 10
ASPECTS = ["label", "understandability", "credibility"]


@pytest.fixture(scope="module")
def health() -> Collection:
    return load_health()


@pytest.fixture(scope="module")
def retrieve(health: Collection) -> Any:
    return TfidfRetriever(health.documents, num_results=20)


@pytest.fixture(scope="module")
def features(health: Collection) -> Any:
    """Four features of a document of a query, united by PyTerrier's operator."""
    texts = health.documents.set_index("docno")["text"].to_dict()

    def of_text(row: Any) -> Any:
        text = texts[row["docno"]]
        return np.array([readability(text), len(text) / 1000])

    def overlap(row: Any) -> float:
        query, text = (set(re.findall("[a-z]{4,}", words.lower())) for words in (row["query"], texts[row["docno"]]))
        return len(query & text) / max(len(query), 1)

    return (
        pt.apply.doc_score(lambda row: row["score"])
        ** pt.apply.doc_score(overlap)
        ** pt.apply.doc_features(of_text)
    )


def split(topics: pd.DataFrame, *sizes: int) -> list[pd.DataFrame]:
    ends = np.cumsum(sizes)
    return [topics.iloc[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def value(pipeline: Any, topics: pd.DataFrame, qrels: pd.DataFrame) -> float:
    """The mean over `topics`; pt.Experiment leaves out qrels of other queries."""
    table = pt.Experiment([pipeline], topics, qrels, [MEASURE], filter_by_qrels=False, filter_by_topics=True)
    return float(table[str(MEASURE)].iloc[0])


def test_a_pipeline_learns_aggregated_labels(health: Collection, retrieve: Any, features: Any) -> None:
    train, test = split(health.topics, 7, 3)
    learned = pt.ltr.apply_learned_model(RandomForestRegressor(random_state=0))
    pipeline = retrieve >> features >> learned
    pipeline.fit(train, ma.aggregate_labels(health.qrels, MEASURE))
    # What it learnt from is what AspectRanker learns from: the class of every retrieved document.
    rows = (retrieve >> features)(train).merge(health.qrels, on=["qid", "docno"], how="left").fillna(0)
    target = ma.AspectRanker(RandomForestRegressor(random_state=0), target=MEASURE)
    target.fit(np.stack(rows["features"]), rows[ASPECTS], qid=rows["qid"])
    assert pipeline(test)["score"].tolist() == pytest.approx(
        target.predict(np.stack((retrieve >> features)(test)["features"])).tolist()
    )
    # It has learnt something, and PyTerrier evaluates it by the same measure.
    assert value(pipeline, train, health.qrels) > value(retrieve, train, health.qrels) + 0.1
    table = pt.Experiment(
        [retrieve, pipeline],
        test,
        health.qrels,
        ["map", MEASURE, "CAM(base='nDCG')@10"],
        names=["tf-idf", "learned"],
    )
    assert table.shape == (2, 4)
    assert np.isfinite(table.drop(columns="name").to_numpy(dtype=float)).all()


def validation_rows(results: pd.DataFrame, qrels: pd.DataFrame) -> pd.DataFrame:
    """The rows on which ``pt.ltr`` evaluates, in its order: see ``LTRTransformer.fit``."""
    return results.merge(qrels, on=["qid", "docno"], how="left").fillna(0).sort_values("qid")


@pytest.mark.parametrize("backwards", [False, True], ids=["topics in order", "topics not in order"])
def test_early_stopping_by_a_multi_aspect_measure(
    backwards: bool, health: Collection, retrieve: Any, features: Any
) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

    class Ranker(lightgbm.LGBMRanker):  # type: ignore[name-defined,misc]
        def fit(self, X: Any, y: Any, **given: Any) -> Any:
            self.evaluated = given["eval_set"][0]
            return super().fit(X, y, **given)

    topics = health.topics[::-1] if backwards else health.topics
    train, valid, test = split(topics, 5, 3, 2)
    labels = ma.aggregate_labels(health.qrels, MEASURE)
    # The metric's rows are what the pipeline up to the model gives for the validation topics.
    rows = validation_rows((retrieve >> features)(valid), health.qrels)
    metric = ma.lightgbm_metric(MEASURE, rows[ASPECTS], rows["qid"])
    learner = Ranker(
        n_estimators=100, learning_rate=0.05, min_child_samples=3, num_leaves=7, metric="None", verbose=-1, n_jobs=1
    )
    stop = {"eval_metric": metric, "callbacks": [lightgbm.early_stopping(5, verbose=False)]}
    pipeline = retrieve >> features >> pt.ltr.apply_learned_model(learner, form="ltr", fit_kwargs=stop)
    pipeline.fit(train, labels, valid, labels)
    # pt.ltr did evaluate on these rows in this order.
    seen_features, seen_labels = learner.evaluated
    assert np.array_equal(seen_features, np.stack(rows["features"]))
    aggregated = rows[["qid", "docno"]].merge(labels, on=["qid", "docno"], how="left")["label"].fillna(0)
    assert np.array_equal(seen_labels, aggregated)
    # It stopped by the measure, whose value is that of the fitted model on the validation topics.
    (values,) = learner.evals_result_["valid_0"].values()
    assert learner.best_iteration_ == int(np.argmax(values)) + 1
    assert len(values) == learner.best_iteration_ + 5 < 100
    scored = ma.ranking_scorer(MEASURE)(learner, np.stack(rows["features"]), rows[ASPECTS], qid=rows["qid"])
    assert max(values) == pytest.approx(scored, abs=1e-12)
    # PyTerrier's evaluation differs only in judged documents that were not retrieved, and in ties.
    retrieved = health.qrels.merge(rows[["qid", "docno"]], on=["qid", "docno"])
    untied = (retrieve >> features)(valid).merge(
        rows.reset_index()[["qid", "docno"]].assign(place=range(len(rows)))
    )
    predicted = learner.predict(np.stack(untied["features"])) + 1e-6 * untied["place"]
    evaluated = pt.Evaluate(untied.assign(score=predicted), retrieved, [MEASURE])[str(MEASURE)]
    assert max(values) == pytest.approx(evaluated, abs=1e-12)
    assert len(pipeline(test)) == len(retrieve(test))


def test_a_metric_of_other_rows_is_noticed(health: Collection, retrieve: Any, features: Any) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    train, valid = split(health.topics, 5, 2)
    labels = ma.aggregate_labels(health.qrels, MEASURE)
    # The judged documents instead of those retrieved.
    judged = health.qrels[health.qrels["qid"].isin(valid["qid"])]
    metric = ma.lightgbm_metric(MEASURE, judged[ASPECTS], judged["qid"])
    learner = lightgbm.LGBMRanker(n_estimators=3, verbose=-1, n_jobs=1)
    pipeline = retrieve >> features
    pipeline >>= pt.ltr.apply_learned_model(learner, form="ltr", fit_kwargs={"eval_metric": metric})
    with pytest.raises(MultiAspectError, match=f"a validation set of {len(judged)} rows but is asked about"):
        pipeline.fit(train, labels, valid, labels)


def test_kfold_grid_search_selects_the_learned_model(
    health: Collection, retrieve: Any, features: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    train, *folds = split(health.topics, 4, 2, 2, 2)
    retrieve = TfidfRetriever(health.documents, num_results=20)
    models: dict[str, Any] = {}
    for name, target in (("relevance", "relevance"), ("toma", MEASURE), ("cam", CAM(aspects=MEASURE["aspects"]))):
        models[name] = Ridge(alpha=0.1)
        fitted = retrieve >> features >> pt.ltr.apply_learned_model(models[name])
        fitted.fit(train, ma.aggregate_labels(health.qrels, target))
    learned = pt.ltr.apply_learned_model(models["relevance"])
    pipeline = retrieve >> features >> learned
    metric = "TOMA(aspects={'relevance': 2, 'understandability': 3, 'credibility': 2})@10"
    results, settings = pt.KFoldGridSearch(
        pipeline,
        {retrieve: {"num_results": [3, 20]}, learned: {"learner": list(models.values())}},
        folds,
        health.qrels,
        metric=metric,
    )
    capsys.readouterr()
    assert sorted(results["qid"].unique()) == sorted(pd.concat(folds)["qid"])
    for i, setting in enumerate(settings):
        selecting = pd.concat(fold for j, fold in enumerate(folds) if j != i)
        by_hand = {}
        for number, (name, model) in itertools.product([3, 20], models.items()):
            alone = TfidfRetriever(health.documents, num_results=number) >> features
            by_hand[number, name] = value(alone >> pt.ltr.apply_learned_model(model), selecting, health.qrels)
        chosen = {name: found for _, name, found in setting}
        (name,) = (name for name, model in models.items() if model is chosen["learner"])
        assert by_hand[chosen["num_results"], name] == pytest.approx(max(by_hand.values()), abs=1e-12)
        assert len({round(found, 12) for found in by_hand.values()}) > 3
    # The pipeline is as it was.
    assert retrieve.num_results == 20
    assert learned.learner is models["relevance"]
