"""TREC qrels and run files, as frames."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from ..collection import Run
from ..collection.columns import ALONE_BY_SUBTOPIC, NOT_ASPECTS
from ..collection.other_libraries import as_frame, is_frame, refuse_splits
from ..errors import (
    MultiAspectError,
    choices,
    in_shell,
    parameter,
    refuse_none,
    shown,
    warn_of_run,
    warn_once,
)
from .comments import skip_comments, skip_leading_comments, split_metadata
from .delimited_files import (
    find_separator,
    read_beir,
    read_judgment_table,
    read_plain_run,
    read_run_table,
)
from .file_contents import Line, Source, Text, as_text, load
from .json_files import (
    Predictions,
    is_json,
    read_json_judgments,
    read_json_rows,
    read_predictions,
    warn_of_identical_ids,
)
from .table_files import frame_of_run, labels_of_table, read_parquet, run_of_table
from .trec_lines import (
    LABEL,
    PROBABILITY,
    SCORE,
    WHOLE_NUMBER,
    Columns,
    LineFormat,
    Lookalike,
    NumberField,
    excerpt,
    is_line,
    is_whole,
    read_lines,
)


def read_qrels(
    source: Source | Mapping[str, Source],
    aspects: Sequence[str] | None = None,
    *,
    check: bool = True,
) -> pd.DataFrame:
    r"""Read judgments of one or several aspects into one wide frame.

    Parameters
    ----------
    source : path, open file, data frame, or mapping of aspect name to one of these
        A mapping gives one TREC qrels file (``qid iteration docno label``) for each aspect. A
        single file has one label column for each of `aspects`. Tables have a header with ``qid
        docno`` or ``query_id doc_id`` and one column per aspect, and commas, semicolons or tabs
        between the fields; an empty cell is a missing label. JSON rows, in lines or an array, have
        the same columns. Files of BEIR and MTEB, with tabs and a header ``query-id corpus-id
        score``, JSON rows with these columns, and JSON ``{qid: {docno: label}}`` are recognised by
        content; their labels are whole numbers.
        Fields are separated by blanks or tabs; compression by gzip, bzip2, xz or Zstandard is
        detected by content, text is UTF-8, blank lines and comments, which begin with ``#``, are
        skipped. A label ``nan`` is missing. A Parquet file has the columns of a data frame, ``qid
        docno`` or ``query_id doc_id`` and one per aspect; a missing value is a missing label.
        Subtopics are kept for diversity measures and `from_subtopics`: the second field of lines,
        as a column ``iteration``, if a pair is repeated with another one, and the columns
        ``iteration``, ``subtopic`` and ``subtopic_id`` of Parquet files, if a query (or, with
        `aspects`, a pair) has several values. A data frame is read like a Parquet file.
    aspects : sequence of str, optional
        The label columns of a single file, from left to right; by default the
        one column ``relevance``. Not allowed with a mapping, whose keys name
        the aspects. Of tables and Parquet files, the names of the columns to read; by default all.
    check : bool, default True
        Whether to check that the files of a mapping belong together. Each file is compared with
        that of relevance, or else with the first one.

    Returns
    -------
    pandas.DataFrame
        The columns ``qid``, ``docno`` and one per aspect, in the order given. The aspect
        ``relevance`` has PyTerrier's name ``label``, the others keep their names. Ids are strings.
        A label column is int64 when it is complete and all labels are whole numbers, otherwise
        float64. Rows are in the order in which their pairs first appear. Files may judge different
        pairs: missing labels are NaN. A repeated judgment with equal labels counts once. Judgments
        by subtopic have one row per pair and subtopic, and a column of subtopics.

    Raises
    ------
    MultiAspectError
        If a file is missing, empty or not text; a line is malformed, a label is not a finite
        number, or a pair has conflicting labels (with the line numbers); a score of JSON or of a
        file of BEIR is not a whole number, as in runs; a name cannot be an aspect; files have no
        query, or no (query, document) pair, in common; or one of the files of a mapping repeats a
        pair with another second field, such as a subtopic.

    Warns
    -----
    MultiAspectWarning
        If a line that begins with ``#`` may be a judgment. If a file judges less than 95 % of the
        pairs above the lowest relevance grade, or less than 95 % of its pairs are judged on
        relevance: the pairs that lack a label count as the lowest grade. A file that judges only
        relevant documents is not reported. If two files have the same labels.

    See Also
    --------
    read_run : Read a system's run.

    Examples
    --------
    >>> from io import StringIO
    >>> from pt_multiaspect import read_qrels
    >>> topical, plain = StringIO("q1 0 d1 2\nq1 0 d2 0"), StringIO("q1 0 d1 3")
    >>> read_qrels({"relevance": topical, "understandability": plain})
      qid docno  label  understandability
    0  q1    d1      2                3.0
    1  q1    d2      0                NaN

    >>> read_qrels(StringIO("q1 0 d1 2 0"), aspects=["relevance", "understandability"])
      qid docno  label  understandability
    0  q1    d1      2                  0
    """
    if isinstance(source, Mapping):
        refuse_splits(source, "qrels", "judgments")
        if aspects is not None:
            names = choices(source)
            raise MultiAspectError(
                "aspects: expected None with a mapping, whose keys name the label columns "
                f"({names}); aspects= is for single files"
            )
        qrels = _read_aspect_files(source, check)
    else:
        _refuse_several_files(source, aspects)
        qrels = _read_single_file(source, aspects)
    _convert_whole_labels(qrels)
    return qrels


def read_run(source: Source) -> pd.DataFrame:
    r"""Read a run, ready to be a system in ``pt.Experiment``. The format is recognised by content.

    Parameters
    ----------
    source : path, open file or data frame
        Lines ``qid Q0 docno rank score tag``, separated by blanks or tabs; files compressed by
        gzip, bzip2, xz or Zstandard are recognised by content, text is UTF-8, blank lines and
        comments, which begin with ``#``, are skipped. A header in the format of ir_metadata may
        come before. Lines ``qid docno rank``, as ``pt.io.write_results(format="minimal")`` writes
        them, are read if the numbers of each topic are its ranks from 0 or 1, in any order; the
        score is -rank.

        Or a table with the header ``qid,docno,score`` (``query_id doc_id score`` or ``q_id doc_id
        score``), a ``rank`` if any, and commas, semicolons or tabs between the fields.

        Or a Parquet file with the columns ``qid docno score``, ``query_id doc_id score`` or, as
        ranx writes it, ``q_id doc_id score``. A data frame is read like such a file.

        Or JSON: rows, in lines or an array, with the columns of a table; ``{qid: {docno: score}}``,
        as pytrec_eval, ranx and BEIR have it; predictions of MTEB (``TASK_predictions.json``) with
        one subset and split; lines ``{"query_id": …, "results": [{"corpus_id": …, "score": …}]}``,
        which evaluators of sentence-transformers write with ``write_predictions=True``; these keep
        their order, as the later of equal scores are lowered by the least step of a 32-bit number.
        Scores are finite numbers; a query without documents has no row.

    Returns
    -------
    pandas.DataFrame
        The columns ``qid docno rank score name`` that ``pt.io.read_results`` gives, in the file's
        order. Ids and ``name`` (the tag) are strings, ``rank`` is int64 and ``score`` float64. The
        rank is that of the file; the evaluation sorts by score. Of tables, JSON rows and Parquet
        files, all columns; they need not have ``rank`` and ``name``. Of other JSON, ``qid docno
        score`` and, in predictions of MTEB, the model as ``name``. ``attrs["ir_metadata"]``
        contains the YAML of the header, if there is one.

    Raises
    ------
    MultiAspectError
        For a file that is missing, empty or not text, and for a malformed
        line: wrong number of fields, a rank that is not a whole number, a
        score that is not a number or is ``nan``; for a header without an end; for JSON that is no
        run, repeats a query or document, or has several subsets or splits of MTEB.

    Warns
    -----
    MultiAspectWarning
        If a line that begins with ``#`` may be a row. If queries in predictions of MTEB retrieve
        the document with their own id, or most queries of another run rank it first, as BEIR, and
        MTEB in some tasks, drop it before they score a run. If the ranks of lines contradict the
        scores in most rows, as negated scores do.

    See Also
    --------
    read_qrels : Read the judgments.

    Notes
    -----
    Stability: provisional in `attrs["ir_metadata"]`. The format of the header is new.

    Examples
    --------
    >>> from io import StringIO
    >>> from pt_multiaspect import read_run
    >>> read_run(StringIO("q1 Q0 d7 1 12.5 bm25\nq1 Q0 d3 2 1e-3 bm25"))
      qid docno  rank   score  name
    0  q1    d7     1  12.500  bm25
    1  q1    d3     2   0.001  bm25

    >>> read_run(StringIO('{"q1": {"d7": 2.0, "d3": 0.5}}'))
      qid docno  score
    0  q1    d7    2.0
    1  q1    d3    0.5
    """
    file = _open_run(source)
    rows = file.read_rows()
    if (rows["qid"] == rows["docno"]).any():
        run = Run.of(rows)
        warn_of_identical_ids(file.name, run, file.is_mteb)
    return rows


def load_run(source: Source) -> Run:
    """Read a run like `read_run`, for the join with judgments."""
    file = _open_run(source)
    run = file.load()
    warn_of_identical_ids(file.name, run, file.is_mteb)
    return run


class _Loaded(NamedTuple):
    """A file or a frame: either its content or its table."""

    name: str
    #: The content of a file without a table; else empty.
    data: bytes
    #: The table of a Parquet file or of rows in JSON, or the frame; else None.
    table: Any


@dataclass(frozen=True, eq=False)
class _RunFile:
    """The content of a run file, or a frame; see `_Loaded`."""

    name: str
    data: bytes
    table: Any

    @cached_property
    def predictions(self) -> Predictions:
        """The run of a JSON file."""
        return read_predictions(as_text(self.name, self.data))

    @property
    def is_mteb(self) -> bool:
        """Return whether the file has predictions of MTEB."""
        return is_json(self.data) and self.predictions.is_mteb

    def read_rows(self) -> pd.DataFrame:
        """Return all columns of the run, for `read_run`."""
        if self.table is not None:
            return frame_of_run(self.name, self.table)
        if is_json(self.data):
            return self._read_json()
        metadata, text = self._split_metadata()
        separator = find_separator(text)
        if separator is None:
            rows = _frame_of_lines(text)
        else:
            rows = _frame_of_text_table(text, separator)
        if metadata is not None:
            rows.attrs["ir_metadata"] = metadata
        return rows

    def _read_json(self) -> pd.DataFrame:
        """Return qid, docno and score of a JSON file, and the model as name if it has one."""
        run = self.predictions.run
        rows = run.to_pandas().rename(columns={"query_id": "qid", "doc_id": "docno"})
        model = self.predictions.model
        if model:
            rows["name"] = model
        return rows

    def _split_metadata(self) -> tuple[str | None, Text]:
        """Return the ir_metadata of a text file (None without any), and the text that follows.

        Comments before the header of a table are left out. Those among TREC lines stay, as they are
        checked with the lines.
        """
        content = as_text(self.name, self.data)
        metadata, text = split_metadata(content)
        without_comments = skip_leading_comments(text)
        is_table = find_separator(without_comments) is not None
        if is_table:
            return metadata, without_comments
        return metadata, text

    def load(self) -> Run:
        """Return the queries, documents and scores of the run, for `load_run`."""
        if self.table is not None:
            return run_of_table(self.name, self.table)
        if is_json(self.data):
            return self.predictions.run
        _, text = self._split_metadata()
        separator = find_separator(text)
        if separator is None:
            columns = _read_run_lines(text, ("qid", "docno"))
            return _run_from_columns(columns)
        plain_columns = read_plain_run(text, separator)
        if plain_columns is None:
            # Quotes, for example, need the slower reader of all columns.
            return Run.of(self.read_rows())
        run = _run_from_columns(plain_columns)
        if "rank" in plain_columns.numbers:
            warn_of_ranks(text.name, run, plain_columns.numbers["rank"])
        return run


def _open_run(source: Source) -> _RunFile:
    """Return the file or frame of a run, loaded but not yet read as a run."""
    loaded = _load(source)
    return _RunFile(loaded.name, loaded.data, loaded.table)


def _load(source: Source | Any) -> _Loaded:
    """Return a frame, the table of a Parquet file or of JSON rows, or other files' content."""
    if isinstance(source, Mapping):
        refuse_splits(source, "run", "a run")
    if is_frame(source):
        name = type(source).__name__
        frame = as_frame(source, name)
        return _Loaded(name, b"", frame)
    name, data = load(source)
    if is_json(data):
        table = read_json_rows(as_text(name, data))
    else:
        table = read_parquet(name, data)
    if table is not None:
        return _Loaded(name, b"", table)
    return _Loaded(name, data, None)


