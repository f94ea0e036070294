"""AspectRanker hands every estimator the target, queries and weights it wants, and is a good estimator itself."""

from __future__ import annotations

import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from ir_measures import AP, nDCG
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import forget_warnings

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, AspectRanker, MultiAspectError, On

GRADES = {"relevance": 2, "credibility": 3}
ASPECTS = ma.Aspects(GRADES)
EUCLIDEAN = TOMA(aspects=ASPECTS, axes="gains")
MANHATTAN = TOMA(aspects=ASPECTS, distance="manhattan", axes="gains")
#: Of unsorted queries, with every grade.
Y = pd.DataFrame({"relevance": [0, 2, 1, 2, 0, 1, 2, 0], "credibility": [0, 3, 1, 0, 3, 2, 2, 1]})
QID = np.array(["b", "a", "b", "c", "a", "b", "c", "a"])
X = np.arange(16.0).reshape(8, 2)
#: The rows as rankers get them: queries in the order of their first rows, rows in theirs.
GROUPED = [0, 2, 5, 1, 4, 7, 3, 6]


class Recorder(BaseEstimator):
    """Keeps what fit was given; its predictions are the first column of X."""

    def _keep(self, X: Any, y: Any, **params: Any) -> Any:
        self.rows, self.labels, self.given = X, y, params
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, 0]


class Plain(Recorder):
    def fit(self, X: Any, y: Any) -> Any:
        return self._keep(X, y)


class Weighted(Recorder):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self._keep(X, y, sample_weight=sample_weight)


class ByGroup(Recorder):
    def fit(self, X: Any, y: Any, group: Any = None, sample_weight: Any = None, **more: Any) -> Any:
        return self._keep(X, y, group=group, sample_weight=sample_weight, **more)


class ByQid(Recorder):
    def fit(
        self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None
    ) -> Any:
        return self._keep(X, y, group=group, qid=qid, sample_weight=sample_weight)


class ByGroupId(Recorder):
    def fit(self, X: Any, y: Any, group_id: Any = None, sample_weight: Any = None) -> Any:
        return self._keep(X, y, group_id=group_id, sample_weight=sample_weight)


# -- targets ------------------------------------------------------------------------------------

TOTAL = Y["relevance"] + Y["credibility"]
GAPS = np.hypot(2 - Y["relevance"], 3 - Y["credibility"]).to_numpy()
PREFERENCES = {(r, c): (-1 if r == 0 and c else r * (c + 1)) for r in range(3) for c in range(4)}
ORDER = ma.Order(PREFERENCES, GRADES, allow_violations=True)


def linear(*weights: float) -> Any:
    """Σ_a p_a g_a / IDCG_a(q), query by query."""
    form = np.zeros(len(Y))
    for query in set(QID):
        rows = query == QID
        for weight, name in zip(weights, Y, strict=True):
            gain = Y[name].to_numpy()[rows]
            ideal = (np.sort(gain)[::-1] / np.log2(np.arange(2, len(gain) + 2))).sum()
            form[rows] += weight / sum(weights) * gain / (ideal or 1)
    return form


