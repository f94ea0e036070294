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
_GENERATED, _GOLD = "qanswer", ("gold_answer", "gold_answers", "golden_answers")

#: Ids of documents in collections, and columns with their text.
_DOCUMENT_IDS = (*DOCUMENT_COLUMNS, "docid", "_id", "id")
_CONTENTS = ("text", "title", "body", "contents", "html", "url")

#: Columns that cannot be aspects: they identify a judgment, or contain answers.
NOT_ASPECTS = (
    *QUERY_COLUMNS, *DOCUMENT_COLUMNS, "docid", "query", *SUBTOPIC_COLUMNS, "Q0", "q0", _GENERATED, *_GOLD
)  # fmt: skip


#: The column that marks documents a user already knows; an aspect only if selected.
KNOWN = "known"

#: The name of a first column whose header is empty, as pandas and R write row indexes.
NO_NAME = "(without a name)"

#: Names that pandas, Polars, Dask, R and databases give to columns with the number of a row.
_ROW_NUMBERS = re.compile(
    rf"({re.escape(NO_NAME)})?|unnamed: "
    r"\d+(\.\d+)?(_level_\d+)?|index|level_\d+|__index_level_\d+__|"
    r"__null_dask_index__|row[_.]?(id|index|names?|nr|num|number)|rn|\.\.\.1|(?-i:X(\.\d+)?)",
    re.IGNORECASE,
).fullmatch

