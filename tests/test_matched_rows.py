"""Rows that name their documents on several sides: they are the same, or refused, never matched by position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import NumRel, NumRet
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

RNG = np.random.default_rng(3)
N_QUERIES, DEPTH = 6, 8
N = N_QUERIES * DEPTH
DOCUMENTS = [f"d{number}" for number in RNG.permutation(N)]
GRADES = {"relevance": 2, "credibility": 2}
MEASURE = ma.CAM(aspects=GRADES) @ 5
LABELS = pd.DataFrame(
    {
        "qid": np.repeat([f"q{number}" for number in range(N_QUERIES)], DEPTH),
        "docno": DOCUMENTS,
        "relevance": RNG.integers(0, 3, N),
        "credibility": RNG.integers(0, 3, N),
    }
)
FEATURES = LABELS[["qid", "docno"]].assign(
    first=LABELS["relevance"] + LABELS["credibility"], second=RNG.normal(size=N)
)
IR_NAMES = {"qid": "query_id", "docno": "doc_id"}
QRELS = LABELS.rename(columns=IR_NAMES)[["query_id", "doc_id", "relevance"]]
#: The rows of all queries in the reverse order of documents: the queries are the same at each
#: position.
WITHIN = np.concatenate([query * DEPTH + np.arange(DEPTH)[::-1] for query in range(N_QUERIES)])
COLUMNS = ["qid", "docno"]


def by_index(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return features by query and document, with these names."""
    indexed = rows.set_index(COLUMNS)
    return indexed.rename_axis(list(names) or COLUMNS)


def unnamed(rows: pd.DataFrame) -> pd.DataFrame:
    features = rows.drop(columns=COLUMNS)
    features.index = pd.Index(list(rows["docno"]))
    return features


