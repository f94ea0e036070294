"""Columns of qrels and runs: identifiers, their encoding, and labels."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Hashable, Iterable, Sequence
from enum import Enum
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..errors import SWAPPED, MultiAspectError, choices, in_shell, refuse_repeated, tally, warn_once

QUERY_COLUMNS = ("qid", "query_id")

#: The same in runs, which ranx calls q_id.
RUN_QUERY_COLUMNS = (*QUERY_COLUMNS, "q_id")


DOCUMENT_COLUMNS = ("docno", "doc_id")


#: The columns of judgments in BEIR and MTEB; their column score contains the labels.
_BEIR_COLUMNS = (("query-id", "corpus-id"), ("query_id", "corpus_id"))

#: The columns of queries and documents in files.
FILE_QUERY_COLUMNS = (*RUN_QUERY_COLUMNS, "query-id")
FILE_DOCUMENT_COLUMNS = (*DOCUMENT_COLUMNS, "corpus-id", "corpus_id")

#: The columns of ranx, in qrels as in runs.
_RANX_COLUMNS = ("q_id", "doc_id")

#: The column of TREC qrels that contains the subtopic in diversity collections, and anything else
#: in others.
ITERATION_COLUMNS = ("iteration", "iter")

#: Columns with the subtopic of a judgment, as in diversity collections.
SUBTOPIC_COLUMNS = (*ITERATION_COLUMNS, "subtopic", "subtopic_id")

#: The remedy for qrels by subtopic where one label per document is expected.
BY_SUBTOPIC = "from_subtopics makes each subtopic an aspect"

#: The same for one of the files of several aspects.
ALONE_BY_SUBTOPIC = f"If these are subtopics, read the file alone: {BY_SUBTOPIC}"

#: The remedy for qrels with topics that have no label of relevance.
LABELLED_TOPICS = (
    "qrels[qrels.groupby('qid')['label'].transform('count') > 0] "
    "(query_id and relevance, where the columns are named so)"
)

#: A generated answer, and gold answers, in frames of pyterrier_rag and FlashRAG.
_GENERATED = "qanswer"
_GOLD = ("gold_answer", "gold_answers", "golden_answers")

#: Ids of documents in collections, and columns with their text.
_DOCUMENT_IDS = (*DOCUMENT_COLUMNS, "docid", "_id", "id")
_CONTENTS = ("text", "title", "body", "contents", "html", "url")

#: Columns that cannot be aspects: they identify a judgment, or contain answers.
NOT_ASPECTS = (
    *QUERY_COLUMNS, *DOCUMENT_COLUMNS, "docid", "query",
    *SUBTOPIC_COLUMNS, "Q0", "q0", _GENERATED, *_GOLD,
)  # fmt: skip


#: The column that marks documents a user already knows; an aspect only if selected.
KNOWN = "known"

#: The name of a first column whose header is empty, as pandas and R write row indexes.
NO_NAME = "(without a name)"

#: Names that pandas, Polars, Dask, R and databases give to columns with the number of a row.
_match_row_index = re.compile(
    rf"({re.escape(NO_NAME)})?|"  # also an empty name
    r"unnamed: \d+(\.\d+)?(_level_\d+)?|"  # of pandas, such as 'Unnamed: 0'
    r"index|level_\d+|__index_level_\d+__|"
    r"__null_dask_index__|"
    r"row[_.]?(id|index|names?|nr|num|number)|rn|"  # such as 'row_nr' of Polars
    r"\.\.\.1|(?-i:X(\.\d+)?)",  # of R: '...1', 'X', 'X.1'
    re.IGNORECASE,
).fullmatch

#: Names that R, Power Query, DuckDB and Spark give to a first column without a name, and to a
#: second one: if both are there, the columns are a series that somebody named.
_NEXT_OF_SERIES = {
    "X1": "X2",
    "V1": "V2",
    "Column1": "Column2",
    "column0": "column1",
    "_c0": "_c1",
}


def spelling(name: str) -> str:
    """Return a name of a column without case and separators."""
    return re.sub(r"[-_ ]", "", name).lower()


#: The spellings of columns with names of documents.
DOCUMENT_SPELLINGS = frozenset(spelling(name) for name in FILE_DOCUMENT_COLUMNS)

#: The spellings of columns that identify a judgment.
_ID_SPELLINGS = {spelling(name) for name in (*NOT_ASPECTS, "q_id", "corpus_id")}


def added_columns(names: Iterable[Hashable]) -> list[str]:
    """Return the names of columns that are not labels: row indexes, and ids in another spelling."""
    candidates = [name for name in names if isinstance(name, str) and name not in NOT_ASPECTS]
    added = []
    for name in candidates:
        is_id = spelling(name) in _ID_SPELLINGS
        if is_id or _is_row_index(name, candidates):
            added.append(name)
    return added


def _is_row_index(name: str, names: Collection[str]) -> bool:
    """Return whether a column, one of `names`, is a row index by its name."""
    # A column X1 is a row index, unless there is X2: then somebody numbered columns.
    next_name = _NEXT_OF_SERIES.get(name)
    if next_name is not None:
        return next_name not in names
    return _match_row_index(name.strip()) is not None


def warn_of_added_columns(names: Sequence[str], what: str, selection: str) -> None:
    """Warn that columns are left out of the aspects; `selection` is how to select them."""
    names = [name or NO_NAME for name in names]
    if len(names) == 1:
        subject = (
            f"the column {names[0]} is left out of the aspects, "
            "as it looks like a row index or an id"
        )
    else:
        subject = (
            f"the columns {choices(names)} are left out of the aspects, "
            "as they look like row indexes or ids"
        )
    warn_once(f"{what}: {subject}. Drop it where it was added, or select the aspects{selection}")


def check_id_column(frame: pd.DataFrame, candidates: Sequence[str], what: str) -> None:
    """Raise an error unless `frame` has one column among `candidates`."""
    present = [column for column in candidates if column in frame.columns]
    if len(present) == 1:
        return
    if present:
        got = " and ".join(present)
        usual_remedy = "; drop one"
    else:
        got = f"the columns {choices(frame.columns)}"
        usual_remedy = "; rename it"
    expected = " or ".join(candidates)
    remedy = _remedy_for_other_kind(frame, candidates, what) or usual_remedy
    raise MultiAspectError(f"{what}: expected one column {expected}, got {got}{remedy}")


def _remedy_for_other_kind(frame: pd.DataFrame, candidates: Sequence[str], what: str) -> str:
    """Return the remedy for a frame of another kind than expected; empty if its kind is unknown.

    `candidates` are the names of a column of ids that the frame does not have, and `what` is the
    kind of frame that was expected, such as 'qrels', 'a run' or 'docs'.
    """
    if what == "a run":
        has_columns_of_qrels = beir_columns(frame.columns) is not None
        if has_columns_of_qrels:
            return f". {SWAPPED}"
    remedy = answers_remedy(frame.columns)
    if remedy:
        return remedy
    if what in ("a run", "docs"):
        # These may have the columns of documents or topics themselves.
        return ""
    lacks_query_or_document = candidates in (QUERY_COLUMNS, DOCUMENT_COLUMNS)
    if lacks_query_or_document:
        # Qrels were expected: documents or topics may have been given in their place.
        return documents_remedy(frame.columns)
    return ""


def id_column(frame: pd.DataFrame, candidates: Sequence[str], what: str) -> pd.Series[Any]:
    """Return the one column of `frame` among `candidates`; raise an error for none or several."""
    check_id_column(frame, candidates, what)
    present = [column for column in candidates if column in frame.columns]
    only_column = present[0]
    return frame[only_column]


def has_ids(names: Iterable[str]) -> bool:
    """Return whether a column of queries and one of documents are among the names, in any case."""
    lower = {name.lower() for name in names}
    has_query = not lower.isdisjoint(FILE_QUERY_COLUMNS)
    has_document = not lower.isdisjoint(FILE_DOCUMENT_COLUMNS)
    return has_query and has_document


def beir_columns(columns: Collection[Hashable]) -> tuple[str, str] | None:
    """Return the columns of queries and documents that only judgments of BEIR and MTEB have."""
    for query, document in _BEIR_COLUMNS:
        if query in columns and document in columns:
            return query, document
    return None


def rename_beir_columns(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return qrels of BEIR, MTEB and ranx with the columns query_id, doc_id and relevance.

    Runs have scores, too: they are labels only if all are whole numbers, and there are neither
    other labels nor ranks.

    Parameters
    ----------
    frame : DataFrame
        Qrels with any columns; returned unchanged if they are not those of BEIR, MTEB and ranx.
    what : str
        The name of the qrels in errors.

    Raises
    ------
    MultiAspectError
        If a score is not a whole number.

    Warns
    -----
    MultiAspectWarning
        If nearly all documents of a query have distinct scores, as in runs.
    """
    ids = _id_columns_to_rename(frame.columns)
    if ids is None:
        return frame
    check_distinct_columns(frame, what)
    query_column, document_column = ids
    new_names = {query_column: "query_id", document_column: "doc_id"}
    present = set(frame.columns)
    has_labels_or_ranks = bool(present & {"label", "relevance", "rank"})
    if "score" in present and not has_labels_or_ranks:
        labels = read_labels(frame["score"])
        _refuse_fractional_scores(frame, labels, ids, what)
        _warn_of_distinct_scores(frame, labels, query_column, what)
        new_names["score"] = "relevance"
    return frame.rename(columns=new_names)


