"""Correlation between the system rankings of measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import choice, count, proportion, random_seed
from ..errors import MultiAspectError, choices, parameter, warn_once
from ..evaluation.long_frames import read_long_frame
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters_apply,
    check_drawn_clusters,
    clusters_of_topics,
    read_clusters,
)
from ..kernels.intervals import percentile_interval
from ..kernels.mean_errors import Clusters
from ._significance import resample_topics
from ._value_matrices import read_oriented

METHODS = ("kendall", "tau_ap", "tau_ap_b", "tau_gap", "spearman", "pearson", "rbo")

#: Number of decimals for comparisons, so that the order of the summands of a mean makes no
#: difference.
DECIMALS = 12

Kernel = Callable[[Floats], Floats]


def correlation(
    perquery: Any,
    method: str = "kendall",
    rank_by: str = "mean",
    *,
    p: float = 0.9,
    top: int | None = None,
    ci: float | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    cluster: ClusterSpec = None,
) -> pd.DataFrame:
    """Correlate the system rankings of measures.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. Values of measures where lower is better, such as
        ESL, are recognised by the record of `pt_multiaspect.evaluate`, or by their labels, and
        negated.
    method : {'kendall', 'tau_ap', 'tau_ap_b', 'tau_gap', 'spearman', 'pearson', 'rbo'}, default 'kendall'
        Kendall's τ-b of the scores, Yilmaz's τ_AP, its symmetric form for ties, Gao and Oard's
        τ_GAP, Spearman's ρ with mean ranks for ties, Pearson's r of the scores, or rank-biased
        overlap. See `tau_ap` and `rank_correlation` on ties and ranges.
    rank_by : {'mean', 'query'}, default 'mean'
        What systems are ranked by: their means over topics, or the values of each topic, in which
        case the result is the mean of the correlations over topics.
    p : float in (0, 1), default 0.9
        Persistence of rank-biased overlap. Not used by other methods.
    top : int, optional
        Correlate only the best systems: for each row, this number of systems with the highest means
        by the reference, and those tied with the last of them. They are chosen once, not anew for
        each bootstrap sample. Requires ``rank_by='mean'``.
    ci : float in (0, 1), optional
        Confidence level of bootstrap percentile intervals, such as 0.95. Topics are resampled.
    n_resamples : int, default 1000
        Number of bootstrap samples.
    seed : int, default 0
        Random seed. The same seed gives the same result.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        Measures of the frame; all by default. A mapping ``{alias: measure}`` says which measures
        the names refer to, for frames without the record, such as those read from files. For values
        that are not those of a measure, give 'higher' or 'lower', whichever is better.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.
        Then clusters are resampled. Requires `ci`.

    Returns
    -------
    DataFrame
        Without `ci`, the correlation matrix. The measure of a row is the *reference* (the true
        ranking), which matters for τ_AP, τ_GAP and with `top`; other correlations are symmetric.
        With `ci`, a frame with columns ``reference measure correlation low high`` and one row per
        ordered pair of measures.

    Raises
    ------
    MultiAspectError
        If there are fewer than two systems or topics, a value is NaN, a measure is missing for some
        systems, systems have different topics, rows are duplicated, values of a lower-is-better
        measure have been negated, or a parameter is out of range. With `cluster`, if a topic has no
        cluster or several, all topics are in one, or there is no `ci`.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better. If a correlation is undefined because a measure gives all systems the
        same score. By mean, it is NaN. By query, such topics are excluded from the mean (NaN if no
        topics remain). If clusters are fewer than 30, too few for percentile intervals; if none are
        given for intervals, but query ids look like those of groups (``106_1``, ``106_2``).

    Notes
    -----
    Scores are rounded to 12 decimals. Means are arithmetic means of the values. Values of
    lower-is-better measures, such as ESL, are negated. τ_AP breaks some ties by the names of the
    systems, compared as strings, so results do not depend on the order of rows.

    See Kendall (1945) for ties in Kendall's τ, Yilmaz et al. (2008) for τ_AP, Gao and Oard (2015)
    for τ_GAP and Webber et al. (2010) for rank-biased overlap. The best systems by one measure are
    alike, so that correlations with `top` are lower than those of all systems, and vary more.
    Bootstrap percentile intervals of correlations are biased downwards, as resampling topics adds
    noise to the rankings; they are extended to the estimate.

    The script published by the authors of TOMA (Maistro et al. 2021) correlates two lists of run
    *names by position* rather than the scores or ranks of each run. For nearly identical orders of
    60 runs, this gives about 0.2. The correlations in their Table 4 are therefore not comparable
    with τ of scores, which this function computes.

    References
    ----------
    - M. G. Kendall. The Treatment of Ties in Ranking Problems. Biometrika 33, 1945.
    - E. Yilmaz, J. A. Aslam, S. Robertson. A New Rank Correlation Coefficient for Information
      Retrieval. SIGIR 2008.
    - N. Gao, D. W. Oard. A Head-Weighted Gap-Sensitive Correlation Coefficient. SIGIR 2015.
    - J. Urbano, M. Marrero. The Treatment of Ties in AP Correlation. ICTIR 2017.
    - W. Webber, A. Moffat, J. Zobel. A Similarity Measure for Indefinite Rankings. TOIS 28, 2010.
    - M. Maistro, L. C. Lima, J. G. Simonsen, C. Lioma. Principled Multi-Aspect Evaluation Measures
      of Rankings. CIKM 2021, §4.3.1.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = {"AP": [0.1, 0.3, 0.2, 0.4], "RR": [0.2, 0.5, 0.6, 0.9]}
    >>> perquery = pd.DataFrame(
    ...     [
    ...         (f"run {system}", qid, measure, score)
    ...         for measure in scores
    ...         for qid in ("q1", "q2")
    ...         for system, score in enumerate(scores[measure])
    ...     ],
    ...     columns=["name", "qid", "measure", "value"],
    ... )
    >>> correlation(perquery).round(4)
            AP      RR
    AP  1.0000  0.6667
    RR  0.6667  1.0000
    >>> correlation(perquery, "tau_ap", rank_by="query").round(4)
            AP      RR
    AP  1.0000  0.6667
    RR  0.6667  1.0000
    >>> correlation(perquery, ci=0.95, n_resamples=10).round(4)
      reference measure  correlation     low    high
    0        AP      RR       0.6667  0.6667  0.6667
    1        RR      AP       0.6667  0.6667  0.6667
    """
    kernel = kernel_of(method, p)
    check_rank_by = choice("rank_by", "mean", "query")
    check_rank_by(rank_by)
    level = None
    if ci is not None:
        check_level = proportion("ci")
        level = check_level(ci)
    check_n_resamples = count("n_resamples")
    n_resamples = check_n_resamples(n_resamples)
    seed = random_seed(seed)
    frame = read_long_frame(perquery)
    # Clusters only matter to intervals; without a level, they are an error.
    cluster_of_topic = None
    if level is not None or cluster is not None:
        cluster_of_topic = read_clusters(cluster, frame)
        check_clusters_apply(cluster_of_topic, level)
    read = read_oriented(frame, measures, "correlation")
    labels = read.labels
    values = read.values  # systems × topics × measures
    clusters = check_drawn_clusters(clusters_of_topics(cluster_of_topic, read.qids))
    best = None
    if top is not None:
        n_best = _check_top(top, rank_by)
        best = _best_systems(values, n_best)
    statistic = _statistic(values, kernel, rank_by, best)
    equal_weights = np.ones(clusters.n_topics)
    correlations = statistic(equal_weights)
    _warn_of_constants(values, labels, method, rank_by, best)
    if level is None:
        return pd.DataFrame(correlations, index=labels, columns=labels)
    replicates = _bootstrap(statistic, clusters, n_resamples, seed)
    low, high = percentile_interval(replicates, level, correlations)
    return _frame_of_intervals(labels, correlations, low, high)


def _check_top(top: int, rank_by: str) -> int:
    """Return the number of best systems, after checking that means choose them."""
    if rank_by == "query":
        raise MultiAspectError(
            "top: expected rank_by='mean', by which the best systems are chosen, got 'query'"
        )
    check_number = count("top", low=2)
    return check_number(top)


def _statistic(
    values: Floats, kernel: Kernel, rank_by: str, best: list[Ints] | None
) -> Callable[[Floats], Floats]:
    """Return a function that correlates measures by topics with certain weights.

    It takes the weights, shape (n_topics,): equal ones, or the numbers of draws in a bootstrap
    sample. It returns correlations, references × measures.

    Parameters
    ----------
    values : ndarray, systems × topics × measures
    kernel : callable
        Correlates scores, measures × systems.
    rank_by : {'mean', 'query'}
        Whether means over topics are correlated, or the values of each topic.
    best : list of ndarray of int, optional
        The best systems by each reference, which are correlated alone. Only with 'mean'.
    """
    if rank_by == "query":
        # The correlation of a topic has no weights: compute it once for all samples.
        by_query = _correlate_by_query(values, kernel)
        is_defined = ~np.isnan(by_query)
        # 0 instead of NaN, so that sums over topics are numbers.
        matrices = np.where(is_defined, by_query, 0.0)
        return partial(_mean_of_defined, matrices=matrices, is_defined=is_defined)
    if best is not None:
        kernel = partial(_correlate_best, best=best, kernel=kernel)
    return partial(_correlate_means, values=values, kernel=kernel)


def _bootstrap(
    statistic: Callable[[Floats], Floats], clusters: Clusters, n_resamples: int, seed: int
) -> Floats:
    """Return the statistic of each bootstrap sample, samples × references × measures.

    Clusters of topics are drawn with replacement. The weight of a topic is its number of draws.
    """
    rng = np.random.default_rng(seed)
    counts = resample_topics(clusters, n_resamples, rng)  # topics × samples
    replicates = []
    for count_of_topic in counts.T:
        weights = count_of_topic.astype(np.float64)
        replicates.append(statistic(weights))
    return np.stack(replicates)


def _frame_of_intervals(
    labels: list[Any], correlations: Floats, low: Floats, high: Floats
) -> pd.DataFrame:
    """Return one row per ordered pair of measures, given matrices of references × measures."""
    rows = []
    for reference, measure in permutations(range(len(labels)), 2):
        cell = (reference, measure)
        rows.append(
            {
                "reference": labels[reference],
                "measure": labels[measure],
                "correlation": correlations[cell],
                "low": low[cell],
                "high": high[cell],
            }
        )
    return pd.DataFrame(rows, columns=["reference", "measure", "correlation", "low", "high"])


def rank_correlation(
    reference: Iterable[float], other: Iterable[float], method: str = "kendall", *, p: float = 0.9
) -> float:
    """Correlate two lists of scores of the same systems.

    Parameters
    ----------
    reference, other : iterable of float
        Scores of the systems, in the same order. Higher is better. Series also match by position;
        different systems or orders in their indexes are an error.
    method : {'kendall', 'tau_ap', 'tau_ap_b', 'tau_gap', 'spearman', 'pearson', 'rbo'}, default 'kendall'
        The correlation coefficient; see Notes.
    p : float in (0, 1), default 0.9
        Persistence of rank-biased overlap.

    Returns
    -------
    float
        The correlation. NaN if undefined: if all scores in one of the lists are equal (except for
        'rbo').

    Raises
    ------
    MultiAspectError
        If the lists differ in length, have fewer than two scores or contain a score that is not a
        finite number, or if a parameter is out of range.

    Notes
    -----
    - 'kendall': τ-b in [−1, 1], as ``scipy.stats.kendalltau``.
    - 'tau_ap': in [−1, 1], see `tau_ap`.
    - 'tau_ap_b': τ_AP,b in [−1, 1] (Urbano and Marrero 2017), for two rankings with ties: the mean
      of both directions of τ_AP, in which a system is compared with those above its tied group,
      systems of the first group are left out, and pairs that the reference ties are wrong.
      ``tauap_b`` of autojudge-evaluate and ircor.
    - 'tau_gap': in [−1, 1] (Gao and Oard 2015). For each system but the first in the ranking by
      `other`, the fraction of the gaps between the scores of `reference` of this system and of
      those above it that belong to pairs in the right order; τ_GAP is 2 · (mean of these fractions)
      − 1. Systems without any gap to those above are left out (NaN if no system remains). Not
      symmetric; systems tied in `other` keep the order given.
    - 'spearman': Pearson's correlation of mean ranks in [−1, 1], as ``scipy.stats.spearmanr``.
    - 'pearson': r of the scores in [−1, 1], as ``scipy.stats.pearsonr``.
    - 'rbo': extrapolated rank-biased overlap (Webber et al. 2010) of the two complete rankings, in
      (0, 1], 1 for equal rankings. With p = 0.9, the first ten ranks have 86 % of the weight. Tied
      systems share the first of their ranks, and the agreement at depth d is ``2 |A ∩ B| / (|A| +
      |B|)`` for the sets A and B of systems down to d. As both lists rank the same systems, values
      of unrelated rankings are well above 0.

    References
    ----------
    - N. Gao, D. W. Oard. A Head-Weighted Gap-Sensitive Correlation Coefficient. SIGIR 2015.
    - J. Urbano, M. Marrero. The Treatment of Ties in AP Correlation. ICTIR 2017.
    - W. Webber, A. Moffat, J. Zobel. A Similarity Measure for Indefinite Rankings. TOIS 28, 2010.

    Examples
    --------
    Ten documents in the order 2 3 1 5 4 7 8 10 6 9, compared with their ideal order:

    >>> ideal, retrieved = range(10, 0, -1), [8, 10, 9, 6, 7, 2, 5, 4, 1, 3]
    >>> round(rank_correlation(ideal, retrieved, "spearman"), 4)
    0.8545
    """
    kernel = kernel_of(method, p)
    scores = _scores(reference, other)
    return float(kernel(scores)[0, 1])


def tau_ap(reference: Iterable[float], other: Iterable[float]) -> float:
    """Compute the AP correlation (Yilmaz et al. 2008), Kendall's τ with more weight on top ranks.

    For each system but the first in the ranking by `other`, compute the fraction of systems above
    it that `reference` does not rank below it. τ_AP is 2 · (mean of these fractions) − 1.

    Parameters
    ----------
    reference : iterable of float
        Scores that define the true ranking. Higher is better.
    other : iterable of float
        Scores of the same systems that define the estimated ranking.

    Returns
    -------
    float
        The correlation in [−1, 1], 1 for equal rankings. Not symmetric. NaN if all scores in one of
        the lists are equal.

    Raises
    ------
    MultiAspectError
        In the same cases as for `rank_correlation`.

    Notes
    -----
    The paper defines τ_AP for rankings without ties. Here, systems tied in `other` keep the order
    given (`correlation` sorts them by name), and systems tied in `reference` count as correctly
    ordered in any order. Therefore τ_AP of a ranking with itself is always 1, and ties in the
    reference slightly increase the value.

    References
    ----------
    E. Yilmaz, J. A. Aslam, S. Robertson. A New Rank Correlation Coefficient for Information
    Retrieval. SIGIR 2008.

    Examples
    --------
    A swap at the top costs more than a swap at the bottom:

    >>> round(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), 4), round(tau_ap([4, 3, 2, 1], [4, 3, 1, 2]), 4)
    (0.3333, 0.7778)
    """
    return rank_correlation(reference, other, "tau_ap")


def kernel_of(method: str, p: float) -> Kernel:
    """Return the function that correlates scores, measures × systems, by a method.

    It returns the matrix of correlations, references × measures.
    """
    check_method = choice("method", *METHODS)
    check_persistence = proportion("p")
    check_method(method)
    persistence = check_persistence(p)
    kernels: dict[str, Kernel] = {
        "kendall": _kendall,
        "tau_ap": _tau_ap,
        "tau_ap_b": _tau_ap_b,
        "tau_gap": _tau_gap,
        "spearman": _spearman,
        "pearson": _pearson,
        "rbo": partial(_rbo, p=persistence),
    }
    return kernels[method]


def round_scores(scores: Floats) -> Floats:
    """Round scores to `DECIMALS` decimals, so that rounding errors do not break ties."""
    rounded = np.array(scores, dtype=np.float64)
    # Larger numbers have no decimals in double precision, and NumPy would change them.
    can_have_decimals = np.abs(rounded) < 1e15
    rounded[can_have_decimals] = rounded[can_have_decimals].round(DECIMALS)
    return rounded


def _check_same_systems(reference: object, other: object) -> None:
    """Check that two series have the same systems in the same order, as scores match by position.

    Series with indexes other than names, such as numbers, and other lists are not compared.
    """
    first = _index_of(reference)
    second = _index_of(other)
    has_same_order = first.equals(second)
    has_same_length = len(first) == len(second)
    if has_same_order or not has_same_length:
        return  # other lengths are an error of all lists, see `_scores`
    has_same_systems = first.isin(second).all() and second.isin(first).all()
    if has_same_systems:
        raise MultiAspectError(
            "the indexes of the two series have the same elements in different orders, but scores "
            "match by position: align them with other.reindex(reference.index)"
        )
    first_type = pd.api.types.infer_dtype(first)
    second_type = pd.api.types.infer_dtype(second)
    are_names = first_type == "string" and second_type == "string"
    if are_names:
        only_in_one = first.symmetric_difference(second)
        examples = choices(only_in_one[:5])
        raise MultiAspectError(
            "expected scores of the same systems, got series with different indexes: only one of "
            f"them has {examples}; pass to_numpy() if the systems are the same"
        )


def _index_of(scores: object) -> pd.Index[Any]:
    """Return the index of a series; an empty one for other lists."""
    index = getattr(scores, "index", None)
    if isinstance(index, pd.Index):
        return index
    return pd.Index([])


def _scores(reference: Iterable[float], other: Iterable[float]) -> Floats:
    """Return the rounded scores, 2 × systems, after checking that they match."""
    _check_same_systems(reference, other)
    try:
        first = np.asarray(list(reference), dtype=np.float64)
        second = np.asarray(list(other), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"expected two lists of numbers: {error}") from None
    are_lists = first.ndim == 1 and second.ndim == 1
    if not are_lists or len(first) != len(second):
        raise MultiAspectError(
            f"expected scores of the same systems, got arrays of shapes {first.shape} and "
            f"{second.shape}"
        )
    n_systems = len(first)
    if n_systems < 2:
        raise MultiAspectError(f"expected scores of at least two systems, got {n_systems}")
    scores = np.stack([first, second])
    not_finite = scores[~np.isfinite(scores)]
    if len(not_finite):
        raise MultiAspectError(f"expected finite scores, got {not_finite[0]:g}")
    return round_scores(scores)


def _correlate_means(weights: Floats, values: Floats, kernel: Kernel) -> Floats:
    """Return the correlations, references × measures, of weighted means over topics.

    Parameters
    ----------
    weights : ndarray, shape (n_topics,)
    values : ndarray, systems × topics × measures
    kernel : callable
        Correlates scores, measures × systems.
    """
    weighted_sums = np.tensordot(values, weights, axes=(1, 0))  # systems × measures
    means = weighted_sums / weights.sum()
    scores = round_scores(means.T)
    return kernel(scores)


def _correlate_by_query(values: Floats, kernel: Kernel) -> Floats:
    """Return the correlations on each topic, topics × references × measures.

    `values` are systems × topics × measures, and the kernel correlates scores, measures × systems.
    """
    n_topics = values.shape[1]
    matrices = []
    for topic in range(n_topics):
        values_of_topic = values[:, topic]  # systems × measures
        scores = round_scores(values_of_topic.T)
        matrices.append(kernel(scores))
    return np.stack(matrices)


def _mean_of_defined(weights: Floats, matrices: Floats, is_defined: Bools) -> Floats:
    """Return the weighted mean of each correlation over the topics on which it is defined.

    It is NaN if there is no such topic.

    Parameters
    ----------
    weights : ndarray, shape (n_topics,)
    matrices : ndarray, topics × references × measures
        The correlations, 0 where they are not defined.
    is_defined : ndarray of bool, topics × references × measures
    """
    weighted_sum = np.tensordot(weights, matrices, axes=1)  # references × measures
    weight_of_defined = np.tensordot(weights, is_defined, axes=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(weighted_sum / weight_of_defined)


def _best_systems(values: Floats, n_best: int) -> list[Ints]:
    """Return the indices of the best systems by each measure, and of those tied with the last.

    `values` are systems × topics × measures.
    """
    means = values.mean(axis=1)  # systems × measures
    scores = round_scores(means.T)  # measures × systems
    n_systems = scores.shape[1]
    n_chosen = min(n_best, n_systems)
    ascending = np.sort(scores, axis=1)
    lowest_of_best = ascending[:, n_systems - n_chosen]
    is_best = scores >= lowest_of_best[:, None]
    return [np.flatnonzero(is_best_by_measure) for is_best_by_measure in is_best]


def _correlate_best(scores: Floats, best: list[Ints], kernel: Kernel) -> Floats:
    """Return correlations, references × measures, each over the best systems by the reference.

    Parameters
    ----------
    scores : ndarray, measures × systems
    best : list of ndarray of int
        The indices of the best systems by each reference.
    kernel : callable
        Correlates scores, measures × systems.
    """
    rows = []
    for reference, systems in enumerate(best):
        scores_of_best = scores[:, systems]
        correlations = kernel(scores_of_best)
        rows.append(correlations[reference])
    return np.stack(rows)


def _warn_of_constants(
    values: Floats,
    measures: list[object],
    method: str,
    rank_by: str,
    best: list[Ints] | None,
) -> None:
    """Warn if a measure gives all systems the same score, so that correlations are undefined.

    Parameters
    ----------
    values : ndarray, systems × topics × measures
    measures : list
        The labels of the measures.
    method, rank_by : str
        The parameters of `correlation`.
    best : list of ndarray of int, optional
        The best systems by each reference, which are correlated alone.
    """
    if method == "rbo":  # which is always defined
        return
    if rank_by == "query":
        statement = _constant_on_topics(values, measures)
    elif best is None:
        statement = _constant_on_average(values, measures)
    else:
        statement = _constant_among_best(values, measures, best)
    if statement is None:
        return
    remedy = parameter("method", "rbo")
    warn_once(
        f"{method} is undefined if a measure gives all systems the same score: {statement}. "
        f"Omit such measures or topics, or use {remedy}"
    )


def _constant_on_topics(values: Floats, measures: list[object]) -> str | None:
    """Return which measure gives all systems the same score on most topics; None if none does.

    `values` are systems × topics × measures.
    """
    scores = round_scores(values)  # systems × topics × measures
    is_constant = _are_equal(scores)  # topics × measures
    n_constant_of_measure = is_constant.sum(axis=0)
    worst = int(n_constant_of_measure.argmax())
    n_constant = n_constant_of_measure[worst]
    if n_constant == 0:
        return None
    return (
        f"{measures[worst]} does so on {n_constant} of {len(is_constant)} topics, which are "
        "excluded from the mean"
    )


def _constant_on_average(values: Floats, measures: list[object]) -> str | None:
    """Return which measure gives all systems the same mean; None if none does.

    `values` are systems × topics × measures.
    """
    means = values.mean(axis=1)
    is_constant = _are_equal(round_scores(means))  # per measure
    if not is_constant.any():
        return None
    first_constant = int(is_constant.argmax())
    return f"{measures[first_constant]} does so on average, so its correlations are NaN"


def _constant_among_best(values: Floats, measures: list[object], best: list[Ints]) -> str | None:
    """Return which measure gives the best systems by a reference the same mean; None if none does.

    Each measure is a reference. The measure that does so for most of them is named, with the first
    of these. `values` are systems × topics × measures.
    """
    means = values.mean(axis=1)
    scores = round_scores(means)  # systems × measures
    is_constant = np.stack([_are_equal(scores[systems]) for systems in best])
    n_constant_of_measure = is_constant.sum(axis=0)  # of references × measures
    worst = int(n_constant_of_measure.argmax())
    if n_constant_of_measure[worst] == 0:
        return None
    references = np.flatnonzero(is_constant[:, worst])
    reference = measures[references[0]]
    return f"{measures[worst]} does so among the best by {reference}, so this correlation is NaN"


def _are_equal(scores: Floats) -> Bools:
    """Return whether the scores of all systems, the first axis, are equal."""
    score_of_first = scores[0]
    return np.asarray((scores == score_of_first).all(axis=0))


def _kendall(scores: Floats) -> Floats:
    """Return Kendall's τ-b of scores, measures × systems: the cosine of the signs of pairs."""
    n_systems = scores.shape[1]
    first, second = np.triu_indices(n_systems, 1)  # each pair of systems once
    scores_of_first = scores[:, first]
    scores_of_second = scores[:, second]
    differences = scores_of_first - scores_of_second
    signs = np.sign(differences)  # measures × pairs of systems
    return _normalise(signs @ signs.T)


