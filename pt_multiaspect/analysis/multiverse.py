"""Dependence of conclusions on the variant of a measure: multiverse analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import proportion
from ..errors import choices, number_of, refuse_single, refuse_unknown
from ..evaluation.long_frames import find_label, read_long_frame
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    clusters_of_topics,
    read_clusters,
)
from ..integration.variants import option_name
from ..kernels.intervals import half_width
from ..kernels.mean_errors import Clusters
from ..views import Block, Column, Sentence, View, percent
from ._pairs import Pairs, pairs_blocks, pairs_of_runs, rows_per_pair, share, significant_share
from ._significance import (
    check_correction,
    clusters_note,
    corrector,
    mean_differences,
    mean_over_topics,
    signs_of_means,
    t_test_levels,
    topic_differences,
)
from ._value_matrices import Direction, OrientedValues, read_oriented

#: Values that differ by at most this, relative to the maximum of the measure, are equal (rounding
#: errors).
_TOLERANCE = 1e-12


@dataclass(frozen=True, repr=False)
class Multiverse(View):
    """Result of `multiverse`.

    Attributes
    ----------
    pairs : DataFrame
        One row per pair of runs: ``a`` and ``b``; ``difference``, the mean of a minus the mean of b
        by the reference, and its ``p``; ``better worse significantly_better significantly_worse``,
        the fractions of the variants with distinct values under which a is so; and ``agrees``,
        whether the sign of the reference is that of more than half of them.
    runs : DataFrame
        One row per run: ``name``; ``rank``, that of its mean by the reference; ``best`` and
        ``worst``, the range of its ranks over the variants.
    choices : DataFrame
        One row per pair and choice: ``a b choice``; ``n_options``; and ``effect``, the variance
        between the means of its options over the variance of all differences. The remainder of 1 is
        due to interactions. NaN if the variants are no full grid, or do not vary.
    variants : DataFrame
        One row per pair and variant: ``a b measure``; ``difference low high p``; and ``same_as``,
        the earlier variant with the same values, which is not counted again, or None.
    options : DataFrame
        One row per variant, one column per choice: the options.
    reference : str
        The label of the reported variant.
    alpha, correction, ci : float, str or None, float
        As given.

    Examples
    --------
    See `multiverse`.
    """

    pairs: pd.DataFrame
    runs: pd.DataFrame
    choices: pd.DataFrame
    variants: pd.DataFrame
    options: pd.DataFrame
    reference: str
    alpha: float
    correction: str | None
    ci: float
    #: A note on the clusters of topics; empty without clusters.
    _clusters: str

    @property
    def same_as(self) -> dict[str, str]:
        """The variants whose values are those of an earlier one, with that one."""
        # `variants` has each variant once per pair.
        one_row_per_variant = self.variants.drop_duplicates("measure")
        repeated = one_row_per_variant.dropna(subset=["same_as"])
        return dict(zip(repeated["measure"], repeated["same_as"], strict=True))

    @property
    def summary(self) -> str:
        """The number of variants, and of the pairs for which they agree, in sentences."""
        pairs = self.pairs
        n_distinct = len(self.options) - len(self.same_as)
        n_variants = number_of(len(self.options), "variant")

        is_better_under_all = pairs["better"] == 1
        is_worse_under_all = pairs["worse"] == 1
        n_unanimous = (is_better_under_all | is_worse_under_all).sum()
        unanimous_pairs = share(n_unanimous, len(pairs), "pair", "has", "have")

        # Of the pairs that differ significantly by the reference.
        tested = pairs[pairs["p"] < self.alpha]
        is_kept = (tested["significantly_better"] == 1) | (tested["significantly_worse"] == 1)
        level = f"p < {self.alpha:g} by {self.reference}"
        kept_pairs = significant_share(is_kept.sum(), len(tested), level, "under all of these")
        return (
            f"{n_variants}, {n_distinct} with distinct values. "
            f"{unanimous_pairs} the same order under all of these. {kept_pairs}"
        )

    @property
    def notes(self) -> list[str]:
        """The clusters of topics, variants that count once, and limits of effects of choices."""
        notes = []
        if self._clusters:
            notes.append(f"{self._clusters}.")
        if self.same_as:
            notes.append(self._equal_variants_note())
        has_choices = len(self.choices) > 0
        if has_choices and self.choices["effect"].isna().all():
            notes.append(
                "Effects of choices are NaN: the variants are no full grid of the options of all "
                "choices, or have equal differences."
            )
        return notes

    def _equal_variants_note(self) -> str:
        """Return a sentence with the first five variants that have the values of an earlier one."""
        equal = [f"{label} ({earlier})" for label, earlier in self.same_as.items()]
        shown = choices(equal[:5])
        if len(equal) > 5:
            shown += ", …"
        return f"Variants with the values of an earlier one count once: {shown}."

    def _title(self) -> str:
        return "Variants"

    def _content(self) -> list[Block]:
        """Return the summary, the table of the pairs and the notes."""
        heads = ("difference", "p", "better", "worse", "sig. better", "sig. worse")
        columns = [Column(head) for head in heads]
        # If there are too many pairs, those on which the variants disagree most are shown.
        balance = self.pairs["better"] - self.pairs["worse"]
        note = (
            f"Difference and p: a minus b by the reference, {self.reference}. Others: fractions of "
            "variants."
        )
        blocks: list[Block] = [Sentence(self.summary)]
        blocks += pairs_blocks(self.pairs, balance, columns, _fractions_in_percent, note)
        blocks += [Sentence(text) for text in self.notes]
        return blocks


def _fractions_in_percent(row: Mapping[Any, Any]) -> list[str]:
    """Return the percentages of the variants under which a is better or worse, as texts."""
    return [
        percent(row["better"]),
        percent(row["worse"]),
        percent(row["significantly_better"]),
        percent(row["significantly_worse"]),
    ]


def multiverse(
    perquery: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    reference: ir_measures.Measure | str | None = None,
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    alpha: float = 0.05,
    correction: str | None = "holm",
    ci: float = 0.95,
    cluster: ClusterSpec = None,
) -> Multiverse:
    """Compare runs under all variants of a measure.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` returns, for several
        variants of a measure, such as those of `pt_multiaspect.variants`. Lower-is-better measures
        are negated.
    baseline : str or sequence of str, optional
        The runs that the others are compared with (b of each pair). By default, all pairs are
        compared.
    reference : measure or str, optional
        The label of the variant that is reported; the first by default.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        The variants; all measures of the frame by default. A mapping ``{alias: measure}``, as
        `variants` returns, says what the labels of a frame without the record mean, such as one
        read from a file.
    alpha : float in (0, 1), default 0.05
        The significance level of the paired t-test.
    correction : str or None, default 'holm'
        Correction for multiple testing, as for `compare_with_baseline`; all pairs under one variant
        form a family.
    ci : float in (0, 1), default 0.95
        Confidence level of the t intervals of differences, which are not corrected.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.

    Returns
    -------
    Multiverse
        ``pairs``, ``runs``, ``choices`` and ``variants``.

    Raises
    ------
    MultiAspectError
        If there are fewer than two variants, runs or topics, the reference is none of the variants,
        a value is missing or not finite, or a parameter is out of range. With `cluster`, if a topic
        has no cluster or several, or all topics are in one.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better. If clusters leave fewer than 5 degrees of freedom; if none are given,
        but query ids look like those of groups (``106_1``, ``106_2``).

    Notes
    -----
    Variants with the same values on all topics (to 1e-12 of the maximum) count once, as they would
    weight a fraction by construction. A fraction is no probability: variants are neither
    independent nor equally plausible.

    The main effect of a choice on a difference is that of an analysis of variance: the variance of
    the means of its options over the total variance. It requires a full grid, each combination of
    options once.

    Stability: provisional. The reported statistics may change.

    References
    ----------
    Steegen, Tuerlinckx, Gelman, Vanpaemel: Increasing Transparency through a Multiverse Analysis.
    Perspectives on Psychological Science 11 (2016).
    Simonsohn, Simmons, Nelson: Specification Curve Analysis. Nature Human Behaviour 4 (2020).

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> docs = [f"d{number}" for number in range(6)]
    >>> qrels = {
    ...     f"q{n}": {
    ...         doc: {"relevance": (i + n) % 3, "credibility": (2 * i + n) % 4}
    ...         for i, doc in enumerate(docs)
    ...     }
    ...     for n in range(4)
    ... }
    >>> orders = {"a": [5, 3, 4, 1, 2, 0], "b": [0, 1, 2, 3, 5, 4]}
    >>> runs = {
    ...     name: {qid: dict(zip(docs, scores)) for qid in qrels} for name, scores in orders.items()
    ... }
    >>> measures = ma.variants(
    ...     ma.TOMA(aspects={"relevance": 2, "credibility": 3}),
    ...     distance=["euclidean", "chebyshev"],
    ...     cutoff=[3, 5],
    ... )
    >>> result = ma.analysis.multiverse(ma.evaluate(runs, qrels, measures, progress=False))
    >>> result.pairs[["a", "b", "better", "worse", "agrees"]]
       a  b  better  worse  agrees
    0  a  b    0.75   0.25    True
    """
    alpha = proportion("alpha")(alpha)
    ci = proportion("ci")(ci)
    check_correction("t", correction)
    frame = read_long_frame(perquery)
    cluster_of_topic = read_clusters(cluster, frame)
    variants = read_oriented(frame, measures, "multiverse")
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, variants.qids))
    labels = list(map(str, variants.labels))
    refuse_single(labels, "variants")
    if reference is None:
        reference_label = labels[0]
    else:
        reference_label = find_label(variants.known, reference)
    refuse_unknown([reference_label], labels, "variants", "reference")
    runs = frame["name"].unique().tolist()
    pairs = pairs_of_runs(variants.names, runs, baseline)
    return compare_variants(variants, runs, pairs, clusters, reference_label, alpha, correction, ci)


def compare_variants(
    variants: OrientedValues,
    runs: list[Any],
    pairs: Pairs,
    clusters: Clusters,
    reference: str,
    alpha: float,
    correction: str | None,
    ci: float,
) -> Multiverse:
    """Compare pairs of runs under all variants of a measure.

    Parameters
    ----------
    variants : OrientedValues
        The values of the variants.
    runs : list
        The runs, in the order of the results.
    pairs : Pairs
        The pairs, which form a family of tests under each variant.
    clusters : Clusters
        The clusters of the topics.
    reference, alpha, correction, ci
        The parameters of `multiverse`.
    """
    values = variants.values  # (n_runs, n_topics, n_variants)
    labels = list(map(str, variants.labels))
    reference_column = labels.index(reference)
    # Variants with equal values would weight a fraction: the first of them counts.
    same_as = _equal_variants(values, labels)
    is_distinct = np.array([label not in same_as for label in labels])
    statistics = _statistics_of_variants(values, pairs, clusters, ci, corrector("t", correction))
    fractions = _fractions(statistics, is_distinct, reference_column, alpha)
    ranks = _ranks(values, is_distinct, reference_column)
    options = _options({label: variants.known[label] for label in labels})
    variant_columns: dict[str, Sequence[Any]] = {
        "measure": labels,
        "same_as": list(map(same_as.get, labels)),
    }
    return Multiverse(
        pairs=pd.DataFrame(pairs.columns | fractions),
        runs=_frame_of_runs(variants.names, runs, ranks),
        choices=_frame_of_choices(options, pairs, statistics["difference"]),
        variants=rows_per_pair(pairs.columns, variant_columns, statistics),
        options=options,
        reference=reference,
        alpha=alpha,
        correction=correction,
        ci=ci,
        _clusters=clusters_note(values, pairs, clusters),
    )


def _frame_of_runs(names: list[Any], runs: list[Any], ranks: Mapping[str, Ints]) -> pd.DataFrame:
    """Return one row per run with its ranks, which are given in the order of `names`."""
    rows = [names.index(run) for run in runs]
    table = pd.DataFrame({"name": runs})
    for column, rank_of_row in ranks.items():
        table[column] = rank_of_row[rows]
    return table


def _frame_of_choices(options: pd.DataFrame, pairs: Pairs, differences: Floats) -> pd.DataFrame:
    """Return what each choice explains of the differences between variants, by pair.

    Choices, such as a parameter, are the columns of `options`. The differences are pairs ×
    variants.
    """
    columns: dict[str, Sequence[Any]] = {
        "choice": list(options),
        "n_options": options.nunique().to_list(),
    }
    effects = _main_effects(differences, options)
    return rows_per_pair(pairs.columns, columns, {"effect": effects})


def _options(measures: Mapping[str, Any]) -> pd.DataFrame:
    """Return the options of the choices, with one row per label and one column per choice.

    A choice is the class of the measure, or a parameter; only those with several options remain. Of
    parameters that some classes do not have, only those remain that differ within a class: others
    say no more than the class.
    """
    rows = {}
    for label, measure in measures.items():
        has_no_parameters = measure is None or isinstance(measure, Direction)
        if has_no_parameters:
            rows[label] = {"measure": label}
            continue
        options = {name: option_name(measure[name]) for name in measure.SUPPORTED_PARAMS}
        options["measure"] = measure.NAME
        rows[label] = options
    # One column per parameter of any class, and the column `measure` for the class. Parameters that
    # a class does not have are NaN.
    table = pd.DataFrame.from_dict(rows, orient="index")
    is_general = _is_in_all_classes(table)
    is_choice = is_general | _differs_within_class(table)
    options_of_choices = table.loc[:, is_choice].fillna("none")
    has_several_options = options_of_choices.nunique() > 1
    return options_of_choices.loc[:, has_several_options]


def _is_in_all_classes(table: pd.DataFrame) -> pd.Series[bool]:
    """Return which columns have an option for every measure; NaN is none."""
    return table.notna().all()


def _differs_within_class(table: pd.DataFrame) -> pd.Series[bool]:
    """Return which columns have several options for measures of the same class.

    The class is in the column ``measure``, for which the result is False.
    """
    n_options_within_class = table.groupby("measure").nunique()  # classes × other columns
    differs = (n_options_within_class > 1).any()
    return differs.reindex(table.columns, fill_value=False)


def _equal_variants(values: Floats, labels: list[str]) -> dict[str, str]:
    """Return the labels of variants that repeat the values of an earlier one, with that one.

    Parameters
    ----------
    values : ndarray of float, shape (n_runs, n_topics, n_variants)
        The values of the variants.
    labels : list of str
        The labels of the variants.
    """
    tolerance = _TOLERANCE * np.abs(values).max(initial=0.0)
    same_as: dict[str, str] = {}
    for column, label in enumerate(labels):
        for earlier_column, earlier_label in enumerate(labels[:column]):
            # A repeated variant is skipped: the one that it repeats is compared.
            if earlier_label in same_as:
                continue
            own_values = values[:, :, column]
            earlier_values = values[:, :, earlier_column]
            distances = np.abs(own_values - earlier_values)
            if (distances <= tolerance).all():
                same_as[label] = earlier_label
                break
    return same_as


def _statistics_of_variants(
    values: Floats,
    pairs: Pairs,
    clusters: Clusters,
    ci: float,
    correct: Callable[[Floats], Floats],
) -> dict[str, Floats]:
    """Return the difference, its interval and p of each pair by each variant.

    Parameters
    ----------
    values : ndarray of float, shape (n_runs, n_topics, n_variants)
        The values of the variants.
    pairs, clusters, ci
        The pairs of runs, the clusters of topics and the confidence level.
    correct : callable
        Corrects the levels of the pairs for multiple testing.

    Returns
    -------
    dict of str to ndarray of float, shape (n_pairs, n_variants)
    """
    difference = mean_differences(values, pairs)
    margin: Floats = np.empty_like(difference)
    # The differences of all variants on all topics would need much memory: one variant at a time.
    for column in range(values.shape[2]):
        values_of_variant = values[:, :, [column]]
        differences = topic_differences(values_of_variant, pairs)
        differences_on_topics = differences[:, :, 0]
        margin[:, column] = half_width(differences_on_topics, ci, clusters)
    return {
        "difference": difference,
        "low": difference - margin,
        "high": difference + margin,
        "p": t_test_levels(values, pairs, correct, clusters),
    }


def _fractions(
    statistics: dict[str, Floats], is_distinct: Bools, reference_column: int, alpha: float
) -> dict[str, Any]:
    """Return the difference of pairs by the reference, and fractions of the distinct variants.

    Parameters
    ----------
    statistics : dict of str to ndarray, shape (n_pairs, n_variants)
        As from `_statistics_of_variants`.
    is_distinct : ndarray of bool, shape (n_variants,)
        Whether a variant counts: it does not have the values of an earlier one.
    reference_column : int
        The column of the reference.
    alpha : float
        The significance level.
    """
    reference_difference = statistics["difference"][:, reference_column]
    difference = statistics["difference"][:, is_distinct]
    is_better = difference > 0
    is_worse = difference < 0
    is_significant = statistics["p"][:, is_distinct] < alpha
    reference_sign = np.sign(reference_difference)[:, None]
    has_reference_sign = np.sign(difference) == reference_sign
    return {
        "difference": reference_difference,
        "p": statistics["p"][:, reference_column],
        "better": is_better.mean(axis=1),
        "worse": is_worse.mean(axis=1),
        "significantly_better": (is_better & is_significant).mean(axis=1),
        "significantly_worse": (is_worse & is_significant).mean(axis=1),
        "agrees": has_reference_sign.mean(axis=1) > 0.5,
    }


def _ranks(values: Floats, is_distinct: Bools, reference_column: int) -> dict[str, Ints]:
    """Return the ``rank`` of each run by the reference, its ``best`` and ``worst`` by any variant.

    Parameters
    ----------
    values : ndarray of float, shape (n_runs, n_topics, n_variants)
        The values of the variants; higher is better.
    is_distinct : ndarray of bool, shape (n_variants,)
        Whether a variant does not have the values of an earlier one.
    reference_column : int
        The column of the reference.
    """
    means = mean_over_topics(values)
    # Of the mean of a run minus that of another one, (n_runs, n_other_runs, n_variants).
    signs = signs_of_means(means, values)
    is_other_better = signs < 0
    n_better_runs = is_other_better.sum(axis=1)
    ranks = 1 + n_better_runs
    distinct_ranks = ranks[:, is_distinct]
    return {
        "rank": ranks[:, reference_column],
        "best": distinct_ranks.min(axis=1),
        "worst": distinct_ranks.max(axis=1),
    }


def _main_effects(differences: Floats, options: pd.DataFrame) -> Floats:
    """Return the fraction of the variance of differences that each choice explains.

    Parameters
    ----------
    differences : ndarray of float, shape (n_pairs, n_variants)
        The differences of pairs by each variant.
    options : DataFrame
        One row per variant, one column per choice.

    Returns
    -------
    ndarray of float, shape (n_pairs, n_choices)
        NaN if the variants are no full grid of the options, or the differences are equal.
    """
    effects = np.full((len(differences), options.shape[1]), np.nan)
    n_combinations = options.nunique().prod()
    is_full_grid = len(options) == n_combinations and not options.duplicated().any()
    if not is_full_grid:
        return effects

    # Rounding errors are no variance.
    total_variance = differences.var(axis=1)
    largest_error = _TOLERANCE * np.abs(differences).max(axis=1)
    varies = total_variance > largest_error**2
    for column, choice in enumerate(options):
        means = _means_of_options(differences, options[choice])
        # In a full grid, each option has equally many variants: its mean counts equally.
        variance_of_means = means.var(axis=1)
        np.divide(variance_of_means, total_variance, out=effects[:, column], where=varies)
    return effects


def _means_of_options(differences: Floats, option_of_variant: pd.Series[Any]) -> Floats:
    """Return the mean difference over the variants with each option, pairs × options.

    `differences` are pairs × variants. The means are a matrix product with 1/n for the n variants
    that have an option: a, b, a -> [[1/2, 0], [0, 1], [1/2, 0]].
    """
    has_option = pd.get_dummies(option_of_variant).to_numpy(np.float64)  # variants × options
    n_variants_of_option = has_option.sum(axis=0)
    weights_of_variants = has_option / n_variants_of_option
    return np.asarray(differences @ weights_of_variants)