def _frame_of_lines(text: Text) -> pd.DataFrame:
    """Return the TREC lines of a run as a frame: qid, docno, rank, score and, if any, name."""
    rows = _read_run_lines(text).frame()
    rows["rank"] = rows["rank"].astype(np.int64)
    columns = ["qid", "docno", "rank", "score"]
    # Lines `qid docno rank` have no tag.
    if "name" in rows.columns:
        columns.append("name")
    return rows[columns]


def _frame_of_text_table(text: Text, separator: str) -> pd.DataFrame:
    """Return the run of a table in text, with all columns; warn if ranks contradict scores."""
    table = read_run_table(text, separator)
    rows = frame_of_run(text.name, table)
    if "rank" in rows.columns:
        rank = rows["rank"].to_numpy(dtype=np.float64)
        warn_of_ranks(text.name, Run.of(rows), rank)
    return rows


def _run_from_columns(columns: Columns) -> Run:
    """Return the run of the columns that were read from lines."""
    topics = columns.identifiers["qid"]
    score = columns.numbers["score"]
    return Run(topics.distinct, topics.codes, columns.docnos, score)


def _read_run_lines(text: Text, ids: Collection[str] | None = None) -> Columns:
    """Read the lines of a run; see `read_lines` for `ids`."""
    may_be_ranking = _count_fields(text) == len(_RANKING.fields)
    if may_be_ranking:
        ranking = _read_ranking(skip_comments(text, _RANKING))
        if ranking is not None:
            return ranking
    rows = skip_comments(text, _RUN)
    columns = read_lines(rows, _RUN, ids)
    run = _run_from_columns(columns)
    warn_of_ranks(text.name, run, columns.numbers["rank"])
    return columns


