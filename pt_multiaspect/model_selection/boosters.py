"""Measures as evaluation metrics of gradient boosting libraries, for early stopping."""

from __future__ import annotations

from typing import Any

import numpy as np
from ir_measures import Measure
from numpy.typing import NDArray

from ..aspects.parameter import AspectSpec, parse_aspects
from ..errors import MultiAspectError
from .labels import LabelledRows
from .scorer import RankingScorer

__all__ = ["lightgbm_metric", "xgboost_metric"]


class _Metric:
    """A measure on a fixed validation set."""

    def __init__(
        self,
        measure: Measure | str,
        Y_valid: object,
        qid_valid: object,
        aspects: object,
        name: str | None,
        check_labels: bool,
    ):
        spec: AspectSpec = parse_aspects(aspects)
        scorer = RankingScorer(measure, spec, "predict")
        self._rows = LabelledRows(Y_valid, qid_valid, spec, scorer.measure)
        self._measure = scorer.measure_on(self._rows)
        self._check_labels = check_labels
        self._checked: NDArray[np.float64] | None = None
        # Early stopping looks metrics up by name; LightGBM < 4.6 uses the part after the last blank.
        self.__name__ = "".join((name or str(scorer.measure)).split())

    def _value(self, scores: Any, labels: Any = None, group: Any = None) -> float:
        scores = np.asarray(scores)
        if len(scores) != len(self._rows):
            raise MultiAspectError(
                f"metric {self.__name__}: expected predictions for its validation set of {len(self._rows)} rows, "
                f"got {len(scores)}; evaluate on that set only, not on the training set"
            )
        sizes = self._rows.group_sizes
        if group is not None and list(group) != sizes:
            raise MultiAspectError(
                f"metric {self.__name__}: expected {len(sizes)} queries with {_shown(sizes)} rows, got "
                f"{len(group)} with {_shown(list(group))}; create the metric from the rows of the evaluation set, "
                "in the same order"
            )
        if self._check_labels and labels is not None:
            self._check(np.asarray(labels, dtype=np.float64))
        return self._rows.evaluate(self._measure, scores)

    def _check(self, labels: NDArray[np.float64]) -> None:
        """Raise an error if the labels of the evaluation set show that its rows are in another order."""
        if self._checked is not None and np.array_equal(labels, self._checked):
            return
        if not self._rows.agree_with(labels, self._measure):
            raise MultiAspectError(
                f"the labels of the evaluation set do not match those of the metric {self.__name__}: create the "
                "metric from the rows of the evaluation set, in the same order. If the rows are the same and the "
                "model is trained on labels of other aspects, pass check_labels=False"
            )
        self._checked = labels


def _shown(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")


class _LightGBMMetric(_Metric):
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[str, float, bool]:
        # lgb.train calls with (predictions, Dataset), its ranker with (labels, predictions, weight, group).
        if hasattr(second, "get_label"):
            predictions, labels, group = first, second.get_label(), getattr(second, "get_group", lambda: None)()
        else:
            predictions, labels = second, first
        return self.__name__, self._value(predictions, labels, group), not self._measure.lower_aggregate_is_better


class _XGBoostMetric(_Metric):
    def __init__(self, *given: Any):
        super().__init__(*given)
        # XGBoost prints "data-metric:value data-metric:value" and early stopping reads it back.
        self.__name__ = self.__name__.replace(":", "=")

    def __call__(self, predictions: Any, data: Any) -> tuple[str, float]:
        if not hasattr(data, "get_label"):
            raise MultiAspectError(
                "XGBoost's scikit-learn wrapper calls a ranking metric once per query, with the labels and "
                "predictions of that query only, so a measure over all queries cannot be computed; use "
                "xgboost.train(..., custom_metric=...)"
            )
        ends = data.get_uint_info("group_ptr") if hasattr(data, "get_uint_info") else ()
        sizes = np.diff(ends).tolist() if len(ends) > 1 else None
        return self.__name__, self._value(predictions, data.get_label(), sizes)


def lightgbm_metric(
    measure: Measure | str,
    Y_valid: object,
    qid_valid: object,
    *,
    aspects: object = None,
    name: str | None = None,
    check_labels: bool = True,
) -> Any:
    """Make an evaluation metric for LightGBM from a measure, for early stopping.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        The measure. A single-aspect measure is computed on the column ``relevance`` (or ``label``), or on
        the only column.
    Y_valid : DataFrame or array-like of shape (n_rows, n_aspects)
        The labels of the validation rows, in the order in which they are passed to LightGBM.
    qid_valid : array-like of shape (n_rows,)
        The query ids of the validation rows.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and declared scales) of the columns of an array, or the columns to select from a frame.
    name : str, optional
        Name of the metric in LightGBM's logs. By default the string form of the measure. Blanks are
        removed.
    check_labels : bool, default True
        Whether to compare the labels of the evaluation set with `Y_valid` to detect rows in a different
        order. Set to False if the model is trained on labels that are not a function of `Y_valid`.

    Returns
    -------
    callable
        A metric for both ``LGBMRanker.fit(eval_metric=...)`` and ``lgb.train(feval=...)``. It tells
        LightGBM whether higher is better. Predictions are compared as 64-bit floats. Evaluate on the
        validation set only, and disable LightGBM's own metric (``metric="None"``), which early stopping
        would otherwise monitor as well.

    Raises
    ------
    MultiAspectError
        When called for a set with different rows or query sizes, such as the training set, or for a set
        whose labels show that its rows are in a different order.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> metric = ma.lightgbm_metric(
    ...     "CAM@10", [[2, 0], [0, 2]], ["q", "q"], aspects={"relevance": 2, "credibility": 2}, name="cam")
    >>> name, value, greater_is_better = metric([2, 0], [0.3, 0.1])
    >>> name, round(value, 4), greater_is_better
    ('cam', 0.8155, True)
    """
    return _LightGBMMetric(measure, Y_valid, qid_valid, aspects, name, check_labels)


def xgboost_metric(
    measure: Measure | str,
    Y_valid: object,
    qid_valid: object,
    *,
    aspects: object = None,
    name: str | None = None,
    check_labels: bool = True,
) -> Any:
    """Make an evaluation metric for ``xgboost.train(custom_metric=...)`` from a measure.

    Parameters
    ----------
    measure, Y_valid, qid_valid, aspects, name, check_labels : as in lightgbm_metric
        See `lightgbm_metric`. Colons in the name are replaced with equals signs, as XGBoost splits its
        logs at colons.

    Returns
    -------
    callable
        Pass it with ``maximize=True`` (False for lower-is-better measures such as ESL), only the
        validation set in ``evals``, and the parameter ``disable_default_eval_metric=True``. XGBoost
        rounds the values to six decimals.

    Raises
    ------
    MultiAspectError
        When called by XGBoost's scikit-learn wrapper, which passes one query at a time, for a set with a
        different number of rows, or for a set whose labels show that its rows are in a different order.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, aspects = [[2, 0], [0, 2]], {"relevance": 2, "credibility": 2}
    >>> metric = ma.xgboost_metric("CAM@10", labels, ["q", "q"], aspects=aspects)
    >>> metric.__name__
    "CAM(aspects={'relevance'=2,'credibility'=2})@10"
    """
    return _XGBoostMetric(measure, Y_valid, qid_valid, aspects, name, check_labels)