def _id_columns_to_rename(columns: Collection[Hashable]) -> tuple[str, str] | None:
    """Return the columns of queries and documents of ranx, BEIR or MTEB; None for other frames."""
    present = set(columns)
    is_from_ranx = present >= {*_RANX_COLUMNS, "score"}
    if is_from_ranx:
        return _RANX_COLUMNS
    has_usual_ids = bool(present & {"qid", *DOCUMENT_COLUMNS})
    if has_usual_ids:
        return None
    return beir_columns(columns)


def _refuse_fractional_scores(
    frame: pd.DataFrame, labels: Floats, ids: tuple[str, str], what: str
) -> None:
    """Raise an error for a score that is neither missing nor a whole number.

    `labels` are the scores as floats, `ids` the columns of queries and documents.
    """
    scores = frame["score"]
    is_present = scores.notna().to_numpy()
    is_whole = np.floor(labels) == labels  # False for texts, which are NaN
    wrong = np.flatnonzero(is_present & ~is_whole)
    if not len(wrong):
        return
    row = int(wrong[0])
    query_column, document_column = ids
    query = frame[query_column].iloc[row]
    document = frame[document_column].iloc[row]
    score = scores.iloc[row]
    if isinstance(score, str):
        score = repr(score)
    number = tally(len(wrong), "row")
    raise MultiAspectError(
        f"{what}: expected whole numbers as labels, got {score} (query {query}, document "
        f"{document}) {number}; if these are labels, give them as a column "
        f"relevance. {SWAPPED}"
    )


