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
    rows = ROWS.assign(docno=ROWS.groupby("qid").cumcount())
    expected = ma.ranking_score(ROWS, SCORES, measure=MEASURE)
    assert ma.ranking_score(rows, SCORES, measure=MEASURE) == expected
    assert ma.ranking_score(index_rows(rows), SCORES, measure=MEASURE) == expected
    # Nor are they if queries are not known.
    assert AspectRanker(Ridge(), TARGET).fit(X, rows.drop(columns="qid")).n_features_in_ == 3
    ma.aggregate_labels(rows.drop(columns="qid").set_index("docno"), TARGET)


@pytest.mark.parametrize("how", ["eval_set", "eval_fraction"])
def test_repeated_rows_in_evaluation_sets(how: str) -> None:
    ranker = AspectRanker(lightgbm(), TARGET, measure=MEASURE)
    first = ROWS["qid"] < "q06"
    train, held = index_rows(ROWS[first]), index_rows(ROWS[~first])
    sets = X[~first], held
    ranker.fit(np.r_[X[first], X[first]], pd.concat([train, train]), eval_set=[sets])
    features, labels = X[first], train
    more: dict[str, Any]
    if how == "eval_set":
        more = {"eval_set": [(np.r_[X[~first], X[~first]], pd.concat([held, held]))]}
    else:
        features, labels, more = (
            np.r_[X, X],
            pd.concat([index_rows(), index_rows()]),
            {"eval_fraction": 0.5},
        )
    with pytest.raises(MultiAspectError, match="expected one row per query and document"):
        ranker.fit(features, labels, **more)


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
    rows = pd.concat(
        [index_rows(), index_rows().iloc[:1].rename(index={ROWS.loc[0, "qid"]: "q99"})]
    )
    assert score_by("ranking_score", rows) > 0
    for qid, part in rows.groupby("qid"):  # query by query
        assert qid == "q99" or ma.ranking_score(part, np.arange(len(part)), measure=MEASURE) > 0
    assert ma.ranking_score(rows.iloc[-1:], [1.0], measure=MEASURE) >= 0


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
    # Of 10 judged documents, those that are not among the rows did not count: .836 instead of .514.
    expected = evaluate_rows(measure, ROWS, SCORES)
    values = ma.ranking_score(ROWS, SCORES, measure=measure, qrels=QRELS, per_query=True)
    assert values.to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)
    sign = -1 if ma.ranking_scorer(measure, aspects=ASPECTS)(Last(), X, index_rows()) < 0 else 1
    for labels in (ROWS, index_rows()):
        for door in DOORS:
            wanted = expected.mean() * (sign if door == "ranking_scorer" else 1)
            assert score_by(door, labels, SCORES, measure, qrels=QRELS) == pytest.approx(
                wanted, abs=1e-12
            )


@pytest.mark.parametrize("unjudged", [np.nan, 0])
def test_rows_without_judgments_are_not_relevant(unjudged: float) -> None:
    some = QRELS[QRELS["docno"].isin(ROWS["docno"][::3]) | ~QRELS["docno"].isin(ROWS["docno"])]
    rows = ROWS.merge(some, on=["qid", "docno"], how="left", suffixes=("_y", "")).fillna(unjudged)
    rows = rows[["qid", "docno", *GRADES]]
    assert rows["relevance"].isna().any() or not unjudged
    for measure in (MEASURE, Bpref, Judged @ 4, ma.MM(aspects=ASPECTS, base="AP")):
        expected = evaluate_rows(measure, rows, SCORES, some)
        value = ma.ranking_score(rows, SCORES, measure=measure, qrels=some, missing="lowest")
        assert value == pytest.approx(expected.mean(), abs=1e-12)


