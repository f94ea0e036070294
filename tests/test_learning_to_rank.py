"""One label of several aspects, and PyTerrier's learning to rank trained, stopped and selected by it."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, nDCG
from shared_data import shared_path
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, NLRE, TOMA, Aspect, MultiAspectError, On
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.datasets import load_health
from pt_multiaspect.datasets.health import Collection
from pt_multiaspect.demo import TfidfRetriever
from pt_multiaspect.model_selection.labels import read_target

#: PyTerrier cannot tell what a learned model puts out, and says so at every evaluation.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Experiment Pipeline Validation Report"),
    pytest.mark.filterwarnings("ignore:rel=2 is above:pt_multiaspect.MultiAspectWarning"),
]

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


def aggregate_labels(qrels: Any, target: Any, **more: Any) -> Any:
    """Missing labels count as lowest, as in evaluation."""
    return ma.aggregate_labels(qrels, target, missing="lowest", **more).values


ORDER = ma.Order(
    {(0, 0): 0, (0, 1): -1, (1, 0): 1, (1, 1): 4, (2, 0): 3, (2, 1): 9},
    GRADES,
    allow_violations=True,
)
MANHATTAN = TOMA(distance="manhattan", axes="gains", aspects=GRADES)

# -- labels -------------------------------------------------------------------------------------

#: The discount of the second rank, and the linear form of CAM over nDCG.
D2 = 1 / np.log2(3)
LINEAR = [1 / (2 + D2), 0.5 / (2 + D2) + 0.5, 0, 0.5 + 0.5 / (1 + D2), 0.5 / (1 + D2)]
#: The labels of (q1, d9), (q1, d10), (q1, d3), (q2, d1) and (q2, d3).
LABELS: dict[str, tuple[Any, list[float]]] = {
    "TOMA": (MANHATTAN, [2, 2, 0, 3, 1]),
    "TOMA, equal axes": (MANHATTAN(axes="equal"), [2, 3, 0, 4, 2]),
    "TOMA, gate": (MANHATTAN(gate="relevance"), [2, 2, 0, 3, 0]),
    "TOMA, normalized": (MANHATTAN(weighting="normalized"), [2 / 3, 2 / 3, 0, 1, 1 / 3]),
    "TOMA, exponential": (MANHATTAN(weighting="exponential"), [3, 3, 0, 7, 1]),
    "TOMA over another base": (MANHATTAN(base="AP"), [2, 2, 0, 3, 1]),
    "TOMA over an order": (TOMA(order=ORDER), [3, 4, 0, 9, 0]),
    "CAM": (CAM(aspects=GRADES), LINEAR),
    "CAM, weights": (
        CAM(aspects=GRADES, weights={"relevance": 1, "credibility": 0.5}),
        [4 / 3 / (2 + D2), 2 / 3 / (2 + D2) + 1 / 3, 0, 2 / 3 + 1 / 3 / (1 + D2), 1 / 3 / (1 + D2)],
    ),
    "CAM, cutoff": (CAM(aspects=GRADES) @ 1, [0.5, 0.75, 0, 1, 0.5]),
    "CAM over DCG": (CAM(aspects=GRADES, base="DCG"), [1, 1, 0, 1.5, 0.5]),
    "CAM over P": (CAM(aspects=GRADES, base="P@3"), [0.5, 1, 0, 1, 0.5]),
    "CAM over RBP": (CAM(aspects=GRADES, base="RBP(rel=2)"), [0.5, 0, 0, 0.5, 0]),
    "CAM over R": (CAM(aspects=GRADES, base="R@3"), [0.25, 0.75, 0, 0.75, 0.25]),
    "MM": (MM(aspects=GRADES), LINEAR),
    "GAM": (GAM(aspects=GRADES), LINEAR),
    "WHAM": (ma.WHAM(aspects=GRADES), LINEAR),
    "uRBP": (ma.uRBP(aspects=GRADES), [0, 1, 0, 1, 0]),
    "uRBPgr": (ma.uRBPgr(aspects=GRADES), [0, 0.5, 0, 1, 0]),
    "unDCG": (ma.unDCG(aspects=GRADES, s=2), [0, 1, 0, 3, 0]),
    "uERR": (ma.uERR(aspects=GRADES, s=2), [0, 1, 0, 3, 0]),
    "NWCS": (ma.NWCS(aspects=GRADES), [1, 1, 0, 1.5, 0.5]),
    "On over exponential gains": (On(aspects=GRADES, base="nDCG(dcg='exp-log2')"), [3, 1, 0, 3, 0]),
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
    "string CAM": ("CAM(aspects={'relevance': 2, 'credibility': 1})", LINEAR),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("case", LABELS, ids=str)
def test_labels(case: str) -> None:
    measure_or_order, expected = LABELS[case]
    labels = aggregate_labels(QRELS, measure_or_order).set_index(["qid", "docno"])["label"]
    pairs = [("q1", "d9"), ("q1", "d10"), ("q1", "d3"), ("q2", "d1"), ("q2", "d3")]
    assert labels[pairs].tolist() == pytest.approx(expected, abs=1e-12)
    whole = all(float(label).is_integer() for label in expected)
    assert labels.dtype == (np.int64 if whole else np.float64)


def test_the_frame_is_one_of_pyterriers_qrels_whatever_came_in() -> None:
    def aggregate_rows(qrels: Any) -> pd.DataFrame:
        labels = aggregate_labels(qrels, MANHATTAN)
        assert list(labels.columns) == ["qid", "docno", "label"]
        return labels.sort_values(["qid", "docno"], ignore_index=True)

    expected = aggregate_rows(QRELS)
    renamed = QRELS.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
    as_dict: dict[str, dict[str, Any]] = {}
    for qid, docno, relevance, credibility in QRELS.itertuples(index=False):
        as_dict.setdefault(qid, {})[docno] = {"relevance": relevance, "credibility": credibility}
    tuples = list(renamed.itertuples(index=False, name="Qrel"))
    more = QRELS.assign(iteration=0, comment="none")[
        ["credibility", "iteration", "label", "docno", "comment", "qid"]
    ]
    for qrels in (
        renamed,
        as_dict,
        tuples,
        ma.Judgments(QRELS),
        more,
        QRELS.set_index(pd.Index(list("edcba"))),
    ):
        pd.testing.assert_frame_equal(aggregate_rows(qrels), expected)


@pytest.mark.parametrize(
    "index", [range(4), [7, 3, 5, 5], list("wxyz")], ids=["numbers", "repeated", "letters"]
)
def test_labels_can_be_assigned_to_the_rows_of_the_qrels(index: Any) -> None:
    """They have the index of the qrels and their order, which is not that of queries or documents."""
    pairs = [("q1", "a", 1), ("q1", "b", 2), ("q2", "b", 0), ("q2", "a", 2)]
    qrels = pd.DataFrame(pairs, columns=["qid", "docno", "label"], index=pd.Index(index))
    labels = aggregate_labels(qrels, "label")
    assert labels["label"].tolist() == [1, 2, 0, 2]
    assert labels.index.equals(qrels.index)
    if qrels.index.is_unique:
        assert qrels.assign(target=labels["label"])["target"].tolist() == [1, 2, 0, 2]


def test_labels_of_shuffled_qrels_are_shuffled_labels() -> None:
    positions = np.random.default_rng(3).permutation(5)
    labels_of_shuffled = aggregate_labels(QRELS.iloc[positions], MANHATTAN)
    shuffled_labels = aggregate_labels(QRELS, MANHATTAN).iloc[positions]
    pd.testing.assert_frame_equal(labels_of_shuffled, shuffled_labels)


def test_equal_duplicates_keep_a_row_each_and_others_are_an_error() -> None:
    twice = pd.concat([QRELS, QRELS.iloc[[1]]], ignore_index=True)
    labels = aggregate_labels(twice, MANHATTAN)
    assert labels["docno"].tolist() == twice["docno"].tolist()
    assert labels["label"].tolist() == [3, 2, 2, 1, 0, 2]
    twice.loc[5, "credibility"] = 1
    with pytest.raises(
        MultiAspectError, match=r"expected one label in column .* for document d9, query q1"
    ):
        aggregate_labels(twice, MANHATTAN)


def test_frames_of_polars_are_qrels() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({column: QRELS[column].tolist() for column in QRELS}, strict=False)
    pd.testing.assert_frame_equal(
        aggregate_labels(frame, MANHATTAN), aggregate_labels(QRELS, MANHATTAN)
    )


def is_surrogate(measure: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.MultiAspectWarning)
        return read_target(measure).gain_is_surrogate(ma.Judgments(QRELS))


@pytest.mark.parametrize(
    "measure",
    [
        # The same base for both aspects, up to the labels that are positive.
        CAM,
        CAM(base="nDCG@2"),
        CAM(base="R@2"),
        CAM(base={"label": "P(rel=2)@2", "credibility": "P@2"}),
        CAM(base="DCG"),
        CAM(base="DCG(dcg='jarvelin')"),
        CAM(base="RBP(p=0.6)"),
        # One aspect alone, by declaration or by weight.
        CAM(base="Rprec", aspects="label"),
        CAM(base={"label": "AP", "credibility": "R@2"}, weights={"label": 0, "credibility": 1}),
        MM(aspects="label"),
        "credibility",
        # Sums of one gain per document.
        ma.NWCS,
        MANHATTAN,
    ],
    ids=str,
)
def test_labels_that_sort_documents_ideally_are_no_surrogates(measure: Any) -> None:
    assert not is_surrogate(measure)


@pytest.mark.parametrize(
    "measure",
    [
        # Bases that differ by aspect, or by topic, as the depth of Rprec does.
        CAM(base={"label": "nDCG@1", "credibility": "nDCG@3"}),
        CAM(base={"label": "P@2", "credibility": "R@2"}),
        CAM(base={"label": "nDCG", "credibility": "DCG"}),
        CAM(base="Rprec"),
        # No sums over ranks of gains.
        CAM(base="AP"),
        CAM(base="AP", weights={"relevance": 0, "credibility": 1}),
        MM,
        GAM,
        ma.uERR(aspects=GRADES),
    ],
    ids=str,
)
def test_labels_that_may_miss_the_maximum_are_surrogates(measure: Any) -> None:
    assert is_surrogate(measure)


def test_labels_are_integers_as_long_as_floats_tell_them_apart() -> None:
    """Beyond 2^53, a float represents several integers."""
    qrels = {"q": {"a": {"relevance": 0}, "b": {"relevance": 1}}}
    for top, kind in [(2**53 - 1, np.int64), (2**53, np.float64), (1e300, np.float64)]:
        aspects = ma.Aspects({"relevance": Aspect([0, 1], gains=[0, top])})
        label = aggregate_labels(qrels, On(aspect="relevance", aspects=aspects))["label"]
        assert label.tolist() == [0, top]
        assert label.dtype == kind


@pytest.mark.parametrize("base", ["RelativeRecall(expected=4)", "P(rel=1)@2", "RBP(p=0.6)"])
def test_a_norm_that_is_the_same_for_all_queries_is_not_in_the_label(base: str) -> None:
    """Such as 1/4, 1/2 and 1 - p: each label is the mean of 0 or 1 of relevance and of credibility."""
    labels = aggregate_labels(QRELS, CAM(base=base, aspects=GRADES))["label"]
    positive = (QRELS[["label", "credibility"]] > 0).astype(int)
    assert labels.tolist() == positive.mean(axis=1).tolist()
    assert set(labels) == {0, 0.5, 1}
    with_another_norm = aggregate_labels(QRELS, CAM(base="P@5", aspects=GRADES))["label"]
    assert labels.tolist() == with_another_norm.tolist()


@pytest.mark.parametrize(("base", "missing"), [("P", "cutoff"), ("RelativeRecall", "expected")])
def test_labels_of_an_incomplete_base_are_refused(base: str, missing: str) -> None:
    with pytest.raises(MultiAspectError, match=f"CAM: .*requires {missing}"):
        aggregate_labels(QRELS, CAM(base=base, aspects=GRADES))


LINEAR_BASES = (
    "nDCG",
    "nDCG@1",
    "nDCG@3",
    "nDCG(dcg='exp-log2')@3",
    "P@2",
    "R@3",
    "RBP(p=0.6)",
    "SetR",
)


class World:
    """Ten queries of up to nine documents, judged for three aspects on uneven scales, with NaN and junk."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows = [(f"q{q}", f"d{d}") for q in range(10) for d in range(rng.integers(1, 10))]
        self.qrels = pd.DataFrame(rows, columns=["qid", "docno"])
        for name, top in (("relevance", 2), ("credibility", 3), ("mood", 1)):
            labels = rng.choice([*range(top + 1), 0, -1, np.nan], len(rows))
            self.qrels[name] = labels
        self.qrels = self.qrels.sample(frac=1, random_state=seed)
        self.gains = np.sort(rng.choice([0, 0.1, 0.3, 1, 2.5, 7], 4))

    def aspects(self, factor: float = 1) -> ma.Aspects:
        scaled = [factor * gain for gain in self.gains.tolist()]
        return ma.Aspects(
            {"relevance": 2, "credibility": ma.Aspect([0, 1, 2, 3], gains=scaled), "mood": 1}
        )