def _warn_of_distinct_scores(
    frame: pd.DataFrame, labels: Floats, query_column: str, what: str
) -> None:
    """Warn if nearly all documents of a query have distinct scores, as in runs.

    `labels` are the scores as floats.
    """
    n_rows = len(frame)
    n_distinct = len(np.unique(labels))
    n_queries = frame[query_column].nunique()
    has_few_grades = n_distinct <= USUAL_GRADES
    has_few_documents = n_rows < MIN_POOL * n_queries
    if has_few_grades or has_few_documents:
        return
    distinct_per_query = frame[[query_column, "score"]].drop_duplicates()
    if len(distinct_per_query) >= MOSTLY * n_rows:
        warn_once(
            f"{what}: {n_distinct} distinct labels, and nearly every document of a query has a "
            f"different one, as documents have scores. {SWAPPED}"
        )


def answers_remedy(columns: Collection[Hashable]) -> str:
    """Return how answers without documents are evaluated; empty for other frames."""
    present = set(columns)
    has_query = bool(present & {*QUERY_COLUMNS})
    has_document = bool(present & {*DOCUMENT_COLUMNS})
    if has_document or not has_query:
        return ""
    if _GENERATED in present:
        return (
            ". Answers have no docno: give each row of the ranking its answer, as in "
            "ranking.merge(answers[['qid', 'qanswer']], on='qid', how='left'). Evaluate "
            "answers alone in a pt.Experiment with measures of answers only, and judgments of "
            "answers by pt_multiaspect.answers"
        )
    has_gold_answers = bool(present & {*_GOLD})
    if has_gold_answers:
        return (
            ". Give each judged document the gold answers of its query, as in "
            "qrels.merge(answers, on='qid', how='left')"
        )
    return ""


