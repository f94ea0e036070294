"""One ranker per aspect, fused by weights that can be changed after training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats, Ints
from ..aspects import Aspects, parse_aspects
from ..collection.columns import check_distinct_columns
from ..collection.frames import materialise, to_pandas
from ..errors import MultiAspectError, choices, refuse_taken, shown
from ..integration.parsing import MeasureLike
from ..measures import On
from ..orders.order import check_weights, weights_of
from .arrays import check_length, check_scores, fill_masked, label_frame
from .boosters import warn_of_columns
from .queries import find_queries, query_codes, require_queries, rows_per_query
from .ranker import AspectRanker, Wrapper, evaluation_rows
from .scorer import RankingScorer

#: Tolerance for standard deviations, as a fraction of the scores: below, all scores of the query are equal.
_ROUNDING = 1e-12
#: Standardised beside a larger prediction, as of masked documents, the others of the query would be equal.
_LARGEST = 1e15


class AspectFusion(Wrapper):
    """Train one ranker per aspect and fuse their predictions by a weighted sum.

    The predictions for each aspect are standardised within each query (mean 0, standard deviation 1), so that
    weights are comparable. Weights can be changed without training again: set them with `set_params`, or compare
    several with `sweep`.

    Parameters
    ----------
    estimator : estimator or 'precomputed'
        A ranker or regressor, or a `Pipeline` that ends with one. It is cloned for each aspect. With
        ``'precomputed'``, nothing is trained: X contains the predictions for each aspect, such as those of a model
        with several heads. The columns of a data frame have the names of the aspects, and others are ignored; those
        of an array are in the order of the aspects.
    weights : dict of str to float, optional
        The weight of each aspect, at least 0; equal by default. Only ratios matter.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names and scales of the aspects. By default, the columns of y.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) in `fit` or `sweep` raises an error or counts as the lowest grade.

    Attributes
    ----------
    rankers_ : dict of str to AspectRanker
        The fitted ranker of each aspect; None for precomputed predictions.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    MultiAspectError
        If weights do not match the aspects, or no query ids are given to `predict`, or to `fit` for rankers; if
        precomputed predictions are not those of the aspects; if predictions are NaN or beyond ±1e15.

    Notes
    -----
    Compared with an `AspectRanker` with CAM as its target, fusion with equal weights changed ``CAM@10`` (LightGBM,
    the study of training targets in the documentation) by +0.000 to −0.011 on synthetic collections with two
    common aspects and features that tell of both, by −0.018 to −0.035 if 5 % of the documents have one aspect and
    60 % the other, and by −0.036 to −0.071 if features tell of one aspect only, as the predictions of the other
    count as much. On CLEF eHealth 2015, it changed ``CAM@10`` by −0.026 ± 0.038. Prefer `AspectRanker` if the
    weights are known when training.

    `predict` requires the query of each row. `ranking_scorer` passes it, but a `Pipeline` does not: wrap the
    pipeline in `AspectFusion`, not the reverse.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> import pt_multiaspect as ma
    >>> X, Y, qid = np.eye(4), np.array([[2, 0], [0, 2], [1, 0], [0, 2]]), ["a", "a", "b", "b"]
    >>> fusion = ma.AspectFusion(Ridge(alpha=1e-6), aspects={"relevance": 2, "credibility": 2}).fit(X, Y, qid=qid)
    >>> fusion.set_params(weights={"relevance": 3, "credibility": 1}).predict(X, qid=qid).round(2)
    array([ 0.5, -0.5,  0.5, -0.5])
    >>> fusion.set_params(weights={"relevance": 0, "credibility": 1}).predict(X, qid=qid).round(2)
    array([-1.,  1., -1.,  1.])

    >>> heads = pd.DataFrame({"credibility": [0.1, 0.9, 0.3, 0.7], "relevance": [2.5, 1.5, 0.3, 0.1]})
    >>> fusion = ma.AspectFusion("precomputed", aspects=["relevance", "credibility"]).fit(heads, Y)
    >>> fusion.set_params(weights={"relevance": 3, "credibility": 1}).predict(heads, qid=qid).round(2)
    array([ 0.5, -0.5,  0.5, -0.5])
    """

    # Requested even if routing was disabled when the object was created; unused if nothing is passed.
    __metadata_request__fit = {"qid": True, "sample_weight": True, "eval_set": True, "eval_fraction": True}
    __metadata_request__predict = {"qid": True}

    def __init__(self, estimator: Any, weights: Any = None, aspects: Any = None, missing: str = "error") -> None:
        self.estimator = estimator
        self.weights = weights
        self.aspects = aspects
        self.missing = missing

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_fraction: float | None = None,
    ) -> AspectFusion:
        """Fit one ranker per aspect.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Features, one row per (query, document) pair.
        y : array-like or data frame of shape (n_rows, n_aspects)
            One column of labels per aspect.
        qid : array-like of shape (n_rows,), optional
            The query of each row, in any order. By default, the index level or column ``qid`` of y
            or X. Regressors do not require queries to fit.
        sample_weight : array-like of shape (n_rows,), optional
            Passed to the estimators.
        eval_set : list of (X, y) or (X, y, qid), optional
            Evaluation sets for early stopping, as in `AspectRanker`; the ranker of each aspect stops by its target.
        eval_fraction : float, optional
            Fraction of the queries that are held out as an evaluation set, the same for all aspects.

        Returns
        -------
        AspectFusion
            The fitted estimator.
        """
        X, y, qid, sample_weight = map(materialise, (X, y, qid, sample_weight))
        labels = label_frame(y, self.aspects)
        names = list(labels.columns)
        self._shares(self.weights, names)
        queries = find_queries(y, X, qid, sample_weight=sample_weight)
        if self._is_precomputed:
            unused = {"sample_weight": sample_weight, "eval_set": eval_set, "eval_fraction": eval_fraction}
            for name, value in unused.items():
                if value is not None:
                    raise MultiAspectError(f"{name} has no effect on precomputed predictions; omit it")
            self.rankers_: dict[str, Any] = dict.fromkeys(names)
            self._named = to_pandas(X) is not None
            self.n_features_in_ = len(names)
            scores = self._predict_aspects(X)
            check_length(scores[0], len(labels), "predictions")
            warn_of_columns(pd.DataFrame(dict(zip(names, scores, strict=True))), labels, np.arange(len(labels)))
            self._trained_queries = (
                {} if queries is None else rows_per_query(check_length(queries, len(labels), "qid"))
            )
            return self
        declared = parse_aspects(self.aspects)
        sets = [self._read_set(*rows, names) for rows in evaluation_rows(eval_set)]
        rankers = {}
        for name in names:
            scale = Aspects({name: declared[name]}) if isinstance(declared, Aspects) else None
            ranker = AspectRanker(self.estimator, On(aspect=name, aspects=scale), missing=self.missing)
            rankers[name] = ranker.fit(
                X,
                labels[[name]],
                qid=queries,
                sample_weight=sample_weight,
                eval_set=[(features, columns[[name]], qids) for features, columns, qids in sets],
                eval_fraction=eval_fraction,
            )
        self.rankers_ = rankers
        self.n_features_in_ = rankers[names[0]].n_features_in_
        self._trained_queries = rankers[names[0]]._trained_queries
        return self

    def predict(self, X: Any, qid: Any = None) -> NDArray[Any]:
        """Predict one score per row of X. Higher scores rank first.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Features.
        qid : array-like of shape (n_rows,), optional
            The query of each row. By default, the index level or column ``qid`` of X.

        Returns
        -------
        ndarray of float, shape (n_rows,)
            The weighted mean of the standardised predictions for the aspects.
        """
        standardised = self._standardised_predictions(materialise(X), qid)
        shares = self._shares(self.weights, list(self.rankers_))
        return np.asarray(np.tensordot(shares, standardised, axes=1), dtype=np.float64)

    def sweep(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        measures: Mapping[str, MeasureLike],
        weights: Iterable[Mapping[str, float]] | int = 11,
    ) -> pd.DataFrame:
        """Evaluate the fused ranking for several weights, without training again.

        Parameters
        ----------
        X, y, qid : as in fit
            Data to evaluate, other than the training data.
        measures : dict of str to measure
            The measures, by name. Values of lower-is-better measures are negated, as by `ranking_scorer`.
        weights : iterable of dict, or int, default 11
            The weights, or the number of equally spaced weights from 0 to 1 of each aspect: all combinations that
            sum to 1 (11 for two aspects by default, 66 for three, 286 for four).

        Returns
        -------
        DataFrame
            One row per setting: columns ``weight_<aspect>``, which sum to 1, and one column per measure. Pass
            it to `pareto_front`.
        """
        check_is_fitted(self)
        if not isinstance(measures, Mapping):
            raise MultiAspectError(f"measures: expected a dict of names to measures, got {shown(measures)}")
        names = list(self.rankers_)
        refuse_taken(measures, [f"weight_{name}" for name in names], "a column of weights")
        if isinstance(weights, int | np.integer) and weights >= 2:
            weights = _grid(names, int(weights) - 1)
        if not isinstance(weights, Iterable):
            raise MultiAspectError(
                f"weights: expected a list of dicts, or a number of at least 2, got {shown(weights)}"
            )
        X, y, qid = map(materialise, (X, y, qid))
        queries = require_queries("AspectFusion", y, X, qid)
        scorer = RankingScorer(measures, self.aspects, missing=self.missing)
        standardised = self._standardised_predictions(X, queries)
        table = []
        for setting in weights:
            shares = self._shares(setting, names)
            values: Any = scorer.score_predictions(y, np.tensordot(shares, standardised, axes=1), queries)
            table.append(dict(zip([f"weight_{name}" for name in names], shares, strict=True)) | values)
        return pd.DataFrame(table)

    # -- parts --------------------------------------------------------------------------------------

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.estimator, str) and self.estimator == "precomputed"

    def __sklearn_tags__(self) -> Any:
        return BaseEstimator.__sklearn_tags__(self) if self._is_precomputed else super().__sklearn_tags__()

    def _read_set(self, X: Any, y: Any, qid: Any, names: list[str]) -> tuple[Any, pd.DataFrame, Any]:
        """Return the features, the labels of all aspects and the queries of an evaluation set."""
        X, y, qid = map(materialise, (X, y, qid))
        labels = label_frame(y, self.aspects, columns=names)
        if missing := [name for name in names if name not in labels.columns]:
            raise MultiAspectError(
                f"eval_set: expected y with the columns of the training set ({choices(names)}), got "
                f"{choices(labels.columns)}; add {choices(missing)}"
            )
        return X, labels, find_queries(y, X, qid)

    def _read_predictions(self, X: Any) -> list[NDArray[Any]]:
        """Return the column of X with the predictions for each aspect."""
        names, frame = list(self.rankers_), to_pandas(X)
        if frame is not None and {*names} <= {*frame.columns}:
            check_distinct_columns(frame[names], "X")
            return [frame[name].to_numpy() for name in names]
        scores = fill_masked(X)
        if frame is None and not self._named and scores.ndim == 2 and scores.shape[1] == len(names):
            return list(scores.T)
        raise MultiAspectError(
            f"X: expected one column of predictions for each aspect, {choices(names)} "
            f"{'by name, as in fit' if self._named else 'in this order'}, got "
            f"{f'shape {scores.shape}' if frame is None else f'the columns {choices(frame.columns)}'}"
        )

    def _standardised_predictions(self, X: Any, qid: Any) -> Floats:
        """Return the standardised predictions, shape (n_aspects, n_rows)."""
        check_is_fitted(self)
        queries = find_queries(None, X, qid)
        if queries is None:
            raise MultiAspectError(
                "AspectFusion needs the query of every row to predict: pass qid, or give X an index or a column "
                "qid, as in pd.DataFrame(X, index=pd.Index(qid, name='qid')): cross_val_predict passes no qid to "
                "predict. Nor does a Pipeline: wrap it in AspectFusion, not the reverse"
            )
        predictions = self._predict_aspects(X)
        codes, _ = query_codes(check_length(queries, predictions.shape[1], "qid"))
        return np.stack([standardise(scores, codes) for scores in predictions])

    def _predict_aspects(self, X: Any) -> Floats:
        """Return the predictions for each aspect, shape (n_aspects, n_rows)."""
        if self._is_precomputed:
            predictions = self._read_predictions(X)
        else:
            predictions = [ranker.predict(X) for ranker in self.rankers_.values()]
        result = np.stack([check_scores(scores, len(scores)) for scores in predictions])
        if (too_large := np.abs(result) > _LARGEST).any():
            aspect, row = np.argwhere(too_large)[0]
            raise MultiAspectError(
                f"{list(self.rankers_)[aspect]}: expected predictions within ±{_LARGEST:g}, as they are "
                f"standardised, got {result[aspect, row]} (row {row}); to rank documents last, use a number close "
                "to the others"
            )
        return result

    @staticmethod
    def _shares(weights: Any, names: list[str]) -> Floats:
        numbers = np.asarray(weights_of(check_weights(weights), names), dtype=np.float64)
        return np.asarray(numbers / numbers.sum(), dtype=np.float64)


def _grid(names: list[str], n_steps: int) -> list[dict[str, float]]:
    """Return all weights that are multiples of a step and sum to `n_steps` steps."""
    n_places = n_steps + len(names) - 1
    cuts = combinations(range(n_places), len(names) - 1)  # between the steps of adjacent aspects
    parts = [np.diff((-1, *cut, n_places)) - 1.0 for cut in cuts]
    return [dict(zip(names, part.tolist(), strict=True)) for part in parts]


def standardise(scores: Floats, codes: Ints) -> Floats:
    """Return the scores minus the mean of their query, divided by its standard deviation; 0 if all are equal."""
    number = np.bincount(codes)
    centred = scores - (np.bincount(codes, weights=scores) / number)[codes]
    deviation = np.sqrt(np.bincount(codes, weights=centred**2) / number)
    largest = np.zeros(len(number))
    np.maximum.at(largest, codes, np.abs(scores))
    varies = (deviation > _ROUNDING * largest)[codes]
    return np.divide(centred, deviation[codes], out=np.zeros(len(scores)), where=varies)
