"""Measures as evaluation metrics of gradient boosting libraries, for early stopping."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ir_measures import Measure
from numpy.typing import NDArray

from .._typing import Ints
from ..aspects.parameter import AspectSpec, parse_aspects
from ..errors import MultiAspectError, choices
from .labels import LabelledRows, aggregated
from .scorer import RankingScorer

__all__ = ["catboost_metric", "lightgbm_metric", "xgboost_metric"]


class _Metric:
    """One or several measures on a fixed validation set."""

    def __init__(
        self,
        measure: Any,
        Y_valid: object,
        qid_valid: object,
        aspects: object,
        name: str | None,
        check_labels: bool,
    ):
        spec: AspectSpec = parse_aspects(aspects)
        several = isinstance(measure, Sequence | Mapping) and not isinstance(measure, str)
        if several and (name is not None or not measure):
            raise MultiAspectError(
                "expected at least one measure and no name for a list, as each metric has its own name; give names "
                f"as in {{'cam': 'CAM@10'}}, got {measure!r} and name={name!r}"
            )
        named = isinstance(measure, Mapping)
        measures = list(measure.values()) if named else list(measure) if several else [measure]
        scorers = [RankingScorer(each, spec, "predict") for each in measures]
        self._rows = LabelledRows(Y_valid, qid_valid, spec, scorers[0].measure)
        self._measures = [scorer.measure_on(self._rows) for scorer in scorers]
        labels = list(measure) if named else [name or str(scorer.measure) for scorer in scorers]
        # Early stopping looks metrics up by name; LightGBM < 4.6 uses the part after the last blank.
        self._names = [self._name("".join(str(label).split())) for label in labels]
        if len(set(self._names)) < len(self._names):
            raise MultiAspectError(f"expected metrics with different names, got {choices(self._names)}")
        self._several = several
        self._check_labels = check_labels
        self._checked: NDArray[np.float64] | None = None
        self.__name__ = ",".join(self._names)

    def _name(self, label: str) -> str:
        return label

    @property
    def maximize(self) -> bool:
        """Whether higher is better for the last measure, by which XGBoost stops by default."""
        return not self._measures[-1].lower_aggregate_is_better

    def _values(
        self, scores: Any, labels: Any = None, group: Any = None, rows: Ints | None = None
    ) -> list[tuple[str, float, bool]]:
        """Return the name of each metric, its value, and whether higher is better.

        `labels` and `group` are those of all rows of the metric, also if only some `rows` are evaluated.
        """
        scores = np.asarray(scores)
        expected = len(self._rows) if rows is None else len(rows)
        if len(scores) != expected:
            raise MultiAspectError(
                f"metric {self.__name__}: expected predictions for its validation set of {expected} rows, "
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
        rankings = self._rows.rankings(scores, rows)
        chosen = slice(None) if rows is None else self._whole_queries(rows)
        return [
            (name, aggregated(measure, measure.evaluate(rankings)[chosen]), not measure.lower_aggregate_is_better)
            for name, measure in zip(self._names, self._measures, strict=True)
        ]

    def _whole_queries(self, rows: Ints) -> NDArray[np.bool_]:
        """Tell which queries the rows belong to, after checking that no query is divided."""
        judgments = self._rows.judgments
        query = judgments.queries_of(self._rows.qids)
        total, here = (np.bincount(part, minlength=judgments.n_queries) for part in (query, query[rows]))
        divided = np.flatnonzero((here > 0) & (here < total))
        if len(divided):
            raise MultiAspectError(
                f"metric {self.__name__}: expected folds of whole queries, got {here[divided[0]]} of "
                f"{total[divided[0]]} rows of the query {judgments.qids[divided[0]]}; use folds that keep the rows "
                "of a query together"
            )
        return np.asarray(here > 0, dtype=np.bool_)

    def _check(self, labels: NDArray[np.float64]) -> None:
        """Raise an error if the labels of the evaluation set show that its rows are in another order."""
        if self._checked is not None and np.array_equal(labels, self._checked):
            return
        if not self._agree(labels):
            raise MultiAspectError(
                f"the labels of the evaluation set do not match those of the metric {self.__name__}: create the "
                "metric from the rows of the evaluation set, in the same order. If the rows are the same and the "
                "model is trained on labels of other aspects, pass check_labels=False"
            )
        self._checked = labels

    def _agree(self, labels: NDArray[np.float64]) -> bool:
        return any(self._rows.agree_with(labels, measure) for measure in self._measures)


def _shown(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")


class _LightGBMMetric(_Metric):
    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> Any:
        # lgb.train and lgb.cv call with (predictions, Dataset), the ranker with (labels, predictions, weight,
        # group).
        rows = None
        if hasattr(second, "get_label"):
            predictions, whole = first, second
            used, reference = getattr(second, "used_indices", None), getattr(second, "reference", None)
            # A fold: a part of the data set that has the rows of the metric.
            if used is not None and reference is not None and reference.num_data() == len(self._rows):
                rows, whole = np.asarray(used, dtype=np.intp), reference
            labels, group = whole.get_label(), getattr(whole, "get_group", lambda: None)()
        else:
            predictions, labels = second, first
        values = self._values(predictions, labels, group, rows)
        return values if self._several else values[0]


class _XGBoostMetric(_Metric):
    def _name(self, label: str) -> str:
        # XGBoost prints "data-metric:value data-metric:value" and early stopping reads it back.
        return label.replace(":", "=")

    def __call__(self, predictions: Any, data: Any) -> Any:
        if not hasattr(data, "get_label"):
            raise MultiAspectError(
                "XGBoost's scikit-learn wrapper calls a ranking metric once per query, with the labels and "
                "predictions of that query only, so a measure over all queries cannot be computed; use "
                "xgboost.train(..., custom_metric=...)"
            )
        self._check_direction()
        ends = data.get_uint_info("group_ptr") if hasattr(data, "get_uint_info") else ()
        sizes = np.diff(ends).tolist() if len(ends) > 1 else None
        values = [(name, value) for name, value, _ in self._values(predictions, data.get_label(), sizes)]
        return values if self._several else values[0]

    def _check_direction(self) -> None:
        """Raise an error if early stopping minimises a measure for which higher is better, or the reverse.

        Unless told, XGBoost maximises metrics with names such as "ndcg" and "map" only.
        """
        for stopping in _early_stoppings():
            name = getattr(stopping, "metric_name", None) or self._names[-1]
            if name not in self._names or stopping.maximize is None:  # not decided before the first round
                continue
            higher = not self._measures[self._names.index(name)].lower_aggregate_is_better
            if bool(stopping.maximize) != higher:
                does, better = ("minimises", "higher") if higher else ("maximises", "lower")
                raise MultiAspectError(
                    f"XGBoost's early stopping {does} {name}, for which {better} is better: pass maximize={higher} "
                    "to xgboost.train or EarlyStopping"
                )


def _early_stoppings() -> list[Any]:
    """The early stopping callbacks of the XGBoost training that calls the metric."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "xgboost.callback":
            callbacks = getattr(frame.f_locals.get("self"), "callbacks", None)
            if callbacks is not None:
                return [callback for callback in callbacks if hasattr(callback, "maximize")]
    return []