@pytest.mark.parametrize("aspect", [2, ma.Aspect([0, 1, 2], unjudged=[-1])], ids=str)
@pytest.mark.parametrize("measure", [ma.CAM, ma.CAM(base="Bpref")], ids=str)
def test_labels_below_the_scale_are_its_lowest_grade(measure: Any, aspect: Any) -> None:
    # Junk documents of TREC have negative labels, which learners refuse, so that rows have 0.
    qrels = pd.DataFrame(
        {"qid": "q", "docno": list("abcde"), "relevance": [2, -1, 1, 0, -2 + (aspect != 2)]}
    )
    rows = qrels.iloc[:4].assign(relevance=[2, 0, 1, 0])
    measure = measure(aspects={"relevance": aspect})
    values = {
        ma.ranking_score(labels, [1, 4, 2, 3], measure=measure, qrels=qrels, missing="lowest")
        for labels in (rows, rows.assign(relevance=qrels["relevance"]))
    }
    assert values == {evaluate_rows(measure, rows, [1, 4, 2, 3], qrels).item()}
    with pytest.raises(
        MultiAspectError, match="got the relevance label 1 for document b, query q, which the"
    ):
        ma.ranking_score(
            rows.replace({"relevance": {0: 1}}), [1, 4, 2, 3], measure=measure, qrels=qrels
        )


@pytest.mark.filterwarnings("ignore:effort has labels below its lowest grade")
def test_scales_on_which_lower_is_better_begin_at_the_highest_number() -> None:
    qrels = pd.DataFrame({"qid": "q", "docno": list("abc"), "effort": [0, 3, 1]})
    rows = qrels.assign(effort=[0, 2, 1])
    measure = ma.On(
        aspect="effort", base=nDCG, aspects={"effort": ma.Aspect(2, greater_is_better=False)}
    )
    assert ma.ranking_score(rows, [1, 3, 2], measure=measure, qrels=qrels) == pytest.approx(
        evaluate_rows(measure, rows, [1, 3, 2], qrels).item()
    )


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
    # The top grades are in another query.
    qrels = QRELS[(QRELS["qid"] == "q00") | (QRELS["credibility"] < 3)]
    rows = ROWS[(ROWS["qid"] > "q00") & (ROWS["credibility"] < 3)]
    scores, measure = RNG.permutation(len(rows)), ma.TOMA(axes="equal")
    with pytest.warns(MultiAspectWarning, match="scales"):
        value = ma.ranking_scorer(measure, qrels=qrels)(Last(), scores[:, None], rows)
    declared = ma.TOMA(axes="equal", aspects=ASPECTS)
    assert value == ma.ranking_scorer(declared, qrels=qrels)(Last(), scores[:, None], rows)


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
def test_rows_that_are_not_those_of_the_qrels(door: str) -> None:
    def score(rows: pd.DataFrame, **more: Any) -> float:
        return score_by(door, rows, SCORES, **{"qrels": QRELS, **more})

    with pytest.raises(MultiAspectError, match="qrels= needs the docno of every row"):
        score(ROWS.drop(columns="docno"))
    other = ROWS.assign(relevance=2 - ROWS["relevance"])
    with pytest.raises(
        MultiAspectError,
        match=r"expected y to have the labels of the qrels, got the relevance label",
    ):
        score(other)
    unknown = ROWS.assign(docno="x" + ROWS["docno"])
    with pytest.raises(
        MultiAspectError, match=r"which the qrels do not judge \(\d+ such rows in all\)"
    ):
        score(unknown)
    with pytest.raises(
        MultiAspectError, match="the qrels have no judgments for 12 of 12 queries of the rows, such"
    ):
        score(ROWS.assign(qid="x" + ROWS["qid"]))
    with pytest.raises(
        MultiAspectError, match="the qrels have no column for the aspect credibility"
    ):
        score(ROWS, qrels=QRELS.drop(columns="credibility"))
    with pytest.raises(MultiAspectError, match="expected one row per query and document"):
        score_by(door, pd.concat([ROWS, ROWS]), qrels=QRELS)


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
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    rows = ROWS.sort_values("qid", kind="stable")
    features, held = X[rows.index], (rows["qid"] > "q07").to_numpy()
    values, params = ma.aggregate_labels(rows[[*GRADES]], TARGET, "lightgbm")
    metric = ma.metric_for("lightgbm", MEASURE, rows[held], qrels=QRELS)
    train = library.Dataset(features[~held], values[~held], group=[RETRIEVED] * 8)
    valid = library.Dataset(features[held], values[held], group=[RETRIEVED] * 4, reference=train)
    fixed = {"metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 2}
    model = library.train({**params, **fixed}, train, 5, valid_sets=[valid], feval=metric)
    assert metric.history[0][-1] == ma.ranking_score(
        rows[held],
        model.predict(features[held]),
        measure=MEASURE,
        qrels=QRELS[QRELS["qid"] > "q07"],
    )


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
