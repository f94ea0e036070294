"""Arguments of fit with one value per row stay with their rows: where queries are put in order, or held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold
from test_early_stopping import CAM, LABELS, QID, TRAIN, N, X, Y, catboost, lightgbm, xgboost

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

#: Predictions that training starts from.
OFFSET = 3 * X[:, 1] + np.arange(N) / 100
#: The first row of all queries, then the second, and so on.
INTERLEAVED = np.arange(N).reshape(-1, 8).T.ravel()
LIBRARIES = {
    "init_score": lambda kind, **params: lightgbm(
        kind, early_stopping_round=None, n_estimators=10, **params
    ),
    "base_margin": lambda kind, **params: xgboost(
        kind, early_stopping_rounds=None, n_estimators=10, **params
    ),
    "baseline": lambda kind, **params: catboost(
        kind, early_stopping_rounds=None, iterations=10, **params
    ),
}


def in_form(values: Any, form: str) -> Any:
    forms = {"array": np.asarray, "list": list, "series": pd.Series}
    if form == "polars":
        return pytest.importorskip("polars").Series(values)
    return forms[form](values)


@pytest.mark.parametrize("form", ["array", "list", "series", "polars"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_offsets_of_queries_that_are_not_contiguous(name: str, form: str) -> None:
    """Rows were put in order, and their offsets were not."""
    estimator, rows = LIBRARIES[name]("Ranker"), INTERLEAVED
    together = ma.AspectRanker(estimator, target=CAM).fit(X, Y, qid=QID, **{name: OFFSET})
    apart = ma.AspectRanker(estimator, target=CAM)
    labels = Y.iloc[rows].reset_index(drop=True)
    apart.fit(X[rows], labels, qid=QID[rows], **{name: in_form(OFFSET[rows], form)})
    assert (apart.predict(X) == together.predict(X)).all()
    without = ma.AspectRanker(estimator, target=CAM).fit(X, Y, qid=QID)
    assert np.abs(without.predict(X) - together.predict(X)).max() > 0.1


class ByGroup(BaseEstimator):
    """Keeps what fit was given."""

    def fit(self, X: Any, y: Any, group: Any = None, **given: Any) -> Any:
        self.rows, self.given = X, given
        return self

    def predict(self, X: Any) -> Any:
        return X[:, 0]


def test_any_argument_with_a_value_per_row() -> None:
    rows, number = INTERLEAVED, np.arange(N)
    several = np.column_stack([number, -number])
    options = {
        "eval_at": [5],
        "verbose": "a" * N,
        "names": {row: row for row in number},
        "rate": 0.5,
    }
    ranker = ma.AspectRanker(ByGroup(), target=CAM)
    ranker.fit(
        X[rows], Y.iloc[rows], qid=QID[rows], number=number[rows], several=several[rows], **options
    )
    inner = ranker.estimator_
    assert (inner.rows == X).all()
    assert (inner.given["number"] == number).all()
    assert (inner.given["several"] == several).all()
    assert {name: inner.given[name] for name in options} == options


def test_arguments_about_features_are_passed_on() -> None:
    """Lists with one value per feature are not sorted as rows are, if there are as many features as rows."""
    features = np.eye(6)
    labels = pd.DataFrame({"relevance": [0, 1, 2, 0, 1, 2]})
    options = {
        "feature_weights": np.arange(6.0),
        "feature_name": ["a", "b", "c", "d", "e", "f"],
        "callbacks": [len] * 6,
    }
    interleaved_queries = ["a", "b", "c", "a", "b", "c"]  # so that rows are sorted
    ranker = ma.AspectRanker(ByGroup(), target="relevance")
    ranker.fit(features, labels, qid=interleaved_queries, **options)
    assert ranker.estimator_.given == options


def predict_with_offsets(estimator: Any, name: str, rows: Any) -> Any:
    """The predictions of a library's estimator that was trained with offsets of this name."""
    if name == "init_score":  # LightGBM
        return estimator.predict(X[rows], raw_score=True) + OFFSET[rows]
    if name == "base_margin":  # XGBoost adds them itself
        return estimator.predict(X[rows], base_margin=OFFSET[rows])
    return estimator.predict(X[rows]) + OFFSET[rows]  # CatBoost


