"""Intervals of values and differences over all labels that are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import count, random_seed
from ..aspects import Scale
from ..collection import AspectView, Judgments, Rankings
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
            missing_by_aspect = []
            for row in aspects.itertuples():
                missing_by_aspect.append(f"{row.missing} of {row.aspect}")
            missing = choices(missing_by_aspect)
            documents = number_of(int(aspects["documents"].iloc[0]), "document")
            sentences.append(
                f"{measure}: {documents} in the qrels and runs; labels missing: {missing}."
            )
            pairs = self.pairs[self.pairs["measure"] == measure]
            if len(pairs):
                sentences.append(_sentence_on_signs(pairs))
        return " ".join(sentences)

    def _title(self) -> str:
        return "Missing labels"

    def _content(self) -> list[Block]:
        """Return the summary, the tables of runs and of pairs, and the notes."""
        columns_of_runs = ("value", "low", "high", "expected", "exact")
        cells_of_runs: dict[str, Any] = {column: column for column in columns_of_runs}
        cells_of_runs["judged"] = lambda row: percent(row["judged"])
        columns_of_pairs = ("difference", "low", "high", "expected", "p", "exact", "certain")
        cells_of_pairs = {column: column for column in columns_of_pairs}
        blocks: list[Block] = [
            Sentence(self.summary),
            records_table(self.runs, ("measure", "name"), cells_of_runs, most=MAX_SHOWN),
            records_table(self.pairs, ("measure", "a", "b"), cells_of_pairs, most=MAX_SHOWN),
        ]
        for note in self.notes:
            blocks.append(Sentence(note))
        return blocks


def _sentence_on_signs(pairs: pd.DataFrame) -> str:
    """Return for how many pairs of one measure the sign is certain, and for how many with low p."""
    has_certain_sign = (pairs["low"] > 0) | (pairs["high"] < 0)
    is_significant = pairs["p"] < 0.05
    n_certain = has_certain_sign.sum()
    n_significant = is_significant.sum()
    n_both = (has_certain_sign & is_significant).sum()
    return (
        f"The sign is certain for {n_certain} of {len(pairs)} pairs, and for {n_both} of "
        f"{n_significant} with p < 0.05."
    )


class _Expected(NamedTuple):
    """The expected values of a measure over draws of the missing labels."""

    #: Runs × topics; NaN if they are not known.
    values: Floats
    #: The number of missing labels that draws do not fill, by aspect.
    unfilled: Ints
    #: Why values are not known.
    notes: list[str]


@dataclass(frozen=True, eq=False)
class _Completions:
    """The values of one measure, and their intervals over all completions."""

    label: str
    search: LabelIntervals
    #: The values as evaluated, runs × topics.
    values: Floats
    of_runs: Interval
    of_pairs: Interval
    expected: _Expected


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
    """Compute the intervals in which missing labels leave the values and differences of runs.

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
    ...     "q1": {
    ...         "d1": {"relevance": 2, "credibility": 1},
    ...         "d2": {"relevance": 1},
    ...         "d3": {"credibility": 0},
    ...     },
    ...     "q2": {
    ...         "d1": {"relevance": 1, "credibility": 0},
    ...         "d4": {"relevance": 2, "credibility": 1},
    ...     },
    ... }
    >>> runs = {
    ...     "old": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d4": 2.0, "d1": 1.0}},
    ...     "new": {"q1": {"d3": 2.0, "d5": 1.0}, "q2": {"d1": 2.0, "d4": 1.0}},
    ... }
    >>> measure = ma.CAM(aspects={"relevance": 2, "credibility": 1}) @ 2
    >>> result = ma.analysis.missing_labels(runs, qrels, measure)
    >>> result.runs[["name", "value", "low", "high", "exact", "expected", "judged"]].round(3)
      name  value    low   high  exact  expected  judged
    0  old  1.000  0.855  1.000   True     0.900   0.875
    1  new  0.373  0.373  0.719   True     0.607   0.625
    >>> result.pairs[["a", "b", "difference", "low", "high", "certain", "expected"]].round(3)
         a    b  difference    low   high  certain  expected
    0  old  new       0.627  0.136  0.627     True     0.293
    """
    n_samples = count("n_samples", low=0)(n_samples)
    seed = random_seed(seed)
    model = parse_labels(labels)
    check_all_topics(measures, "missing labels decide which topics have a positive document")
    judgments = Judgments.of(qrels)
    by_label = {}
    for label, measure in parse_all(measures).items():
        by_label[label] = check_measure(label, measure, judgments)
    named = NamedRuns.read(runs)
    named.check_files()
    joined = {name: join(name, run, judgments) for name, run in named}
    pairs = pairs_of_runs(list(joined), list(joined), baseline)
    cluster_of_topic = None
    if len(pairs) or cluster is not None:
        cluster_of_topic = read_clusters(cluster, pd.DataFrame({"qid": judgments.qids}))
    return compare_completions(
        by_label, judgments, joined, pairs, n_samples, seed, model, cluster_of_topic
    )


def compare_completions(
    by_label: Mapping[str, Measure],
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
    by_label : mapping of str to Measure
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
    rankings = list(joined.values())
    tables_of_runs: list[pd.DataFrame] = []
    tables_of_pairs: list[pd.DataFrame] = []
    universes: list[pd.DataFrame] = []
    notes: list[str] = []
    for label, measure in by_label.items():
        values = np.stack([measure.evaluate(run) for run in rankings])  # runs × topics
        # Values for other labels would repeat the warnings of these.
        with silence_warnings():
            search = _search(measure, judgments, rankings, pairs.first, pairs.second)
            _check_order(label, search)
            of_runs, of_pairs = search.compute()
            expected = _expected_or_note(label, search, model, n_samples, seed)
            completions = _Completions(label, search, values, of_runs, of_pairs, expected)
            table_of_runs = _frame_of_runs(completions, pairs.names)
            tables_of_runs.append(table_of_runs)
            tables_of_pairs.append(_frame_of_pairs(completions, pairs, clusters))
            universes.append(_frame_of_universe(completions))

            notes += expected.notes
            notes += _notes_on_clusters(completions, pairs, clusters)
            notes += _notes_on_intervals(completions)
            notes += _notes_on_values(label, search, table_of_runs)
            notes += _note_of_single_run(completions, judgments, joined)
    return MissingLabels(
        runs=pd.concat(tables_of_runs, ignore_index=True),
        pairs=pd.concat(tables_of_pairs, ignore_index=True),
        universe=pd.concat(universes, ignore_index=True),
        notes=notes,
    )


def check_measure(label: str, measure: ir_measures.Measure, judgments: Judgments) -> Measure:
    """Return the measure as one of this package, if its completions are defined."""
    if not aggregate_is_mean(measure):
        raise MultiAspectError(
            f"{label}: expected a measure whose mean over topics is arithmetic, as extremes of "
            f"topics add up, got {measure}"
        )
    evaluated = measure_on_relevance(measure)
    evaluated.validate_params()
    for view in evaluated.views(judgments):
        if view.inferred:
            remedy = _remedy_of_inferred(measure, evaluated, view.name)
            raise MultiAspectError(
                f"{label}: expected declared grades of {view.name}, as the top grade of missing "
                f"labels is unknown otherwise; {remedy}"
            )
        _check_labels(label, view)
    return evaluated


def _check_labels(label: str, view: AspectView) -> None:
    """Check that the possible labels of an aspect have known gains, and that it has labels."""
    view.check_gains(f"{label}: an interval over missing labels")
    if view.scale.identity:
        raise MultiAspectError(
            f"{label}: expected one probability per grade of {view.name}, got "
            "probabilities='identity', which leaves open which labels are possible"
        )
    if not view.known.any():
        raise MultiAspectError(
            f"{label}: expected labels of {view.name}, got none; leave the aspect out"
        )


def _remedy_of_inferred(measure: ir_measures.Measure, evaluated: Measure, aspect: str) -> str:
    """Return how to declare the grades of an aspect of a measure.

    `evaluated` is the measure itself or, for one of ir-measures, that of this package with the same
    values, which is evaluated in its place.
    """
    declared = f"aspects={{'{aspect}': [0, 1, 2]}}"
    is_of_ir_measures = evaluated is not measure
    if is_of_ir_measures or evaluated.SINGLE_ASPECT:
        base = repr(str(measure))
        return f"declare them, as in On(base={base}, {declared})"
    if evaluated.accepts_aspects:
        return f"declare them, as in {declared}"
    return "leave the measure out"


def has_inferred_scales(measure: ir_measures.Measure, judgments: Judgments) -> bool:
    """Return whether an aspect of a measure has no declared grades.

    False if its aspects are unknown.
    """
    try:
        views = measure_on_relevance(measure).views(judgments)
    except MultiAspectError:
        # ERR of ir-measures, for example, is no measure of this package, and has no aspects here.
        return False
    return any(view.inferred for view in views)


def _check_order(label: str, search: LabelIntervals) -> None:
    """Check that an order has weights for all labels that documents with missing ones may have.

    `search.labels` has one row per aspect of `search.names` and one column per document.
    """
    order = search.measure.params.get("order")
    if order is None:
        return
    rows = [search.names.index(name) for name in order.names]
    labels_by_document = search.labels[rows].T  # documents × aspects of the order
    has_missing_label = np.isnan(labels_by_document).any(axis=1)
    # Documents with the same known labels may have the same others.
    for known_labels in np.unique(labels_by_document[has_missing_label], axis=0):
        tuples = _possible_tuples(known_labels, order.scales)
        has_weight = order.is_possible(tuples)
        without_weight = tuples[~has_weight]
        if len(without_weight) > 0:
            raise _no_weight(label, order, without_weight)


def _no_weight(label: str, order: Any, tuples: Ints) -> MultiAspectError:
    """Return the error for label tuples without a weight in an order, as indices of grades."""
    example = []
    for scale, index in zip(order.scales, tuples[0], strict=True):
        example.append(float(scale.grades[index]))
    aspects = choices(order.names)
    number = tally(len(tuples), "tuple")
    return MultiAspectError(
        f"{label}: expected weights of the order for all labels that documents with missing "
        f"ones may have, got none for {tuple(example)} of {aspects} {number}; add them to the "
        "order"
    )


def _possible_tuples(known: Floats, scales: Sequence[Scale]) -> Ints:
    """Return the label tuples that documents with some known labels may have, tuples × aspects.

    They consist of indices of grades. NaN is a missing label: with three grades, the labels (2,
    NaN) have the tuples (2, 0), (2, 1) and (2, 2).
    """
    options: list[Sequence[int]] = []
    for label, scale in zip(known, scales, strict=True):
        if np.isnan(label):
            options.append(range(len(scale)))
        else:
            options.append([int(np.searchsorted(scale.grades, label))])
    return np.array(list(product(*options)))


def _search(
    measure: Measure, judgments: Judgments, rankings: Sequence[Rankings], first: Ints, second: Ints
) -> LabelIntervals:
    """Return the intervals of a measure over all values of the missing labels.

    Its documents, the universe, are those of the judgments and those that runs retrieve down to its
    cutoff. `first` and `second` are the runs of each pair.
    """
    views = judgments.views(measure.spec)
    cutoff = measure.cutoff
    joined = []
    if _condenses(measure):
        # Where documents are left out, by their labels, those below the cutoff move up: the cutoff
        # counts the other documents only, and rankings must not be cut.
        is_left_out = np.any([view.junk < 0 for view in views], axis=0)
        universe = join_universe(judgments, views, rankings, cutoff, is_left_out)
        for run in rankings:
            joined.append(_cut(run, None, universe))
    else:
        universe = join_universe(judgments, views, rankings, cutoff)
        for run in rankings:
            joined.append(_cut(run, cutoff, universe))
    return LabelIntervals(measure, universe, joined, first, second)


def _cut(run: Rankings, cutoff: int | None, universe: Judgments) -> Rankings:
    """Return a run down to the cutoff, all of it if there is none, joined with the universe."""
    if cutoff is None:
        return Rankings(run.source, universe)
    return run.cut(cutoff, universe)


def _condenses(measure: Measure) -> bool:
    """Return whether a measure leaves documents out before it counts ranks.

    Then it reads below its cutoff.
    """
    if isinstance(measure, MeasureMean):
        parts = [member for member, _ in measure.members]
        return any(_condenses(part) for part in parts)
    if isinstance(measure, BasedMeasure):
        bases = measure.bases.each()
        return any(base.params.get("judged_only") for base in bases)
    return False


def _expected_or_note(
    label: str, search: LabelIntervals, model: Judgments | None, n_samples: int, seed: int
) -> _Expected:
    """Return the expected values.

    If a label cannot be drawn, as no document has it, they are NaN and a note says so.
    """
    try:
        return _expected_values(search, model, n_samples, seed)
    except NoDonorError as error:
        unknown = np.full_like(search.at_lowest, np.nan)
        n_missing = search.missing.sum(axis=1)
        return _Expected(unknown, n_missing, [f"{label} has no expected values: {error}."])
    except MultiAspectError as error:
        raise MultiAspectError(f"{label}: {error}, or n_samples=0 for no expected values") from None


def _expected_values(
    search: LabelIntervals, model: Judgments | None, n_samples: int, seed: int
) -> _Expected:
    """Return the mean values over draws of the missing labels.

    Without a model's labels, observed ones are drawn; without draws, values are NaN.
    """
    # Runs × topics, where each missing label is the lowest grade.
    values = search.at_lowest.copy()
    unfilled = search.missing.sum(axis=1)
    if n_samples == 0:
        unknown = np.full_like(values, np.nan)
        return _Expected(unknown, unfilled, notes=[])
    # On other topics, values do not depend on missing labels.
    topics = np.flatnonzero(search.is_open)
    if len(topics) == 0:
        return _Expected(values, unfilled, notes=[])

    if model is None:
        n_draws = n_samples
    else:
        n_draws = 1  # the labels of a model are always the same
    is_of_open_topic = search.is_open[search.universe.pool_query]
    documents = np.flatnonzero(is_of_open_topic)
    total = np.zeros((len(values), len(topics)))
    # The labels of all draws together would need too much memory.
    for part in slices(n_draws, len(documents), _BATCH):
        draws = np.arange(part.start, part.stop)
        labels = _drawn_labels(search, model, seed, draws, documents)
        values_of_draws = search.values_of_copies(topics, labels)  # runs × draws × topics
        total += values_of_draws.sum(axis=1)
        # A model may lack labels: they remain missing, the same ones in all draws.
        unfilled = np.isnan(labels[0]).sum(axis=1)
    values[:, topics] = total / n_draws
    return _Expected(values, unfilled, notes=[])


def _drawn_labels(
    search: LabelIntervals, model: Judgments | None, seed: int, draws: Ints, documents: Ints
) -> Floats:
    """Return the labels of some documents, in which missing ones are drawn.

    Parameters
    ----------
    search : LabelIntervals
        The labels; those that matter are missing of these documents only.
    model, seed
        As for `draw_labels`.
    draws : ndarray of int, shape (n_draws,)
        The numbers of the draws.
    documents : ndarray of int
        Rows of the documents.

    Returns
    -------
    ndarray of float, shape (n_draws, n_aspects, n_documents)
    """
    # Aspects of weight 0 are not read: their labels are not drawn.
    read_aspects = np.flatnonzero(search.is_read)
    views = [search.views[aspect] for aspect in read_aspects]
    missing_of_views = search.missing[read_aspects]
    # One row per draw, and one column per missing label: by aspect, and then by document.
    drawn = draw_labels(model, search.universe, views, missing_of_views, seed, draws)

    # These are all missing labels that matter: none is missing of other documents or unread aspects.
    return search.fill_copies(documents, drawn)


def _frame_of_runs(completions: _Completions, names: Sequence[Any]) -> pd.DataFrame:
    """Return the rows of ``runs`` of one measure."""
    search = completions.search
    cutoff = search.measure.cutoff or np.inf
    judged = []  # the share of the labels of each run's documents that are not missing
    for run in search.rankings:
        is_above_cutoff = run.hits.rank <= cutoff
        documents = run.hits.row[is_above_cutoff]
        is_known = ~search.missing[:, documents]
        if is_known.size:
            judged.append(float(is_known.mean()))
        else:
            judged.append(np.nan)
    columns = {
        "measure": completions.label,
        "name": names,
        "value": completions.values.mean(axis=1),
        **completions.of_runs.columns(),
        "expected": completions.expected.values.mean(axis=1),
        "judged": judged,
    }
    return pd.DataFrame(columns)


def _frame_of_pairs(completions: _Completions, pairs: Pairs, clusters: Clusters) -> pd.DataFrame:
    """Return the rows of ``pairs`` of one measure."""
    values = completions.values  # runs × topics
    mean = values.mean(axis=1)
    expected_mean = completions.expected.values.mean(axis=1)
    interval = completions.of_pairs.columns()
    # Differences that are tiny compared with the possible values of the runs are rounding errors.
    largest = _largest_possible(completions, pairs)
    raw_difference = mean[pairs.first] - mean[pairs.second]
    difference = remove_rounding_errors(raw_difference, largest)
    raw_expected = expected_mean[pairs.first] - expected_mean[pairs.second]
    expected = remove_rounding_errors(raw_expected, largest)
    low = remove_rounding_errors(interval["low"], largest)
    high = remove_rounding_errors(interval["high"], largest)
    is_always_equal = (low == 0) & (high == 0)
    has_certain_sign = (low > 0) | (high < 0)

    uncorrected = corrector("t", None)
    p = t_test_levels(values[:, :, None], pairs, uncorrected, clusters)  # pairs × 1 measure
    columns = {
        "measure": completions.label,
        **pairs.columns,
        "difference": difference,
        "low": low,
        "high": high,
        "exact": interval["exact"],
        "certain": has_certain_sign | is_always_equal,
        "expected": expected,
        "p": p[:, 0],
    }
    return pd.DataFrame(columns)


def _largest_possible(completions: _Completions, pairs: Pairs) -> Floats:
    """Return the largest absolute value that either run of each pair may have on a topic."""
    low, high = completions.of_runs.ends  # runs × topics; NaN if not known
    possible_values = np.concatenate([completions.values, low, high], axis=1)
    known_values = np.nan_to_num(possible_values)  # 0 is never the largest
    return largest_of_pairs(known_values, pairs.first, pairs.second)


def _notes_on_clusters(completions: _Completions, pairs: Pairs, clusters: Clusters) -> list[str]:
    """Return a note on how clusters of several topics affect p; none if topics are independent."""
    if clusters.are_single_topics:
        return []
    note = clusters_note(completions.values[:, :, None], pairs, clusters)
    return [f"p of {completions.label}: {note}."]


def _frame_of_universe(completions: _Completions) -> pd.DataFrame:
    """Return the rows of ``universe`` of one measure."""
    search = completions.search
    columns = {
        "measure": completions.label,
        "aspect": search.names,
        "documents": len(search.universe),
        "missing": search.missing.sum(axis=1),
        "unfilled": completions.expected.unfilled,
    }
    return pd.DataFrame(columns)


def _notes_on_intervals(completions: _Completions) -> list[str]:
    """Return notes on intervals that are unknown or not exact."""
    has_unknown_end = np.isnan(completions.of_runs.ends[0]).any(axis=0)  # by topic
    unknown_topics = np.flatnonzero(has_unknown_end)
    if len(unknown_topics):
        return [_note_on_unknown_intervals(completions, unknown_topics)]
    label = completions.label
    notes = []
    if not completions.of_runs.exact.all():
        notes.append(
            f"The intervals of {label} are bounds: the search for exact extremes was stopped."
        )
    has_pairs = len(completions.search.first) > 0
    n_bounded = int((~completions.of_pairs.exact).sum())
    if has_pairs and n_bounded:
        topics = number_of(n_bounded, "topic")
        notes.append(
            f"Differences in {label} are bounded by the intervals of both runs in {topics}: the "
            "exact intervals may be narrower."
        )
    return notes


def _note_on_unknown_intervals(completions: _Completions, unknown_topics: Ints) -> str:
    """Return why a measure has no interval, given the positions of the topics without one."""
    search = completions.search
    if search.measure.stated.label_terms is None:
        reason = "how it depends on labels is not known"
    else:
        reason = "a missing label matters to several of its terms, or their extremes are unknown"
    topics = number_of(len(unknown_topics), "topic")
    example = search.universe.qids[unknown_topics[0]]
    return (
        f"{completions.label} has no interval: {reason}, and {topics}, such as {example}, have too "
        "many completions to enumerate."
    )


def _notes_on_values(label: str, search: LabelIntervals, runs: pd.DataFrame) -> list[str]:
    """Return notes on values outside their intervals, and on grades that no document has."""
    notes = []
    value = runs["value"].to_numpy()
    low = runs["low"].to_numpy()
    high = runs["high"].to_numpy()
    is_below = value < low - ROUNDING * np.abs(low)
    is_above = value > high + ROUNDING * np.abs(high)
    n_outside = int((is_below | is_above).sum())
    if n_outside:
        runs_outside = number_of(n_outside, "run")
        notes.append(
            f"{label}: the value as evaluated of {runs_outside} is not that of any completion, as "
            "documents without labels count as less than, or otherwise than, the lowest grade."
        )
    for view in search.views:
        if len(view.scale) == 1:
            continue
        has_lowest_grade = view.grade_index[view.known] == 0
        if not has_lowest_grade.any():
            notes.append(
                f"{label}: no document has the lowest grade of {view.name}. If the qrels list only "
                "positive documents, those that are not listed may have been judged."
            )
    return notes


def _note_of_single_run(
    completions: _Completions, judgments: Judgments, joined: Mapping[str, Rankings]
) -> list[str]:
    """Return a note on a run that alone retrieves most of the documents without judgments.

    The list is empty if there is no such run, or if the intervals are not known.
    """
    search = completions.search
    are_unknown = np.isnan(completions.of_runs.ends).any()
    if len(joined) < 3 or are_unknown:
        return []
    is_new = matching_pairs(judgments, search.universe) < 0  # −1: not in the qrels
    n_new = int(is_new.sum())
    n_alone_by_run = _n_retrieved_alone(search, is_new)
    row = int(n_alone_by_run.argmax())
    n_alone = n_alone_by_run[row]
    retrieves_most_alone = n_alone > _ALONE * n_new
    if not retrieves_most_alone:
        return []

    # Without the run, its documents are not in the universe: the other runs have other intervals.
    names = list(joined)
    run = names[row]
    others = [joined[name] for name in names if name != run]
    ends_of_others = np.delete(completions.of_runs.ends, row, axis=1)
    width_with = _mean_width(ends_of_others)
    width_without = _mean_width(_ends_of_runs(search.measure, judgments, others))
    documents = number_of(n_new, "document")
    note = (
        f"{completions.label}: {run} alone retrieves {n_alone} of {documents} without judgments. "
        f"Without it, the intervals of the others would be {width_without} wide on average, rather "
        f"than {width_with}."
    )
    return [note]


def _ends_of_runs(measure: Measure, judgments: Judgments, rankings: list[Rankings]) -> Floats:
    """Return the lowest and the highest values of runs, 2 × runs × topics."""
    no_pairs = np.zeros(0, dtype=np.intp)
    search = _search(measure, judgments, rankings, first=no_pairs, second=no_pairs)
    of_runs, _ = search.compute()
    return of_runs.ends


def _n_retrieved_alone(search: LabelIntervals, is_new: Bools) -> Ints:
    """Return the number of new documents that each run retrieves, and no other run.

    `is_new` is a mask of all documents.
    """
    shape = (len(search.rankings), len(search.universe))
    is_retrieved = np.zeros(shape, dtype=np.bool_)
    for row, run in enumerate(search.rankings):
        is_retrieved[row, run.hits.row] = True
    n_runs_of_document = is_retrieved.sum(axis=0)
    has_one_run = n_runs_of_document == 1
    is_new_of_one_run = is_new & has_one_run
    is_counted = is_retrieved & is_new_of_one_run
    return np.asarray(is_counted.sum(axis=1))


def _mean_width(ends: Floats) -> str:
    """Return the mean width of intervals, 2 × runs × topics, with the usual decimals."""
    low, high = ends
    widths = high - low
    return decimals(float(widths.mean()))
