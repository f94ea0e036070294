"""Repeated cross-validation over queries and row orders, and intervals of paired differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _num_samples

from .._typing import Ints
from .._validation import boolean, count, proportion
from ..collection.frames import materialise
from ..errors import MultiAspectError
from ..kernels.folds import repeated_folds
from .arrays import as_numbers, check_length
from .queries import query_codes, require_queries


class RepeatedQueryKFold(BaseCrossValidator):  # type: ignore[misc]
    """Repeated cross-validation with folds of whole queries and random orders of the training rows.

    Gradient boosting depends on the order of rows: on CLEF eHealth 2015, two orders of the same training rows gave
    values of TOMA that differ by up to 0.008. Average over several orders before interpreting such a difference.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds.
    n_repeats : int, default 6
        Number of times that queries are assigned to folds at random.
    shuffle_rows : bool, default True
        Whether the order of queries, and of the rows of each query, is random in the training indices. Rows of a
        query stay contiguous. Test indices keep the order of the data, which breaks ties.
    random_state : int, default 0
        Seed of the random numbers. The same seed gives the same splits at each call, so scores of different
        searches are paired.

    Raises
    ------
    MultiAspectError
        From `split`: if no query ids are given, or there are fewer queries than folds.

    Notes
    -----
    As for `GroupKFold`, pass the query ids as ``groups``, which metadata routing requests by default:
    ``search.fit(X, Y, qid=qid, groups=qid)``. Otherwise they are taken from the index level or column ``qid`` of
    y or X.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> cv = ma.RepeatedQueryKFold(n_splits=2, n_repeats=2, random_state=3)
    >>> [test.tolist() for _, test in cv.split([[0]] * 6, groups=["a", "a", "b", "c", "d", "d"])]
    [[3, 4, 5], [0, 1, 2], [0, 1, 4, 5], [2, 3]]
    """

    # GroupKFold requests groups in the same way.
    __metadata_request__split = {"groups": True}

    def __init__(
        self, n_splits: int = 5, n_repeats: int = 6, shuffle_rows: bool = True, random_state: int = 0
    ) -> None:
        self.n_splits = count("n_splits", low=2)(n_splits)
        self.n_repeats = count("n_repeats")(n_repeats)
        self.shuffle_rows = boolean("shuffle_rows")(shuffle_rows)
        self.random_state = count("random_state", low=0)(random_state)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object, optional
            Ignored.

        Returns
        -------
        int
            The number of folds times the number of repeats.
        """
        return self.n_splits * self.n_repeats

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Generate the indices of training and test rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.
        y : array-like or data frame, optional
            Labels, whose index level or column ``qid`` contains the query ids if `groups` is not given.
        groups : array-like of shape (n_rows,), optional
            The query of each row.

        Yields
        ------
        train, test : ndarray of int
            Indices of the rows.
        """
        X, y, groups = map(materialise, (X, y, groups))
        queries = require_queries("RepeatedQueryKFold", y, X, groups, how="groups=qid")
        codes = pd.factorize(query_codes(check_length(queries, _num_samples(X), "groups"))[0])[0]
        n_queries = int(codes.max(initial=-1)) + 1
        if n_queries < self.n_splits:
            raise MultiAspectError(
                f"expected at least n_splits={self.n_splits} queries, got {n_queries}; use fewer folds"
            )
        rng = np.random.default_rng(self.random_state)
        for fold in repeated_folds(n_queries, self.n_splits, self.n_repeats, rng):
            test = np.isin(codes, fold)
            train = np.flatnonzero(~test)
            if self.shuffle_rows:
                position = rng.permutation(n_queries)
                train = rng.permutation(train)
                train = train[np.argsort(position[codes[train]], kind="stable")]
            yield train, np.flatnonzero(test)


def paired_interval(scores: object, baseline: object, *, n_folds: int, ci: float = 0.95) -> pd.Series[float]:
    """Estimate the difference of two learners from their scores on the same splits of repeated cross-validation.

    The scores of different splits are not independent, as training sets overlap. The corrected resampled t-test of
    Nadeau and Bengio takes this into account; the usual paired t-test gives intervals that are far too narrow.

    Parameters
    ----------
    scores, baseline : array-like of float, shape (n_splits,)
        Scores on the same splits in the same order, such as ``cross_validate(...)["test_cam"]``.
    n_folds : int
        Number of folds of each repeat. The ratio of test to training queries is 1 / (n_folds − 1).
    ci : float, default 0.95
        Confidence level, above 0 and below 1.

    Returns
    -------
    Series of float
        ``difference``, the mean of scores − baseline, ``low`` and ``high``, the limits of its confidence
        interval, and ``p_value`` of the two-sided test that the difference is 0.

    Raises
    ------
    MultiAspectError
        If the numbers of scores differ, or are not a multiple of n_folds, or a score is not finite.

    Notes
    -----
    The interval accounts for the choice of the training queries. The variance of the mean of n differences d is
    estimated as (1/n + 1/(n_folds − 1)) · var(d), with n − 1 degrees of freedom, so the interval does not become
    arbitrarily narrow with more repeats.

    References
    ----------
    Nadeau, Bengio: Inference for the Generalization Error. Machine Learning 52, 2003. Bouckaert, Frank: Evaluating
    the Replicability of Significance Tests for Comparing Learning Algorithms. PAKDD 2004.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> ma.paired_interval([0.5, 0.6, 0.5, 0.7], [0.4, 0.4, 0.5, 0.5], n_folds=2).round(3)
    difference    0.125
    low          -0.216
    high          0.466
    p_value       0.327
    dtype: float64
    """
    from scipy import stats

    values = [as_numbers(numbers, name) for name, numbers in (("scores", scores), ("baseline", baseline))]
    folds = count("n_folds", low=2)(n_folds)
    level = proportion("ci")(ci)
    lengths = [array.shape for array in values]
    if lengths[0] != lengths[1] or values[0].ndim != 1 or not len(values[0]) or len(values[0]) % folds:
        raise MultiAspectError(
            f"expected the scores of both on the same splits, a multiple of n_folds={folds}, got the shapes "
            f"{lengths[0]} and {lengths[1]}"
        )
    if not np.isfinite(values).all():
        raise MultiAspectError("expected finite scores, got NaN or infinity; a failed split cannot be compared")
    differences = values[0] - values[1]
    number = len(differences)
    mean = float(differences.mean())
    error = float(np.sqrt((1 / number + 1 / (folds - 1)) * differences.var(ddof=1)))
    # Equal differences up to rounding have no variance.
    if error <= 1e-12 * np.abs(values).max():
        low, high, p_value = mean, mean, 1.0 if abs(mean) <= 1e-12 * np.abs(values).max() else 0.0
    else:
        half = float(stats.t.ppf((1 + level) / 2, number - 1)) * error
        low, high, p_value = mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, number - 1))
    return pd.Series({"difference": mean, "low": low, "high": high, "p_value": p_value})
