"""Columns of y keep their names where libraries turn frames into arrays, and one measure compares candidates."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import BaggingRegressor
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import AspectRanker, MultiAspectError, MultiAspectWarning
from pt_multiaspect.model_selection.arrays import label_frame

#: In another order than the columns of the labels, which `pivot_table` sorts. Both scales fit both
#: columns.
ASPECTS = ma.Aspects({"relevance": 3, "credibility": 3})
MEASURE = ma.CAM(aspects=ASPECTS, weights={"relevance": 1, "credibility": 0.05}) @ 10
TARGET = ma.TOMA(
    aspects=ASPECTS,
    weights={"relevance": 1, "credibility": 0.05},
    distance="manhattan",
    weighting="normalized",
)
UNNAMED = r"y has 2 columns without names; pass aspects=.*RFE.*: there, pass aspects"


class Data:
    """Thirty queries of eight rows. Feature 0 tells the credibility, feature 1 the relevance."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.X = rng.normal(size=(240, 4))
        self.qid = np.repeat([f"q{number:02d}" for number in range(30)], 8)
        self.docno = np.tile([f"d{number}" for number in range(8)], 30)
        labels = np.digitize(self.X[:, :2] + rng.normal(scale=0.1, size=(240, 2)), [-1, 0, 1])
        long = pd.DataFrame(
            {
                "qid": np.repeat(self.qid, 2),
                "docno": np.repeat(self.docno, 2),
                "aspect": np.tile(["credibility", "relevance"], 240),
                "label": labels.ravel(),
            }
        )
        self.Y = long.pivot_table(index=["qid", "docno"], columns="aspect", values="label")
        self.train = np.arange(240) < 160


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


@pytest.mark.parametrize(
    ("name", "aspect"),
    [("credibility", "credibility"), ("", "relevance"), (5, "relevance"), (None, "relevance")],
)
def test_a_series_without_a_name_in_words_has_labels_of_relevance(
    name: object, aspect: str
) -> None:
    assert list(label_frame(pd.Series([0, 1], name=name), None)) == [aspect]


def lightgbm(**params: Any) -> Any:
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    fixed = {
        "n_estimators": 10,
        "min_child_samples": 3,
        "num_leaves": 4,
        "verbose": -1,
        "n_jobs": 1,
    }
    return library.LGBMRanker(**{**fixed, "random_state": 0, **params})


def test_labels_are_sorted_by_pivot_table(data: Data) -> None:
    assert list(data.Y) == ["credibility", "relevance"] != list(ASPECTS)


def test_recursive_feature_elimination_chooses_the_feature_of_the_right_aspect(data: Data) -> None:
    """The target and the measure weigh relevance most; feature 1 tells it."""
    unnamed = AspectRanker(Ridge(), TARGET)
    with pytest.raises(MultiAspectError, match=UNNAMED):
        RFE(unnamed, n_features_to_select=1).fit(data.X, data.Y)
    named = AspectRanker(Ridge(), TARGET, aspects=["credibility", "relevance"])
    elimination = RFE(named, n_features_to_select=1).fit(data.X, data.Y)
    assert elimination.support_[1]
    assert elimination.predict(data.X).shape == (240,)


def test_recursive_feature_elimination_with_cross_validation(data: Data) -> None:
    """It also needs the queries, which are routed to the ranker and to the scorer."""
    unnamed = AspectRanker(Ridge(), TARGET)
    with pytest.raises(MultiAspectError, match=UNNAMED):
        RFECV(unnamed, cv=GroupKFold(3)).fit(data.X, data.Y, groups=data.qid)
    names = ["credibility", "relevance"]
    named = AspectRanker(Ridge(), TARGET, aspects=names)
    scorer = ma.ranking_scorer(MEASURE, aspects=names)
    with sklearn.config_context(enable_metadata_routing=True):
        elimination = RFECV(named, cv=GroupKFold(3), scoring=scorer)
        elimination.fit(data.X, data.Y, groups=data.qid, qid=data.qid)
    assert elimination.support_[1]
    score_of_one_feature = elimination.cv_results_["mean_test_score"][0]
    assert score_of_one_feature > 0.9
    assert elimination.predict(data.X).shape == (240,)


