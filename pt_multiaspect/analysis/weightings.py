"""Dependence of conclusions on the weights of the aspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import count, random_seed
from ..errors import MultiAspectError
from ..evaluation.long_frames import measures_by_label, read_long_frame
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    check_drawn_clusters,
    clusters_of_topics,
    read_clusters,
)
from ..kernels.intervals import percentile_interval
from ..kernels.mean_errors import Clusters, mean_covariances
from ..kernels.rounding import remove_rounding_errors
from ..kernels.weightings import differences_at_corners, nearest_reversal, reversing_weight
from ..measures import AspectMean
from ..views import Block, Cell, Column, Sentence, Table, View, percent
from ._pairs import (
    MAX_SHOWN,
    Pairs,
    pairs_blocks,
    pairs_of_runs,
    rows_per_pair,
    share,
    significant_share,
)
from ._significance import (
    ALPHA,
    clusters_note,
    corrector,
    largest_of_pairs,
    mean_differences,
    resample_weights,
    slices,
    t_test_levels,
    topic_differences,
    unordered_pairs,
)
from ._value_matrices import directions, matrix, rows_of_measures, select_measures
from ._weighted_values import (
    WeightedValues,
    combine_aspects,
    evaluate_weightings,
    find_labels_of_aspects,
    read_mean,
    reads_rankings,
)

#: The confidence level of the intervals of fractions.
CI = 0.95

#: Between these fractions of the weightings, the order of a pair is open.
_FEW = 0.1
_MANY = 0.9
_OPEN_IN_WORDS = "between a tenth and nine tenths of all weightings"

#: The fraction of the weightings under which a difference that remains significant is so.
_MOST = 0.95
_UNDER_MOST_IN_WORDS = "under at least 95 % of all weightings"


@dataclass(frozen=True, repr=False)
class Weightings(View):
    """Result of `weightings`.

    Attributes
    ----------
    pairs : DataFrame
        One row per pair of runs: ``a`` and ``b``; ``n_topics``; ``difference``, the mean of a minus
        the mean of b under the weights of the measure, and its ``p``; ``fraction``, the fraction of
        weightings under which a has the higher mean, with its interval ``low high``, and
        ``fraction_lower``, that under which it has the lower one; ``fraction_significant``, the
        fraction under which the difference has the sign of ``difference`` and p is below .05;
        ``distance``, the weight that must at least be moved from aspects to others to reverse the
        order, NaN if no weighting does, and ``reversal``, that weighting in words; ``uir``, the
        unanimous improvement ratio, with ``n_better`` and ``n_worse``, the numbers of topics on
        which a, or b, is at least as good on every aspect and better on one.
    aspects : DataFrame
        One row per pair and aspect: ``a b aspect``; ``difference``, that of the means on the
        aspect, positive where a is better, also if lower is better (the sum of weight · difference
        is that of the pair); ``weight``, its weight in the measure; ``nearest``, that in the
        nearest weighting which reverses the order; ``reverses_at``, the weight from which the order
        reverses if those of the others change in proportion. NaN if none does, and if the measure
        is not linear in its weights.
    covariances : ndarray of float, shape (n_pairs, n_aspects, n_aspects)
        The covariances of the differences of means on the aspects; NaN if the measure is not linear
        in its weights.
    weights, at_least : dict of str to float
        The weights of the measure, normalised, and the least ones, by aspect.
    measure : Measure
        The measure whose weights vary.
    correction : str or None
        The correction of p for multiple testing: None, or 'holm' in a result of `robustness`.

    Examples
    --------
    See `weightings`.
    """

    pairs: pd.DataFrame
    aspects: pd.DataFrame
    covariances: Floats
    weights: dict[str, float]
    at_least: dict[str, float]
    measure: ir_measures.Measure
    correction: str | None
    #: By pair: whether each run is better under some weighting.
    _is_changing: Bools
    #: The number of sampled weightings; None if the fractions are exact.
    _n_sampled: int | None
    #: The degrees of freedom of the tests.
    _freedom: float
    #: A note on the clusters of topics; empty without clusters.
    _clusters: str

    @property
    def summary(self) -> str:
        """The number of pairs whose order and significance depend on the weights, in a sentence."""
        pairs = self.pairs
        n_changing = int(self._is_changing.sum())
        changing = share(n_changing, len(pairs), "pair", "changes its", "change their")
        under = "under some weighting"
        if self._n_sampled is not None:
            under += f" (of {self._n_sampled} sampled, and those that give one aspect all weight)"
        is_above_few = pairs["fraction"] > _FEW
        is_below_many = pairs["fraction"] < _MANY
        n_open = (is_above_few & is_below_many).sum()
        order = f"{changing} order {under}, {n_open} for {_OPEN_IN_WORDS}."
        return f"{order} {self._significance_in_words()}"

    def _significance_in_words(self) -> str:
        """Return how many of the significant differences remain so under most weightings."""
        is_significant = self.pairs["p"] < ALPHA
        tested = self.pairs[is_significant]
        is_kept = tested["fraction_significant"] >= _MOST
        level = f"p < {ALPHA:g} under the weights of the measure"
        n_kept = int(is_kept.sum())
        return significant_share(n_kept, len(tested), level, _UNDER_MOST_IN_WORDS)

    def _title(self) -> str:
        return f"Weightings of {self.measure}"

    def _content(self) -> list[Block]:
        return [Sentence(self.summary), *self._pairs_blocks()]

    def _as_table(self) -> Table:
        """Return the table of all pairs, with the explanation of its columns."""
        table, *notes = self._pairs_blocks(most=len(self.pairs))
        assert isinstance(table, Table)
        sentences = [note for note in notes if isinstance(note, Sentence)]
        return replace(table, notes=sentences)

    def _pairs_blocks(self, most: int = MAX_SHOWN) -> list[Block]:
        """Return the table of the pairs, at most `most` of them, and notes on it."""
        columns = [
            Column("difference", in_text="diff."),
            Column("p"),
            Column("a higher"),
            Column("significant", in_text="sig."),
            Column("moved"),
            Column("reversed by", left=True, shorten=30),
        ]
        if self.correction == "holm":
            correction = "Holm"
        else:
            correction = "not corrected"
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.items())
        level = f"{100 * CI:g} %"
        note = (
            f"Weights of the measure: {weights}. a higher: fraction of all weightings under which "
            f"a has the higher mean, with its {level} interval over topics. significant "
            f"(sig.): fraction with the same sign and p < {ALPHA:g} ({correction}). moved: the "
            "least weight to move to reverse the order."
        )
        # If there are too many pairs, those whose fractions are nearest to one half are shown.
        balance = self.pairs["fraction"] - 0.5
        blocks = pairs_blocks(self.pairs, balance, columns, _cells_of_pair, note, most=most)
        if self._clusters:
            blocks.append(Sentence(f"{self._clusters}."))
        return blocks


def _cells_of_pair(row: Mapping[Any, Any]) -> list[str | Cell]:
    """Return the cells of a pair after its difference and p: fractions, distance and reversal."""
    # Rounding must not move a fraction to the other side of what the summary counts.
    limits = (_FEW, _MANY, _MOST)
    fraction = percent(row["fraction"], *limits)
    interval = _interval_in_percent(row["low"], row["high"])
    significant = percent(row["fraction_significant"], *limits)
    distance = percent(row["distance"])
    reversal = row["reversal"] or "-"
    return [Cell(fraction, after=interval), significant, distance, reversal]


def _interval_in_percent(low: float, high: float) -> str:
    """Return an interval such as '[12, 57]', empty if it is not known."""
    if np.isnan(low):
        return ""
    low_percent = 100 * low
    high_percent = 100 * high
    return f"[{low_percent:.0f}, {high_percent:.0f}]"


def weightings(
    perquery: Any,
    measure: ir_measures.Measure | str | None = None,
    *,
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    baseline: str | Sequence[str] | None = None,
    at_least: Mapping[str, float] | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    runs: object = None,
    qrels: object = None,
    cluster: ClusterSpec = None,
) -> Weightings:
    """Compute for which weights of the aspects one run is better than another.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return, with one measure per aspect, such as ``On(aspect=…,
        base=nDCG @ 10)``. Lower-is-better measures are recognised by the record of
        `pt_multiaspect.evaluate`, or by their labels.
    measure : measure or str, optional
        The mean over aspects whose weights vary: CAM (the default), MM, WHAM, GAM or one of your
        own. Its ``weights`` are those that the others are compared with; equal ones by default.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        The measures of the frame that contain the values of the aspects, such as criteria of
        answers. By default, those that are `On` an aspect, which must have the same base. A mapping
        ``{alias: measure}`` says which measures the names refer to, or whether 'higher' or 'lower'
        is better.
    baseline : str or sequence of str, optional
        The runs that the others are compared with (b of each pair). By default, all pairs are
        compared.
    at_least : mapping of str to float, optional
        Least weights of aspects, of normalised weights, such as ``{"relevance": 0.5}``. The weights
        of `measure` must respect them; without such weights, what remains is shared equally.
    n_resamples : int, default 1000
        Number of bootstrap samples of the topics, for the 95 % percentile intervals of the
        fractions.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.
    runs, qrels : optional
        As for `pt_multiaspect.evaluate`. Required by CAM with ``gate`` or ``normalized``, and by
        ``empty='drop'``, whose values do not follow from those of the aspects.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.
        Then clusters are resampled.

    Returns
    -------
    Weightings
        ``pairs`` has one row per pair of runs, ``aspects`` one per pair and aspect.

    Raises
    ------
    MultiAspectError
        If there are fewer than two aspects, runs or topics, the measures of the aspects cannot be
        recognised, a value is missing or not finite, systems have different topics, weights are
        below `at_least`, these are negative or sum to more than 1, or a parameter is out of range.
        With `cluster`, if a topic has no cluster or several, or all topics are in one.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better. If clusters leave fewer than 5 degrees of freedom, or are fewer than
        30, too few for the percentile intervals; if none are given, but query ids look like those
        of groups (``106_1``, ``106_2``).

    Notes
    -----
    All weightings (weights that are at least 0 and sum to 1) are equally likely: they are uniform
    on the simplex. This is no statement about which weights are plausible; `at_least` excludes
    those that are not.

    CAM is linear in its weights, so that the order of two runs depends on the differences d_a of
    their means on the aspects only. ``fraction`` is exact: for d sorted upwards, f(d) = 1 if d_1 ≥
    0 < d_n, 0 if d_n ≤ 0, and else (d_n f(d_2 … d_n) − d_1 f(d_1 … d_{n−1})) / (d_n − d_1). Ties
    count as not higher; differences of at most 1e-12 of the maximum are 0. The nearest reversal
    moves weight from the aspects with the highest differences to the one with the lowest, until the
    runs tie; its distance is the total variation, half of the sum of absolute differences.

    ``fraction_significant`` is the fraction of 4096 points of a scrambled Sobol sequence, mapped to
    the simplex. Its largest error among 630 pairs of runs was .004 for three aspects (of random
    points: .02); for more aspects it is larger, some .01 for five and .02 for eight. Measures that
    are not linear in their weights are computed for 256 such points, which determine all fractions,
    and have no nearest reversal: errors were at most .004 for two aspects, .03 for three and .07
    for five.

    The unanimous improvement ratio is the number of topics on which a is at least as good as b on
    every aspect, minus that on which b is, over the number of topics.

    Means are arithmetic means of the values.

    Stability: provisional. New, without a published method to follow.

    References
    ----------
    Amigó, Gonzalo, Artiles, Verdejo: Combining Evaluation Metrics via the Unanimous Improvement
    Ratio and its Application to Clustering Tasks. JAIR 42 (2011).

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> scores = {
    ...     "a": [(0.9, 0.1), (0.7, 0.3)],
    ...     "b": [(0.4, 0.8), (0.6, 0.2)],
    ...     "c": [(0.5, 0.0), (0.6, 0.1)],
    ... }
    >>> rows = [
    ...     (name, f"q{topic}", aspect, value)
    ...     for name, topics in scores.items()
    ...     for topic, values in enumerate(topics)
    ...     for aspect, value in zip(("relevance", "credibility"), values)
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> directions = {"relevance": "higher", "credibility": "higher"}
    >>> found = ma.analysis.weightings(perquery, measures=directions)
    >>> found.pairs[["a", "b", "difference", "fraction", "distance"]].round(3)
       a  b  difference  fraction  distance
    0  a  b         0.0       0.5       NaN
    1  a  c         0.2       1.0       NaN
    2  b  c         0.2       0.9       0.4
    >>> found.pairs["reversal"][2]
    'relevance 0.90 instead of 0.50, credibility 0.10'
    """
    n_resamples = count("n_resamples")(n_resamples)
    seed = random_seed(seed)
    mean = read_mean(measure)
    frame = read_long_frame(perquery)
    cluster_of_topic = read_clusters(cluster, frame)
    if reads_rankings(mean):
        # Its values do not follow from those of the aspects in the frame.
        if measures is not None:
            raise MultiAspectError(
                f"measures: {mean} is evaluated on the qrels, not on measures of the frame; omit it"
            )
        is_first_measure = frame["measure"] == frame["measure"].iloc[0]
        _, names, qids, _ = matrix(frame[is_first_measure])
        weighted = evaluate_weightings(mean, names, qids, at_least, seed, runs, qrels)
    else:
        read = _read_aspects(frame, mean, measures)
        qids = read.qids
        weighted = combine_aspects(mean, read.values, read.names, read.aspects, at_least, seed)
    in_order = frame["name"].unique().tolist()
    pairs = pairs_of_runs(weighted.names, in_order, baseline)
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, qids))
    check_drawn_clusters(clusters)
    return compare_weightings(mean, weighted, pairs, clusters, n_resamples, seed, correction=None)


class _AspectValues(NamedTuple):
    """The values of the aspects, higher is better, and what the axes are."""

    #: Shape (n_runs, n_topics, n_aspects).
    values: Floats
    names: list[Any]
    qids: list[Any]
    aspects: list[str]


def _read_aspects(frame: pd.DataFrame, mean: AspectMean, measures: Any) -> _AspectValues:
    """Return the values of the measures of the aspects, higher is better.

    If `measures` is None, these are the measures of the frame that are `On` an aspect. Otherwise
    each of `measures` is that of an aspect, or criterion, with the name of the measure.
    """
    if measures is None:
        label_of_aspect = find_labels_of_aspects(mean, measures_by_label(frame))
        rows = rows_of_measures(frame, list(label_of_aspect.values()))
        return _aspect_values(rows, list(label_of_aspect), {})
    rows, measure_of_label = select_measures(frame, measures)
    aspects = list(map(str, rows["measure"].unique()))
    mean.check_criteria(aspects)
    return _aspect_values(rows, aspects, measure_of_label)


def _aspect_values(
    rows: pd.DataFrame, aspects: list[str], measure_of_label: Mapping[str, Any]
) -> _AspectValues:
    """Return the values of rows with one measure per aspect, in their order; higher is better.

    `measure_of_label` are the measures that a user said the labels stand for; those of others are
    recorded with the frame.
    """
    values, names, qids, labels = matrix(rows)
    # −1 for measures of which lower is better.
    signs = directions(rows, values, labels, measure_of_label, "weightings")
    return _AspectValues(values * signs, names, qids, aspects)


def compare_weightings(
    mean: AspectMean,
    weighted: WeightedValues,
    pairs: Pairs,
    clusters: Clusters,
    n_resamples: int,
    seed: int,
    correction: str | None,
) -> Weightings:
    """Compare pairs of runs under many weightings.

    Parameters
    ----------
    mean : AspectMean
        The mean whose weights vary.
    weighted : WeightedValues
        Its values.
    pairs : Pairs
        The pairs, which form a family of tests within each weighting.
    clusters : Clusters
        The clusters of the topics.
    n_resamples, seed
        The parameters of `weightings`.
    correction : {'holm', None}
        The correction for multiple testing.
    """
    differences = _differences(weighted, pairs)
    # Values under sampled weightings are only needed if the mean is not linear in its weights.
    if weighted.sampled is None:
        dependence = _linear_dependence(weighted, differences, pairs, clusters, correction)
    else:
        dependence = _sampled_dependence(weighted, differences, pairs, clusters, correction)
    p = t_test_levels(weighted.declared, pairs, corrector("t", correction), clusters)
    columns: dict[str, Any] = {
        "n_topics": weighted.basis.shape[1],
        "difference": differences.declared,
        "p": p[:, 0],  # of the only measure
        **_fraction_columns(weighted, differences, pairs, clusters, n_resamples, seed),
        "fraction_significant": dependence.significant_fraction,
        **_reversal_columns(weighted, dependence.nearest),
    }
    if weighted.values is not None:
        columns |= _unanimous_improvements(weighted.values, pairs)
    return Weightings(
        pairs=pd.DataFrame(pairs.columns | columns),
        aspects=_aspects_frame(weighted, pairs, dependence.nearest, dependence.reverses_at),
        covariances=dependence.covariances,
        weights=dict(zip(weighted.aspects, weighted.weights.tolist(), strict=True)),
        at_least=dict(zip(weighted.aspects, weighted.least.tolist(), strict=True)),
        measure=mean,
        correction=correction,
        _is_changing=_have_both_signs(dependence.extremes),
        _n_sampled=_n_sampled(weighted),
        _freedom=clusters.freedom,
        _clusters=clusters_note(weighted.declared, pairs, clusters),
    )


def _fraction_columns(
    weighted: WeightedValues,
    differences: _Differences,
    pairs: Pairs,
    clusters: Clusters,
    n_resamples: int,
    seed: int,
) -> dict[str, Floats]:
    """Return the ``fraction low high fraction_lower`` of weightings, one each per pair.

    They are the fractions under which the first run of the pair is better, with its interval, and
    under which it is worse. The parameters are those of `compare_weightings`.
    """
    largest = differences.largest
    fraction = weighted.fraction_of_weightings(differences.basis, largest)
    fraction_lower = weighted.fraction_of_weightings(-differences.basis, largest)
    low, high = _intervals(weighted, pairs, clusters, fraction, n_resamples, seed)
    return {"fraction": fraction, "low": low, "high": high, "fraction_lower": fraction_lower}


def _reversal_columns(weighted: WeightedValues, nearest: Floats) -> dict[str, Any]:
    """Return the columns ``distance reversal``, given the nearest weightings that reverse orders.

    The weightings are pairs × aspects, NaN where there is none.
    """
    changes = np.abs(nearest - weighted.weights)
    # What some aspects gain, others lose: half of the changes is moved.
    moved_weight = changes.sum(axis=1) / 2
    reversals = [_reversal_in_words(weights, weighted) for weights in nearest]
    return {"distance": moved_weight, "reversal": reversals}


class _Differences(NamedTuple):
    """The differences of the means of pairs of runs."""

    #: Those of `WeightedValues.basis`, shape (n_pairs, n_aspects), or (n_pairs, n_weightings).
    basis: Floats
    #: Those under the weights of the measure, shape (n_pairs,).
    declared: Floats
    #: The largest absolute values of both runs, by which zeros are decided, shape (n_pairs,).
    largest: Floats


def _differences(weighted: WeightedValues, pairs: Pairs) -> _Differences:
    """Return the differences of the means of pairs of runs."""
    # The basis has one column per aspect, or per weighting.
    largest_by_column = largest_of_pairs(weighted.basis, pairs.first, pairs.second)
    declared = mean_differences(weighted.declared, pairs)  # pairs × 1
    return _Differences(
        basis=mean_differences(weighted.basis, pairs),
        declared=declared[:, 0],
        largest=largest_by_column.max(axis=1),
    )


class _Dependence(NamedTuple):
    """The dependence of the differences of pairs of runs on the weights."""

    #: The fraction of weightings with p < ALPHA and the declared sign, shape (n_pairs,).
    significant_fraction: Floats
    #: Differences under weightings among which both signs are, if there are both at all, shape
    #: (n_pairs, n_weightings).
    extremes: Floats
    #: The covariances of the differences, shape (n_pairs, n_aspects, n_aspects), perhaps NaN.
    covariances: Floats
    #: The nearest weighting that reverses the order, shape (n_pairs, n_aspects), perhaps NaN.
    nearest: Floats
    #: The weight of each aspect from which the order reverses, of the same shape, perhaps NaN.
    reverses_at: Floats


def _linear_dependence(
    weighted: WeightedValues,
    differences: _Differences,
    pairs: Pairs,
    clusters: Clusters,
    correction: str | None,
) -> _Dependence:
    """Return how differences depend on the weights if the measure is linear in them.

    Then the difference under a weighting is the weighted sum of those on the aspects.
    """
    on_aspects = differences.basis  # pairs × aspects
    largest = differences.largest
    weights = weighted.weights
    least = weighted.least
    covariances = _covariances(weighted.basis, pairs, clusters)
    significant_fraction = _significant_fraction(
        differences, covariances, weighted.points, pairs, clusters, correction
    )
    return _Dependence(
        significant_fraction=significant_fraction,
        # A linear function is largest and smallest at corners.
        extremes=differences_at_corners(on_aspects, least, largest),
        covariances=covariances,
        nearest=nearest_reversal(on_aspects, weights, least, largest),
        reverses_at=reversing_weight(on_aspects, weights, least, largest),
    )


def _sampled_dependence(
    weighted: WeightedValues,
    differences: _Differences,
    pairs: Pairs,
    clusters: Clusters,
    correction: str | None,
) -> _Dependence:
    """Return how differences depend on the weights, from values under sampled weightings.

    Covariances and the weights that reverse the order are only known of linear measures: NaN.
    """
    assert weighted.sampled is not None
    assert weighted.at_corners is not None
    sampled_differences = differences.basis  # pairs × sampled weightings
    p = t_test_levels(weighted.sampled, pairs, corrector("t", correction), clusters)
    is_significant = p < ALPHA
    sign_of_pair = np.sign(differences.declared)  # under the weights of the measure
    has_same_sign = np.sign(sampled_differences) == sign_of_pair[:, None]
    is_kept = is_significant & has_same_sign

    # A difference is most likely to change its sign where one aspect has most of the weight.
    differences_at_corners = mean_differences(weighted.at_corners, pairs)
    extremes = np.hstack([sampled_differences, differences_at_corners])
    n_pairs = len(pairs)
    n_aspects = len(weighted.aspects)
    unknown_weights = np.full((n_pairs, n_aspects), np.nan)
    unknown_covariances = np.full((n_pairs, n_aspects, n_aspects), np.nan)
    return _Dependence(
        significant_fraction=is_kept.mean(axis=1),
        extremes=extremes,
        covariances=unknown_covariances,
        nearest=unknown_weights,
        reverses_at=unknown_weights,
    )


def _have_both_signs(differences: Floats) -> Bools:
    """Return which pairs have differences of both signs, from pairs × weightings."""
    has_positive = (differences > 0).any(axis=1)
    has_negative = (differences < 0).any(axis=1)
    return np.asarray(has_positive & has_negative)


def _n_sampled(weighted: WeightedValues) -> int | None:
    """Return the number of sampled weightings; None if the fractions are exact.

    Those of a measure that is linear in its weights are, and need no samples.
    """
    if weighted.sampled is None:
        return None
    _, _, n_weightings = weighted.sampled.shape
    return int(n_weightings)


def _aspects_frame(
    weighted: WeightedValues, pairs: Pairs, nearest: Floats, reverses_at: Floats
) -> pd.DataFrame:
    """Return one row per pair and aspect, with the difference and the weights that reverse it.

    `nearest` and `reverses_at` have the shape (n_pairs, n_aspects).
    """
    if weighted.values is None:
        differences = np.full_like(nearest, np.nan)
    else:
        differences = mean_differences(weighted.values, pairs)
    aspect_columns = {"aspect": weighted.aspects, "weight": weighted.weights.tolist()}
    statistics = {"difference": differences, "nearest": nearest, "reverses_at": reverses_at}
    return rows_per_pair(pairs.columns, aspect_columns, statistics)


def _intervals(
    weighted: WeightedValues,
    pairs: Pairs,
    clusters: Clusters,
    fraction: Floats,
    n_resamples: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Return the ends of the bootstrap percentile intervals of `fraction`, both one per pair.

    `fraction` is that of the weightings under which the first run is better. It follows from the
    means of `weighted.basis`: values of the aspects, or under sampled weightings.
    """
    values = weighted.basis  # runs × topics × columns
    rng = np.random.default_rng(seed)
    topic_weights = resample_weights(clusters, n_resamples, rng)  # topics × resamples
    # The weighted sums over topics t, by run s, resample r and column k.
    means = np.einsum("stk,tr->srk", values, topic_weights, optimize=True)
    low = np.empty(len(pairs))
    high = np.empty(len(pairs))
    # The differences of all pairs together would need too much memory.
    size_of_pair = means[0].size
    for part in slices(len(pairs), size_of_pair):
        first = pairs.first[part]
        second = pairs.second[part]
        samples = _sampled_fractions(weighted, means, first, second)
        low_of_part, high_of_part = percentile_interval(samples, CI, fraction[part])
        low[part] = low_of_part
        high[part] = high_of_part
    return low, high


def _sampled_fractions(
    weighted: WeightedValues, means: Floats, first: Ints, second: Ints
) -> Floats:
    """Return the fraction of weightings under which first runs are better, resamples × pairs.

    Parameters
    ----------
    weighted : WeightedValues
        The values.
    means : ndarray, runs × resamples × columns
        The means of `weighted.basis` in each bootstrap sample of the topics.
    first, second : ndarray of int, shape (n_pairs,)
        The runs of each pair.
    """
    # Differences are 0 if they are small compared with the values of both runs on all topics.
    largest = largest_of_pairs(weighted.basis, first, second)  # pairs × columns
    raw_differences = means[first] - means[second]  # pairs × resamples × columns
    differences = remove_rounding_errors(raw_differences, largest[:, None, :])
    largest_of_pair = largest.max(axis=1)
    fractions = weighted.fraction_of_weightings(differences, largest_of_pair[:, None])
    return fractions.T


def _covariances(values: Floats, pairs: Pairs, clusters: Clusters) -> Floats:
    """Return the covariances of the mean differences on the aspects.

    Parameters
    ----------
    values : ndarray of float, shape (n_runs, n_topics, n_aspects)
        The per-topic values.
    pairs, clusters
        The pairs of runs, and the clusters of the topics.

    Returns
    -------
    ndarray of float, shape (n_pairs, n_aspects, n_aspects)
    """
    differences = topic_differences(values, pairs)  # (n_pairs, n_topics, n_aspects)
    topics_last = differences.swapaxes(1, 2)
    # Variances that are tiny compared with these values are rounding errors, and become 0.
    largest_values = largest_of_pairs(values, pairs.first, pairs.second)  # (n_pairs, n_aspects)
    return mean_covariances(topics_last, clusters, largest_values)


def _unanimous_improvements(values: Floats, pairs: Pairs) -> dict[str, Any]:
    """Return the unanimous improvement ratio of each pair, and the topics that it counts.

    `values` has the shape (n_runs, n_topics, n_aspects).
    """
    differences = topic_differences(values, pairs)  # (n_pairs, n_topics, n_aspects)
    # Topics on which the runs are equal on every aspect count for neither.
    differs = differences.any(axis=2)
    is_better = (differences >= 0).all(axis=2) & differs
    is_worse = (differences <= 0).all(axis=2) & differs
    n_better = is_better.sum(axis=1)
    n_worse = is_worse.sum(axis=1)
    n_topics = differences.shape[1]
    ratio = (n_better - n_worse) / n_topics
    return {"uir": ratio, "n_better": n_better, "n_worse": n_worse}


def _significant_fraction(
    differences: _Differences,
    covariances: Floats,
    points: Floats,
    pairs: Pairs,
    clusters: Clusters,
    correction: str | None,
) -> Floats:
    """Return the fraction of weightings with p < ALPHA and the declared sign, one per pair.

    The declared sign is that of the difference under the weights of the measure.

    Parameters
    ----------
    differences : _Differences
        The differences of the pairs: those of `basis` are on the aspects, `declared` is under the
        weights of the measure.
    covariances : ndarray of float, shape (n_pairs, n_aspects, n_aspects)
        Their covariances.
    points : ndarray of float, shape (n_points, n_aspects)
        The weightings.
    pairs, clusters, correction
        As for `compare_weightings`.
    """
    n_pairs = len(pairs)
    on_aspects = differences.basis
    sign_of_pair = np.sign(differences.declared)
    # A pair and its reverse are one test: (a, b), (b, a), (a, c) are the tests [0, 0, 1].
    row_of_test, test_of_pair = unordered_pairs(pairs)
    covariances_of_tests = covariances[row_of_test]
    n_kept = np.zeros(n_pairs)  # weightings, by pair
    # As many weightings at a time as memory allows.
    for part in slices(len(points), n_pairs):
        weightings = points[part]
        raw_sums = on_aspects @ weightings.T  # pairs × weightings
        weighted_sums = remove_rounding_errors(raw_sums, differences.largest[:, None])
        is_significant_test = significant_at(
            weightings,
            weighted_sums[row_of_test],
            covariances_of_tests,
            clusters.freedom,
            correction,
        )
        is_significant = is_significant_test[test_of_pair]
        has_same_sign = np.sign(weighted_sums) == sign_of_pair[:, None]
        is_kept = is_significant & has_same_sign
        n_kept += is_kept.sum(axis=1)
    return n_kept / len(points)


def significant_at(
    points: Floats, differences: Floats, covariances: Floats, freedom: float, correction: str | None
) -> Bools:
    """Return which weighted differences are significant, pairs × weightings.

    Their variances follow from the covariances of the aspects.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, n_aspects)
        The weightings.
    differences : ndarray of float, shape (n_pairs, n_points)
        The differences of means under each weighting.
    covariances : ndarray of float, shape (n_pairs, n_aspects, n_aspects)
        The covariances of the differences of means on the aspects.
    freedom : float
        The degrees of freedom of the covariances.
    correction : {'holm', None}
        The correction. All pairs form a family: a pair and its reverse must not both be in it.
    """
    from scipy.stats import t as student

    variances = _variances_of_sums(points, covariances)
    error = np.sqrt(np.maximum(variances, 0.0))  # rounding may make variances negative
    # A difference of 0 is not significant, even if its error is 0, too.
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(differences == 0, 0.0, np.abs(differences) / error)
    if correction is None:
        critical = student.isf(ALPHA / 2, freedom)  # two-sided
        return np.asarray(statistic > critical)
    return _rejected_by_holm(statistic, freedom)


def _variances_of_sums(points: Floats, covariances: Floats) -> Floats:
    """Return the variances of weighted sums, Σ_ab w_a·w_b·cov(a, b), pairs × weightings.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, n_aspects)
        The weightings w.
    covariances : ndarray of float, shape (n_pairs, n_aspects, n_aspects)
        The covariances of what is summed.
    """
    n_points = len(points)
    n_pairs = len(covariances)
    weights_a = points[:, :, None]
    weights_b = points[:, None, :]
    products_of_weights = weights_a * weights_b  # weightings × aspects × aspects
    # With (a, b) as one axis, the sum over it is a matrix product.
    flat_products = products_of_weights.reshape(n_points, -1)
    flat_covariances = covariances.reshape(n_pairs, -1)
    return np.asarray(flat_covariances @ flat_products.T)


def _rejected_by_holm(statistic: Floats, freedom: float) -> Bools:
    """Return which pairs Holm's correction rejects at the level ALPHA, under each weighting.

    It rejects pairs by decreasing |t|, down to the first that is not above its critical value: that
    for ALPHA over the number of pairs that are left.

    Parameters
    ----------
    statistic : ndarray of float, shape (n_pairs, n_points)
        The absolute values of Student's t.
    freedom : float
        The degrees of freedom.
    """
    from scipy.stats import t as student

    n_pairs = len(statistic)
    order = np.argsort(-statistic, axis=0)  # the pairs from the highest |t|, by weighting
    decreasing = np.take_along_axis(statistic, order, axis=0)
    n_left = np.arange(n_pairs, 0, -1)
    critical = student.isf(ALPHA / (2 * n_left), freedom)  # two-sided
    is_above = decreasing > critical[:, None]
    # The first pair that is not above ends the sequence: [1, 1, 0, 1] -> [1, 1, 0, 0].
    is_rejected_in_order = np.logical_and.accumulate(is_above, axis=0)
    is_rejected = np.empty_like(is_above)
    np.put_along_axis(is_rejected, order, is_rejected_in_order, axis=0)
    return is_rejected


def _reversal_in_words(weights: Floats, weighted: WeightedValues) -> str:
    """Return the weights that change, such as 'relevance 0.90 instead of 0.50, credibility 0.10'.

    The aspect whose weight rises is first. The text is empty if there is no reversal, NaN.
    """
    if np.isnan(weights).any():
        return ""
    change = weights - weighted.weights
    rising = int(change.argmax())
    # At least two decimals, and as many as show the first digit of a small change: 3 for 0.004.
    exponent = int(np.floor(np.log10(change[rising])))
    n_decimals = max(2, -exponent)
    name = weighted.aspects[rising]
    before = f"{weighted.weights[rising]:.{n_decimals}f}"
    after = f"{weights[rising]:.{n_decimals}f}"
    words = [f"{name} {after} instead of {before}"]
    for falling in np.flatnonzero(change < 0):
        name = weighted.aspects[falling]
        after = f"{weights[falling]:.{n_decimals}f}"
        words.append(f"{name} {after}")
    return ", ".join(words)
