"""Arrays and frames of predictions are scored as ir-measures scores runs."""

from __future__ import annotations

import re
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, nDCG
from sklearn.metrics import ndcg_score

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, MultiAspectError, On

GRADES = {"relevance": 2, "credibility": 3}
MEASURE = CAM(aspects=GRADES) @ 3
RNG = np.random.default_rng(5)
N = 60
#: Queries that are not sorted, of several lengths, with ids that are strings.
QID = RNG.choice([f"topic {q}" for q in range(7)], N)
Y = pd.DataFrame({"relevance": RNG.integers(0, 3, N), "credibility": RNG.integers(0, 4, N)})
PREDICTIONS = RNG.permutation(N) / 7


def by_ir_measures(measure: Any, per_query: bool = False) -> Any:
    ids = pd.DataFrame({"query_id": QID, "doc_id": [f"d{row}" for row in range(N)]})
    qrels, run = ids.join(Y), ids.assign(score=PREDICTIONS)
    if not isinstance(measure, ma.Measure):
        qrels = qrels.drop(columns="credibility")
    if per_query:
        return {
            metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)
        }
    return ir_measures.calc_aggregate([measure], qrels, run)[measure]


MEASURES = [
    MEASURE,
    TOMA(aspects=GRADES),
    MM(aspects=GRADES, base="AP"),
    ma.NLRE(aspects=GRADES),
    On(aspect="credibility", base=nDCG @ 5, aspects=GRADES),
    nDCG @ 5,
    AP(rel=2),
    ma.ESL(wanted=2),
]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_values_are_those_of_ir_measures(measure: Any) -> None:
    value = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=measure)
    assert isinstance(value, float)
    assert value == pytest.approx(by_ir_measures(measure), abs=1e-12)
    values = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=measure, per_query=True)
    assert values.to_dict() == pytest.approx(by_ir_measures(measure, per_query=True), abs=1e-12)
    assert list(values.index) == sorted(set(QID))
    assert values.name == str(measure)


def test_sorting_the_rows_changes_nothing() -> None:
    rows = np.argsort(QID, kind="stable")
    assert ma.ranking_score(
        Y.iloc[rows], PREDICTIONS[rows], qid=QID[rows], measure=MEASURE
    ) == pytest.approx(ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=MEASURE), abs=1e-15)


def test_one_query_is_as_scikit_learn_scores_it() -> None:
    gains = Y["relevance"].to_numpy()
    value = ma.ranking_score(gains, PREDICTIONS, qid=np.zeros(N), measure=nDCG @ 10)
    assert value == pytest.approx(ndcg_score([gains], [PREDICTIONS], k=10))


def test_frames_of_any_library_and_arrays_give_the_same() -> None:
    expected = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=MEASURE)

    def score(labels: Any, predictions: Any = PREDICTIONS, qid: Any = QID, **more: Any) -> Any:
        return ma.ranking_score(labels, predictions, qid=qid, measure=MEASURE, **more)

    assert score(Y.to_numpy(), aspects=GRADES) == expected
    assert (
        score(Y.to_numpy().tolist(), PREDICTIONS.tolist(), QID.tolist(), aspects=list(GRADES))
        == expected
    )
    assert score(Y.assign(mood=1), aspects=list(GRADES)) == expected
    assert score(Y.assign(qid=QID), qid=None) == expected
    assert score(Y.set_index(pd.Index(QID, name="qid")), qid=None) == expected
    assert score(Y, PREDICTIONS[:, None], pd.Series(QID)) == expected
    polars = pytest.importorskip("polars")
    assert (
        score(polars.from_dict(Y.to_dict("list")), polars.Series(PREDICTIONS), polars.Series(QID))
        == expected
    )
    pyarrow = pytest.importorskip("pyarrow")
    assert (
        score(pyarrow.Table.from_pandas(Y), pyarrow.array(PREDICTIONS), pyarrow.array(QID))
        == expected
    )


def test_arrow_tables_are_read_by_their_own_conversion() -> None:
    class Table:
        """The interface of PyArrow's tables."""

        columns = list(Y.columns)

        def __arrow_c_stream__(self) -> None: ...

        def to_pandas(self) -> pd.DataFrame:
            return Y

    expected = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=MEASURE)
    assert ma.ranking_score(Table(), PREDICTIONS, qid=QID, measure=MEASURE) == expected


def test_numbers_are_query_ids() -> None:
    qid = np.array([10, 9, 10, 9])
    values = ma.ranking_score(
        [1, 0, 0, 2], [0.1, 0.2, 0.3, 0.4], qid=qid, measure=nDCG, per_query=True
    )
    assert values.index.tolist() == ["10", "9"]
    assert values.tolist() == pytest.approx([1 / np.log2(3), 1])


