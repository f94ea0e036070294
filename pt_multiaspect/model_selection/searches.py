"""Searches over queries: splits, intervals of paired differences, Pareto fronts of scorers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _num_samples

from .._typing import Floats, Ints, Objects
from .._validation import boolean, count, proportion, real
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, choices, did_you_mean, refuse_unknown, shown
from ..evaluation.long_frames import find_measure
from ..evaluation.topic_clusters import ClusterSpec, clusters_of_topics, read_clusters
from ..integration.aggregators import lower_is_better
from ..kernels.folds import repeated_folds
from ..kernels.mean_errors import Clusters, t_levels, t_quantile, variance
from ..kernels.pareto import is_on_front
from ..kernels.rounding import remove_rounding_errors
from .arrays import as_numbers, check_length
from .queries import (
    are_texts,
    check_same_index,
    check_same_names,
    find_column,
    query_codes,
    require_queries,
)

#: Columns of ``cv_results_`` with mean scores begin with this.
_MEAN = "mean_test_"


class RepeatedQueryKFold(BaseCrossValidator):  # type: ignore[misc]
    """Repeated cross-validation with folds of whole queries and random orders of the training rows.

    Gradient boosting depends on the order of rows: on CLEF eHealth 2015, two orders of the same
    training rows gave values of TOMA that differ by up to 0.008. Average over several orders before
    interpreting such a difference.

    Parameters
    ----------
    n_splits : int, default 5
        Number of folds.
    n_repeats : int, default 6
        Number of times that queries are assigned to folds at random.
    shuffle_rows : bool, default True
        Whether the order of queries, and of the rows of each query, is random in the training
        indices. Rows of a query stay contiguous. Test indices keep the order of the data.
    random_state : int, default 0
        Seed of the random numbers. The same seed gives the same splits at each call, so scores of
        different searches are paired.
    cluster : str, path, mapping or Series, optional
        Queries that were drawn together, such as the turns of a conversation, as for `aggregate`; a
        column is one of y or X. No fold divides a cluster.

    Raises
    ------
    MultiAspectError
        From `split`: if no query ids are given, there are fewer queries, or clusters, than folds,
        or a query has no cluster or several.

    Notes
    -----
    As for `GroupKFold`, pass the query ids as ``groups``, which metadata routing requests by
    default: ``search.fit(X, Y, qid=qid, groups=qid)``. Otherwise they are taken from the index
    level or column ``qid`` of y or X.

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
        self,
        n_splits: int = 5,
        n_repeats: int = 6,
        shuffle_rows: bool = True,
        random_state: int = 0,
        cluster: ClusterSpec = None,
    ) -> None:
        parse_splits = count("n_splits", low=2)
        parse_repeats = count("n_repeats")
        parse_shuffle_rows = boolean("shuffle_rows")
        parse_random_state = count("random_state", low=0)
        self.n_splits = parse_splits(n_splits)
        self.n_repeats = parse_repeats(n_repeats)
        self.shuffle_rows = parse_shuffle_rows(shuffle_rows)
        self.random_state = parse_random_state(random_state)
        self.cluster = cluster

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
            Labels, whose index level or column ``qid`` contains the query ids if `groups` is not
            given.
        groups : array-like of shape (n_rows,), optional
            The query of each row.

        Yields
        ------
        train, test : ndarray of int
            Indices of the rows.
        """
        queries = require_queries("RepeatedQueryKFold", y, X, groups, how="groups=qid")
        queries = check_length(queries, _num_samples(X), "groups")
        position, sorted_names = query_codes(queries)  # equal for 1 and "1", which are one query
        names_of_rows = sorted_names[position]
        clusters = self._clusters(names_of_rows, y, X)
        self._check_number(clusters)
        # `clusters.cluster` has the queries in the order of their first rows. `factorize` numbers
        # them in this order: positions 5, 2, 5 become 0, 1, 0.
        query_of_row, distinct_queries = pd.factorize(position)
        n_queries = len(distinct_queries)
        cluster_of_row = clusters.cluster[query_of_row]
        rng = np.random.default_rng(self.random_state)
        for fold in repeated_folds(len(clusters), self.n_splits, self.n_repeats, rng):
            # A fold has the numbers of the clusters whose rows are tested.
            is_test = np.isin(cluster_of_row, fold)
            train = np.flatnonzero(~is_test)
            test = np.flatnonzero(is_test)
            if self.shuffle_rows:
                train = _shuffle_by_query(train, query_of_row, n_queries, rng)
            yield train, test

    def _check_number(self, clusters: Clusters) -> None:
        """Raise an error if there are fewer clusters of queries, or queries, than folds."""
        if len(clusters) >= self.n_splits:
            return
        if clusters.are_single_topics:
            noun = "queries"
        else:
            noun = "clusters of queries"
        raise MultiAspectError(
            f"expected at least n_splits={self.n_splits} {noun}, got {len(clusters)}; use fewer "
            "folds"
        )

    def _clusters(self, queries: Objects, y: object, X: object) -> Clusters:
        """Return the clusters of the distinct queries, in the order of their first rows.

        `queries` are the names of the queries of the rows. `self.cluster` is ``"qid"``, a column of
        y or X, or what `read_clusters` reads, such as a path or a mapping; None for no clusters.
        """
        distinct = pd.unique(queries).tolist()
        if self.cluster is None:
            return Clusters.independent(len(distinct))
        rows = pd.DataFrame({"qid": queries})
        if isinstance(self.cluster, str) and self.cluster != "qid":
            column = find_column(self.cluster, y, X)
            if column is not None:  # else the text is a path
                rows[self.cluster] = column
        cluster_of_query = read_clusters(self.cluster, rows.drop_duplicates())
        return clusters_of_topics(cluster_of_query, distinct)


def _shuffle_by_query(rows: Ints, query: Ints, n_queries: int, rng: np.random.Generator) -> Ints:
    """Return rows in a random order of queries, in which the rows of a query stay contiguous.

    `query` has the number of the query of each row of the data, from 0 to `n_queries` - 1.
    """
    # Shuffled rows are sorted by a random number of their query. The sorting is stable, so that the
    # rows of each query stay shuffled.
    number_of_query = rng.permutation(n_queries)
    shuffled = rng.permutation(rows)
    number_of_row = number_of_query[query[shuffled]]
    by_query = np.argsort(number_of_row, kind="stable")
    in_order: Ints = shuffled[by_query]
    return in_order


def paired_interval(
    scores: object, baseline: object, *, n_folds: int, ci: float = 0.95
) -> pd.Series[float]:
    """Estimate the difference of two learners from their scores on the same splits.

    The scores of different splits of repeated cross-validation are not independent, as training
    sets overlap. The corrected resampled t-test of Nadeau and Bengio takes this into account; the
    usual paired t-test gives intervals that are far too narrow.

    Parameters
    ----------
    scores, baseline : array-like of float, shape (n_splits,)
        Scores on the same splits in the same order, such as ``cross_validate(...)["test_cam"]``.
    n_folds : int
        Number of folds of each repeat. The ratio of test to training queries, or clusters of
        queries if folds divide none, is 1 / (n_folds − 1).
    ci : float, default 0.95
        Confidence level, above 0 and below 1.

    Returns
    -------
    Series of float
        ``difference``, the mean of scores − baseline, ``low`` and ``high``, the limits of its
        confidence interval, and ``p_value`` of the two-sided test that the difference is 0.

    Raises
    ------
    MultiAspectError
        If the numbers of scores differ, or are not a multiple of n_folds, a score is not finite, or
        the indexes of Series have the same elements in a different order, or name different splits.

    Notes
    -----
    The interval accounts for the choice of the training queries. The variance of the mean of n
    differences d is estimated as (1/n + 1/(n_folds − 1)) · var(d), with n − 1 degrees of freedom,
    so the interval does not become arbitrarily narrow with more repeats.

    References
    ----------
    Nadeau, Bengio: Inference for the Generalization Error. Machine Learning 52, 2003. Bouckaert,
    Frank: Evaluating the Replicability of Significance Tests for Comparing Learning Algorithms.
    PAKDD 2004.

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
    _check_same_splits(scores, baseline)
    score_values = as_numbers(scores, "scores")
    baseline_values = as_numbers(baseline, "baseline")
    parse_folds = count("n_folds", low=2)
    parse_confidence = proportion("ci")
    folds = parse_folds(n_folds)
    confidence = parse_confidence(ci)
    n_splits = score_values.size
    are_paired = score_values.ndim == 1 and score_values.shape == baseline_values.shape
    are_whole_repeats = n_splits > 0 and n_splits % folds == 0
    if not are_paired or not are_whole_repeats:
        raise MultiAspectError(
            f"expected the scores of both on the same splits, a multiple of n_folds={folds}, got "
            f"the shapes {score_values.shape} and {baseline_values.shape}"
        )
    both_values = np.array([score_values, baseline_values])
    if not np.isfinite(both_values).all():
        raise MultiAspectError(
            "expected finite scores, got NaN or infinity; a failed split cannot be compared"
        )
    # Differences and means that are tiny beside the scores are rounding errors.
    largest = np.abs(both_values).max()
    differences = score_values - baseline_values
    mean = remove_rounding_errors(differences.mean(), largest)
    # The variance of the mean, corrected by the ratio of test to training queries, see Notes.
    ratio = 1 / (folds - 1)
    mean_variance = (1 / n_splits + ratio) * variance(differences, largest=largest)
    standard_error = np.sqrt(mean_variance)
    freedom = n_splits - 1
    half_width = float(t_quantile(freedom, confidence) * standard_error)
    return pd.Series(
        {
            "difference": float(mean),
            "low": mean - half_width,
            "high": mean + half_width,
            "p_value": float(t_levels(mean, standard_error, freedom)),
        }
    )


