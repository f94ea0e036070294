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
from ..collection import Judgments
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
        first = np.argsort(query, kind="stable")
        self._set_arrays(frame, qids, query, first, inverse_permutation(first), documents)
        #: Whether documents have names, which may be repeated.
        self.has_documents = documents is not None

    def _added_columns(self) -> list[str]:
        return []  # the labels of rows are selected before

    @cached_property
    def _earliest_pair(self) -> Ints:
        """The first of the judged pairs with the query and the document of each judged pair."""
        codes = pd.factorize(self.docnos)[0]
        pairs = self.pool_query * (codes.max(initial=0) + 1) + codes
        _, first, position = np.unique(pairs, return_index=True, return_inverse=True)
        return np.asarray(first[position.ravel()], dtype=np.intp)

    def _read_labels(self, name: str, missing: Sequence[str] = ()) -> Floats:
        labels = super()._read_labels(name, missing)
        if self.has_documents:
            self._refuse_conflicts(name, labels, labels, self._earliest_pair)
        return labels

    def check_distinct(self) -> None:
        """Raise an error if a document has several rows for a query."""
        if not self.has_documents:
            return
        repeated = np.flatnonzero(self._earliest_pair != np.arange(len(self)))
        if len(repeated):
            raise MultiAspectError(
                f"expected one row per query and document to evaluate rankings, got several for "
                f"{self._pair_text(int(repeated[0]))} {tally(len(repeated), 'row')}; drop "
                "duplicates. Only "
                "the rows that fit learns from may be repeated: split before oversampling"
            )

    def pair_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return one value per row in the order of the judged pairs."""
        return values[self._first]

    @cached_property
    def docno_positions(self) -> Ints:
        """The position of each judged pair in the order by docno, descending."""
        one_group = np.zeros(len(self), dtype=np.intp)
        order = Texts.from_strings(self.docnos).descending_order(one_group)
        return inverse_permutation(order)

    def label_keys(self, measure: Measure) -> Words:
        """Return a random number per judged pair, from its query and its labels for a measure alone."""
        return self.compute_once(("label keys", measure), lambda: self._hash_labels(measure))

    def _hash_labels(self, measure: Measure) -> Words:
        query_keys = mix_bits(Texts.from_strings(self.qids).hashes() + _SEED)
        keys = query_keys[self.pool_query]
        for view in sorted(measure.views(self), key=lambda view: view.name):
            labels = view.label + 0.0  # -0 and 0 are equal
            labels[~view.known] = np.nan  # in one form
            keys = mix_bits(keys ^ mix_bits(labels.view(np.uint64)))
        return keys

    @cached_property
    def rank(self) -> Ints:
        """The ranks in any ranking of all rows, query by query."""
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
        """Return the judged documents of the queries of the rows, on the scales of all qrels."""
        if not rows.has_documents:
            raise MultiAspectError(
                "qrels= needs the docno of every row: add an index level or a column docno to y"
            )
        position = qrels.query_positions(rows.qids)
        unknown = rows.qids[position < 0]
        if len(unknown):
            raise MultiAspectError(
                f"the qrels have no judgments for {len(unknown)} of "
                f"{number_of(rows.n_queries, 'query')} of the rows, such as {unknown[0]}; check "
                "that the query ids are spelt alike, or drop these rows"
            )
        kept = np.zeros(qrels.n_queries, dtype=np.bool_)
        kept[position] = True
        judgments = qrels.take_rows(np.flatnonzero(qrels.row_values(kept[qrels.pool_query])))
        judgments.infer_scales_from(qrels)
        rows.infer_scales_from(qrels)
        if not qrels._positional:
            judgments.label_names = rows.label_names
        return cls(
            judgments, judgments.pairs.lookup(rows.pool_query, Texts.from_strings(rows.docnos))[0]
        )

    def check_labels(self, rows: RowJudgments, measure: Measure) -> None:
        """Raise an error if rows have other labels than the qrels.

        Missing labels, and labels below the lowest grade, are the lowest grade.
        """
        for view, judged in zip(measure.views(rows), measure.views(self.judgments), strict=True):
            lowest = judged.scale.grades[0]
            better = np.fmax if judged.scale.greater_is_better else np.fmin  # which ignore NaN
            known = np.append(better(judged.label, lowest), lowest)[self.position]
            labels = better(view.label, lowest)
            differing = np.flatnonzero(labels != known)
            if len(differing):
                row = int(differing[0])
                raise MultiAspectError(
                    f"expected y to have the labels of the qrels, got the {view.name} label "
                    f"{spell(labels[row])} for {rows._pair_text(row)}, which the qrels "
                    + ("do not judge" if self.position[row] < 0 else f"label {spell(known[row])}")
                    + f" {tally(len(differing), 'row')}; take the labels of the rows from the qrels"
                )