def test_weights_of_queries() -> None:
    values = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=MEASURE, per_query=True)
    weights = pd.Series({query: float(position) for position, query in enumerate(values.index)})
    value = ma.ranking_score(
        Y, PREDICTIONS, qid=QID, measure=MEASURE, sample_weight=weights[QID].to_numpy()
    )
    assert value == pytest.approx(np.average(values, weights=weights), abs=1e-15)
    equal = ma.ranking_score(
        Y, PREDICTIONS, qid=QID, measure=MEASURE, sample_weight=np.full(N, 0.3)
    )
    assert equal == pytest.approx(values.mean(), abs=1e-15)


def test_lower_is_better_is_not_negated() -> None:
    value = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=ma.ESL(wanted=2))
    assert value > 0


def test_missing_labels() -> None:
    labels = Y.astype(float)
    labels.iloc[[2, 5], 1] = np.nan
    message = "y has no credibility label in 2 of 60 rows"
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.ranking_score(labels, PREDICTIONS, qid=QID, measure=MEASURE)
    lowest = ma.ranking_score(labels, PREDICTIONS, qid=QID, measure=MEASURE, missing="lowest")
    assert lowest == ma.ranking_score(labels.fillna(0), PREDICTIONS, qid=QID, measure=MEASURE)
    # A label of an aspect that is not evaluated may be missing.
    ma.ranking_score(labels, PREDICTIONS, qid=QID, measure=nDCG)


def test_rows_in_another_order_are_noticed() -> None:
    # Rows match by position: sorted predictions were evaluated against the labels of other
    # documents.
    predictions = pd.Series(PREDICTIONS).sort_values()
    with pytest.raises(MultiAspectError, match=r"index of y_score.*index of y_true"):
        ma.ranking_score(Y, predictions, qid=QID, measure=MEASURE)
    with pytest.raises(MultiAspectError, match="index of qid"):
        ma.ranking_score(Y, PREDICTIONS, qid=pd.Series(QID)[::-1], measure=MEASURE)
    expected = ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=MEASURE)
    assert ma.ranking_score(Y, predictions.reindex(Y.index), qid=QID, measure=MEASURE) == expected
    assert (
        ma.ranking_score(Y, pd.Series(PREDICTIONS, index=range(100, 160)), qid=QID, measure=MEASURE)
        == expected
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qid": None}, "ranking_score needs the query of every row: pass qid"),
        ({"qid": QID[:5]}, "qid: expected one value for each of 60 rows, got shape (5,)"),
        (
            {"y_score": PREDICTIONS[:5]},
            "predictions: expected one value for each of 60 rows, got shape (5,)",
        ),
        ({"y_score": np.full(N, np.nan)}, "60 of 60 predictions are NaN"),
        (
            {"y_score": np.ones((N, 2))},
            "predictions: expected one value for each of 60 rows, got shape (60, 2)",
        ),
        ({"y_score": ["high"] * N}, "predictions: expected numbers"),
        ({"sample_weight": ["high"] * N}, "sample_weight: expected numbers"),
        (
            {"y_true": Y.to_numpy(), "aspects": None, "measure": CAM},
            "y has 2 columns without names",
        ),
        ({"y_true": PREDICTIONS, "y_score": Y}, "Are y_true and y_score swapped?"),
        ({"y_true": Y[["relevance"]]}, "no column for the aspect credibility"),
        ({"y_true": Y[:0], "y_score": [], "qid": []}, "expected at least one row to evaluate CAM"),
        ({"measure": "P"}, "expected one measure, but 'P' expands to"),
        ({"missing": "zero"}, "missing"),
        ({"sample_weight": np.arange(N)}, "expected sample_weight to be constant within queries"),
        ({"sample_weight": np.zeros(N)}, "sample_weight: expected finite, non-negative weights"),
        ({"sample_weight": -np.ones(N)}, "sample_weight: expected finite, non-negative weights"),
        ({"sample_weight": np.ones(3)}, "sample_weight: expected one value for each of 60 rows"),
        ({"sample_weight": np.ones(N), "per_query": True}, "sample_weight has no effect"),
    ],
    ids=str,
)
def test_what_cannot_be_scored(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "y_true": Y,
        "y_score": PREDICTIONS,
        "qid": QID,
        "measure": MEASURE,
    } | changes
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.ranking_score(arguments.pop("y_true"), arguments.pop("y_score"), **arguments)


# -- rows of other queries, masks and complex numbers
# ----------------------------------------------------


def with_queries(values: Any, *queries: str) -> Any:
    index = pd.Index(queries, name="qid")
    return (
        pd.Series(values, index=index)
        if np.ndim(values) == 1
        else pd.DataFrame(values, index=index)
    )