def documents_remedy(columns: Collection[Hashable]) -> str:
    """Return the form of qrels if documents or topics were given instead; else an empty text."""
    present = set(columns)
    has_query = bool(present & {*QUERY_COLUMNS})
    has_document = bool(present & {*_DOCUMENT_IDS})
    has_contents = bool(present & {*_CONTENTS})
    are_documents = has_document and has_contents and not has_query
    are_topics = has_query and "query" in present and not has_document
    if are_documents:
        kind = "documents"
    elif are_topics:
        kind = "topics"
    else:
        return ""
    form = "one row per judged document of a topic, as in "
    if in_shell():
        example = "'q1 0 d1 2' (topic, 0, document, label); one file per aspect"
    else:
        columns_of_qrels = ["qid", "docno", "label", "credibility"]
        example = f"pd.DataFrame([['q1', 'd1', 2, 1]], columns={columns_of_qrels})"
    return f". These are {kind}: qrels have {form}{example}"


def check_distinct_columns(frame: pd.DataFrame, what: str) -> None:
    """Raise for a frame with repeated column names."""
    refuse_repeated(frame.columns, "column names", what)


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains labels, valid or not, rather than text or other objects."""
    dtype = column.dtype
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        return True
    # Objects and texts may be labels, too. In NumPy, 'O' stands for objects, 'U' for texts.
    may_be_labels = dtype.kind in ("O", "U")
    if not may_be_labels:
        return False  # times
    present = column[column.notna()]
    values = pd.Series(present, dtype=object)
    return _are_labels(values, str(column.name))


def _are_labels(values: pd.Series[Any], name: str) -> bool:
    """Return whether the objects or texts of a column are labels; none of them is missing."""
    are_all_texts = pd.api.types.infer_dtype(values) == "string"
    if not are_all_texts:
        # With at least one number, it is a column of labels of which others are invalid.
        if any(map(_is_number, values)):
            return True
        # Lists, dicts and arrays are no labels. They are the values that cannot be hashed.
        are_hashable = all(isinstance(value, Hashable) for value in values)
        if not are_hashable:
            return False
    # Numbers that are read as text are labels, too.
    return _are_labels_as_texts(values, name)


def _is_number(value: object) -> bool:
    """Return whether a value is a number, but no member of an enumeration."""
    return isinstance(value, Number) and not isinstance(value, Enum)


def _are_labels_as_texts(values: pd.Series[Any], name: str) -> bool:
    """Return whether the texts of a column are labels, of which some may be invalid.

    At least one must be a number. The others are invalid labels if they stand for labels that could
    not be given, however often they occur, or if most values are numbers.
    """
    distinct = pd.Series(values.unique(), dtype=object)
    is_number = pd.to_numeric(distinct, errors="coerce").notna()
    n_numbers = int(is_number.sum())
    if n_numbers == 0:
        return False
    others = distinct[~is_number]
    if _may_name_labels(name) and _stand_for_missing_labels(others, n_numbers):
        return True
    fraction_of_texts = values.isin(others).mean()
    return bool(fraction_of_texts < 0.5)


def _stand_for_missing_labels(texts: Iterable[object], n_numbers: int) -> bool:
    """Return whether distinct texts stand for labels that could not be given.

    They may be any words for failures, such as 'N/A', and a single other word, or fewer other words
    than the column has distinct numbers.
    """
    other_words = [str(text) for text in texts if not _is_failure(text)]
    if not all(map(_is_word, other_words)):
        return False
    if len(other_words) <= 1:
        return True
    limit = min(n_numbers, _MOST_TEXTS)
    return len(other_words) < limit


def _is_failure(text: object) -> bool:
    """Return whether a text stands for a label that could not be given, such as N/A."""
    stripped = str(text).strip()
    return _match_failure(stripped) is not None


def _is_word(text: str) -> bool:
    """Return whether a text may stand for a label; codes and sentences do not."""
    is_short = len(text) <= _LONGEST_WORD
    has_digit = any(map(str.isdigit, text))
    return is_short and not has_digit


def without_missing(column: pd.Series[Any], codes: Sequence[float | str] = ()) -> pd.Series[Any]:
    """Return a column with None for empty texts and for codes that mean that there is no label."""
    numeric_codes = [code for code in codes if not isinstance(code, str)]
    labels = read_labels(column)
    is_missing = np.isin(labels, numeric_codes)
    may_have_texts = column.dtype == object or pd.api.types.is_string_dtype(column.dtype)
    if may_have_texts:
        is_missing |= _is_text_among(column, {"", *codes})
    if not is_missing.any():
        return column
    objects = column.astype(object)
    return objects.mask(is_missing, None)


def _is_text_among(column: pd.Series[Any], texts: Collection[object]) -> Bools:
    """Return a mask of the values of a column that are one of the texts, but for spaces around."""
    mask = np.zeros(len(column), dtype=np.bool_)
    for row, value in enumerate(column):
        if isinstance(value, str):
            mask[row] = value.strip() in texts
    return mask


#: What is expected of truth values among labels.
BOOLEANS = "expected truth values on scales of two grades only; map them to grades"


def is_boolean(column: pd.Series[Any]) -> Bools:
    """Return a mask of the values of a column that are truth values."""
    if pd.api.types.is_bool_dtype(column.dtype):
        is_present = column.notna()
        return is_present.to_numpy(dtype=np.bool_)
    n_rows = len(column)
    if column.dtype != object:
        return np.zeros(n_rows, dtype=np.bool_)
    are_booleans = [isinstance(value, bool | np.bool_) for value in column]
    return np.array(are_booleans, dtype=np.bool_)


def grade_booleans(labels: Floats, booleans: Bools, grades: Floats | None) -> tuple[Floats, Bools]:
    """Return labels with truth values as grades, and a mask of those that cannot be grades.

    Parameters
    ----------
    labels : ndarray of float
        The labels, 0 and 1 for truth values.
    booleans : ndarray of bool
        Which labels are truth values.
    grades : ndarray of float or None
        The declared grades.
    """
    none_invalid = np.zeros(len(labels), dtype=np.bool_)
    if not booleans.any():
        return labels, none_invalid
    two_grades = _grades_of_truth_values(labels[~booleans], grades)
    if two_grades is None:
        all_booleans = booleans
        return labels, all_booleans
    grade_of_false, grade_of_true = two_grades
    grade_of_boolean = np.where(labels == 1, grade_of_true, grade_of_false)
    graded = np.where(booleans, grade_of_boolean, labels)
    return graded, none_invalid


def _grades_of_truth_values(
    other_labels: Floats, grades: Floats | None
) -> tuple[float, float] | None:
    """Return the grades that False and True stand for, None if they have no meaning.

    They are the lower and the higher number of a declared scale of two grades. Without a scale,
    they are 0 and 1 if the other labels of the column are 0, 1 or missing, too.
    """
    if grades is not None:
        if len(grades) == 2:
            return grades.min(), grades.max()
        return None
    present = other_labels[~np.isnan(other_labels)]
    are_binary = np.isin(present, (0, 1)).all()
    if are_binary:
        return 0.0, 1.0
    return None


def as_floats(column: pd.Series[Any]) -> Floats:
    """Return a column as floats: NaN without a number, infinity for integers beyond float64.

    Values that pandas cannot convert are replaced, and the conversion starts again.
    """
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    kind = column.dtype.kind
    is_time = kind in ("m", "M") or isinstance(column.dtype, pd.PeriodDtype)
    is_complex = kind == "c"
    if is_time or is_complex:  # pandas would convert times to nanoseconds or days
        return np.full(len(column), np.nan)
    try:
        numbers: Any = pd.to_numeric(column, errors="coerce")
    except TypeError:
        # There are lists, dicts or arrays among the values.
        hashable = column.map(_none_if_unhashable)
        return as_floats(hashable)
    except OverflowError:
        # There are integers that no float represents.
        is_huge = column.map(_is_beyond_floats)
        finite_or_infinite = column.where(~is_huge, np.inf)
        return as_floats(finite_or_infinite)
    has_complex_objects = numbers.dtype.kind == "c"
    if has_complex_objects:
        real = column.map(_none_if_complex)
        return as_floats(real)
    floats = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(floats, dtype=np.float64)


def _none_if_complex(value: object) -> object:
    """Return None for a complex number, else the value itself."""
    if isinstance(value, complex):
        return None
    return value


def _none_if_unhashable(value: object) -> object:
    """Return None for a list, dict or array, else the value itself."""
    if isinstance(value, Hashable):
        return value
    return None


def _is_beyond_floats(value: object) -> bool:
    """Return whether a value is an integer that no float represents."""
    return isinstance(value, int) and abs(value) > sys.float_info.max


def read_labels(column: pd.Series[Any]) -> Floats:
    """Return a column of labels as floats, NaN where it has no number.

    16- and 32-bit floats are read as the decimal numbers they are printed as: 0.1 differs between
    32 and 64 bits.
    """
    dtype: Any = column.dtype
    n_bits = 64
    if pd.api.types.is_float_dtype(dtype):
        n_bits = 8 * dtype.itemsize  # bytes
    is_short_float = n_bits < 64
    if is_short_float:
        # pandas has float types of its own, such as Float32; NumPy's name is float32.
        short_floats: Any = column.to_numpy(dtype=f"float{n_bits}", na_value=np.nan)
        return _printed_numbers(short_floats)
    if column.dtype == object:
        # Objects may be short floats, too.
        values = [_as_printed(value) for value in column]
        column = pd.Series(values, index=column.index, name=column.name, dtype=object)
    return as_floats(column)


def _printed_numbers(short_floats: Any) -> Floats:
    """Return an array of short floats as the decimal numbers that they are printed as."""
    distinct, position = np.unique(short_floats, return_inverse=True)
    printed = [float(str(value)) for value in distinct]  # once per distinct value, which are few
    distinct_labels = np.asarray(printed, dtype=np.float64)
    return distinct_labels[position]


def _as_printed(value: object) -> object:
    """Return a short float as the decimal number that it is printed as; else the value itself."""
    if isinstance(value, np.float16 | np.float32):
        return float(str(value))
    return value


#: Names of columns that rarely contain labels.
_match_unlikely_name = re.compile(
    r"(assessor|annotator|judge|worker|user|session|topic)"
    r"(_?(id|no|nr|number|name))?|"  # such as 'judge_id'
    r"(.*_)?id|index|"  # 'answer_id'
    r"timestamp|time|date|year|rank|score|fold|price",
    re.IGNORECASE,
).fullmatch


#: Number of grades of the longest scale in common use, 0 to 10.
USUAL_GRADES = 11

#: Minimum number of documents per query to conclude that labels are scores.
MIN_POOL = 5

#: Minimum fraction of distinct values per query of labels that look like scores.
MOSTLY = 0.9


#: Numeric columns of ir_datasets that are not labels on a scale.
CODES = {
    "effectiveness": "codes of categories: effective, inconclusive, ineffective, no information"
}


def doubt(name: str, labels: Floats, names: Collection[str]) -> str | None:
    """Return the reason why a column, one of `names`, is unlikely to contain labels, or None."""
    reason = _doubt_by_name(name, names)
    if reason is not None:
        return reason
    return _doubt_by_values(labels)


def _doubt_by_name(name: str, names: Collection[str]) -> str | None:
    """Return why the name of a column, one of `names`, is unlikely for labels, or None."""
    if name in CODES:
        return CODES[name]
    # Merging frames in pandas renames two columns of the same name to name_x and name_y.
    is_suffixed = name.endswith(("_x", "_y"))
    merged = name[:-2]
    has_both_suffixes = f"{merged}_x" in names and f"{merged}_y" in names
    if is_suffixed and has_both_suffixes:
        return f"from a merge of two columns named {merged}: rename it"
    if _match_unlikely_name(name):
        return "by its name"
    usual_name = _usual_name(name)
    is_variant = usual_name != name and usual_name in names
    if is_variant:
        return f"its name resembles {usual_name}"
    return None


def _usual_name(name: str) -> str:
    """Return the name of a column in lower case, without a suffix of pandas; label is relevance."""
    stripped = name.strip().lower()
    # pandas reads a repeated column as label.1, and merges two as label_x and label_y.
    without_suffix = re.sub(r"(\.\d+|_[xy])$", "", stripped)
    if without_suffix == "label":
        return "relevance"
    return without_suffix


def _doubt_by_values(labels: Floats) -> str | None:
    """Return why the values of a column are unlikely to be labels, or None."""
    distinct = np.unique(labels[~np.isnan(labels)])
    is_fractional = distinct != np.floor(distinct)
    if is_fractional.any():
        return "values that are not whole numbers"
    if is_far_above(distinct):
        highest = distinct[-1]
        return f"{highest:g} is far above its other values"
    if len(distinct) > USUAL_GRADES:
        return f"{len(distinct)} distinct values"
    return None


#: Names of columns whose texts are not labels.
_match_name_of_text = re.compile(
    r"text|title|url|body|abstract|snippet|passage|summary|source|split|lang|language|domain|"
    r"comments?|notes?|run|system|tag|type|name|model|version|category|query|question|"
    r"(.*_)?(answer|answer_text|response|output|input)s?|"  # such as 'model_answer'
    r"(.*_)?contexts?|reference|expected|ground_truth|"
    r"(.*_)?(reason|reasoning|explanation|rationale|justification)s?",
    re.IGNORECASE,
).fullmatch

#: The maximum number of distinct texts that may be labels.
_MOST_TEXTS = 10

#: Texts for labels that could not be given.
_match_failure = re.compile(
    r"[-–—?.*]*|"  # empty, '-', '???'
    r"#?n\W?a\W?|nan|none|null|nil|undefined|"  # 'N/A', '#NA'
    r"un(known|judged|rated|labell?ed|scored)|missing|"
    r"(error|err)\b.*|fail.*|invalid.*|skip.*|refus.*|"  # 'ERROR: no answer'
    r"time(d |-)?out.*|"  # 'timed out', 'time-out'
    r"not? .*|(could|can|did|does|was|is)( ?not|n.t) .*|cannot .*",  # 'no answer', "couldn't parse"
    re.IGNORECASE,
).fullmatch

#: Texts for truth values.
_TRUTH_VALUES = {"true": True, "false": False}

#: The maximum length of a text in place of a label.
_LONGEST_WORD = 40


def lacks_labels(column: pd.Series[Any]) -> bool:
    """Return whether all cells of a column are empty, although its name may be that of labels."""
    is_numeric_column = pd.api.types.is_numeric_dtype(column.dtype)
    if is_numeric_column or _is_name_of_texts(str(column.name)):
        return False
    is_present = without_missing(column).notna()
    return not is_present.any()


def read_truth_values(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column with the texts 'true' and 'false', in any case, as truth values.

    Texts such as 'N/A', which say that a judge gave no label, remain. A column with other texts, or
    with a name of texts, such as comment, is returned unchanged.
    """
    if _is_name_of_texts(str(column.name)):
        return column
    truth_value = column.map(_truth_value, na_action="ignore")
    is_truth_value = truth_value.notna()
    if not is_truth_value.any():
        return column
    is_other_text = column.notna() & ~is_truth_value
    other_texts = column[is_other_text].unique()
    say_all_no_label = all(map(_is_failure, other_texts))
    if not say_all_no_label:
        return column
    return truth_value.where(is_truth_value, column)  # other values are those of the column


