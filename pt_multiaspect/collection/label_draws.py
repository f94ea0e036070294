"""Draw the missing labels of documents from documents that have all labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints, Objects
from ..aspects import Aspects
from ..errors import MultiAspectError, choices, errors_of, in_shell, parameter, refuse_none, tally
from ..strings.texts import Texts
from .judgments import Judgments
from .rankings import Rankings
from .views import AspectView

#: A donor of the topic is drawn with the probability n / (n + this), where n is the number of
#: donors in the topic.
_PRIOR = 5

#: The step between draws, 2^64 divided by the golden ratio.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class NoDonorError(MultiAspectError):
    """Error for a document whose missing labels no other document can donate."""


def parse_labels(labels: object) -> Judgments | None:
    """Return labels to fill others with, or None for ``'observed'``."""
    if isinstance(labels, str):
        if labels != "observed":
            raise MultiAspectError(
                f"labels: expected 'observed' or qrels, got {labels!r}; use read_qrels to read "
                "files"
            )
        return None
    judgments = Judgments.of(labels)
    refuse_none(judgments, "judgment", "labels")
    return judgments


def draw_labels(
    model: Judgments | None,
    universe: Judgments,
    views: Sequence[AspectView],
    missing: Bools,
    seed: int,
    draws: Ints,
) -> Floats:
    """Return labels of what is missing: those of a model, or drawn from documents of the topics.

    Parameters
    ----------
    model : Judgments or None
        See `parse_labels`. Labels that it lacks are NaN.
    universe : Judgments
        The judged and the retrieved documents.
    views : sequence of AspectView
        The aspects of the universe.
    missing : ndarray of bool, shape (n_aspects, n_documents)
        The labels to return. Others that are missing count as the lowest grade.
    seed : int
        A drawn label depends on it, the number of the draw, the query and the document only.
    draws : ndarray of int, shape (n_draws,)
        The numbers of the draws, from 0.

    Returns
    -------
    ndarray of float, shape (n_draws, n_missing)
        One row per draw, in the order of the elements of `missing`.

    Raises
    ------
    NoDonorError
        If a document has no donor.
    MultiAspectError
        If the labels of the model are not on the scales of the aspects.
    """
    if model is None:
        return _Donors(universe, views, missing).draw(seed, draws)
    labels = _labels_of_model(model, universe, views)
    return np.tile(labels[missing], (len(draws), 1))


class _Donors:
    """The documents with labels on all aspects, which donate theirs.

    The parameters are those of `draw_labels`. All missing labels of a document come from one donor
    with the same known labels, of the topic or of any.
    """

    def __init__(self, universe: Judgments, views: Sequence[AspectView], missing: Bools) -> None:
        self.universe = universe
        self.views = views
        grades = np.stack([view.grade for view in views])
        #: The grades of each document, -1 if missing; documents × aspects.
        self.grade = np.where(missing, -1, grades).T
        lacks_label = missing.any(axis=0)
        #: The documents with missing labels.
        self.rows = np.flatnonzero(lacks_label)
        is_judged = np.any([view.known for view in views], axis=0)
        is_donor = is_judged & ~lacks_label
        #: The distinct grades of donors; tuples × aspects.
        self.tuples, tuple_of_donor = np.unique(self.grade[is_donor], axis=0, return_inverse=True)
        topic_of_donor = universe.pool_query[is_donor]
        #: The number of donors; topics × tuples.
        self.counts = np.zeros((universe.n_queries, len(self.tuples)), dtype=np.intp)
        np.add.at(self.counts, (topic_of_donor, tuple_of_donor.reshape(-1)), 1)

    def draw(self, seed: int, draws: Ints) -> Floats:
        local_or_not, position = self._uniform(seed, draws)
        chosen = np.zeros(position.shape, dtype=np.intp)  # documents × draws
        everywhere = self.counts.sum(axis=0)
        donors: dict[tuple[int, ...], Bools] = {}
        for topic, pattern, group in self._groups():
            if pattern not in donors:
                donors[pattern] = self._donors(pattern)
                if not donors[pattern].any():
                    raise self._no_donor_error(self.rows[group], pattern)
            from_any_topic = _choose(everywhere * donors[pattern], position[group])
            local = self.counts[topic] * donors[pattern]
            if not local.any():
                chosen[group] = from_any_topic
                continue
            n_local = local.sum()
            is_local = local_or_not[group] < n_local / (n_local + _PRIOR)
            from_topic = _choose(local, position[group])
            chosen[group] = np.where(is_local, from_topic, from_any_topic)
        return self._labels(chosen)

    def _groups(self) -> Iterator[tuple[int, tuple[int, ...], Ints]]:
        """Yield documents of a topic with the same known grades, as positions in `rows`."""
        if not len(self.rows):
            return
        topic = self.universe.pool_query[self.rows]
        keys = pd.DataFrame(np.column_stack([topic, self.grade[self.rows]]))
        groups: Any = keys.groupby([*keys.columns]).indices
        for key in sorted(groups):
            yield key[0], tuple(key[1:]), groups[key]

    def _labels(self, chosen: Ints) -> Floats:
        """Return the missing labels of the chosen tuples, one row per draw."""
        grade = self.grade[self.rows]
        labels = []
        for aspect, view in enumerate(self.views):
            drawn = self.tuples[chosen[grade[:, aspect] < 0], aspect]
            labels.append(view.scale.grades[drawn])
        return np.concatenate(labels).T

    def _uniform(self, seed: int, draws: Ints) -> tuple[Floats, Floats]:
        """Return two numbers in [0, 1) per document and draw."""
        qids = self.universe.qids[self.universe.pool_query[self.rows]]
        docnos = self.universe.docnos[self.rows]
        digests = [_digest(seed, qid, docno) for qid, docno in zip(qids, docnos, strict=True)]
        keys = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
        keys = keys.reshape(-1, 2, 1)  # documents × numbers × draws
        steps = (draws + 1).astype(np.uint64) * _GOLDEN
        numbers = _mix(keys + steps)
        fractions = (numbers >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return fractions[:, 0], fractions[:, 1]

    def _donors(self, pattern: Sequence[int]) -> Bools:
        """Return a mask of the tuples with the known grades.

        If there are none, return those on the same sides of the thresholds.
        """
        grades = np.array(pattern)
        is_known = grades >= 0
        same_grade = self.tuples == grades
        has_same_grades = same_grade[:, is_known].all(axis=1)
        if has_same_grades.any():
            return np.asarray(has_same_grades, dtype=np.bool_)
        threshold = np.array([view.scale.threshold for view in self.views])
        same_side = (self.tuples >= threshold) == (grades >= threshold)
        has_same_sides = same_side[:, is_known].all(axis=1)
        return np.asarray(has_same_sides, dtype=np.bool_)

    def _no_donor_error(self, rows: Ints, pattern: Sequence[int]) -> NoDonorError:
        universe = self.universe
        names = np.array([view.name for view in self.views], dtype=object)
        is_known = np.array(pattern) >= 0
        known = choices(names[is_known])
        missing = choices(names[~is_known])
        document = universe.docnos[rows[0]]
        topic = universe.qids[universe.pool_query[rows[0]]]
        remedy = "evaluate with gate=, so that nothing is missing"
        if not in_shell():
            remedy += f"; otherwise, pass judgments of a model as {parameter('labels')}"
        return NoDonorError(
            f"expected documents with labels of all aspects and similar ones of {known or 'any'}, "
            f"from which to draw {missing}, got none for document {document} of topic {topic} "
            f"{tally(len(rows), 'document')}. If such documents are worth nothing by definition, "
            f"{remedy}"
        )


def _labels_of_model(model: Judgments, universe: Judgments, views: Sequence[AspectView]) -> Floats:
    """Return the labels in other judgments, aspects × documents of the universe, NaN if none."""
    names = [view.name for view in views]
    scales = {view.name: view.aspect for view in views if view.name in model.label_names}
    if not scales:
        raise MultiAspectError(
            f"labels: expected a column of {choices(names)}, got {choices(model.label_names)}"
        )
    labels = np.full((len(views), len(universe)), np.nan)
    pair = matching_pairs(model, universe)
    with errors_of("labels"):
        for view in model.views(Aspects(scales)):
            graded = np.where(view.known, view.scale.grades[view.grade], np.nan)
            graded_or_none = np.append(graded, np.nan)  # pair -1: not judged
            labels[names.index(view.name)] = graded_or_none[pair]
    return labels


def _choose(counts: Ints, uniform: Floats) -> Ints:
    """Return an element per number in [0, 1), with probabilities in proportion to counts."""
    ends = np.cumsum(counts)
    chosen = np.searchsorted(ends, uniform * ends[-1], side="right")
    return np.asarray(np.minimum(chosen, len(counts) - 1), dtype=np.intp)


def _digest(seed: int, qid: str, docno: str) -> bytes:
    """Return the 16 bytes from which the draws for a document begin."""
    text = f"{seed}\0{qid}\0{docno}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well-distributed numbers, the finaliser of SplitMix64 (Steele et al., OOPSLA 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def matching_pairs(judgments: Judgments, others: Judgments) -> Ints:
    """Return the judged pair that equals each pair of other judgments; -1 if there is none."""
    query = judgments.query_positions(others.qids)[others.pool_query]
    pair, _ = judgments.pairs.lookup(query, Texts.from_strings(others.docnos))
    return np.where(query < 0, -1, pair)


def join_universe(
    judgments: Judgments,
    views: Sequence[AspectView],
    rankings: Sequence[Rankings],
    cutoff: int | None,
    is_left_out: Bools | None = None,
) -> Judgments:
    """Return judgments of all documents of the qrels and of the runs; labels may be missing.

    Parameters
    ----------
    judgments : Judgments
        The qrels.
    views : sequence of AspectView
        The aspects whose codes that mean "not judged" become missing labels.
    rankings : sequence of Rankings
        The runs.
    cutoff : int, optional
        The last rank whose documents are added.
    is_left_out : ndarray of bool, optional
        A mask of the judged pairs that are left out of rankings before ranks are counted.

    Returns
    -------
    Judgments
        The judgments, with the same queries and the further columns of the qrels, which measures
        may read.
    """
    queries, docnos = [], []
    for run in rankings:
        query_of_run, docnos_of_run = _first_documents(run, cutoff, is_left_out)
        queries.append(query_of_run)
        docnos.append(docnos_of_run)
    labels = {view.name: view.label for view in views}
    return judgments.with_documents(np.concatenate(queries), np.concatenate(docnos), labels)


def _first_documents(
    run: Rankings, cutoff: int | None, is_left_out: Bools | None
) -> tuple[Ints, Objects]:
    """Return the queries and names of the documents down to the cutoff; see `join_universe`."""
    if cutoff is None or is_left_out is None:
        query, _, docnos = run.documents(cutoff)
        return query, docnos
    query, rank, docnos = run.documents(None)
    left_out = run.hits.retrieved_index[is_left_out[run.hits.row]]
    counts = np.ones(len(query), dtype=np.intp)
    counts[left_out] = 0
    n_up_to_row = np.cumsum(counts)
    n_above_row = n_up_to_row - counts
    first_row = np.arange(len(query)) - rank + 1  # of the query of each row
    is_first = n_up_to_row - n_above_row[first_row] <= cutoff
    return query[is_first], docnos[is_first]