def _count_fields(text: Text) -> int:
    """Return the number of fields of the first line that is neither blank nor a comment."""
    # In blocks of one line, as only the beginning of the file is needed. Blank lines are left out
    # by `lines`, so that each has a first field.
    for start, end in text.blocks(1):
        for line in text.lines(start, end):
            is_comment = line.fields[0].startswith(b"#")
            if not is_comment:
                return len(line.fields)
    return 0  # of a file of blank lines and comments


def _read_ranking(text: Text) -> Columns | None:
    """Read lines ``qid docno rank``; None if malformed, or if they are not the ranks of topics.

    The score is -rank.
    """
    try:
        columns = read_lines(text, _RANKING)
    except MultiAspectError:
        return None
    query = columns.identifiers["qid"].codes
    rank = columns.numbers["rank"]
    if not _are_consecutive_ranks(query, rank):
        return None
    score = 0.0 - rank  # not -rank, which is -0.0 for rank 0
    return replace(columns, numbers={"rank": rank, "score": score})


def _are_consecutive_ranks(query: Ints, rank: Floats) -> bool:
    """Return whether each query has the ranks 0, 1, 2, … or 1, 2, 3, …, in any order of rows.

    Both arrays have one element per row; queries are codes from 0.
    """
    rows = pd.DataFrame({"query": query, "rank": rank})
    by_rank = rows.sort_values(["query", "rank"])
    ranks_of_queries = by_rank.groupby("query")["rank"]
    first_rank = ranks_of_queries.transform("min")
    expected_rank = first_rank + ranks_of_queries.cumcount()
    starts_at_0_or_1 = first_rank.isin((0, 1))
    is_expected = by_rank["rank"] == expected_rank
    return bool(starts_at_0_or_1.all() and is_expected.all())


