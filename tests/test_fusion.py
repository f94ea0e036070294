"""One ranker per aspect: what is fused, by which weights, and that weights change without training."""

from __future__ import annotations

import pickle
import re
import warnings
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pt_multiaspect as ma
from pt_multiaspect import CAM, AspectFusion, MultiAspectError, On
from pt_multiaspect.model_selection.fusion import standardise

GRADES = {"relevance": 2, "credibility": 3}
RNG = np.random.default_rng(1)
N = 120
QID = RNG.choice([f"q{i}" for i in range(12)], N)
X = RNG.normal(size=(N, 3))
Y = pd.DataFrame(
    {
        "relevance": np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [0, 1]),
        "credibility": np.digitize(X[:, 1] - X[:, 0] + 0.3 * RNG.normal(size=N), [-1, 0, 1]),
    }
)


@pytest.fixture(scope="module")
def fusion() -> AspectFusion:
    return AspectFusion(Ridge(), aspects=GRADES).fit(X, Y, qid=QID)


def test_what_fit_and_predict_use_is_requested() -> None:
    """In a pipeline or search with metadata routing, what is not requested is not passed on, or refused."""
    requests = AspectFusion(Ridge()).get_metadata_routing()
    assert requests.fit.requests == dict.fromkeys(("qid", "sample_weight", "eval_set", "eval_fraction"), True)
    assert requests.predict.requests == {"qid": True}


def fuse_predictions(weights: dict[str, float]) -> Any:
    """Predictions of models of each aspect, standardised query by query, summed."""
    total = np.zeros(N)
    for name, weight in weights.items():
        predicted = Ridge().fit(X, Y[name]).predict(X)
        for query in set(QID):
            mine = query == QID
            z = (predicted[mine] - predicted[mine].mean()) / predicted[mine].std()
            total[mine] += weight / sum(weights.values()) * z
    return total


def reweight_fusion(fusion: AspectFusion, weights: Any) -> Any:
    """A fitted copy with other weights, which trains nothing."""
    return copy(fusion).set_params(weights=weights)


@pytest.mark.parametrize(
    "weights", [{"relevance": 1, "credibility": 1}, {"relevance": 3, "credibility": 0.5}], ids=str
)
def test_predictions_are_weighted_sums_of_standardised_ones(weights: Any, fusion: AspectFusion) -> None:
    assert reweight_fusion(fusion, weights).predict(X, qid=QID) == pytest.approx(
        fuse_predictions(weights), abs=1e-12
    )
    trained = AspectFusion(Ridge(), weights=weights, aspects=GRADES).fit(X, Y, qid=QID)
    assert trained.predict(X, qid=QID) == pytest.approx(fuse_predictions(weights), abs=1e-12)
    arrays = AspectFusion(Ridge(), weights=weights, aspects=GRADES).fit(X, Y.to_numpy(), qid=QID)
    assert (arrays.predict(X, qid=QID) == trained.predict(X, qid=QID)).all()


def test_equal_weights_by_default_and_ratios_alone_matter(fusion: AspectFusion) -> None:
    expected = fusion.predict(X, qid=QID)
    assert (reweight_fusion(fusion, {"relevance": 7, "credibility": 7}).predict(X, qid=QID) == expected).all()
    assert expected == pytest.approx(fuse_predictions({"relevance": 1, "credibility": 1}), abs=1e-12)


def test_an_aspect_of_weight_0_has_no_influence(fusion: AspectFusion) -> None:
    alone = reweight_fusion(fusion, {"relevance": 1, "credibility": 0}).predict(X, qid=QID)
    ranker = ma.AspectRanker(Ridge(), target=On(aspect="relevance", aspects=GRADES)).fit(X, Y, qid=QID)
    for query in set(QID):
        mine = query == QID
        assert (np.argsort(alone[mine]) == np.argsort(ranker.predict(X)[mine])).all()


def test_a_query_without_differences_counts_0() -> None:
    # Rounding of equal predictions was blown up to a deviation of 1.
    X = np.array([[0.1], [0.1], [0.1], [1.0], [2.0], [7.0]])
    labels, qid = np.array([[0, 3], [2, 0], [1, 1], [0, 3], [1, 2], [2, 0]]), list("aaabbb")
    for scale in (1, 1e-9, 1e9):
        fusion = AspectFusion(LinearRegression(), aspects=GRADES).fit(scale * X, labels, qid=qid)
        first = reweight_fusion(fusion, {"relevance": 1, "credibility": 0}).predict(scale * X, qid=qid)
        assert first[:3].tolist() == [0, 0, 0]
        assert first[3:].std() == pytest.approx(1)