def _truth_value(text: object) -> bool | None:
    """Return the truth value that a text stands for, in any case; None for other texts."""
    spelled = str(text).strip().lower()
    return _TRUTH_VALUES.get(spelled)


def _is_name_of_texts(name: str) -> bool:
    """Return whether a column contains texts that are no labels, by its name."""
    return not _may_name_labels(name) or _match_failure(name) is not None


def _may_name_labels(name: str) -> bool:
    """Return whether a column with this name may contain labels, rather than texts or ids."""
    is_text = _match_name_of_text(name) is not None
    is_unlikely = _match_unlikely_name(name) is not None
    return not is_text and not is_unlikely


def is_far_above(distinct: Floats) -> bool:
    """Return whether the last of increasing labels is far above the others, like a code.

    It exceeds usual scales and is more than three times the label before it.
    """
    if len(distinct) <= 2:
        return False
    highest = distinct[-1]
    second_highest = distinct[-2]
    return bool(highest > USUAL_GRADES and highest > 3 * second_highest)


def texts_like_labels(column: pd.Series[Any], query: Ints) -> list[str]:
    """Return the distinct texts of a column if they may be labels, such as yes and no.

    Labels are few and differ between the documents of a query, unlike text about queries.

    Parameters
    ----------
    column : Series
        A column of qrels or answers.
    query : ndarray of int, shape (n_rows,)
        The query of each row.
    """
    if not _may_name_labels(str(column.name)):
        return []
    is_present = column.notna().to_numpy()
    texts = column.to_numpy(dtype=object)[is_present]
    if pd.api.types.infer_dtype(texts) != "string":
        return []
    text_code, distinct_texts = pd.factorize(texts)
    are_as_many_as_grades = 2 <= len(distinct_texts) <= _MOST_TEXTS
    if not are_as_many_as_grades:
        return []
    codes_by_query = pd.Series(text_code).groupby(query[is_present])
    texts_per_query = codes_by_query.nunique()
    differ_within_query = texts_per_query.max() > 1
    if differ_within_query:
        return sorted(map(str, distinct_texts))
    return []


