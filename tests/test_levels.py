"""Labels of few levels lose as little of the measure as can be, and LightGBM learns them as their gains."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from sklearn.linear_model import Ridge

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, AspectRanker, MultiAspectError
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.model_selection.levels import label_values
from pt_multiaspect.model_selection.targets import gains as gains_of

GRADES = {"relevance": 3, "credibility": 3, "mood": 1}
LINEAR = CAM(aspects=GRADES)


def world(seed: int, n_queries: int = 6, n_documents: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    qrels = pd.DataFrame({"qid": np.repeat([f"q{q}" for q in range(n_queries)], n_documents)})
    qrels["docno"] = [f"d{row}" for row in range(n)]
    for name, top in GRADES.items():
        qrels[name] = rng.choice([*range(top + 1), 0], n)
    return qrels.sample(frac=1, random_state=seed)


def ranking_value(qrels: pd.DataFrame, measure: Any, *keys: Any) -> float:
    """The mean value of the judged documents, ranked by the first key, ties by the others."""
    order = np.lexsort([-np.asarray(key) for key in reversed(keys)])
    score = np.empty(len(order))
    score[order] = np.arange(len(order))[::-1]
    rankings = Rankings(qrels[["qid", "docno"]].assign(score=score), ma.Judgments(qrels), dtype=np.float64)
    return float(measure.evaluate(rankings).mean())


def expected_loss(label: Any, level: Any, qid: Any) -> float:
    """How much of Σ discount · label is lost in the mean over all orders of the documents of a level."""
    loss = 0.0
    for query in set(qid):
        mine = np.sort(label[qid == query])[::-1]
        levels = np.sort(level[qid == query])[::-1]
        discount = 1 / np.log2(np.arange(2, len(mine) + 2))
        for each in set(levels):
            tied = levels == each
            loss += (mine[tied] * discount[tied]).sum() - mine[tied].mean() * discount[tied].sum()
    return loss


@pytest.mark.parametrize("levels", [2, 3, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_levels_lose_less(seed: int, levels: int) -> None:
    qrels = world(seed, n_queries=2, n_documents=8)
    qid = qrels["qid"].to_numpy()
    label = ma.aggregate_labels(qrels, LINEAR)["label"].to_numpy()
    found = ma.aggregate_labels(qrels, LINEAR, levels=levels)["label"].to_numpy()
    values = np.unique(label[label > 0])
    assert len(values) > levels
    losses = [
        expected_loss(label, np.where(label == 0, 0, np.digitize(label, values[list(cuts)]) + 1), qid)
        for cuts in itertools.combinations(range(1, len(values)), levels - 2)
    ]
    assert expected_loss(label, found, qid) == pytest.approx(min(losses), abs=1e-12)
    assert levels == 2 or min(losses) < max(losses) - 1e-3


@pytest.mark.parametrize(
    "measure", [LINEAR, LINEAR @ 5, MM(aspects=GRADES), CAM(aspects=GRADES, base="AP")], ids=str
)
@pytest.mark.parametrize("levels", [2, 5, 31])
def test_levels_are_intervals_of_the_labels(measure: Any, levels: int) -> None:
    qrels = world(2, n_queries=30)
    label = ma.aggregate_labels(qrels, measure)["label"].to_numpy()
    labels = ma.aggregate_labels(qrels, measure, levels=levels)
    level = labels["label"].to_numpy()
    assert labels["label"].dtype == np.int64
    assert set(level) == set(range(levels))
    # The order of the labels is kept, and 0, the label of unjudged documents, has a level of its own.
    order = np.argsort(label)
    assert (np.diff(level[order]) >= 0).all()
    assert ((level == 0) == (label == 0)).all()
    gain = labels.attrs["label_gain"]
    assert gain == pytest.approx([label[level == each].mean() for each in range(levels)])
    assert (np.diff(gain) > 0).all()


@pytest.mark.parametrize("measure", [LINEAR, LINEAR @ 5, MM(aspects=GRADES), TOMA(aspects=GRADES)], ids=str)
def test_the_loss_is_that_of_the_least_favourable_order(measure: Any) -> None:
    qrels = world(3, n_queries=20)
    label = ma.aggregate_labels(qrels, measure)["label"].to_numpy()
    for levels in (3, 8):
        labels = ma.aggregate_labels(qrels, measure, levels=levels)
        best = ranking_value(qrels, measure, label)
        least = ranking_value(qrels, measure, labels["label"].to_numpy(), -label)
        assert labels.attrs["loss"] == pytest.approx(1 - least / best, abs=1e-12)
        assert 0 < labels.attrs["loss"] < 0.2


def test_more_levels_lose_less_and_equal_numbers_of_documents_lose_more() -> None:
    # Levels by rank of the label, which know nothing of discounts.
    qrels = world(4, n_queries=60, n_documents=20)
    label = ma.aggregate_labels(qrels, LINEAR)["label"]
    qid = qrels["qid"].to_numpy()
    losses = []
    for levels in (4, 8, 16, 32):
        found = ma.aggregate_labels(qrels, LINEAR, levels=levels)["label"].to_numpy()
        by_rank = pd.qcut(label.where(label > 0), levels - 1, labels=False).fillna(-1).to_numpy() + 1
        losses.append(expected_loss(label.to_numpy(), found, qid))
        assert losses[-1] < 0.8 * expected_loss(label.to_numpy(), by_rank, qid)
    assert (np.diff(losses) < 0).all()


def test_the_loss_above_the_cutoff_counts_most() -> None:
    # At rank 1, where the documents of the highest labels compete, no levels are needed below.
    qrels = world(5, n_queries=40, n_documents=20)
    at_1 = ma.aggregate_labels(qrels, LINEAR @ 1, levels=6)
    everywhere = ma.aggregate_labels(qrels, LINEAR, levels=6)
    label = ma.aggregate_labels(qrels, LINEAR @ 1)["label"].to_numpy()
    values = [ranking_value(qrels, LINEAR @ 1, labels["label"].to_numpy(), -label) for labels in (at_1, everywhere)]
    assert values[0] > values[1]


def test_with_levels_to_spare_nothing_is_lost() -> None:
    qrels = world(6, n_queries=3)
    label = ma.aggregate_labels(qrels, LINEAR)["label"].to_numpy()
    labels = ma.aggregate_labels(qrels, LINEAR, levels=1000)
    assert labels.attrs["loss"] == 0
    gain = np.asarray(labels.attrs["label_gain"])
    assert len(gain) == len(np.unique(label)) < 1000
    assert gain[labels["label"]] == pytest.approx(label, abs=1e-15)
    # Whole labels stay what they are.
    classes = TOMA(aspects=GRADES, distance="manhattan", axes="gains")
    whole = ma.aggregate_labels(qrels, classes, levels=8)
    assert whole["label"].tolist() == ma.aggregate_labels(qrels, classes)["label"].tolist()
    assert whole.attrs["label_gain"] == list(range(whole["label"].max() + 1))
    assert "label_gain" not in ma.aggregate_labels(qrels, classes).attrs


def test_qrels_without_a_worthy_document() -> None:
    qrels = world(7, n_queries=2).assign(relevance=0, credibility=0, mood=0)
    labels = ma.aggregate_labels(qrels, LINEAR, levels=2)
    assert labels["label"].eq(0).all()
    assert labels.attrs["loss"] == 0
    assert labels.attrs["label_gain"] == [0]


@pytest.mark.parametrize("levels", [1, 0, -3, 2.5, "31", True])
def test_levels_that_are_none(levels: Any) -> None:
    message = f"levels: expected a whole number of at least 2, got {levels!r}"
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.aggregate_labels(world(0), LINEAR, levels=levels)


# -- LightGBM -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "level"),
    [
        (LINEAR @ 10, 13),
        (LINEAR, 10_000),
        (CAM(aspects=GRADES, base={"relevance": "nDCG@5", "credibility": "nDCG@20", "mood": "P@3"}), 23),
        (CAM(aspects=GRADES, base={"relevance": "nDCG@5", "credibility": "nDCG", "mood": "P@3"}), 10_000),
        (TOMA(aspects=GRADES) @ 7, 10),
        (ma.uRBP(aspects=GRADES) @ 4, 7),
        (ma.NWCS(aspects=GRADES) @ 4, 7),
        ("relevance", 10_000),
    ],
    ids=str,
)
def test_lightgbms_parameters(measure: Any, level: int) -> None:
    labels = ma.aggregate_labels(world(0), measure, levels=31)
    params = ma.lightgbm_params(labels)
    assert params == {"label_gain": labels.attrs["label_gain"], "lambdarank_truncation_level": level}


@pytest.mark.parametrize(
    "labels", [ma.aggregate_labels(world(0), LINEAR), world(0), None], ids=["all", "qrels", "no"]
)
def test_parameters_of_labels_without_levels(labels: Any) -> None:
    with pytest.raises(
        MultiAspectError, match=r"expected the result of aggregate_labels\(qrels, measure, levels=31\)"
    ):
        ma.lightgbm_params(labels)


def test_pyterriers_pipeline_learns_what_aspect_ranker_learns() -> None:
    # LightGBM's rankers in PyTerrier failed with fractional labels, and with more than 31 classes.
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    qrels = world(8, n_queries=30)
    rng = np.random.default_rng(0)
    topics = pd.DataFrame({"qid": qrels["qid"].unique()}).assign(query="q")
    labels = dict(zip(qrels["docno"], qrels[list(GRADES)].to_numpy(dtype=float), strict=True))
    features = {docno: rng.normal(size=3) + label for docno, label in labels.items()}
    results = qrels[["qid", "docno"]].assign(score=0.0, rank=0, query="q")
    # Documents without judgments have level 0.
    results = pd.concat([results, results.groupby("qid").head(1).assign(docno=lambda r: r["qid"] + "x")])
    features |= {docno: np.zeros(3) for docno in results["docno"] if docno not in features}
    retrieve = pt.Transformer.from_df(results.reset_index(drop=True), uniform=True)
    extract = pt.apply.doc_features(lambda row: features[row["docno"]])
    tree = {"n_estimators": 10, "min_child_samples": 3, "verbose": -1, "n_jobs": 1}
    fractions = ma.aggregate_labels(qrels, LINEAR @ 5)
    fails = retrieve >> extract >> pt.ltr.apply_learned_model(lightgbm.LGBMRanker(**tree), form="ltr")
    with pytest.raises(lightgbm.basic.LightGBMError, match="label should be int type"):
        fails.fit(topics, fractions, topics, fractions)
    labels = ma.aggregate_labels(qrels, LINEAR @ 5, levels=1000)
    model = lightgbm.LGBMRanker(**tree, **ma.lightgbm_params(labels))
    pipeline = retrieve >> extract >> pt.ltr.apply_learned_model(model, form="ltr")
    pipeline.fit(topics, labels, topics, labels)
    rows = (retrieve >> extract)(topics).merge(qrels, on=["qid", "docno"], how="left").fillna(0).sort_values("qid")
    X = np.stack(rows["features"])
    alone = lightgbm.LGBMRanker(**tree, lambdarank_truncation_level=8)
    ranker = AspectRanker(alone, target=LINEAR @ 5).fit(X, rows[list(GRADES)], qid=rows["qid"])
    assert np.corrcoef(model.predict(X), ranker.predict(X))[0, 1] > 0.99
    default = lightgbm.LGBMRanker(**tree, lambdarank_truncation_level=8, label_gain=list(range(1000)))
    codes = rows[["qid", "docno"]].merge(labels, on=["qid", "docno"], how="left")["label"].fillna(0)
    default.fit(X, codes, group=rows.groupby("qid", sort=False).size().to_list())
    assert np.corrcoef(default.predict(X), ranker.predict(X))[0, 1] < 0.999


# -- weights of queries -----------------------------------------------------------------------------


def weighted_ranker(target: Any, query_weights: bool = True, **params: Any) -> AspectRanker:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    leaves = {"num_leaves": 2, "min_child_samples": 0, "min_child_weight": 0, "min_data_in_bin": 1}
    tree = {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 1e3, "verbose": -1, "n_jobs": 1, **leaves}
    return AspectRanker(lightgbm.LGBMRanker(**tree, **params), target=target, query_weights=query_weights)


def gradients(ranker: AspectRanker) -> Any:
    """LightGBM's first gradients of the pairs: trees of two leaves, one of them a single document."""
    found = []
    for row, indicator in enumerate(np.eye(len(PAIRS))):
        predicted = ranker.fit(indicator[:, None], PAIRS, qid=PAIR_QID).predict(indicator[:, None])
        found.append(predicted[row] * 1e3)
    return np.reshape(found, (-1, 2))