def test_rankers_get_their_queries() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    tree = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=3, verbose=-1, n_jobs=1)
    fusion = AspectFusion(tree, aspects=GRADES).fit(X, Y, qid=QID)
    alone = ma.AspectRanker(tree, target=On(aspect="credibility", aspects=GRADES)).fit(X, Y, qid=QID)
    assert (fusion.rankers_["credibility"].predict(X) == alone.predict(X)).all()
    assert ma.ranking_scorer(CAM(aspects=GRADES))(fusion, X, Y, qid=QID) > 0.85


def test_the_query_is_found_where_scorers_find_it(fusion: AspectFusion) -> None:
    expected = fusion.predict(X, qid=QID)
    frame = pd.DataFrame(X, columns=list("abc"))
    for features, labels in (
        (frame.assign(qid=QID), Y),
        (frame.set_index(pd.Index(QID, name="qid")), Y),
    ):
        again = AspectFusion(Ridge(), aspects=GRADES).fit(features, labels)
        assert again.n_features_in_ == 3
        assert again.predict(features) == pytest.approx(expected, abs=1e-12)
        assert ma.ranking_scorer(CAM(aspects=GRADES))(again, features, labels) == pytest.approx(
            ma.ranking_score(Y, expected, qid=QID, measure=CAM(aspects=GRADES))
        )


@pytest.mark.slow
@pytest.mark.parametrize("routed", [True, False])
def test_grid_search_over_the_weights(routed: bool) -> None:
    grid = {"weights": [{"relevance": w, "credibility": 1 - w} for w in (0, 0.5, 1)], "estimator__alpha": [1, 10]}
    scorer = ma.ranking_scorer(On(aspect="credibility", aspects=GRADES))
    with sklearn.config_context(enable_metadata_routing=routed):
        search = GridSearchCV(
            AspectFusion(Ridge(), aspects=GRADES), grid, scoring=scorer, cv=GroupKFold(3), error_score="raise"
        )
        if routed:
            search.fit(X, Y, qid=QID, groups=QID)
        else:
            search.fit(X, Y.set_index(pd.Index(QID, name="qid")), groups=QID)
    assert search.best_params_["weights"] == {"relevance": 0, "credibility": 1}
    assert len(set(search.cv_results_["mean_test_score"].round(10))) >= 3


def test_the_name_of_a_measure_is_not_that_of_a_weight(fusion: AspectFusion) -> None:
    with pytest.raises(MultiAspectError, match=r"'weight_relevance'.* column"):
        fusion.sweep(X, Y, QID, measures={"weight_relevance": "nDCG@5"}, weights=3)
    measures = {"relevance": "nDCG@5"}
    assert len(fusion.sweep(X, Y, QID, measures=measures, weights=np.int64(3))) == 3


