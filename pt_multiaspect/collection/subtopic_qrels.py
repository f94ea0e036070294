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
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}}
    >>> ma.as_subtopics(qrels, {"relevance": 2, "credibility": 1})
      query_id doc_id  relevance    iteration
    0       q1     d1          1    relevance
    1       q1     d2          0    relevance
    2       q1     d1          0  credibility
    3       q1     d2          1  credibility
    """
    judgments = Judgments.of(qrels)
    parts = []
    for view in judgments.views(parse_aspects(aspects)):
        view.check_threshold()
        columns = {
            "query_id": judgments.qids[judgments.pool_query[view.known]],
            "doc_id": judgments.docnos[view.known],
            "relevance": view.positive[view.known].astype(np.int64),
            "iteration": view.name,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts).sort_values("query_id", kind="stable", ignore_index=True)


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
    >>> rows = [("q1", "1", "d1", 1), ("q1", "2", "d1", 0), ("q1", "2", "d2", 2), ("q2", "1", "d3", 1)]
    >>> wide = ma.from_subtopics(pd.DataFrame(rows, columns=["qid", "iteration", "docno", "label"]))
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
    positive = set(table["subtopic"][table["label"] > 0])
    if not positive:
        raise MultiAspectError(
            f"{what}: expected at least one positive label, got none in {len(table)} rows"
        )
    names = {
        subtopic: _subtopic_aspect(subtopic) for subtopic in sorted(positive, key=_subtopic_key)
    }
    if len(set(names.values())) < len(names):
        raise MultiAspectError(
            f"{what}: expected subtopics with different names of aspects, got {choices(names)}"
        )
    wide = table[["qid", "docno"]].drop_duplicates(ignore_index=True)
    for subtopic, name in names.items():
        labels = table.loc[table["subtopic"] == subtopic, ["qid", "docno", "label"]].rename(
            columns={"label": name}
        )
        wide = wide.merge(labels, on=["qid", "docno"], how="left")
    return wide


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
    remedy = (
        f"To take the aspects as subtopics, use Subtopics(base={str(measure)!r}); for judgments by "
        "subtopic, keep the subtopics in a column subtopic, or iteration as from "
        "ir_measures.read_trec_qrels"
    )
    present = [column for column in SUBTOPIC_COLUMNS if column in frame.columns]
    if not present:
        raise MultiAspectError(
            f"{measure} measures diversity: expected qrels with a column of subtopics, got the "
            f"columns {choices(frame.columns)}. {remedy}"
        )
    if len(present) > 1:
        raise MultiAspectError(
            f"{measure} measures diversity: expected one column of subtopics, got "
            f"{choices(present)}; drop others"
        )
    label = id_column(frame, _LABEL_COLUMNS, "qrels")
    table = _subtopic_table(frame[label.notna().to_numpy()], "qrels")
    distinct = table[["qid", "subtopic"]].drop_duplicates()
    if not distinct.duplicated("qid").any():
        raise MultiAspectError(
            f"{measure} measures diversity: expected queries with several subtopics, got one value "
            f"of {present[0]} per query. {remedy}"
        )
    if present[0] in ITERATION_COLUMNS:
        _warn_of_iterations(present[0], table, judgments, measure)
    return table


def _warn_of_iterations(
    column: str, table: pd.DataFrame, judgments: Judgments, measure: object
) -> None:
    """Warn if a column that is read as subtopics may contain something else."""
    if len(judgments.label_names) > 1:
        why = f"have the label columns {choices(judgments.label_names)}"
    elif not table.duplicated(["qid", "docno"]).any():
        why = f"judge no document for two values of {column}"
    else:
        return
    warn_once(
        f"{measure} reads the column {column} of the qrels as subtopics, although the qrels {why}, "
        "unlike judgments by subtopic. If the column contains something else, such as rounds of "
        f"judging, the values are meaningless: use Subtopics(base={str(measure)!r}), with the "
        "aspects as subtopics. If it contains subtopics, rename it to subtopic",
        key=f"{column} as subtopics: {why}",
    )


def _subtopic_table(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return long qrels as a table ``qid docno subtopic label`` without repetitions."""
    ids = {"qid": QUERY_COLUMNS, "docno": DOCUMENT_COLUMNS, "subtopic": SUBTOPIC_COLUMNS}
    table = pd.DataFrame(
        {key: identifiers(id_column(frame, names, what), what) for key, names in ids.items()}
    )
    label = id_column(frame, _LABEL_COLUMNS, what)
    table["label"] = as_floats(label)
    _check_labels(table, label)
    return table.drop_duplicates([*ids], ignore_index=True)


def _check_labels(table: pd.DataFrame, column: pd.Series[Any]) -> None:
    """Raise an error for labels that are no finite numbers, or that contradict one another."""
    faulty = np.flatnonzero(~np.isfinite(table["label"].to_numpy()))
    if len(faulty):
        row = table.iloc[int(faulty[0])]
        label = column.iloc[int(faulty[0])]
        if isinstance(label, str):
            label = repr(label)
        raise MultiAspectError(
            f"invalid label {label} for document {row['docno']}, subtopic {row['subtopic']} of "
            f"query {row['qid']}: expected a finite number"
        )
    key = ["qid", "docno", "subtopic"]
    distinct = table.drop_duplicates([*key, "label"])
    twice = distinct[distinct.duplicated(key, keep=False)]
    if len(twice):
        row = twice.iloc[0]
        is_same = (twice[key] == row[key]).all(axis=1)
        labels = [f"{label:g}" for label in twice["label"][is_same]]
        raise MultiAspectError(
            f"expected one label for document {row['docno']}, subtopic {row['subtopic']} of query "
            f"{row['qid']}, got {choices(labels)}"
        )


def _subtopic_key(subtopic: str) -> tuple[int, int, str]:
    """Return a sort key: numbers by value, then names."""
    is_number = subtopic.isascii() and subtopic.isdigit()
    if is_number:
        return (0, int(subtopic), "")
    return (1, 0, subtopic)


def _subtopic_aspect(subtopic: str) -> str:
    """Return the name of the aspect of a subtopic."""
    if re.match(r"\d", subtopic):
        name = f"subtopic_{subtopic}"
    else:
        name = subtopic
    if not name.strip() or name in (*NOT_ASPECTS, KNOWN):
        raise MultiAspectError(
            f"the subtopic {subtopic!r} cannot be the name of an aspect; rename it"
        )
    return name
