"""Measures as evaluation metrics of gradient boosting libraries, for early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ir_measures import Measure

from ..errors import MultiAspectError
from .metrics import CatBoostMetric, LightGBMMetric, XGBoostMetric

__all__ = ["catboost_metric", "lightgbm_metric", "xgboost_metric"]


def lightgbm_metric(
    measure: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
    Y_valid: object,
    qid_valid: object,
    *,
    aspects: object = None,
    name: str | None = None,
    check_labels: bool = True,
    missing: str = "error",
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
        The query ids of the validation rows. If None, the index level or column ``qid`` of `Y_valid`.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and declared scales) of the columns of an array, or the columns to select from a frame.
    name : str, optional
        Name of the metric in the logs, for one measure. By default the string form of the measure. Blanks
        are removed.
    check_labels : bool, default True
        Whether to compare the labels of the evaluation set with `Y_valid` to detect rows in a different
        order; see Notes. Set to False if the model is trained on labels that are not a function of `Y_valid`.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.

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

    Notes
    -----
    Libraries pass predictions without ids, so only labels can show that rows are in another order. They do not show
    it where rows with equal labels are exchanged, nor where no two rows of the set have the same labels on all
    aspects and the label of training has few values: any such label may be a function of the aspects. Make the
    evaluation set and the metric from the same rows.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> metric = ma.lightgbm_metric(
    ...     "CAM@10", [[2, 0], [0, 2]], ["q", "q"], aspects={"relevance": 2, "credibility": 2}, name="cam")
    >>> name, value, greater_is_better = metric([2, 0], [0.3, 0.1])
    >>> name, round(value, 4), greater_is_better
    ('cam', 0.8155, True)
    """
    return LightGBMMetric(measure, Y_valid, qid_valid, aspects, name, check_labels, missing)


def xgboost_metric(
    measure: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
    Y_valid: object,
    qid_valid: object,
    *,
    aspects: object = None,
    name: str | None = None,
    check_labels: bool = True,
    missing: str = "error",
) -> Any:
    """Make an evaluation metric for ``xgboost.train(custom_metric=...)`` from a measure.

    Parameters
    ----------
    measure, Y_valid, qid_valid, aspects, name, check_labels, missing : as in lightgbm_metric
        See `lightgbm_metric`. Colons in the name are replaced with equals signs, as XGBoost splits its
        logs at colons.

    Returns
    -------
    callable
        Pass it with ``maximize=metric.maximize``, only the validation set in ``evals``, and the parameter
        ``disable_default_eval_metric=True``. With several measures, XGBoost stops by the last. XGBoost rounds the
        values to six decimals. For ``xgb.cv``, create the metric from all rows of the DMatrix and call
        ``metric.number_rows(dmatrix)`` first: each fold is then evaluated on its queries.

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
    return XGBoostMetric(measure, Y_valid, qid_valid, aspects, name, check_labels, missing)


def catboost_metric(
    measure: Measure | str,
    Y_valid: object,
    qid_valid: object,
    *,
    aspects: object = None,
    name: str | None = None,
    check_labels: bool = True,
    missing: str = "error",
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
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.

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
    return CatBoostMetric(measure, Y_valid, qid_valid, aspects, name, check_labels, missing)