SQUARES = sorted({(2 - r) ** 2 + (3 - c) ** 2 for r in range(3) for c in range(4)}, reverse=True)
TARGETS: dict[str, tuple[Any, Any]] = {
    "classes": (MANHATTAN, TOTAL),
    "euclidean classes": (EUCLIDEAN, [SQUARES.index(round(gap**2)) for gap in GAPS]),
    "normalized": (EUCLIDEAN(weighting="normalized"), 1 - GAPS / np.hypot(2, 3)),
    "exponential": (MANHATTAN(weighting="exponential"), 2.0**TOTAL - 1),
    "equal axes": (
        MANHATTAN(axes="equal", weighting="normalized"),
        Y["relevance"] / 4 + Y["credibility"] / 6,
    ),
    "gate": (MANHATTAN(gate="relevance"), np.where(Y["relevance"] > 0, TOTAL, 0)),
    "weights": (
        EUCLIDEAN(
            weighting="normalized", distance="chebyshev", weights={"relevance": 3, "credibility": 1}
        ),
        1 - np.maximum(3 * (2 - Y["relevance"]), 3 - Y["credibility"]) / 6,
    ),
    "a cutoff does not matter": (MANHATTAN @ 1, TOTAL),
    "CAM": (CAM(aspects=ASPECTS), linear(1, 1)),
    "CAM, weighted": (
        CAM(aspects=ASPECTS, weights={"relevance": 1, "credibility": 0.25}),
        linear(1, 0.25),
    ),
    "CAM of declared values": (
        CAM(
            aspects=ma.Aspects(
                {"relevance": ma.Aspect([0, 1, 2], gains=[0, 10, 15]), "credibility": 3}
            ),
            base="DCG",
        ),
        (np.array([0, 10, 15])[Y["relevance"]] + Y["credibility"]) / 2,
    ),
    "MM": (MM(aspects=ASPECTS), linear(1, 1)),
    "uRBP": (ma.uRBP(aspects=ASPECTS), (Y > 0).all(axis=1)),
    "the name of an aspect": ("credibility", Y["credibility"]),
    "On": (On(aspect="credibility", base=nDCG @ 5), Y["credibility"]),
    "Order": (ORDER, np.maximum([PREFERENCES[pair] for pair in Y.itertuples(index=False)], 0)),
    "DistanceOrder": (ma.DistanceOrder(ASPECTS, "manhattan", axes="gains"), TOTAL),
    "string TOMA": (
        "TOMA(distance='manhattan',axes='gains',aspects={'relevance': 2, 'credibility': 3})@5",
        TOTAL,
    ),
    "string CAM": ("CAM(aspects={'relevance': 2, 'credibility': 3})", linear(1, 1)),
    "string On": ("On(aspect='credibility')", Y["credibility"]),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("case", TARGETS, ids=str)
def test_targets(case: str) -> None:
    target, expected = TARGETS[case]
    ranker = AspectRanker(Plain(), target=target).fit(X, Y, qid=QID)
    assert ranker.estimator_.labels == pytest.approx(np.asarray(expected, dtype=float), abs=1e-12)
    # The same labels as for learning to rank elsewhere.
    qrels = Y.rename(columns={"relevance": "label"}).assign(
        qid=QID, docno=[f"d{i}" for i in range(8)]
    )
    labels = qrels[["qid", "docno"]].merge(
        ma.aggregate_labels(qrels, target).values, on=["qid", "docno"], how="left"
    )
    assert labels["label"].to_numpy() == pytest.approx(ranker.estimator_.labels)
    # And its score is that of the measure named.
    if isinstance(target, ma.Measure):
        scored = ma.ranking_scorer(target)(ranker, X, Y, qid=QID)
        assert ranker.score(X, Y, qid=QID) == scored


@pytest.mark.parametrize("columns", [["relevance", "credibility"], ["credibility", "relevance"]])
@pytest.mark.parametrize("form", ["array", "lists", "frame"])
@pytest.mark.parametrize(
    ("target", "scales_are_declared"),
    [(MANHATTAN, False), (ORDER, False), (CAM(aspects=ASPECTS), False), (TOMA, True)],
    ids=["TOMA with scales", "order", "CAM with scales", "TOMA"],
)
def test_arrays_are_named_by_aspects(
    target: Any, scales_are_declared: bool, form: str, columns: list[str]
) -> None:
    """`aspects` names the columns of arrays, in their order; with a dict, it also declares scales."""
    frame = Y[columns]
    labels = {"array": frame.to_numpy(), "lists": frame.to_numpy().tolist(), "frame": frame}[form]
    scales = {name: GRADES[name] for name in columns}
    aspects = scales if scales_are_declared else columns

    ranker = AspectRanker(Plain(), target=target, aspects=aspects).fit(X, labels, qid=QID)

    expected = AspectRanker(Plain(), target=target, aspects=ASPECTS).fit(X, Y, qid=QID)
    # Plain keeps the labels that it is given.
    assert (ranker.estimator_.labels == expected.estimator_.labels).all()


def test_arrays_of_several_columns_need_aspects() -> None:
    # Those of a frame in another order were named by the order in which the target declares its
    # aspects.
    ranker = AspectRanker(Plain(), target=MANHATTAN)
    with pytest.raises(MultiAspectError, match=r"y has 2 columns without names; pass aspects="):
        ranker.fit(X, Y.to_numpy(), qid=QID)
    with pytest.raises(MultiAspectError, match=r"y has 2 columns without names; pass aspects="):
        ma.aggregate_labels(Y.to_numpy(), MANHATTAN)
    with pytest.raises(MultiAspectError, match="y has no column for the aspect credibility"):
        AspectRanker(Plain(), target="relevance", aspects=list(GRADES)).fit(X, Y[["relevance"]])
    ranker = AspectRanker(Plain(), target="relevance").fit(X, Y["relevance"].to_numpy())
    assert (ranker.estimator_.labels == Y["relevance"]).all()


def test_unjudged_labels_are_lowest() -> None:
    labels = Y.astype(float)
    labels.iloc[1] = {"relevance": np.nan, "credibility": 3}
    ranker = AspectRanker(Plain(), target=MANHATTAN, missing="lowest").fit(X, labels, qid=QID)
    # Plain keeps the labels that it is given: the class, here the sum of the grades.
    assert ranker.estimator_.labels[1] == 0 + 3


def test_missing_labels_are_refused_unless_asked_for() -> None:
    # Learnt as the lowest grade without a word.
    labels = Y.astype(float)
    labels.iloc[[1, 4], 0] = np.nan
    message = "y has no relevance label in 2 of 8 rows"
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        AspectRanker(Plain(), target=MANHATTAN).fit(X, labels, qid=QID)
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        AspectRanker(Plain(), target="relevance").fit(X, labels, qid=QID)
    # Not of aspects that are not learnt.
    AspectRanker(Plain(), target="credibility").fit(X, labels, qid=QID)
    with pytest.raises(
        MultiAspectError, match="missing: expected one of 'error', 'lowest', got 'zero'"
    ):
        AspectRanker(Plain(), target="credibility", missing="zero").fit(X, labels, qid=QID)


def test_undeclared_scales_warn() -> None:
    with pytest.warns(ma.MultiAspectWarning, match=r"scales.*inferred"):
        AspectRanker(Plain()).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    "target", [AP, ma.NLRE, nDCG @ 10, "nDCG@10", "NLRE", "P", 3, None], ids=str
)
def test_targets_that_aggregate_no_labels(target: Any) -> None:
    with pytest.raises(MultiAspectError, match=r"gain per document.*got"):
        AspectRanker(Plain(), target=target).fit(X, Y, qid=QID)


# -- what the estimator is handed -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "queries"),
    [
        (ByGroup(), {"group": [3, 3, 2]}),
        (ByQid(), {"group": None, "qid": [0, 0, 0, 1, 1, 1, 2, 2]}),
        (ByGroupId(), {"group_id": [0, 0, 0, 1, 1, 1, 2, 2]}),
    ],
    ids=["group", "qid", "group_id"],
)
def test_rankers_get_whole_queries_in_their_own_terms(
    estimator: Any, queries: dict[str, Any]
) -> None:
    weight = np.arange(8.0)
    ranker = AspectRanker(estimator, target=MANHATTAN).fit(X, Y, qid=QID, sample_weight=weight)
    inner = ranker.estimator_
    assert np.array_equal(inner.rows, X[GROUPED])
    assert (inner.labels == TOTAL[GROUPED]).all()
    for name, expected in queries.items():
        assert (
            np.array_equal(inner.given[name], expected) if expected else inner.given[name] is None
        )
    assert (inner.given["sample_weight"] == weight[GROUPED]).all()
    assert (ranker.predict(X) == X[:, 0]).all()
    assert not hasattr(estimator, "rows")


def test_frames_stay_frames() -> None:
    frame = pd.DataFrame(X, columns=["f1", "f2"], index=list("stuvwxyz"))
    inner = AspectRanker(ByGroup(), target=MANHATTAN).fit(frame, Y, qid=QID).estimator_
    pd.testing.assert_frame_equal(inner.rows, frame.iloc[GROUPED])