def test_sweeping_the_weights_evaluates_one_fit(fusion: AspectFusion) -> None:
    measures = {"cam": CAM(aspects=GRADES) @ 5, "relevance": "nDCG@5", "length": ma.ESL(wanted=1)}
    table = fusion.sweep(X, Y, QID, measures=measures, weights=5)
    assert table.columns.tolist() == ["weight_relevance", "weight_credibility", "cam", "relevance", "length"]
    assert table["weight_relevance"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    for row in table.itertuples():
        weights = {"relevance": row.weight_relevance, "credibility": row.weight_credibility}
        predicted = reweight_fusion(fusion, weights).predict(X, qid=QID)
        for name, measure in measures.items():
            value = ma.ranking_score(Y, predicted, qid=QID, measure=measure)
            assert getattr(row, name) == pytest.approx(-value if name == "length" else value, abs=1e-12)
    assert table["relevance"].is_monotonic_increasing
    single = fusion.sweep(X, Y, QID, measures=measures, weights=[{"relevance": 1, "credibility": 3}])
    pd.testing.assert_frame_equal(single, table.iloc[[1]].reset_index(drop=True))


def test_copies(fusion: AspectFusion) -> None:
    again = pickle.loads(pickle.dumps(fusion))
    assert (again.predict(X, qid=QID) == fusion.predict(X, qid=QID)).all()
    assert not hasattr(clone(fusion), "rankers_")
    with pytest.raises(NotFittedError):
        clone(fusion).predict(X, qid=QID)
    pipeline = AspectFusion(make_pipeline(StandardScaler(), Ridge()), aspects=GRADES).fit(X, Y, qid=QID)
    assert pipeline.predict(X, qid=QID).shape == (N,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": {"relevance": 1}}, "add a weight for credibility (0 excludes an aspect)"),
        ({"weights": {"relevance": 1, "credibility": 1, "mood": 1}}, "unknown aspect: mood"),
        ({"weights": {"relevance": 0, "credibility": 0}}, "weights: expected at least one positive number"),
        ({"weights": {"relevance": -1, "credibility": 1}}, "weights must be non-negative"),
        ({"aspects": {"relevance": 2, "mood": 1}}, "y has no column for the aspect mood"),
        ({"missing": "zero"}, "missing: expected one of 'error', 'lowest', got 'zero'"),
        ({"qid": None, "estimator": ma.AspectRanker(Ridge(), target=CAM)}, "so fit needs the query of every row"),
        ({"qid": QID[:7]}, "expected one value for each of 120 rows"),
        ({"y": Y.astype(float).replace(3, np.nan)}, "y has no credibility label in"),
    ],
    ids=str,
)
def test_what_cannot_be_fitted(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"qid": QID, "y": Y, "aspects": GRADES} | changes
    qid, y = arguments.pop("qid"), arguments.pop("y")
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        AspectFusion(**{"estimator": Ridge(), **arguments}).fit(X, y, qid=qid)


def test_what_cannot_be_predicted(fusion: AspectFusion) -> None:
    with pytest.raises(MultiAspectError, match=r"AspectFusion.*query"):
        fusion.predict(X)
    with pytest.raises(MultiAspectError, match="add a weight for credibility"):
        reweight_fusion(fusion, {"relevance": 1}).predict(X, qid=QID)
    with pytest.raises(MultiAspectError, match=r"qid: expected.*120"):
        fusion.predict(X, qid=QID[:5])
    with pytest.raises(MultiAspectError, match=r"measures: expected a dict.*got \['CAM'\]"):
        fusion.sweep(X, Y, QID, measures=["CAM"])
    with pytest.raises(NotFittedError):
        clone(fusion).sweep(X, Y, QID, measures={"cam": "CAM"})
    with pytest.raises(MultiAspectError, match=r"weights: expected.*at least 2, got 1"):
        fusion.sweep(X, Y, QID, measures={"cam": "CAM"}, weights=1)


def test_rounding_errors_of_equal_predictions_are_not_standardised() -> None:
    codes = np.array([0, 0, 1, 1, 2, 2])
    scores = np.array([0.3, 0.1 + 0.2, 1e9, 1e9 + 1, -1e-14, 1e-14])
    np.testing.assert_allclose(standardise(scores, codes), [0, 0, -1, 1, -1, 1])
    assert standardise(scores[:2] * 1e12, codes[:2]).tolist() == [0, 0]


def test_two_weights_are_the_aspects_alone(fusion: AspectFusion) -> None:
    table = fusion.sweep(X, Y, QID, measures={"ndcg": "nDCG@5"}, weights=2)
    assert table.filter(like="weight_").to_numpy().tolist() == [[0, 1], [1, 0]]
    table = fusion.sweep(X, Y, QID, measures={"ndcg": "nDCG@5"})
    assert table["weight_relevance"].tolist() == [step / 10 for step in range(11)]


def test_a_grid_of_the_weights_of_three_aspects() -> None:
    labels = Y.assign(clarity=Y["relevance"])
    three = AspectFusion(Ridge()).fit(X, labels, qid=QID)
    table = three.sweep(X, labels, QID, measures={"ndcg": "nDCG@5"}, weights=5)
    weights = table.filter(like="weight_")
    expected = {(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)}
    assert set(map(tuple, (4 * weights).to_numpy().tolist())) == expected
    assert len(table) == len(expected) == 15
    assert table["weight_relevance"].is_monotonic_increasing
    setting = dict(zip(labels, weights.iloc[7], strict=True))
    alone = three.sweep(X, labels, QID, measures={"ndcg": "nDCG@5"}, weights=[setting])
    assert alone["ndcg"][0] == table["ndcg"][7]


