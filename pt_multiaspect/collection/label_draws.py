"""Draw the missing labels of documents from documents that have all labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

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

#: The number of donors in a topic with which half of the draws are from the topic: their
#: probability is n / (n + this).
_N_DONORS_FOR_HALF = 5

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
        donors = _Donors(universe, views, missing)
        return donors.draw(seed, draws)
    labels = _labels_of_model(model, universe, views)
    missing_labels = labels[missing]
    n_draws = len(draws)
    return np.tile(missing_labels, (n_draws, 1))


class _DocumentGroup(NamedTuple):
    """Documents of one topic with missing labels, whose known grades are the same."""

    topic: int
    #: The grade index on each aspect, -1 if missing.
    grades: tuple[int, ...]
    #: Positions of the documents in `_Donors.rows`.
    documents: Ints


class _Donors:
    """The documents with labels on all aspects, which donate theirs.

    The parameters are those of `draw_labels`. All missing labels of a document come from one donor
    with the same known labels, of the topic or of any.
    """

    def __init__(self, universe: Judgments, views: Sequence[AspectView], missing: Bools) -> None:
        self.universe = universe
        self.views = views
        grades = np.stack([view.grade for view in views])  # aspects × documents
        grades_or_missing = np.where(missing, -1, grades)
        #: The grade indices of each document, -1 if missing; documents × aspects.
        self.grade = grades_or_missing.T
        lacks_label = missing.any(axis=0)
        #: The documents with missing labels.
        self.rows = np.flatnonzero(lacks_label)

        # A donor has a label that is known on some aspect, and none that is to be drawn.
        is_known = [view.known for view in views]
        is_judged = np.any(is_known, axis=0)
        is_donor = is_judged & ~lacks_label
        #: The distinct grade indices of donors; tuples × aspects.
        self.tuples, tuple_of_donor = _distinct_rows(self.grade[is_donor])
        topic_of_donor = universe.pool_query[is_donor]
        #: The number of donors; topics × tuples.
        self.counts = np.zeros((universe.n_queries, len(self.tuples)), dtype=np.intp)
        np.add.at(self.counts, (topic_of_donor, tuple_of_donor), 1)  # each donor adds 1
        #: The number of donors with each tuple.
        self.counts_in_all_topics = self.counts.sum(axis=0)

    def draw(self, seed: int, draws: Ints) -> Floats:
        """Return the drawn labels, one row per draw; see `draw_labels`."""
        uniform_for_topic, uniform_for_tuple = self._uniform_numbers(seed, draws)
        n_documents = len(self.rows)
        n_draws = len(draws)
        chosen = np.zeros((n_documents, n_draws), dtype=np.intp)  # positions in `tuples`
        groups = list(self._groups())
        # Groups of different topics have the same known grades, and thus the same mask.
        distinct_grades = {group.grades for group in groups}
        mask_by_grades = {grades: self._similar_tuples(grades) for grades in distinct_grades}
        for group in groups:
            is_similar = mask_by_grades[group.grades]
            if not is_similar.any():
                raise self._no_donor_error(group)
            # One number decides whether a donor is of the topic, the other one which tuple it has.
            chosen[group.documents] = self._choose_tuples(
                group.topic,
                is_similar,
                uniform_for_topic[group.documents],
                uniform_for_tuple[group.documents],
            )
        return self._missing_labels(chosen)

    def _groups(self) -> Iterator[_DocumentGroup]:
        """Yield the groups of documents with missing labels, by topic and known grades."""
        if not len(self.rows):
            return
        grades = pd.DataFrame(self.grade[self.rows])  # a column per aspect
        grades.insert(0, "topic", self.universe.pool_query[self.rows])
        groups = grades.groupby(list(grades.columns))
        documents_by_key: Any = groups.indices
        for key in sorted(documents_by_key):
            topic, *known_grades = key
            yield _DocumentGroup(topic, tuple(known_grades), documents_by_key[key])

    def _similar_tuples(self, grades_of_group: Sequence[int]) -> Bools:
        """Return a mask of the tuples that agree with the known grades of a group.

        They have the same grades. If no tuple has, they are on the same sides of the thresholds.
        """
        grades = np.array(grades_of_group)
        is_known = grades >= 0
        same_grade = self.tuples == grades  # tuples × aspects
        has_same_grades: Bools = same_grade[:, is_known].all(axis=1)
        if has_same_grades.any():
            return has_same_grades

        threshold = np.array([view.scale.threshold for view in self.views])
        is_positive = grades >= threshold
        is_positive_tuple = self.tuples >= threshold
        same_side = is_positive_tuple == is_positive
        is_on_same_sides: Bools = same_side[:, is_known].all(axis=1)
        return is_on_same_sides

    def _choose_tuples(
        self,
        topic: int,
        is_similar: Bools,
        uniform_for_topic: Floats,
        uniform_for_tuple: Floats,
    ) -> Ints:
        """Return a position in `tuples` for each document of a group and draw.

        Parameters
        ----------
        topic : int
            The topic of the documents.
        is_similar : ndarray of bool, shape (n_tuples,)
            The tuples to choose from.
        uniform_for_topic : ndarray of float, shape (n_documents, n_draws)
            Random numbers in [0, 1) that decide whether to choose a donor of the topic, or of any.
        uniform_for_tuple : ndarray of float, shape (n_documents, n_draws)
            Random numbers in [0, 1) that decide which of the donors of the topic, or of any.
        """
        # A donor is a document with all labels, whose tuple of labels a draw takes. So a tuple is
        # chosen with a probability proportional to its number of donors, 0 if not similar.
        donors_in_all_topics = self.counts_in_all_topics * is_similar
        from_all_topics = _choose_positions(donors_in_all_topics, uniform_for_tuple)
        donors_in_topic = self.counts[topic] * is_similar
        n_in_topic = donors_in_topic.sum()
        if n_in_topic == 0:
            return from_all_topics
        from_topic = _choose_positions(donors_in_topic, uniform_for_tuple)
        # The more donors the topic has, the more often a draw is from the topic.
        probability_of_topic = n_in_topic / (n_in_topic + _N_DONORS_FOR_HALF)
        is_from_topic = uniform_for_topic < probability_of_topic
        return np.where(is_from_topic, from_topic, from_all_topics)

    def _missing_labels(self, chosen: Ints) -> Floats:
        """Return the missing labels, taken from the chosen tuples; one row per draw.

        The columns are the missing labels of the first aspect, by document, then of the second one,
        and so on.

        Parameters
        ----------
        chosen : ndarray of int, shape (n_documents, n_draws)
            A position in `tuples` for each of the documents `rows`.
        """
        is_missing = self.grade[self.rows] == -1  # documents × aspects
        labels_by_aspect = []
        for aspect, view in enumerate(self.views):
            lacks_aspect = is_missing[:, aspect]
            chosen_tuples = chosen[lacks_aspect]  # documents without a label × draws
            drawn_grades = self.tuples[chosen_tuples, aspect]
            labels_by_aspect.append(view.scale.grades[drawn_grades])
        missing_by_draw = np.concatenate(labels_by_aspect)  # missing labels × draws
        return missing_by_draw.T

    def _uniform_numbers(self, seed: int, draws: Ints) -> tuple[Floats, Floats]:
        """Return two numbers in [0, 1) per document and draw, as two arrays documents × draws.

        A number depends on the seed, the draw and the names of topic and document only, not on
        which other documents or draws there are.
        """
        # SplitMix64 is a generator of random numbers: number n is a scrambled form of its state,
        # which is key + n * _GOLDEN. Each document has two keys, one for each of its two numbers.
        keys = self._document_keys(seed)  # documents × 2
        draw_numbers = draws + 1
        steps = draw_numbers.astype(np.uint64) * _GOLDEN
        uniform_numbers = []
        for key in keys.T:  # the first key of all documents, then the second one
            states = np.add.outer(key, steps)  # documents × draws
            scrambled = _mix(states)
            uniform_numbers.append(_as_fractions(scrambled))
        first, second = uniform_numbers
        return first, second

    def _document_keys(self, seed: int) -> NDArray[np.uint64]:
        """Return two random numbers of 64 bits for each of the documents `rows`; documents × 2."""
        topics = self.universe.pool_query[self.rows]
        qids = self.universe.qids[topics]
        docnos = self.universe.docnos[self.rows]
        digests = []
        for qid, docno in zip(qids, docnos, strict=True):
            digests.append(_digest(seed, qid, docno))
        # Each digest of 16 bytes is two numbers of 8 bytes, in the same order on all machines.
        joined = b"".join(digests)
        numbers = np.frombuffer(joined, dtype="<u8")
        return numbers.astype(np.uint64).reshape(-1, 2)

    def _no_donor_error(self, group: _DocumentGroup) -> NoDonorError:
        """Return the error for documents whose known grades no donor has."""
        names = np.array([view.name for view in self.views], dtype=object)
        is_known = np.array(group.grades) >= 0
        known = choices(names[is_known]) or "any"
        missing = choices(names[~is_known])
        rows = self.rows[group.documents]
        document = self.universe.docnos[rows[0]]
        topic = self.universe.qids[group.topic]
        number = tally(len(rows), "document")
        remedy = "evaluate with gate=, so that nothing is missing"
        if not in_shell():
            remedy += f"; otherwise, pass judgments of a model as {parameter('labels')}"
        return NoDonorError(
            f"expected documents with labels of all aspects and similar ones of {known}, "
            f"from which to draw {missing}, got none for document {document} of topic {topic} "
            f"{number}. If such documents are worth nothing by definition, {remedy}"
        )


def _distinct_rows(table: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of a table, and the position of each row among them."""
    distinct, inverse = np.unique(table, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)  # NumPy 2.0 returns two dimensions