def test_bagging(data: Data) -> None:
    with pytest.raises(MultiAspectError, match=UNNAMED):
        BaggingRegressor(AspectRanker(Ridge(), TARGET), 3, random_state=0).fit(data.X, data.Y)
    ranker = AspectRanker(Ridge(), TARGET, aspects=list(data.Y))
    bagged = BaggingRegressor(ranker, 3, random_state=0).fit(data.X, data.Y)
    predicted = bagged.predict(data.X)
    assert np.corrcoef(predicted, data.Y["relevance"])[0, 1] > 0.9
    assert abs(np.corrcoef(predicted, data.Y["credibility"])[0, 1]) < 0.3


@pytest.mark.slow
def test_grid_search_over_arrays(data: Data) -> None:
    grid = {"estimator__alpha": [1.0, 2.0]}
    array, fit_params = data.Y.to_numpy(), {"qid": data.qid, "groups": data.qid}
    scorer = ma.ranking_scorer(MEASURE, aspects=list(data.Y))
    with sklearn.config_context(enable_metadata_routing=True):
        how: dict[str, Any] = {"cv": GroupKFold(2), "error_score": "raise"}
        with pytest.raises(MultiAspectError, match=UNNAMED):
            GridSearchCV(AspectRanker(Ridge(), TARGET, measure=MEASURE), grid, **how).fit(
                data.X, array, **fit_params
            )
        named = AspectRanker(Ridge(), TARGET, measure=MEASURE, aspects=list(data.Y))
        values = [
            GridSearchCV(named, grid, **how, scoring=scoring)
            .fit(data.X, labels, **fit_params)
            .best_score_
            for labels in (array, data.Y)
            for scoring in (None, scorer)
        ]
    assert len(set(values)) == 1
    assert values[0] > 0.9


@pytest.mark.parametrize("how", ["aspects", "frame"])
def test_arrays_in_evaluation_sets_and_scores_have_the_columns_of_the_training_set(
    how: str, data: Data
) -> None:
    train, rest = data.train, ~data.train
    ranker = AspectRanker(
        lightgbm(), TARGET, measure=MEASURE, aspects=list(data.Y) if how == "aspects" else None
    )
    fitted = []
    for labels in (data.Y[rest], data.Y[rest].to_numpy(), data.Y[rest][list(ASPECTS)]):
        trained = data.Y[train].to_numpy() if how == "aspects" else data.Y[train]
        ranker.fit(
            data.X[train],
            trained,
            qid=data.qid[train],
            eval_set=[(data.X[rest], labels, data.qid[rest])],
        )
        fitted.append(ranker.evals_result_)
        assert ranker.score(data.X[rest], labels, qid=data.qid[rest]) > 0.9
    assert fitted[0] == fitted[1] == fitted[2]
    with pytest.raises(
        MultiAspectError, match=r"y has 3 columns, but there are 2 aspects|y has 3 columns without"
    ):
        ranker.score(data.X, np.ones((240, 3)), qid=data.qid)


def test_labels_aggregated_from_arrays(data: Data) -> None:
    """Arrays have no names of columns, so that `aspects` is needed: a list, or one text."""
    expected = ma.aggregate_labels(data.Y, TARGET).values
    array = data.Y.to_numpy()
    with pytest.raises(MultiAspectError, match=UNNAMED):
        ma.aggregate_labels(array, TARGET)
    labels = ma.aggregate_labels(array, TARGET, aspects=["credibility", "relevance"]).values
    assert (labels == expected).all()
    rows = array.tolist()
    labels = ma.aggregate_labels(rows, TARGET, aspects="credibility,relevance").values
    assert (labels == expected).all()


def test_labels_aggregated_with_scales_that_are_declared_with_the_names(data: Data) -> None:
    """Of qrels, the columns that are named are selected: the year is none of them."""
    expected = ma.aggregate_labels(data.Y, TARGET).values
    scales = {"credibility": 3, "relevance": 3}
    target = TARGET(aspects=None)
    for y in (data.Y.to_numpy(), data.Y):
        labels = ma.aggregate_labels(y, target, aspects=scales).values
        assert (np.asarray(labels) == expected).all()
    qrels = data.Y.reset_index().assign(year=2015)
    labels = ma.aggregate_labels(qrels, target, aspects=scales).values["label"]
    assert (labels.to_numpy() == expected).all()