class _CatBoostMetric(_Metric):
    """A measure in the form that CatBoost requires."""

    #: How many sets in a row were not that of the metric; CatBoost evaluates the training set first.
    _others = 0

    def __deepcopy__(self, memo: object) -> _CatBoostMetric:
        # CatBoost copies its parameters, and scikit-learn's clone requires them to be the same objects.
        return self

    def is_max_optimal(self) -> bool:
        return self.maximize

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        (scores,) = approxes
        labels = np.asarray(target, dtype=np.float64)
        mine = len(scores) == len(self._rows)
        if mine and self._check_labels:
            mine = np.array_equal(labels, self._checked) if self._checked is not None else False
            mine = mine or self._agree(labels)
        if not mine:
            self._others += 1
            if self._others > 1:
                self._others = 0
                raise MultiAspectError(
                    f"metric {self.__name__}: expected one eval_set with the {len(self._rows)} rows of the metric, "
                    f"in the same order, got {len(scores)} rows or other labels. If the rows are the same and the "
                    "model is trained on labels of other aspects, pass check_labels=False"
                )
            return 0.0, 1.0
        self._others, self._checked = 0, labels
        ((_, value, _),) = self._values(np.asarray(scores))
        return value, 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error


def lightgbm_metric(
    measure: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
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
    measure : ir_measures.Measure, str, sequence of these or mapping
        The measure, or several. A mapping is ``{name: measure}``. A single-aspect measure is computed on the
        column ``relevance`` (or ``label``), or on the only column.
    Y_valid : DataFrame or array-like of shape (n_rows, n_aspects)
        The labels of the validation rows, in the order in which they are passed to LightGBM.
    qid_valid : array-like of shape (n_rows,)
        The query ids of the validation rows.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and declared scales) of the columns of an array, or the columns to select from a frame.
    name : str, optional
        Name of the metric in the logs, for one measure. By default the string form of the measure. Blanks
        are removed.
    check_labels : bool, default True
        Whether to compare the labels of the evaluation set with `Y_valid` to detect rows in a different
        order. Set to False if the model is trained on labels that are not a function of `Y_valid`.

    Returns
    -------
    callable
        A metric for ``LGBMRanker.fit(eval_metric=...)``, ``lgb.train(feval=...)`` and ``lgb.cv(feval=...)``.
        It tells LightGBM whether higher is better. Predictions are compared as 64-bit floats. Evaluate on the
        validation set only, and disable LightGBM's own metric (``metric="None"``), which early stopping
        would otherwise monitor as well. For ``lgb.cv``, create the metric from all rows of the Dataset: each
        fold is evaluated on its queries.

    Raises
    ------
    MultiAspectError
        When called for a set with different rows or query sizes, such as the training set, for a set
        whose labels show that its rows are in a different order, or for a fold that divides a query.

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
    measure: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
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
        Pass it with ``maximize=metric.maximize``, only the validation set in ``evals``, and the parameter
        ``disable_default_eval_metric=True``. With several measures, XGBoost stops by the last. XGBoost rounds the
        values to six decimals.

    Raises
    ------
    MultiAspectError
        When called by XGBoost's scikit-learn wrapper, which passes one query at a time, for a set with a
        different number of rows, for a set whose labels show that its rows are in a different order, or if
        early stopping minimises a measure for which higher is better (XGBoost's default) or the reverse.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, aspects = [[2, 0], [0, 2]], {"relevance": 2, "credibility": 2}
    >>> metric = ma.xgboost_metric("CAM@10", labels, ["q", "q"], aspects=aspects)
    >>> metric.__name__, metric.maximize
    ("CAM(aspects={'relevance'=2,'credibility'=2})@10", True)
    """
    return _XGBoostMetric(measure, Y_valid, qid_valid, aspects, name, check_labels)


def catboost_metric(
    measure: Measure | str,
    Y_valid: object,
    qid_valid: object,
    *,
    aspects: object = None,
    name: str | None = None,
    check_labels: bool = True,
) -> Any:
    """Make an evaluation metric for ``CatBoostRanker(eval_metric=...)`` from a measure, for early stopping.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        The measure, as in `lightgbm_metric`.
    Y_valid, qid_valid, aspects : as in lightgbm_metric
        See `lightgbm_metric`.
    name : str, optional
        Name of the metric in error messages. CatBoost names metrics after their class.
    check_labels : bool, default True
        Whether to identify the validation set by its labels as well as by its number of rows. Set to False if
        the model is trained on labels that are not a function of `Y_valid`.

    Returns
    -------
    object
        A metric for ``eval_metric``. It tells CatBoost whether higher is better. Pass ``eval_set`` with the rows
        of `Y_valid`. CatBoost evaluates the metric on the training set as well, where it is 0.

    Raises
    ------
    MultiAspectError
        If several measures are given, or, as a ``CatBoostError``, in training: if the evaluation set has
        different rows.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, aspects = [[2, 0], [0, 2]], {"relevance": 2, "credibility": 2}
    >>> metric = ma.catboost_metric("CAM@10", labels, ["q", "q"], aspects=aspects)
    >>> value, weight = metric.evaluate([[0.3, 0.1]], [2, 0], None)
    >>> round(value, 4), metric.is_max_optimal()
    (0.8155, True)
    """
    if isinstance(measure, Sequence | Mapping) and not isinstance(measure, str):
        raise MultiAspectError(f"expected one measure, as CatBoost has one eval_metric, got {measure!r}")
    return _CatBoostMetric(measure, Y_valid, qid_valid, aspects, name, check_labels)