def _labels_of_model(model: Judgments, universe: Judgments, views: Sequence[AspectView]) -> Floats:
    """Return the labels that a model gave, aspects × documents of the universe, NaN if none.

    Parameters
    ----------
    model : Judgments
        The labels of the model, on some of the aspects and some of the documents.
    universe : Judgments
        The documents to label.
    views : sequence of AspectView
        The aspects, with the scales that the labels are on.
    """
    names = [view.name for view in views]
    scales = {view.name: view.aspect for view in views if view.name in model.label_names}
    if not scales:
        expected = choices(names)
        got = choices(model.label_names)
        raise MultiAspectError(f"labels: expected a column of {expected}, got {got}")
    labels = np.full((len(views), len(universe)), np.nan)
    # The documents of the universe that the model labels, and the pair of the model for each.
    pair_in_model = matching_pairs(model, universe)  # -1 for none
    documents = np.flatnonzero(pair_in_model >= 0)
    pairs = pair_in_model[documents]
    with errors_of("labels"):
        for model_view in model.views(Aspects(scales)):
            # Where the model gave no label, its grade is the lowest one: it is missing here.
            label_or_lowest = model_view.scale.grades[model_view.grade]  # one per pair in the model
            label_of_pair = np.where(model_view.known, label_or_lowest, np.nan)
            aspect = names.index(model_view.name)
            labels[aspect, documents] = label_of_pair[pairs]
    return labels


