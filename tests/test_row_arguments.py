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
    """There may be as many features as rows."""
    X, rows = np.eye(6), [0, 2, 4, 1, 3, 5]
    labels = pd.DataFrame({"relevance": [0, 1, 2, 0, 1, 2]})
    options = {
        "feature_weights": np.arange(6.0),
        "feature_name": list("abcdef"),
        "callbacks": [len] * 6,
    }
    ranker = ma.AspectRanker(ByGroup(), target="relevance").fit(
        X, labels, qid=list("aabbcc"), **options
    )
    assert (
        ranker.fit(X[rows], labels.iloc[rows], qid=list("abcabc"), **options).estimator_.given
        == options
    )


@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_offsets_are_held_out_with_their_rows(name: str, kind: str) -> None:
    """The values of the measure are those of the offset and the trees."""
    ranker = ma.AspectRanker(LIBRARIES[name](kind), target="credibility", measure=CAM)
    rows = INTERLEAVED
    ranker.fit(X[rows], Y.iloc[rows], qid=QID[rows], eval_fraction=0.25, **{name: OFFSET[rows]})
    ((values,),) = (list(by_measure.values()) for by_measure in ranker.evals_result_.values())
    held = np.isin(pd.factorize(QID)[0], np.random.default_rng(0).permutation(40)[:10])
    last = ranker.estimator_
    if name == "init_score":
        scores = last.predict(X[held], raw_score=True) + OFFSET[held]
    elif name == "base_margin":
        scores = last.predict(X[held], base_margin=OFFSET[held])
    else:
        scores = last.predict(X[held]) + OFFSET[held]
    value = ma.ranking_score(Y[held], scores, qid=QID[held], measure=CAM)
    assert value == pytest.approx(values[ranker.best_iteration_ - 1], abs=1e-6)


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
    ranker = ma.AspectRanker(LIBRARIES[name]("Ranker"), target="relevance", measure=CAM)
    search = GridSearchCV(
        ranker, {"target": ["relevance", "credibility"]}, cv=GroupKFold(2), error_score="raise"
    )
    rows = INTERLEAVED
    with sklearn.config_context(enable_metadata_routing=is_routed):
        queries = {"qid": QID[rows]} if is_routed else {}
        labels = Y.iloc[rows] if is_routed else LABELS.iloc[rows]
        search.fit(X[rows], labels, groups=QID[rows], **queries, **{name: OFFSET[rows]})
    train, test = next(GroupKFold(2).split(X[rows], groups=QID[rows]))
    alone = ma.AspectRanker(LIBRARIES[name]("Ranker"), target="relevance", measure=CAM)
    alone.fit(X[rows][train], LABELS.iloc[rows[train]], **{name: OFFSET[rows][train]})
    score = alone.score(X[rows][test], LABELS.iloc[rows[test]])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(score, abs=1e-12)
