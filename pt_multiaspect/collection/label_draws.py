"""Labels for documents without some: drawn from documents that have all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from .._typing import Bools, Floats, Ints
from ..errors import MultiAspectError, choices, tally
from .judgments import Judgments
from .views import AspectView

#: A donor of the topic is drawn with the probability n / (n + this), where n is the number of donors in the topic.
_PRIOR = 5


class ObservedLabels:
    """The documents with labels on all aspects, which donate theirs.

    Parameters
    ----------
    views : sequence of AspectView
        The aspects of the original qrels.
    """

    def __init__(self, views: Sequence[AspectView]) -> None:
        self.scales = [view.scale for view in views]
        complete = np.all([view.known for view in views], axis=0)
        grades = np.stack([view.grade for view in views], axis=1)[complete]
        self.tuples, code = np.unique(grades, axis=0, return_inverse=True)
        self.counts = np.zeros((views[0].n_queries, len(self.tuples)), dtype=np.intp)
        np.add.at(self.counts, (views[0].pool_query[complete], code.reshape(-1)), 1)

    def draw(self, universe: Judgments, views: Sequence[AspectView], seed: int) -> dict[str, Floats]:
        """Return labels of all documents; those that are known are not changed.

        All missing labels of a document come from one donor with the same known labels, of the topic or of any.

        Parameters
        ----------
        universe : Judgments
            The documents, with the queries of the original qrels.
        views : sequence of AspectView
            The aspects of the universe, in the order of the original ones.
        seed : int
            The label of a document depends on it, the query and the document only.

        Raises
        ------
        MultiAspectError
            If a document has no donor.
        """
        known = np.stack([view.known for view in views], axis=1)
        grade = np.where(known, np.stack([view.grade for view in views], axis=1), -1)
        rows = np.flatnonzero(~known.all(axis=1))
        drawn = grade.copy()
        keys = np.column_stack([universe.pool_query[rows], grade[rows]])
        groups, member = np.unique(keys, axis=0, return_inverse=True)
        for number, (topic, *pattern) in enumerate(groups.tolist()):
            of_group = rows[member.reshape(-1) == number]
            donors = self._donors(pattern)
            if not donors.any():
                raise self._no_donor_error(universe, views, of_group, pattern)
            uniform = np.array([_uniform(seed, universe.qids[topic], universe.docnos[row]) for row in of_group])
            local = self.counts[topic] * donors
            n_local = local.sum()
            is_local = uniform[:, 0] < n_local / (n_local + _PRIOR)
            everywhere = self.counts.sum(axis=0) * donors
            chosen = np.where(is_local, _choose(local, uniform[:, 1]), _choose(everywhere, uniform[:, 1]))
            drawn[of_group] = np.where(known[of_group], grade[of_group], self.tuples[chosen])
        return {
            view.name: np.where(view.known, view.label, scale.grades[drawn[:, column]])
            for column, (view, scale) in enumerate(zip(views, self.scales, strict=True))
        }

    def _donors(self, pattern: Sequence[int]) -> Bools:
        """Return a mask of the tuples with the known grades, or else on the same sides of their thresholds."""
        is_known = np.array(pattern) >= 0
        same = (self.tuples == pattern)[:, is_known].all(axis=1)
        if same.any():
            return np.asarray(same, dtype=np.bool_)
        threshold = np.array([scale.threshold for scale in self.scales])
        sides = (self.tuples >= threshold) == (np.array(pattern) >= threshold)
        return np.asarray(sides[:, is_known].all(axis=1), dtype=np.bool_)

    def _no_donor_error(
        self, universe: Judgments, views: Sequence[AspectView], rows: Ints, pattern: Sequence[int]
    ) -> MultiAspectError:
        known = choices(view.name for view, grade in zip(views, pattern, strict=True) if grade >= 0)
        missing = choices(view.name for view, grade in zip(views, pattern, strict=True) if grade < 0)
        topic = universe.qids[universe.pool_query[rows[0]]]
        return MultiAspectError(
            f"expected documents with labels of all aspects and similar ones of {known or 'any'}, from which to "
            f"draw {missing}, got none for document {universe.docnos[rows[0]]} of topic {topic} "
            f"{tally(len(rows), 'document')}. If such documents are worth nothing by definition, evaluate with "
            "gate=, so that nothing is missing; otherwise, pass judgments of a model as labels="
        )


def labels_of(frame: Judgments, universe: Judgments, views: Sequence[AspectView]) -> Mapping[str, Floats]:
    """Return the labels of the universe, and those of other judgments where these are missing."""
    query = frame.query_positions(universe.qids)
    row_of = {pair: row for row, pair in enumerate(zip(frame.pool_query.tolist(), frame.docnos, strict=True))}
    pairs = zip(query[universe.pool_query].tolist(), universe.docnos, strict=True)
    rows = np.array([row_of.get(pair, -1) for pair in pairs], dtype=np.intp)
    result = {}
    for view in views:
        labels = (
            np.append(frame.labels(view.name), np.nan) if view.name in frame.label_names else np.array([np.nan])
        )
        result[view.name] = np.where(view.known, view.label, labels[np.minimum(rows, len(labels) - 1)])
    return result


def _choose(counts: Ints, uniform: Floats) -> Ints:
    """Return an element per number in [0, 1), with probabilities in proportion to counts."""
    ends = np.cumsum(counts)
    chosen = np.searchsorted(ends, uniform * ends[-1], side="right")
    return np.asarray(np.minimum(chosen, len(counts) - 1), dtype=np.intp)


def _uniform(seed: int, qid: str, docno: str) -> tuple[float, float]:
    """Return two numbers in [0, 1)."""
    text = f"{seed}\0{qid}\0{docno}".encode("utf-8", "surrogatepass")
    digest = blake2b(text, digest_size=16).digest()
    first, second = (int.from_bytes(part, "little") / 2**64 for part in (digest[:8], digest[8:]))
    return min(first, 1 - 2**-53), min(second, 1 - 2**-53)
