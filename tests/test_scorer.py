"""A scorer's value is that of ir-measures on the equivalent run and qrels, wherever scikit-learn asks for it."""

from __future__ import annotations

import contextlib
import copy
import functools
import pickle
import re
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, nDCG
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import NAMES, NAN, examples, forget_warnings

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, NLRE, TOMA, MultiAspectError, On
from pt_multiaspect import uRBP as URBP
from pt_multiaspect.collection import Rankings
from pt_multiaspect.model_selection.rows import LabelledRows

GRADES = {"relevance": 2, "credibility": 3}
ASPECTS = ma.Aspects(GRADES)
THREE = ma.Aspects(dict.fromkeys(NAMES[:3], 3))


class FirstFeature(RegressorMixin, BaseEstimator):
    """Predicts the first column of X; learns nothing."""

    def fit(self, X: Any, y: Any) -> FirstFeature:
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray(X, dtype=object)[:, 0].astype(float)


def equivalent(Y: pd.DataFrame, qid: Any, scores: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The qrels and the run that a scorer's notes describe: documents are zero-padded row positions."""
    width = len(str(len(Y) - 1))
    ids = pd.DataFrame(
        {
            "query_id": [str(query) for query in qid],
            "doc_id": [str(row).zfill(width) for row in range(len(Y))],
        }
    )
    # Predictions are compared as 64-bit floats: numbers that float32 distinguishes represent them.
    rank = np.unique(np.asarray(scores, dtype=float) + 0.0, return_inverse=True)[1]
    return ids.join(Y.reset_index(drop=True)), ids.assign(score=rank.astype(float))


def by_ir_measures(measure: Any, Y: pd.DataFrame, qid: Any, scores: Any) -> float:
    qrels, run = equivalent(Y, qid, scores)
    if not isinstance(measure, ma.Measure):
        first = Y.columns[0]
        qrels = qrels[["query_id", "doc_id", first]].rename(columns={first: "relevance"})
        # pytrec_eval reads beyond its memory on a query with no label from 0 up: it may hang or
        # crash.
        is_junk = qrels.groupby("query_id")["relevance"].transform("max") < 0
        qrels["relevance"] = qrels["relevance"].mask(is_junk, 0).astype(int)
    return float(ir_measures.calc_aggregate([measure], qrels, run)[measure])


# -- the value ----------------------------------------------------------------------------------

MULTI = (
    TOMA(aspects=THREE) @ 5,
    TOMA(aspects=THREE, base="AP", distance="manhattan", positives="top-half"),
    TOMA(
        aspects=THREE,
        weighting="normalized",
        gate="relevance",
        weights=dict(zip(THREE, (1, 0.3, 2), strict=True)),
    ),
    CAM(aspects=THREE, base="nDCG@10"),
    CAM(aspects=THREE, normalized=True),
    MM(aspects=THREE),
    URBP(aspects=THREE, p=0.7),
    NLRE(aspects=THREE),
    On(aspect="credibility", base="nDCG@3"),
    On(aspect="understandability", base="AP"),
)
random_labels = pytest.mark.filterwarnings(
    "ignore:(the threshold of|no label of|every judged document):pt_multiaspect.MultiAspectWarning"
)
STANDARD = (nDCG @ 10, nDCG, AP, AP(rel=2), P(rel=2) @ 3, RR)


@st.composite
def tables(draw: st.DrawFn, missing: bool) -> tuple[pd.DataFrame, list[int], list[float]]:
    """Labels, queries (not grouped, one of several rows unless it is the only one) and scores of up to 40 rows."""
    n = draw(st.sampled_from([1, 2, 5, 9, 10, 11, 12, 40]))
    label = st.sampled_from([0, 1, 2, 3, 0, -1, NAN] if missing else [0, 1, 2, 3, 0, -1])
    rows = draw(st.lists(st.tuples(label, label, label), min_size=n, max_size=n))
    qid = draw(st.lists(st.sampled_from([2, 10, 1]), min_size=n, max_size=n))
    assume(n == 1 or len(set(qid)) < n)  # of which a warning tells
    scores = [float(score) for score in draw(st.permutations(range(n)))]
    return pd.DataFrame(rows, columns=list(NAMES[:3])), qid, scores


@pytest.mark.filterwarnings("ignore:.*labels below:pt_multiaspect.errors.MultiAspectWarning")
@random_labels
@given(table=tables(missing=True), measure=st.sampled_from(MULTI))
@examples(12)
def test_multi_aspect_measures_equal_ir_measures(table: Any, measure: Any) -> None:
    Y, qid, scores = table
    X = np.array(scores)[:, None]
    expected = by_ir_measures(measure, Y, qid, scores)
    scorer = ma.ranking_scorer(measure, missing="lowest")
    assert scorer(FirstFeature(), X, Y, qid=qid) == pytest.approx(expected, abs=1e-12)
    named = ma.ranking_scorer(measure, aspects=list(Y.columns), missing="lowest")
    assert named(FirstFeature(), X, Y.to_numpy(), qid=qid) == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.*labels below:pt_multiaspect.errors.MultiAspectWarning")
@random_labels
@given(table=tables(missing=False), measure=st.sampled_from(STANDARD))
@examples(8)
def test_standard_measures_score_relevance_as_ir_measures_does(table: Any, measure: Any) -> None:
    Y, qid, scores = table
    X = np.array(scores)[:, None]
    expected = by_ir_measures(measure, Y, qid, scores)
    scorer = ma.ranking_scorer(measure)
    assert scorer(FirstFeature(), X, Y, qid=qid) == pytest.approx(expected, abs=1e-12)
    assert scorer(FirstFeature(), X, Y["relevance"], qid=qid) == pytest.approx(expected, abs=1e-12)
    # Wherever the column stands, and whichever of its names it has, as for ma.evaluate.
    for labels in (
        Y[["credibility", "relevance"]],
        Y[["understandability", "relevance"]].rename(columns={"relevance": "label"}),
    ):
        assert scorer(FirstFeature(), X, labels, qid=qid) == pytest.approx(expected, abs=1e-12)
    # The name of a lone column does not matter, and On says which other one.
    labels = Y[["credibility"]]
    expected = by_ir_measures(measure, labels, qid, scores)
    assert scorer(FirstFeature(), X, labels, qid=qid) == pytest.approx(expected, abs=1e-12)
    on = ma.ranking_scorer(On(aspect="credibility", base=measure))
    assert on(FirstFeature(), X, Y, qid=qid) == pytest.approx(expected, abs=1e-12)


@random_labels
@given(table=tables(missing=True), measure=st.sampled_from(MULTI[:4]), seed=st.integers(0, 99))
@examples(8)
def test_rows_of_a_query_need_not_stand_together(table: Any, measure: Any, seed: int) -> None:
    Y, qid, scores = table
    by_query = np.argsort(qid, kind="stable")
    X, scorer = np.array(scores)[:, None], ma.ranking_scorer(measure, missing="lowest")
    value = scorer(FirstFeature(), X, Y, qid=qid)
    together = scorer(FirstFeature(), X[by_query], Y.iloc[by_query], qid=np.array(qid)[by_query])
    assert value == pytest.approx(together, abs=1e-12)


@pytest.mark.parametrize(
    "name", ["TOMA(aspects={'relevance': 2, 'credibility': 3})@10", "ndcg_cut_10", "map", "nDCG@10"]
)
def test_strings_are_read_as_everywhere(name: str, table: Table) -> None:
    (measure,) = ma.integration.parsing.parse(name)
    value = ma.ranking_scorer(name)(FirstFeature(), table.X, table.Y, qid=table.qid)
    assert value == pytest.approx(
        by_ir_measures(measure, table.Y, table.qid, table.X[:, 0]), abs=1e-12
    )


def test_declared_scales_reach_a_measure_without_its_own() -> None:
    for measure in (TOMA @ 5, "TOMA@5"):
        assert (
            repr(ma.ranking_scorer(measure, aspects=ASPECTS))
            == f"ranking_scorer({TOMA(aspects=ASPECTS) @ 5})"
        )
    own = TOMA(aspects={"relevance": 4, "credibility": 4})
    assert repr(ma.ranking_scorer(own, aspects=ASPECTS)) == f"ranking_scorer({own})"


def test_undeclared_scales_warn(table: Table) -> None:
    with pytest.warns(ma.MultiAspectWarning, match=r"scales.*inferred"):
        ma.ranking_scorer("TOMA@10")(FirstFeature(), table.X, table.Y, qid=table.qid)


def test_aspects_select_columns_of_a_frame(table: Table) -> None:
    more = table.Y.assign(mood=table.Y["relevance"].to_numpy()[::-1])
    for aspects in ("relevance,credibility", ["relevance", "credibility"], ASPECTS):
        scorer = ma.ranking_scorer(CAM @ 5, aspects=aspects)
        values = [scorer(FirstFeature(), table.X, Y, qid=table.qid) for Y in (table.Y, more)]
        assert values[0] == values[1]
    turned = ma.ranking_scorer(nDCG @ 5, aspects="credibility")
    plain = ma.ranking_scorer(On(aspect="credibility") @ 5)
    assert turned(FirstFeature(), table.X, table.Y, qid=table.qid) == plain(
        FirstFeature(), table.X, table.Y, qid=table.qid
    )


# -- in scikit-learn ----------------------------------------------------------------------------


class Table:
    """Twelve queries of six rows, of which the aspects need different features."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        n = 72
        self.qid = np.repeat([f"q{i}" for i in rng.permutation(12)], 6)
        self.X = rng.normal(size=(n, 3))
        noise = rng.normal(scale=0.4, size=(n, 2))
        self.Y = pd.DataFrame(
            {
                "relevance": np.digitize(self.X[:, 0] + noise[:, 0], [0, 1]),
                "credibility": np.digitize(self.X[:, 1] + noise[:, 1], [-1, 0, 1]),
            }
        )

    @property
    def features(self) -> pd.DataFrame:
        return pd.DataFrame(self.X, columns=["a", "b", "c"])

    @property
    def index(self) -> pd.MultiIndex:
        return pd.MultiIndex.from_arrays([self.qid, range(len(self.qid))], names=["qid", "docno"])


@pytest.fixture(scope="module")
def table() -> Table:
    return Table()


SCORING: dict[str, Any] = {
    "toma": TOMA(aspects=ASPECTS) @ 5,
    "cam": CAM(aspects=ASPECTS, base="nDCG@5"),
    "ndcg": nDCG @ 5,
    "credibility": On(aspect="credibility", base=nDCG @ 5),
}
SCORERS = {name: ma.ranking_scorer(measure, aspects=ASPECTS) for name, measure in SCORING.items()}
RANKER = ma.AspectRanker(Ridge(), target=TOMA(aspects=ASPECTS), aspects=ASPECTS)
GRID = {"estimator__alpha": [1e-3, 1e3], "target__distance": ["manhattan", "euclidean"]}
CV = GroupKFold(3)


def by_hand(table: Table, estimator: Any, measure: Any) -> list[float]:
    """The value of every fold, by fitting and by ir-measures."""
    values = []
    for train, test in CV.split(table.X, groups=table.qid):
        fitted = clone(estimator).fit(table.X[train], table.Y.iloc[train], qid=table.qid[train])
        values.append(
            by_ir_measures(
                measure, table.Y.iloc[test], table.qid[test], fitted.predict(table.X[test])
            )
        )
    return values


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "pandas", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["pandas", "numpy"]
)
@pytest.mark.parametrize(
    "search", [GridSearchCV, pytest.param(RandomizedSearchCV, marks=pytest.mark.slow)]
)
def test_searches_report_for_every_fold_what_ir_measures_gives(
    search: Any, pandas: bool, table: Table
) -> None:
    X, Y = (table.features, table.Y) if pandas else (table.X, table.Y.to_numpy())
    more = {"n_iter": 4, "random_state": 0} if search is RandomizedSearchCV else {}
    fitted = search(RANKER, GRID, scoring=SCORERS, refit="toma", cv=CV, error_score="raise", **more)
    fitted.fit(X, Y, qid=table.qid, groups=table.qid)
    for i, params in enumerate(fitted.cv_results_["params"]):
        for name, measure in SCORING.items():
            values = [fitted.cv_results_[f"split{fold}_test_{name}"][i] for fold in range(3)]
            assert values == pytest.approx(
                by_hand(table, clone(RANKER).set_params(**params), measure), abs=1e-12
            )
    assert len(fitted.cv_results_["params"]) == 4
    assert fitted.best_score_ == fitted.cv_results_["mean_test_toma"].max()
    # The search's own score is that of its refit metric, for whoever passes the queries.
    expected = SCORERS["toma"](fitted.best_estimator_, X, Y, qid=table.qid)
    assert fitted.score(X, Y, qid=table.qid) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_cross_validate_takes_qid_as_params(table: Table) -> None:
    arguments = {"qid": table.qid, "groups": table.qid}
    result = cross_validate(
        RANKER,
        table.X,
        table.Y,
        params=arguments,
        scoring=SCORERS,
        cv=CV,
        error_score="raise",
        return_train_score=True,
    )
    for name, measure in SCORING.items():
        assert result[f"test_{name}"] == pytest.approx(by_hand(table, RANKER, measure), abs=1e-12)
        assert np.isfinite(result[f"train_{name}"]).all()
    single = cross_val_score(
        RANKER, table.X, table.Y, params=arguments, scoring=SCORERS["cam"], cv=CV
    )
    assert single == pytest.approx(result["test_cam"])


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_two_processes_give_the_values_of_one(table: Table) -> None:
    search = GridSearchCV(RANKER, GRID, scoring=SCORERS, refit="cam", cv=CV, error_score="raise")
    parallel = clone(search).set_params(n_jobs=2)
    for candidate in (search, parallel):
        candidate.fit(table.X, table.Y.to_numpy(), qid=table.qid, groups=table.qid)
    for name in SCORING:
        key = f"mean_test_{name}"
        assert parallel.cv_results_[key] == pytest.approx(search.cv_results_[key], abs=1e-15)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_in_a_pipeline_qid_is_routed_past_the_other_steps(table: Table) -> None:
    pipeline = make_pipeline(StandardScaler(), RANKER)
    grid = {f"aspectranker__{name}": values for name, values in GRID.items()}
    search = GridSearchCV(pipeline, grid, scoring=SCORERS["toma"], cv=CV, error_score="raise")
    search.fit(table.X, table.Y, qid=table.qid, groups=table.qid)
    assert 0.5 < search.best_score_ <= 1
    assert (
        pipeline.fit(table.X, table.Y, qid=table.qid).score(table.X, table.Y, qid=table.qid) > 0.5
    )


@pytest.mark.usefixtures("routing")
def test_a_switch_thrown_after_the_scorer_was_made_makes_no_difference(table: Table) -> None:
    with sklearn.config_context(enable_metadata_routing=False):
        scorer, ranker = ma.ranking_scorer(TOMA @ 5, aspects=ASPECTS), clone(RANKER)
    arguments = {"qid": table.qid, "groups": table.qid}
    result = cross_validate(
        ranker, table.X, table.Y, params=arguments, scoring=scorer, cv=CV, error_score="raise"
    )
    assert result["test_score"] == pytest.approx(by_hand(table, RANKER, SCORING["toma"]), abs=1e-12)


def _as_level_of_y(table: Table) -> tuple[Any, Any]:
    return table.X, table.Y.set_index(table.index)


def _as_level_of_x(table: Table) -> tuple[Any, Any]:
    return table.features.set_index(table.index), table.Y.to_numpy()


def _as_column_of_x(table: Table) -> tuple[Any, Any]:
    return table.features.assign(qid=table.qid), table.Y.to_numpy()


def _as_only_index_of_y(table: Table) -> tuple[Any, Any]:
    return table.features, table.Y.set_index(pd.Index(table.qid, name="qid"))


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "add_queries", [_as_level_of_y, _as_level_of_x, _as_column_of_x, _as_only_index_of_y]
)
def test_without_routing_the_query_travels_with_the_data(
    add_queries: Callable[..., Any], table: Table
) -> None:
    X, Y = add_queries(table)
    result = cross_validate(
        RANKER, X, Y, groups=table.qid, scoring=SCORERS, cv=CV, error_score="raise"
    )
    for name, measure in SCORING.items():
        assert result[f"test_{name}"] == pytest.approx(by_hand(table, RANKER, measure), abs=1e-12)


def test_query_ids_and_docnos_in_y_are_no_labels() -> None:
    Y = pd.DataFrame({"qid": [1, 1, 2, 2], "docno": list("abab"), "credibility": [0, 2, 1, 0]})
    X = np.array([[0.1], [0.2], [0.4], [0.3]])
    fitted, scorer = FirstFeature().fit(X, Y), ma.ranking_scorer(nDCG @ 1)
    for scores, expected in ((X, 1.0), (-X, 0.0)):
        assert scorer(fitted, scores, Y[["credibility"]], qid=Y["qid"]) == expected
        assert scorer(fitted, scores, Y) == expected  # credibility is its only column of labels


@pytest.mark.slow
def test_without_routing_in_a_pipeline_y_carries_the_query(table: Table) -> None:
    X, Y = _as_level_of_y(table)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RANKER),
        {"aspectranker__estimator__alpha": [0.1, 10]},
        scoring=SCORERS["cam"],
        cv=CV,
        error_score="raise",
    ).fit(X, Y, groups=table.qid)
    assert 0.5 < search.best_score_ <= 1


def test_any_estimator_of_one_label_can_be_scored(table: Table) -> None:
    _, Y = _as_level_of_y(table)
    result = cross_validate(
        Ridge(),
        table.X,
        Y["relevance"],
        groups=table.qid,
        scoring=ma.ranking_scorer(nDCG @ 5),
        cv=CV,
        error_score="raise",
    )
    ranker = ma.AspectRanker(Ridge(), target="relevance")
    assert result["test_score"] == pytest.approx(by_hand(table, ranker, nDCG @ 5), abs=1e-12)


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_response_methods(method: str, table: Table) -> None:
    binary = (table.Y["relevance"] > 0).astype(int)
    model = LogisticRegression().fit(table.X, binary)
    scorer = ma.ranking_scorer(TOMA(aspects=ASPECTS) @ 5, response_method=method)
    scores = getattr(model, method)(table.X)
    scores = scores[:, 1] if method == "predict_proba" else scores
    expected = by_ir_measures(SCORING["toma"], table.Y, table.qid, scores)
    assert scorer(model, table.X, table.Y, qid=table.qid) == pytest.approx(expected, abs=1e-12)
    assert method in repr(scorer)


def test_predictions_may_be_one_column(table: Table) -> None:
    flat, column = FirstFeature(), FirstFeature()
    column.predict = lambda X: X[:, :1]  # type: ignore[method-assign]
    values = [
        SCORERS["toma"](estimator, table.X, table.Y, qid=table.qid) for estimator in (flat, column)
    ]
    assert values[0] == values[1]


@pytest.mark.every(3)
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "duplicate", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, clone]
)
def test_scorers_and_searches_can_be_copied(duplicate: Callable[..., Any], table: Table) -> None:
    search = GridSearchCV(
        RANKER, {"estimator__alpha": [1, 2]}, scoring=SCORERS, refit="toma", cv=CV
    )
    again = duplicate(search)
    again.fit(table.X, table.Y, qid=table.qid, groups=table.qid)
    assert repr(again.scoring["toma"]) == repr(SCORERS["toma"])
    if duplicate is not clone:
        fitted = duplicate(again)
        assert fitted.best_score_ == again.best_score_
        assert (fitted.predict(table.X) == again.predict(table.X)).all()


TRAINED = "among those that .* was fitted on.*Split by query, as with cv=GroupKFold"


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_successive_halving_over_samples_divides_queries(table: Table) -> None:
    """By default, halving begins with few rows, which divides queries between training and test."""
    search = HalvingGridSearchCV(
        RANKER,
        {"target__distance": [1, 2, 3]},
        scoring=SCORERS["toma"],
        cv=KFold(3, shuffle=True, random_state=0),
        error_score="raise",
        random_state=0,
    )
    with pytest.warns(ma.MultiAspectWarning, match=TRAINED):
        search.fit(table.X, table.Y, qid=table.qid)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_successive_halving_over_another_resource_keeps_queries(table: Table) -> None:
    search = HalvingGridSearchCV(
        RANKER,
        {"target__distance": [1, 2, 3]},
        scoring=SCORERS["toma"],
        cv=CV,  # folds of whole queries
        resource="estimator__max_iter",
        min_resources=3,
        max_resources=9,
        error_score="raise",
        random_state=0,
    )
    search.fit(table.X, table.Y, qid=table.qid, groups=table.qid)
    assert search.n_iterations_ >= 2


def test_rows_of_a_query_in_training_and_test_are_noticed(table: Table) -> None:
    """Values look better if the model has learnt from other rows of the queries that it ranks."""
    index = pd.Index(table.qid, name="qid")
    X, Y = pd.DataFrame(table.X, index=index), table.Y.set_axis(index)
    divides_queries = KFold(3, shuffle=True, random_state=0)
    with pytest.warns(ma.MultiAspectWarning, match=TRAINED) as caught:
        cross_validate(
            RANKER, X, Y, scoring=SCORERS["toma"], cv=divides_queries, error_score="raise"
        )
    messages = [str(warning.message) for warning in caught]
    of_training = [message for message in messages if re.search(TRAINED, message)]
    assert len(of_training) == 1  # for all folds


def test_queries_of_fit_that_are_scored_again_are_noticed(table: Table) -> None:
    index = pd.Index(table.qid, name="qid")
    X, Y = pd.DataFrame(table.X, index=index), table.Y.set_axis(index)
    search = GridSearchCV(RANKER, {}, scoring=SCORERS["toma"], cv=ma.RepeatedQueryKFold(3, 1))
    search.fit(X, Y)
    last_rows = slice(-3, None)  # of one query, which has six rows
    message = r"1 of 1 scored query, such as .* was among"
    with pytest.warns(ma.MultiAspectWarning, match=message):
        SCORERS["toma"](search, X[last_rows], Y[last_rows])


def test_a_pipeline_knows_the_queries_of_its_last_step(table: Table) -> None:
    Y = table.Y.set_axis(pd.Index(table.qid, name="qid"))
    train = table.qid != "q0"
    fitted = make_pipeline(StandardScaler(), RANKER).fit(table.X[train], Y[train])
    SCORERS["toma"](fitted, table.X[~train], Y[~train])
    with pytest.warns(ma.MultiAspectWarning, match="that Pipeline was fitted on"):
        SCORERS["toma"](fitted, table.X, Y)


def test_regressors_without_queries_do_not_know_which_they_were_trained_on(table: Table) -> None:
    ranker = ma.AspectRanker(Ridge(), target=TOMA(aspects=ASPECTS)).fit(table.X, table.Y)
    SCORERS["toma"](ranker, table.X[1:], table.Y[1:], qid=np.arange(len(table.Y) - 1) // 2)


def test_estimators_that_rank_whole_queries_receive_them(table: Table) -> None:
    class Whole:
        def predict(self, X: Any, qid: Any) -> Any:
            return pd.Series(X[:, 0]).groupby(qid).rank().to_numpy()

    expected = ma.ranking_score(
        table.Y, Whole().predict(table.X, table.qid), qid=table.qid, measure=TOMA(aspects=ASPECTS)
    )
    scorer = ma.ranking_scorer(TOMA(aspects=ASPECTS))
    assert scorer(Whole(), table.X, table.Y, qid=table.qid) == expected
    assert scorer(Whole(), table.X, table.Y.set_axis(pd.Index(table.qid, name="qid"))) == expected


#: What a scorer warns of, as searches turn its error into NaN.
NO_QID = "needs the query of every row: pass qid with metadata routing"

# -- what cannot be scored ----------------------------------------------------------------------

X4 = np.array([[4.0], [3.0], [2.0], [1.0]])
Y4 = np.array([[0, 1], [2, 1], [1, 0], [0, 3]])
QID4 = ["a", "a", "b", "b"]
FRAME4 = pd.DataFrame(Y4, columns=list(GRADES))


def _answer(values: Any) -> Any:
    estimator = FirstFeature()
    estimator.predict = lambda X: np.asarray(values)  # type: ignore[method-assign]
    return estimator


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "too many columns": (
        {"y": np.zeros((4, 3))},
        "y has 3 columns, but there are 2 aspects: relevance, credibility",
    ),
    "too few columns": (
        {"y": np.zeros(4)},
        "y has 1 column, but there are 2 aspects: relevance, credibility",
    ),
    "columns of another name": (
        {"y": FRAME4.rename(columns={"credibility": "mood"})},
        "y has no column for the aspect credibility; its columns are relevance, mood",
    ),
    "a dict": (
        {"y": dict(FRAME4)},
        "y: expected an array or a frame of labels, got a dict; pass pd.DataFrame(y)",
    ),
    "sparse labels": (
        {"y": csr_matrix(Y4)},
        "expected an array or a frame of labels, got a sparse one; pass y.toarray",
    ),
    "three dimensions": (
        {"y": np.zeros((4, 2, 1))},
        "y: expected one column of labels per aspect, got 3 dimensions",
    ),
    "complex labels": (
        {"y": Y4 + 0j},
        "Complex data not supported: expected real labels in y, got complex128",
    ),
    "label above the scale": (
        {"y": Y4 * 2},
        "invalid relevance label 4 for document 1, query a, above the top grade",
    ),
    "short qid": (
        {"qid": ["a", "a", "b"]},
        "qid: expected one value for each of 4 rows, got shape (3,)",
    ),
    "long qid": (
        {"qid": list("aabbc")},
        "qid: expected one value for each of 4 rows, got shape (5,)",
    ),
    "qid of two columns": (
        {"qid": np.zeros((4, 2))},
        "qid: expected one value for each of 4 rows, got shape (4, 2)",
    ),
    "missing qid": ({"qid": ["a", "a", None, "b"]}, "row 2"),
    "no qid": ({"qid": None}, "needs the query of every row"),
    "NaN predictions": ({"estimator": _answer([1, NAN, NAN, 2])}, "2 of 4 predictions are NaN"),
    "two columns of predictions": (
        {"estimator": _answer(Y4)},
        "predictions: expected one value for each of 4 rows, got shape (4, 2)",
    ),
    "too few predictions": (
        {"estimator": _answer([1, 2])},
        "predictions: expected one value for each of 4 rows, got shape (2,)",
    ),
    "no rows": ({"X": X4[:0], "y": Y4[:0], "qid": []}, "expected at least one row to evaluate"),
    "no such response": (
        {"response_method": "predict_proba"},
        "FirstFeature has no method predict_proba",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_input_fails_with_its_numbers(case: str) -> None:
    arguments = {
        "estimator": FirstFeature(),
        "X": X4,
        "y": Y4,
        "qid": QID4,
        "response_method": "predict",
    }
    changes, message = BAD[case]
    arguments |= changes
    scorer = ma.ranking_scorer(
        TOMA @ 5, aspects=ASPECTS, response_method=arguments.pop("response_method")
    )
    warned = (
        pytest.warns(ma.MultiAspectWarning, match=NO_QID)
        if arguments["qid"] is None
        else contextlib.nullcontext()
    )
    with warned, pytest.raises(MultiAspectError, match=re.escape(message)):
        scorer(arguments["estimator"], arguments["X"], arguments["y"], qid=arguments["qid"])


def test_unnamed_columns_are_refused() -> None:
    with pytest.raises(MultiAspectError, match=r"y has 2 columns.*aspects="):
        ma.ranking_scorer(CAM @ 5)(FirstFeature(), X4, Y4, qid=QID4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ma.ranking_scorer("P"), "expected one measure, but 'P' expands to"),
        (lambda: ma.ranking_scorer("nix@3"), "unknown measure 'nix'; the nearest names are"),
        (lambda: ma.ranking_scorer(P), "P"),
        (
            lambda: ma.ranking_scorer(3),
            "expected a measure or a string such as 'nDCG@10' or 'map', got 3",
        ),
        (
            lambda: ma.ranking_scorer(TOMA, response_method="nix"),
            (
                "response_method: expected one of 'predict', 'decision_function', 'predict_proba', got "
                "'nix'"
            ),
        ),
    ],
)
def test_scorers_that_cannot_be(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        make()


def test_a_query_with_one_document_counts_like_any_other() -> None:
    scorer, qid = ma.ranking_scorer(TOMA @ 5, aspects=ASPECTS), ["a", "b", "c", "c"]
    value = scorer(FirstFeature(), X4, Y4, qid=qid)
    # The lone documents of a and b stand where they belong; (0, 3) and (1, 0) of c are in the wrong
    # order.
    expected = by_ir_measures(TOMA(aspects=ASPECTS) @ 5, FRAME4, qid, X4[:, 0])
    assert value == pytest.approx(expected, abs=1e-12)
    assert value == pytest.approx((1 + 1 + scorer(FirstFeature(), X4[2:], Y4[2:], qid=qid[2:])) / 3)


def test_a_query_whose_labels_are_all_lowest_counts_as_zero() -> None:
    scorer = ma.ranking_scorer(TOMA @ 5, aspects=ASPECTS)
    nothing = Y4.copy()
    nothing[:2] = 0
    value = scorer(FirstFeature(), X4, nothing, qid=QID4)
    assert value == pytest.approx(scorer(FirstFeature(), X4[2:], Y4[2:], qid=QID4[2:]) / 2)
    assert scorer(FirstFeature(), X4, 0 * Y4, qid=QID4) == 0.0


@pytest.mark.parametrize(
    "order", [(0, 1, 3, 2), (1, 0, 2, 3), (1, 3, 2, 0), (2, 3, 0, 1), (3, 1, 2, 0)], ids=str
)
def test_unsorted_rows_score_as_sorted_ones(order: tuple[int, ...]) -> None:
    scorer = ma.ranking_scorer(CAM @ 5, aspects=ASPECTS)
    features = np.array([[4.0], [3.0], [2.0], [1.0]])  # FirstFeature predicts the first one
    labels = np.array([[0, 1], [2, 1], [1, 0], [0, 3]])
    qid = np.array(["a", "a", "b", "b"])
    rows = list(order)
    shuffled = scorer(FirstFeature(), features[rows], labels[rows], qid=qid[rows])
    expected = scorer(FirstFeature(), features, labels, qid=qid)
    assert shuffled == pytest.approx(expected, abs=1e-15)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("has_groups", [False, True])
def test_with_routing_a_forgotten_qid_is_an_error_and_no_single_group(
    has_groups: bool, table: Table
) -> None:
    """`groups` are for the folds only; the ranker and the scorer need qid."""
    folds = GroupKFold(3) if has_groups else KFold(3)
    params = {"groups": table.qid} if has_groups else {}
    with (
        pytest.warns(ma.MultiAspectWarning, match=NO_QID),
        pytest.raises(MultiAspectError, match="query of every row"),
    ):
        cross_validate(
            RANKER,
            table.X,
            table.Y,
            params=params,
            scoring=SCORERS["toma"],
            cv=folds,
            error_score="raise",
        )


def test_a_failing_fold_is_raised_or_scored_as_asked(table: Table) -> None:
    _, Y = _as_level_of_y(table)
    arguments = {"groups": table.qid, "scoring": SCORERS["toma"], "cv": CV}
    with pytest.raises(MultiAspectError, match=r"predictions: expected.*got shape \(\d+, 2\)"):
        cross_validate(Ridge(), table.X, Y, error_score="raise", **arguments)
    with pytest.warns(UserWarning, match="predictions: expected"):
        result = cross_validate(Ridge(), table.X, Y, error_score=-1.0, **arguments)
    assert (result["test_score"] == -1.0).all()


# --- ordinary measures of this package, and where queries come from ----------------------------


class ByFirstFeature:
    """Scores rows by their first feature."""

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0].astype(float)


FEATURES = pd.DataFrame({"f": [3.0, 2.0, 1.0, 5.0], "topic": [7, 7, 7, 8]})
LABELS_OF = pd.DataFrame({"relevance": [0, 1, 1, 1], "credibility": [1, 0, 0, 0]})


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        # One document of topic 7 precedes the first relevant one, none of topic 8.
        ("ESL", -(1 + 0) / 2),
        # No document of topic 7 precedes the credible one; topic 8 has one, which is not credible.
        (
            ma.CAM(base=ma.ESL, aspects={"relevance": 1, "credibility": 1}),
            -((1 + 0) / 2 + (0 + 1) / 2) / 2,
        ),
        # Higher is better. 1 + 2 CRP / (R (R + 1)), where CRP is -2 at rank R = 2 of topic 7, and 0
        # at rank 1 of topic 8.
        (ma.nCRP, ((1 + 2 * -2 / (2 * 3)) + 1) / 2),
    ],
    ids=["ESL", "CAM of ESL", "nCRP"],
)
def test_of_measures_of_which_lower_is_better_the_negative_value_is_the_score(
    measure: Any, expected: float
) -> None:
    topics = [7, 7, 7, 8]
    features = pd.DataFrame({"f": [3.0, 2.0, 1.0, 5.0]})  # ByFirstFeature predicts it: by rank
    labels = pd.DataFrame({"relevance": [0, 1, 1, 1], "credibility": [1, 0, 0, 0]})
    score = ma.ranking_scorer(measure)(ByFirstFeature(), features, labels, qid=topics)
    assert score == pytest.approx(expected)


def test_the_query_may_be_a_column_of_y() -> None:
    scorer = ma.ranking_scorer("CG", aspects="relevance")
    expected = scorer(ByFirstFeature(), FEATURES, LABELS_OF, qid=FEATURES["topic"])
    assert scorer(ByFirstFeature(), FEATURES, LABELS_OF.assign(qid=FEATURES["topic"])) == expected
    with (
        pytest.warns(ma.MultiAspectWarning, match=NO_QID),
        pytest.raises(ma.MultiAspectError, match="query of every row"),
    ):
        scorer(ByFirstFeature(), FEATURES, LABELS_OF)


def test_declared_scales_go_to_a_measure_that_only_selects_aspects() -> None:
    declared = ma.Aspects({"relevance": 2, "credibility": 3, "other": 1})
    scorer = ma.ranking_scorer("TOMA(aspects='relevance,credibility')@10", aspects=declared)
    assert (
        repr(scorer)
        == f"ranking_scorer({ma.TOMA(aspects={'relevance': 2, 'credibility': 3}) @ 10})"
    )


# -- what was silent -----------------------------------------------------------------------------


def test_labels_of_polars_keep_their_names(table: Table) -> None:
    # Taken for an array, they were matched to the aspects by position: .53 for .88, or so.
    polars = pytest.importorskip("polars")
    turned = polars.DataFrame(
        {name: table.Y[name].to_numpy() for name in ("credibility", "relevance")}
    )
    for measure in (CAM(aspects=ASPECTS) @ 5, nDCG @ 5, On(aspect="credibility") @ 5):
        scorer = ma.ranking_scorer(measure)
        expected = scorer(FirstFeature(), table.X, table.Y, qid=table.qid)
        assert scorer(FirstFeature(), table.X, turned, qid=polars.Series(table.qid)) == expected
        with_qid = turned.with_columns(polars.Series("qid", table.qid))
        assert scorer(FirstFeature(), table.X, with_qid) == expected
    single = polars.Series("credibility", table.Y["credibility"].to_numpy())
    expected = ma.ranking_scorer(nDCG)(
        FirstFeature(), table.X, table.Y["credibility"], qid=table.qid
    )
    assert ma.ranking_scorer(nDCG)(FirstFeature(), table.X, single, qid=table.qid) == expected
    with pytest.raises(MultiAspectError, match="lazy"):
        ma.ranking_scorer(nDCG)(FirstFeature(), table.X, turned.lazy(), qid=table.qid)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_searches_take_frames_of_polars(table: Table) -> None:
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({name: table.X[:, i] for i, name in enumerate("abc")})
    Y = polars.DataFrame({name: table.Y[name].to_numpy() for name in ("credibility", "relevance")})
    arguments = {"scoring": SCORERS["cam"], "cv": CV, "error_score": "raise"}
    qid = {"qid": table.qid, "groups": table.qid}
    expected = cross_validate(RANKER, table.features, table.Y, params=qid, **arguments)[
        "test_score"
    ]
    assert cross_validate(RANKER, X, Y, params=qid, **arguments)["test_score"] == pytest.approx(
        expected, abs=1e-12
    )


def test_several_columns_without_names_need_aspects(table: Table) -> None:
    # The order of the columns of an array is not known to be that of the measure's aspects.
    with pytest.raises(MultiAspectError, match=r"y has 2 columns.*aspects="):
        ma.ranking_scorer(CAM(aspects=ASPECTS))(
            FirstFeature(), table.X, table.Y.to_numpy(), qid=table.qid
        )


def test_a_measure_of_one_aspect_needs_to_know_which(table: Table) -> None:
    Y = table.Y.rename(columns={"relevance": "mood"})
    with pytest.raises(MultiAspectError, match=r"nDCG@5.*relevance.*mood, credibility"):
        ma.ranking_scorer(nDCG @ 5)(FirstFeature(), table.X, Y, qid=table.qid)


def test_the_query_is_taken_from_the_index_of_y_before_that_of_x(table: Table) -> None:
    scorer = ma.ranking_scorer(CAM @ 5, aspects=ASPECTS)
    expected = scorer(FirstFeature(), table.X, table.Y, qid=table.qid)
    other_names = pd.factorize(table.qid)[0]  # numbers of the queries
    X = table.features.set_index(pd.Index(other_names, name="qid"))
    Y = table.Y.set_index(table.index)  # with the level qid
    assert scorer(FirstFeature(), X, Y) == expected


def test_the_query_is_taken_from_the_column_of_y_before_that_of_x(table: Table) -> None:
    scorer = ma.ranking_scorer(CAM @ 5, aspects=ASPECTS)
    ranker = clone(RANKER).fit(table.features, table.Y, qid=table.qid)
    expected = scorer(ranker, table.features, table.Y, qid=table.qid)
    other_names = pd.factorize(table.qid)[0]
    X = table.features.assign(qid=other_names)
    Y = table.Y.assign(qid=table.qid)
    assert scorer(ranker, X, Y) == expected


QID_IS_A_FEATURE = "X has a column qid, which .* uses as a feature"


SCALED_RANKER = make_pipeline(StandardScaler(), RANKER)  # scales a column qid as any other


@pytest.mark.parametrize(
    "estimator",
    [
        SCALED_RANKER,
        make_pipeline("passthrough", SCALED_RANKER),
        GridSearchCV(SCALED_RANKER, {}, scoring=SCORERS["cam"], cv=KFold(3), error_score="raise"),
    ],
    ids=["pipeline", "nested pipeline", "search"],
)
def test_a_query_column_that_stays_among_the_features_is_noticed(
    estimator: Any, table: Table
) -> None:
    numbers = np.unique(table.qid, return_inverse=True)[1]
    X = table.features.assign(qid=numbers)  # the columns a, b, c and qid
    Y = table.Y.set_index(table.index)
    forget_warnings()
    # The scorer sees the name; the ranker an array, of which column 3 tells the queries apart.
    with (
        pytest.warns(ma.MultiAspectWarning, match=QID_IS_A_FEATURE),
        pytest.warns(ma.MultiAspectWarning, match=r"column 3 of X.*query"),
    ):
        SCORERS["cam"](clone(estimator).fit(X, Y), X, Y)


def test_a_query_column_is_noticed_in_folds(table: Table) -> None:
    """The ranker says nothing: a feature may tell the eight queries of a training set apart by chance."""
    numbers = np.unique(table.qid, return_inverse=True)[1]
    X = table.features.assign(qid=numbers)
    Y = table.Y.set_index(table.index)
    forget_warnings()
    with pytest.warns(ma.MultiAspectWarning, match=QID_IS_A_FEATURE):
        cross_validate(
            SCALED_RANKER, X, Y, scoring=SCORERS["cam"], cv=KFold(3), error_score="raise"
        )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ranker", "selected columns", "pipeline", "search"])
def test_a_query_column_that_is_dropped_is_fine(kind: str, table: Table) -> None:
    """Rankers take the query from a column qid, and do not learn from it; others may select columns."""
    X, labels, fit_params = table.features.assign(qid=table.qid), table.Y, {}
    if kind == "ranker":
        estimator: Any = RANKER
    elif kind == "selected columns":
        select = ColumnTransformer([("scale", StandardScaler(), ["a", "b", "c"])])
        estimator = make_pipeline(select, Ridge())
        labels = table.Y["relevance"]
    elif kind == "pipeline":
        estimator = make_pipeline("passthrough", RANKER)
    else:
        grid = {"estimator__alpha": [1.0]}
        estimator = GridSearchCV(RANKER, grid, scoring=SCORERS["cam"], cv=GroupKFold(2))
        fit_params = {"groups": table.qid}

    fitted = clone(estimator).fit(X, labels, **fit_params)

    expected = by_ir_measures(SCORING["cam"], table.Y, table.qid, fitted.predict(X))
    assert SCORERS["cam"](fitted, X, table.Y) == pytest.approx(expected, abs=1e-12)


def test_without_routing_a_qid_given_to_fit_alone_is_told_of(table: Table) -> None:
    # Every score was NaN, and the first setting won, under scikit-learn's own warnings only.
    search = GridSearchCV(
        RANKER, {"estimator__alpha": [1.0, 2.0]}, scoring=SCORERS["cam"], cv=GroupKFold(2)
    )
    with (
        pytest.warns(UserWarning, match="Scoring failed|non-finite"),
        pytest.warns(ma.MultiAspectWarning, match=NO_QID + ".*error_score='raise'"),
    ):
        search.fit(table.X, table.Y.reset_index(drop=True), qid=table.qid, groups=table.qid)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_predictions_are_compared_in_double_precision() -> None:
    # As float32 they tie, and the later rows came first.
    scores = [1 + 3e-9, 1 + 2e-9, 1 + 1e-9, 1.0]
    scorer = ma.ranking_scorer(nDCG)
    labels = pd.DataFrame({"relevance": [3, 2, 1, 0]})
    assert scorer(_answer(scores), X4, labels, qid=["a"] * 4) == 1.0
    assert scorer(_answer(scores[::-1]), X4, labels, qid=["a"] * 4) < 0.8
    # Both zeros are one score.
    value = scorer(_answer([-0.0, 0.0, 0.0, -1.0]), X4, labels, qid=["a"] * 4)
    assert value == scorer(_answer([0.0, -0.0, 0.0, -1.0]), X4, labels, qid=["a"] * 4) < 1
    assert scorer(_answer([1e300, 1e299, -1e299, -np.inf]), X4, labels, qid=["a"] * 4) == 1.0


@random_labels
@given(table=tables(missing=True), seed=st.integers(0, 99))
@examples(8)
def test_in_double_precision_only_the_order_of_the_predictions_counts(
    table: Any, seed: int
) -> None:
    """Predictions that differ by 1e-12 rank as whole numbers in the same order do."""
    labels, qid, _ = table
    ranks = np.random.default_rng(seed).permutation(len(labels)).astype(float)
    nearly_equal = 1 + 1e-12 * ranks
    scorer = ma.ranking_scorer(CAM(aspects=THREE) @ 5, missing="lowest")

    def value(predictions: np.ndarray) -> float:
        no_features = np.zeros((len(labels), 1))
        return scorer(_answer(predictions), no_features, labels, qid=qid)

    assert value(nearly_equal) == value(ranks)


# -- several measures in one scorer
# -----------------------------------------------------------------


class CountsPredictions(BaseEstimator):
    """Predicts the first feature, and counts how often."""

    calls = 0

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        type(self).calls += 1
        return np.asarray(X)[:, 0]


def test_a_scorer_of_several_measures_predicts_once(table: Table) -> None:
    scorer = ma.ranking_scorer({**SCORING, "length": ma.ESL(wanted=1)}, aspects=ASPECTS)
    CountsPredictions.calls = 0
    values = scorer(CountsPredictions(), table.X, table.Y, qid=table.qid)
    assert CountsPredictions.calls == 1
    for name, measure in {**SCORING, "length": ma.ESL(wanted=1)}.items():
        alone = ma.ranking_scorer(measure, aspects=ASPECTS)
        assert values[name] == alone(CountsPredictions(), table.X, table.Y, qid=table.qid)
    assert values["length"] < 0
    assert "length" in repr(scorer)
    assert (
        pickle.loads(pickle.dumps(scorer))(CountsPredictions(), table.X, table.Y, qid=table.qid)
        == values
    )
    with pytest.raises(MultiAspectError, match=r"expected.*measure, got an empty dict"):
        ma.ranking_scorer({})


@pytest.mark.slow
@pytest.mark.parametrize("is_routed", [True, False])
def test_searches_take_a_scorer_of_several_measures(is_routed: bool, table: Table) -> None:
    """One scorer of four measures gives the values of four scorers."""
    labels = table.Y.set_index(pd.Index(table.qid, name="qid"))
    params = {"groups": table.qid, "qid": table.qid} if is_routed else {"groups": table.qid}

    def search(scoring: Any) -> GridSearchCV:
        found = GridSearchCV(RANKER, GRID, scoring=scoring, refit="cam", cv=CV, error_score="raise")
        return found.fit(table.X, labels, **params)

    with sklearn.config_context(enable_metadata_routing=is_routed):
        by_scorers = search(SCORERS)
        by_one_scorer = search(ma.ranking_scorer(SCORING, aspects=ASPECTS))

    assert by_scorers.best_params_ == by_one_scorer.best_params_
    for name in SCORING:
        key = f"mean_test_{name}"
        values = by_one_scorer.cv_results_[key]
        assert values == pytest.approx(by_scorers.cv_results_[key], abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("is_routed", [True, False])
def test_cross_validation_takes_a_scorer_of_several_measures(is_routed: bool, table: Table) -> None:
    labels = table.Y.set_index(pd.Index(table.qid, name="qid"))
    scorer = ma.ranking_scorer(SCORING, aspects=ASPECTS)
    params: dict[str, Any] = {"groups": table.qid}
    if is_routed:
        params = {"params": {"groups": table.qid, "qid": table.qid}}
    with sklearn.config_context(enable_metadata_routing=is_routed):
        values = cross_validate(
            RANKER, table.X, labels, scoring=scorer, cv=CV, error_score="raise", **params
        )
    for name, measure in SCORING.items():
        expected = by_hand(table, RANKER, measure)  # per fold
        assert values[f"test_{name}"] == pytest.approx(expected, abs=1e-12)


def test_without_queries_a_scorer_of_several_measures_raises(table: Table) -> None:
    scorer = ma.ranking_scorer(SCORING, aspects=ASPECTS)
    with (
        pytest.warns(ma.MultiAspectWarning, match="query of every row"),
        pytest.raises(MultiAspectError, match="query of every row"),
    ):
        scorer(CountsPredictions(), table.X, table.Y)


# -- rows as judgments and rankings
# ------------------------------------------------------------------

#: Two queries, whose rows are mixed; documents d1 and d3 of q1 are tied.
ROWS = pd.DataFrame(
    {
        "qid": ["q2", "q1", "q1", "q2", "q1"],
        "docno": ["d5", "d1", "d2", "d4", "d3"],
        "label": [1, 2, 0, 0, 1],
        "credibility": [0, 1, 2, 3, 1],
        "score": [0.1, 0.5, 0.9, 0.4, 0.5],
    }
)


def labelled(*, named: bool = True, qrels: ma.Judgments | None = None) -> LabelledRows:
    """Return ROWS as training data, with the names of the documents or without."""
    labels = ROWS[["label", "credibility"]]
    return LabelledRows(
        labels.set_index(ROWS["docno"]) if named else labels, ROWS["qid"], qrels=qrels
    )


def attributes(obj: object) -> set[str]:
    """Return the attributes that an object sets, and the properties of its class."""
    properties = {
        name for cls in type(obj).__mro__ for name, value in vars(cls).items()
        if isinstance(value, property | functools.cached_property)
    }  # fmt: skip
    return {*vars(obj), *properties} - {"_results"}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_rows_have_all_attributes_of_judgments_and_rankings(named: bool, pooled: bool) -> None:
    """An attribute that Judgments or Rankings gain is set for rows, too."""
    judgments = ma.Judgments(ROWS.drop(columns="score"))
    rows = labelled(named=named or pooled, qrels=judgments if pooled else None)
    for parent, child in [
        (judgments, rows.judgments),
        (Rankings(ROWS, judgments), rows.rankings(ROWS["score"])),
    ]:
        assert isinstance(child, type(parent))
        missing = [name for name in sorted(attributes(parent)) if not hasattr(child, name)]
        assert missing == []


def test_rows_are_the_judgments_of_their_qrels() -> None:
    """Rows of training data stand for qrels, without a frame that has to be read."""
    rows = labelled().judgments
    qrels = ma.Judgments(ROWS.drop(columns="score"))
    assert rows.label_names == qrels.label_names
    assert rows.qids.tolist() == qrels.qids.tolist()
    assert len(rows) == len(qrels) == 5

    def judged_pairs(judgments: ma.Judgments) -> set[tuple[int, str]]:
        """The numbers of the queries, and the documents."""
        return set(zip(judgments.pool_query.tolist(), judgments.docnos.tolist(), strict=True))

    assert judged_pairs(rows) == judged_pairs(qrels)


def test_rows_are_the_rankings_of_their_run() -> None:
    """Rows of training data stand for a run, without a frame that has to be read."""
    is_d1 = ROWS["docno"] == "d1"  # tied with d3 of the same query
    run = ROWS.assign(score=ROWS["score"] - 0.01 * is_d1)
    expected = Rankings(run, ma.Judgments(ROWS.drop(columns="score")))

    ranked = labelled().rankings(run["score"])

    for values, expected_values in zip(
        ranked.documents(None), expected.documents(None), strict=True
    ):  # the queries, ranks and names of all documents
        assert values.tolist() == expected_values.tolist()
    assert ranked.levels.tolist() == expected.levels.tolist()
    assert ranked.some_documents == expected.some_documents == ["d2", "d3", "d1"]
    assert ranked.n_common == expected.n_common == 2
    pd.testing.assert_frame_equal(ranked.frame_by_rank(), expected.frame_by_rank())
    pd.testing.assert_frame_equal(ranked.cut(1).frame_by_rank(), expected.cut(1).frame_by_rank())
    keys = ["query_id", "doc_id"]
    source = ranked.source.to_pandas().sort_values(keys, ignore_index=True)
    expected_source = expected.source.to_pandas().sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(source, expected_source)


def test_documents_of_rows_without_names_are_row_numbers() -> None:
    # ROWS are of q2, q1, q1, q2 and q1, with the scores 0.1, 0.5, 0.9, 0.4 and 0.5.
    rows = labelled(named=False)
    rows_of_q1, rows_of_q2 = ["1", "2", "4"], ["0", "3"]
    assert rows.judgments.docnos.tolist() == rows_of_q1 + rows_of_q2
    _queries, _ranks, documents = rows.rankings(ROWS["score"]).documents(1)
    assert documents.tolist() == ["2", "3"]  # the first of q1 and of q2
