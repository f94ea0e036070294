"""What stands in the rankings that measures call best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from ..aspects import parse_aspects
from ..errors import MultiAspectError, choices, counted, warn_once
from ..judgments import AspectView, Judgments
from ..kernels.layout import Bools, Floats, Ints
from ..runs import join, named_runs
from ._frames import check_choice, check_count, directions, matrix

__all__ = ["document_quality", "zero_aspect_documents"]

TIES = ("average", "first")

LABELS = ("values", "gains")

#: Values this close, relative to the greatest of a topic, are equal: what rounding may make of a tie.
_TOLERANCE = 1e-12


def zero_aspect_documents(
    perquery: pd.DataFrame,
    runs: object,
    qrels: object,
    *,
    cutoff: int = 5,
    aspects: object = None,
    ties: str = "average",
) -> pd.DataFrame:
    """Count documents of no worth in any aspect at the top of the runs each measure calls best.

    On every topic a measure has a best run; these are the rankings a user would see if runs were
    chosen by it. The fewer worthless documents they have, the better.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. Take measures with the same cutoff as here, as the
        paper does (``TOMA@5`` for a `cutoff` of 5): deeper ones choose runs by ranks that are not looked at.
    runs : mapping of str to run, or sequence of runs
        The runs in any form that `pt_multiaspect.evaluate` takes, by the names they have in `perquery`.
        Others may be among them.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, a numeric column per aspect; see `pt_multiaspect.Judgments`.
    cutoff : int, default 5
        How many ranks are looked at.
    aspects : Aspects, mapping, str or sequence of str, optional
        Which aspects, and their scales, as in measures; every numeric column by default.
    ties : {'average', 'first'}, default 'average'
        Which run is the best of a topic if several are: all of them, each in equal part, so that counts
        may be fractions and the order of the frame does not matter; or the first in the frame.

    Returns
    -------
    DataFrame
        ``measure ranks n_documents n_zero fraction``. For each measure, in the order of the frame, there is a row
        per rank and one more for all of them (none if `cutoff` is 1). `ranks` is text: ``'1'`` … ``'5'`` and
        ``'1-5'``. `n_documents` is how many documents the best runs have there, from 0 to the number of
        topics (times `cutoff`); `n_zero` how many of these have the lowest grade in every aspect, unjudged
        ones included; `fraction` in [0, 1] is `n_zero` over topics × `cutoff`, in every row, so that the
        fractions of the ranks add up to the last one. These are the paper's percentages over 100. Ranks that a
        short run leaves empty hold no document, but count among the topics × `cutoff`.

    Raises
    ------
    MultiAspectError
        If `perquery` is faulty (one system or one topic only, a value that is NaN, a measure or a topic that
        some systems lack), has runs that `runs` lacks or topics that `qrels` lack, a run or the qrels are
        faulty, or a parameter is out of range.

    Notes
    -----
    The best value is the least for measures where lower is better, such as ESL. Measures are known by their
    labels, as by `pt_multiaspect.aggregate`; of others, greater is taken to be better. Values are equal if they
    differ by less than 1e-12 of the greatest absolute value on the topic. A run that is best nowhere is not read.

    The paper adds up the counts of nDCG and AP as base, and of several collections.

    References
    ----------
    Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, §4.3.3, Table 5.

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
    last = check_count("cutoff", cutoff)
    best = _Best(perquery, runs, qrels, ties)
    views = best.judgments.views(parse_aspects(aspects))
    _warn_if_inferred(views, "zero_aspect_documents", gains=False)
    is_zero = np.logical_and.reduce([_with_unjudged(view.grade) == 0 for view in views])
    documents, zero = best.totals([(rank, rank) for rank in range(1, last + 1)], is_zero.astype(np.float64))
    labels = [str(rank) for rank in range(1, last + 1)]
    if last > 1:
        labels.append(f"1-{last}")
        documents, zero = (np.vstack([each, each.sum(axis=0)]) for each in (documents, zero))
    return pd.DataFrame(
        {
            "measure": np.repeat(np.array(best.measures, dtype=object), len(labels)),
            "ranks": labels * len(best.measures),
            "n_documents": documents.T.ravel(),
            "n_zero": zero.T.ravel(),
            "fraction": zero.T.ravel() / (best.n_topics * last),
        }
    )