def test_sparse_features_stay_sparse() -> None:
    sparse = csr_matrix(X)
    for estimator, rows in ((ByGroup(), X[GROUPED]), (Weighted(), X)):
        ranker = AspectRanker(estimator, target=MANHATTAN).fit(sparse, Y, qid=QID)
        assert issparse(ranker.estimator_.rows)
        assert (ranker.estimator_.rows.toarray() == rows).all()
        assert ranker.n_features_in_ == X.shape[1]
    ranker = AspectRanker(Ridge(), target=MANHATTAN)
    wanted = ranker.fit(X, Y, qid=QID).predict(X)
    assert ranker.fit(sparse, Y, qid=QID).predict(sparse) == pytest.approx(wanted, abs=1e-6)
    with pytest.raises(MultiAspectError, match="y has 7 rows, but X has 8"):
        ranker.fit(sparse, Y[:7], qid=QID)


def test_regressors_get_the_rows_as_they_are() -> None:
    weight = np.arange(8.0)
    inner = (
        AspectRanker(Weighted(), target=MANHATTAN)
        .fit(X, Y, qid=QID, sample_weight=weight)
        .estimator_
    )
    assert (inner.rows == X).all()
    assert (inner.labels == TOTAL).all()
    assert (inner.given["sample_weight"] == weight).all()
    without = AspectRanker(Weighted(), target=MANHATTAN).fit(X, Y).estimator_
    assert (without.labels == TOTAL).all()
    assert without.given["sample_weight"] is None


