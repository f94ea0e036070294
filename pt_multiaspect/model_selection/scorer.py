"""Measures as scikit-learn scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure
from sklearn.utils.metadata_routing import MetadataRequest

from ..aspects import Aspects, AspectSpec, parse_aspects
from ..errors import MultiAspectError, choices
from ..integration import parsing
from ..measures import MultiAspectMeasure, On, SingleAspectMeasure
from .labels import LabelledRows, find_qid

__all__ = ["RankingScorer", "ranking_scorer"]

_RESPONSES = ("predict", "decision_function", "predict_proba")


def ranking_scorer(
    measure: Measure | str,
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
        A multi-aspect measure, or any other, which scores the first column of y.
        ``On(aspect="credibility", base=nDCG) @ 10`` scores any other column.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names the columns of y where y is an array, and selects them where it is a frame. Declared
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

    *Folds.* Split by query, as `GroupKFold` does. Successive halving over samples cuts queries
    apart, and its scores are of truncated queries; halve over another resource, such as
    ``n_estimators``.

    *Ties* in the predictions rank the later row first: rows are documents named by their
    position, and of tied documents the one with the greater name comes first, as in trec_eval.
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

    def __init__(self, measure: Measure | str, aspects: object, response_method: str) -> None:
        parsed = parsing.parse(measure)
        if len(parsed) != 1:
            raise MultiAspectError(f"a scorer has one measure; {measure!r} names {len(parsed)}")
        if response_method not in _RESPONSES:
            raise MultiAspectError(f"unknown response_method {response_method!r}; choose {choices(_RESPONSES)}")
        self._aspects: AspectSpec = parse_aspects(aspects)
        self.measure = self._declare(parsed[0])
        self._ordinary().validate_params()
        self._response_method = response_method

    def _declare(self, measure: Measure) -> Measure:
        """Give the declared scales to a measure that has none for its aspects."""
        if not isinstance(measure, MultiAspectMeasure) or "aspects" not in measure.SUPPORTED_PARAMS:
            return measure
        spec, declared = measure["aspects"], self._aspects
        if not isinstance(declared, Aspects):
            return measure
        if spec is None:
            return measure(aspects=declared)
        if isinstance(spec, tuple) and all(name in declared for name in spec):
            return measure(aspects=Aspects({name: declared[name] for name in spec}))
        return measure

    def _ordinary(self, aspect: str = "relevance", declared: Aspects | None = None) -> MultiAspectMeasure:
        """The measure itself, or, for an ordinary one, the measure on an aspect."""
        measure = self.measure
        if isinstance(measure, SingleAspectMeasure):
            return measure if measure.NO_BASE else On(aspect=aspect, base=measure, aspects=declared)
        return (
            measure
            if isinstance(measure, MultiAspectMeasure)
            else On(aspect=aspect, base=measure, aspects=declared)
        )

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """Score `estimator` on the rows of X by the labels y."""
        column = getattr(estimator, "qid_column", None)
        queries = find_qid(qid, X, y, column if isinstance(X, pd.DataFrame) and column in X.columns else None)
        if queries is None:
            raise MultiAspectError(
                f"{self!r} needs the query of every row: pass qid with metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True)), or give y or X an index level "
                "or a column called qid"
            )
        rows = LabelledRows(y, queries, self._aspects, self.measure)
        measure = self.measure_on(rows)
        value = rows.evaluate(measure, self._scores(estimator, X))
        return -value if measure.lower_aggregate_is_better else value

    def measure_on(self, rows: LabelledRows) -> MultiAspectMeasure:
        """The measure itself, or an ordinary one on the first column."""
        return self._ordinary(rows.names[0], self._aspects if isinstance(self._aspects, Aspects) else None)

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