class OfOneQuery(AspectFusion):
    """All rows are of one query, as scikit-learn's checks predict without qid."""

    def predict(self, X: Any, qid: Any = None) -> Any:
        sklearn.utils.validation.check_is_fitted(self)
        return super().predict(X, np.zeros(np.shape(X)[0]))


#: Checks of scikit-learn that cannot hold, and why.
CANNOT_HOLD = {
    "check_methods_subset_invariance": "predictions are standardised over the rows of a query, here of a subset",
}


@pytest.mark.every(3)
@parametrize_with_checks([OfOneQuery(Ridge())], expected_failed_checks=lambda estimator: CANNOT_HOLD)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


HEADS = pd.DataFrame({"credibility": X[:, 1] - X[:, 0], "relevance": 3 * X[:, 0] + 5}).assign(length=X[:, 2])


@pytest.mark.parametrize("heads", [HEADS, HEADS[["relevance", "credibility"]].to_numpy()], ids=["frame", "array"])
def test_precomputed_predictions_are_fused(heads: Any) -> None:
    class Column(LinearRegression):
        """Predicts a column of a frame, or the one of an array."""

        def fit(self, X: Any, y: Any) -> Any:
            return self

        def predict(self, X: Any) -> Any:
            return np.asarray(X)[:, 0]

    fusion = AspectFusion("precomputed", {"relevance": 1, "credibility": 3}, GRADES).fit(heads, Y)
    z = []
    for name in ("relevance", "credibility"):
        one = AspectFusion(Column(), aspects={name: GRADES[name]})
        z.append(one.fit(HEADS[[name]], Y[[name]], qid=QID).predict(HEADS[[name]], qid=QID))
    predicted = fusion.predict(heads, qid=QID)
    assert predicted == pytest.approx(0.25 * z[0] + 0.75 * z[1], abs=1e-12)
    again = clone(fusion).fit(heads, Y.to_numpy())
    assert (pickle.loads(pickle.dumps(again)).predict(heads, qid=QID) == predicted).all()
    measures = {"cam": CAM(aspects=GRADES) @ 5}
    table = fusion.sweep(heads, Y, QID, measures=measures, weights=3)
    for weight, value in zip(table["weight_relevance"], table["cam"], strict=True):
        fusion.set_params(weights={"relevance": weight, "credibility": 1 - weight})
        scores = fusion.predict(heads, qid=QID)
        assert value == pytest.approx(ma.ranking_score(Y, scores, qid=QID, measure=measures["cam"]), abs=1e-12)


@pytest.mark.parametrize("routed", [True, False])
def test_weights_of_precomputed_predictions_are_searched(routed: bool) -> None:
    grid = {"weights": [{"relevance": w, "credibility": 1 - w} for w in (0, 0.5, 1)]}
    scorer = ma.ranking_scorer(On(aspect="credibility", aspects=GRADES))
    fusion = AspectFusion("precomputed", aspects=GRADES)
    with sklearn.config_context(enable_metadata_routing=routed):
        search = GridSearchCV(fusion, grid, scoring=scorer, cv=GroupKFold(3), error_score="raise")
        if routed:
            search.fit(HEADS, Y, qid=QID, groups=QID)
        else:  # the column qid is no head
            search.fit(HEADS.assign(qid=QID), Y, groups=QID)
    assert search.best_params_["weights"] == {"relevance": 0, "credibility": 1}
    assert len(set(search.cv_results_["mean_test_score"].round(10))) == 3