def test_other_arguments_of_fit_are_passed_on() -> None:
    inner = AspectRanker(ByGroup(), target=MANHATTAN).fit(X, Y, qid=QID, eval_at=[5]).estimator_
    assert inner.given["eval_at"] == [5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qid": None}, "ByGroup is a ranker, so fit needs the query of every row"),
        ({"qid": QID[:5]}, "qid: expected one value for each of 8 rows, got shape (5,)"),
        ({"y": Y[:5]}, "y has 5 rows, but X has 8"),
        (
            {"y": np.zeros((8, 3))},
            "y has 3 columns, but there are 2 aspects: relevance, credibility",
        ),
        ({"y": Y[["relevance"]]}, "no column for the aspect credibility"),
        (
            {"sample_weight": [1.0, 2.0]},
            "sample_weight: expected one value for each of 8 rows, got shape (2,)",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit_together(changes: dict[str, Any], message: str) -> None:
    arguments = {"X": X, "y": Y, "qid": QID} | changes
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        AspectRanker(ByGroup(), target=MANHATTAN).fit(**arguments)


@pytest.mark.parametrize("target", ["scaled-sum", "scaled_sum"])
def test_the_misspelt_scaled_sum_is_suggested(target: str) -> None:
    with pytest.raises(
        MultiAspectError,
        match=f"target: expected a measure.*got '{target}'.*Did you mean scaled sum",
    ):
        ma.aggregate_labels(
            pd.DataFrame({"qid": ["q1"], "docno": ["d1"], "a": [1], "b": [1]}), target
        )


@pytest.mark.parametrize(
    "aspects", [None, list(GRADES), GRADES], ids=["undeclared", "names", "scales"]
)
def test_a_target_that_is_nearly_the_name_of_a_measure(aspects: Any) -> None:
    message = r"target: expected a measure or an aspect \(relevance, credibility\), got 'toma', .* names are TOMA,"
    with pytest.raises(MultiAspectError, match=message):
        AspectRanker(Plain(), "toma", aspects=aspects).fit(X, Y, qid=QID)
    with pytest.raises(MultiAspectError, match=message):
        ma.aggregate_labels(Y, "toma", aspects=aspects, qid=QID)


# -- where queries come from ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "place", ["level of y", "level of X", "column of X", "only level of y, X is an array"]
)
def test_qid_is_found_in_the_index_or_the_column_called_so(place: str) -> None:
    features: Any = pd.DataFrame(X, columns=["f1", "f2"])
    labels = Y
    index = pd.MultiIndex.from_arrays([QID, range(8)], names=["qid", "row"])
    if place == "level of y":
        labels = Y.set_index(index)
    elif place == "level of X":
        features = features.set_index(index)
    elif place == "column of X":
        features = features.assign(qid=QID)
    else:
        features = X
        labels = Y.set_index(pd.Index(QID, name="qid"))

    ranker = AspectRanker(ByGroup(), target=MANHATTAN).fit(features, labels)

    # ByGroup keeps what it is given: the rows grouped by query (QID is b a b c a b c a), and the
    # sizes of the groups b, a and c.
    assert np.asarray(ranker.estimator_.rows).tolist() == X[[0, 2, 5, 1, 4, 7, 3, 6]].tolist()
    assert list(ranker.estimator_.given["group"]) == [3, 3, 2]
    assert ranker.n_features_in_ == 2
    assert ranker.score(features, labels) == ranker.score(X, Y, qid=QID)


# -- the rankers themselves -----------------------------------------------------------------------


class Data:
    """Twenty queries of eight rows, and the same rows with the queries interleaved."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.qid = np.repeat(np.arange(20), 8)
        self.X = rng.normal(size=(160, 4))
        noise = rng.normal(scale=0.5, size=(160, 2))
        self.Y = pd.DataFrame(
            {
                "relevance": np.digitize(self.X[:, 0] + noise[:, 0], [0, 1]),
                "credibility": np.digitize(self.X[:, 1] + noise[:, 1], [-1, 0, 1]),
            }
        )
        self.weight = np.where(self.qid % 2 == 0, 1.0, 5.0)
        #: The first row of all queries, then the second, and so on.
        self.interleaved = np.arange(160).reshape(20, 8).T.ravel()


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


def lightgbm_ranker(**params: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    return lightgbm.LGBMRanker(
        **{
            "n_estimators": 15,
            "min_child_samples": 3,
            "verbose": -1,
            "n_jobs": 1,
            "random_state": 0,
            **params,
        }
    )


def xgboost_ranker(**params: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    return xgboost.XGBRanker(**{"n_estimators": 15, "n_jobs": 1, "random_state": 0, **params})


def catboost_ranker(**params: Any) -> Any:
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    fixed = {
        "iterations": 15,
        "verbose": 0,
        "thread_count": 1,
        "random_seed": 0,
        "allow_writing_files": False,
    }
    return catboost.CatBoostRanker(loss_function="QueryRMSE", **fixed, **params)


RANKERS = [lightgbm_ranker, xgboost_ranker, catboost_ranker]


def labels_for(target: Any, data: Data) -> Any:
    """The labels that a regression gets for a target, which are its gains."""
    return AspectRanker(Plain(), target=target).fit(data.X, data.Y, qid=data.qid).estimator_.labels


def fit_directly(make: Any, target: Any, data: Data) -> Any:
    """Return a ranker of a library, fitted as its documentation says, with weights of the queries."""
    label = labels_for(target, data)
    if make is xgboost_ranker:  # it takes one weight per query, of eight rows
        ranker = make(ndcg_exp_gain=False)
        return ranker.fit(data.X, label, qid=data.qid, sample_weight=data.weight[::8])
    if make is catboost_ranker:
        return make().fit(data.X, label, group_id=data.qid, sample_weight=data.weight)
    # LightGBM's labels are whole numbers, positions in the list of gains.
    gains = np.unique(np.append(label, 0))
    positions = np.searchsorted(gains, label)
    ranker = make(label_gain=gains.tolist())
    return ranker.fit(data.X, positions, group=[8] * 20, sample_weight=data.weight)


@pytest.mark.every(3)
@pytest.mark.parametrize("make", RANKERS)
def test_the_model_is_the_one_the_ranker_learns_from_grouped_rows(make: Any, data: Data) -> None:
    ranker = AspectRanker(make(), target=EUCLIDEAN)
    ranker.fit(data.X, data.Y, qid=data.qid, sample_weight=data.weight)
    direct = fit_directly(make, EUCLIDEAN, data)
    assert (ranker.predict(data.X) == direct.predict(data.X)).all()
    assert ranker.score(data.X, data.Y, qid=data.qid) > 0.85


@pytest.mark.every(3)
@pytest.mark.parametrize("make", RANKERS)
def test_weights_change_the_model(make: Any, data: Data) -> None:
    weighted = AspectRanker(make(), target=EUCLIDEAN)
    weighted.fit(data.X, data.Y, qid=data.qid, sample_weight=data.weight)
    unweighted = AspectRanker(make(), target=EUCLIDEAN).fit(data.X, data.Y, qid=data.qid)
    assert not np.allclose(unweighted.predict(data.X), weighted.predict(data.X))


@pytest.mark.every(2)
@pytest.mark.parametrize("make", RANKERS)
def test_sorting_by_query_is_invisible(make: Any, data: Data) -> None:
    together = AspectRanker(make(), target=EUCLIDEAN)
    together.fit(data.X, data.Y, qid=data.qid, sample_weight=data.weight)
    rows = data.interleaved
    apart = AspectRanker(make(), target=EUCLIDEAN)
    apart.fit(data.X[rows], data.Y.iloc[rows], qid=data.qid[rows], sample_weight=data.weight[rows])
    assert (apart.predict(data.X) == together.predict(data.X)).all()
    assert (apart.predict(data.X[rows]) == together.predict(data.X)[rows]).all()


def test_xgboost_takes_a_weight_per_query(data: Data) -> None:
    varying = data.weight.copy()
    varying[3] = 9
    with pytest.raises(
        MultiAspectError,
        match=r"sample_weight.*within queries.*varies in 1 rows",
    ):
        AspectRanker(xgboost_ranker(), target=EUCLIDEAN).fit(
            data.X, data.Y, qid=data.qid, sample_weight=varying
        )


# -- label gains ----------------------------------------------------------------------------------


def label_gain(ranker: AspectRanker) -> Any:
    """The gains by label that the LightGBM ranker of a fitted ranker was given."""
    return ranker.estimator_.get_params().get("label_gain")


@pytest.mark.parametrize(
    ("target", "gains"),
    [
        ("relevance", [0, 1, 2]),
        # Classes are sums of the grades 0 to 2 and 0 to 3.
        (MANHATTAN, [0, 1, 2, 3, 4, 5]),
        (MANHATTAN(weighting="exponential"), [0, 1, 3, 7, 15, 31]),
        (MANHATTAN(weighting="normalized"), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        # The values (1 r + 0.5 c) / 1.5 of the grades r from 0 to 2 and c from 0 to 3.
        (
            CAM(aspects=ASPECTS, weights={"relevance": 1, "credibility": 0.5}, base="DCG"),
            [0, 0.5 / 1.5, 1 / 1.5, 1.5 / 1.5, 2 / 1.5, 2.5 / 1.5, 3 / 1.5, 3.5 / 1.5],
        ),
    ],
    ids=str,
)
def test_label_gain_is_set_where_lightgbm_has_none(
    target: Any, gains: list[float], data: Data
) -> None:
    """LightGBM's own gains would be 2^label - 1, which the measures do not sum."""
    ranker = AspectRanker(lightgbm_ranker(), target=target)
    ranker.fit(data.X, data.Y, qid=data.qid)
    assert "label_gain" not in ranker.estimator.get_params()
    assert label_gain(ranker) == pytest.approx(gains)
    assert ranker.score(data.X, data.Y, qid=data.qid) > 0.8


def test_label_gain_does_not_grow_with_the_labels(data: Data) -> None:
    """It has an entry per value that documents may have, not one per number up to the largest."""
    gains = [0, 10**6, 10**9]
    aspects = ma.Aspects({"relevance": ma.Aspect([0, 1, 2], gains=gains), "credibility": 3})
    target = CAM(aspects=aspects, base="DCG")
    ranker = AspectRanker(lightgbm_ranker(), target=target).fit(data.X, data.Y, qid=data.qid)
    # CAM is the mean of both gains.
    values = [(relevance + credibility) / 2 for relevance in gains for credibility in range(4)]
    assert label_gain(ranker) == sorted(values)


def test_the_linear_form_of_cam_is_the_gain_lightgbm_sums(data: Data) -> None:
    target = CAM(aspects=ASPECTS) @ 5
    ranker = AspectRanker(lightgbm_ranker(), target=target).fit(data.X, data.Y, qid=data.qid)

    values = labels_for(target, data)  # fractions
    gains = np.unique(np.append(values, 0))
    assert label_gain(ranker) == pytest.approx(gains)
    # LightGBM's labels are whole numbers, positions in the list of gains.
    positions = np.searchsorted(gains, values)
    direct = lightgbm_ranker(label_gain=gains.tolist())
    direct.fit(data.X, positions, group=[8] * 20)  # twenty queries of eight rows
    assert (ranker.predict(data.X) == direct.predict(data.X)).all()


def test_whole_gains_that_are_no_grades_are_learnt_as_they_are(data: Data) -> None:
    """Values that happen to be whole numbers are gains too, not classes with the gains 2^class - 1."""
    # With all weight on credibility, values are its grades, 0 to 3.
    target = ma.NWCS(aspects=ASPECTS, weights={"relevance": 0, "credibility": 1})
    ranker = AspectRanker(lightgbm_ranker(), target=target).fit(data.X, data.Y, qid=data.qid)
    assert label_gain(ranker) == [0, 1, 2, 3]
    ranker = AspectRanker(xgboost_ranker(), target=target).fit(data.X, data.Y, qid=data.qid)
    assert ranker.estimator_.get_params()["ndcg_exp_gain"] is False


def test_cams_label_needs_queries_even_for_regressors() -> None:
    with pytest.raises(MultiAspectError, match=r"CAM.*per query.*fit needs"):
        AspectRanker(Plain(), target=CAM(aspects=ASPECTS)).fit(X, Y)
    AspectRanker(Plain(), target=ma.NWCS(aspects=ASPECTS)).fit(X, Y)


@pytest.mark.parametrize(
    ("make", "params"),
    [(lightgbm_ranker, {"label_gain": [0, 1, 2]}), (xgboost_ranker, {"ndcg_exp_gain": True})],
)
def test_other_gains_than_those_of_the_target_are_refused(
    make: Any, params: Any, data: Data
) -> None:
    with pytest.raises(MultiAspectError, match=r"target .*weighting='exponential'"):
        AspectRanker(make(**params), target=MANHATTAN).fit(data.X, data.Y, qid=data.qid)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "target",
    [MANHATTAN(weighting="normalized"), CAM(aspects=ASPECTS), MANHATTAN(weighting="exponential")],
    ids=str,
)
def test_xgboost_gets_the_gains_themselves(target: Any, data: Data) -> None:
    """Not their positions among the gains, as LightGBM does: those of 0, 0.1 and 0.9 are 0, 1 and 2."""
    ranker = AspectRanker(xgboost_ranker(), target=target).fit(data.X, data.Y, qid=data.qid)
    predictions = ranker.predict(data.X)
    gains = labels_for(target, data)

    by_gains = xgboost_ranker(ndcg_exp_gain=False).fit(data.X, gains, qid=data.qid)
    assert (predictions == by_gains.predict(data.X)).all()

    _, positions = np.unique(gains, return_inverse=True)
    by_positions = xgboost_ranker(ndcg_exp_gain=False).fit(data.X, positions, qid=data.qid)
    assert (predictions != by_positions.predict(data.X)).any()