LABELS = with_queries({"relevance": [2, 0, 0, 1]}, "a", "a", "b", "b")


def predictions_of(queries: str, index_name: str | None = "qid") -> pd.Series:
    """Predictions 0.9 and 0.1 of the two rows of query a and 0.1 and 0.9 of those of b, in an order."""
    values = {"aabb": [0.9, 0.1, 0.1, 0.9], "bbaa": [0.1, 0.9, 0.9, 0.1]}[queries]
    return pd.Series(values, index=pd.Index(list(queries), name=index_name))


def test_rows_in_another_order_are_found_by_repeated_elements_of_the_index() -> None:
    """LABELS has the relevance 2 and 0 of query a, and 0 and 1 of b, with the queries as index."""
    assert ma.ranking_score(LABELS, predictions_of("aabb"), measure="nDCG") == 1
    with pytest.raises(MultiAspectError, match=r"different order.*sort the rows"):
        ma.ranking_score(LABELS, predictions_of("bbaa"), measure="nDCG")
    without_index = predictions_of("bbaa").to_numpy()
    assert ma.ranking_score(LABELS, without_index, measure="nDCG") < 1


def test_rows_in_another_order_are_found_by_an_index_of_numbers_of_queries() -> None:
    labels = LABELS.set_axis([0, 0, 1, 1])
    predictions = predictions_of("bbaa").set_axis([1, 1, 0, 0])
    with pytest.raises(MultiAspectError, match="in a different order"):
        ma.ranking_score(labels, predictions, qid=["a", "a", "b", "b"], measure="nDCG")


@pytest.mark.parametrize("queries", ["abab", "abbb", "bbba"])
def test_rows_of_other_queries_than_the_labels(queries: str) -> None:
    column = LABELS.reset_index()
    for labels in (LABELS, column):
        with pytest.raises(
            MultiAspectError, match=r"in a different order|y_score to have the same qid in each row"
        ):
            ma.ranking_score(labels, with_queries([0.1, 0.9, 0.9, 0.1], *queries), measure="nDCG")


@pytest.mark.parametrize(("row", "aspect"), [(3, "relevance"), (0, "credibility")])
@pytest.mark.parametrize("form", ["array", "list of rows"])
def test_masked_labels_are_missing(form: str, row: int, aspect: str) -> None:
    """A label that a masked array of NumPy hides is as one that is NaN in a frame."""
    mask = np.zeros(Y.shape, dtype=bool)
    mask[row, list(Y).index(aspect)] = True
    masked = np.ma.array(Y.to_numpy(), mask=mask)
    labels = masked if form == "array" else list(masked)
    options: Any = {"qid": QID, "measure": MEASURE, "aspects": list(Y)}

    with pytest.raises(MultiAspectError, match=f"y has no {aspect} label in 1 of 60 rows"):
        ma.ranking_score(labels, PREDICTIONS, **options)

    value = ma.ranking_score(labels, PREDICTIONS, **options, missing="lowest")
    with_nan = Y.astype(float).mask(mask)
    assert value == ma.ranking_score(with_nan, PREDICTIONS, **options, missing="lowest")


def test_labels_of_a_masked_array_that_hides_nothing() -> None:
    options: Any = {"qid": QID, "measure": MEASURE, "aspects": list(Y)}
    masked = np.ma.array(Y.to_numpy(), mask=False)
    value = ma.ranking_score(masked, PREDICTIONS, **options)
    assert value == ma.ranking_score(Y, PREDICTIONS, **options)


def test_masked_scores_and_weights_are_missing() -> None:
    mask = np.arange(N) == 3
    for scores in (PREDICTIONS, np.arange(N)):
        with pytest.raises(MultiAspectError, match="1 of 60 predictions are NaN"):
            ma.ranking_score(Y, np.ma.array(scores, mask=mask), qid=QID, measure=MEASURE)
    weights = np.ma.array(np.ones(N), mask=mask)
    with pytest.raises(MultiAspectError, match="expected finite, non-negative"):
        ma.ranking_score(Y, PREDICTIONS, qid=QID, measure=MEASURE, sample_weight=weights)
    with pytest.raises(MultiAspectError, match="qid: expected"):
        ma.ranking_score(Y, PREDICTIONS, qid=np.ma.array(np.arange(N), mask=mask), measure=MEASURE)


def test_complex_scores_are_no_scores() -> None:
    for scores in (PREDICTIONS + 1j, pd.Series(PREDICTIONS + 1j), np.ma.array(PREDICTIONS + 1j)):
        with pytest.raises(MultiAspectError, match=r"predictions: expected.*got complex128"):
            ma.ranking_score(Y, scores, qid=QID, measure=MEASURE)