#: Minimum number of rows to conclude that ranks contradict scores; smaller runs are examples.
_MIN_ROWS = 10

#: Minimum fraction of rows whose ranks contradict their scores for a warning. Ranks of another
#: ranking contradict about half of the scores.
_CONTRADICTORY = 0.75


def warn_of_ranks(name: str, run: Run, rank: Floats) -> None:
    """Warn if the ranks of a run contradict its scores in most rows; `rank` has one per row.

    A row is compared with the row before it if both are of one query and differ in rank.
    """
    is_same_query = run.query[1:] == run.query[:-1]
    has_other_rank = rank[1:] != rank[:-1]
    # Position i of these masks compares rows i and i + 1: `rows` has the later ones.
    rows = np.flatnonzero(is_same_query & has_other_rank) + 1
    contradicts = _contradicts_score(rank, run.score, rows)
    n_rows = len(rows)
    n_contradictory = int(contradicts.sum())
    if n_rows < _MIN_ROWS or n_contradictory < _CONTRADICTORY * n_rows:
        return
    example = rows[np.argmax(contradicts)]
    qid = run.qids[run.query[example]]
    docno = run.docnos.take([example]).decode()[0]
    warn_of_run(
        f"ranks contradict scores in {n_contradictory} of {n_rows} rows, such as that of query "
        f"{qid}, document {docno}",
        "The order is by descending score, as in trec_eval; if the ranks are right, replace "
        "the scores, for instance by -rank",
        run=name,
        key=f"{name} {n_contradictory} {n_rows}",
        group="ranks and scores",
    )


def _contradicts_score(rank: Floats, score: Floats, rows: Ints) -> Bools:
    """Return a mask of `rows`: rank and score both rise, or both fall, from the row before.

    The ranks of these rows differ from those of the rows before. Equal scores contradict no rank.
    """
    rows_before = rows - 1
    rank_rises = rank[rows] > rank[rows_before]  # otherwise, it falls
    score_rises = score[rows] > score[rows_before]
    score_falls = score[rows] < score[rows_before]
    contradicts: Bools = np.where(rank_rises, score_rises, score_falls)
    return contradicts


def _run_remedy(fields: Sequence[bytes]) -> str:
    """Return the remedy for a line of a run with a wrong number of fields, if one is known."""
    if len(fields) == len(_RANKING.fields):
        return "; with three fields, the last one is a rank, counted from 0 or 1 in each query"
    with_tag = [*fields, b"tag"]
    lacks_only_the_tag = is_line(with_tag, _RUN)
    if lacks_only_the_tag:
        return "; add the tag, a name of the run, to each line"
    return ""


_RUN = LineFormat(
    fields=("qid", "Q0", "docno", "rank", "score", "tag"),
    ids={0: "qid", 2: "docno", 5: "name"},
    numbers={
        3: ("rank", WHOLE_NUMBER),
        4: ("score", SCORE),
    },
    remedy=_run_remedy,
    lookalike=Lookalike(n_fields=4, kind="qrels"),
)


#: The format "minimal" of pt.io.write_results, which MS MARCO takes.
_RANKING = LineFormat(
    fields=("qid", "docno", "rank"),
    ids={0: "qid", 1: "docno"},
    numbers={2: ("rank", WHOLE_NUMBER)},
)


def _read_aspect_files(sources: Mapping[str, Source], check: bool) -> pd.DataFrame:
    """Read one file per aspect into one frame; `check` is whether to compare the files."""
    files: list[_AspectFile] = []
    for aspect, column in _label_columns(sources).items():
        name, frame = _read_labels(sources[aspect], {aspect: column}, one_of_several=True)
        files.append(_AspectFile(aspect, name, frame))
    if check:
        _check_files(files)
    if len(files) == 1:
        return files[0].frame
    return _join([file.frame for file in files])


def _read_single_file(source: Source, aspects: Sequence[str] | None) -> pd.DataFrame:
    """Read a file with a label column for each aspect; without aspects, all columns of tables."""
    if aspects is None:
        columns = _label_columns(["relevance"])
        _, qrels = _read_labels(source, columns, keep_all_columns=True)
    else:
        columns = _label_columns(aspects)
        _, qrels = _read_labels(source, columns)
    return qrels