def joined(separator: str, *names: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a function that indexes features by the names in one text, such as ``q1_d1``."""

    def index(rows: pd.DataFrame) -> pd.DataFrame:
        features = rows.drop(columns=COLUMNS)
        first, second = (rows[name].astype(str) for name in names)
        features.index = pd.Index(first + separator + second)
        return features

    return index


def arrow_table(rows: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(by_index(rows))


#: Forms in which features name the documents of their rows.
FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "levels qid and docno": by_index,
    "levels docno and qid": lambda rows: by_index(rows).swaplevel(),
    "level docno": lambda rows: rows.set_index("docno").drop(columns="qid"),
    "levels of ir-measures": lambda rows: by_index(rows, "query_id", "doc_id"),
    "levels of other names": lambda rows: by_index(rows, "topic", "passage"),
    "levels of categories": lambda rows: by_index(rows.astype({"docno": "category"})),
    "an index without a name": unnamed,
    "texts of query and document": joined("_", "qid", "docno"),
    "texts of document and query": joined("::", "docno", "qid"),
    "a table of PyArrow": arrow_table,
}


class Plain(BaseEstimator):
    """Predicts the first feature."""

    def fit(self, X: Any, y: Any) -> Plain:
        return self

    def predict(self, X: Any) -> Any:
        return X["first"].to_numpy()

    def __sklearn_is_fitted__(self) -> bool:
        return True


def fit(X: Any, y: Any, **more: Any) -> Any:
    return ma.AspectRanker(LinearRegression(), MEASURE).fit(X, y, **more)


def search(X: Any, y: Any) -> float:
    scorer = ma.ranking_scorer(MEASURE)
    found = GridSearchCV(Plain(), {}, scoring=scorer, cv=GroupKFold(3), error_score="raise")
    return float(found.fit(X, y, groups=LABELS["qid"].to_numpy()).best_score_)


#: The same rows for other queries.
TRAINING, TRAINED = (rows.assign(qid="t" + rows["qid"]) for rows in (FEATURES, LABELS))
FITTED = fit(FEATURES.set_index(COLUMNS), LABELS)
DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "fit": lambda X, y: fit(X, y).estimator_.coef_,
    "fit with an evaluation set": lambda X, y: (
        pytest.importorskip("lightgbm")
        and ma.AspectRanker(lightgbm(), MEASURE).fit(
            TRAINING.set_index(COLUMNS), TRAINED, eval_set=[(X, y)]
        )
    ),
    "score": lambda X, y: FITTED.score(X, y),
    "search": search,
    "split": lambda X, y: next(
        ma.RepeatedQueryKFold(2, 1).split(X, y, groups=LABELS["qid"].to_numpy())
    ),
}


def lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMRanker(
        n_estimators=2, min_child_samples=2, verbose=-1, n_jobs=1
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", DOORS)
def test_documents_on_both_sides_in_another_order(door: str, form: str) -> None:
    """If features and labels both name the documents, in whatever form, their rows must be in one order.

    Models would learn from the labels of other documents otherwise.
    """
    if door == "search" and form == "a table of PyArrow":
        pytest.skip("scikit-learn divides no tables of PyArrow into folds")
    call, features_in_form = DOORS[door], FORMS[form]
    reversed_in_each_query = FEATURES.iloc[WITHIN]
    with pytest.raises(MultiAspectError, match=r"rows are matched by position"):
        call(features_in_form(reversed_in_each_query), LABELS)
    with no_warnings():
        call(features_in_form(FEATURES), LABELS)


@pytest.mark.parametrize("names", [["qid", "docno"], ["query_id", "doc_id"]], ids=str)
def test_queries_in_another_order_whose_documents_have_equal_names(names: list[str]) -> None:
    """If documents are numbered within queries, the order of the queries decides."""
    docnos = [f"d{number}" for number in range(DEPTH)] * N_QUERIES
    labels = LABELS.assign(docno=docnos)  # of the queries q0 to q5
    features = FEATURES.assign(docno=docnos)
    last_query_first = features.sort_values(["qid", "docno"], ascending=[False, True])
    message = "expected y and X to have the same qid in each row, got q0 and q5"
    with pytest.raises(MultiAspectError, match=message):
        fit(by_index(last_query_first, *names), labels)
    assert fit(by_index(features, *names), labels).n_features_in_ == 2


@pytest.mark.parametrize("kind", [int, float, str])
def test_documents_that_are_numbers(kind: type) -> None:
    """Labels may name documents by 100, 100.0 or "100" where features name them by 100."""
    numbers = np.arange(100, 100 + N)  # 100 to 107 of the first query
    labels = LABELS.assign(docno=numbers.astype(kind))
    features = FEATURES.assign(docno=numbers).set_index(COLUMNS)
    reversed_in_each_query = features.iloc[WITHIN]
    with pytest.raises(MultiAspectError, match="the same docno in each row, got 100 and 107"):
        fit(reversed_in_each_query, labels)
    assert fit(features, labels).n_features_in_ == 2


def test_documents_in_a_column_of_the_features() -> None:
    ranker = ma.AspectRanker(Plain(), MEASURE)
    for names in ({}, {"docno": "doc_id"}, {"docno": "docid"}, {"docno": "passage"}):
        features = FEATURES.rename(columns=names).drop(columns="qid")
        with pytest.raises(MultiAspectError, match="the same docno in each row"):
            ranker.fit(features.iloc[WITHIN].reset_index(drop=True), LABELS)
        with no_warnings():
            assert ranker.fit(features, LABELS).n_features_in_ == 3


@pytest.mark.parametrize("column", ["DOCNO", "Doc ID", "passage"])
@pytest.mark.parametrize("index", ["documents", "pairs"])
def test_documents_that_neither_side_names_so(index: str, column: str) -> None:
    """Documents are recognised by their names, in a column of any name and an index without a name."""
    features = FEATURES.rename(columns={"docno": column}).drop(columns="qid")
    labels = LABELS.set_index("docno").rename_axis(None)
    if index == "pairs":
        pairs = list(zip(LABELS["qid"], LABELS["docno"], strict=True))
        labels.index = pd.Index(pairs, tupleize_cols=False)
    ranker = ma.AspectRanker(Plain(), MEASURE)
    with no_warnings():
        assert ranker.fit(features, labels).n_features_in_ == 3
    reversed_in_each_query = features.iloc[WITHIN].reset_index(drop=True)
    with pytest.raises(MultiAspectError, match=r"the same .* in each row, got d"):
        ranker.fit(reversed_in_each_query, labels)


def test_texts_that_occur_in_several_rows_name_no_documents() -> None:
    """Categories of both sides may differ, such as the site and a group of the documents."""
    sites = ["0", "1", "2"] * (N // 3)
    groups = ["0", "1", "2", "0"] * (N // 4)
    features = FEATURES.assign(site=sites).drop(columns=COLUMNS)
    labels = LABELS.set_index(pd.Index(groups, name="group"))
    with no_warnings():
        assert ma.AspectRanker(Plain(), MEASURE).fit(features, labels).n_features_in_ == 3


def test_scores_of_ranking_score_in_another_order() -> None:
    """A perfect prediction had .62."""
    scores = FEATURES.set_index(COLUMNS)["first"]
    assert ma.ranking_score(LABELS, scores, measure="nDCG@5") > 0.8
    forms = {
        "levels": scores.iloc[WITHIN],
        "a frame": scores.iloc[WITHIN].to_frame(),
        "level docno": scores.droplevel("qid").iloc[WITHIN],
        "no name": scores.droplevel("qid").rename_axis(None).iloc[WITHIN],
    }
    for predictions in forms.values():
        with pytest.raises(
            MultiAspectError, match="expected y_true and y_score to have the same docno"
        ):
            ma.ranking_score(LABELS, predictions, measure="nDCG@5")


def fit_with_weights(weights: pd.Series) -> None:
    fit(FEATURES[["first"]].to_numpy(), LABELS, sample_weight=weights)


def fit_with_offsets(offsets: pd.Series) -> None:
    ranker = ma.AspectRanker(lightgbm(), MEASURE)
    ranker.fit(FEATURES[["first"]].to_numpy(), LABELS, init_score=offsets)


def score_with_weights(weights: pd.Series) -> None:
    ma.ranking_score(LABELS, np.arange(N), measure=MEASURE, sample_weight=weights)


@pytest.mark.parametrize("call", [fit_with_weights, fit_with_offsets, score_with_weights])
def test_weights_in_another_order(call: Callable[[pd.Series], None]) -> None:
    """Values of rows that name their documents are matched with those that LABELS names."""
    weights = pd.Series(1.0, index=by_index(LABELS).index)
    with no_warnings():
        call(weights)
    reversed_in_each_query = weights.iloc[WITHIN]
    with pytest.raises(MultiAspectError, match="to have the same docno in each row"):
        call(reversed_in_each_query)


@pytest.mark.parametrize(
    "door", ["fit", "ranking_score", "metric_for", "aggregate_labels", "labels of qrels"]
)
def test_queries_in_another_order_of_documents(door: str) -> None:
    """Kind: the queries passed as qid name the documents, too."""
    labels = LABELS.drop(columns="qid").set_index("docno")
    queries = LABELS.set_index("docno")["qid"]
    calls: dict[str, Callable[[Any], Any]] = {
        "fit": lambda qid: fit(FEATURES[["first"]].to_numpy(), labels, qid=qid),
        "ranking_score": lambda qid: ma.ranking_score(
            labels, np.arange(N), qid=qid, measure=MEASURE
        ),
        "metric_for": lambda qid: ma.metric_for("lightgbm", MEASURE, labels, qid),
        "aggregate_labels": lambda qid: ma.aggregate_labels(labels, MEASURE, qid=qid),
        "labels of qrels": lambda qid: ma.aggregate_labels(LABELS, MEASURE, qid=qid),
    }
    with no_warnings():
        calls[door](queries)
    with pytest.raises(MultiAspectError, match="rows are matched by position"):
        calls[door](queries.iloc[::-1])


def test_predictions_in_another_order() -> None:
    """Kind: an estimator sorts its rows, and returns predictions that name them."""

    class Sorting(Plain):
        def predict(self, X: Any) -> Any:
            return X["first"].sort_values()

    with pytest.raises(MultiAspectError, match="expected y and predictions to have the same docno"):
        ma.ranking_scorer(MEASURE)(Sorting(), FEATURES.set_index(COLUMNS), LABELS)


@no_warnings()
@pytest.mark.parametrize(
    "form",
    [
        "array",
        "other documents",
        "numbers of rows",
        "queries",
        "numbers of queries",
        "same documents",
    ],
)
def test_features_without_the_names_of_y_are_matched_by_position(form: str) -> None:
    """Only if both sides name some of the same documents are names compared."""
    features = FEATURES[["first", "second"]]
    if form == "array":
        X = features.to_numpy()
    elif form == "other documents":  # names that no row of y has
        X = by_index(FEATURES.assign(docno=[f"x{number}" for number in range(N)]))
    elif form == "numbers of rows":
        X = features.set_axis(range(500, 500 + N))
    elif form == "queries":
        X = features.set_axis(pd.Index(LABELS["qid"]))
    elif form == "numbers of queries":
        X = features.set_axis(pd.Index(pd.factorize(LABELS["qid"])[0], name="qid"))
    else:
        X = by_index(FEATURES)
    expected = fit(features, LABELS).estimator_.coef_
    assert (fit(X, LABELS).estimator_.coef_ == expected).all()


@no_warnings()
def test_labels_with_other_names_than_the_features_are_matched_by_position() -> None:
    features = FEATURES[["first", "second"]]
    expected = fit(features, LABELS).estimator_.coef_
    # Documents that are numbers, but not those of the rows.
    numbered = LABELS.assign(docno=RNG.permutation(N))
    assert (fit(features, numbered).estimator_.coef_ == expected).all()
    # Names in columns and in the index.
    named_twice = LABELS.set_index(COLUMNS, drop=False)
    assert (fit(by_index(FEATURES), named_twice).estimator_.coef_ == expected).all()


@no_warnings()
def test_texts_and_numbers_of_features_that_y_does_not_have_name_no_documents() -> None:
    urls = [f"u{number}" for number in RNG.permutation(N)]
    features = FEATURES[["first", "second"]].assign(url=urls, docid=RNG.permutation(N))
    assert ma.AspectRanker(Plain(), MEASURE).fit(features, LABELS).n_features_in_ == 4


#: Scores of two models on ten splits, or two repeats of five folds: the first is higher by 0.05.
BASELINE = np.linspace(0.2, 0.8, 10)
BETTER = BASELINE + 0.05 + np.resize([0.001, -0.001], 10)
SPLITS = [f"split{number}" for number in range(10)]
REPEATS_AND_FOLDS = pd.MultiIndex.from_product([[0, 1], range(5)], names=["repeat", "fold"])


def test_scores_of_splits_in_another_order() -> None:
    """Scores are paired by split. In another order, their difference would look random."""
    baseline = pd.Series(BASELINE, index=SPLITS)
    scores = pd.Series(BETTER, index=SPLITS)
    assert ma.paired_interval(scores, baseline, n_folds=5)["p_value"] < 0.001
    for shuffled in (scores[::-1], scores.sample(frac=1, random_state=1)):
        with pytest.raises(MultiAspectError, match="the scores of both in the same way"):
            ma.paired_interval(shuffled, baseline, n_folds=5)


def test_scores_of_repeats_and_folds_in_another_order() -> None:
    baseline = pd.Series(BASELINE, index=REPEATS_AND_FOLDS)
    scores = pd.Series(BETTER, index=REPEATS_AND_FOLDS)
    reversed_scores = scores.swaplevel()[::-1]
    with pytest.raises(MultiAspectError, match="matched by position"):
        ma.paired_interval(reversed_scores, baseline, n_folds=5)
    by_fold = scores.sort_index(level="fold")
    with pytest.raises(MultiAspectError, match="matched by position"):
        ma.paired_interval(by_fold, baseline, n_folds=5)


@pytest.mark.parametrize("index_name", ["split", None])
def test_scores_of_different_splits(index_name: str | None) -> None:
    """If a split of each model has failed, the others are not the same."""
    without_first = pd.Series(BETTER[1:9], index=pd.Index(SPLITS[1:9], name=index_name))
    without_last = pd.Series(BASELINE[:8], index=pd.Index(SPLITS[:8], name=index_name))
    message = "expected scores and baseline to have the same split"
    with pytest.raises(MultiAspectError, match=message):
        ma.paired_interval(without_first, without_last, n_folds=4)


@no_warnings()
@pytest.mark.parametrize(
    "scores",
    [
        BETTER,
        list(BETTER),
        pd.Series(BETTER, index=range(10, 20)),
        pd.Series(BETTER),
    ],
    ids=["array", "list", "other numbers", "numbers of rows"],
)
def test_scores_without_names_of_splits_are_matched_by_position(scores: Any) -> None:
    baseline = pd.Series(BASELINE, index=SPLITS)
    expected = ma.paired_interval(pd.Series(BETTER, index=SPLITS), baseline, n_folds=5)
    assert ma.paired_interval(scores, baseline, n_folds=5).equals(expected)


@no_warnings()
def test_scores_in_the_same_order_may_have_further_or_exchanged_levels() -> None:
    expected = ma.paired_interval(BETTER, BASELINE, n_folds=5)
    baseline = pd.Series(BASELINE, index=REPEATS_AND_FOLDS)
    scores = pd.Series(BETTER, index=REPEATS_AND_FOLDS)
    assert ma.paired_interval(scores, baseline, n_folds=5).equals(expected)
    assert ma.paired_interval(scores.swaplevel(), baseline, n_folds=5).equals(expected)
    # A level with the name of the model, which always differs.
    names = ["model", "split"]
    splits_of_a = pd.MultiIndex.from_product([["a"], SPLITS], names=names)
    splits_of_b = pd.MultiIndex.from_product([["b"], SPLITS], names=names)
    scores, baseline = pd.Series(BETTER, index=splits_of_a), pd.Series(BASELINE, index=splits_of_b)
    assert ma.paired_interval(scores, baseline, n_folds=5).equals(expected)


def test_weights_of_queries_for_sums_over_queries() -> None:
    """Kind: measures whose aggregate is no mean over queries, so that weights mean nothing."""
    weights = np.ones(N)
    for measure in ("NumRel", "NumRet", "NumQ", "NumRelRet"):
        with pytest.raises(
            MultiAspectError,
            match=r"^sample_weight: .* is not a mean over queries; omit the weights",
        ):
            ma.ranking_score(LABELS, np.arange(N), measure=measure, sample_weight=weights)
    # Without weights, they are sums as in evaluate, and their means were given.
    run = LABELS[COLUMNS].assign(score=np.arange(N))
    for measure in (NumRet, NumRel, NumRet(rel=2)):
        expected = ir_measures.calc_aggregate([measure], QRELS, run.rename(columns=IR_NAMES))[
            measure
        ]
        assert ma.ranking_score(LABELS, np.arange(N), measure=measure) == expected
        scorer = ma.ranking_scorer(measure)
        assert scorer(Plain(), pd.DataFrame({"first": np.arange(N)}), LABELS) == expected
    counts = ma.On(aspect="credibility", base="NumRel", aspects=GRADES)  # a mean
    assert ma.ranking_score(
        LABELS, np.arange(N), measure=counts, sample_weight=weights
    ) == pytest.approx(ma.ranking_score(LABELS, np.arange(N), measure=counts))
