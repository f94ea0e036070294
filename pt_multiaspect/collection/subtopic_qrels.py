"""Conversion between aspects and the subtopics of diversity collections."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from ..aspects import parse_aspects
from ..errors import MultiAspectError, choices, warn_once
from ..strings.identifiers import identifiers
from .columns import (
    DOCUMENT_COLUMNS,
    ITERATION_COLUMNS,
    KNOWN,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    SUBTOPIC_COLUMNS,
    as_floats,
    check_distinct_columns,
    id_column,
)
from .judgments import Judgments
from .qrels_forms import qrels_frame

#: The names of the column of labels in long qrels.
_LABEL_COLUMNS = ("label", "relevance")


def as_subtopics(qrels: object, aspects: object = None) -> pd.DataFrame:
    """Convert wide qrels to long qrels, one row per document and aspect, for other diversity tools.

    Within this package, `Subtopics` evaluates intent-aware measures on wide qrels directly. Long
    qrels are for other programs, such as ndeval.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and thresholds; by default, every label column.

    Returns
    -------
    DataFrame
        One row per judged (query, document) and aspect on which the document has a label, with
        columns ``query_id doc_id relevance iteration`` (the names of ir-measures). ``relevance`` is
        1 if the label reaches the threshold of the aspect, else 0; ``iteration`` is the name of the
        aspect. Rows are sorted by query.

    Raises
    ------
    MultiAspectError
        If columns are missing or labels are not on the declared scales.

    See Also
    --------
    from_subtopics : The inverse, up to the thresholds.

    Notes
    -----
    Long qrels have several rows per document, which most tools do not expect:

    - Other measures in the same ``pt.Experiment`` or call of ir-measures, such as nDCG or AP, count
      one of the rows, or all of them, without a warning. Use long qrels for intent-aware measures
      only.
    - In ir-measures 0.4, ``alpha_nDCG`` with two different α in one call is computed for the first
      α only; the other is 0. Evaluate one α per call.
    - ndeval supports cutoffs up to 20.
    - Intent-aware measures of ir-measures require pyndeval, which is not installed by default.
    - ndeval breaks tied scores by docno, ascending; trec_eval and this package, descending.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> first = {"relevance": 2, "credibility": 0}
    >>> second = {"relevance": 0, "credibility": 1}
    >>> qrels = {"q1": {"d1": first, "d2": second}}
    >>> ma.as_subtopics(qrels, {"relevance": 2, "credibility": 1})
      query_id doc_id  relevance    iteration
    0       q1     d1          1    relevance
    1       q1     d2          0    relevance
    2       q1     d1          0  credibility
    3       q1     d2          1  credibility
    """
    judgments = Judgments.of(qrels)
    tables = []
    for view in judgments.views(parse_aspects(aspects)):
        view.check_threshold()
        has_label = view.known
        query = judgments.pool_query[has_label]
        is_relevant = view.positive[has_label]
        columns = {
            "query_id": judgments.qids[query],
            "doc_id": judgments.docnos[has_label],
            "relevance": is_relevant.astype(np.int64),
            "iteration": view.name,
        }
        tables.append(pd.DataFrame(columns))
    table = pd.concat(tables)
    return table.sort_values("query_id", kind="stable", ignore_index=True)


def from_subtopics(qrels: object) -> pd.DataFrame:
    """Convert judgments by subtopic to wide qrels with one aspect per subtopic.

    Such judgments are those of the TREC Web tracks. Measures of several aspects can then evaluate
    diversity collections.

    Parameters
    ----------
    qrels : DataFrame or iterable of namedtuples
        Long qrels with one row per judged (query, document, subtopic): a query column (``qid`` or
        ``query_id``), a document column (``docno`` or ``doc_id``), a label (``label`` or
        ``relevance``) and a subtopic (``iteration``, ``iter``, ``subtopic`` or ``subtopic_id``),
        such as ``ir_measures.read_trec_qrels(path)`` or the qrels of a diversity dataset of
        ir_datasets.

    Returns
    -------
    DataFrame
        One row per judged (query, document), with the columns ``qid docno`` and one column per
        subtopic that has a positive label in some query: ``subtopic_1`` for the subtopic 1, or the
        subtopic itself if it does not begin with a digit. Labels are floats, NaN where the document
        is not judged for the subtopic. Columns are in the order of the subtopics, rows in that of
        their first appearance.

    Raises
    ------
    MultiAspectError
        If a column is missing, a label is not a finite number, a document has two labels for one
        subtopic of a query, a subtopic cannot be the name of an aspect, or no label is positive.

    See Also
    --------
    as_subtopics : The inverse.
    Subtopics : Intent-aware measures such as α-nDCG, on wide qrels.

    Notes
    -----
    Queries have different subtopics: the third subtopics of two queries have nothing but their
    number in common, and a query with two subtopics has no document with a positive label on
    ``subtopic_3``. By default, CAM counts such an aspect as 0, and MM, GAM and WHAM are 0 for the
    query: use ``empty="drop"`` to leave it out. `Subtopics` always leaves it out.

    Subtopics without a positive label in any query, such as the 0 that marks non-relevant documents
    in some collections, do not become aspects; their documents stay in the result.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> rows = [("q1", "1", "d1", 1), ("q1", "2", "d1", 0)]
    >>> rows += [("q1", "2", "d2", 2), ("q2", "1", "d3", 1)]
    >>> judged = pd.DataFrame(rows, columns=["qid", "iteration", "docno", "label"])
    >>> wide = ma.from_subtopics(judged)
    >>> wide
      qid docno  subtopic_1  subtopic_2
    0  q1    d1         1.0         0.0
    1  q1    d2         NaN         2.0
    2  q2    d3         1.0         NaN
    >>> measure = ma.CAM(base="AP", empty="drop", aspects={"subtopic_1": 2, "subtopic_2": 2})
    >>> measure.calc_aggregate(wide, {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 1.0}})
    0.875
    """
    frame, _ = qrels_frame(qrels)
    what = "qrels by subtopic"
    check_distinct_columns(frame, what)
    table = _subtopic_table(frame, what)
    aspect_names = _aspects_of_subtopics(table, what)

    # One row per judged document, and a column for each subtopic.
    wide = table[["qid", "docno"]].drop_duplicates(ignore_index=True)
    for subtopic, name in aspect_names.items():
        is_of_subtopic = table["subtopic"] == subtopic
        labels = table.loc[is_of_subtopic, ["qid", "docno", "label"]]
        labels = labels.rename(columns={"label": name})
        wide = wide.merge(labels, on=["qid", "docno"], how="left")
    return wide


def _aspects_of_subtopics(table: pd.DataFrame, what: str) -> dict[str, str]:
    """Return the name of the aspect of each subtopic that has a positive label, in their order.

    Raises
    ------
    MultiAspectError
        If no label is positive, or two subtopics get the same name.
    """
    is_positive = table["label"] > 0
    subtopics = set(table["subtopic"][is_positive])
    if not subtopics:
        raise MultiAspectError(
            f"{what}: expected at least one positive label, got none in {len(table)} rows"
        )
    names = {}
    for subtopic in sorted(subtopics, key=_subtopic_key):
        names[subtopic] = _subtopic_aspect(subtopic)
    distinct_names = set(names.values())
    if len(distinct_names) < len(names):
        listed = choices(names)
        raise MultiAspectError(
            f"{what}: expected subtopics with different names of aspects, got {listed}"
        )
    return names


def subtopic_judgments(judgments: Judgments, measure: object) -> pd.DataFrame:
    """Return the relevance labels by subtopic, for the diversity measures of ir-measures.

    Parameters
    ----------
    judgments : Judgments
        Judgments from long qrels, with a column of subtopics.
    measure : object
        The measure, for messages.

    Returns
    -------
    DataFrame
        One row per judged (query, document, subtopic), with the columns ``qid docno subtopic
        label``, in the order of the qrels. Missing labels are left out.

    Raises
    ------
    MultiAspectError
        If the qrels have no column of subtopics, no query has two subtopics, a document has two
        labels for one subtopic of a query, or a label is not a number.
    """
    frame = judgments.rows(judgments.columns)
    column = _subtopic_column(frame, measure)
    label = id_column(frame, _LABEL_COLUMNS, "qrels")
    has_label = label.notna().to_numpy()
    table = _subtopic_table(frame[has_label], "qrels")
    query_and_subtopic = table[["qid", "subtopic"]].drop_duplicates()
    has_several_subtopics = query_and_subtopic.duplicated("qid").any()
    if not has_several_subtopics:
        remedy = _remedy_without_subtopics(measure)
        raise MultiAspectError(
            f"{measure} measures diversity: expected queries with several subtopics, got one value "
            f"of {column} per query. {remedy}"
        )
    if column in ITERATION_COLUMNS:
        _warn_of_iterations(column, table, judgments, measure)
    return table


def _subtopic_column(frame: pd.DataFrame, measure: object) -> str:
    """Return the name of the one column of subtopics that a measure of diversity reads."""
    present = [column for column in SUBTOPIC_COLUMNS if column in frame.columns]
    if len(present) == 1:
        return present[0]
    if present:
        listed = choices(present)
        raise MultiAspectError(
            f"{measure} measures diversity: expected one column of subtopics, got {listed}; drop "
            "others"
        )
    listed = choices(frame.columns)
    remedy = _remedy_without_subtopics(measure)
    raise MultiAspectError(
        f"{measure} measures diversity: expected qrels with a column of subtopics, got the "
        f"columns {listed}. {remedy}"
    )


def _remedy_without_subtopics(measure: object) -> str:
    """Return the remedy for a measure of diversity on qrels that have no subtopics."""
    base = repr(str(measure))
    return (
        f"To take the aspects as subtopics, use Subtopics(base={base}); for judgments by "
        "subtopic, keep the subtopics in a column subtopic, or iteration as from "
        "ir_measures.read_trec_qrels"
    )


def _warn_of_iterations(
    column: str, table: pd.DataFrame, judgments: Judgments, measure: object
) -> None:
    """Warn if a column that is read as subtopics may contain something else.

    Parameters
    ----------
    column : str
        The name of the column.
    table : DataFrame
        The judgments as ``qid docno subtopic label``.
    judgments : Judgments
        The judgments with their other columns.
    measure : object
        The measure that reads the column.
    """
    has_several_aspects = len(judgments.label_names) > 1
    has_documents_of_several_subtopics = table.duplicated(["qid", "docno"]).any()
    if has_several_aspects:
        listed = choices(judgments.label_names)
        reason = f"have the label columns {listed}"
    elif not has_documents_of_several_subtopics:
        reason = f"judge no document for two values of {column}"
    else:
        return
    base = repr(str(measure))
    warn_once(
        f"{measure} reads the column {column} of the qrels as subtopics, although the qrels "
        f"{reason}, unlike judgments by subtopic. If the column contains something else, such as "
        f"rounds of judging, the values are meaningless: use Subtopics(base={base}), with the "
        "aspects as subtopics. If it contains subtopics, rename it to subtopic",
        key=f"{column} as subtopics: {reason}",
    )


def _subtopic_table(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return long qrels as a table ``qid docno subtopic label`` without repetitions."""
    queries = id_column(frame, QUERY_COLUMNS, what)
    qids = identifiers(queries, what)
    documents = id_column(frame, DOCUMENT_COLUMNS, what)
    docnos = identifiers(documents, what)
    subtopics = identifiers(id_column(frame, SUBTOPIC_COLUMNS, what), what)
    table = pd.DataFrame({"qid": qids, "docno": docnos, "subtopic": subtopics})
    label = id_column(frame, _LABEL_COLUMNS, what)
    table["label"] = as_floats(label)
    _check_finite(table, label)
    _check_one_label(table)
    return table.drop_duplicates(["qid", "docno", "subtopic"], ignore_index=True)


