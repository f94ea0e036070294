"""Dependence of conclusions on the variant of a measure: multiverse analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
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
        rows = self.variants.drop_duplicates("measure").dropna(subset=["same_as"])
        return dict(zip(rows["measure"], rows["same_as"], strict=True))

    @property
    def summary(self) -> str:
        """The number of variants, and of the pairs for which they agree, in sentences."""
        pairs = self.pairs
        n_variants = len(self.options)
        n_distinct = n_variants - len(self.same_as)
        n_unanimous = ((pairs["better"] == 1) | (pairs["worse"] == 1)).sum()
        unanimous = share(n_unanimous, len(pairs), "pair", "has", "have")
        tested = pairs[pairs["p"] < self.alpha]
        fractions = tested[["significantly_better", "significantly_worse"]]
        n_kept = (fractions.max(axis=1) == 1).sum()
        level = f"p < {self.alpha:g} by {self.reference}"
        kept = significant_share(n_kept, len(tested), level, "under all of these")
        return (
            f"{number_of(n_variants, 'variant')}, {n_distinct} with distinct values. "
            f"{unanimous} the same order under all of these. {kept}"
        )

    @property
    def notes(self) -> list[str]:
        """The clusters of topics, variants that count once, and limits of effects of choices."""
        notes = []
        if self._clusters:
            notes.append(f"{self._clusters}.")
        if self.same_as:
            equal = [f"{label} ({earlier})" for label, earlier in self.same_as.items()]
            shown = choices(equal[:5])
            if len(equal) > 5:
                shown += ", …"
            notes.append(f"Variants with the values of an earlier one count once: {shown}.")
        if len(self.choices) and self.choices["effect"].isna().all():
            notes.append(
                "Effects of choices are NaN: the variants are no full grid of the options of all "
                "choices, or have equal differences."
            )
        return notes

    def _title(self) -> str:
        return "Variants"

    def _content(self) -> list[Block]:
        heads = ("difference", "p", "better", "worse", "sig. better", "sig. worse")
        columns = [Column(head) for head in heads]
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
    """Return the cells of a pair after its difference and p."""
    fractions = ("better", "worse", "significantly_better", "significantly_worse")
    return [percent(row[fraction]) for fraction in fractions]


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
    alpha, ci = proportion("alpha")(alpha), proportion("ci")(ci)
    check_correction("t", correction)
    frame = read_long_frame(perquery)
    cluster_of_topic = read_clusters(cluster, frame)
    read = read_oriented(frame, measures, "multiverse")
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, read.qids))
    labels = list(map(str, read.labels))
    refuse_single(labels, "variants")
    if reference is None:
        chosen = labels[0]
    else:
        chosen = find_label(read.known, reference)
    refuse_unknown([chosen], labels, "variants", "reference")
    in_order = frame["name"].unique().tolist()
    pairs = pairs_of_runs(read.names, in_order, baseline)
    return compare_variants(read, in_order, pairs, clusters, chosen, alpha, correction, ci)


def compare_variants(
    read: OrientedValues,
    in_order: list[Any],
    pairs: Pairs,
    clusters: Clusters,
    reference: str,
    alpha: float,
    correction: str | None,
    ci: float,
) -> Multiverse:
    """Compare pairs of runs under all variants.

    Parameters
    ----------
    read : OrientedValues
        The values of the variants.
    in_order : list
        The runs, in the order of the results.
    pairs : Pairs
        The pairs, which form a family of tests under each variant.
    clusters : Clusters
        The clusters of the topics.
    reference, alpha, correction, ci
        The parameters of `multiverse`.
    """
    values, labels = read.values, list(map(str, read.labels))
    options = _options({label: read.known[label] for label in labels})
    same_as = _equal_variants(values, labels)
    is_distinct = np.array([label not in same_as for label in labels])
    position = labels.index(reference)
    statistics = _variants(values, pairs, clusters, ci, corrector("t", correction))
    ranks = _ranks(values, read.names, in_order, is_distinct, position)
    effects = _main_effects(statistics["difference"], options)
    fractions = _fractions(statistics, is_distinct, position, alpha)
    variants: dict[str, Sequence[Any]] = {
        "measure": labels,
        "same_as": [same_as.get(label) for label in labels],
    }
    choices_of_variants: dict[str, Sequence[Any]] = {
        "choice": list(options),
        "n_options": options.nunique().to_list(),
    }
    return Multiverse(
        pairs=pd.DataFrame(pairs.columns | fractions),
        runs=pd.DataFrame(ranks),
        choices=rows_per_pair(pairs.columns, choices_of_variants, {"effect": effects}),
        variants=rows_per_pair(pairs.columns, variants, statistics),
        options=options,
        reference=reference,
        alpha=alpha,
        correction=correction,
        ci=ci,
        _clusters=clusters_note(values, pairs, clusters),
    )


def _options(measures: Mapping[str, Any]) -> pd.DataFrame:
    """Return the options of the choices, one row per label.

    Choices are parameters with several options that all classes have, or that differ within a
    class.
    """
    rows = {}
    for label, measure in measures.items():
        if measure is None or isinstance(measure, Direction):
            rows[label] = {"measure": label}
            continue
        options = {name: option_name(measure[name]) for name in measure.SUPPORTED_PARAMS}
        options["measure"] = measure.NAME
        rows[label] = options
    table = pd.DataFrame.from_dict(rows, orient="index")
    n_options_of_class = table.groupby("measure").nunique()
    differs_within_class = (n_options_of_class > 1).any()
    differs_within_class = differs_within_class.reindex(table.columns, fill_value=False)
    is_common = table.notna().all()
    table = table.loc[:, is_common | differs_within_class].fillna("none")
    return table.loc[:, table.nunique() > 1]


def _equal_variants(values: Floats, labels: list[str]) -> dict[str, str]:
    """Return the variants with the values of an earlier one, and that one."""
    near = _TOLERANCE * np.abs(values).max(initial=0.0)
    same_as: dict[str, str] = {}
    for (earlier, a), (later, b) in combinations(enumerate(labels), 2):
        if a in same_as or b in same_as:
            continue
        distance = np.abs(values[:, :, later] - values[:, :, earlier])
        if (distance <= near).all():
            same_as[b] = a
    return same_as


def _variants(
    values: Floats, pairs: Pairs, clusters: Clusters, ci: float, correct: Any
) -> dict[str, Floats]:
    """Return the difference, interval and level of each pair by each variant, pairs × variants."""
    mean = mean_differences(values, pairs)
    half: Floats = np.empty_like(mean)
    for column in range(half.shape[1]):
        differences = topic_differences(values[:, :, [column]], pairs)
        half[:, column] = half_width(differences[:, :, 0], ci, clusters)
    p = t_test_levels(values, pairs, correct, clusters)
    return {"difference": mean, "low": mean - half, "high": mean + half, "p": p}


def _fractions(
    variants: dict[str, Floats], is_distinct: Any, reference: int, alpha: float
) -> dict[str, Any]:
    """Return the statistics of pairs over the distinct variants."""
    difference = variants["difference"][:, is_distinct]
    is_significant = variants["p"][:, is_distinct] < alpha
    sign = np.sign(variants["difference"][:, reference])
    has_sign = np.sign(difference) == sign[:, None]
    is_better = difference > 0
    is_worse = difference < 0
    return {
        "difference": variants["difference"][:, reference],
        "p": variants["p"][:, reference],
        "better": is_better.mean(axis=1),
        "worse": is_worse.mean(axis=1),
        "significantly_better": (is_better & is_significant).mean(axis=1),
        "significantly_worse": (is_worse & is_significant).mean(axis=1),
        "agrees": has_sign.mean(axis=1) > 0.5,
    }


def _ranks(
    values: Floats, names: list[Any], in_order: list[Any], is_distinct: Any, reference: int
) -> dict[str, Any]:
    """Return the rank of each run by the reference, and the range over the distinct variants."""
    signs = signs_of_means(mean_over_topics(values), values)  # runs × runs × variants
    ranks = 1 + (signs < 0).sum(axis=1)
    rows = [names.index(name) for name in in_order]
    ranks = ranks[rows]
    distinct_ranks = ranks[:, is_distinct]
    return {
        "name": in_order,
        "rank": ranks[:, reference],
        "best": distinct_ranks.min(axis=1),
        "worst": distinct_ranks.max(axis=1),
    }


def _main_effects(differences: Floats, options: pd.DataFrame) -> Floats:
    """Return the main effect of each choice, pairs × choices, NaN without a full grid."""
    effects = np.full((len(differences), options.shape[1]), np.nan)
    if options.duplicated().any() or len(options) != options.nunique().prod():
        return effects
    total = differences.var(axis=1)
    near = _TOLERANCE * np.abs(differences).max(axis=1)
    varies = total > near**2
    for column, choice in enumerate(options):
        has_option = pd.get_dummies(options[choice]).to_numpy(np.float64)  # variants × options
        # Each option is as frequent in a grid.
        means = differences @ (has_option / has_option.sum(axis=0))
        np.divide(means.var(axis=1), total, out=effects[:, column], where=varies)
    return effects