def document_quality(
    perquery: pd.DataFrame,
    runs: object,
    qrels: object,
    *,
    ranges: Sequence[tuple[int, int]] = ((1, 25), (26, 50), (51, 75), (76, 100)),
    aspects: object = None,
    labels: str = "values",
    ties: str = "average",
) -> pd.DataFrame:
    """Average the labels of the documents, down the runs each measure calls best.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. Take measures with the last rank of `ranges` as cutoff,
        as the paper does (``TOMA@100``): others choose runs by more or fewer ranks than are looked at.
    runs : mapping of str to run, or sequence of runs
        The runs in any form that `pt_multiaspect.evaluate` takes, by the names they have in `perquery`.
        Others may be among them.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, a numeric column per aspect; see `pt_multiaspect.Judgments`.
    ranges : sequence of pairs of int, default ((1, 25), (26, 50), (51, 75), (76, 100))
        First and last rank of each group of ranks, which must not overlap.
    aspects : Aspects, mapping, str or sequence of str, optional
        Which aspects, and their scales, as in measures; every numeric column by default.
    labels : {'values', 'gains'}, default 'values'
        Whether the values of the aspects are added up, which are the labels as they stand unless declared
        otherwise, as in the paper; or their gains in [0, 1], so that long scales do not outweigh
        short ones.
    ties : {'average', 'first'}, default 'average'
        Which run is the best of a topic if several are: all of them, each in equal part, so that numbers of
        documents may be fractions and the order of the frame does not matter; or the first in the frame.

    Returns
    -------
    DataFrame
        ``measure ranks n_documents quality``, a row per measure, in the order of the frame, and range, as
        given. `ranks` is text, such as ``'1-25'``. `n_documents` is how many documents the best runs have at
        these ranks, and `quality` the mean over them of the sum over aspects: with `labels` 'gains' from 0
        to the number of aspects, with 'values' from the sum of the lowest values to that of the greatest. An
        unjudged document has the lowest grade in every aspect. Ranks that a short run leaves empty
        hold no document; where there is none at all, `quality` is NaN.

    Raises
    ------
    MultiAspectError
        If `perquery` is faulty (one system or one topic only, a value that is NaN, a measure or a topic that
        some systems lack), has runs that `runs` lacks or topics that `qrels` lack, a run or the qrels are
        faulty, ranges overlap or go backwards, or another parameter is out of range.

    See Also
    --------
    zero_aspect_documents : What counts as the best run.

    References
    ----------
    Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, §4.3.4, Table 6.

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
    >>> document_quality(perquery, runs, qrels, ranges=[(1, 3)], aspects=scales, labels="gains")
      measure ranks  n_documents  quality
    0    MM@3   1-3          4.0      1.0
    """
    parts = _check_ranges(ranges)
    check_choice("labels", labels, LABELS)
    best = _Best(perquery, runs, qrels, ties)
    views = best.judgments.views(parse_aspects(aspects))
    _warn_if_inferred(views, "document_quality", gains=labels == "gains")
    worth = np.sum(
        [
            view.probability if labels == "gains" else view.scale.values[_with_unjudged(view.grade)]
            for view in views
        ],
        axis=0,
    )
    documents, total = best.totals(parts, worth)
    quality = np.divide(total, documents, out=np.full(total.shape, np.nan), where=documents > 0)
    return pd.DataFrame(
        {
            "measure": np.repeat(np.array(best.measures, dtype=object), len(parts)),
            "ranks": [f"{low}-{high}" if low < high else str(low) for low, high in parts] * len(best.measures),
            "n_documents": documents.T.ravel(),
            "quality": quality.T.ravel(),
        }
    )


class _Best:
    """Which runs each measure calls best on each topic, and what stands in them."""

    def __init__(self, perquery: pd.DataFrame, runs: object, qrels: object, ties: str) -> None:
        check_choice("ties", ties, TIES)
        values, names, qids, self.measures = matrix(perquery, as_given=True)  # for ties='first'
        self.n_topics = len(qids)
        self._runs = _check_runs(runs, names)
        self.judgments = Judgments.of(qrels)
        queries = _queries(self.judgments, qids)
        parts = _parts(values, directions(perquery, values, self.measures), ties)
        #: Runs that are best somewhere, in an order that does not depend on the frame, with their part of each
        #: query, n_queries × measures. Queries of the qrels that are no topics have none.
        self._part: dict[str, Floats] = {}
        for system in sorted(range(len(names)), key=lambda system: str(names[system])):
            if parts[system].any():
                part = np.zeros((self.judgments.n_queries, len(self.measures)))
                part[queries] = parts[system]
                self._part[str(names[system])] = part

    def totals(self, ranges: list[tuple[int, int]], worth: Floats) -> tuple[Floats, Floats]:
        """Count documents and add up what they are worth.

        Parameters
        ----------
        ranges : list of pairs of int
            First and last rank of each, without overlap.
        worth : ndarray, shape (n_pool + 1,)
            The worth of each judged document and, at the end, of unjudged ones.

        Returns
        -------
        documents, total : ndarray, shape (n_ranges, n_measures)
        """
        deepest = max(high for _, high in ranges)
        documents, total = np.zeros((2, len(ranges), len(self.measures)))
        for name, part in self._part.items():
            _, rankings = join(name, self._runs[name], self.judgments)
            layout = rankings.top(deepest).dense()
            place = _place(layout.rank, ranges)
            kept = place >= 0
            shape = (self.judgments.n_queries, len(ranges))
            cells = np.ravel_multi_index((layout.query[kept], place[kept]), shape)
            size = self.judgments.n_queries * len(ranges)
            counts = np.bincount(cells, minlength=size).reshape(shape)
            sums = np.bincount(cells, weights=worth[layout.row[kept]], minlength=size).reshape(shape)
            documents += counts.T @ part
            total += sums.T @ part
        return documents, total