def test_precomputed_predictions_are_those_of_the_aspects() -> None:
    fusion = AspectFusion("precomputed", aspects=GRADES)
    with pytest.raises(MultiAspectError, match="relevance, credibility by name, as in fit, got the columns"):
        fusion.fit(HEADS.rename(columns={"relevance": "head 1"}), Y)
    for heads in (X, X[:, :1], X[:, 0]):
        with pytest.raises(MultiAspectError, match="each aspect, relevance, credibility in this order, got shape"):
            fusion.fit(heads, Y)
    fusion.fit(HEADS, Y)
    with pytest.raises(MultiAspectError, match="by name, as in fit, got shape"):
        fusion.predict(HEADS[["credibility", "relevance"]].to_numpy(), qid=QID)
    with pytest.raises(MultiAspectError, match="predictions are NaN"):
        fusion.predict(HEADS.assign(relevance=np.nan), qid=QID)
    with pytest.raises(MultiAspectError, match=f"predictions: expected one value for each of {N} rows, got shape"):
        fusion.fit(HEADS[1:], Y)
    with pytest.raises(MultiAspectError, match="predictions are NaN"):
        fusion.fit(HEADS.assign(relevance=np.nan), Y)
    with pytest.raises(MultiAspectError, match="X: expected distinct column names"):
        fusion.fit(pd.concat([HEADS, HEADS], axis=1), Y)
    with pytest.raises(MultiAspectError, match="sample_weight has no effect"):
        fusion.fit(HEADS, Y, sample_weight=np.ones(N))
    with pytest.warns(ma.MultiAspectWarning, match="the column relevance of X equals the labels of relevance"):
        fusion.fit(HEADS.assign(relevance=Y["relevance"]), Y)


@pytest.mark.parametrize("mask", [np.inf, -np.inf, np.finfo(np.float64).min, float(np.finfo(np.float32).min)])
def test_predictions_of_masked_documents_are_refused(mask: float) -> None:
    """Standardised beside them, the other predictions of the query would be equal, or count 0."""

    class Predicting(LinearRegression):
        def predict(self, X: Any) -> Any:
            return np.where(X[:, 0] > 1, mask, X[:, 0])

    message = re.escape(
        f"relevance: expected predictions within ±1e+15, as they are standardised, got {mask} "
        f"(row {np.flatnonzero(X[:, 0] > 1)[0]})"
    )
    masked = HEADS.assign(relevance=HEADS["relevance"].mask(X[:, 0] > 1, mask))
    fusion = AspectFusion("precomputed", aspects=GRADES).fit(HEADS, Y)
    trained = AspectFusion(Predicting(), aspects=GRADES).fit(X, Y, qid=QID)
    for call in (
        lambda: clone(fusion).fit(masked, Y),
        lambda: fusion.predict(masked, qid=QID),
        lambda: fusion.sweep(masked, Y, QID, measures={"cam": CAM(aspects=GRADES)}),
        lambda: trained.predict(X, qid=QID),
    ):
        with pytest.raises(MultiAspectError, match=message):
            call()


def test_cross_val_predict_takes_queries_from_the_index_of_features() -> None:
    fusion, folds = AspectFusion(Ridge(), aspects=GRADES), GroupKFold(3)
    message = r"to predict: pass qid, or give X an index .*: cross_val_predict passes no qid to predict"
    with pytest.raises(MultiAspectError, match=message):
        cross_val_predict(fusion, X, Y, groups=QID, cv=folds, params={"qid": QID})
    indexed = pd.DataFrame(X, index=pd.Index(QID, name="qid"))
    predicted = cross_val_predict(fusion, indexed, Y, groups=QID, cv=folds)
    for train, test in folds.split(X, groups=QID):
        expected = fusion.fit(X[train], Y.iloc[train], qid=QID[train]).predict(X[test], qid=QID[test])
        assert predicted[test] == pytest.approx(expected)


def test_folds_that_divide_queries_are_noticed() -> None:
    """Nothing is trained, but the best ranking of few documents is easier to find than that of all."""
    fusion = AspectFusion("precomputed", aspects=GRADES)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            fusion,
            {"weights": [None]},
            scoring=ma.ranking_scorer(CAM(aspects=GRADES)),
            cv=KFold(3, shuffle=True, random_state=0),
            error_score="raise",
            return_train_score=True,
        )
        with pytest.warns(
            ma.MultiAspectWarning, match="12 scored queries, such as q0, had other rows when"
        ) as caught:
            search.fit(HEADS, Y, qid=QID)
        assert "Split by query, as with cv=GroupKFold() and groups=qid" in str(caught[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search.set_params(cv=GroupKFold(3)).fit(HEADS, Y, qid=QID, groups=QID)
            some = np.isin(QID, ["q1", "q2"])  # whole queries of those of fit
            ma.ranking_scorer(CAM(aspects=GRADES))(search.best_estimator_, HEADS[some], Y[some], qid=QID[some])