def _spearman(scores: Floats) -> Floats:
    """Return Spearman's ρ of scores, measures × systems: the cosine of centred ranks."""
    from scipy.stats import rankdata

    n_systems = scores.shape[1]
    mean_rank = (n_systems + 1) / 2
    ranks = np.asarray(rankdata(scores, axis=1), dtype=np.float64)
    deviations = ranks - mean_rank
    return _normalise(deviations @ deviations.T)


def _pearson(scores: Floats) -> Floats:
    """Return Pearson's r of scores, measures × systems: the cosine of centred scores."""
    # Equal scores become exactly 0, which a mean that is subtracted would not ensure.
    first_score = scores[:, :1]
    differences = scores - first_score
    # Scaled to at most 1, so that the squares of large scores are finite.
    magnitudes = np.abs(differences)
    largest = magnitudes.max(axis=1, keepdims=True)
    zeros = np.zeros_like(differences)
    scaled = np.divide(differences, largest, out=zeros, where=largest > 0)
    mean = scaled.mean(axis=1, keepdims=True)
    deviations = scaled - mean
    return _normalise(deviations @ deviations.T)


def _normalise(products: Floats) -> Floats:
    """Return the cosines of vectors, given the matrix of their inner products.

    Those of vectors of length 0 are NaN.
    """
    squared_lengths = np.diag(products)
    products_of_lengths = np.sqrt(np.outer(squared_lengths, squared_lengths))
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines: Floats = products / products_of_lengths
    return cosines.clip(-1, 1)