def _parts(values: Floats, signs: Floats, ties: str) -> Floats:
    """The part each run has in the best of each topic by each measure, systems × topics × measures."""
    upwards = signs * values
    greatest = np.abs(values).max(axis=0)
    # Rounded values that differ in the last digit only are the same.
    is_best: Bools = np.asarray(upwards >= upwards.max(axis=0) - _TOLERANCE * greatest)
    if ties == "average":
        return np.asarray(is_best / is_best.sum(axis=0), dtype=np.float64)
    first = is_best.argmax(axis=0)
    return np.asarray(np.arange(len(values))[:, None, None] == first, dtype=np.float64)


def _place(rank: Ints, ranges: list[tuple[int, int]]) -> Ints:
    """The range each rank is in, -1 where it is in none."""
    order = np.argsort([low for low, _ in ranges])
    lows, highs = np.array(ranges, dtype=np.intp)[order].T
    index = np.searchsorted(lows, rank, side="right") - 1
    inside = (index >= 0) & (rank <= highs[index])
    return np.asarray(np.where(inside, order[index], -1), dtype=np.intp)


def _check_runs(runs: object, names: list[Any]) -> dict[str, object]:
    """The runs by name, if they cover all names of the frame."""
    named = named_runs(runs)
    missing = [str(name) for name in names if str(name) not in named]
    if missing:
        raise MultiAspectError(
            f"runs lack {choices(missing[:5])} {counted(len(missing), 'run')}, which the long frame has; there are "
            f"{choices(list(named)[:10])}{' …' if len(named) > 10 else ''}"
        )
    return named


def _queries(judgments: Judgments, qids: list[Any]) -> Ints:
    """Where the topics stand among the judged queries."""
    queries = judgments.queries_of(np.array([str(qid) for qid in qids], dtype=object))
    missing = [qids[position] for position in np.flatnonzero(queries < 0)]
    if missing:
        raise MultiAspectError(
            f"the long frame has topics that the qrels lack: {choices(missing[:5])} "
            f"{counted(len(missing), 'topic')}; the qrels have such as {choices(judgments.qids[:5])}"
        )
    return queries


def _listed(value: object) -> list[Any]:
    """The elements of a sequence, none of what is no sequence."""
    if isinstance(value, np.ndarray):
        return list(value) if value.ndim else []
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []


def _check_ranges(ranges: object) -> list[tuple[int, int]]:
    expected = "ranges are pairs of a first and a last rank, from 1 up and without overlap, as [(1, 10), (11, 20)]"
    given = _listed(ranges)
    pairs: list[tuple[int, int]] = []
    for one in given:
        pair = _listed(one)
        whole = all(isinstance(rank, Integral) and not isinstance(rank, bool) for rank in pair)
        if len(pair) != 2 or not whole or not 1 <= pair[0] <= pair[1]:
            raise MultiAspectError(f"{expected}; {one!r} is none")
        pairs.append((int(pair[0]), int(pair[1])))
    if not pairs:
        raise MultiAspectError(f"{expected}; not {ranges!r}")
    for (low, high), (next_low, next_high) in pairwise(sorted(pairs)):
        if next_low <= high:
            raise MultiAspectError(f"{expected}; ({low}, {high}) and ({next_low}, {next_high}) overlap")
    return pairs


def _with_unjudged(grade: Ints) -> Ints:
    """Grades with the lowest at the end, for unjudged documents."""
    return np.append(grade, np.intp(0))


def _warn_if_inferred(views: tuple[AspectView, ...], function: str, *, gains: bool) -> None:
    """Warn once if the lowest grade, or with `gains` the length of a scale, had to be inferred."""
    inferred = [
        view for view in views if view.inferred and (not view.scale.identity if gains else view.scale.is_fractional)
    ]
    if inferred:
        scales = "; ".join(f"{view.name} {view.scale}" for view in inferred)
        warn_once(
            f"{function} depends on the scales of the aspects, which were inferred from the judgments at hand: "
            f"{scales}. Other qrels may give other scales and numbers: declare them by aspects=",
            key=f"{function}: {','.join(view.name for view in inferred)}",
        )