def texts_among_numbers(column: pd.Series[Any]) -> list[str]:
    """Return the distinct texts between numbers, such as 'n/a' in a column of '1', '2' and 'n/a'.

    All values are texts. The list is empty if none is a number, or if the column contains text by
    its name.
    """
    if not _may_name_labels(str(column.name)):
        return []
    present = column[column.notna()]
    if pd.api.types.infer_dtype(present) != "string":
        return []
    distinct = pd.Series(present.unique(), dtype=object)
    is_number = pd.to_numeric(distinct, errors="coerce").notna()
    if not is_number.any():
        return []
    others = distinct[~is_number]
    return list(map(str, others))


def text_remedy(column: str, texts: Sequence[str]) -> str:
    """Return advice for turning texts into labels."""
    mapping = text_mapping(column, texts)
    return f"If the texts are labels, map them to numbers: {mapping}, the lowest grade to 0"


def text_mapping(column: str, texts: Sequence[str]) -> str:
    """Return an expression of pandas that maps texts to the labels from 0 on, in order."""
    label_by_text = {}
    for label, text in enumerate(texts):
        label_by_text[text] = label
    return f"qrels[{column!r}].map({label_by_text!r})"


def join_some(items: Sequence[str]) -> str:
    """Join up to ten of `items` with commas."""
    if len(items) <= 10:
        return ", ".join(items)
    first_items = ", ".join(items[:10])
    return f"{first_items}, …"