def _check_same_splits(scores: object, baseline: object) -> None:
    """Raise an error if the indexes of two Series name other splits, or in another order."""
    check_same_index("scores", scores, "baseline", baseline, "scores")
    index = getattr(scores, "index", None)
    baseline_index = getattr(baseline, "index", None)
    if not isinstance(index, pd.Index) or not isinstance(baseline_index, pd.Index):
        return
    # Levels with the same name must have the same elements, and so must indexes of texts.
    for name in index.names:
        if isinstance(name, str) and name in baseline_index.names:
            splits = index.get_level_values(name).to_numpy()
            baseline_splits = baseline_index.get_level_values(name).to_numpy()
            check_same_names(name, "scores", splits, "baseline", baseline_splits)
    if are_texts(index) and are_texts(baseline_index):
        splits = index.to_numpy()
        baseline_splits = baseline_index.to_numpy()
        check_same_names("split", "scores", splits, "baseline", baseline_splits)


def _read_results(results: Any, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the parameters and the scores of settings, with one row per setting in both.

    Parameters
    ----------
    results : fitted search, dict or DataFrame
        A search, its ``cv_results_``, or a table of settings.
    metrics : sequence of str, optional
        The metrics whose scores are returned; by default, all of a search.
    """
    results = as_pandas(getattr(results, "cv_results_", results))
    if not isinstance(results, Mapping | pd.DataFrame):
        raise MultiAspectError(
            "expected a fitted search, its cv_results_, or a data frame, got "
            f"{type(results).__name__}"
        )
    columns_of_means = _columns_of_means(results)
    is_search = len(columns_of_means) > 0
    if is_search:
        return _read_search(results, columns_of_means, metrics)
    return _read_table(results, metrics)


def _read_search(
    results: Any, columns_of_means: Mapping[str, Any], metrics: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the parameters and the mean scores of the candidates of a search.

    `columns_of_means` are the columns of `results` with mean scores, by metric.
    """
    names = _metric_names(metrics, columns_of_means)
    scores = _read_scores(results, columns_of_means, names)
    params = {}
    for column in results:
        if str(column).startswith("param_"):
            params[column] = list(results[column])
    return pd.DataFrame(params, index=scores.index), scores


def _read_table(results: Any, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the parameters and the scores of a table of settings; the scores are `metrics`."""
    columns_by_name = {str(column): column for column in results}
    if metrics is None:
        raise MultiAspectError(
            f"expected metrics, the columns of the scores; columns: {choices(columns_by_name)}"
        )
    names = _metric_names(metrics, columns_by_name)
    scores = _read_scores(results, columns_by_name, names)
    _refuse_lower_is_better(scores)
    score_columns = [columns_by_name[name] for name in names]
    params = pd.DataFrame(results).drop(columns=score_columns)  # all other columns
    return params, scores.set_axis(params.index)


def _read_scores(results: Any, columns: Mapping[str, Any], names: Sequence[str]) -> pd.DataFrame:
    """Return the scores of the metrics `names`, one row per setting, by their `columns`."""
    numbers: dict[str, Floats] = {}
    for name in names:
        numbers[name] = as_numbers(results[columns[name]], name)
    scores = pd.DataFrame(numbers)
    if np.isinf(scores).any(axis=None) or scores.empty:
        raise MultiAspectError(
            "expected finite scores of at least one candidate (or NaN where one failed)"
        )
    return scores


def _columns_of_means(results: Iterable[Any]) -> dict[str, Any]:
    """Return the columns of mean scores of a search by metric; empty for frames of other origin."""
    columns = {}
    for column in results:
        name = str(column)
        if name.startswith(_MEAN):
            metric = name.removeprefix(_MEAN)
            columns[metric] = column
    return columns


def _metric_names(metrics: object, columns: Mapping[str, Any]) -> list[str]:
    """Return the names of at least two different metrics with a column; by default, of all."""
    if metrics is None:
        names = list(columns)
    elif isinstance(metrics, Iterable) and not isinstance(metrics, str):
        names = [str(metric) for metric in metrics]
    else:
        names = [str(metrics)]
    distinct = set(names)
    unknown = distinct - set(columns)
    are_different = len(distinct) == len(names)
    if unknown or not are_different or len(distinct) < 2:
        hint = did_you_mean(unknown, columns)
        raise MultiAspectError(
            f"metrics: expected at least two different ones of {choices(columns)}, got "
            f"{choices(names)}; a search has several if its scoring is a dict of "
            f"scorers{hint}"
        )
    return names


def _refuse_lower_is_better(scores: pd.DataFrame) -> None:
    """Raise an error for columns of a table with the name of a measure for which lower is better.

    Values that are never positive are already negated, as by `ranking_scorer`.
    """
    for name in scores:
        has_positive = (scores[name] > 0).any()
        if has_positive and lower_is_better(find_measure(name)):
            raise MultiAspectError(
                f"expected metrics for which higher is better, but {name} is lower-is-better: "
                "negate it, as in "
                f"table.assign(negated=-table[{name!r}]), and use 'negated' as the metric"
            )


def pareto_front(
    results: Any,
    metrics: Sequence[str] | None = None,
    *,
    choose: str | Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
) -> pd.DataFrame | int:
    """Return all settings of a search with the Pareto front marked, or a chosen one.

    A setting is dominated if another scores at least as high on all metrics and higher on one.
    Scores that differ by rounding errors are equal.

    Parameters
    ----------
    results : fitted search, dict or DataFrame
        A fitted `GridSearchCV` (or another search) with a dict of scorers, its ``cv_results_``, or
        a table with one row per setting. Higher scores must be better, as those of `ranking_scorer`
        are.
    metrics : sequence of str, optional
        Names of the scorers, or columns of the table. By default, all scorers of the search;
        required for a table.
    choose : 'knee' or dict of str to float, optional
        Choose a setting: by the maximum weighted mean of the metrics, given the weights, or the
        knee of the front, which has the highest mean of the metrics after these are scaled to [0,
        1] over the front. With `at_least`, the front is that of the settings that reach the limits.
    at_least : dict of str to float, optional
        Choose among the settings with at least these scores on the given metrics, such as a
        baseline's credibility.

    Returns
    -------
    DataFrame or int
        Without `choose`, one row per setting, in the order of ``cv_results_``, with its parameters,
        the mean score of each metric and the bool ``on_front``. Settings that failed (NaN) are
        never on the front. With `choose`, the position of the chosen setting, the first of equally
        good ones.

    Raises
    ------
    MultiAspectError
        If there are fewer than two metrics, a metric is unknown, a score is infinite, weights or
        limits are not numbers, or no setting meets the limits.

    Notes
    -----
    In a search, pass ``scoring=ranking_scorer({"relevance": ..., "credibility": ...})`` and
    ``refit=functools.partial(ma.pareto_front, choose="knee")``. The scores of the chosen setting
    were used to select it, so they are optimistic: evaluate it on other queries.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> metrics = ["relevance", "credibility"]
    >>> rows = [[1, 0.5, 0.1], [2, 0.45, 0.3], [3, 0.3, 0.2]]
    >>> table = pd.DataFrame(rows, columns=["alpha", *metrics])
    >>> ma.pareto_front(table, metrics)
       alpha  relevance  credibility  on_front
    0      1       0.50          0.1      True
    1      2       0.45          0.3      True
    2      3       0.30          0.2     False
    >>> ma.pareto_front(table, metrics, choose={"relevance": 9, "credibility": 1})
    0
    >>> ma.pareto_front(table, metrics, choose={"relevance": 1}, at_least={"credibility": 0.2})
    1
    """
    params, scores = _read_results(results, metrics)
    if choose is not None:
        limits = {}
        if at_least is not None:
            limits = _metric_numbers("at_least", at_least, scores, low=-np.inf)
        return _choose_setting(scores.reset_index(drop=True), choose, limits)
    if at_least is not None:
        raise MultiAspectError("at_least limits the settings to choose from: pass choose as well")
    scores["on_front"] = is_on_front(scores.to_numpy())
    return pd.concat([params, scores], axis=1)


def _choose_setting(
    scores: pd.DataFrame, choose: str | Mapping[str, float], limits: dict[str, float]
) -> int:
    """Return the position of the chosen setting, the first one of equally good ones.

    Parameters
    ----------
    scores : DataFrame of shape (n_settings, n_metrics)
        The scores, with positions as index.
    choose : 'knee' or mapping of str to float
        See `pareto_front`.
    limits : dict of str to float
        The minimum of some of the metrics.
    """
    if isinstance(choose, str):
        if choose != "knee":
            raise MultiAspectError(
                f"choose: expected 'knee' or a dict of weights, got {shown(choose)}"
            )
        allowed = _allowed_settings(scores, limits)
        worth = _heights_of_front(allowed.to_numpy())
    else:
        weights = _metric_numbers("choose", choose, scores, low=0)
        if not any(weights.values()):
            raise MultiAspectError(f"choose: expected at least one positive weight, got {weights}")
        allowed = _allowed_settings(scores, limits)
        weighted = [weight * allowed[name].to_numpy() for name, weight in weights.items()]
        worth = np.sum(weighted, axis=0)
    best = int(np.argmax(worth))
    return int(allowed.index[best])


def _allowed_settings(scores: pd.DataFrame, limits: dict[str, float]) -> pd.DataFrame:
    """Return the scores of settings that did not fail and reach the limits, or raise an error."""
    allowed = scores.dropna()
    if allowed.empty:
        raise MultiAspectError("every setting failed: all scores are NaN")
    for name, limit in limits.items():
        maximum = allowed[name].max()
        if maximum < limit:
            raise MultiAspectError(
                f"at_least: no setting scores at least {limit:g} on {name}; the maximum of those "
                f"that meet the other limits is {maximum:g}"
            )
        allowed = allowed[allowed[name] >= limit]
    return allowed


def _heights_of_front(values: Floats) -> Floats:
    """Return the mean of the metrics of each setting, scaled to [0, 1]; -inf off the front.

    The maximum is at the knee. `values` have the shape (n_settings, n_metrics).
    """
    is_front = is_on_front(values)
    front_values = values[is_front]
    low = front_values.min(axis=0)  # (n_metrics,)
    high = front_values.max(axis=0)
    # A metric that is constant on the front is 0 there, not 0 / 0.
    width = np.where(high > low, high - low, 1.0)
    scaled = (values - low) / width
    return np.where(is_front, scaled.mean(axis=1), -np.inf)


def _metric_numbers(
    parameter: str, given: object, scores: pd.DataFrame, *, low: float
) -> dict[str, float]:
    """Return a parameter that maps some of the metrics to numbers, which are at least `low`."""
    if not isinstance(given, Mapping):
        raise MultiAspectError(
            f"{parameter}: expected a dict of metrics to numbers, got {shown(given)}"
        )
    refuse_unknown(given, scores, "metrics", parameter)
    numbers = {}
    for name, value in given.items():
        parse = real(f"{parameter} of {name}", low=low)
        numbers[name] = parse(value)
    return numbers