@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_offsets_are_held_out_with_their_rows(name: str, kind: str) -> None:
    """The values of the measure on a quarter of the queries are those of the offset and the trees."""
    ranker = ma.AspectRanker(LIBRARIES[name](kind), target="credibility", measure=CAM)
    rows = INTERLEAVED
    ranker.fit(X[rows], Y.iloc[rows], qid=QID[rows], eval_fraction=0.25, **{name: OFFSET[rows]})

    # Of 40 queries, numbered by their first rows, ten are held out.
    query_number = pd.factorize(QID)[0]
    held_out_queries = np.random.default_rng(0).permutation(40)[:10]
    held_out = np.isin(query_number, held_out_queries)
    predictions = predict_with_offsets(ranker.estimator_, name, held_out)
    expected = ma.ranking_score(Y[held_out], predictions, qid=QID[held_out], measure=CAM)
    ((values_by_round,),) = [list(of_set.values()) for of_set in ranker.evals_result_.values()]
    value = values_by_round[ranker.best_iteration_ - 1]
    assert value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_evaluation_set_without_an_offset_is_refused(name: str) -> None:
    ranker = ma.AspectRanker(LIBRARIES[name]("Ranker"), target=CAM)
    held = (X[~TRAIN], LABELS[~TRAIN])
    with pytest.raises(
        MultiAspectError, match=f"expected no evaluation set beside {name}.*pass eval_fraction"
    ):
        ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[held], **{name: OFFSET[TRAIN]})
    for replaced in ("eval_init_score", "base_margin_eval_set"):
        with pytest.raises(MultiAspectError, match=f"expected eval_fraction instead of {replaced}"):
            ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[held], **{replaced: [OFFSET[~TRAIN]]})


def test_pairs_of_rows_are_refused() -> None:
    """They name rows by their number, which is another one after sorting."""
    with pytest.raises(
        MultiAspectError, match=r"expected labels, of which CatBoost makes pairs, instead of pairs"
    ):
        ma.AspectRanker(catboost(), target=CAM).fit(X, LABELS, pairs=[[0, 1]])


def test_offsets_with_the_index_of_other_rows() -> None:
    frame = pd.DataFrame(X)
    with pytest.raises(MultiAspectError, match="rows are matched by position"):
        ma.AspectRanker(LIBRARIES["init_score"]("Ranker"), target=CAM).fit(
            frame, Y, qid=QID, init_score=pd.Series(OFFSET)[::-1]
        )


@pytest.mark.parametrize("is_routed", [False, True], ids=["no routing", "routing"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_offsets_in_a_search(name: str, is_routed: bool) -> None:
    """The offsets of each fold are those of its rows: its score is that of a ranker fitted alone."""
    features, offsets = X[INTERLEAVED], OFFSET[INTERLEAVED]
    qid, labels = QID[INTERLEAVED], Y.iloc[INTERLEAVED]
    labels_with_queries = LABELS.iloc[INTERLEAVED]  # in the index
    folds = GroupKFold(2)

    ranker = ma.AspectRanker(LIBRARIES[name]("Ranker"), target="relevance", measure=CAM)
    search = GridSearchCV(
        ranker, {"target": ["relevance", "credibility"]}, cv=folds, error_score="raise"
    )
    with sklearn.config_context(enable_metadata_routing=is_routed):
        if is_routed:
            search.fit(features, labels, groups=qid, qid=qid, **{name: offsets})
        else:
            search.fit(features, labels_with_queries, groups=qid, **{name: offsets})

    train, test = next(folds.split(features, groups=qid))
    alone = ma.AspectRanker(LIBRARIES[name]("Ranker"), target="relevance", measure=CAM)
    alone.fit(features[train], labels_with_queries.iloc[train], **{name: offsets[train]})
    score = alone.score(features[test], labels_with_queries.iloc[test])
    score_of_relevance = search.cv_results_["split0_test_score"][0]
    assert score_of_relevance == pytest.approx(score, abs=1e-12)
