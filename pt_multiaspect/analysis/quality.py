"""Labels of the documents in the best run of each measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import choice, count
from ..aspects import parse_aspects
from ..collection import AspectView, Judgments
from ..collection.label_rules import aspect_from_one, start_at_one_note
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, choices, parameter, shown, tally, warn_once
from ..io.runs import join, named_runs
from ..kernels.hits import Hits
from ._value_matrices import read_oriented

#: Tolerance for ties, relative to the maximum of a topic (rounding errors).
_TOLERANCE = 1e-12


def zero_aspect_documents(
    perquery: Any,
    runs: object,
    qrels: object,
    *,
    cutoff: int = 5,
    aspects: object = None,
    ties: str = "average",
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
) -> pd.DataFrame:
    """Count documents with the lowest grade on every aspect at the top of each measure's best run.

    For each topic, a measure selects the run with the best value: the ranking that users would see
    if the measure chose between the runs. Fewer such documents are better.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. Use measures with the cutoff given here, as in the
        paper (``TOMA@5`` for a `cutoff` of 5): with other cutoffs, runs are selected by other ranks
        than are counted.
    runs : mapping of str to run, or sequence of runs
        Runs in any form that `pt_multiaspect.evaluate` accepts, with the names in `perquery`.
        Additional runs are ignored.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `pt_multiaspect.Judgments`.
    cutoff : int, default 5
        Number of ranks to count.
    aspects : Aspects, mapping, str or sequence of str, optional
        The aspects and their scales, as for measures. By default, all numeric columns.
    ties : {'average', 'first'}, default 'average'
        How to treat runs that tie for the best value of a topic. ``'average'``: all of them count
        equally, so counts may be fractions and do not depend on the order of `perquery`.
        ``'first'``: the first counts.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        Measures of the frame; all by default. A mapping ``{alias: measure}`` says which measures
        the names refer to, for frames without the record of `pt_multiaspect.evaluate`, such as
        those read from files. For values that are not those of a measure, give 'higher' or 'lower',
        whichever is better.

    Returns
    -------
    DataFrame
        ``measure ranks n_documents n_zero fraction``. Each measure, in the order of `perquery`, has
        one row per rank and one for all ranks (omitted if `cutoff` is 1). ``ranks`` is a string:
        ``'1'`` … ``'5'`` and ``'1-5'``.
        `n_documents` is the number of documents that the best runs have at these ranks, from 0 to
        the number of topics (times `cutoff`). `n_zero` is the number of these with the lowest grade
        on every aspect, including unjudged documents. `fraction` in [0, 1] is `n_zero` divided by
        topics × `cutoff`, in every row, so that the fractions of the ranks sum to the last row; the
        paper reports it in percent. Ranks beyond the end of a run have no documents, but are
        included in topics × `cutoff`.

    Raises
    ------
    MultiAspectError
        If `perquery` is invalid (fewer than two systems or topics, NaN values, or measures or
        topics that some systems lack), names or topics of `perquery` are missing from `runs` or
        `qrels`, a run or the qrels are invalid, or a parameter is out of range.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better; if scales were inferred.

    Notes
    -----
    The best value is the minimum for measures where lower is better, such as ESL. Measures are
    recognised by the record of `pt_multiaspect.evaluate`, or by their labels; for other labels,
    higher is better. Values are equal if they differ by less than 1e-12 times the largest absolute
    value of the topic. Runs that are never best are not read.

    The paper sums the counts of nDCG and AP as base, and of several collections.

    References
    ----------
    M. Maistro, L. C. Lima, J. G. Simonsen, C. Lioma. Principled Multi-Aspect Evaluation Measures of
    Rankings. CIKM 2021, §4.3.3, Table 5.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> good, bad = {"relevance": 1, "credibility": 1}, {"relevance": 0, "credibility": 0}
    >>> qrels = {qid: {"d1": good, "d2": bad} for qid in ("q1", "q2")}
    >>> runs = {
    ...     "one": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 1.0}},
    ...     "two": {"q1": {"d2": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}},
    ... }
    >>> perquery = ma.evaluate(runs, qrels, "MM@2", progress=False)
    >>> zero_aspect_documents(perquery, runs, qrels, cutoff=2)
      measure ranks  n_documents  n_zero  fraction
    0    MM@2     1          2.0     1.0      0.25
    1    MM@2     2          2.0     1.0      0.25
    2    MM@2   1-2          4.0     2.0      0.50
    """
    last = count("cutoff")(cutoff)
    best_runs = _BestRuns("zero_aspect_documents", perquery, runs, qrels, ties, measures)
    views = best_runs.judgments.views(parse_aspects(aspects))
    _warn_of_inferred("zero_aspect_documents", _views_with_uncertain_lowest_grade(views))

    is_zero = _are_zero(views)
    ranks = range(1, last + 1)
    single_ranks = [(rank, rank) for rank in ranks]  # each rank is a group by itself
    n_documents, n_zero = best_runs.totals(single_ranks, is_zero)  # ranks × measures

    labels = [str(rank) for rank in ranks]
    if last > 1:
        labels.append(f"1-{last}")
        n_documents = _append_sum_of_ranks(n_documents)
        n_zero = _append_sum_of_ranks(n_zero)
    fraction = n_zero / (best_runs.n_topics * last)
    return best_runs.table(labels, n_documents=n_documents, n_zero=n_zero, fraction=fraction)


def _are_zero(views: Sequence[AspectView]) -> Floats:
    """Return 1 for documents with the lowest grade on every aspect, else 0.

    There is one element per judged document, and a last one for unjudged documents: 1.
    """
    has_lowest_grade = []
    for view in views:
        grades = _with_unjudged(view.grade)
        has_lowest_grade.append(grades == 0)
    is_zero = np.all(has_lowest_grade, axis=0)
    return np.asarray(is_zero, dtype=np.float64)


def _append_sum_of_ranks(numbers: Floats) -> Floats:
    """Return numbers of shape (n_ranks, n_measures), followed by a row with the sums over ranks."""
    sums = numbers.sum(axis=0)
    return np.vstack([numbers, sums])


def document_quality(
    perquery: Any,
    runs: object,
    qrels: object,
    *,
    ranges: Sequence[tuple[int, int]] = ((1, 25), (26, 50), (51, 75), (76, 100)),
    aspects: object = None,
    labels: str = "gains",
    ties: str = "average",
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
) -> pd.DataFrame:
    """Average the labels of the documents at groups of ranks of each measure's best run.

    As in Maistro et al. (2021), the best run is selected for each topic; see
    `zero_aspect_documents`.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. Use measures with the last rank of `ranges` as
        cutoff, as in the paper (``TOMA@100``): with other cutoffs, runs are selected by other ranks
        than are averaged.
    runs : mapping of str to run, or sequence of runs
        Runs in any form that `pt_multiaspect.evaluate` accepts, with the names in `perquery`.
        Additional runs are ignored.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `pt_multiaspect.Judgments`.
    ranges : sequence of pairs of int, default ((1, 25), (26, 50), (51, 75), (76, 100))
        First and last rank of each group of ranks. Groups must not overlap.
    aspects : Aspects, mapping, str or sequence of str, optional
        The aspects and their scales, as for measures. By default, all numeric columns.
    labels : {'gains', 'probabilities'}, default 'gains'
        The quantity that is summed over the aspects of a document: gains (by default the labels, as
        in the paper), or probabilities in [0, 1], with which long scales do not outweigh short
        ones.
    ties : {'average', 'first'}, default 'average'
        How to treat runs that tie for the best value of a topic. ``'average'``: all of them count
        equally, so numbers of documents may be fractions and do not depend on the order of
        `perquery`. ``'first'``: the first counts.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        Measures of the frame; all by default. A mapping ``{alias: measure}`` says which measures
        the names refer to, for frames without the record of `pt_multiaspect.evaluate`, such as
        those read from files. For values that are not those of a measure, give 'higher' or 'lower',
        whichever is better.

    Returns
    -------
    DataFrame
        ``measure ranks n_documents quality``, one row per measure, in the order of `perquery`, and
        range. ``ranks`` is a string such as ``'1-25'``. `n_documents` is the number of documents
        that the best runs have at these ranks. `quality` is the mean over these documents of the
        sum over aspects: from 0 to the number of aspects if `labels` is 'probabilities', and from
        the sum of the lowest to the sum of the highest gains if it is 'gains'. Unjudged documents
        have the lowest grade on every aspect. If there are no documents at these ranks, `quality`
        is NaN.

    Raises
    ------
    MultiAspectError
        If `perquery` is invalid (fewer than two systems or topics, NaN values, or measures or
        topics that some systems lack), names or topics of `perquery` are missing from `runs` or
        `qrels`, a run or the qrels are invalid, ranges overlap or are reversed, or another
        parameter is out of range.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better; if scales were inferred.

    See Also
    --------
    zero_aspect_documents : Documents with the lowest grade on every aspect.

    References
    ----------
    M. Maistro, L. C. Lima, J. G. Simonsen, C. Lioma. Principled Multi-Aspect Evaluation Measures of
    Rankings. CIKM 2021, §4.3.4, Table 6.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> good, bad = {"relevance": 2, "credibility": 1}, {"relevance": 0, "credibility": 0}
    >>> qrels = {qid: {"d1": good, "d2": bad} for qid in ("q1", "q2")}
    >>> runs = {
    ...     "one": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 1.0}},
    ...     "two": {"q1": {"d2": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}},
    ... }
    >>> perquery = ma.evaluate(runs, qrels, "MM@3", progress=False)
    >>> document_quality(perquery, runs, qrels, ranges=[(1, 1), (2, 3)])
      measure ranks  n_documents  quality
    0    MM@3     1          2.0      1.5
    1    MM@3   2-3          2.0      1.5
    >>> scales = {"relevance": 2, "credibility": 1}
    >>> document_quality(
    ...     perquery, runs, qrels, ranges=[(1, 3)], aspects=scales, labels="probabilities"
    ... )
      measure ranks  n_documents  quality
    0    MM@3   1-3          4.0      1.0
    """
    groups = _check_ranges(ranges)
    check_labels = choice("labels", "gains", "probabilities")
    check_labels(labels)
    best_runs = _BestRuns("document_quality", perquery, runs, qrels, ties, measures)
    views = best_runs.judgments.views(parse_aspects(aspects))

    _warn_of_inferred("document_quality", _views_of_uncertain_worth(views, labels))
    worth = _worth_of_documents(views, labels)
    n_documents, total_worth = best_runs.totals(groups, worth)
    quality = np.full(total_worth.shape, np.nan)
    np.divide(total_worth, n_documents, out=quality, where=n_documents > 0)
    names_of_groups = [_ranks_in_words(low, high) for low, high in groups]
    return best_runs.table(names_of_groups, n_documents=n_documents, quality=quality)


def _ranks_in_words(low: int, high: int) -> str:
    """Return the name of a range of ranks, such as '1-25', or '1' for a single rank."""
    if low == high:
        return str(low)
    return f"{low}-{high}"


def _with_unjudged(grades: Ints) -> Ints:
    """Return the grades of judged documents, followed by that of unjudged ones, the lowest."""
    return np.append(grades, 0)


def _worth_of_documents(views: Sequence[AspectView], labels: str) -> Floats:
    """Return the worth of each judged document, and as last that of unjudged ones.

    It is the sum over the aspects of the gains, or of the probabilities, by the parameter `labels`
    of `document_quality`.
    """
    worth_of_aspects = []
    for view in views:
        if labels == "probabilities":
            worth_of_aspects.append(view.probability)  # with that of unjudged documents
        else:
            grades = _with_unjudged(view.grade)
            worth_of_aspects.append(view.scale.gains[grades])
    return np.asarray(np.sum(worth_of_aspects, axis=0))


def _views_of_uncertain_worth(views: Sequence[AspectView], labels: str) -> list[AspectView]:
    """Return the aspects whose worth may be wrong, as their scales were inferred.

    `labels` is the parameter of `document_quality`.
    """
    if labels == "probabilities":
        # They depend on all grades of the scale, unless the labels themselves are probabilities.
        return [view for view in views if view.inferred and not view.scale.identity]
    # Gains of labels are known. Unjudged documents have that of the lowest grade.
    return _views_with_uncertain_lowest_grade(views)


class _BestRuns:
    """The best runs of each topic and measure, with their documents.

    Attributes
    ----------
    measures : list
        The labels of the measures.
    n_topics : int
        The number of topics.
    judgments : Judgments
        The judgments.
    """

    def __init__(
        self, function: str, perquery: Any, runs: object, qrels: object, ties: str, measures: object
    ) -> None:
        choice("ties", "average", "first")(ties)
        # The order of the rows decides between ties if ties='first'.
        read = read_oriented(as_pandas(perquery), measures, function, as_given=True)
        self.measures = read.labels
        self.n_topics = len(read.qids)
        self._runs = _check_runs(runs, read.names)
        self.judgments = Judgments.of(qrels)
        query_of_topic = _query_positions(self.judgments, read.qids)
        #: The weights of each run that is best for some topic by some measure, judged queries ×
        #: measures: 0 where it is not the best, less than 1 where it ties.
        self._weights: dict[str, Floats] = {}
        weights_by_run = _weights_of_runs(read.values, ties)  # runs × topics × measures
        shape = (self.judgments.n_queries, len(self.measures))
        for name, weights in zip(read.names, weights_by_run, strict=True):
            if weights.any():
                # Judged queries that are no topics have the weight 0.
                weights_of_queries = np.zeros(shape)
                weights_of_queries[query_of_topic] = weights
                self._weights[str(name)] = weights_of_queries

    def table(self, ranks: list[str], **columns: Floats) -> pd.DataFrame:
        """Return a frame with one row per measure and group of ranks.

        Parameters
        ----------
        ranks : list of str
            The names of the groups.
        **columns : ndarray of float, shape (n_groups, n_measures)
            Further columns.
        """
        labels = np.array(self.measures, dtype=object)
        table: dict[str, Any] = {
            "measure": np.repeat(labels, len(ranks)),
            "ranks": ranks * len(labels),
        }
        for name, column in columns.items():
            by_measure = column.T
            table[name] = by_measure.ravel()
        return pd.DataFrame(table)

    def totals(self, ranges: list[tuple[int, int]], worth: Floats) -> tuple[Floats, Floats]:
        """Count documents of the best runs and sum their worth, by group of ranks and measure.

        Parameters
        ----------
        ranges : list of pairs of int
            First and last rank of each group, without overlap.
        worth : ndarray, shape (n_pool + 1,)
            Worth of each judged document, followed by that of unjudged documents.

        Returns
        -------
        n_documents, total_worth : ndarray, shape (n_ranges, n_measures)
        """
        deepest_rank = max(high for _, high in ranges)
        n_documents = np.zeros((len(ranges), len(self.measures)))
        total_worth = np.zeros((len(ranges), len(self.measures)))
        # Runs are sorted, so that sums do not depend on the order of `perquery`.
        for name in sorted(self._weights):
            weights = self._weights[name]  # queries × measures
            rankings = join(name, self._runs[name], self.judgments)
            hits = rankings.top(deepest_rank).dense()
            counts, sums = _totals_of_queries(ranges, hits, worth)  # queries × ranges
            n_documents += counts.T @ weights
            total_worth += sums.T @ weights
        return n_documents, total_worth


def _totals_of_queries(
    ranges: list[tuple[int, int]], hits: Hits, worth: Floats
) -> tuple[Ints, Floats]:
    """Count the documents that a run retrieves at each group of ranks, and sum their worth.

    Parameters
    ----------
    ranges : list of pairs of int
        First and last rank of each group.
    hits : Hits
        The retrieved documents: `query`, `rank` and `row`, the position in `worth`.
    worth : ndarray, shape (n_pool + 1,)
        Worth of each judged document, followed by that of unjudged documents.

    Returns
    -------
    counts, sums : ndarray, shape (n_queries, n_ranges)
    """
    intervals = pd.IntervalIndex.from_tuples(ranges, closed="both")
    group = intervals.get_indexer(pd.Index(hits.rank))
    is_in_group = group >= 0  # −1: the rank is in no group
    query = hits.query[is_in_group]
    group = group[is_in_group]
    worth_of_hit = worth[hits.row[is_in_group]]

    # Each document is added to the cell of its query and group.
    shape = (hits.n_queries, len(ranges))
    counts = np.zeros(shape, dtype=np.intp)
    sums = np.zeros(shape)
    np.add.at(counts, (query, group), 1)
    np.add.at(sums, (query, group), worth_of_hit)
    return counts, sums


def _weights_of_runs(values: Floats, ties: str) -> Floats:
    """Return the weights of the best runs, which sum to 1 for each topic and measure.

    Parameters
    ----------
    values : ndarray of float, shape (n_systems, n_topics, n_measures)
        The values of the runs, of which the highest are best. The result has the same shape.
    ties : {'average', 'first'}
        Whether runs with the best value share the weight, or the first one has it.
    """
    # Values that differ from the best one by rounding errors only are best, too.
    best_value = values.max(axis=0)  # topics × measures
    tolerance = _TOLERANCE * np.abs(values).max(axis=0)
    is_best: Bools = np.asarray(values >= best_value - tolerance)
    if ties == "average":
        n_best = is_best.sum(axis=0)
        return np.asarray(is_best / n_best, dtype=np.float64)
    first_best = is_best.argmax(axis=0, keepdims=True)  # the system, 1 × topics × measures
    weights = np.zeros(values.shape)
    np.put_along_axis(weights, first_best, 1.0, axis=0)
    return weights


def _check_runs(runs: object, names: list[Any]) -> dict[str, object]:
    """Return the runs by name, which must include all names of the frame."""
    named = named_runs(runs)
    missing = [str(name) for name in names if str(name) not in named]
    if not missing:
        return named
    first_missing = choices(missing[:5])
    n_missing = tally(len(missing), "run")
    given = choices(list(named)[:10])
    if len(named) > 10:
        given += " …"
    raise MultiAspectError(
        f"runs: expected all names in perquery, missing are {first_missing} {n_missing}; got "
        f"{given}"
    )


def _query_positions(judgments: Judgments, qids: list[Any]) -> Ints:
    """Return the positions of topics among the judged queries, which must include all of them."""
    topics = np.array([str(qid) for qid in qids], dtype=object)
    query_of_topic = judgments.query_positions(topics)
    is_missing = query_of_topic < 0
    if is_missing.any():
        missing = [qids[position] for position in np.flatnonzero(is_missing)]
        first_missing = choices(missing[:5])
        n_missing = tally(len(missing), "topic")
        examples = choices(judgments.qids[:5])
        raise MultiAspectError(
            f"qrels: expected all topics in perquery, missing are {first_missing} {n_missing}; got "
            f"topics such as {examples}"
        )
    return query_of_topic


def _elements(value: object) -> list[Any]:
    """Return the elements of a sequence, or none if the value is not a sequence."""
    if isinstance(value, np.ndarray):
        if value.ndim:
            return list(value)
        return []
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return []


def _check_ranges(ranges: object) -> list[tuple[int, int]]:
    """Return pairs of a first and a last rank, after checking that they do not overlap."""
    expected = (
        "ranges: expected pairs of a first and a last rank from 1, without overlap, as "
        "[(1, 10), (11, 20)]"
    )
    pairs: list[tuple[int, int]] = []
    for element in _elements(ranges):
        pair = _elements(element)
        if not _is_range(pair):
            raise MultiAspectError(f"{expected}, got {shown(element)}")
        low, high = pair
        pairs.append((int(low), int(high)))
    if not pairs:
        raise MultiAspectError(f"{expected}, got {shown(ranges)}")
    for (low, high), (next_low, next_high) in pairwise(sorted(pairs)):
        if next_low <= high:
            raise MultiAspectError(
                f"{expected}, got ({low}, {high}) and ({next_low}, {next_high}), which overlap"
            )
    return pairs


def _is_range(elements: list[Any]) -> bool:
    """Return whether a list consists of a first and a last rank."""
    if len(elements) != 2:
        return False
    first, last = elements
    if not _is_integer(first) or not _is_integer(last):
        return False
    return bool(1 <= first <= last)


def _is_integer(rank: object) -> bool:
    return isinstance(rank, Integral) and not isinstance(rank, bool)


def _may_have_other_lowest_grade(view: AspectView) -> bool:
    """Return whether an inferred scale may have the wrong lowest grade."""
    return view.scale.is_fractional or aspect_from_one(view.label_counts) is not None


def _views_with_uncertain_lowest_grade(views: Sequence[AspectView]) -> list[AspectView]:
    """Return the views whose scale was inferred and may have the wrong lowest grade."""
    inferred = [view for view in views if view.inferred]
    return list(filter(_may_have_other_lowest_grade, inferred))


def _warn_of_inferred(function: str, inferred: Sequence[AspectView]) -> None:
    """Warn once of inferred scales that the result of a function depends on."""
    if not inferred:
        return
    scales = "; ".join(f"{view.name} {view.scale}" for view in inferred)
    names = choices(repr(view.name) for view in inferred)
    note = start_at_one_note(view.label_counts for view in inferred)
    remedy = f"Declare them with {parameter('aspects')} to get comparable values on other qrels"
    warn_once(
        f"{function} depends on the label scales, which were inferred from these qrels: {scales}. "
        f"{remedy}{note}",
        key=scales,
        group=f"{function}: {names}",
    )