PAIRS = pd.DataFrame(
    {"relevance": [2, 0, 0, 1, 3, 0], "credibility": [3, 1, 0, 3, 2, 0], "mood": [1, 0, 1, 0, 0, 1]}
)
#: Three queries of two documents.
PAIR_QID = np.repeat(["a", "b", "c"], 2)
PAIR_QRELS = PAIRS.assign(qid=PAIR_QID, docno=[f"d{row}" for row in range(6)])


@pytest.mark.parametrize("target", [LINEAR, LINEAR @ 1, CAM(aspects=GRADES, base="DCG")], ids=str)
def test_query_weights_make_lambdaranks_gradients_those_of_the_measure(target: Any) -> None:
    form = ma.aggregate_labels(PAIR_QRELS, target)["label"].to_numpy().reshape(3, 2)
    # Of two documents, the gradient is proportional to what their exchange changes.
    change = form[:, 0] - form[:, 1]
    ranker = weighted_ranker(target)
    weighted = gradients(ranker)
    assert weighted[:, 0] == pytest.approx(-weighted[:, 1], rel=1e-2)
    ratios = weighted[:, 0] / change
    assert ratios == pytest.approx(np.full(3, ratios[0]), rel=1e-2)
    ratios = gradients(weighted_ranker(target, query_weights=False))[:, 0] / change
    assert ratios != pytest.approx(np.full(3, ratios[0]), rel=0.1)
    params = ranker.estimator_.get_params()
    assert params["lambdarank_norm"] is False
    assert params["lambdarank_truncation_level"] == 30
    assert "lambdarank_norm" not in ranker.estimator.get_params()