def rank_by(labels: pd.DataFrame, judgments: ma.Judgments) -> Rankings:
    """Return the rankings of documents by their labels, which are not rounded to float32."""
    run = labels.rename(columns={"label": "score"})
    return Rankings(run, judgments, dtype=np.float64)


def has_positive_label(labels: pd.DataFrame, judgments: ma.Judgments) -> np.ndarray:
    """Return whether any document of a query has a label above 0, in the order of the queries judged."""
    highest_label = labels.groupby("qid")["label"].max()
    return highest_label.reindex(judgments.qids).to_numpy() > 0


WORLDS = st.integers(0, 10**6).map(World)
BASES = st.sampled_from(LINEAR_BASES)
WEIGHTS = st.none() | st.fixed_dictionaries(
    {
        "relevance": st.sampled_from([1, 2]),
        "credibility": st.sampled_from([0, 0.1, 1, 3.3]),
        "mood": st.just(0.5),
    }
)


@given(world=WORLDS, base=BASES, weights=WEIGHTS, empty=st.sampled_from(["zero", "drop"]))
@examples(25)
def test_a_ranking_by_the_linear_form_has_the_best_cam(
    world: World, base: str, weights: Any, empty: str
) -> None:
    """Normalised CAM is 1, and 0 where no document has a label above 0."""
    measure = CAM(base=base, weights=weights, empty=empty, normalized=True, aspects=world.aspects())
    labels = aggregate_labels(world.qrels, measure)
    judgments = ma.Judgments(world.qrels)
    values = measure.evaluate(rank_by(labels, judgments))
    expected = has_positive_label(labels, judgments).astype(float)
    assert values == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_the_sum_of_raw_gains_is_not_the_linear_form() -> None:
    """A ranking by the label of NWCS, which sums gains of aspects, misses the best CAM of random worlds."""
    values_by_label = {"CAM": [], "NWCS": []}
    for seed in range(30):
        world = World(seed)
        measure = CAM(normalized=True, aspects=world.aspects())
        judgments = ma.Judgments(world.qrels)
        labels_by_name = {
            "CAM": aggregate_labels(world.qrels, measure),
            "NWCS": aggregate_labels(world.qrels, ma.NWCS(aspects=world.aspects())),
        }
        is_positive = has_positive_label(labels_by_name["CAM"], judgments)
        for name, labels in labels_by_name.items():
            values = measure.evaluate(rank_by(labels, judgments))
            values_by_label[name] += values[is_positive].tolist()
    assert np.mean(values_by_label["CAM"]) == pytest.approx(1, abs=1e-12)
    assert np.mean(values_by_label["NWCS"]) < 0.99


