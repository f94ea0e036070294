"""Statements of measures and bases: what single analyses ask of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..collection import Judgments


@dataclass(frozen=True, kw_only=True)
class Statements:
    """Statements about a measure or a base.

    Its method `statements` returns them, and analyses read them as `stated`. Each field is None by
    default: unknown. Analyses then take a more general road, or raise an error. A class states more
    with ``return replace(super().statements(), sorting_is_optimal=True)`` in its method.
    `pt_multiaspect.testing.check_measure` compares what is stated with brute force, but for
    `every_term_counts`, `gain_per_query`, `reads_labels` and `reads_unjudged`.

    Parameters
    ----------
    never_falls_with_labels : bool, optional
        The value never falls when the label of a document rises. Asked by `missing_labels`, for
        which the lowest and the top grades then give the extremes.
    sorting_is_optimal : bool, optional
        Sorting documents by decreasing `Base.gain` maximises the base. Asked by `upper_bound`, by
        explanations for the best ranking, and by training labels, which are surrogates otherwise.
    prefers_early : bool, optional
        For a fixed number of relevant documents, the value of the base never falls when one of them
        changes places with a document above it. Asked by `missing_labels`.
    is_ordinal : bool, optional
        The base depends only on the order of gains. Asked by `TOMA` for
        ``weighting='exponential'``.
    has_constant_norm : bool, optional
        The norm of the linear form of the base is the same for all queries. Asked by training
        labels of means, and by `missing_labels`.
    needs_top : bool, optional
        The base depends on the maximum gain of the scale. Asked before the evaluation, which warns
        of scales that were inferred.
    max_gain : float, optional
        The maximum gain that the base accepts. Asked by `check_measure`.
    exponentiates_gains : bool, optional
        The base itself uses 2^gain - 1 as gain. Asked by `TOMA` for ``weighting='exponential'``,
        and by training labels.
    accepts_negative_gains : bool, optional
        Gains may be negative, for harmful documents; values then have no minimum, unless the base
        is ordinal. Asked by every evaluation of a base that reads gains, which refuses negative
        ones otherwise.
    reads_unjudged : bool, optional
        The base uses `Target.unjudged`, the gain of unjudged documents. Asked by every evaluation,
        which refuses such gains otherwise.
    reads_labels : bool, optional
        The base maps raw labels to gains itself, as nDCG with ``gains`` does. Asked by `TOMA`,
        which refuses it.
    is_weighted_sum : bool, optional
        `Measure.combine` is the weighted sum of the terms' values. Asked by `upper_bound`,
        `missing_labels`, `weightings`, explanations, training labels and means of measures.
    never_falls_with_terms : bool, optional
        `Measure.combine` never falls when the value of a term rises. Asked by `upper_bound`,
        `missing_labels` and explanations.
    every_term_counts : bool, optional
        A query without positive documents in any one term has none, rather than in all terms. Asked
        for the topics over which ``evaluate(average_over='positive')`` averages.
    gain_per_query : bool, optional
        `Measure.document_gain` is normalised per query. Asked by `aggregate_labels` and
        `AspectRanker`, which then require the queries.
    label_terms : callable, optional
        A function of `Judgments` that returns the terms by which the value depends on labels: in
        each, the gain of a document depends on its own labels only, up to a factor per query, and
        weights depend on no labels. It is `Measure.terms` for measures whose weights are fixed.
        Asked by `missing_labels`.
    ideal_documents : {'judged', 'ranks', 'retrieved', 'separate'}, optional
        The documents of the ideal rankings of `label_terms`. ``'judged'``: all judged ones, also if
        this is not stated. ``'ranks'``: these, down to as many ranks as the run has.
        ``'retrieved'``: those of the run. ``'separate'``: these for each term, where a value is the
        sum of all terms' sums divided by the sum of their ideals. Asked by `missing_labels`.
    """

    never_falls_with_labels: bool | None = None
    sorting_is_optimal: bool | None = None
    prefers_early: bool | None = None
    is_ordinal: bool | None = None
    has_constant_norm: bool | None = None
    needs_top: bool | None = None
    max_gain: float | None = None
    exponentiates_gains: bool | None = None
    accepts_negative_gains: bool | None = None
    reads_unjudged: bool | None = None
    reads_labels: bool | None = None
    is_weighted_sum: bool | None = None
    never_falls_with_terms: bool | None = None
    every_term_counts: bool | None = None
    gain_per_query: bool | None = None
    label_terms: Callable[[Judgments], list[Any]] | None = None
    ideal_documents: str | None = None
