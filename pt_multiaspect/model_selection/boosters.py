"""Measures as evaluation metrics of gradient boosting, for early stopping."""

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
        # Early stopping looks metrics up by name, in LightGBM < 4.6 by what follows the last blank.
        self.__name__ = "".join((name or str(scorer.measure)).split())

    def _value(self, scores: Any, labels: Any = None, group: Any = None) -> float:
        scores = np.asarray(scores)
        if len(scores) != len(self._rows):
            raise MultiAspectError(
                f"the metric {self.__name__} was made for a validation set of {len(self._rows)} rows but is asked "
                f"about {len(scores)}: evaluate on that set only, not on the training set too"
            )
        sizes = self._rows.group_sizes
        if group is not None and list(group) != sizes:
            raise MultiAspectError(
                f"the metric {self.__name__} was made for {len(sizes)} queries of {_shown(sizes)} rows but is "
                f"asked about {len(group)} of {_shown(list(group))}: make it of the rows of the evaluation set, in "
                "their order"
            )
        if self._check_labels and labels is not None:
            self._check(np.asarray(labels, dtype=np.float64))
        return self._rows.evaluate(self._measure, scores)

    def _check(self, labels: NDArray[np.float64]) -> None:
        """Refuse labels of the evaluation set that show that its rows are in another order."""
        if self._checked is not None and np.array_equal(labels, self._checked):
            return
        if not self._rows.agree_with(labels, self._measure):
            raise MultiAspectError(
                f"the labels of the evaluation set do not match those of the metric {self.__name__}: make the "
                "metric of the rows of the evaluation set, in their order. If they are the same rows, and the "
                "model learns from labels of other aspects, pass check_labels=False"
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
                "XGBoost's scikit-learn wrapper calls a metric of rankers once a query, with its labels and "
                "predictions only, so no measure over all queries can be computed there: use "
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
        The measure; a single-aspect one is computed on the column ``relevance`` (or ``label``), or on the
        only column.
    Y_valid : DataFrame or array-like of shape (n_rows, n_aspects)
        The labels of the validation rows, in the order in which LightGBM gets them.
    qid_valid : array-like of shape (n_rows,)
        Their queries.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names, and declares, the columns of an array; selects those of a frame.
    name : str, optional
        The metric's name in LightGBM's logs; the measure's by default. It is spelt without blanks.
    check_labels : bool, default True
        Whether to compare the labels of the evaluation set with `Y_valid`, to find rows in another
        order. Switch it off if the model learns from labels that are no function of `Y_valid`.

    Returns
    -------
    callable
        Serves both ``LGBMRanker.fit(eval_metric=...)`` and ``lgb.train(feval=...)``, and tells LightGBM
        whether greater is better. Predictions are compared as 64-bit floats. Evaluate on the
        validation set alone, and switch LightGBM's own metric off (``metric="None"``), else early
        stopping looks at that too.

    Raises
    ------
    MultiAspectError
        When called for a set with other rows or sizes of queries, such as the training set, or whose
        labels show that its rows are in another order.

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
        See `lightgbm_metric`. Colons, at which XGBoost splits its logs, become equals signs in
        the name.

    Returns
    -------
    callable
        Pass it with ``maximize=True`` (False for measures of which lower is better, such as ESL), the
        validation set alone in ``evals``, and ``disable_default_eval_metric=True`` among the
        parameters. XGBoost rounds its values to six decimals.

    Raises
    ------
    MultiAspectError
        When called by XGBoost's scikit-learn wrapper, which shows a metric one query at a time,
        for a set with another number of rows, or whose labels show that its rows are in another order.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, aspects = [[2, 0], [0, 2]], {"relevance": 2, "credibility": 2}
    >>> metric = ma.xgboost_metric("CAM@10", labels, ["q", "q"], aspects=aspects)
    >>> metric.__name__
    "CAM(aspects={'relevance'=2,'credibility'=2})@10"
    """
    return _XGBoostMetric(measure, Y_valid, qid_valid, aspects, name, check_labels)