def test_weights_too_large_for_a_number_are_refused() -> None:
    target = TOMA(weighting="exponential", distance="manhattan", aspects={"relevance": 2000})
    with pytest.raises(MultiAspectError, match=r"the class 1500 .*too large for a label"):
        AspectRanker(Plain(), target=target).fit(X, np.array([[0], [1500]] * 4))


# -- pipelines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_routed", [True, False], ids=["routing", "no routing"])
@pytest.mark.parametrize(
    "estimator", [ByGroup(), ByQid(), ByGroupId(), Weighted(), Plain()], ids=repr
)
def test_the_last_step_of_a_pipeline_gets_what_it_wants(estimator: Any, is_routed: bool) -> None:
    """The last step gets the queries in its own form, and weights, as it does without a pipeline."""
    weights = {} if isinstance(estimator, Plain) else {"sample_weight": np.arange(8.0)}
    with sklearn.config_context(enable_metadata_routing=is_routed):
        scaler = StandardScaler()
        if is_routed:
            scaler.set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, estimator)
        ranker = AspectRanker(pipeline, target=MANHATTAN).fit(X, Y, qid=QID, **weights)
        alone = AspectRanker(estimator, target=MANHATTAN)
        alone.fit(StandardScaler().fit_transform(X), Y, qid=QID, **weights)

    # The estimators keep what they are given.
    last_step, expected = ranker.estimator_[-1], alone.estimator_
    np.testing.assert_allclose(last_step.rows, expected.rows)
    assert (last_step.labels == expected.labels).all()
    assert set(last_step.given) == set(expected.given)
    for name, value in last_step.given.items():
        assert np.array_equal(value, expected.given[name])
    # A copy of the pipeline is fitted, and its last step set to request metadata; not the pipeline.
    assert not hasattr(scaler, "mean_")
    assert not hasattr(estimator, "labels")
    requests = estimator.get_metadata_routing().fit.requests
    assert set(requests.values()) <= {None}


@pytest.mark.every(2)
@pytest.mark.parametrize("on", [True, False], ids=["routing", "no routing"])
def test_real_pipelines(on: bool, data: Data) -> None:
    with sklearn.config_context(enable_metadata_routing=on):
        for last in (
            Ridge(),
            KNeighborsRegressor(),
            lightgbm_ranker(),
            xgboost_ranker(),
            catboost_ranker(),
        ):
            ranker = AspectRanker(make_pipeline(StandardScaler(), last), target=EUCLIDEAN)
            ranker.fit(data.X, data.Y, qid=data.qid)
            assert ranker.score(data.X, data.Y, qid=data.qid) > 0.8


# -- evaluation sets ------------------------------------------------------------------------------