def _ranks(scores: Floats) -> Ints:
    """Return the ranks of systems from 0 by each measure; tied systems keep the order given."""
    systems_from_best = np.argsort(-scores, axis=1, kind="stable")
    # The rank of a system is its position among these: the inverse permutation.
    return np.argsort(systems_from_best, axis=1)


def _is_constant(scores: Floats) -> Bools:
    """Return a mask of the measures that give all systems the same score."""
    first_score = scores[:, :1]
    is_equal = scores == first_score
    return np.asarray(is_equal.all(axis=1))


def _tau_ap(scores: Floats) -> Floats:
    """Return Yilmaz's τ_AP of scores, measures × systems, as references × measures.

    A measure ranks the systems. For each system but the first, take the fraction of the systems
    above it that the reference does not rank below it. τ_AP is 2 · (mean of these fractions) − 1.
    """
    n_systems = scores.shape[1]
    # Each system is compared with all others. By each measure: measures × systems × others.
    rank = _ranks(scores)  # from 0
    rank_of_system = rank[:, :, None]
    rank_of_other = rank[:, None, :]
    is_other_above = rank_of_other < rank_of_system
    # A rank from 0 is the number of systems above. The first system has none: 1 avoids 0 / 0.
    n_above = np.maximum(rank_of_system, 1)
    share_of_other = is_other_above / n_above
    # By each reference, which are the same measures: references × systems × others.
    score_of_system = scores[:, :, None]
    score_of_other = scores[:, None, :]
    agrees = score_of_other >= score_of_system
    sum_of_fractions = _sum_shares(agrees, share_of_other)  # references × measures
    mean_fraction = sum_of_fractions / (n_systems - 1)
    result = 2 * mean_fraction - 1
    # Equal scores are no ranking, neither of the reference nor of the measure.
    is_constant = _is_constant(scores)
    result[is_constant, :] = np.nan
    result[:, is_constant] = np.nan
    return np.asarray(result.clip(-1, 1), dtype=np.float64)