def _convert_whole_labels(qrels: pd.DataFrame) -> None:
    """Convert label columns in place to int64 if all their labels are whole numbers."""
    label_columns = qrels.columns[2:]  # after qid and docno
    for column in label_columns:
        labels = qrels[column].to_numpy()
        if labels.dtype != np.float64:
            continue
        # A missing label, NaN, is not whole.
        are_whole = is_whole(labels).all()
        if are_whole:
            qrels[column] = labels.astype(np.int64)


def _label_columns(aspects: Iterable[str]) -> dict[str, str]:
    """Return the column of each aspect; raise an error if a name is invalid."""
    _check_is_list(aspects)
    columns: dict[str, str] = {}
    aspect_of: dict[str, str] = {}
    for aspect in aspects:
        _check_name(aspect)
        if aspect == "relevance":
            column = "label"  # the name in PyTerrier
        else:
            column = aspect
        if column in aspect_of:
            raise MultiAspectError(
                f"aspects: expected distinct aspects, got {aspect_of[column]!r} and {aspect!r}, "
                f"which are both the column {column!r}"
            )
        columns[aspect] = column
        aspect_of[column] = aspect
    refuse_none(columns, "name, such as 'relevance'", "aspects")
    return columns


def _check_is_list(aspects: object) -> None:
    """Raise an error unless aspects are a list or another iterable, but not one string."""
    if isinstance(aspects, str):
        got = shown(aspects)
        raise MultiAspectError(
            f"aspects: expected a list of names, got {got}; write aspects=[{aspects!r}]"
        )
    if not isinstance(aspects, Iterable):
        got = shown(aspects)
        raise MultiAspectError(f"aspects: expected a list of names, got {got}")


def _check_name(aspect: object) -> None:
    """Raise an error for an aspect that is no string, is empty, or is a column of ids."""
    if not isinstance(aspect, str) or not aspect.strip():
        raise MultiAspectError(f"aspects: expected non-empty strings as names, got {aspect!r}")
    if aspect in NOT_ASPECTS:
        names = choices(NOT_ASPECTS)
        raise MultiAspectError(
            f"aspects: expected names other than {names}, which are not labels, got {aspect!r}"
        )


def _refuse_several_files(source: object, aspects: object) -> None:
    """Raise an error for qrels given as a list of files, or as two files in a row."""
    if isinstance(source, list | tuple):
        raise _several_files_error({"relevance": "qrels.txt", "credibility": "credibility.txt"})
    if isinstance(source, str | Path) and _may_be_file(aspects):
        second_file = str(aspects)
        # The first word of the file's name, such as credibility of credibility.txt.
        aspect = re.split(r"\W", Path(second_file).name)[0]
        if aspect in ("", "relevance"):
            aspect = "credibility"
        raise _several_files_error({"relevance": str(source), aspect: second_file})


def _may_be_file(aspects: object) -> bool:
    """Return whether the second argument of `read_qrels` is a file rather than an aspect."""
    if isinstance(aspects, str):
        has_suffix = Path(aspects).suffix != ""
        return has_suffix or "/" in aspects or os.path.exists(aspects)
    return isinstance(aspects, Path)


def _several_files_error(named: Mapping[str, str]) -> MultiAspectError:
    """Return the error for files without aspects, which shows a mapping of aspects to files."""
    return MultiAspectError(
        "qrels: expected a file, or a mapping of aspects to files, got several files: name the "
        f"aspect of each, read_qrels({named})"
    )


@dataclass(frozen=True, eq=False)
class _AspectFile:
    """The judgments of one file on one aspect."""

    aspect: str
    name: str
    #: The columns qid, docno and the labels.
    frame: pd.DataFrame

    def __str__(self) -> str:
        return f"{self.name} ({self.aspect})"

    @property
    def labels(self) -> Floats:
        """The label of each row, NaN where it is missing."""
        _qid, _docno, label_column = self.frame.columns
        labels: Floats = self.frame[label_column].to_numpy()
        return labels

    @property
    def judged(self) -> pd.DataFrame:
        """The rows that have a label."""
        return self.frame[self.frame.iloc[:, 2].notna()]

    def samples(self, columns: Sequence[str]) -> str:
        """Return the first three ids of the file, such as ``q1/d1``, for an error."""
        ids = self.judged[list(columns)].drop_duplicates().head(3)
        samples = choices("/".join(row) for row in ids.itertuples(index=False))
        if len(ids) == 3:
            return f"{samples} …"
        return samples


def _check_files(files: Sequence[_AspectFile]) -> None:
    """Compare each file with that of relevance, or else with the first one.

    Raise an error if two files have no pair in common. Warn if many pairs differ, or if any two
    files have the same labels.
    """
    reference = files[0]
    for file in files:
        if file.aspect in ("relevance", "label"):
            reference = file
            break
    for file in files:
        if file is not reference:
            _check_common(reference, file)
    for first, second in combinations(files, 2):
        _warn_of_copy(first, second)