def test_labels_aggregated_from_some_aspects_of_qrels(data: Data) -> None:
    """Of one aspect, the classes of TOMA are its grades."""
    classes = ma.TOMA(distance="manhattan", axes="gains")
    qrels = data.Y.reset_index().assign(year=2015)
    with pytest.warns(MultiAspectWarning, match="scales"):
        labels = ma.aggregate_labels(qrels, classes, aspects=["relevance"]).values
    assert (labels["label"] == qrels["relevance"]).all()
    with pytest.raises(MultiAspectError, match="no column for the aspect mood"):
        ma.aggregate_labels(qrels, classes, aspects=["mood"])


@no_warnings()
def test_single_columns_are_named_by_the_target(data: Data) -> None:
    relevance = data.Y["relevance"].to_numpy()
    target = ma.On(aspect="relevance", aspects={"relevance": 3})
    for labels in (relevance, relevance[:, None], relevance.tolist(), data.Y["relevance"]):
        ranker = AspectRanker(Ridge(), target).fit(data.X, labels, qid=data.qid)
        assert ranker.score(data.X, labels, qid=data.qid) > 0.9
        assert (ma.aggregate_labels(labels, target).values == relevance).all()


@pytest.mark.parametrize("form", ["frame", "series", "array", "several columns"])
@pytest.mark.parametrize(
    ("target", "remedy"),
    [("CAMM", "the nearest names are CAM"), ("toma", "TOMA"), ("nDCG10", "write nDCG@10")],
)
def test_a_target_that_is_neither_a_measure_nor_an_aspect(
    data: Data, form: str, target: str, remedy: str
) -> None:
    """A column without a name took that of the target."""
    labels, aspects = {
        "frame": (data.Y, None),
        "series": (data.Y["relevance"], None),
        "array": (data.Y["relevance"].to_numpy(), None),
        "several columns": (data.Y.to_numpy(), list(data.Y)),
    }[form]
    message = f"target: expected a measure or an aspect.*, got '{target}'.*{remedy}"
    with pytest.raises(MultiAspectError, match=message):
        AspectRanker(Ridge(), target, aspects=aspects).fit(data.X, labels, qid=data.qid)
    with pytest.raises(MultiAspectError, match=message):
        ma.aggregate_labels(labels, target, aspects=aspects)


@no_warnings()
def test_a_column_may_have_the_name_of_a_measure_nearly(data: Data) -> None:
    labels = data.Y["relevance"].to_numpy()
    for target, aspects in (("CAMM", {"CAMM": 3}), ("trust", {"trust": 3})):
        AspectRanker(Ridge(), target, aspects=aspects).fit(data.X, labels, qid=data.qid)
    AspectRanker(Ridge(), ma.On(aspect="trust", aspects={"trust": 3})).fit(
        data.X, labels, qid=data.qid
    )


@pytest.mark.parametrize("aspects", [None, {"credibility": 3}], ids=["undeclared", "declared"])
def test_the_single_column_of_a_target_on_an_aspect_has_its_name(data: Data, aspects: Any) -> None:
    # Without scales, it was named relevance, which the target does not have.
    credibility = data.Y["credibility"].to_numpy()
    target = ma.On(aspect="credibility", aspects=aspects)
    for labels in (
        credibility,
        credibility[:, None],
        credibility.tolist(),
        data.Y["credibility"],
        pd.Series(credibility),
    ):
        ranker = AspectRanker(Ridge(), target).fit(data.X, labels, qid=data.qid)
        assert ranker.score(data.X, labels, qid=data.qid) > 0.9
        assert (ma.aggregate_labels(labels, target).values == credibility).all()
        assert ma.ranking_score(labels, credibility, measure=target, qid=data.qid) == pytest.approx(
            1
        )
    if aspects is None:
        with pytest.raises(MultiAspectError, match="no column for the aspect credibility"):
            ma.aggregate_labels(data.Y["relevance"], target)