TWO, ONE = Y[:2], Y[:3].to_numpy()[:, 0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"eval_set": [(X[:3], ONE, list("zzz"))]}, "y has 1 column, but there are 2"),
        (
            {"eval_set": [(X[:3], Y[:3])]},
            "eval_set[0]: LGBMRanker is a ranker, so fit needs the query",
        ),
        ({"eval_set": [(X[:3], TWO, list("zz"))]}, "eval_set[0]: y has 2 rows, but X has 3"),
        (
            {"eval_set": [(X[:3], Y[:3], list("zz"))]},
            "eval_set[0]: qid: expected one value for each of 3 rows",
        ),
        ({"eval_set": [X[:3]]}, "eval_set: expected a list of (X, y) or (X, y, qid)"),
        ({"eval_X": [X[:3]]}, "expected eval_set=[(X, y, qid)] instead of eval_X"),
        ({"eval_metric": "CAM@10"}, "expected measure= of AspectRanker instead of eval_metric"),
        ({"group": [8]}, "expected qid instead of group"),
        ({"eval_fraction": 1.5}, "eval_fraction"),
        (
            {"eval_set": [(X[:3], Y[:3].assign(mood=1), list("zzz"))]},
            (
                "eval_set[0]: expected y with the columns of the training set (relevance, "
                "credibility), got relevance"
            ),
        ),
    ],
    ids=str,
)
def test_evaluation_sets_that_do_not_fit(how: dict[str, Any], message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        AspectRanker(lightgbm_ranker(), target=MANHATTAN).fit(X, Y, qid=QID, **how)


def test_estimators_without_evaluation_sets() -> None:
    with pytest.raises(MultiAspectError, match=r"Ridge.*leave out eval_set"):
        AspectRanker(Ridge(), target=MANHATTAN).fit(X, Y, qid=QID, eval_fraction=0.5)
    with pytest.raises(MultiAspectError, match=r"needs a measure.*'scaled sum'"):
        AspectRanker(lightgbm_ranker(), target="scaled sum").fit(X, Y, qid=QID, eval_fraction=0.5)


# -- queries among the features -------------------------------------------------------------------


def warnings_of(ranker: AspectRanker, *rows: Any, qid: Any) -> list[str]:
    """The messages of the package's warnings when a ranker is fitted."""
    forget_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ranker.fit(*rows, qid=qid)
    return [str(item.message) for item in caught if item.category is ma.MultiAspectWarning]


LOOKS_LIKE_THE_QUERY = "column 1 of X looks like the query"
QUERIES_OF_ONE_ROW = "fit: every query"


@pytest.mark.parametrize("learner", [ByGroup(), Plain()], ids=repr)
@pytest.mark.parametrize(
    ("n_queries", "n_rows", "shift", "expected"),
    [
        (10, 3, 0, [LOOKS_LIKE_THE_QUERY]),
        (10, 3, 0.5, [LOOKS_LIKE_THE_QUERY]),
        (30, 2, 0, [LOOKS_LIKE_THE_QUERY]),
        (9, 3, 0, []),  # too few queries to tell
        (10, 1, 0, [QUERIES_OF_ONE_ROW]),
    ],
)
def test_a_column_that_tells_the_queries_apart_is_noticed(
    n_queries: int, n_rows: int, shift: float, expected: list[str], learner: Any
) -> None:
    """A column with one value per query, which differs between queries, is probably the query itself."""
    qid = np.repeat(np.arange(n_queries), n_rows)
    rng = np.random.default_rng(0)
    by_query = (qid - shift) / 7
    shared_by_two_queries = qid // 2
    features = np.column_stack([rng.normal(size=len(qid)), by_query, shared_by_two_queries])
    labels = pd.DataFrame(rng.integers(0, 2, (len(qid), 2)), columns=["relevance", "credibility"])
    order = rng.permutation(len(qid))
    ranker = AspectRanker(learner, target=MANHATTAN)

    messages = warnings_of(ranker, features[order], labels.iloc[order], qid=qid[order])

    assert len(messages) == len(expected)
    for message, beginning in zip(messages, expected, strict=True):
        assert beginning in message


@pytest.mark.parametrize(
    ("n_queries", "n_rows", "expected"),
    [(10, 3, []), (9, 3, []), (30, 2, []), (10, 1, [QUERIES_OF_ONE_ROW])],
)
def test_a_column_that_two_queries_share_is_a_feature(
    n_queries: int, n_rows: int, expected: list[str]
) -> None:
    qid = np.repeat(np.arange(n_queries), n_rows)
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.normal(size=len(qid)), qid // 2])
    labels = pd.DataFrame(rng.integers(0, 2, (len(qid), 2)), columns=["relevance", "credibility"])
    messages = warnings_of(AspectRanker(ByGroup(), target=MANHATTAN), features, labels, qid=qid)
    assert len(messages) == len(expected)
    for message, beginning in zip(messages, expected, strict=True):
        assert beginning in message


def test_frames_of_polars_are_features(data: Data) -> None:
    polars = pytest.importorskip("polars")
    features = polars.DataFrame({f"f{i}": data.X[:, i] for i in range(4)})
    labels = polars.DataFrame(data.Y[["credibility", "relevance"]].to_dict("list"))
    expected = (
        AspectRanker(Ridge(), target=EUCLIDEAN).fit(data.X, data.Y, qid=data.qid).predict(data.X)
    )
    ranker = AspectRanker(Ridge(), target=EUCLIDEAN).fit(features, labels, qid=data.qid)
    assert ranker.predict(features) == pytest.approx(expected)
    assert ranker.feature_names_in_.tolist() == ["f0", "f1", "f2", "f3"]
    with_qid = features.with_columns(polars.Series("qid", data.qid))
    grouped = AspectRanker(lightgbm_ranker(), target=EUCLIDEAN).fit(with_qid, labels)
    assert grouped.n_features_in_ == 4
    assert grouped.score(with_qid, labels) == ma.ranking_scorer(EUCLIDEAN)(
        grouped, with_qid, labels
    )
    with pytest.raises(MultiAspectError, match="lazy"):
        AspectRanker(Ridge(), target=EUCLIDEAN).fit(features.lazy(), labels, qid=data.qid)


def test_as_the_last_step_of_a_pipeline(data: Data) -> None:
    """A pipeline with a ranker as its last step passes on qid by its name, or by metadata routing."""
    scaled = StandardScaler().fit_transform(data.X)
    alone = AspectRanker(Ridge(), target=EUCLIDEAN).fit(scaled, data.Y, qid=data.qid)
    expected = alone.predict(scaled)

    pipeline = make_pipeline(StandardScaler(), AspectRanker(Ridge(), target=EUCLIDEAN))
    pipeline.fit(data.X, data.Y, aspectranker__qid=data.qid)
    assert pipeline.predict(data.X) == pytest.approx(expected)

    with sklearn.config_context(enable_metadata_routing=True):
        pipeline.fit(data.X, data.Y, qid=data.qid)
        assert pipeline.predict(data.X) == pytest.approx(expected)
        assert pipeline.score(data.X, data.Y, qid=data.qid) > 0.85


def test_weights_reach_the_last_step_of_a_pipeline(data: Data) -> None:
    pipeline = make_pipeline(StandardScaler(), AspectRanker(Ridge(), target=EUCLIDEAN))
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline[0].set_fit_request(sample_weight=False)  # the weights are for the ranker only
        pipeline.fit(data.X, data.Y, qid=data.qid)
        unweighted = pipeline.predict(data.X)
        pipeline.fit(data.X, data.Y, qid=data.qid, sample_weight=data.weight)
        assert pipeline.predict(data.X) != pytest.approx(unweighted)


# -- parameters -----------------------------------------------------------------------------------


def test_parameters_of_the_target_are_parameters() -> None:
    ranker = AspectRanker(Ridge(alpha=2), target=TOMA(distance="manhattan"))
    params = ranker.get_params()
    assert params["target__distance"] == "manhattan"
    assert params["target__weights"] is None
    assert params["estimator__alpha"] == 2
    assert set(ranker.get_params(deep=False)) == {
        "estimator",
        "target",
        "measure",
        "aspects",
        "missing",
    }
    assert not any(
        name.startswith("target__") for name in AspectRanker(Ridge(), "relevance").get_params()
    )


def test_setting_them_never_changes_a_shared_measure() -> None:
    ranker = AspectRanker(Ridge())
    other = AspectRanker(Ridge())
    assert ranker.target is TOMA
    ranker.set_params(
        target__distance="chebyshev", target__weights={"relevance": 2}, estimator__alpha=5
    )
    assert ranker.target == TOMA(distance="chebyshev", weights={"relevance": 2})
    assert ranker.estimator.alpha == 5
    assert other.target is TOMA
    assert TOMA["distance"] == "euclidean"
    ranker.set_params(target__distance="euclidean", target__weights=None)
    assert ranker.target == TOMA


def test_a_target_and_its_parameters_can_be_set_together() -> None:
    ranker = AspectRanker(Ridge(), target="relevance")
    ranker.set_params(
        target__gate="relevance", target=TOMA, estimator=LinearRegression(), missing="lowest"
    )
    assert ranker.target == TOMA(gate="relevance")
    assert isinstance(ranker.estimator, LinearRegression)
    assert ranker.missing == "lowest"
    assert ranker.set_params() is ranker


@pytest.mark.parametrize(
    ("target", "params", "message"),
    [
        (TOMA, {"target__nix": 1}, "target: expected parameters of TOMA (base, distance,"),
        (
            "relevance",
            {"target__distance": 1},
            "target 'relevance' is not a measure and has no parameters distance",
        ),
        (TOMA, {"nix": 1}, "nix"),
        (TOMA, {"estimator__nix": 1}, "nix"),
    ],
    ids=str,
)
def test_parameters_that_there_are_not(target: Any, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        AspectRanker(Ridge(), target=target).set_params(**params)


def test_values_are_stored_when_set_and_validated_when_fitted() -> None:
    # As in scikit-learn: raised by set_params, one bad candidate ended a whole search.
    ranker = AspectRanker(Ridge(), target=MANHATTAN)
    ranker.set_params(target__distance="nix", estimator__alpha=7)
    assert ranker.get_params()["target__distance"] == "nix"
    assert ranker.get_params()["target__axes"] == "gains"
    assert ranker.estimator.alpha == 7
    for copied in (ranker, clone(ranker), pickle.loads(pickle.dumps(ranker))):
        assert "distance='nix'" in repr(copied.target)
        with pytest.raises(MultiAspectError, match=r"TOMA: .*distance.*'nix'"):
            copied.fit(X, Y, qid=QID)
    with pytest.raises(MultiAspectError, match=r"target: expected parameters of TOMA .*, got nix"):
        ranker.set_params(target__nix=1)
    ranker.set_params(target__gate="relevance")
    assert ranker.get_params()["target__distance"] == "nix"
    ranker.set_params(target__distance="chebyshev")
    assert ranker.target == MANHATTAN(distance="chebyshev", gate="relevance")
    assert ranker.fit(X, Y, qid=QID).predict(X).shape == (8,)


@pytest.mark.usefixtures("routing")
def test_a_bad_candidate_fails_alone(data: Data) -> None:
    grid = {"target__distance": ["manhattan", "nix", "euclidean"]}
    scorer = ma.ranking_scorer(MANHATTAN, aspects=ASPECTS)
    search = GridSearchCV(
        AspectRanker(Ridge(), target=MANHATTAN), grid, scoring=scorer, cv=GroupKFold(2)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(data.X, data.Y, qid=data.qid, groups=data.qid)
    assert any(
        "'nix'" in str(warning.message)
        for warning in caught
        if warning.category is FitFailedWarning
    )
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, False]
    assert search.best_params_["target__distance"] in ("manhattan", "euclidean")


def test_strings_as_targets_have_parameters() -> None:
    ranker = AspectRanker(
        Ridge(), target="TOMA(distance='manhattan',aspects={'relevance': 2, 'credibility': 3})@5"
    )
    assert ranker.get_params()["target__distance"] == "manhattan"
    assert ranker.get_params()["target__cutoff"] == 5
    ranker.set_params(target__axes="gains")
    assert ranker.target == MANHATTAN @ 5
    assert AspectRanker(Ridge(), target="CAM").set_params(
        target__weights={"relevance": 2}
    ).target == CAM(weights={"relevance": 2})
    # A string that names no measure has no parameters, and fails in fit.
    invalid = AspectRanker(Ridge(), target="TOMA(distance='nix')")
    assert not any(name.startswith("target__") for name in invalid.get_params())
    with pytest.raises(MultiAspectError, match="'nix'"):
        invalid.fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    "target", [TOMA, MANHATTAN @ 5, "relevance", ORDER, CAM(aspects=ASPECTS)], ids=str
)
def test_clones_and_pickles(target: Any) -> None:
    ranker = AspectRanker(Ridge(alpha=3), target=target)
    copied = clone(ranker)
    assert copied is not ranker
    assert copied.estimator is not ranker.estimator
    assert repr(copied.target) == repr(target)
    with pytest.warns(ma.MultiAspectWarning) if target is TOMA else _nothing():
        ranker.fit(X, Y, qid=QID)
    again = pickle.loads(pickle.dumps(ranker))
    assert (again.predict(X) == ranker.predict(X)).all()
    assert repr(again) == repr(ranker)
    assert not hasattr(clone(again), "estimator_")
    assert "AspectRanker" in ranker._repr_html_()


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


# -- an estimator as others -----------------------------------------------------------------------


def test_features_are_remembered() -> None:
    frame = pd.DataFrame(X, columns=["f1", "f2"])
    ranker = AspectRanker(Ridge(), target=MANHATTAN).fit(frame, Y, qid=QID)
    assert ranker.n_features_in_ == 2
    assert ranker.feature_names_in_.tolist() == ["f1", "f2"]
    ranker.fit(X, Y, qid=QID)
    assert not hasattr(ranker, "feature_names_in_")
    with pytest.raises(ValueError, match="features"):
        ranker.predict(X[:, :1])


def test_not_fitted() -> None:
    for call in (lambda r: r.predict(X), lambda r: r.score(X, Y, qid=QID)):
        with pytest.raises(NotFittedError):
            call(AspectRanker(Ridge(), target=MANHATTAN))


def test_a_decision_function_only_where_the_estimator_has_one() -> None:
    assert not hasattr(AspectRanker(Ridge()), "decision_function")
    ranker = AspectRanker(LogisticRegression(), target="relevance")
    assert hasattr(ranker, "decision_function")
    ranker.fit(X, (Y[["relevance"]] > 0).astype(int), qid=QID)
    assert (ranker.decision_function(X) == ranker.estimator_.decision_function(X)).all()
    scorer = ma.ranking_scorer(MANHATTAN, response_method="decision_function")
    assert 0 < scorer(ranker, X, Y, qid=QID) <= 1


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_grid_search_over_the_target_and_the_estimator(data: Data) -> None:
    grid = {
        "target__distance": ["manhattan", "euclidean", "chebyshev"],
        "target__weights": [None, {"relevance": 1, "credibility": 0.1}],
        "estimator__num_leaves": [4, 8],
    }
    search = GridSearchCV(
        AspectRanker(lightgbm_ranker(n_estimators=5), target=EUCLIDEAN),
        grid,
        scoring=ma.ranking_scorer(CAM(base=nDCG @ 5), aspects=ASPECTS),
        cv=GroupKFold(2),
        error_score="raise",
    ).fit(data.X, data.Y, qid=data.qid, groups=data.qid)
    assert len(search.cv_results_["params"]) == 12
    assert len(set(search.cv_results_["mean_test_score"].round(10))) > 4
    best = search.best_params_
    assert search.best_estimator_.target["distance"] == best["target__distance"]
    assert search.best_estimator_.estimator_.num_leaves == best["estimator__num_leaves"]
    assert EUCLIDEAN["distance"] == "euclidean"
    assert search.estimator.target == EUCLIDEAN


@pytest.mark.usefixtures("routing")
def test_grid_search_over_whole_targets_by_the_rankers_own_score(data: Data) -> None:
    grid = [
        {"target": [MANHATTAN, CAM(aspects=ASPECTS), On(aspect="credibility", aspects=ASPECTS)]}
    ]
    ranker = AspectRanker(Ridge(), measure=CAM(aspects=ASPECTS))
    search = GridSearchCV(ranker, grid, cv=GroupKFold(2), error_score="raise")
    search.fit(data.X, data.Y, qid=data.qid, groups=data.qid)
    assert (search.cv_results_["mean_test_score"] > 0.7).all()


#: Checks of scikit-learn that cannot hold, and why.
CANNOT_HOLD = dict.fromkeys(
    ("check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_pipeline_consistency"),
    "it calls score(X, y) without qid, and a ranking cannot be scored without its queries",
)


@pytest.mark.every(2)
@parametrize_with_checks(
    [AspectRanker(Ridge(), target="relevance")],
    expected_failed_checks=lambda estimator: CANNOT_HOLD,
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# -- what it is for -------------------------------------------------------------------------------


def conflicting(seed: int, n_queries: int = 90, n_rows: int = 20) -> tuple[Any, Any, Any]:
    """Queries whose relevant documents tend not to be credible; the features tell both, with noise."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_rows
    relevant = rng.normal(size=n)
    credible = -0.7 * relevant + 0.7 * rng.normal(size=n)
    noise = rng.normal(scale=0.4, size=(n, 4))
    features = (
        np.column_stack([relevant, credible, relevant + credible, rng.normal(size=n)]) + noise
    )
    labels = pd.DataFrame(
        {
            "relevance": np.digitize(relevant, [0, 1]),
            "credibility": np.digitize(credible, [-1, 0, 1]),
        }
    )
    return features, labels, np.repeat(np.arange(n_queries), n_rows)


@pytest.mark.slow
def test_training_on_toma_gives_a_higher_toma_where_the_aspects_conflict() -> None:
    """Relevant documents tend not to be credible: 60 queries to learn from, 30 to evaluate on."""
    features, labels, qid = conflicting(seed=0)
    is_train = qid < 60
    test_features, test_labels, test_qid = features[~is_train], labels[~is_train], qid[~is_train]
    measure = EUCLIDEAN(base=nDCG) @ 10

    def toma_by_query(target: Any) -> pd.Series:
        """TOMA of each test query, ranked by a model that was trained on the target."""
        ranker = AspectRanker(lightgbm_ranker(n_estimators=60, min_child_samples=20), target=target)
        ranker.fit(features[is_train], labels[is_train], qid=qid[is_train])
        ids = pd.DataFrame(
            {"query_id": test_qid.astype(str), "doc_id": np.flatnonzero(~is_train).astype(str)}
        )
        qrels = ids.join(test_labels.reset_index(drop=True))
        run = ids.assign(score=ranker.predict(test_features))
        metrics = pd.DataFrame(measure.iter_calc(qrels, run))
        values = metrics.set_index("query_id")["value"]
        score = ma.ranking_scorer(measure)(ranker, test_features, test_labels, qid=test_qid)
        assert score == pytest.approx(values.mean(), abs=1e-12)
        return values

    by_toma = toma_by_query(EUCLIDEAN)
    by_relevance = toma_by_query("relevance")

    difference = by_toma - by_relevance
    assert len(difference) == 30
    # Not by chance: more than three standard errors, and for most queries.
    standard_error = difference.std() / np.sqrt(30)
    assert standard_error > 0
    assert difference.mean() > 3 * standard_error
    assert (difference > 0).mean() > 0.8