#: Minimum number of judgments to conclude that a file is a copy, as in `describe`; short files
#: agree by chance.
_MIN_LABELS = 10


def _warn_of_copy(first: _AspectFile, second: _AspectFile) -> None:
    """Warn if two files have the same pairs with the same labels."""
    labels = first.labels
    # Short files, and those with one grade only, may agree by chance.
    is_short = len(labels) < _MIN_LABELS
    if is_short or len(np.unique(labels)) == 1:
        return
    has_same_labels = np.array_equal(labels, second.labels, equal_nan=True)
    if not has_same_labels:
        return
    has_same_queries = first.frame["qid"].equals(second.frame["qid"])
    if has_same_queries and first.frame["docno"].equals(second.frame["docno"]):
        option = parameter("check", False)
        warn_once(
            f"{first} and {second} have the same labels; one may be a copy. Give each aspect the "
            f"file that judges it, or disable the check with {option}"
        )


def _check_common(first: _AspectFile, second: _AspectFile) -> None:
    """Raise an error if two files have no query or pair in common; warn if many pairs differ."""
    first_codes, second_codes = _code_both(first, second)
    if not np.isin(second_codes.query, first_codes.query).any():
        raise _nothing_common_error(first, second, ["qid"], "query")
    is_in_first = np.isin(second_codes.pair, first_codes.pair)
    if not is_in_first.any():
        raise _nothing_common_error(first, second, ["qid", "docno"], "(query, document) pair")

    # Many files judge further aspects of relevant documents only. So the second file must have
    # nearly all positive pairs of the first file, which is that of relevance if there is one.
    labels = first.judged.iloc[:, 2].to_numpy()
    is_positive = labels > _lowest_grade(labels)
    positive_pairs = first_codes.pair[is_positive]
    positive_is_in_second = np.isin(positive_pairs, second_codes.pair)
    _warn_of_unjudged_pairs(second, positive_is_in_second, f"above the lowest grade of {first}")
    # The first file must have nearly all pairs of the second one, with any labels.
    _warn_of_unjudged_pairs(first, is_in_first, f"of {second}")


def _code_both(first: _AspectFile, second: _AspectFile) -> tuple[_PairCodes, _PairCodes]:
    """Return codes of the rows of two files: equal ids have equal codes, also across files."""
    first_ids = first.judged[["qid", "docno"]]
    second_ids = second.judged[["qid", "docno"]]
    query, pair = _code_pairs(pd.concat([first_ids, second_ids], ignore_index=True))
    n_first = len(first_ids)
    first_codes = _PairCodes(query[:n_first], pair[:n_first])
    second_codes = _PairCodes(query[n_first:], pair[n_first:])
    return first_codes, second_codes


def _nothing_common_error(
    first: _AspectFile, second: _AspectFile, columns: Sequence[str], what: str
) -> MultiAspectError:
    """Return the error for two files whose ids in `columns`, called `what`, all differ."""
    first_ids = first.samples(columns)
    second_ids = second.samples(columns)
    option = parameter("check", False)
    return MultiAspectError(
        f"{first} and {second} have no {what} in common: {first_ids} against "
        f"{second_ids}. Check that the files belong to the same collection "
        f"and use the same ids, or read them anyway with {option}"
    )


def _lowest_grade(labels: Floats) -> float:
    """Return the lowest of the labels, where negative ones count as 0."""
    grades = np.unique(np.maximum(labels, 0))
    # A file of positive documents only has a single grade, which is not the lowest one.
    if len(grades) == 1:
        return 0.0
    return float(grades[0])


#: Minimum fraction of common pairs; with fewer, two files are unlikely to judge the same pool.
_MOST_PAIRS = 0.95


def _warn_of_unjudged_pairs(judge: _AspectFile, is_judged: Bools, which_pairs: str) -> None:
    """Warn if a file lacks many pairs of another; `is_judged` has one element per pair of that."""
    n_pairs = len(is_judged)
    if n_pairs == 0:
        return
    fraction = is_judged.mean()
    if fraction >= _MOST_PAIRS:
        return
    n_judged = int(is_judged.sum())
    percentage = f"{fraction:.0%}"
    option = parameter("check", False)
    warn_once(
        f"{judge} judges only {n_judged} of the {n_pairs} pairs "
        f"({percentage}) {which_pairs}; the others are evaluated as the lowest grade of "
        f"{judge.aspect}. Check that the files belong to the same collection and use the "
        f"same ids, or disable the check with {option}"
    )


_QRELS = LineFormat(
    fields=("qid", "iteration", "docno", "label"),
    ids={0: "qid", 1: "iteration", 2: "docno"},
    numbers={3: ("label", LABEL)},
)

#: The fields of sampled judgments, as in the Million Query track.
_PRELS = LineFormat(
    fields=("qid", "docno", "label", "method", "probability"),
    ids={0: "qid", 1: "docno"},
    numbers={
        2: ("label", WHOLE_NUMBER),
        3: ("method", WHOLE_NUMBER),
        4: ("probability", PROBABILITY),
    },
)


