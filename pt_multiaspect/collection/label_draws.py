"""All documents of topics, and labels for those without some, drawn from documents that have all."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from operator import itemgetter
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
    return np.tile(_labels_of_model(model, universe, views)[missing], (len(draws), 1))


class _Donors:
    """The documents with labels on all aspects, which donate theirs; the parameters are those of `draw_labels`.

    All missing labels of a document come from one donor with the same known labels, of the topic or
    of any.
    """

    def __init__(self, universe: Judgments, views: Sequence[AspectView], missing: Bools) -> None:
        self.universe, self.views = universe, views
        #: The grades of each document, -1 if missing.
        self.grade = np.where(missing, -1, np.stack([view.grade for view in views])).T
        self.rows = np.flatnonzero(missing.any(axis=0))
        complete = ~missing.any(axis=0) & np.any([view.known for view in views], axis=0)
        self.tuples, code = np.unique(self.grade[complete], axis=0, return_inverse=True)
        self.counts = np.zeros((universe.n_queries, len(self.tuples)), dtype=np.intp)
        np.add.at(self.counts, (universe.pool_query[complete], code.reshape(-1)), 1)

    def draw(self, seed: int, draws: Ints) -> Floats:
        rows, everywhere = self.rows, self.counts.sum(axis=0)
        local_or_not, position = self._uniform(seed, draws)
        chosen = np.zeros(position.shape, dtype=np.intp)
        keys = pd.DataFrame(np.column_stack([self.universe.pool_query[rows], self.grade[rows]]))
        if len(keys):
            groups: Any = keys.groupby([*keys.columns]).indices
        else:
            groups = {}
        donors: dict[tuple[int, ...], Bools] = {}
        for (topic, *grades), group in sorted(groups.items(), key=itemgetter(0)):
            pattern = tuple(grades)
            if pattern not in donors:
                donors[pattern] = self._donors(pattern)
                if not donors[pattern].any():
                    raise self._no_donor_error(rows[group], pattern)
            local = self.counts[topic] * donors[pattern]
            is_local = local_or_not[group] < local.sum() / (local.sum() + _PRIOR)
            of_any = _choose(everywhere * donors[pattern], position[group])
            if local.any():
                chosen[group] = np.where(is_local, _choose(local, position[group]), of_any)
            else:
                chosen[group] = of_any
        labels = [
            view.scale.grades[self.tuples[chosen[grade < 0], column]]
            for column, (view, grade) in enumerate(zip(self.views, self.grade[rows].T, strict=True))
        ]
        return np.concatenate(labels).T

    def _uniform(self, seed: int, draws: Ints) -> tuple[Floats, Floats]:
        """Return two numbers in [0, 1) per document and draw."""
        universe = self.universe
        qids, docnos = universe.qids[universe.pool_query[self.rows]], universe.docnos[self.rows]
        texts = (f"{seed}\0{qid}\0{docno}" for qid, docno in zip(qids, docnos, strict=True))
        digests = b"".join(
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for text in texts
        )
        keys = np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(-1, 2, 1)
        numbers = _mix(keys + (draws + 1).astype(np.uint64) * _GOLDEN)
        first, second = (
            (numbers[:, side] >> np.uint64(11)).astype(np.float64) * 2.0**-53 for side in (0, 1)
        )
        return first, second

    def _donors(self, pattern: Sequence[int]) -> Bools:
        """Return a mask of the tuples with the known grades, or else on the same sides of their thresholds."""
        is_known = np.array(pattern) >= 0
        same = (self.tuples == pattern)[:, is_known].all(axis=1)
        if same.any():
            return np.asarray(same, dtype=np.bool_)
        threshold = np.array([view.scale.threshold for view in self.views])
        sides = (self.tuples >= threshold) == (np.array(pattern) >= threshold)
        return np.asarray(sides[:, is_known].all(axis=1), dtype=np.bool_)

    def _no_donor_error(self, rows: Ints, pattern: Sequence[int]) -> NoDonorError:
        universe, views = self.universe, self.views
        known = choices(view.name for view, grade in zip(views, pattern, strict=True) if grade >= 0)
        missing = choices(
            view.name for view, grade in zip(views, pattern, strict=True) if grade < 0
        )
        topic = universe.qids[universe.pool_query[rows[0]]]
        remedy = "evaluate with gate=, so that nothing is missing"
        if not in_shell():
            remedy += f"; otherwise, pass judgments of a model as {parameter('labels')}"
        return NoDonorError(
            f"expected documents with labels of all aspects and similar ones of {known or 'any'}, "
            "from which to "
            f"draw {missing}, got none for document {universe.docnos[rows[0]]} of topic {topic} "
            f"{tally(len(rows), 'document')}. If such documents are worth nothing by definition, "
            f"{remedy}"
        )


def _labels_of_model(model: Judgments, universe: Judgments, views: Sequence[AspectView]) -> Floats:
    """Return the labels that other judgments have of the universe, aspects × documents, NaN if none."""
    names = [view.name for view in views]
    scales = {view.name: view.aspect for view in views if view.name in model.label_names}
    if not scales:
        raise MultiAspectError(
            f"labels: expected a column of {choices(names)}, got {choices(model.label_names)}"
        )
    labels, pair = np.full((len(views), len(universe)), np.nan), matching_pairs(model, universe)
    with errors_of("labels"):
        for view in model.views(Aspects(scales)):
            graded = np.where(view.known, view.scale.grades[view.grade], np.nan)
            labels[names.index(view.name)] = np.append(graded, np.nan)[pair]
    return labels


def _choose(counts: Ints, uniform: Floats) -> Ints:
    """Return an element per number in [0, 1), with probabilities in proportion to counts."""
    ends = np.cumsum(counts)
    chosen = np.searchsorted(ends, uniform * ends[-1], side="right")
    return np.asarray(np.minimum(chosen, len(counts) - 1), dtype=np.intp)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well-distributed numbers, the finaliser of SplitMix64 (Steele et al., OOPSLA 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def matching_pairs(judgments: Judgments, others: Judgments) -> Ints:
    """Return the judged pair that equals each pair of other judgments, of any queries; -1 if there is none."""
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
    """Return judgments of all documents of the qrels and of the runs, without labels where there are none.

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
    retrieved = [_first_documents(run, cutoff, is_left_out) for run in rankings]
    query, docnos = (np.concatenate(column) for column in zip(*retrieved, strict=True))
    return judgments.with_documents(query, docnos, {view.name: view.label for view in views})


def _first_documents(
    run: Rankings, cutoff: int | None, is_left_out: Bools | None
) -> tuple[Ints, Objects]:
    """Return the queries and names of the documents down to the cutoff; see `join_universe`."""
    if cutoff is None or is_left_out is None:
        query, _, docnos = run.documents(cutoff)
        return query, docnos
    query, rank, docnos = run.documents(None)
    counts = np.ones(len(query), dtype=np.intp)
    counts[run.hits.retrieved_index[is_left_out[run.hits.row]]] = 0
    counted = np.cumsum(counts)
    above_query = (counted - counts)[np.arange(len(query)) - rank + 1]
    is_first = counted - above_query <= cutoff
    return query[is_first], docnos[is_first]
