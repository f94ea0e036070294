"""Tensors of PyTorch and structured arrays as labels, queries, predictions and features of learners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

ASPECTS = ma.Aspects({"relevance": 2, "credibility": 3})
CAM = ma.CAM(aspects=ASPECTS) @ 5
RNG = np.random.default_rng(3)
QID = np.repeat(np.arange(8), 5)
X = RNG.normal(size=(40, 3))
#: Numbers that bfloat16 has.
SCORE = RNG.permutation(40) / 64
Y = np.column_stack([RNG.integers(0, 3, 40), RNG.integers(0, 4, 40)])


class Tensor:
    """Numbers behind the protocol of PyTorch's tensors."""

    def __init__(self, values: Any, *, grad: bool = False, bfloat16: bool = False, cuda: bool = False) -> None:
        self._values, self._grad, self._bfloat16, self._cuda = np.asarray(values), grad, bfloat16, cuda
        self.shape, self.ndim = self._values.shape, self._values.ndim

    def __len__(self) -> int:
        return len(self._values)

    def _with(self, **changes: bool) -> Tensor:
        state = {"grad": self._grad, "bfloat16": self._bfloat16, "cuda": self._cuda}
        return Tensor(self._values, **{**state, **changes})

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self._values[key], grad=self._grad, bfloat16=self._bfloat16, cuda=self._cuda)

    def __iter__(self) -> Any:
        return (self[index] for index in range(len(self)))

    def detach(self) -> Tensor:
        return self._with(grad=False)

    def cpu(self) -> Tensor:
        return self._with(cuda=False)

    def float(self) -> Tensor:
        return self._with(bfloat16=False)

    def numpy(self) -> Any:
        if self._grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if self._cuda:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        if self._bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy().astype(dtype or self._values.dtype)


FORMS: dict[str, Callable[[Any], Any]] = {
    "tensor": Tensor,
    "with gradient": lambda values: Tensor(values, grad=True),
    "bfloat16": lambda values: Tensor(values, bfloat16=True, grad=True, cuda=True),
    "one column": lambda values: Tensor(np.reshape(values, (len(values), -1)), bfloat16=True),
    "list": lambda values: list(Tensor(values, grad=True)),
}


class _Net:
    """A model that predicts tensors."""

    def __init__(self, form: Callable[[Any], Any]) -> None:
        self.form = form

    def predict(self, X: Any) -> Any:
        return self.form(SCORE)


def _fit(form: Callable[[Any], Any]) -> Any:
    weight = np.where(SCORE > 0.3, 2.0, 1.0)
    ranker = ma.AspectRanker(Ridge(), target="relevance")
    ranker.fit(form(X), form(Y[:, 0]), qid=form(QID), sample_weight=form(weight))
    return [*ranker.predict(form(X)), ranker.score(form(X), form(Y[:, 0]), qid=form(QID))]


DOORS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "ranking_score": lambda form: ma.ranking_score(
        form(Y), form(SCORE), qid=form(QID), measure=CAM, aspects=ASPECTS
    ),
    "ranking_scorer": lambda form: ma.ranking_scorer(CAM, aspects=ASPECTS)(_Net(form), X, form(Y), qid=form(QID)),
    "metric_for": lambda form: ma.metric_for("lightgbm", CAM, form(Y), form(QID), aspects=ASPECTS)(
        Y[:, 0], SCORE
    )[1],
    "aggregate_labels": lambda form: ma.aggregate_labels(form(Y[:, 0]), "relevance", qid=form(QID)).values,
    "RepeatedQueryKFold": lambda form: next(ma.RepeatedQueryKFold(2, 1).split(X, groups=form(QID)))[1],
    "AspectRanker": _fit,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", DOORS)
def test_tensors_are_their_numbers(door: str, form: str) -> None:
    expected = DOORS[door](np.asarray)
    assert DOORS[door](FORMS[form]) == pytest.approx(expected)


def test_an_array_of_queries_in_one_column_contradicts_the_index() -> None:
    labels = pd.DataFrame(Y, columns=list(ASPECTS), index=pd.Index(QID, name="qid"))
    other = np.where(QID == 0, 1, QID)[:, None]
    for qid in (other, Tensor(other)):
        with pytest.raises(MultiAspectError, match=r"expected.*index.*qid"):
            ma.ranking_score(labels, SCORE, qid=qid, measure=CAM)
    ranker = ma.AspectRanker(Ridge(), target="relevance").fit(X[:20], Y[:20, 0], qid=QID[:20])
    with pytest.warns(ma.MultiAspectWarning, match=r"such as 2, were among those that AspectRanker was fitted on"):
        ranker.score(X[10:], Y[10:, 0], qid=Tensor(QID[10:, None]))


STRUCTURED = np.array([tuple(row) for row in Y], dtype=[("relevance", int), ("credibility", float)])


@pytest.mark.parametrize("form", [np.asarray, lambda array: array.view(np.recarray)], ids=["array", "recarray"])
def test_fields_of_structured_arrays_are_aspects(form: Any) -> None:
    labels = form(STRUCTURED)
    expected = ma.ranking_score(Y, SCORE, qid=QID, measure=CAM, aspects=ASPECTS)
    assert ma.ranking_score(labels, SCORE, qid=QID, measure=CAM) == expected
    assert ma.ranking_score(labels[["credibility", "relevance"]], SCORE, qid=QID, measure=CAM) == expected
    assert ma.ranking_score(labels, SCORE, qid=QID, measure="CAM@5", aspects=ASPECTS) == expected
    with_qid = np.rec.fromarrays([QID, *Y.T], names="qid,relevance,credibility")
    assert ma.ranking_score(with_qid, SCORE, measure=CAM) == expected
    frame = pd.DataFrame(Y, columns=list(ASPECTS))
    ranker, other = (ma.AspectRanker(Ridge(), target=CAM).fit(X, y, qid=QID) for y in (labels, frame))
    assert (ranker.predict(X) == other.predict(X)).all()
    assert ranker.score(X, labels, qid=QID) == other.score(X, frame, qid=QID)
    values, expected = (ma.aggregate_labels(y, CAM, qid=QID).values for y in (labels, frame))
    assert (values == expected).all()


def test_structured_predictions_and_queries_have_one_value_per_row() -> None:
    for arguments in ({"y_score": STRUCTURED, "qid": QID}, {"y_score": SCORE, "qid": STRUCTURED}):
        with pytest.raises(MultiAspectError, match=r"expected one value for each of 40 rows, got shape \(40, 2\)"):
            ma.ranking_score(Y, measure=CAM, aspects=ASPECTS, **arguments)
