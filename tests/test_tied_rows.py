"""Tied rows of measures that have no expected value over ties: sorted by docno, or by their query and labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, RR, Bpref
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect.model_selection.row_rankings import RowRankings

ASPECTS = ma.Aspects({"relevance": 2, "credibility": 3})
RNG = np.random.default_rng(8)
N_QUERIES, DEPTH = 12, 10
N = N_QUERIES * DEPTH
#: Rows of which many are tied, and of these, many have equal labels.
ROWS = pd.DataFrame(
    {
        "qid": np.repeat([f"q{number}" for number in range(N_QUERIES)], DEPTH),
        "docno": [f"d{number}" for number in RNG.permutation(N)],
        "relevance": RNG.integers(0, 3, N),
        "credibility": RNG.integers(0, 4, N),
        "score": RNG.integers(0, 3, N) / 7,
    }
)
LABELS = ["relevance", "credibility"]
QRELS = ROWS.drop(columns="score")
RUN = ROWS[["qid", "docno", "score"]]

#: Measures without expected value over ties, of this package and of ir-measures.
MEASURES = [
    RR, AP(rel=2), Bpref, "ESL", ma.MM(aspects=ASPECTS), ma.MM(aspects=ASPECTS, base="AP") @ 5,
    ma.CAM(aspects=ASPECTS, base="AP"), ma.NLRE(aspects=ASPECTS),
    ma.On(aspect="credibility", base="RR", aspects=ASPECTS),
]  # fmt: skip


class Scores(BaseEstimator):
    """Predicts the column score, or the first one."""

    def __init__(self, sign: int = 1) -> None:
        self.sign = sign

    def fit(self, X: Any, y: Any) -> Scores:
        return self

    def predict(self, X: Any) -> Any:
        column = X["score"] if hasattr(X, "columns") else X[:, 0]
        return self.sign * np.asarray(column)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def labels_of(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return labels without the names of documents, or with these names in the index."""
    return rows.set_index(["qid", *names])[LABELS]


