"""Measures as scikit-learn scorers."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from ..aspects.aspects import Aspects
from ..aspects.parameter import AspectSpec, parse_aspects
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, warn_once
from ..integration import parsing
from ..measures import Measure, On
from .labels import LabelledRows, find_qid

__all__ = ["RankingScorer", "ranking_scorer"]

_RESPONSES = ("predict", "decision_function", "predict_proba")


def ranking_scorer(
    measure: ir_measures.Measure | str,
    *,
    aspects: object = None,
    response_method: str = "predict",
) -> RankingScorer:
    """Make a scikit-learn scorer for grouped ranking data from a measure.

    Every query's rows are ranked by the estimator's prediction and evaluated by the labels in
    `y`, a column per aspect. Greater is better: of measures of which lower is better, such as ESL,
    the negative value is the score.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        A multi-aspect measure, or any other, which scores the column ``relevance`` (or ``label``) of y,
        as in `evaluate`, or the only column that y has. ``On(aspect="credibility", base=nDCG) @ 10``
        scores any other column.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names the columns of y where y is an array, and selects them where it is a data frame (of pandas,
        Polars or PyArrow), whose columns are found by name. Declared
        scales also go to a measure that has none, so that every fold uses the same scales.
    response_method : {'predict', 'decision_function', 'predict_proba'}
        Where the scores come from; of ``predict_proba`` with two classes the second counts.

    Returns
    -------
    RankingScorer
        A callable ``scorer(estimator, X, y, qid=None)`` for the ``scoring`` of `GridSearchCV`,
        `RandomizedSearchCV` and `cross_validate`, alone or in a dict of several.

    Raises
    ------
    MultiAspectError
        When made: for an unknown measure or response method. When called: without a qid, for
        columns, queries or predictions of the wrong number or shape, or NaN predictions.

    Notes
    -----
    *Where qid comes from.* With metadata routing (``sklearn.set_config(enable_metadata_routing=True)``)
    pass ``qid`` to ``fit`` or as ``params``: the scorer requests it already. Without routing it is
    taken from the index level ``qid`` of y or X, or the column ``qid`` of one of them (or of X
    the column that `AspectRanker` is told by `qid_column`). There is never one silent group:
    without a qid the scorer raises.

    scikit-learn turns the error into NaN and goes on, so a search would choose arbitrary parameters:
    pass ``error_score='raise'`` to searches and to `cross_validate`. A column ``qid`` of X is dropped by
    `AspectRanker` only; other estimators, and a pipeline's steps before it, take it for a feature: put the
    query into the index, or pass it as ``qid``.

    *Folds.* Split by query, as `GroupKFold` does. Successive halving over samples cuts queries
    apart, and its scores are of truncated queries; halve over another resource, such as
    ``n_estimators``.

    *Ties* in the predictions rank the later row first: rows are documents named by their
    position, and of tied documents the one with the greater name comes first, as in trec_eval.
    Predictions are compared as 64-bit floats, whereas scores of runs are compared as 32-bit floats.
    A query with a single row, or with worst labels only, counts like any other (as 0 where
    nothing can be gained).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> import pt_multiaspect as ma
    >>> X, qid = np.array([[0.1], [0.9], [0.4], [0.3]]), ["a", "a", "b", "b"]
    >>> Y = np.array([[0, 1], [2, 1], [1, 0], [0, 2]])
    >>> scorer = ma.ranking_scorer(ma.CAM @ 10, aspects={"relevance": 2, "credibility": 2})
    >>> round(scorer(LinearRegression().fit(X, Y[:, 0]), X, Y, qid=qid), 3)
    0.908
    """
    return RankingScorer(measure, aspects, response_method)


class RankingScorer:
    """What `ranking_scorer` makes."""

    def __init__(self, measure: ir_measures.Measure | str, aspects: object, response_method: str) -> None:
        parsed = parsing.parse(measure)
        if len(parsed) != 1:
            raise MultiAspectError(f"a scorer has one measure; {measure!r} names {len(parsed)}")
        if response_method not in _RESPONSES:
            raise MultiAspectError(f"unknown response_method {response_method!r}; choose {choices(_RESPONSES)}")
        self._aspects: AspectSpec = parse_aspects(aspects)
        self.measure = self._declare(parsed[0])
        self._ordinary().validate_params()
        self._response_method = response_method

    def _declare(self, measure: ir_measures.Measure) -> ir_measures.Measure:
        """Give the declared scales to a measure that has none for its aspects."""
        if "aspects" not in measure.SUPPORTED_PARAMS:
            return measure
        spec, declared = measure["aspects"], self._aspects
        if not isinstance(declared, Aspects):
            return measure
        if spec is None:
            return measure(aspects=declared)
        if isinstance(spec, tuple) and all(name in declared for name in spec):
            return measure(aspects=Aspects({name: declared[name] for name in spec}))
        return measure

    def _ordinary(self, aspect: str = "relevance", declared: Aspects | None = None) -> Measure:
        """The measure itself, or, for an ordinary one, the measure on an aspect."""
        on = getattr(self.measure, "on", None)  # a measure of this package knows
        measure: Measure = (
            On(aspect=aspect, base=self.measure, aspects=declared) if on is None else on(aspect, declared)
        )
        return measure

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """Score `estimator` on the rows of X by the labels y."""
        column, features = getattr(estimator, "qid_column", None), to_pandas(X)
        has_column = features is not None and column in features.columns
        queries = find_qid(qid, X, y, column if has_column else None)
        if queries is None:
            message = (
                f"{self!r} needs the query of every row: pass qid with metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True)), or give y or X an index level "
                "or a column called qid"
            )
            # A search turns the error into NaN, and goes on to choose parameters by it.
            warn_once(
                f"{message}. Without metadata routing the qid passed to fit does not reach the scorer. "
                "With error_score='raise' this is an error",
                key="a scorer without qid",
            )
            raise MultiAspectError(message)
        if features is not None and "qid" in features.columns and not _drops_qid(estimator):
            warn_once(
                f"X has a column qid, which {type(estimator).__name__} takes for a feature: pass qid with metadata "
                "routing, or move it to the index of X or y. AspectRanker drops the column, but not "
                "behind other steps of a pipeline",
                key="qid among the features",
            )
        rows = LabelledRows(y, queries, self._aspects, self.measure)
        measure = self.measure_on(rows)
        value = rows.evaluate(measure, self._scores(estimator, X))
        return -value if measure.lower_aggregate_is_better else value

    def measure_on(self, rows: LabelledRows) -> Measure:
        """The measure itself, or an ordinary one on relevance or on the only column there is."""
        aspect = rows.names[0] if len(rows.names) == 1 else "relevance"
        measure = self._ordinary(aspect, self._aspects if isinstance(self._aspects, Aspects) else None)
        if measure is not self.measure and aspect not in rows.names:
            raise MultiAspectError(
                f"{self.measure} scores the aspect relevance, but y has the columns {choices(rows.names)}: "
                f"choose one, as in On(aspect={rows.names[0]!r}, base={str(self.measure)!r})"
            )
        return measure

    def _scores(self, estimator: Any, X: Any) -> Any:
        respond = getattr(estimator, self._response_method, None)
        if respond is None:
            raise MultiAspectError(f"{type(estimator).__name__} has no {self._response_method}")
        scores = np.asarray(respond(X))
        if self._response_method == "predict_proba" and scores.ndim == 2 and scores.shape[1] == 2:
            return scores[:, 1]
        return scores

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn that ``score`` takes `qid`."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="qid", alias=True)
        return request

    def __repr__(self) -> str:
        more = "" if self._response_method == "predict" else f", response_method={self._response_method!r}"
        return f"ranking_scorer({self.measure}{more})"


def _drops_qid(estimator: Any) -> bool:
    """Whether an estimator leaves a column qid of X out of its features."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
        if steps and isinstance(steps[0], ColumnTransformer):
            return not any(name.rpartition("__")[2] == "qid" for name in steps[0].get_feature_names_out())
        return bool(steps) and _drops_qid(steps[0])
    # Of an AspectRanker, which this module must not import.
    return hasattr(estimator, "qid_column") and estimator.qid_column in (None, "qid")