@given(world=WORLDS, base=BASES, weights=WEIGHTS, factor=st.sampled_from([0.1, 3, 10, 1000]))
@examples(15)
def test_multiplying_the_gains_of_an_aspect_changes_no_order(
    world: World, base: str, weights: Any, factor: float
) -> None:
    base = base.replace("(dcg='exp-log2')", "")  # whose gains are then not multiples
    measures = [
        CAM(base=base, weights=weights, aspects=world.aspects(scale)) for scale in (1, factor)
    ]
    first, second = (aggregate_labels(world.qrels, measure)["label"] for measure in measures)
    assert second.to_numpy() == pytest.approx(first.to_numpy(), rel=1e-12, abs=1e-15)


def test_undeclared_scales_warn() -> None:
    with pytest.warns(ma.MultiAspectWarning, match="label scales, which were inferred"):
        aggregate_labels(QRELS, TOMA)
    with pytest.warns(ma.MultiAspectWarning, match="label scales, which were inferred"):
        aggregate_labels(QRELS, ma.uRBPgr)


def test_gains_beyond_a_float_are_refused() -> None:
    with pytest.raises(
        MultiAspectError, match=r"the exponent s·P of 5000 gives the gain 2\^5000 - 1"
    ):
        aggregate_labels(QRELS, ma.unDCG(s=5000, aspects=GRADES))