def features_of(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    return rows.set_index(["qid", *names])[["score"]]


def search(X: Any, y: Any, measure: Any) -> float:
    """Return the value of the only setting of a search, the mean over three folds."""
    groups = y.index.get_level_values("qid")
    scorer = ma.ranking_scorer(measure)
    found = GridSearchCV(
        Scores(), {"sign": [1]}, scoring=scorer, cv=GroupKFold(3), error_score="raise"
    )
    return float(found.fit(X, y, groups=groups).best_score_) * (-1 if measure == "ESL" else 1)


def score(X: Any, y: Any, measure: Any) -> float:
    value = ma.ranking_scorer(measure)(Scores(), X, y)
    assert isinstance(value, float)
    return -value if measure == "ESL" else value


def metric(X: Any, y: Any, measure: Any) -> float:
    return float(ma.metric_for("lightgbm", measure, y)(np.zeros(len(y)), X["score"].to_numpy())[1])


DOORS: dict[str, Callable[[Any, Any, Any], float]] = {
    "ranking_score": lambda X, y, measure: float(ma.ranking_score(y, X["score"], measure=measure)),
    "ranking_scorer": score,
    "GridSearchCV": search,
    "metric_for": metric,
}


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("door", DOORS)
@no_warnings()
def test_the_order_of_rows_does_not_matter(door: str, measure: Any) -> None:
    """Kind: values that depend on the order of rows. Seven shuffles gave RR of .62 to .78."""
    expected = DOORS[door](features_of(ROWS), labels_of(ROWS), measure)
    for seed in range(3):
        rows = ROWS.sample(frac=1, random_state=seed)
        assert DOORS[door](features_of(rows), labels_of(rows), measure) == pytest.approx(
            expected, abs=1e-12
        )


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_other_queries_do_not_matter(measure: Any) -> None:
    """Kind: values of queries that depend on others. Random keys were drawn for all rows at once."""
    every = ma.ranking_score(
        labels_of(ROWS), ROWS["score"].to_numpy(), measure=measure, per_query=True
    )
    assert isinstance(every, pd.Series)
    for queries in (["q3"], ["q11", "q0", "q7"]):
        rows = ROWS[ROWS["qid"].isin(queries)]
        values = ma.ranking_score(
            labels_of(rows), rows["score"].to_numpy(), measure=measure, per_query=True
        )
        assert isinstance(values, pd.Series)
        assert values.to_dict() == pytest.approx(every[sorted(queries)].to_dict(), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@no_warnings()
def test_what_the_measure_does_not_see_does_not_matter(measure: Any) -> None:
    """Kind: rows that are equal to a measure. They differ in other columns, or in the form of labels or ids."""
    rows = ROWS.assign(qid=ROWS["qid"].str[1:])
    scores = ROWS["score"].to_numpy()

    def value(y: pd.DataFrame, qid: Any) -> Any:
        return ma.ranking_score(y, scores, qid=qid, measure=measure, aspects=ASPECTS)

    expected = value(rows[LABELS], rows["qid"])
    noise = np.random.default_rng(0).normal(size=N)
    assert value(rows[LABELS].assign(noise=noise), rows["qid"]) == expected
    assert value(rows[LABELS[::-1]].astype(float), rows["qid"].astype(int)) == expected
    negative_zero = rows[LABELS].astype(float).replace(0.0, -0.0)
    assert value(negative_zero, rows["qid"]) == expected
    assert value(rows[LABELS], rows["qid"].to_numpy()) == expected


def test_missing_labels_are_equal() -> None:
    """Tied rows without a label are in the same order, whatever the bits of their NaN."""
    labels = ROWS[LABELS].astype(float).mask(ROWS["relevance"] == 1)
    # Half of the missing labels get a NaN of other bits, as computed ones may have.
    bits = np.array([0xFFF8000000000001], dtype=np.uint64)
    (other_nan,) = bits.view(np.float64)
    is_even = labels.index % 2 == 0
    labels.loc[is_even & labels["relevance"].isna(), "relevance"] = other_nan

    values = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(N)
        shuffled = ROWS.iloc[order]
        value = ma.ranking_score(
            labels.iloc[order],
            shuffled["score"].to_numpy(),
            qid=shuffled["qid"].to_numpy(),
            measure=Bpref,
            missing="lowest",
        )
        values.append(value)
    assert values == pytest.approx([values[0]] * 4, abs=1e-12)


NAMED: dict[str, tuple[Any, Any]] = {
    "level of y": (features_of(ROWS), labels_of(ROWS, "docno")),
    "level of X": (features_of(ROWS, "docno"), labels_of(ROWS)),
    "levels of both": (features_of(ROWS, "docno"), labels_of(ROWS, "docno")),
    "column of y": (features_of(ROWS), ROWS.set_index("qid")[["docno", *LABELS]]),
    "column of X": (ROWS.set_index("qid")[["docno", "score"]], labels_of(ROWS)),
    "doc_id": (features_of(ROWS), labels_of(ROWS, "docno").rename_axis(["qid", "doc_id"])),
}


@pytest.mark.parametrize("measure", MEASURES, ids=str)
@pytest.mark.parametrize("form", NAMED)
@no_warnings()
def test_named_documents_are_ranked_as_in_evaluate(form: str, measure: Any) -> None:
    """If X or y names the documents, ties are in the order of the names, descending, at all doors."""
    X, y = NAMED[form]  # names in a column, or a level of the index, of X, of y or of both
    values = ma.evaluate({"run": RUN}, QRELS, measure, progress=False)["value"]
    expected = pytest.approx(values.mean(), abs=1e-12)
    assert score(X, y, measure) == expected
    order = np.random.default_rng(1).permutation(N)
    assert score(X.iloc[order], y.iloc[order], measure) == expected
    assert search(X, y, measure) == expected  # the mean of folds, which have equal sizes
    if form != "column of X":  # ranking_score takes predictions, a series without other columns
        assert ma.ranking_score(y, X["score"], measure=measure) == expected
    if "of X" not in form:  # metric_for takes y alone
        assert metric(X, y, measure) == expected


@pytest.mark.parametrize("measure", [RR, ma.MM(aspects=ASPECTS)], ids=str)
@pytest.mark.parametrize("named", ["y", "X"])
@no_warnings()
def test_named_documents_with_qrels(named: str, measure: Any) -> None:
    """Rows may be a part of the documents that the qrels judge."""
    first_six = ROWS.groupby("qid").head(6)
    if named == "y":
        X, y = features_of(first_six), labels_of(first_six, "docno")
    else:
        X, y = features_of(first_six, "docno"), labels_of(first_six)
    value = ma.ranking_scorer(measure, qrels=QRELS)(Scores(), X, y)
    run = first_six[["qid", "docno", "score"]]
    expected = ma.evaluate({"run": run}, QRELS, measure, progress=False)["value"]
    assert value == pytest.approx(expected.mean(), abs=1e-12)


def test_documents_that_only_the_features_name() -> None:
    repeated = pd.concat([ROWS, ROWS.iloc[[3]]])
    with pytest.raises(ma.MultiAspectError, match="expected one row per query and document"):
        score(features_of(repeated, "docno"), labels_of(repeated), RR)
    scores = features_of(ROWS, "docno")["score"].iloc[1:]
    with pytest.raises(
        ma.MultiAspectError, match=r"docno: expected one value for each of 120 rows, got shape"
    ):
        ma.ranking_score(labels_of(ROWS), scores, measure=RR)


def booster(library: str) -> Any:
    """Return a ranker of few leaves, whose predictions have many ties."""
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    if library == "lightgbm":
        return module.LGBMRanker(
            n_estimators=3, num_leaves=2, min_child_samples=2, verbose=-1, n_jobs=1
        )
    if library == "xgboost":
        return module.XGBRanker(n_estimators=3, max_depth=1, n_jobs=1, tree_method="exact")
    return module.CatBoostRanker(
        n_estimators=3, depth=1, thread_count=1, verbose=0, allow_writing_files=False
    )


@pytest.mark.parametrize("names", [(), ("docno",)], ids=["without names", "with names"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_ties_in_training(library: str, names: tuple[str, ...]) -> None:
    """The values by which training stops do not depend on the order of rows that are tied."""
    features = np.column_stack([ROWS["score"], ROWS["credibility"] > 1]).astype(float)
    training, validation = np.arange(0, 60), np.arange(60, N)
    measure = ma.MM(aspects=ASPECTS, base="AP")
    histories = []
    for order in (
        validation,
        np.random.default_rng(1).permutation(validation),
        np.random.default_rng(2).permutation(validation),
    ):
        rows = ROWS.iloc[order]
        labels = labels_of(rows, *names)  # with the names of the documents, or without
        ranker = ma.AspectRanker(booster(library), ma.TOMA(aspects=ASPECTS), measure=measure)
        ranker.fit(
            features[training],
            labels_of(ROWS.iloc[training], *names),
            eval_set=[(features[order], labels)],
        )
        (history,) = ranker.evals_result_["valid_0"].values()
        histories.append(history)

        predictions = ranker.predict(features[order])
        assert len(np.unique(predictions)) < 10  # many are tied
        score_of_model = ma.ranking_score(labels, predictions, measure=measure)
        assert history[-1] == pytest.approx(score_of_model, abs=1e-12)
        if names:
            run = rows[["qid", "docno"]].assign(score=predictions)
            qrels = QRELS[QRELS["qid"].isin(rows["qid"])]
            values = ma.evaluate({"run": run}, qrels, measure, progress=False)["value"]
            assert score_of_model == pytest.approx(values.mean(), abs=1e-12)
    assert histories[1] == pytest.approx(histories[0], abs=1e-12)
    assert histories[2] == pytest.approx(histories[0], abs=1e-12)


@pytest.mark.parametrize("n_relevant", [1, 5])
def test_the_order_is_random(n_relevant: int) -> None:
    """The order of tied rows tells nothing of labels: means over many queries are the expected values."""
    n_queries, n_documents = 3000, 10
    labels_of_query = [1] * n_relevant + [0] * (n_documents - n_relevant)
    labels = np.tile(labels_of_query, n_queries)
    qid = np.repeat(np.arange(n_queries), n_documents)
    all_tied = np.zeros(n_queries * n_documents)

    with pytest.warns(ma.MultiAspectWarning, match="they rank nothing"):
        value = ma.ranking_score(labels, all_tied, qid=qid, measure=RR)

    expected_rr = 0.0
    for first_rank in range(1, n_documents + 1):
        # The other relevant documents are at some of the ranks below the first one.
        n_orders = math.comb(n_documents - first_rank, n_relevant - 1)
        probability = n_orders / math.comb(n_documents, n_relevant)
        expected_rr += probability / first_rank
    assert value == pytest.approx(expected_rr, abs=0.02)


@pytest.mark.parametrize(
    ("scores", "measure"),
    [
        # CAM of nDCG has an expected value over the orders of tied rows.
        (ROWS["score"].to_numpy(), ma.CAM(aspects=ASPECTS) @ 5),
        (np.arange(N), RR),
    ],
    ids=["an expected value", "no ties"],
)
def test_ties_are_broken_only_where_a_measure_depends_on_their_order(
    scores: Any, measure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        pytest.fail("ties were broken")

    monkeypatch.setattr(RowRankings, "break_ties", fail)
    ma.ranking_score(labels_of(ROWS), scores, measure=measure)


# -- counts
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.parametrize("measure", ["NumRel", "NumQ", "NumRet", "NumRet(rel=2)", "NumRelRet"])
def test_counts_are_sums_in_training(measure: str, library: str) -> None:
    """Measures whose aggregate is a sum over topics have that sum as their value in training, too."""
    values = ma.evaluate({"run": RUN}, QRELS, measure, progress=False)
    expected = ma.aggregate(values)[measure].item()
    # All rows are retrieved, so that counts do not depend on the scores.
    labels, scores = labels_of(ROWS, "docno"), np.arange(N, dtype=float)
    assert ma.ranking_score(labels, scores, measure=measure) == expected
    _name, value, _is_higher_better = ma.metric_for("lightgbm", measure, labels)(
        np.zeros(N), scores
    )
    assert value == expected

    features = np.column_stack([ROWS["score"], np.random.default_rng(0).normal(size=N)])
    training_rows = ROWS.assign(qid="t" + ROWS["qid"])  # as if they were of other queries
    ranker = ma.AspectRanker(booster(library), ma.TOMA(aspects=ASPECTS), measure=measure)
    ranker.fit(features, labels_of(training_rows, "docno"), eval_set=[(features, labels)])
    (history,) = ranker.evals_result_["valid_0"].values()
    assert set(history) == {expected}
    assert ranker.score(features, labels) == expected