def _sum_shares(agrees: Bools, share: Floats) -> Floats:
    """Return the sum of the shares of the pairs on which a reference agrees with a measure.

    The result is references × measures.

    Parameters
    ----------
    agrees : ndarray of bool, references × systems × others
        Whether the reference agrees that the other system is above. References are the measures in
        the same order.
    share : ndarray, measures × systems × others
        The share of the other system in those above, 0 if it is not above by the measure.
    """
    # With the pairs of systems in one axis, the sum over pairs is a matrix product.
    n_measures = len(share)
    agrees_on_pair = agrees.reshape(n_measures, -1).astype(np.float64)  # references × pairs
    share_of_pair = share.reshape(n_measures, -1)  # measures × pairs
    return np.asarray(agrees_on_pair @ share_of_pair.T)


def _tau_ap_b(scores: Floats) -> Floats:
    """Return τ_AP,b of scores, measures × systems: the mean of both directions of τ_AP.

    The result is measures × measures. A measure ranks the systems. For each system below others,
    take the fraction of the systems above it that the reference has above it, too. One direction is
    2 · (mean of these fractions) − 1. As opposed to `_tau_ap`, ties are no order.
    """
    is_other_above = _are_others_above(scores)  # measures × systems × others
    n_above = is_other_above.sum(axis=2)  # measures × systems
    # The first system, and those tied with it, have none above: 1 avoids 0 / 0.
    divisor = np.maximum(n_above, 1)
    share_of_other = is_other_above / divisor[:, :, None]
    # A reference agrees if it has the other system above, too. References are the same measures.
    agrees = is_other_above
    sum_of_fractions = _sum_shares(agrees, share_of_other)  # references × measures
    # Systems that are below others have a fraction. Their number depends on the measure.
    is_below_others = n_above > 0
    n_fractions = is_below_others.sum(axis=1)  # one per measure
    with np.errstate(invalid="ignore"):
        mean_fraction = sum_of_fractions / n_fractions  # NaN for a measure with equal scores
    one_way = 2 * mean_fraction - 1
    both_ways = (one_way + one_way.T) / 2
    return np.asarray(both_ways.clip(-1, 1), dtype=np.float64)


