"""Intervals of values and differences over all labels that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from .._validation import count, random_seed
from ..collection import Judgments, Rankings
from ..collection.label_draws import (
    NoDonorError,
    draw_labels,
    join_universe,
    matching_pairs,
    parse_labels,
)
from ..errors import MultiAspectError, choices, number_of, silence_warnings, tally
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    clusters_of_topics,
    read_clusters,
)
from ..evaluation.topics import check_all_topics
from ..integration.aggregators import aggregate_is_mean
from ..integration.parsing import parse_all
from ..io.runs import NamedRuns, join
from ..kernels.mean_errors import Clusters
from ..kernels.rounding import remove_rounding_errors
from ..measures import Measure
from ..measures.mean_of import MeasureMean
from ..measures.on import measure_on_relevance
from ..measures.terms import BasedMeasure
from ..views import Block, Sentence, View, decimals, percent, records_table
from ._pairs import MAX_SHOWN, Pairs, pairs_of_runs
from ._significance import clusters_note, corrector, largest_of_pairs, slices, t_test_levels
from ._value_intervals import ROUNDING, Interval, LabelIntervals

#: The number of labels per aspect that are drawn at a time.
_BATCH = 1 << 20

#: The share of the documents without judgments that a run retrieves alone, from which a note names
#: it.
_ALONE = 0.5


@dataclass(frozen=True, repr=False)
class MissingLabels(View):
    """Result of `missing_labels`.

    Attributes
    ----------
    runs : DataFrame
        One row per measure and run: ``measure name``; ``value``, as evaluated; ``low high``, the
        extremes over all completions, NaN if unknown; ``exact``, whether both are attained;
        ``expected``, the mean value over draws of the missing labels, NaN if a document has no
        donor, or the value with those of a model; and ``judged``, the share of the labels of the
        run's documents, down to the cutoff, that are there.
    pairs : DataFrame
        One row per measure and pair of runs: ``measure a b``; ``difference``, the value of a minus
        that of b as evaluated; ``low high exact``, as for runs, where bounds that are not exact may
        be too wide; ``certain``, whether the difference has one sign for all completions, or is 0
        for all; ``expected``, as for runs; and ``p`` of the paired t-test of the difference as
        evaluated, not corrected.
    universe : DataFrame
        One row per measure and aspect: ``measure aspect documents missing unfilled``, the number of
        documents of the qrels and the runs, of labels that are missing and matter, and of those
        also missing in ``expected``.
    notes : list of str
        The clusters of topics, why intervals are unknown, and what widens them.

    Examples
    --------
    See `missing_labels`.
    """

    runs: pd.DataFrame
    pairs: pd.DataFrame
    universe: pd.DataFrame
    notes: list[str]

    @property
    def summary(self) -> str:
        """The number of missing labels, and of the pairs whose sign is certain, in sentences."""
        sentences = []
        for measure, aspects in self.universe.groupby("measure", sort=False):
            missing = choices(f"{row.missing} of {row.aspect}" for row in aspects.itertuples())
            documents = number_of(int(aspects["documents"].iloc[0]), "document")
            text = f"{measure}: {documents} in the qrels and runs; labels missing: {missing}."
            pairs = self.pairs[self.pairs["measure"] == measure]
            if len(pairs):
                has_sign, tested = (pairs["low"] > 0) | (pairs["high"] < 0), pairs["p"] < 0.05
                text += (
                    f" The sign is certain for {has_sign.sum()} of {len(pairs)} pairs, and for "
                    f"{(has_sign & tested).sum()} of {tested.sum()} with p < 0.05."
                )
            sentences.append(text)
        return " ".join(sentences)

    def _title(self) -> str:
        return "Missing labels"

    def _content(self) -> list[Block]:
        cells: dict[str, Any] = {
            column: column for column in ("value", "low", "high", "expected", "exact")
        }
        cells["judged"] = lambda row: percent(row["judged"])
        columns = ("difference", "low", "high", "expected", "p", "exact", "certain")
        of_pairs = {column: column for column in columns}
        return [
            Sentence(self.summary),
            records_table(self.runs, ("measure", "name"), cells, most=MAX_SHOWN),
            records_table(self.pairs, ("measure", "a", "b"), of_pairs, most=MAX_SHOWN),
            *map(Sentence, self.notes),
        ]


def missing_labels(
    runs: Any,
    qrels: Any,
    measures: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    n_samples: int = 100,
    seed: int = 0,
    labels: Any = "observed",
    cluster: ClusterSpec = None,
) -> MissingLabels:
    """Compute between which values the missing labels leave each run, and each difference of two runs.

    Parameters
    ----------
    runs : mapping of str to run, iterable of runs or (name, run) pairs, or run
        As for `pt_multiaspect.evaluate`.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `Judgments`. A label is missing if it is
        NaN or a code that means "not judged", or if the qrels do not have the document.
    measures : measure, str, sequence of these or mapping
        As for `pt_multiaspect.evaluate`, with declared scales.
    baseline : str or sequence of str, optional
        The runs that the others are compared with (b of each pair). By default, all pairs are
        compared.
    n_samples : int, default 100
        The number of draws of missing labels for expected values; 0 for none.
    seed : int, default 0
        Random seed of the draws.
    labels : 'observed', DataFrame, dict, iterable or Judgments, default 'observed'
        What missing labels are in expected values: drawn from documents of the qrels, or qrels such
        as the judgments of a model. Labels that these lack remain missing. Unlike
        `pt_multiaspect.fill_labels`, labels that cannot matter are not filled, such as those of
        documents that a gate excludes.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`, in
        the tests.

    Returns
    -------
    MissingLabels
        ``runs``, ``pairs``, ``universe`` and ``notes``.

    Raises
    ------
    MultiAspectError
        If a scale is not declared or has negative gains or probabilities='identity', an aspect has
        no label, a measure is not averaged over all judged topics by the arithmetic mean, or the
        input is invalid. With `cluster`, if a topic has no cluster or several, or all topics are in
        one.

    Warns
    -----
    MultiAspectWarning
        If clusters leave fewer than 5 degrees of freedom; if none are given, but query ids look
        like those of groups (``106_1``, ``106_2``).

    Notes
    -----
    A completion gives every missing label one of the grades of its aspect, independently, for all
    documents of the qrels and those that any of the runs retrieves, to the cutoff of the measure.
    The true value is that of one completion. Documents that the runs do not retrieve matter if a
    measure is divided by an ideal, so that one run with few judged documents widens the intervals
    of all.

    Extremes are exact for measures that never fall when a label rises (P, RBP, ERR, uRBP, …), for
    sums that are divided by that of an ideal ranking (nDCG, R, TOMA and unDCG over these, NWCS),
    for AP, Rprec and SetF, and for CAM, MM, GAM and WHAM over all of these. All labels at the
    lowest or at the top grade are no extremes of measures with an ideal. Differences are exact,
    topic by topic, for linear sums, sums with one ideal for both runs, and CAM over these;
    otherwise they are subtracted from the intervals of both runs, which is a bound. Other measures,
    and topics in which a label matters to several terms, are enumerated if a topic has at most
    10,000 completions.

    An interval says what is possible, not what is likely: it is no confidence interval. The value
    as evaluated may lie outside, as documents without labels gain less than the lowest grade if
    that has a gain. Expected values assume that labels are missing at random. Labels that cannot
    matter, such as those of documents that a gate excludes, are not missing.

    References
    ----------
    Moffat, Zobel: Rank-Biased Precision for Measurement of Retrieval Effectiveness. ACM TOIS 27(1),
    2008. Dinkelbach: On Nonlinear Fractional Programming. Management Science 13(7), 1967.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {"d1": {"relevance": 2, "credibility": 1}, "d2": {"relevance": 1}, "d3": {"credibility": 0}},
    ...     "q2": {"d1": {"relevance": 1, "credibility": 0}, "d4": {"relevance": 2, "credibility": 1}},
    ... }
    >>> runs = {
    ...     "old": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d4": 2.0, "d1": 1.0}},
    ...     "new": {"q1": {"d3": 2.0, "d5": 1.0}, "q2": {"d1": 2.0, "d4": 1.0}},
    ... }
    >>> result = ma.analysis.missing_labels(runs, qrels, ma.CAM(aspects={"relevance": 2, "credibility": 1}) @ 2)
    >>> result.runs[["name", "value", "low", "high", "exact", "expected", "judged"]].round(3)
      name  value    low   high  exact  expected  judged
    0  old  1.000  0.855  1.000   True     0.900   0.875
    1  new  0.373  0.373  0.719   True     0.607   0.625
    >>> result.pairs[["a", "b", "difference", "low", "high", "certain", "expected"]].round(3)
         a    b  difference    low   high  certain  expected
    0  old  new       0.627  0.136  0.627     True     0.293
    """
    n_samples, seed, model = (
        count("n_samples", low=0)(n_samples),
        random_seed(seed),
        parse_labels(labels),
    )
    check_all_topics(measures, "missing labels decide which topics have a positive document")
    judgments = Judgments.of(qrels)
    labelled = {
        label: check_measure(label, measure, judgments)
        for label, measure in parse_all(measures).items()
    }
    named = NamedRuns.read(runs)
    named.check_files()
    joined = {name: join(name, run, judgments) for name, run in named}
    pairs = pairs_of_runs(list(joined), list(joined), baseline)
    cluster_of_topic = None
    if len(pairs) or cluster is not None:
        cluster_of_topic = read_clusters(cluster, pd.DataFrame({"qid": judgments.qids}))
    return compare_completions(
        labelled, judgments, joined, pairs, n_samples, seed, model, cluster_of_topic
    )


def compare_completions(
    labelled: Mapping[str, Measure],
    judgments: Judgments,
    joined: Mapping[str, Rankings],
    pairs: Pairs,
    n_samples: int,
    seed: int,
    model: Judgments | None,
    cluster_of_topic: Mapping[str, str] | None,
) -> MissingLabels:
    """Compute the intervals of runs and pairs of runs over all missing labels.

    Parameters
    ----------
    labelled : mapping of str to Measure
        The measures, which `check_measure` returned.
    judgments : Judgments
        The judgments.
    joined : mapping of str to Rankings
        The runs.
    pairs : Pairs
        The pairs, whose names are those of `joined`, in this order.
    n_samples, seed
        The parameters of `missing_labels`.
    model : Judgments, optional
        What missing labels are in expected values; by default, they are drawn.
    cluster_of_topic : mapping of str to str, optional
        The clusters of the topics, which p takes into account.
    """
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, judgments.qids))
    parts: list[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]] = []
    notes: list[str] = []
    for label, measure in labelled.items():
        values = np.stack([measure.evaluate(rankings) for rankings in joined.values()])
        with silence_warnings():
            search = _search(measure, judgments, list(joined.values()), pairs.first, pairs.second)
            _check_order(label, search)
            of_runs, of_pairs = search.compute()
            try:
                expected = _expected_values(search, model, n_samples, seed)
            except NoDonorError as error:
                expected = np.full_like(search.at_lowest, np.nan), search.missing.sum(axis=1)
                notes.append(f"{label} has no expected values: {error}.")
            except MultiAspectError as error:
                raise MultiAspectError(
                    f"{label}: {error}, or n_samples=0 for no expected values"
                ) from None
            frames = _frames(label, search, of_runs, of_pairs, values, expected, pairs, clusters)
            if not clusters.are_single_topics:
                notes.append(f"p of {label}: {clusters_note(values[:, :, None], pairs, clusters)}.")
            notes += _notes(label, search, of_runs, of_pairs, frames[0])
            notes += _note_of_single_run(label, judgments, joined, search, of_runs)
        parts.append(frames)
    of_run, of_pair, universe = (
        pd.concat(column, ignore_index=True) for column in zip(*parts, strict=True)
    )
    return MissingLabels(of_run, of_pair, universe, notes)


def check_measure(label: str, measure: ir_measures.Measure, judgments: Judgments) -> Measure:
    """Return the measure as one of this package, after checking that its completions are defined."""
    if not aggregate_is_mean(measure):
        raise MultiAspectError(
            f"{label}: expected a measure whose mean over topics is arithmetic, as extremes of "
            "topics add up, got "
            f"{measure}"
        )
    evaluated = measure_on_relevance(measure)
    evaluated.validate_params()
    for view in evaluated.views(judgments):
        if view.inferred:
            declared = f"aspects={{'{view.name}': [0, 1, 2]}}"
            remedy = f"declare them, as in On(base={str(measure)!r}, {declared})"
            if evaluated is measure and not evaluated.SINGLE_ASPECT:
                if evaluated.accepts_aspects:
                    remedy = f"declare them, as in {declared}"
                else:
                    remedy = "leave the measure out"
            raise MultiAspectError(
                f"{label}: expected declared grades of {view.name}, as the top grade of missing "
                "labels is unknown "
                f"otherwise; {remedy}"
            )
        view.check_gains(f"{label}: an interval over missing labels")
        if view.scale.identity:
            raise MultiAspectError(
                f"{label}: expected one probability per grade of {view.name}, got "
                "probabilities='identity', which "
                "leaves open which labels are possible"
            )
        if not view.known.any():
            raise MultiAspectError(
                f"{label}: expected labels of {view.name}, got none; leave the aspect out"
            )
    return evaluated


def has_inferred_scales(measure: ir_measures.Measure, judgments: Judgments) -> bool:
    """Return whether the grades of an aspect of a measure are not declared; False if its aspects are unknown."""
    try:
        views = measure_on_relevance(measure).views(judgments)
    except MultiAspectError:  # of measures that no measure of this package equals
        return False
    return any(view.inferred for view in views)


def _check_order(label: str, search: LabelIntervals) -> None:
    """Check that an order has weights for all labels that documents with missing ones may have."""
    order = search.measure.params.get("order")
    if order is None:
        return
    columns = [search.names.index(name) for name in order.names]
    labels = search.labels[columns]
    for known in np.unique(labels[:, np.isnan(labels).any(axis=0)].T, axis=0):
        options = []
        for row, scale in zip(known, order.scales, strict=True):
            options.append(
                range(len(scale)) if np.isnan(row) else [int(np.searchsorted(scale.grades, row))]
            )
        grades = np.array(list(product(*options)))
        impossible = grades[~order.is_possible(grades)]
        if len(impossible):
            lacking = tuple(
                float(scale.grades[grade])
                for scale, grade in zip(order.scales, impossible[0], strict=True)
            )
            raise MultiAspectError(
                f"{label}: expected weights of the order for all labels that documents with "
                "missing ones may have, "
                f"got none for {lacking} of {choices(order.names)} "
                f"{tally(len(impossible), 'tuple')}; add them to "
                "the order"
            )


def _search(
    measure: Measure, judgments: Judgments, rankings: Sequence[Rankings], first: Ints, second: Ints
) -> LabelIntervals:
    views = judgments.views(measure.spec)
    if _condenses(measure):
        is_junk = np.any([view.junk < 0 for view in views], axis=0)
        universe = join_universe(judgments, views, rankings, measure.cutoff, is_junk)
        cutoff = None
    else:
        universe = join_universe(judgments, views, rankings, measure.cutoff)
        cutoff = measure.cutoff
    again = [
        Rankings(run.source, universe) if cutoff is None else run.cut(cutoff, universe)
        for run in rankings
    ]
    return LabelIntervals(measure, universe, again, first, second)


def _condenses(measure: Measure) -> bool:
    """Return whether a measure leaves documents out before it counts ranks, so that it reads below its cutoff."""
    if isinstance(measure, MeasureMean):
        return any(_condenses(member) for member, _ in measure.members)
    if isinstance(measure, BasedMeasure):
        return any(base.params.get("judged_only") for base in measure.bases.each())
    return False


def _expected_values(
    search: LabelIntervals, model: Judgments | None, n_samples: int, seed: int
) -> tuple[Floats, Ints]:
    """Return the mean values over draws, runs × topics, and the number of labels that remain missing by aspect.

    Without a model's labels, observed ones are drawn; without draws, values are NaN.
    """
    values, topics = search.at_lowest.copy(), np.flatnonzero(search.is_open)
    if not n_samples or not len(topics):
        return values if n_samples else np.full_like(values, np.nan), search.missing.sum(axis=1)
    in_topics = np.flatnonzero(search.is_open[search.universe.pool_query])
    n_draws = n_samples if model is None else 1
    views = [view for view, is_read in zip(search.views, search.is_read, strict=True) if is_read]
    total = np.zeros((len(values), len(topics)))
    for part in slices(n_draws, len(in_topics), _BATCH):
        draws = np.arange(part.start, part.stop)
        labels = np.repeat(search.lowest_labels[None, :, in_topics], len(draws), axis=0)
        drawn = draw_labels(
            model, search.universe, views, search.missing[search.is_read], seed, draws
        )
        labels[:, search.missing[:, in_topics]] = drawn
        total += search.values_of_copies(topics, labels).sum(axis=1)
    values[:, topics] = total / n_draws
    return values, np.isnan(labels[0]).sum(axis=1)


def _frames(
    label: str,
    search: LabelIntervals,
    of_runs: Interval,
    of_pairs: Interval,
    values: Floats,
    expected: tuple[Floats, Ints],
    compared: Pairs,
    clusters: Clusters,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    mean, of_draws = values.mean(axis=1), expected[0].mean(axis=1)
    first, second = compared.first, compared.second
    possible = np.concatenate([values, *of_runs.ends], axis=1)
    largest = largest_of_pairs(np.nan_to_num(possible), first, second)
    cutoff = search.measure.cutoff or np.inf
    known = [~search.missing[:, run.hits.row[run.hits.rank <= cutoff]] for run in search.rankings]
    judged = [float(labels.mean()) if labels.size else np.nan for labels in known]
    runs = {"measure": label, "name": compared.names, "value": mean, **of_runs.columns()}
    runs |= {"expected": of_draws, "judged": judged}
    difference = remove_rounding_errors(mean[first] - mean[second], largest)
    pairs = {"measure": label, **compared.columns, "difference": difference, **of_pairs.columns()}
    for end in ("low", "high"):
        pairs[end] = remove_rounding_errors(pairs[end], largest)
    low, high = pairs["low"], pairs["high"]
    pairs["certain"] = (low > 0) | (high < 0) | ((low == 0) & (high == 0))
    pairs["expected"] = remove_rounding_errors(of_draws[first] - of_draws[second], largest)
    pairs["p"] = t_test_levels(values[:, :, None], compared, corrector("t", None), clusters)[:, 0]
    universe = {"measure": label, "aspect": search.names, "documents": len(search.universe)}
    universe |= {"missing": search.missing.sum(axis=1), "unfilled": expected[1]}
    return pd.DataFrame(runs), pd.DataFrame(pairs), pd.DataFrame(universe)


def _notes(
    label: str, search: LabelIntervals, of_runs: Interval, of_pairs: Interval, runs: pd.DataFrame
) -> list[str]:
    notes = []
    unknown = np.flatnonzero(np.isnan(of_runs.ends[0]).any(axis=0))
    if len(unknown):
        reason = "a missing label matters to several of its terms, or their extremes are unknown"
        if search.measure.stated.label_terms is None:
            reason = "how it depends on labels is not known"
        notes.append(
            f"{label} has no interval: {reason}, and {number_of(len(unknown), 'topic')}, such as "
            f"{search.universe.qids[unknown[0]]}, have too many completions to enumerate."
        )
    elif not of_runs.exact.all():
        notes.append(
            f"The intervals of {label} are bounds: the search for exact extremes was stopped."
        )
    if len(search.first) and not of_pairs.exact.all() and not len(unknown):
        notes.append(
            f"Differences in {label} are bounded by the intervals of both runs in "
            f"{number_of(int((~of_pairs.exact).sum()), 'topic')}: the exact intervals may be "
            "narrower."
        )
    value, low, high = runs[["value", "low", "high"]].to_numpy().T
    outside = int(
        ((value < low - ROUNDING * np.abs(low)) | (value > high + ROUNDING * np.abs(high))).sum()
    )
    if outside:
        notes.append(
            f"{label}: the value as evaluated of {number_of(outside, 'run')} is not that of any "
            "completion, as "
            "documents without labels count as less than, or otherwise than, the lowest grade."
        )
    for view in search.views:
        if len(view.scale) > 1 and not (view.grade_index[view.known] == 0).any():
            notes.append(
                f"{label}: no document has the lowest grade of {view.name}. If the qrels list only "
                "positive "
                "documents, those that are not listed may have been judged."
            )
    return notes


def _note_of_single_run(
    label: str,
    judgments: Judgments,
    joined: Mapping[str, Rankings],
    search: LabelIntervals,
    of_runs: Interval,
) -> list[str]:
    """Return a note on a run that alone retrieves most of the documents without judgments."""
    if len(joined) < 3:
        return []
    universe = search.universe
    is_new = matching_pairs(judgments, universe) < 0
    retrieved = np.array(
        [np.bincount(run.hits.row, minlength=len(universe)) > 0 for run in search.rankings]
    )
    retrieved &= is_new
    alone = (retrieved & (retrieved.sum(axis=0) == 1)).sum(axis=1)
    row, n_new = int(alone.argmax()), int(is_new.sum())
    if alone[row] <= _ALONE * n_new or np.isnan(of_runs.ends).any():
        return []
    rankings, nothing = list(joined.values()), np.zeros(0, dtype=np.intp)
    others = rankings[:row] + rankings[row + 1 :]
    without, _ = _search(search.measure, judgments, others, nothing, nothing).compute()
    before = np.delete(of_runs.ends, row, axis=1)
    narrow, wide = (decimals(float((high - low).mean())) for low, high in (without.ends, before))
    documents = number_of(n_new, "document")
    note = f"{label}: {list(joined)[row]} alone retrieves {alone[row]} of {documents} without judgments. Without it, "
    return [
        note + f"the intervals of the others would be {narrow} wide on average, rather than {wide}."
    ]
