"""Rows of training data as judgments, and the judged documents of which they are a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import cached_property
from .._numbers import spell
from .._typing import Floats, Ints, Objects
from ..aspects import Scale
from ..collection import AspectView, Judgments
from ..errors import MultiAspectError, number_of, tally
from ..kernels.hits import positions
from ..measures import Measure
from ..strings.order import inverse_permutation
from ..strings.texts import Texts, Words, mix_bits

#: The seed of the random order of tied rows without names.
_SEED = np.uint64(1)


class RowJudgments(Judgments):
    """Judgments of one document per row.

    Parameters
    ----------
    frame : DataFrame
        One column of labels per aspect.
    query : ndarray of int, shape (n_rows,)
        The query of each row, as a position in `qids`.
    qids : ndarray of str
        The queries, sorted.
    documents : ndarray of str, optional
        The document of each row; by default, documents are named by row number.
    """

    def __init__(
        self, frame: pd.DataFrame, query: Ints, qids: Objects, documents: Objects | None = None
    ) -> None:
        # The judged pairs are the rows, sorted by query.
        row_of_pair = np.argsort(query, kind="stable")
        pair_of_row = inverse_permutation(row_of_pair)
        self._set_arrays(frame, qids, query, row_of_pair, pair_of_row, documents)
        #: Whether documents have names, which may be repeated.
        self.has_documents = documents is not None

    def _added_columns(self) -> list[str]:
        return []  # the labels of rows are selected before

    @cached_property
    def _earliest_pair(self) -> Ints:
        """For each judged pair, the position of the first one with the same query and document."""
        position = pd.Series(np.arange(len(self)))
        same_pair = position.groupby([self.pool_query, self.docnos])
        earliest = same_pair.transform("min")
        return earliest.to_numpy(dtype=np.intp)

    def _read_labels(self, name: str, missing: Sequence[str] = ()) -> Floats:
        """Return the labels of an aspect, after checking that those of a document are equal.

        Each row is a judged pair of its own, also if its document is repeated.
        """
        labels = super()._read_labels(name, missing)
        if self.has_documents:
            # The label of each row must be that of the first row with its query and document.
            earliest = self._earliest_pair
            self._refuse_conflicts(name, row_labels=labels, pair_labels=labels, pair=earliest)
        return labels

    def check_distinct(self) -> None:
        """Raise an error if a document has several rows for a query."""
        if not self.has_documents:
            return
        # A pair is repeated if there is an earlier one with its query and document.
        own_position = np.arange(len(self))
        is_repeated = self._earliest_pair != own_position
        repeated = np.flatnonzero(is_repeated)
        if len(repeated):
            pair = self._pair_text(int(repeated[0]))
            number = tally(len(repeated), "row")
            raise MultiAspectError(
                f"expected one row per query and document to evaluate rankings, got several for "
                f"{pair} {number}; drop duplicates. Only "
                "the rows that fit learns from may be repeated: split before oversampling"
            )

    def pair_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return one value per row in the order of the judged pairs."""
        return values[self._first_row]

    @cached_property
    def docno_positions(self) -> Ints:
        """The position of each judged pair in the order by docno, descending, over all queries."""
        docnos = Texts.from_strings(self.docnos)
        same_group = np.zeros(len(self), dtype=np.intp)  # not sorted by query
        pairs_by_docno = docnos.descending_order(same_group)
        return inverse_permutation(pairs_by_docno)

    def label_keys(self, measure: Measure) -> Words:
        """Return a random number per judged pair, from its query and its labels for a measure."""
        return self.compute_once(("label keys", measure), lambda: self._hash_labels(measure))

    def _hash_labels(self, measure: Measure) -> Words:
        """Return a random number per judged pair, equal for equal queries and labels.

        The number starts as one of the query; the labels of each aspect of the measure change it.
        `mix_bits` maps integers of 64 bits to ones that look random.
        """
        qid_hashes = Texts.from_strings(self.qids).hashes()
        query_keys = mix_bits(qid_hashes + _SEED)
        keys = query_keys[self.pool_query]  # one per judged pair
        # Sorted by name, as the order of the aspects in the measure does not matter.
        for view in sorted(measure.views(self), key=lambda view: view.name):
            label_hashes = mix_bits(_label_bits(view))
            keys = mix_bits(keys ^ label_hashes)  # ^ combines the bits of both
        return keys

    @cached_property
    def rank(self) -> Ints:
        """The ranks in any ranking of all rows, query by query, from 1."""
        return positions(self.pool_query) + 1

    @cached_property
    def n_ret(self) -> Ints:
        """The number of rows per query."""
        return np.bincount(self.pool_query, minlength=self.n_queries)