def test_query_weights_of_measures_normalised_as_lambdarank_are_equal() -> None:
    # nDCG of TOMA's classes divides by the ideal itself.
    weighted = gradients(weighted_ranker(TOMA(aspects=GRADES)))
    target = TOMA(aspects=GRADES, weighting="normalized")
    unweighted = gradients(weighted_ranker(target, query_weights=False, lambdarank_norm=False))
    classes = ma.aggregate_labels(PAIR_QRELS, TOMA(aspects=GRADES))["label"].to_numpy()
    change = [(a - b) / (max(a, b) + min(a, b) / np.log2(3)) for a, b in classes.reshape(3, 2)]
    assert weighted[:, 0] / change == pytest.approx(np.full(3, weighted[0, 0] / change[0]), rel=1e-2)
    assert np.sign(unweighted).tolist() == np.sign(weighted).tolist()


def test_query_weights_multiply_those_given() -> None:
    given = np.repeat([1.0, 3.0, 2.0], 2)
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    seen = []

    class Ranker(lightgbm.LGBMRanker):  # type: ignore[name-defined,misc]
        def fit(self, X: Any, y: Any, group: Any = None, **how: Any) -> Any:
            seen.append(how["sample_weight"])
            return super().fit(X, y, group=group, **how)

    for weight in (None, given):
        ranker = AspectRanker(Ranker(n_estimators=1, verbose=-1), target=LINEAR, query_weights=True)
        ranker.fit(PAIRS.to_numpy(), PAIRS, qid=PAIR_QID, sample_weight=weight)
    assert seen[1] == pytest.approx(seen[0] * given)
    assert seen[0][::2].mean() == pytest.approx(1)
    form = np.sort(ma.aggregate_labels(PAIR_QRELS, LINEAR)["label"].to_numpy().reshape(3, 2))[:, ::-1]
    ideal = form @ [1, 1 / np.log2(3)]
    assert seen[0][::2] == pytest.approx(ideal / ideal.mean())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lambdarank_norm": True}, "query_weights=True requires lambdarank_norm=False, got True"),
        ({"lambdarank_truncation_level": 5}, "expected a lambdarank_truncation_level of at least 40, the number"),
        ({"label_gain": [0, 1]}, "query_weights=True requires the gains that CAM"),
        ({"objective": "rank_xendcg"}, "expected LightGBM's LGBMRanker with the objective lambdarank"),
    ],
    ids=str,
)
def test_settings_that_contradict_query_weights(params: dict[str, Any], message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        weighted_ranker(LINEAR @ 40, **params).fit(PAIRS, PAIRS, qid=PAIR_QID)


def test_other_learners_have_no_query_weights() -> None:
    with pytest.raises(
        MultiAspectError, match=r"expected LightGBM's LGBMRanker .*, got Ridge; use query_weights=False"
    ):
        AspectRanker(Ridge(), target=LINEAR, query_weights=True).fit(PAIRS, PAIRS, qid=PAIR_QID)


def test_query_weights_are_switched_on_or_off() -> None:
    with pytest.raises(MultiAspectError, match="query_weights: expected True or False, got 'no'"):
        weighted_ranker(LINEAR, query_weights="no").fit(PAIRS, PAIRS, qid=PAIR_QID)  # type: ignore[arg-type]


def test_the_truncation_level_covers_what_counts() -> None:
    long = pd.concat([PAIRS] * 10, ignore_index=True)
    for target, qid, expected in (
        (LINEAR @ 40, "ab", 40),
        (LINEAR @ 10, "ab", 30),
        (LINEAR, "ab", 30),
        (LINEAR, "aa", 60),
    ):
        ranker = weighted_ranker(target).fit(long, long, qid=np.repeat(list(qid), 30))
        assert ranker.estimator_.get_params()["lambdarank_truncation_level"] == expected


# -- every measure that defines a label --------------------------------------------------------------

EVERY = [
    LINEAR,
    LINEAR(empty="drop", weights={"relevance": 1, "credibility": 0, "mood": 2}),
    LINEAR(normalized=True) @ 3,
    CAM(aspects=GRADES, base="AP"),
    CAM(aspects=GRADES, base="Rprec"),
    CAM(aspects=GRADES, base="R@4"),
    CAM(aspects=GRADES, base="RBP(p=0.6)"),
    CAM(aspects=GRADES, base={"relevance": "nDCG@1", "credibility": "nDCG@3", "mood": "P@2"}),
    MM(aspects=GRADES),
    ma.GAM(aspects=GRADES),
    TOMA(aspects=GRADES),
    TOMA(aspects=GRADES, base="AP"),
    TOMA(aspects=GRADES, base="P@5"),
    TOMA(aspects=GRADES, weighting="exponential"),
    ma.uRBP(aspects=GRADES),
    ma.uRBPgr(aspects=GRADES),
    ma.unDCG(aspects=GRADES, s=2),
    ma.uERR(aspects=GRADES, s=2),
    ma.NWCS(aspects=GRADES),
    ma.On(aspect="credibility", aspects=GRADES),
    ma.On(aspect="credibility", base="nDCG(dcg='exp-log2')", aspects=GRADES),
]


@pytest.mark.parametrize("measure", EVERY, ids=str)
def test_every_label_can_be_reduced_and_weighted(measure: Any) -> None:
    qrels = world(9, n_queries=8)
    label = ma.aggregate_labels(qrels, measure)["label"].to_numpy()
    labels = ma.aggregate_labels(qrels, measure, levels=3)
    level = labels["label"].to_numpy()
    assert set(level) <= {0, 1, 2}
    assert ((level == 0) == (label == 0)).all()
    order = np.argsort(label)
    assert (np.diff(level[order]) >= 0).all()
    assert np.isfinite(labels.attrs["loss"])
    assert labels.attrs["loss"] < 0.5
    # Weights of queries are finite, and those of nDCG's own normalisation are equal.
    judgments = ma.Judgments(qrels)
    gains = gains_of(judgments, measure)
    values = label_values(judgments, measure, gains)
    assert (values >= 0).all()
    assert np.isfinite(values).all()
    for query in range(judgments.n_queries):
        mine = judgments.pool_query == query
        assert np.allclose(values[mine] * gains[mine].max(), gains[mine] * values[mine].max())
    if measure in (TOMA(aspects=GRADES), ma.On(aspect="credibility", aspects=GRADES)):
        ideal = [np.sort(values[judgments.pool_query == query])[::-1] for query in range(8)]
        assert [row @ (1 / np.log2(np.arange(2, 14))) for row in ideal] == pytest.approx([1] * 8)