@pytest.mark.parametrize(
    ("measure_or_order", "message"),
    [
        (nDCG @ 10, "expected a measure with a gain per document (TOMA"),
        (AP, "expected a measure with a gain per document (TOMA"),
        (NLRE, "expected a measure with a gain per document (TOMA"),
        ("NLRE", "expected a measure with a gain per document (TOMA"),
        ("P", "expected a measure with a gain per document (TOMA"),
        ("nDCG@10", "expected a measure with a gain per document (TOMA"),
        (None, "expected a measure with a gain per document (TOMA"),
        ("mood", "no column for the aspect mood"),
        (TOMA(aspects={"relevance": 2, "mood": 2}), "no column for the aspect mood"),
        (
            TOMA(aspects={"relevance": 1, "credibility": 1}),
            "invalid relevance label 2 for document d9, query q1, above the top grade",
        ),
    ],
    ids=str,
)
def test_what_aggregates_no_labels(measure_or_order: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        aggregate_labels(QRELS, measure_or_order)


def test_the_error_names_all_measures_that_aggregate_labels() -> None:
    with pytest.raises(MultiAspectError) as error:
        aggregate_labels(QRELS, "NLRE")
    listed = re.search(r"gain per document \(([^)]*)\)", str(error.value))[1].split(", ")
    accepted = []
    for measure in ma.measures.registered_measures():
        try:
            accepted.append(read_target(measure).NAME)
        except MultiAspectError:
            assert measure.NAME not in listed
    assert listed == accepted
    assert "MeanOf" in listed


def test_on_the_labels_ndcg_is_toma() -> None:
    health = load_health()
    measure = TOMA(aspects={name: max(grades) for name, grades in health.grades.items()}) @ 10
    run = TfidfRetriever(health.documents)(health.topics)
    labels = aggregate_labels(health.qrels, measure)
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
    readability = health.documents.set_index("docno")["readability"].to_dict()

    def text_features(row: Any) -> Any:
        text = texts[row["docno"]]
        return np.array([readability[row["docno"]], len(text) / 1000])

    def overlap(row: Any) -> float:
        query, text = (
            set(re.findall("[a-z]{4,}", words.lower()))
            for words in (row["query"], texts[row["docno"]])
        )
        return len(query & text) / max(len(query), 1)

    return (
        pt.apply.doc_score(lambda row: row["score"])
        ** pt.apply.doc_score(overlap)
        ** pt.apply.doc_features(text_features)
    )


def split(topics: pd.DataFrame, *sizes: int) -> list[pd.DataFrame]:
    ends = np.cumsum(sizes)
    return [topics.iloc[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def value(pipeline: Any, topics: pd.DataFrame, qrels: pd.DataFrame) -> float:
    """The mean over `topics`; pt.Experiment leaves out qrels of other queries."""
    table = pt.Experiment(
        [pipeline], topics, qrels, [MEASURE], filter_by_qrels=False, filter_by_topics=True
    )
    return float(table[str(MEASURE)].iloc[0])


@pytest.mark.slow
def test_a_pipeline_learns_aggregated_labels(
    health: Collection, retrieve: Any, features: Any
) -> None:
    train, test = split(health.topics, 7, 3)
    learned = pt.ltr.apply_learned_model(RandomForestRegressor(random_state=0))
    pipeline = retrieve >> features >> learned
    pipeline.fit(train, aggregate_labels(health.qrels, MEASURE))
    # What it learnt from is what AspectRanker learns from: the class of every retrieved document.
    rows = (
        (retrieve >> features)(train).merge(health.qrels, on=["qid", "docno"], how="left").fillna(0)
    )
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


def learner_that_remembers() -> Any:
    """Return a ranker of LightGBM that remembers the set on which `pt.ltr` evaluates, as `evaluated`."""
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

    class Ranker(lightgbm.LGBMRanker):  # type: ignore[name-defined,misc]
        def fit(self, X: Any, y: Any, **params: Any) -> Any:
            (self.evaluated,) = params["eval_set"]
            return super().fit(X, y, **params)

    return Ranker(
        n_estimators=100,
        learning_rate=0.05,
        min_child_samples=3,
        num_leaves=7,
        metric="None",
        verbose=-1,
        n_jobs=1,
    )


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True], ids=["topics in order", "topics not in order"])
def test_early_stopping_by_a_multi_aspect_measure(
    backwards: bool, health: Collection, retrieve: Any, features: Any
) -> None:
    """The metric is made of the rows that the pipeline up to the model gives for validation topics."""
    learner = learner_that_remembers()
    from lightgbm import early_stopping

    topics = health.topics[::-1] if backwards else health.topics
    train, valid, test = split(topics, 5, 3, 2)
    labels = aggregate_labels(health.qrels, MEASURE)
    rows = validation_rows((retrieve >> features)(valid), health.qrels)
    metric = ma.metric_for("lightgbm", MEASURE, rows[ASPECTS], rows["qid"])
    patience = 5
    stop = {"eval_metric": metric, "callbacks": [early_stopping(patience, verbose=False)]}
    learned = pt.ltr.apply_learned_model(learner, form="ltr", fit_kwargs=stop)
    pipeline = retrieve >> features >> learned
    pipeline.fit(train, labels, valid, labels)
    assert len(pipeline(test)) == len(retrieve(test))

    # pt.ltr did evaluate on these rows in this order.
    evaluated_features, evaluated_labels = learner.evaluated
    assert np.array_equal(evaluated_features, np.stack(rows["features"]))
    label_of_row = rows[["qid", "docno"]].merge(labels, on=["qid", "docno"], how="left")["label"]
    assert np.array_equal(evaluated_labels, label_of_row.fillna(0))

    # It stopped five iterations after the best one by the measure.
    (values,) = learner.evals_result_["valid_0"].values()
    assert learner.best_iteration_ == int(np.argmax(values)) + 1
    assert len(values) == learner.best_iteration_ + patience
    assert len(values) < 100

    # The best value is that of the fitted model on the validation topics.
    scorer = ma.ranking_scorer(MEASURE)
    value = scorer(learner, np.stack(rows["features"]), rows[ASPECTS], qid=rows["qid"])
    assert max(values) == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
def test_kfold_grid_search_selects_the_learned_model(
    health: Collection, features: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of six candidates, three models with 3 or 20 results, the best on the other two folds."""
    train, *folds = split(health.topics, 4, 2, 2, 2)
    retrieve = TfidfRetriever(health.documents, num_results=20)
    targets = {
        "relevance": "relevance",
        "toma": MEASURE,
        "cam": CAM(aspects=MEASURE["aspects"]),
    }
    models: dict[str, Any] = {}
    for name, target in targets.items():
        models[name] = Ridge(alpha=0.1)
        fitted = retrieve >> features >> pt.ltr.apply_learned_model(models[name])
        fitted.fit(train, aggregate_labels(health.qrels, target))
    learned = pt.ltr.apply_learned_model(models["relevance"])
    results, settings = pt.KFoldGridSearch(
        retrieve >> features >> learned,
        {retrieve: {"num_results": [3, 20]}, learned: {"learner": list(models.values())}},
        folds,
        health.qrels,
        metric="TOMA(aspects={'relevance': 2, 'understandability': 3, 'credibility': 2})@10",
    )
    capsys.readouterr()
    assert sorted(results["qid"].unique()) == sorted(pd.concat(folds)["qid"])
    for number_of_fold, setting in enumerate(settings):
        other_folds = [fold for number, fold in enumerate(folds) if number != number_of_fold]
        value_of_candidate = {}
        for num_results, name in itertools.product([3, 20], models):
            retrieve_some = TfidfRetriever(health.documents, num_results=num_results)
            candidate = retrieve_some >> features >> pt.ltr.apply_learned_model(models[name])
            value_of_candidate[num_results, name] = value(
                candidate, pd.concat(other_folds), health.qrels
            )
        distinct_values = {round(score, 12) for score in value_of_candidate.values()}
        assert len(distinct_values) > 3
        # A setting has triples of a transformer, the name of a parameter, and its value.
        selected = {parameter: choice for _, parameter, choice in setting}
        (name,) = [name for name in models if models[name] is selected["learner"]]
        assert value_of_candidate[selected["num_results"], name] == pytest.approx(
            max(value_of_candidate.values()), abs=1e-12
        )
    # The pipeline is as it was.
    assert retrieve.num_results == 20
    assert learned.learner is models["relevance"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "lowest_of_best", "highest_of_best", "inverted"),
    [
        (ma.TOMA, 1, 1, 0),
        (ma.CAM @ 10, 0.384, 0.573, 0.004),
        (ma.CAM(base="R@10"), 0.017, 0.207, 0.248),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:the threshold of understandability is not declared")
def test_labels_that_compare_across_queries(target, lowest_of_best, highest_of_best, inverted):
    """The figures of CLEF eHealth 2015 in the docstring of `aggregate_labels`.

    They are the range of the labels of the best documents, and how many pairs are inverted: of a
    document that is better on one aspect and not worse on the other, with a lower label.
    """
    files = {"relevance": "qrels.graded.txt.gz", "understandability": "qread.graded.txt.gz"}
    qrels = ma.read_qrels(
        {name: shared_path("data", "clef2015", file) for name, file in files.items()}
    )
    scales = {"relevance": 2, "understandability": 3}
    labels = ma.aggregate_labels(qrels, target, "unit", aspects=scales).values["label"].to_numpy()
    grades = qrels[["label", "understandability"]].fillna(0).to_numpy()
    is_best = (grades == [2, 3]).all(axis=1)
    assert labels[is_best].min() == pytest.approx(lowest_of_best, abs=5e-4)
    assert labels[is_best].max() == pytest.approx(highest_of_best, abs=5e-4)
    first, second = np.random.default_rng(0).integers(len(labels), size=(2, 500_000))
    is_never_worse = (grades[first] >= grades[second]).all(axis=1)
    is_somewhere_better = (grades[first] > grades[second]).any(axis=1)
    dominates = is_never_worse & is_somewhere_better
    is_inverted = labels[first] < labels[second]
    assert is_inverted[dominates].mean() == pytest.approx(inverted, abs=3e-3)
