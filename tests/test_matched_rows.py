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
    """Kind: documents are named on both sides, in whatever form.

    A regression learnt the slope -2.5 instead of 2.5, as rows were matched by position.
    """
    if door == "search" and form == "a table of PyArrow":
        pytest.skip("scikit-learn divides no tables of PyArrow into folds")
    shuffled = FORMS[form](FEATURES.iloc[WITHIN])
    with pytest.raises(MultiAspectError, match=r"rows are matched by position"):
        DOORS[door](shuffled, LABELS)
    with no_warnings():
        DOORS[door](FORMS[form](FEATURES), LABELS)


@pytest.mark.parametrize("names", ["qid docno", "query_id doc_id"])
def test_queries_in_another_order_whose_documents_have_equal_names(names: str) -> None:
    """Kind: documents are numbered within queries, so that only the pair tells rows apart."""
    docnos = np.tile([f"d{number}" for number in range(DEPTH)], N_QUERIES)
    labels, features = LABELS.assign(docno=docnos), FEATURES.assign(docno=docnos)
    shuffled = by_index(
        features[::-1].groupby("docno", sort=True).head(N), *names.split()
    ).sort_index(level=[0, 1], ascending=[False, True])
    with pytest.raises(
        MultiAspectError, match="expected y and X to have the same qid in each row, got q0 and q5"
    ):
        fit(shuffled, labels)
    assert fit(by_index(features, *names.split()), labels).n_features_in_ == 2


@pytest.mark.parametrize("kind", ["int", "float", "text"])
def test_documents_that_are_numbers(kind: str) -> None:
    """Kind: names of one side are numbers, and those of the other texts."""
    numbers = np.arange(100, 100 + N)
    labels = LABELS.assign(docno=numbers.astype({"int": int, "float": float, "text": str}[kind]))
    features = FEATURES.assign(docno=numbers).set_index(COLUMNS)
    with pytest.raises(MultiAspectError, match="the same docno in each row, got 100 and 107"):
        fit(features.iloc[WITHIN], labels)
    assert fit(features, labels).n_features_in_ == 2


def test_documents_in_a_column_of_the_features() -> None:
    ranker = ma.AspectRanker(Plain(), MEASURE)
    for names in ({}, {"docno": "doc_id"}, {"docno": "docid"}, {"docno": "passage"}):
        features = FEATURES.rename(columns=names).drop(columns="qid")
        with pytest.raises(MultiAspectError, match="the same docno in each row"):
            ranker.fit(features.iloc[WITHIN].reset_index(drop=True), LABELS)
        with no_warnings():
            assert ranker.fit(features, LABELS).n_features_in_ == 3


@pytest.mark.parametrize("name", ["DOCNO", "Doc ID", "passage"])
def test_documents_that_neither_side_names_so(name: str) -> None:
    """Kind: a column in another spelling or of another name, and an index without a name or of tuples."""
    ranker = ma.AspectRanker(Plain(), MEASURE)
    features = FEATURES.rename(columns={"docno": name}).drop(columns="qid")
    labels = LABELS.set_index("docno").rename_axis(None)
    pairs = pd.Index(list(zip(LABELS["qid"], LABELS["docno"], strict=True)), tupleize_cols=False)
    for named in (labels, labels.set_axis(pairs)):
        with no_warnings():
            assert ranker.fit(features, named).n_features_in_ == 3
        with pytest.raises(MultiAspectError, match=r"the same .* in each row, got d"):
            ranker.fit(features.iloc[WITHIN].reset_index(drop=True), named)