def _check_finite(table: pd.DataFrame, column: pd.Series[Any]) -> None:
    """Raise an error if some labels are not finite numbers.

    Parameters
    ----------
    table : DataFrame
        The judgments as ``qid docno subtopic label``.
    column : Series
        The labels as given.
    """
    is_finite = np.isfinite(table["label"].to_numpy())
    if is_finite.all():
        return
    first_row = int(np.argmin(is_finite))
    judgment = table.iloc[first_row]
    document = judgment["docno"]
    subtopic = judgment["subtopic"]
    query = judgment["qid"]
    label = column.iloc[first_row]
    if isinstance(label, str):
        label = repr(label)
    raise MultiAspectError(
        f"invalid label {label} for document {document}, subtopic {subtopic} of "
        f"query {query}: expected a finite number"
    )


def _check_one_label(table: pd.DataFrame) -> None:
    """Raise an error if a document has different labels for a subtopic of a query."""
    key = ["qid", "docno", "subtopic"]
    distinct = table.drop_duplicates([*key, "label"])
    has_other_labels = distinct.duplicated(key, keep=False)
    if not has_other_labels.any():
        return
    contradictions = distinct[has_other_labels]
    first = contradictions.iloc[0]
    has_same_key = (contradictions[key] == first[key]).all(axis=1)
    labels = [f"{label:g}" for label in contradictions["label"][has_same_key]]
    document = first["docno"]
    subtopic = first["subtopic"]
    query = first["qid"]
    listed = choices(labels)
    raise MultiAspectError(
        f"expected one label for document {document}, subtopic {subtopic} of query "
        f"{query}, got {listed}"
    )


def _subtopic_key(subtopic: str) -> tuple[int, int, str]:
    """Return a key that sorts subtopics: numbers by value first, then names."""
    is_number = subtopic.isascii() and subtopic.isdigit()
    if is_number:
        return (0, int(subtopic), "")
    return (1, 0, subtopic)


def _subtopic_aspect(subtopic: str) -> str:
    """Return the name of the aspect of a subtopic; raise an error if it cannot be one."""
    name = subtopic
    begins_with_digit = re.match(r"\d", subtopic) is not None
    if begins_with_digit:
        name = f"subtopic_{subtopic}"
    is_empty = not name.strip()
    has_other_meaning = name in NOT_ASPECTS or name == KNOWN
    if is_empty or has_other_meaning:
        raise MultiAspectError(
            f"the subtopic {subtopic!r} cannot be the name of an aspect; rename it"
        )
    return name