# -- candidates with measures of their own
# ------------------------------------------------------------------


def test_a_search_over_measures_does_not_compare_them(data: Data) -> None:
    # Each candidate was compared by its own measure, so the one with the highest values won.
    grid = {"measure": [MEASURE, ma.On(aspect="credibility", aspects=ASPECTS)]}
    how: dict[str, Any] = {"cv": GroupKFold(2), "error_score": "raise"}
    ranker = AspectRanker(Ridge(), TARGET)
    pipeline = Pipeline([("ranker", ranker)])
    for estimator, searched in (
        (ranker, grid),
        (pipeline, {f"ranker__{name}": grid[name] for name in grid}),
    ):
        with (
            pytest.warns(
                MultiAspectWarning, match=r"was set by set_params: .*by its own measure.*scoring="
            ),
            pytest.raises(MultiAspectError, match=r"score does not evaluate by the measure"),
        ):
            GridSearchCV(estimator, searched, **how).fit(data.X, data.Y, groups=data.qid)
        search = GridSearchCV(estimator, searched, **how, scoring=ma.ranking_scorer(MEASURE))
        values = search.fit(data.X, data.Y, groups=data.qid).cv_results_["mean_test_score"]
        assert values[0] == values[1]


def test_the_docstring_and_the_page_tell_of_rankers_as_candidates() -> None:
    from pathlib import Path

    page = Path(__file__).parents[1] / "docs/howto/searches.md"
    for text in (AspectRanker.__doc__, page.read_text(encoding="utf-8")):
        assert text is not None
        assert re.search(r"rankers\s+with\s+different\s+measures", text)


@no_warnings()
def test_plausible_searches_are_silent(data: Data) -> None:
    how: dict[str, Any] = {"cv": GroupKFold(2), "error_score": "raise"}
    ranker = AspectRanker(Ridge(), TARGET).set_params(estimator__alpha=2.0)
    ranker.fit(data.X, data.Y).score(data.X, data.Y)
    ranker.set_params(measure=MEASURE).fit(data.X, data.Y).score(data.X, data.Y)
    cross_validate(ranker, data.X, data.Y, groups=data.qid, **how)
    fixed = AspectRanker(Ridge(), measure=MEASURE, aspects=ASPECTS)
    search = GridSearchCV(fixed, {"target": [TARGET, "relevance", "scaled sum"]}, **how)
    best = search.fit(data.X, data.Y, groups=data.qid).best_estimator_
    # Nothing is compared any more.
    by_another = best.set_params(measure=ma.On(aspect="credibility", aspects=ASPECTS)).score(
        data.X, data.Y
    )
    assert by_another == ma.ranking_score(
        data.Y, best.predict(data.X), measure=ma.On(aspect="credibility", aspects=ASPECTS)
    )


def test_an_array_of_queries_in_one_column_contradicts_the_index() -> None:
    """Queries as an array of shape (n_rows, 1) are compared with an index of queries."""
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(8), 5)
    labels = pd.DataFrame(
        {"relevance": rng.integers(0, 3, 40), "credibility": rng.integers(0, 4, 40)},
        index=pd.Index(qid, name="qid"),
    )
    other_qid = np.where(qid == 0, 1, qid)  # the rows of query 0 as rows of query 1
    with pytest.raises(MultiAspectError, match=r"expected.*index.*qid"):
        ma.ranking_score(labels, rng.normal(size=40), qid=other_qid[:, None], measure="CAM")


def test_an_array_of_queries_in_one_column_has_queries_of_the_training_set() -> None:
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(8), 5)
    X, relevance = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    ranker = AspectRanker(Ridge(), target="relevance")
    ranker.fit(X[:20], relevance[:20], qid=qid[:20])  # queries 0 to 3
    qid_column = qid[10:, None]  # queries 2 to 7
    with pytest.warns(
        MultiAspectWarning, match=r"such as 2, were among those that AspectRanker was fitted on"
    ):
        ranker.score(X[10:], relevance[10:], qid=qid_column)