def _qrels_remedy(fields: Sequence[bytes]) -> str:
    """Return the remedy for a line of qrels with a wrong number of fields, if one is known."""
    if len(fields) == 1:
        return ""
    query, second, *others = fields
    # "q1 d7 1" would be qrels with a 0: "q1 0 d7 1".
    if len(fields) == 3:
        with_iteration = [query, b"0", second, *others]
        if is_line(with_iteration, _QRELS):
            return "; the second field is missing: write a 0 there"
    # "q1 Q0 d7 1 9.5" would be a run with a tag: "q1 Q0 d7 1 9.5 tag".
    if second.upper() == b"Q0":
        with_tag = [*fields, b"tag"]
        if is_line(with_tag, _RUN):
            return "; this looks like a run without its last field, the tag, not qrels"
    # "q1 d7 1 0 0.5". With a number as the second field, these may be qrels of two aspects.
    if is_line(fields, _PRELS) and not second.isdigit():
        return (
            f"; this looks like sampled judgments (`{_PRELS}`), whose probabilities no measure "
            "here uses. To evaluate the sample as if it were all judgments, write `qid 0 docno "
            "label` from the first three fields"
        )
    if len(fields) > len(_QRELS.fields):
        return _name_columns()
    return ""


def _name_columns() -> str:
    """Return the remedy for a file with more label columns than aspects."""
    if in_shell():
        option = parameter("qrels")
        return f"; name the label columns of one file, as in {option} relevance,credibility=FILE"
    return "; name the label columns of one file by aspects=[…]"


def _qrels_layout(aspects: Collection[str]) -> LineFormat:
    """Return the format of lines with one label per aspect, from left to right."""
    numbers: dict[int, tuple[str, NumberField]] = {}
    position = len(_QRELS.ids)  # labels follow the identifiers
    for aspect in aspects:
        numbers[position] = (aspect, LABEL)
        position += 1
    if len(aspects) > 1:
        fields = ("qid", "iteration", "docno", *aspects)
        return LineFormat(fields, _QRELS.ids, numbers)
    looks_like_run = Lookalike(n_fields=6, kind="a run")
    return LineFormat(_QRELS.fields, _QRELS.ids, numbers, _qrels_remedy, looks_like_run)


def _read_labels(
    source: Source,
    columns: Mapping[str, str],
    *,
    keep_all_columns: bool = False,
    one_of_several: bool = False,
) -> tuple[str, pd.DataFrame]:
    """Return the name of a file and its judgments: qid, docno and float64 labels.

    Parameters
    ----------
    source : path, open file or data frame
        The file.
    columns : mapping of str to str
        The column of the result for each aspect.
    keep_all_columns : bool, default False
        Whether to keep all columns of a table, instead of those of the aspects.
    one_of_several : bool, default False
        Whether there are files of other aspects: then judgments by subtopic are an error.
    """
    loaded = _load(source)
    name = loaded.name
    table = loaded.table
    # Text is a table with a header, JSON, or lines without a header.
    if table is None:
        text = as_text(name, loaded.data)
        table = _read_text_table(text)
        if table is None:
            return name, _read_qrels_lines(text, columns, one_of_several)
    column_of_aspect: Mapping[str, str] | None = columns
    if keep_all_columns:
        column_of_aspect = None
    return name, labels_of_table(name, table, column_of_aspect, one_of_several=one_of_several)


def _read_text_table(text: Text) -> pd.DataFrame | None:
    """Read judgments in JSON, or with a header; None for lines."""
    if is_json(text.data):
        return read_json_judgments(text)
    table = skip_leading_comments(text)
    separator = find_separator(table)
    if separator is None:
        return None
    if separator == "\t":
        beir = read_beir(table)
        if beir is not None:
            return beir
    return read_judgment_table(table, separator)


def _read_qrels_lines(text: Text, columns: Mapping[str, str], one_of_several: bool) -> pd.DataFrame:
    """Read TREC lines with a label for each aspect; see `_read_labels` for the parameters."""
    aspects = list(columns)
    layout = _qrels_layout(aspects)
    lines = skip_comments(text, layout)
    rows = read_lines(lines, layout, ("qid", "docno")).frame()
    rows = rows[["qid", "docno", *aspects]]
    if rows.duplicated(["qid", "docno"]).any():
        # The second field is read only here, where it may be a subtopic.
        rows_with_iteration = read_lines(lines, layout).frame()
        rows = _distinct_judgments(lines, rows_with_iteration, aspects, one_of_several)
    return rows.rename(columns=dict(columns))


def _distinct_judgments(
    text: Text, rows: pd.DataFrame, aspects: list[str], one_of_several: bool
) -> pd.DataFrame:
    """Return each judgment once, with the second field if judgments of a pair differ in it.

    Then the second field, the column ``iteration``, is the subtopic of a judgment. Otherwise, it
    has no meaning.

    Raises
    ------
    MultiAspectError
        If judgments differ in their labels only, or, for one of several files, if it is judged by
        subtopic.
    """
    key = ["qid", "docno"]
    columns = [*key, *aspects]
    rows_of_subtopics = _rows_that_differ_in_iteration(rows)
    if rows_of_subtopics is not None:
        if one_of_several:
            raise _iteration_error(text, rows_of_subtopics)
        key.append("iteration")
        columns.append("iteration")
    distinct = rows[columns].drop_duplicates()
    _check_one_label(text, distinct, key, aspects)
    return distinct.reset_index(drop=True)