#: Names that R, Power Query, DuckDB and Spark give to a first column without a name, and to a
#: second one: if both are there, the columns are a series that somebody named.
_FIRST_OF_SERIES = {
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
_IDS = {spelling(name) for name in (*NOT_ASPECTS, "q_id", "corpus_id")}


def added_columns(names: Iterable[Hashable]) -> list[str]:
    """Return the names of columns that are not labels: row indexes, and ids in another spelling."""
    texts = [name for name in names if isinstance(name, str) and name not in NOT_ASPECTS]
    added = []
    for name in texts:
        if _is_row_number(name, texts) or spelling(name) in _IDS:
            added.append(name)
    return added


def _is_row_number(name: str, names: Collection[str]) -> bool:
    """Return whether one of the names of columns is that of a row index."""
    if name in _FIRST_OF_SERIES:
        return _FIRST_OF_SERIES[name] not in names
    return _ROW_NUMBERS(name.strip()) is not None


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
    else:
        got = f"the columns {choices(frame.columns)}"
    expected = " or ".join(candidates)
    remedy = _id_remedy(frame, candidates, what)
    if not remedy and present:
        remedy = "; drop one"
    elif not remedy:
        remedy = "; rename it"
    raise MultiAspectError(f"{what}: expected one column {expected}, got {got}{remedy}")


def _id_remedy(frame: pd.DataFrame, candidates: Sequence[str], what: str) -> str:
    """Return the remedy for a frame of another kind than expected, if the kind is known."""
    is_swapped = what == "a run" and beir_columns(frame.columns) is not None
    if is_swapped:
        return f". {SWAPPED}"
    remedy = answers_remedy(frame.columns)
    are_ids_of_qrels = candidates in (QUERY_COLUMNS, DOCUMENT_COLUMNS)
    if not remedy and are_ids_of_qrels and what not in ("a run", "docs"):
        return documents_remedy(frame.columns)
    return remedy


def id_column(frame: pd.DataFrame, candidates: Sequence[str], what: str) -> pd.Series[Any]:
    """Return the one column of `frame` among `candidates`."""
    check_id_column(frame, candidates, what)
    return frame[next(column for column in candidates if column in frame.columns)]


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
    ids = beir_columns(frame.columns)
    if {*_RANX_COLUMNS, "score"} <= {*frame.columns}:
        ids = _RANX_COLUMNS
    elif ids is None or not {"qid", *DOCUMENT_COLUMNS}.isdisjoint(frame.columns):
        return frame
    check_distinct_columns(frame, what)
    names = dict(zip(ids, ("query_id", "doc_id"), strict=True))
    has_labels = not {"label", "relevance", "rank"}.isdisjoint(frame.columns)
    if "score" in frame.columns and not has_labels:
        names["score"] = "relevance"
        _check_scores_are_labels(frame, ids, what)
    return frame.rename(columns=names)


def _check_scores_are_labels(frame: pd.DataFrame, ids: tuple[str, str], what: str) -> None:
    """Raise an error for fractional scores; warn if they are as distinct as in runs."""
    query_column, document_column = ids
    scores = frame["score"]
    labels = read_labels(scores)
    is_fractional = scores.notna().to_numpy() & (np.floor(labels) != labels)
    wrong = np.flatnonzero(is_fractional)
    if len(wrong):
        row = int(wrong[0])
        query = frame[query_column].iloc[row]
        document = frame[document_column].iloc[row]
        score = scores.iloc[row]
        if isinstance(score, str):
            score = repr(score)
        raise MultiAspectError(
            f"{what}: expected whole numbers as labels, got {score} (query {query}, document "
            f"{document}) {tally(len(wrong), 'row')}; if these are labels, give them as a column "
            f"relevance. {SWAPPED}"
        )
    n_distinct = len(np.unique(labels))
    n_queries = frame[query_column].nunique()
    if n_distinct <= USUAL_GRADES or len(frame) < MIN_POOL * n_queries:
        return
    n_distinct_of_queries = len(frame[[query_column, "score"]].drop_duplicates())
    if n_distinct_of_queries >= MOSTLY * len(frame):
        warn_once(
            f"{what}: {n_distinct} distinct labels, and nearly every document of a query has a "
            f"different one, as documents have scores. {SWAPPED}"
        )


def answers_remedy(columns: Collection[Hashable]) -> str:
    """Return how answers without documents are evaluated; nothing for other frames."""
    has_query = not {*QUERY_COLUMNS}.isdisjoint(columns)
    has_document = not {*DOCUMENT_COLUMNS}.isdisjoint(columns)
    if has_document or not has_query:
        return ""
    if _GENERATED in columns:
        return (
            ". Answers have no docno: give each row of the ranking its answer, as in "
            "ranking.merge(answers[['qid', 'qanswer']], on='qid', how='left'). Evaluate "
            "answers alone in a pt.Experiment with measures of answers only, and judgments of "
            "answers by pt_multiaspect.answers"
        )
    if not {*_GOLD}.isdisjoint(columns):
        return (
            ". Give each judged document the gold answers of its query, as in "
            "qrels.merge(answers, on='qid', how='left')"
        )
    return ""


def documents_remedy(columns: Collection[Hashable]) -> str:
    """Return the form of qrels if documents or topics were given instead; else nothing."""
    has_query = not {*QUERY_COLUMNS}.isdisjoint(columns)
    has_document = not {*_DOCUMENT_IDS}.isdisjoint(columns)
    if has_document and not has_query and not {*_CONTENTS}.isdisjoint(columns):
        kind = "documents"
    elif has_query and not has_document and "query" in columns:
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
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return True
    if getattr(column.dtype, "kind", "O") not in "OU":
        return False
    values = pd.Series(column[column.notna()], dtype=object)
    if pd.api.types.infer_dtype(values) != "string":
        # A column with at least one number is an invalid label column rather than a column of text.
        if any(map(_is_number, values)):
            return True
        if not all(isinstance(value, Hashable) for value in values):  # lists, dicts and arrays
            return False
    # Numbers that are read as text are labels, too.
    return _are_numbers_and_failures(pd.Series(values, dtype=object), str(column.name))


def _is_number(value: object) -> bool:
    return isinstance(value, Number) and not isinstance(value, Enum)


def _are_numbers_and_failures(values: pd.Series[Any], name: str) -> bool:
    """Return whether texts are labels, of which some may be invalid.

    Labels do not become text if many of them could not be given: words for failures, such as 'N/A',
    a single other word, and few words among several numbers are invalid labels, however often they
    occur. Other texts are, if most values are numbers.
    """
    distinct = pd.Series(values.unique(), dtype=object)
    is_number = pd.to_numeric(distinct, errors="coerce").notna()
    if not is_number.any():
        return False
    others = distinct[~is_number]
    if not _TEXTS(name) and not _UNLIKELY(name):
        unknown = [str(text) for text in others if not _is_failure(text)]
        few = min(is_number.sum(), _MOST_TEXTS)
        is_rare = len(unknown) == 1 or len(unknown) < few
        if not unknown or (is_rare and all(map(_is_word, unknown))):
            return True
    fraction_of_texts = values.isin(others).mean()
    return bool(fraction_of_texts < 0.5)


def _is_failure(text: object) -> bool:
    """Return whether a text stands for a label that could not be given, such as N/A."""
    return _FAILURE(str(text).strip()) is not None


def _is_word(text: str) -> bool:
    """Return whether a text may stand for a label; codes and sentences do not."""
    return len(text) <= _LONGEST_WORD and not any(map(str.isdigit, text))


def without_missing(column: pd.Series[Any], codes: Sequence[float | str] = ()) -> pd.Series[Any]:
    """Return a column with None for empty texts and for codes that mean that there is no label."""
    numbers = [code for code in codes if not isinstance(code, str)]
    missing = np.isin(read_labels(column), numbers)
    if column.dtype == object or pd.api.types.is_string_dtype(column.dtype):
        texts = {"", *codes}
        is_text = [isinstance(value, str) and value.strip() in texts for value in column]
        missing |= np.array(is_text, dtype=np.bool_)
    if missing.any():
        return column.astype(object).mask(missing, None)
    return column


#: What is expected of truth values among labels.
BOOLEANS = "expected truth values on scales of two grades only; map them to grades"


def is_boolean(column: pd.Series[Any]) -> Bools:
    """Return which values of a column are truth values."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.notna().to_numpy(dtype=np.bool_)
    if column.dtype != object:
        return np.zeros(len(column), dtype=np.bool_)
    return np.array([isinstance(value, bool | np.bool_) for value in column], dtype=np.bool_)


def grade_booleans(labels: Floats, booleans: Bools, grades: Floats | None) -> tuple[Floats, Bools]:
    """Return labels with truth values as grades, and which of them cannot be grades.

    They are the lower and the higher number of a scale of two grades. On a longer scale, or without
    a scale beside other labels than 0 and 1, they have no meaning.

    Parameters
    ----------
    labels : ndarray of float
        The labels, 0 and 1 for truth values.
    booleans : ndarray of bool
        Which labels are truth values.
    grades : ndarray of float or None
        The declared grades.
    """
    none = np.zeros(len(labels), dtype=np.bool_)
    if not booleans.any():
        return labels, none
    if grades is None:
        others = labels[~booleans & ~np.isnan(labels)]
        if np.isin(others, (0, 1)).all():
            return labels, none
        return labels, booleans
    if len(grades) != 2:
        return labels, booleans
    graded = np.where(labels == 1, grades.max(), grades.min())
    return np.where(booleans, graded, labels), none


def as_floats(column: pd.Series[Any]) -> Floats:
    """Return a column as floats: NaN without a number, infinity for integers beyond float64."""
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    if column.dtype.kind in "mMc" or isinstance(column.dtype, pd.PeriodDtype):
        return np.full(len(column), np.nan)  # pandas would convert times to nanoseconds or days
    try:
        values: Any = pd.to_numeric(column, errors="coerce")
        if values.dtype.kind == "c":
            return as_floats(column.map(_none_if_complex))
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
    except TypeError:  # lists, dicts or arrays among the values
        return as_floats(column.map(_none_if_unhashable))
    except OverflowError:
        is_huge = column.map(_is_beyond_floats)
        return as_floats(column.where(~is_huge, np.inf))
    return np.asarray(values, dtype=np.float64)


def _none_if_complex(value: object) -> object:
    if isinstance(value, complex):
        return None
    return value


def _none_if_unhashable(value: object) -> object:
    if isinstance(value, Hashable):
        return value
    return None


def _is_beyond_floats(value: object) -> bool:
    return isinstance(value, int) and abs(value) > sys.float_info.max


def read_labels(column: pd.Series[Any]) -> Floats:
    """Return a column of labels as floats, NaN where it has no number.

    16- and 32-bit floats are read as the decimal numbers they are printed as: 0.1 differs between
    32 and 64 bits.
    """
    own_type: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    if getattr(own_type, "kind", "O") == "f" and own_type.itemsize < 8:
        floats: Any = column.to_numpy(dtype=own_type, na_value=np.nan)
        distinct, position = np.unique(floats, return_inverse=True)
        labels = [float(str(value)) for value in distinct]
        return np.asarray(labels, dtype=np.float64)[position]
    if column.dtype == object:
        values = [_as_printed(value) for value in column]
        column = pd.Series(values, index=column.index, name=column.name, dtype=object)
    return as_floats(column)


def _as_printed(value: object) -> object:
    """Return a short float as the decimal number that it is printed as; else the value itself."""
    if isinstance(value, np.float16 | np.float32):
        return float(str(value))
    return value


#: Names of columns that rarely contain labels.
_UNLIKELY = re.compile(
    r"(assessor|annotator|judge|worker|user|session|topic)(_?(id|no|nr|number|name))?|"
    r"(.*_)?id|index|timestamp|time|date|year|rank|score|fold|price",
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
    if name in CODES:
        return CODES[name]
    merged, suffix = name[:-2], name[-2:]
    if suffix in ("_x", "_y") and f"{merged}_x" in names and f"{merged}_y" in names:
        return f"from a merge of two columns named {merged}: rename it"
    if _UNLIKELY(name):
        return "by its name"
    usual = re.sub(r"(\.\d+|_[xy])$", "", name.strip().lower())
    if usual == "label":
        usual = "relevance"
    if usual != name and usual in names:
        return f"its name resembles {usual}"
    distinct = np.unique(labels[~np.isnan(labels)])
    if (distinct != np.floor(distinct)).any():
        return "values that are not whole numbers"
    if is_far_above(distinct):
        return f"{distinct[-1]:g} is far above its other values"
    if len(distinct) > USUAL_GRADES:
        return f"{len(distinct)} distinct values"
    return None


#: Names of columns whose texts are not labels.
_TEXTS = re.compile(
    r"text|title|url|body|abstract|snippet|passage|summary|source|split|lang|language|domain|comments?|notes?|run|"
    r"system|tag|type|name|model|version|category|query|question|(.*_)?(answer|answer_text|response|output|input)s?|"
    r"(.*_)?contexts?|reference|expected|ground_truth|(.*_)?(reason|reasoning|explanation|rationale|justification)s?",
    re.IGNORECASE,
).fullmatch

#: The maximum number of distinct texts that may be labels.
_MOST_TEXTS = 10

#: Texts for labels that could not be given.
_FAILURE = re.compile(
    r"[-–—?.*]*|#?n\W?a\W?|nan|none|null|nil|undefined|un(known|judged|rated|labell?ed|scored)|missing|(error|err)\b.*|"
    r"fail.*|invalid.*|skip.*|refus.*|time(d |-)?out.*|not? .*|(could|can|did|does|was|is)( "
    r"?not|n.t) .*|cannot .*",
    re.IGNORECASE,
).fullmatch

#: Texts for truth values.
_TRUTH_VALUES = {"true": True, "false": False}

#: The maximum length of a text in place of a label.
_LONGEST_WORD = 40


def lacks_labels(column: pd.Series[Any]) -> bool:
    """Return whether all cells of a column are empty, although its name may be that of labels."""
    if pd.api.types.is_numeric_dtype(column.dtype) or _is_name_of_texts(str(column.name)):
        return False
    present = without_missing(column).notna()
    return not present.any()


def read_truth_values(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the texts true and false of a column as truth values, if others stand for failures."""
    if _is_name_of_texts(str(column.name)):
        return column
    truth = column.map(_truth_value, na_action="ignore")
    is_truth = truth.notna()
    others = column[~is_truth & column.notna()].unique()
    if not is_truth.any() or not all(map(_is_failure, others)):
        return column
    return truth.where(is_truth, column)


def _truth_value(text: object) -> bool | None:
    return _TRUTH_VALUES.get(str(text).strip().lower())


def _is_name_of_texts(name: str) -> bool:
    """Return whether a column contains texts that are no labels, by its name."""
    return any(pattern(name) is not None for pattern in (_TEXTS, _UNLIKELY, _FAILURE))


def is_far_above(distinct: Floats) -> bool:
    """Return whether the last of increasing labels is far above the others, like a code."""
    if len(distinct) <= 2:
        return False
    return bool(distinct[-1] > max(USUAL_GRADES, 3 * distinct[-2]))


def texts_like_labels(column: pd.Series[Any], query: Ints) -> list[str]:
    """Return the distinct texts of a column if they may be labels, such as yes and no.

    Labels are few and differ between the documents of a query, unlike text about queries.
    """
    name = str(column.name)
    if _UNLIKELY(name) or _TEXTS(name):
        return []
    known = column.notna().to_numpy()
    values = column.to_numpy(dtype=object)[known]
    if pd.api.types.infer_dtype(values) != "string":
        return []
    codes, distinct = pd.factorize(values)
    if not 2 <= len(distinct) <= _MOST_TEXTS:
        return []
    query_and_text = np.stack([query[known], codes])  # 2 × rows
    query_of_text = np.unique(query_and_text, axis=1)[0]
    texts_per_query = np.bincount(query_of_text)
    if texts_per_query.max() > 1:
        return sorted(map(str, distinct))
    return []


def texts_among_numbers(column: pd.Series[Any]) -> list[str]:
    """Return the distinct texts of a column with numbers, too; none if it is text by its name."""
    name = str(column.name)
    if _UNLIKELY(name) or _TEXTS(name):
        return []
    known = column[column.notna()]
    if pd.api.types.infer_dtype(known) != "string":
        return []
    distinct = pd.Series(known.unique(), dtype=object)
    is_number = pd.to_numeric(distinct, errors="coerce").notna()
    if is_number.any():
        return list(map(str, distinct[~is_number]))
    return []


def text_remedy(column: str, texts: Sequence[str]) -> str:
    """Return advice for turning texts into labels."""
    mapping = text_mapping(column, texts)
    return f"If the texts are labels, map them to numbers: {mapping}, the lowest grade to 0"


def text_mapping(column: str, texts: Sequence[str]) -> str:
    """Return an expression that maps texts to labels."""
    label_by_text = dict(zip(texts, range(len(texts)), strict=True))
    return f"qrels[{column!r}].map({label_by_text!r})"


def join_some(items: Sequence[str]) -> str:
    """Join up to ten of `items`."""
    if len(items) <= 10:
        return ", ".join(items)
    return f"{', '.join(items[:10])}, …"