def test_texts_that_occur_in_several_rows_name_no_documents() -> None:
    features = FEATURES.assign(site=np.arange(N) % 3).astype({"site": str}).drop(columns=COLUMNS)
    labels = LABELS.set_index(pd.Index(list("0120" * (N // 4)), name="group"))
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


@pytest.mark.parametrize("door", ["fit", "offset", "ranking_score"])
def test_weights_in_another_order(door: str) -> None:
    """Kind: values of rows name the documents."""
    weights = pd.Series(1.0, index=by_index(LABELS).index)
    calls: dict[str, Callable[[Any], Any]] = {
        "fit": lambda values: fit(FEATURES[["first"]].to_numpy(), LABELS, sample_weight=values),
        "offset": lambda values: (
            pytest.importorskip("lightgbm")
            and ma.AspectRanker(lightgbm(), MEASURE).fit(
                FEATURES[["first"]].to_numpy(), LABELS, init_score=values
            )
        ),
        "ranking_score": lambda values: ma.ranking_score(
            LABELS, np.arange(N), measure=MEASURE, sample_weight=values
        ),
    }
    with no_warnings():
        calls[door](weights)
    with pytest.raises(MultiAspectError, match="to have the same docno in each row"):
        calls[door](weights.iloc[WITHIN])


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
def test_rows_in_the_same_order_are_matched() -> None:
    """What must stay silent: sides without names, other names of all documents, and features with texts."""
    features = FEATURES[["first", "second"]]
    coefficients = fit(features, LABELS).estimator_.coef_
    hashed = FEATURES.assign(docno=[f"x{number}" for number in range(N)])
    forms = {
        "no names": features.to_numpy(),
        "other names": by_index(hashed),
        "numbers of rows": features.set_axis(range(500, 500 + N)),
        "queries": features.set_axis(pd.Index(LABELS["qid"])),
        "queries numbered": features.set_axis(pd.Index(pd.factorize(LABELS["qid"])[0], name="qid")),
        "frames sorted alike": by_index(FEATURES),
    }
    for form in forms.values():
        assert (fit(form, LABELS).estimator_.coef_ == coefficients).all()
    numbered = LABELS.assign(docno=RNG.permutation(N))  # not the numbers of rows
    assert (fit(features, numbered).estimator_.coef_ == coefficients).all()
    texts = features.assign(
        url=[f"u{number}" for number in RNG.permutation(N)], docid=RNG.permutation(N)
    )
    assert ma.AspectRanker(Plain(), MEASURE).fit(texts, LABELS).n_features_in_ == 4
    both = LABELS.set_index(COLUMNS, drop=False)
    assert (fit(by_index(FEATURES), both).estimator_.coef_ == coefficients).all()


def test_scores_of_splits_in_another_order() -> None:
    """Kind: Series name what is paired. The p-value was .894 instead of .0007."""
    splits = [f"split{number}" for number in range(10)]
    baseline = pd.Series(np.linspace(0.2, 0.8, 10), index=splits)
    scores = baseline + 0.05 + np.resize([0.001, -0.001], 10)
    expected = ma.paired_interval(scores, baseline, n_folds=5)
    assert expected["p_value"] < 0.001
    for shuffled in (scores[::-1], scores.sample(frac=1, random_state=1)):
        with pytest.raises(MultiAspectError, match="the scores of both in the same way"):
            ma.paired_interval(shuffled, baseline, n_folds=5)
    folds = pd.MultiIndex.from_product([[0, 1], range(5)], names=["repeat", "fold"])
    by_fold = [values.set_axis(folds) for values in (scores, baseline)]
    with pytest.raises(MultiAspectError, match="matched by position"):
        ma.paired_interval(by_fold[0].swaplevel()[::-1], by_fold[1], n_folds=5)
    with pytest.raises(MultiAspectError, match="matched by position"):
        ma.paired_interval(by_fold[0].sort_index(level="fold"), by_fold[1], n_folds=5)
    for level in ("split", None):  # the first or the last split failed
        one, other = (values.rename_axis(level) for values in (scores[1:9], baseline[:8]))
        with pytest.raises(
            MultiAspectError, match="expected scores and baseline to have the same split"
        ):
            ma.paired_interval(one, other, n_folds=4)
    with no_warnings():
        for other in (
            scores.to_numpy(),
            list(scores),
            scores.set_axis(range(10, 20)),
            scores.reset_index(drop=True),
        ):
            assert ma.paired_interval(other, baseline, n_folds=5).equals(expected)
        assert ma.paired_interval(by_fold[0], by_fold[1], n_folds=5).equals(expected)
        assert ma.paired_interval(by_fold[0].swaplevel(), by_fold[1], n_folds=5).equals(expected)
        models = [
            pd.MultiIndex.from_product([[model], splits], names=["model", "split"])
            for model in "ab"
        ]
        named = [
            values.set_axis(index) for values, index in zip((scores, baseline), models, strict=True)
        ]
        assert ma.paired_interval(*named, n_folds=5).equals(expected)


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