@dataclass(frozen=True, eq=False)
class Pool:
    """The judged documents of the queries of some rows, of which the rows are a part."""

    judgments: Judgments
    #: The position of each row among the judged documents, -1 if it is not one of them. Rows are
    #: sorted by query.
    position: Ints

    @classmethod
    def from_qrels(cls, qrels: Judgments, rows: RowJudgments) -> Pool:
        """Return the judged documents of the queries of the rows, on the scales of all qrels.

        The rows get these scales, too.
        """
        if not rows.has_documents:
            raise MultiAspectError(
                "qrels= needs the docno of every row: add an index level or a column docno to y"
            )
        judgments = _judgments_of_queries(qrels, rows)
        # Undeclared scales follow from all qrels, also where only some queries have rows.
        judgments.infer_scales_from(qrels)
        rows.infer_scales_from(qrels)
        has_named_labels = not qrels._positional  # tuples have labels by position only
        if has_named_labels:
            judgments.label_names = rows.label_names
        # `pool_query` numbers the queries of the rows, which are those of `judgments`.
        docnos = Texts.from_strings(rows.docnos)
        position, _ = judgments.pairs.lookup(rows.pool_query, docnos)
        return cls(judgments, position)

    def check_labels(self, rows: RowJudgments, measure: Measure) -> None:
        """Raise an error if rows have other labels than the qrels on an aspect of a measure.

        Missing labels, and labels below the lowest grade, are the lowest grade. A view is an aspect
        of the measure with its labels and its scale.
        """
        row_views = measure.views(rows)
        qrels_views = measure.views(self.judgments)
        for row_view, qrels_view in zip(row_views, qrels_views, strict=True):
            scale = qrels_view.scale
            row_labels = _raise_to_lowest_grade(row_view.label, scale)
            judged_labels = _raise_to_lowest_grade(qrels_view.label, scale)
            # The label of each row in the qrels: the lowest grade for documents without judgment.
            lowest_grade = scale.grades[0]
            qrels_labels = values_at(self.position, judged_labels, default=lowest_grade)
            differing = np.flatnonzero(row_labels != qrels_labels)
            if len(differing) > 0:
                raise self._conflict_error(rows, row_view.name, row_labels, qrels_labels, differing)

    def _conflict_error(
        self,
        rows: RowJudgments,
        aspect: str,
        row_labels: Floats,
        qrels_labels: Floats,
        differing: Ints,
    ) -> MultiAspectError:
        """Return the error for rows, at the positions `differing`, whose labels are not equal."""
        row = int(differing[0])
        is_judged = self.position[row] >= 0
        if is_judged:
            judgment = f"label {spell(qrels_labels[row])}"
        else:
            judgment = "do not judge"
        number = tally(len(differing), "row")
        return MultiAspectError(
            f"expected y to have the labels of the qrels, got the {aspect} label "
            f"{spell(row_labels[row])} for {rows._pair_text(row)}, which the qrels {judgment} "
            f"{number}; take the labels of the rows from the qrels"
        )


def _label_bits(view: AspectView) -> Words:
    """Return the 64 bits of the label of each judged pair as an integer; equal labels, equal bits.

    A view is an aspect of a measure with its labels.
    """
    labels = view.label + 0.0  # a copy, in which -0 is 0
    labels[~view.known] = np.nan  # the same NaN for all missing labels
    return labels.view(np.uint64)


def values_at(position: Ints, values: Floats, default: float) -> Floats:
    """Return the value at each position, and the default at the position -1, which means none."""
    # For NumPy, -1 is the last element.
    values_and_default = np.append(values, default)
    return values_and_default[position]


def _judgments_of_queries(qrels: Judgments, rows: RowJudgments) -> Judgments:
    """Return the qrels of the queries that have rows; raise an error if a query has no qrels."""
    query_position = qrels.query_positions(rows.qids)  # -1 if the qrels do not have the query
    unknown = rows.qids[query_position < 0]
    if len(unknown):
        queries = number_of(rows.n_queries, "query")
        raise MultiAspectError(
            f"the qrels have no judgments for {len(unknown)} of "
            f"{queries} of the rows, such as {unknown[0]}; check "
            "that the query ids are spelt alike, or drop these rows"
        )
    has_rows = np.zeros(qrels.n_queries, dtype=np.bool_)
    has_rows[query_position] = True
    is_kept_pair = has_rows[qrels.pool_query]
    is_kept_row = qrels.row_values(is_kept_pair)
    return qrels.take_rows(np.flatnonzero(is_kept_row))


def _raise_to_lowest_grade(labels: Floats, scale: Scale) -> Floats:
    """Return the labels, with the lowest grade in place of missing (NaN) and worse ones."""
    lowest = scale.grades[0]
    # Unlike np.maximum and np.minimum, these return the grade if the label is NaN.
    better: Floats
    if scale.greater_is_better:
        better = np.fmax(labels, lowest)
    else:
        better = np.fmin(labels, lowest)
    return better