def _choose_positions(counts: Ints, uniform: Floats) -> Ints:
    """Return a position in `counts` for each of the uniform numbers in [0, 1).

    The probability of a position is proportional to its count.
    """
    cumulative = np.cumsum(counts)
    total = cumulative[-1]
    # The interval of a position is [sum of the counts before it, this sum plus its count).
    chosen = np.searchsorted(cumulative, uniform * total, side="right")
    # A number next to 1 may be rounded up to the total, which is beyond the last interval.
    last = len(counts) - 1
    return np.asarray(np.minimum(chosen, last), dtype=np.intp)


def _digest(seed: int, qid: str, docno: str) -> bytes:
    """Return the 16 bytes from which the draws for a document begin."""
    text = f"{seed}\0{qid}\0{docno}"
    encoded = text.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=16).digest()


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well-distributed numbers, the finaliser of SplitMix64 (Steele et al., OOPSLA 2014)."""
    # The shifts and the multipliers are those of the paper; products are modulo 2^64.
    first_multiplier = np.uint64(0xBF58476D1CE4E5B9)
    second_multiplier = np.uint64(0x94D049BB133111EB)
    shifted = numbers >> np.uint64(30)
    numbers = (numbers ^ shifted) * first_multiplier
    shifted = numbers >> np.uint64(27)
    numbers = (numbers ^ shifted) * second_multiplier
    shifted = numbers >> np.uint64(31)
    return numbers ^ shifted


def _as_fractions(numbers: NDArray[np.uint64]) -> Floats:
    """Return integers below 2^64 as floats in [0, 1)."""
    # A float64 holds 53 bits, so the lowest 11 of the 64 bits are dropped.
    integers_below_2_53 = numbers >> np.uint64(11)
    return integers_below_2_53.astype(np.float64) * 2.0**-53


def matching_pairs(judgments: Judgments, others: Judgments) -> Ints:
    """Return the position in `judgments` of each judged pair of `others`; -1 if it has none."""
    query_in_judgments = judgments.query_positions(others.qids)  # -1 for other queries
    query_of_pair = query_in_judgments[others.pool_query]
    docnos = Texts.from_strings(others.docnos)
    # `lookup` returns positions, which mean nothing for the query -1, and hashes of the pairs.
    position, _ = judgments.pairs.lookup(query_of_pair, docnos)
    lacks_query = query_of_pair < 0
    return np.where(lacks_query, -1, position)


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
    queries = []
    docnos = []
    for run in rankings:
        query_of_run, docnos_of_run = _first_documents(run, cutoff, is_left_out)
        queries.append(query_of_run)
        docnos.append(docnos_of_run)
    query = np.concatenate(queries)
    docno = np.concatenate(docnos)
    labels = {view.name: view.label for view in views}
    return judgments.with_documents(query, docno, labels)


def _first_documents(
    run: Rankings, cutoff: int | None, is_left_out: Bools | None
) -> tuple[Ints, Objects]:
    """Return the queries and names of the documents down to the cutoff; see `join_universe`."""
    if is_left_out is None:
        query, _, docnos = run.documents(cutoff)
        return query, docnos
    query, _, docnos = run.documents(None)
    if cutoff is None:
        return query, docnos
    # Left-out documents before the cutoff remain in the result: they are judged, so that the
    # universe has them anyway.
    rank = _ranks_among_counted(run, query, is_left_out)
    is_within_cutoff = rank <= cutoff
    return query[is_within_cutoff], docnos[is_within_cutoff]


def _ranks_among_counted(run: Rankings, query: Ints, is_left_out: Bools) -> Ints:
    """Return the number of documents that are not left out, from rank 1 to each document.

    If the second of three documents is left out, this is [1, 1, 2].

    Parameters
    ----------
    run : Rankings
        The run.
    query : ndarray of int, shape (n_rows,)
        The queries of all retrieved documents, by query and rank.
    is_left_out : ndarray of bool, shape (n_pairs,)
        Which judged pairs are left out.
    """
    hits = run.hits  # the judged documents of the run
    is_left_out_hit = is_left_out[hits.row]
    left_out_rows = hits.retrieved_index[is_left_out_hit]
    is_counted = np.ones(len(query), dtype=np.intp)
    is_counted[left_out_rows] = 0
    counts_by_query = pd.Series(is_counted).groupby(query)
    return counts_by_query.cumsum().to_numpy()
