"""Rows that name their documents: repeated and contradictory labels, and ideal rankings of all judged documents."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, RR, Bpref, Judged, P, R, nDCG
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from strategies import forget_warnings, no_warnings

import pt_multiaspect as ma
from pt_multiaspect import AspectRanker, MultiAspectError, MultiAspectWarning

GRADES = {"relevance": 2, "credibility": 3}
ASPECTS = ma.Aspects(GRADES)
MEASURE = ma.CAM(aspects=ASPECTS) @ 10
TARGET = ma.TOMA(aspects=ASPECTS, distance="manhattan", axes="gains")
RNG = np.random.default_rng(11)
#: Queries, their judged documents, and those that are retrieved, which are the rows of learners.
N_QUERIES, POOL, RETRIEVED = 12, 10, 4
N = N_QUERIES * POOL
#: Judgments of ten documents per query, of which a first stage has retrieved some, in any order.
QRELS = pd.DataFrame(
    {
        "qid": np.repeat([f"q{number:02d}" for number in range(N_QUERIES)], POOL),
        "docno": [f"d{number}" for number in RNG.permutation(N)],
        "relevance": RNG.integers(0, 3, N),
        "credibility": RNG.integers(0, 4, N),
    }
)
ROWS = (
    QRELS.groupby("qid")
    .sample(RETRIEVED, random_state=0)
    .sample(frac=1, random_state=1)
    .reset_index(drop=True)
)
SCORES = RNG.permutation(len(ROWS)) / 7
X = np.column_stack(
    [ROWS["relevance"] + RNG.normal(size=len(ROWS)), RNG.normal(size=len(ROWS)), SCORES]
)


def index_rows(rows: pd.DataFrame = ROWS) -> pd.DataFrame:
    return rows.set_index(["qid", "docno"])


class Last(BaseEstimator):
    """Predicts the last feature."""

    def fit(self, X: Any, y: Any) -> Last:
        return self

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, -1]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def score_by(
    door: str, rows: pd.DataFrame, scores: Any = None, measure: Any = MEASURE, **more: Any
) -> float:
    """Return the value of rows at one of the doors that evaluate rankings."""
    scores = np.arange(len(rows), dtype=float) if scores is None else scores
    if door == "ranking_score":
        return float(ma.ranking_score(rows, scores, measure=measure, **more))
    if door == "ranking_scorer":
        value: Any = ma.ranking_scorer(measure, **more)(Last(), np.asarray(scores)[:, None], rows)
        return float(value)
    if door == "metric_for":
        return float(
            ma.metric_for("lightgbm", measure, rows, **more)(np.zeros(len(rows)), scores)[1]
        )
    features = np.asarray(scores)[:, None]
    ranker = AspectRanker(Last(), TARGET, measure=measure).fit(features, rows, **more)
    return ranker.score(features, rows)


def lightgbm() -> Any:
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    return library.LGBMRanker(n_estimators=3, min_child_samples=2, verbose=-1, n_jobs=1)


DOORS = ("ranking_score", "ranking_scorer", "metric_for")


# -- repeated and contradictory rows
# ------------------------------------------------------------------------


def with_repeated_row(label: int | None = None) -> pd.DataFrame:
    rows = pd.concat([ROWS, ROWS.iloc[[3]]], ignore_index=True)
    if label is not None:
        rows.loc[len(ROWS), "relevance"] = label
    return rows


CONTRADICTORY = with_repeated_row(2 - int(ROWS.loc[3, "relevance"] == 2))
WHERE = f"document {ROWS.loc[3, 'docno']}, query {ROWS.loc[3, 'qid']}"


@pytest.mark.parametrize("as_index", [True, False], ids=["index", "columns"])
@pytest.mark.parametrize("door", [*DOORS, "score"])
def test_repeated_rows_are_not_evaluated(door: str, as_index: bool) -> None:
    # Each of them was a document of its own, and a relevant one counted twice.
    rows = with_repeated_row()
    message = (
        f"expected one row per query and document to evaluate rankings, got several for {WHERE}"
    )
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        score_by(door, index_rows(rows) if as_index else rows)
    # Without the names of documents, nothing is known.
    assert score_by(door, rows.drop(columns="docno")) > 0


@pytest.mark.parametrize("as_index", [True, False], ids=["index", "columns"])
@pytest.mark.parametrize("door", [*DOORS, "score", "fit", "fit a ranker", "aggregate_labels"])
def test_contradictory_labels_are_an_error_everywhere(door: str, as_index: bool) -> None:
    rows = index_rows(CONTRADICTORY) if as_index else CONTRADICTORY
    features = np.ones((len(rows), 1))
    calls: dict[str, Any] = {
        "fit": lambda: AspectRanker(Ridge(), TARGET).fit(features, rows),
        "fit a ranker": lambda: AspectRanker(lightgbm(), TARGET).fit(features, rows),
        "aggregate_labels": lambda: ma.aggregate_labels(rows, TARGET),
    }
    message = f"expected one label in column relevance for {WHERE}, got"
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        calls.get(door, lambda: score_by(door, rows))()


def test_labels_that_are_not_used_may_differ() -> None:
    rows = CONTRADICTORY.assign(assessor=range(len(CONTRADICTORY)))
    ranker = AspectRanker(Ridge(), ma.On(aspect="credibility", aspects={"credibility": 3}))
    assert ranker.fit(np.ones((len(rows), 1)), rows).n_features_in_ == 1


@no_warnings()
def test_oversampled_rows_are_learnt_silently() -> None:
    rows = pd.concat([index_rows(), index_rows().iloc[:10], index_rows().iloc[:10]])
    features = np.concatenate([X, X[:10], X[:10]])
    ranker = AspectRanker(Ridge(), TARGET).fit(features, rows)
    weights = np.r_[np.full(10, 3.0), np.ones(len(X) - 10)]
    weighted = Ridge().fit(X, ROWS["relevance"] + ROWS["credibility"], sample_weight=weights)
    assert ranker.predict(X) == pytest.approx(weighted.predict(X))
    assert len(ma.aggregate_labels(rows, TARGET).values) == len(rows)


def test_documents_of_several_queries_are_no_repeated_rows() -> None:
    """Each query has documents 0 to 3."""
    rows = ROWS.assign(docno=ROWS.groupby("qid").cumcount())
    expected = ma.ranking_score(ROWS, SCORES, measure=MEASURE)
    assert ma.ranking_score(rows, SCORES, measure=MEASURE) == expected
    assert ma.ranking_score(index_rows(rows), SCORES, measure=MEASURE) == expected


def test_documents_are_no_repeated_rows_if_queries_are_not_known() -> None:
    rows = ROWS.assign(docno=ROWS.groupby("qid").cumcount()).drop(columns="qid")
    ranker = AspectRanker(Ridge(), TARGET).fit(X, rows)
    assert ranker.n_features_in_ == X.shape[1]
    labels = ma.aggregate_labels(rows.set_index("docno"), TARGET).values
    assert len(labels) == len(rows)


def test_repeated_rows_may_be_trained_on_but_not_evaluated() -> None:
    """The rows of q00 to q05 train, those of q06 to q11 evaluate."""
    ranker = AspectRanker(lightgbm(), TARGET, measure=MEASURE)
    is_train = (ROWS["qid"] < "q06").to_numpy()
    X_train, y_train = X[is_train], index_rows(ROWS[is_train])
    X_held, y_held = X[~is_train], index_rows(ROWS[~is_train])
    X_train_twice, y_train_twice = np.r_[X_train, X_train], pd.concat([y_train, y_train])
    ranker.fit(X_train_twice, y_train_twice, eval_set=[(X_held, y_held)])
    X_held_twice, y_held_twice = np.r_[X_held, X_held], pd.concat([y_held, y_held])
    with pytest.raises(MultiAspectError, match="expected one row per query and document"):
        ranker.fit(X_train, y_train, eval_set=[(X_held_twice, y_held_twice)])


def test_repeated_rows_may_not_be_held_out() -> None:
    ranker = AspectRanker(lightgbm(), TARGET, measure=MEASURE)
    X_twice, y_twice = np.r_[X, X], pd.concat([index_rows(), index_rows()])
    with pytest.raises(MultiAspectError, match="expected one row per query and document"):
        ranker.fit(X_twice, y_twice, eval_fraction=0.5)


# -- queries of one row
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [*DOORS, "score"])
def test_row_numbers_are_no_queries(door: str) -> None:
    # All candidates had the same value, random ones too.
    rows = ROWS[["relevance", "credibility"]].set_axis(pd.RangeIndex(len(ROWS), name="qid"))
    values = set()
    for scores in (SCORES, -SCORES):
        forget_warnings()
        with pytest.warns(
            MultiAspectWarning, match=r"every query has one row.*Pass as qid the query of each row"
        ):
            value = score_by(door, rows, scores)
        values.add(value)
    assert len(values) == 1


@no_warnings()
def test_some_queries_of_one_row_are_silent() -> None:
    """A warning that rows are queries of their own is due if all are, and several."""
    first_qid = ROWS.loc[0, "qid"]
    single = index_rows().iloc[:1].rename(index={first_qid: "q99"})
    rows = pd.concat([index_rows(), single])
    assert score_by("ranking_score", rows) > 0
    for qid, rows_of_query in index_rows().groupby("qid"):  # query by query
        scores = np.arange(len(rows_of_query))
        assert ma.ranking_score(rows_of_query, scores, measure=MEASURE) > 0, qid
    assert ma.ranking_score(single, [1.0], measure=MEASURE) >= 0


@no_warnings()
def test_one_relevant_document_per_query_is_silent() -> None:
    known = ROWS[["qid", "docno"]].assign(relevance=(~ROWS["qid"].duplicated()).astype(int))
    for door in DOORS:
        assert 0 < score_by(door, known, SCORES, measure="nDCG@10") < 1


# -- ideal rankings of all judged documents
# -------------------------------------------------------------------


MEASURES = (
    MEASURE,
    ma.CAM @ 3,
    ma.TOMA(aspects=ASPECTS) @ 5,
    ma.MM(aspects=ASPECTS, base="AP"),
    ma.CAM(aspects=ASPECTS, base="R@3"),
    ma.uRBP(aspects=ASPECTS),
    ma.NLRE(aspects=ASPECTS),
    ma.On(aspect="credibility", base=nDCG @ 3, aspects=ASPECTS),
    nDCG @ 5,
    AP,
    R(rel=2) @ 3,
    RR,
    P @ 2,
    Bpref,
    Judged @ 4,
    ma.ESL(wanted=2),
)


def evaluate_rows(
    measure: Any, rows: pd.DataFrame, scores: Any, qrels: pd.DataFrame = QRELS
) -> pd.Series[float]:
    run = rows[["qid", "docno"]].assign(score=scores)
    judged = qrels[qrels["qid"].isin(rows["qid"])]
    values = ma.evaluate({"run": run}, judged, {"m": measure}, progress=False)
    return values.set_index("qid")["value"]


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore:.*scales.*inferred")
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_with_qrels_values_are_those_of_evaluate(measure: Any) -> None:
    """The six judged documents of a query that are not among its four rows count, as in the ideal."""
    expected = evaluate_rows(measure, ROWS, SCORES)
    values = ma.ranking_score(ROWS, SCORES, measure=measure, qrels=QRELS, per_query=True)
    assert values.to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)
    for rows in (ROWS, index_rows()):
        for door in DOORS:
            value = score_by(door, rows, SCORES, measure, qrels=QRELS)
            if door == "ranking_scorer" and str(measure) == "ESL(wanted=2)":
                value = -value  # scikit-learn maximises, and lower values of ESL are better
            assert value == pytest.approx(expected.mean(), abs=1e-12)


@pytest.mark.parametrize("unjudged_label", [np.nan, 0])
@pytest.mark.parametrize(
    "measure",
    [MEASURE, Bpref, Judged @ 4, ma.MM(aspects=ASPECTS, base="AP")],
    ids=str,
)
def test_rows_without_judgments_are_not_relevant(measure: Any, unjudged_label: float) -> None:
    """Whether their labels are missing or, as pt.ltr has it, 0."""
    is_retrieved = QRELS["docno"].isin(ROWS["docno"])
    stays_judged = QRELS["docno"].isin(ROWS["docno"][::3])  # every third row
    qrels = QRELS[stays_judged | ~is_retrieved]
    ids = ROWS[["qid", "docno"]]
    rows = ids.merge(qrels, on=["qid", "docno"], how="left").fillna(unjudged_label)
    expected = evaluate_rows(measure, rows, SCORES, qrels)
    value = ma.ranking_score(rows, SCORES, measure=measure, qrels=qrels, missing="lowest")
    assert value == pytest.approx(expected.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("scale", "label_of_e"),
    [(2, -2), (ma.Aspect([0, 1, 2], unjudged=[-1]), -1)],
    ids=["-2 is junk", "-1 is a code of unjudged documents"],
)
@pytest.mark.parametrize("measure", [ma.CAM, ma.CAM(base="Bpref")], ids=str)
def test_labels_below_the_scale_are_its_lowest_grade(
    measure: Any, scale: Any, label_of_e: int
) -> None:
    """Junk documents of TREC have negative labels, which learners refuse, so that rows may have 0."""
    qrels = pd.DataFrame(
        {"qid": "q", "docno": list("abcde"), "relevance": [2, -1, 1, 0, label_of_e]}
    )
    scores = [1, 4, 2, 3]
    measure = measure(aspects={"relevance": scale})
    as_judged = qrels[:4]
    as_learnt = as_judged.assign(relevance=[2, 0, 1, 0])
    expected = evaluate_rows(measure, as_learnt, scores, qrels).item()
    for rows in (as_judged, as_learnt):
        value = ma.ranking_score(rows, scores, measure=measure, qrels=qrels, missing="lowest")
        assert value == expected
    contradictory = as_judged.assign(relevance=[2, 1, 1, 1])
    with pytest.raises(
        MultiAspectError, match="got the relevance label 1 for document b, query q, which the"
    ):
        ma.ranking_score(contradictory, scores, measure=measure, qrels=qrels)


@pytest.mark.filterwarnings("ignore:effort has labels below its lowest grade")
def test_scales_on_which_lower_is_better_begin_at_the_highest_number() -> None:
    """The effort 3 of document b is worse than 2, the worst grade, so that the row may have 2."""
    qrels = pd.DataFrame({"qid": "q", "docno": list("abc"), "effort": [0, 3, 1]})
    rows = qrels.assign(effort=[0, 2, 1])
    effort = ma.Aspect(2, greater_is_better=False)
    measure = ma.On(aspect="effort", base=nDCG, aspects={"effort": effort})
    scores = [1, 3, 2]
    value = ma.ranking_score(rows, scores, measure=measure, qrels=qrels)
    assert value == pytest.approx(evaluate_rows(measure, rows, scores, qrels).item())


def test_tied_rows_have_their_expected_value() -> None:
    # One tie of a judged and an unjudged document.
    qrels = {"q": {"a": 2, "b": 0, "c": 1}}
    rows = pd.DataFrame({"qid": "q", "docno": ["a", "x", "b"], "relevance": [2, 0, 0]})
    orders = [
        ma.ranking_score(rows, scores, measure=nDCG, qrels=qrels)
        for scores in ([3, 2, 1], [2, 3, 1])
    ]
    tied = ma.ranking_score(rows, [2, 2, 1], measure=nDCG, qrels=qrels)
    assert orders[0] > orders[1]
    assert tied == pytest.approx(np.mean(orders), abs=1e-15)
    assert orders[0] == pytest.approx(2 / (2 + 1 / np.log2(3)))


def test_rows_of_all_judged_documents_have_the_same_value_with_and_without_qrels() -> None:
    scores = RNG.normal(size=N)
    expected = ma.ranking_score(QRELS, scores, measure=MEASURE)
    shuffled = QRELS.sample(frac=1, random_state=2)
    assert ma.ranking_score(QRELS, scores, measure=MEASURE, qrels=shuffled) == pytest.approx(
        expected, abs=1e-15
    )
    assert ma.ranking_score(QRELS, QRELS["relevance"], measure="nDCG", qrels=shuffled) == 1


def test_undeclared_scales_are_those_of_all_qrels() -> None:
    """Query q00 has no rows, but the only documents of the top grade of credibility, 3."""
    qrels = QRELS[(QRELS["qid"] == "q00") | (QRELS["credibility"] < 3)]
    rows = ROWS[(ROWS["qid"] != "q00") & (ROWS["credibility"] < 3)]
    scores = RNG.permutation(len(rows))[:, None]  # as the only feature of `Last`
    inferred = ma.TOMA(axes="equal")
    with pytest.warns(MultiAspectWarning, match="scales"):
        value = ma.ranking_scorer(inferred, qrels=qrels)(Last(), scores, rows)
    declared = ma.TOMA(axes="equal", aspects=ASPECTS)
    assert value == ma.ranking_scorer(declared, qrels=qrels)(Last(), scores, rows)


@no_warnings()
def test_folds_have_some_topics_of_the_qrels() -> None:
    scorer = ma.ranking_scorer({"CAM": MEASURE, "AP": AP}, qrels=QRELS)
    again = pickle.loads(pickle.dumps(scorer))
    ranker = AspectRanker(Ridge(), TARGET)
    for scoring in (scorer, again):
        scores = cross_validate(
            ranker, X, index_rows(), scoring=scoring, cv=GroupKFold(3), groups=ROWS["qid"]
        )
        for fold, (train, test) in enumerate(GroupKFold(3).split(X, groups=ROWS["qid"])):
            predicted = ranker.fit(X[train], index_rows().iloc[train]).predict(X[test])
            for name, measure in {"CAM": MEASURE, "AP": AP}.items():
                expected = evaluate_rows(measure, ROWS.iloc[test], predicted).mean()
                assert scores[f"test_{name}"][fold] == pytest.approx(expected, abs=1e-12)
    search = GridSearchCV(
        ranker,
        {"estimator__alpha": [1.0]},
        scoring=ma.ranking_scorer(MEASURE, qrels=QRELS),
        cv=GroupKFold(3),
    )
    search.fit(X, index_rows(), groups=ROWS["qid"])
    assert search.best_score_ == pytest.approx(scores["test_CAM"].mean())
    assert "qrels" not in repr(scorer)


def test_topics_without_rows_are_counted() -> None:
    rows, some = ROWS[ROWS["qid"] < "q05"], QRELS["qid"] < "q05"
    message = "7 of 12 queries of the qrels have no row and are left out of the mean"
    with pytest.warns(MultiAspectWarning, match=message):
        value = ma.ranking_score(rows, SCORES[: len(rows)], measure=MEASURE, qrels=QRELS)
    assert value == ma.ranking_score(rows, SCORES[: len(rows)], measure=MEASURE, qrels=QRELS[some])
    for door in ("ranking_scorer", "metric_for"):
        assert score_by(door, rows, SCORES[: len(rows)], qrels=QRELS) == pytest.approx(value)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("rows", "qrels", "message"),
    [
        (ROWS.drop(columns="docno"), QRELS, "qrels= needs the docno of every row"),
        (
            ROWS.assign(relevance=2 - ROWS["relevance"]),
            QRELS,
            r"expected y to have the labels of the qrels, got the relevance label",
        ),
        (
            ROWS.assign(docno="x" + ROWS["docno"]),
            QRELS,
            r"which the qrels do not judge \(\d+ such rows in all\)",
        ),
        (
            ROWS.assign(qid="x" + ROWS["qid"]),
            QRELS,
            "the qrels have no judgments for 12 of 12 queries of the rows, such",
        ),
        (
            ROWS,
            QRELS.drop(columns="credibility"),
            "the qrels have no column for the aspect credibility",
        ),
        (pd.concat([ROWS, ROWS]), QRELS, "expected one row per query and document"),
    ],
    ids=[
        "no documents",
        "other labels",
        "other documents",
        "other queries",
        "no labels of an aspect",
        "repeated rows",
    ],
)
def test_rows_that_are_not_those_of_the_qrels(
    rows: pd.DataFrame, qrels: pd.DataFrame, message: str, door: str
) -> None:
    with pytest.raises(MultiAspectError, match=message):
        score_by(door, rows, qrels=qrels)


def test_qrels_in_other_forms() -> None:
    expected = ma.ranking_score(ROWS, SCORES, measure=MEASURE, qrels=QRELS)
    nested: dict[str, Any] = {}
    for row in QRELS.itertuples():
        nested.setdefault(row.qid, {})[row.docno] = {name: getattr(row, name) for name in GRADES}
    pt_columns = QRELS.rename(columns={"relevance": "label"})
    ir_columns = QRELS.rename(columns={"qid": "query_id", "docno": "doc_id"})
    for qrels in (nested, pt_columns, ir_columns, ma.Judgments(QRELS), QRELS.assign(mood=1)):
        assert ma.ranking_score(ROWS, SCORES, measure=MEASURE, qrels=qrels) == expected
    named = ROWS.rename(columns={"docno": "doc_id"})
    assert ma.ranking_score(named, SCORES, measure=MEASURE, qrels=QRELS) == expected
    polars = pytest.importorskip("polars")
    frame = polars.from_dict(ROWS.to_dict("list"))
    assert (
        ma.ranking_score(
            frame, SCORES, measure=MEASURE, qrels=polars.from_dict(QRELS.to_dict("list"))
        )
        == expected
    )


def test_lightgbm_evaluates_the_metric_with_qrels() -> None:
    """The last value of its history is that of the model on the four queries held out, q08 to q11."""
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    rows = ROWS.sort_values("qid", kind="stable")
    features = X[rows.index]
    is_held = (rows["qid"] >= "q08").to_numpy()
    labels, params = ma.aggregate_labels(rows[["relevance", "credibility"]], TARGET, "lightgbm")
    metric = ma.metric_for("lightgbm", MEASURE, rows[is_held], qrels=QRELS)
    train = library.Dataset(features[~is_held], labels[~is_held], group=[RETRIEVED] * 8)
    held = library.Dataset(
        features[is_held], labels[is_held], group=[RETRIEVED] * 4, reference=train
    )
    params = {**params, "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}
    model = library.train(params, train, 5, valid_sets=[held], feval=metric)
    (values_by_iteration,) = metric.history
    expected = ma.ranking_score(
        rows[is_held],
        model.predict(features[is_held]),
        measure=MEASURE,
        qrels=QRELS[QRELS["qid"] >= "q08"],
    )
    assert values_by_iteration[-1] == expected


def test_a_weighted_mean_with_qrels() -> None:
    values = ma.ranking_score(ROWS, SCORES, measure=MEASURE, qrels=QRELS, per_query=True)
    weights = pd.Series(np.arange(1.0, N_QUERIES + 1), index=values.index)
    value = ma.ranking_score(
        ROWS, SCORES, measure=MEASURE, qrels=QRELS, sample_weight=weights[ROWS["qid"]].to_numpy()
    )
    assert value == pytest.approx(np.average(values, weights=weights))


def test_what_the_ideal_is_without_qrels_is_stated() -> None:
    for function in (ma.ranking_score, ma.ranking_scorer, ma.metric_for, AspectRanker):
        assert function.__doc__ is not None
        assert "those of the rows" in " ".join(function.__doc__.split())