def _rows_that_differ_in_iteration(rows: pd.DataFrame) -> list[int] | None:
    """Return the first two rows of one pair with different second fields; None without such rows.

    Each row is a judgment: its columns are qid, docno, the second field ``iteration``, and labels.
    """
    pair = ["qid", "docno"]
    distinct = rows.drop_duplicates([*pair, "iteration"])
    # A pair that is still repeated has several second fields.
    is_repeated = distinct.duplicated(pair)
    if not is_repeated.any():
        return None
    return _first_repetition(distinct, is_repeated, pair)


def _check_one_label(
    text: Text, distinct: pd.DataFrame, key: list[str], aspects: list[str]
) -> None:
    """Raise an error if a pair, or a pair and subtopic, has different labels.

    `distinct` has each row once, so that rows with the same `key` have different labels.
    """
    is_conflict = distinct.duplicated(key)
    if not is_conflict.any():
        return
    both_rows = _first_repetition(distinct, is_conflict, key)
    labels_differ = distinct.loc[both_rows, aspects].nunique(dropna=False) > 1  # per aspect
    first_differing = int(np.argmax(labels_differ))
    raise _conflict_error(text, both_rows, aspects[first_differing], first_differing)


def _first_repetition(
    rows: pd.DataFrame, is_repeated: pd.Series[bool], key: list[str]
) -> list[int]:
    """Return the index labels of the first repeated row and, before it, of the row it repeats.

    `is_repeated` tells of each of the rows whether an earlier one has the same values of the
    columns `key`.
    """
    repeated_rows = rows.index[is_repeated]
    second = int(repeated_rows[0])
    key_of_second = rows.loc[second, key]
    has_same_key = (rows[key] == key_of_second).all(axis=1)
    rows_with_key = rows.index[has_same_key]
    first = int(rows_with_key[0])
    return [first, second]


def _iteration_error(text: Text, rows: list[int]) -> MultiAspectError:
    """Return the error for two rows of a pair that differ in the second field."""
    first, second = _lines_of_rows(text, rows)
    query = excerpt(first.fields[0])
    document = excerpt(first.fields[2])
    iteration = excerpt(first.fields[1])
    second_iteration = excerpt(second.fields[1])
    return MultiAspectError(
        f"{text.name}:{second.number}: expected one judgment of query {query}, document "
        f"{document}, got the second field {second_iteration} here and "
        f"{iteration} on line {first.number}. {ALONE_BY_SUBTOPIC}"
    )


def _conflict_error(
    text: Text, rows: list[int], aspect: str, aspect_position: int
) -> MultiAspectError:
    """Return the error for two rows of a pair that differ in the label of an aspect."""
    first, second = _lines_of_rows(text, rows)
    query = excerpt(first.fields[0])
    document = excerpt(first.fields[2])
    field = len(_QRELS.ids) + aspect_position  # labels follow the identifiers
    label = first.fields[field].decode()
    second_label = second.fields[field].decode()
    return MultiAspectError(
        f"{text.name}:{second.number}: {aspect} of query {query}, document "
        f"{document} is {second_label} here and {label} on line {first.number}"
    )


def _lines_of_rows(text: Text, rows: Sequence[int]) -> list[Line]:
    """Return lines by their positions among the lines that are not blank."""
    lines: list[Line] = []
    for row, line in enumerate(text.lines()):
        if row in rows:
            lines.append(line)
    return lines


class _PairCodes(NamedTuple):
    """Codes of the query, and of the (query, document) pair, of each row."""

    query: npt.NDArray[np.int64]
    pair: npt.NDArray[np.int64]


def _code_pairs(ids: pd.DataFrame) -> _PairCodes:
    """Return codes of the queries and pairs in the columns qid and docno."""
    query_codes, _ = pd.factorize(ids["qid"])
    document_codes, documents = pd.factorize(ids["docno"])
    query = query_codes.astype(np.int64)
    # Each query has its own range of codes, one for each document.
    pair = query * len(documents) + document_codes
    return _PairCodes(query, pair)


def _join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join on (qid, docno), keeping every pair, in order of first appearance."""
    # By integer codes, as pandas' outer merge sorts by the keys and is several times slower.
    pairs = pd.concat([frame[["qid", "docno"]] for frame in frames], ignore_index=True)
    joined_rows, distinct_pairs = pd.factorize(_code_pairs(pairs).pair)
    columns: dict[str, Floats] = {}
    start = 0
    for frame in frames:
        # The row of the result for each row of this frame.
        end = start + len(frame)
        rows_of_frame = joined_rows[start:end]
        start = end
        for column in frame.columns[2:]:  # after qid and docno
            labels = np.full(len(distinct_pairs), np.nan)
            labels[rows_of_frame] = frame[column].to_numpy()
            columns[column] = labels
    is_first = ~pd.Series(joined_rows).duplicated()
    joined = pairs.loc[is_first].reset_index(drop=True)
    return joined.assign(**columns)