def _tau_gap(scores: Floats) -> Floats:
    """Return Gao and Oard's τ_GAP of scores, measures × systems, as references × measures.

    A measure ranks the systems. For each system, take the gaps between its score and those of the
    systems above it, in the reference's scores, and the fraction of them that belongs to pairs in
    the right order. τ_GAP is 2 · (mean of these fractions) − 1.
    """
    n_measures, n_systems = scores.shape
    rank = _ranks(scores)
    sum_of_fractions = np.zeros((n_measures, n_measures))  # references × measures
    n_fractions = np.zeros((n_measures, n_measures), dtype=np.intp)
    for system in range(n_systems):
        # By each measure, whether the others are above the system: measures × others.
        rank_of_system = rank[:, [system]]
        is_above = (rank < rank_of_system).astype(np.float64)
        # By each reference, the gaps, positive if the others are above: references × others.
        score_of_system = scores[:, [system]]
        gap = scores - score_of_system
        right_gap = gap.clip(0)
        # Sum over the others that are above by the measure.
        sum_of_right_gaps = right_gap @ is_above.T
        sum_of_gaps = np.abs(gap) @ is_above.T
        # If the system has no gap to those above, it is left out.
        has_gap = sum_of_gaps > 0
        no_fraction = np.zeros_like(sum_of_gaps)
        fraction = np.divide(sum_of_right_gaps, sum_of_gaps, out=no_fraction, where=has_gap)
        sum_of_fractions += fraction
        n_fractions += has_gap
    with np.errstate(invalid="ignore"):
        mean_fraction = sum_of_fractions / n_fractions  # NaN if no system remains
    result = 2 * mean_fraction - 1
    is_constant = _is_constant(scores)
    result[:, is_constant] = np.nan
    return np.asarray(result.clip(-1, 1))


def _are_others_above(scores: Floats) -> Bools:
    """Return whether other systems have a higher score than a system, measures × systems × others.

    `scores` are measures × systems.
    """
    score_of_system = scores[:, :, None]
    score_of_other = scores[:, None, :]
    return score_of_other > score_of_system


def _rbo(scores: Floats, p: float) -> Floats:
    """Return the extrapolated rank-biased overlap of scores, measures × systems.

    With the agreement A_d of the systems in the first d ranks of two rankings, from 0 to 1, it is
    (1 − p) / p · Σ_d A_d · p^d + A_n · p^n for n systems. The result is references × measures.
    """
    n_systems = scores.shape[1]
    depths = np.arange(1, n_systems + 1)
    weights = p ** depths.astype(np.float64)
    agreement = _agreement_by_depth(scores)  # references × measures × depths
    weighted_sum = agreement @ weights
    weighted_agreement = (1 - p) / p * weighted_sum
    # Below the last depth, the agreement is assumed to remain the same.
    last_agreement = agreement[:, :, -1]
    weight_of_rest = p**n_systems
    result = weighted_agreement + last_agreement * weight_of_rest
    return np.asarray(result.clip(0, 1))


def _agreement_by_depth(scores: Floats) -> Floats:
    """Return the agreement of the first systems of two rankings, references × measures × depths.

    It is twice the number of systems that both have in the first d ranks, divided by the sum of
    their numbers, which are d, or more if systems are tied at rank d.
    """
    n_systems = scores.shape[1]
    is_other_above = _are_others_above(scores)  # measures × systems × others
    rank = 1 + is_other_above.sum(axis=2)  # tied systems share the first of their ranks
    agreements = []
    for depth in range(1, n_systems + 1):
        is_included = (rank <= depth).astype(np.float64)  # measures × systems
        n_included = is_included.sum(axis=1)
        sum_of_numbers = np.add.outer(n_included, n_included)  # references × measures
        # The product counts the systems that two measures include.
        n_common = is_included @ is_included.T
        agreements.append(2 * n_common / sum_of_numbers)
    return np.stack(agreements, axis=2)
