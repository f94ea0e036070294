"""TREC qrels and run files, as frames."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .._cached import cached_property
from .._typing import Floats
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
from .file_contents import Source, Text, as_text, load
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
    excerpt,
    is_line,
    is_whole,
    no_remedy,
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
            raise MultiAspectError(
                "aspects: expected None with a mapping, whose keys name the label columns "
                f"({choices(source)}); aspects= is for single files"
            )
        columns = _label_columns(source)
        files = [
            _read_labels(source[aspect], {aspect: columns[aspect]}, one_of_several=True)
            for aspect in columns
        ]
        if check:
            _check_files(
                [_AspectFile(aspect, *file) for aspect, file in zip(columns, files, strict=True)]
            )
        frames = [frame for _, frame in files]
    elif isinstance(source, list | tuple):
        raise _several_files_error({"relevance": "qrels.txt", "credibility": "credibility.txt"})
    elif isinstance(source, str | Path) and _may_be_file(aspects):
        second = str(aspects)
        name = re.split(r"\W", Path(second).name)[0]
        if name in ("", "relevance"):
            name = "credibility"
        raise _several_files_error({"relevance": str(source), name: second})
    else:
        columns = _label_columns(["relevance"] if aspects is None else aspects)
        frames = [_read_labels(source, columns, as_it_is=aspects is None)[1]]
    if len(frames) == 1:
        qrels = frames[0]
    else:
        qrels = _join(frames)
    for column in qrels.columns[2:]:
        labels = qrels[column].to_numpy()
        if labels.dtype == np.float64 and np.all(is_whole(labels)):
            qrels[column] = labels.astype(np.int64)
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
    file = _RunFile(*_load(source))
    rows = file.read_rows()
    if (rows["qid"] == rows["docno"]).any():
        warn_of_identical_ids(file.name, Run.of(rows), file.is_mteb)
    return rows


def load_run(source: Source) -> Run:
    """Read a run like `read_run`, for the join with judgments."""
    file = _RunFile(*_load(source))
    run = file.load()
    warn_of_identical_ids(file.name, run, file.is_mteb)
    return run


@dataclass(frozen=True, eq=False)
class _RunFile:
    """The content of a run file, or a frame."""

    name: str
    data: bytes
    #: The table of a Parquet file or of rows in JSON, or the frame; else None.
    table: Any

    @cached_property
    def predictions(self) -> Predictions:
        """The run of a JSON file."""
        return read_predictions(as_text(self.name, self.data))

    @property
    def is_mteb(self) -> bool:
        """Whether the file has predictions of MTEB."""
        return is_json(self.data) and self.predictions.is_mteb

    def _split(self) -> tuple[str | None, Text]:
        """Return the metadata of a text file, and its text without comments at the beginning."""
        metadata, text = split_metadata(as_text(self.name, self.data))
        table = skip_leading_comments(text)
        return metadata, text if find_separator(table) is None else table

    def read_rows(self) -> pd.DataFrame:
        """Return all columns, for `read_run`."""
        if self.table is not None:
            return frame_of_run(self.name, self.table)
        if is_json(self.data):
            run, _, model = self.predictions
            rows = run.to_pandas().rename(columns={"query_id": "qid", "doc_id": "docno"})
            if model:
                return rows.assign(name=model)
            return rows
        metadata, text = self._split()
        separator = find_separator(text)
        if separator is None:
            rows = _read_run_lines(text).frame().astype({"rank": np.int64})
            order = ("qid", "docno", "rank", "score", "name")
            rows = rows[[column for column in order if column in rows.columns]]
        else:
            rows = frame_of_run(text.name, read_run_table(text, separator))
            if "rank" in rows.columns:
                warn_of_ranks(text.name, Run.of(rows), rows["rank"].to_numpy(dtype=np.float64))
        if metadata is not None:
            rows.attrs["ir_metadata"] = metadata
        return rows

    def load(self) -> Run:
        """Return what the join with judgments requires, for `load_run`."""
        if self.table is not None:
            return run_of_table(self.name, self.table)
        if is_json(self.data):
            return self.predictions.run
        _, text = self._split()
        separator = find_separator(text)
        if separator is None:
            return _run_of_columns(_read_run_lines(text, ("qid", "docno")))
        columns = read_plain_run(text, separator)
        if columns is None:
            return Run.of(self.read_rows())
        run = _run_of_columns(columns)
        if "rank" in columns.numbers:
            warn_of_ranks(text.name, run, columns.numbers["rank"])
        return run


def _run_of_columns(columns: Columns) -> Run:
    """Return the run of lines."""
    query, qids = columns.codes["qid"]
    return Run(qids, query, columns.docnos, columns.numbers["score"])


def _load(source: Source | Any) -> tuple[str, bytes, Any]:
    """Return the name of a file or a frame, the content of a file, and the table if it has one."""
    if isinstance(source, Mapping):
        refuse_splits(source, "run", "a run")
    if is_frame(source):
        name = type(source).__name__
        return name, b"", as_frame(source, name)
    name, data = load(source)
    if is_json(data):
        table = read_json_rows(as_text(name, data))
    else:
        table = read_parquet(name, data)
    return name, b"" if table is not None else data, table


def _read_run_lines(text: Text, ids: Collection[str] | None = None) -> Columns:
    """Read the lines of a run; see `read_lines` for `ids`."""
    if _first_width(text) == len(_RANKING.fields):
        ranking = _read_ranking(skip_comments(text, _RANKING))
        if ranking is not None:
            return ranking
    text = skip_comments(text, _RUN)
    columns = read_lines(text, _RUN, ids)
    warn_of_ranks(text.name, _run_of_columns(columns), columns.numbers["rank"])
    return columns


def _first_width(text: Text) -> int:
    """Return the number of fields of the first line that is neither blank nor a comment."""
    for start, end in text.blocks(1):
        for *_, fields in text.lines(start, end):
            if not fields[0].startswith(b"#"):
                return len(fields)
    return 0


def _read_ranking(text: Text) -> Columns | None:
    """Read lines of ranks; None if malformed, or no ranks of each topic from 0 or 1."""
    try:
        columns = read_lines(text, _RANKING)
    except MultiAspectError:
        return None
    query, rank = columns.codes["qid"][0], columns.numbers["rank"]
    order = np.lexsort((rank, query))
    is_first = np.diff(query[order], prepend=-1) != 0
    step = np.diff(rank[order], prepend=0)
    if not np.where(is_first, np.isin(rank[order], (0, 1)), step == 1).all():
        return None
    return replace(columns, numbers={"rank": rank, "score": 0.0 - rank})


#: Minimum number of rows to conclude that ranks contradict scores (smaller runs are examples), and
#: the fraction of these that do: ranks of another ranking contradict about half of the scores.
_MIN_ROWS, _CONTRADICTORY = 10, 0.75


def warn_of_ranks(name: str, run: Run, rank: Floats) -> None:
    """Warn if ranks contradict scores in most rows whose rank differs from the row before."""
    query, score = run.query, run.score
    differs = np.flatnonzero((query[1:] == query[:-1]) & (rank[1:] != rank[:-1])) + 1
    is_after, is_above = rank[differs] > rank[differs - 1], score[differs] > score[differs - 1]
    contradicts = (score[differs] != score[differs - 1]) & (is_after == is_above)
    n_rows = int(contradicts.sum())
    if len(differs) >= _MIN_ROWS and n_rows >= _CONTRADICTORY * len(differs):
        row = differs[np.argmax(contradicts)]
        pair = f"query {run.qids[query[row]]}, document {run.docnos.take([row]).decode()[0]}"
        warn_of_run(
            f"ranks contradict scores in {n_rows} of {len(differs)} rows, such as that of {pair}",
            "The order is by descending score, as in trec_eval; if the ranks are right, replace "
            "the scores, for instance by -rank",
            run=name,
            key=f"{name} {n_rows} {len(differs)}",
            group="ranks and scores",
        )


def _run_remedy(fields: Sequence[bytes]) -> str:
    """Return the remedy for a line of a run with a wrong number of fields, if one is known."""
    if len(fields) == len(_RANKING.fields):
        return "; with three fields, the last one is a rank, counted from 0 or 1 in each query"
    if is_line([*fields, b"tag"], _RUN):
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
    lookalike=(4, "qrels"),
)


#: The format "minimal" of pt.io.write_results, which MS MARCO takes.
_RANKING = LineFormat(
    fields=("qid", "docno", "rank"),
    ids={0: "qid", 1: "docno"},
    numbers={2: ("rank", WHOLE_NUMBER)},
)


def _label_columns(aspects: Iterable[str]) -> dict[str, str]:
    """Return the column of each aspect; raise an error if a name is invalid."""
    if isinstance(aspects, str) or not isinstance(aspects, Iterable):
        if isinstance(aspects, str):
            example = f"; write aspects=[{aspects!r}]"
        else:
            example = ""
        raise MultiAspectError(f"aspects: expected a list of names, got {shown(aspects)}{example}")
    columns: dict[str, str] = {}
    for aspect in aspects:
        if not isinstance(aspect, str) or not aspect.strip():
            raise MultiAspectError(f"aspects: expected non-empty strings as names, got {aspect!r}")
        if aspect in NOT_ASPECTS:
            raise MultiAspectError(
                f"aspects: expected names other than {choices(NOT_ASPECTS)}, which are not labels, "
                f"got {aspect!r}"
            )
        column = "label" if aspect == "relevance" else aspect
        if column in columns.values():
            first = next(name for name, taken in columns.items() if taken == column)
            raise MultiAspectError(
                f"aspects: expected distinct aspects, got {first!r} and {aspect!r}, "
                f"which are both the column {column!r}"
            )
        columns[aspect] = column
    refuse_none(columns, "name, such as 'relevance'", "aspects")
    return columns


def _may_be_file(aspects: object) -> bool:
    """Return whether the second argument of `read_qrels` is a file rather than an aspect."""
    if isinstance(aspects, str):
        return os.path.exists(aspects) or Path(aspects).suffix != "" or "/" in aspects
    return isinstance(aspects, Path)


def _several_files_error(named: Mapping[str, str]) -> MultiAspectError:
    """Return the error for files without aspects, which shows a mapping of aspects to files."""
    return MultiAspectError(
        "qrels: expected a file, or a mapping of aspects to files, got several files: name the "
        f"aspect of each, read_qrels({named})"
    )


#: Minimum fraction of common pairs; with fewer, two files are unlikely to judge the same pool.
_MOST_PAIRS = 0.95


@dataclass(frozen=True, eq=False)
class _AspectFile:
    """The judgments of one file on one aspect."""

    aspect: str
    name: str
    frame: pd.DataFrame

    def __str__(self) -> str:
        return f"{self.name} ({self.aspect})"

    @property
    def judged(self) -> pd.DataFrame:
        """The rows that have a label."""
        return self.frame[self.frame.iloc[:, 2].notna()]

    def samples(self, columns: Sequence[str]) -> str:
        """Return the first ids of the file."""
        rows = self.judged[list(columns)].drop_duplicates().head(3)
        samples = choices("/".join(row) for row in rows.itertuples(index=False))
        if len(rows) == 3:
            samples += " …"
        return samples


def _check_files(files: Sequence[_AspectFile]) -> None:
    """Raise an error if files have no pair in common with relevance, or else with the first.

    Warn if many pairs differ.

    Also warn if two files have the same labels.
    """
    first = next((file for file in files if file.aspect in ("relevance", "label")), files[0])
    for file in files:
        if file is not first:
            _check_common(first, file)
    for pair in combinations(files, 2):
        _warn_of_copy(*pair)


#: Minimum number of judgments to conclude that a file is a copy, as in `describe`; short files
#: agree by chance.
_MIN_LABELS = 10


def _warn_of_copy(first: _AspectFile, second: _AspectFile) -> None:
    labels, others = (file.frame.iloc[:, 2].to_numpy() for file in (first, second))
    is_short = len(labels) < _MIN_LABELS or len(np.unique(labels)) == 1
    if is_short or not np.array_equal(labels, others, equal_nan=True):
        return
    if all(first.frame[column].equals(second.frame[column]) for column in ("qid", "docno")):
        warn_once(
            f"{first} and {second} have the same labels; one may be a copy. Give each aspect the "
            f"file that judges it, or disable the check with {parameter('check', False)}"
        )


def _check_common(first: _AspectFile, second: _AspectFile) -> None:
    rows = pd.concat([file.judged[["qid", "docno"]] for file in (first, second)], ignore_index=True)
    queries, pairs = _codes(rows)
    size = len(first.judged)
    for codes, columns, what in (
        (queries, ["qid"], "query"),
        (pairs, ["qid", "docno"], "(query, document) pair"),
    ):
        if not np.isin(codes[size:], codes[:size]).any():
            raise MultiAspectError(
                f"{first} and {second} have no {what} in common: {first.samples(columns)} against "
                f"{second.samples(columns)}. Check that the files belong to the same collection "
                f"and use the same ids, or read them anyway with {parameter('check', False)}"
            )
    labels = first.judged.iloc[:, 2].to_numpy()
    distinct = np.unique(np.maximum(labels, 0))
    # A file of positive documents only has a single label, which is above the lowest grade.
    if len(distinct) > 1:
        lowest = distinct[0]
    else:
        lowest = 0.0
    mine, others = pairs[:size], pairs[size:]
    for common, judge, whose, aspect in (
        (
            np.isin(mine[labels > lowest], others),
            second,
            f"above the lowest grade of {first}",
            second,
        ),
        (np.isin(others, mine), first, f"of {second}", first),
    ):
        if len(common) and common.mean() < _MOST_PAIRS:
            warn_once(
                f"{judge} judges only {int(common.sum())} of the {len(common)} pairs "
                f"({common.mean():.0%}) {whose}; the others are evaluated as the lowest grade of "
                f"{aspect.aspect}. Check that the files belong to the same collection and use the "
                f"same ids, or disable the check with {parameter('check', False)}"
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
    if len(fields) > 1:
        second = fields[1]
    else:
        second = b""
    if len(fields) == 3 and is_line([fields[0], b"0", *fields[1:]], _QRELS):
        return "; the second field is missing: write a 0 there"
    if is_line([*fields, b"tag"], _RUN) and second.upper() == b"Q0":
        return "; this looks like a run without its last field, the tag, not qrels"
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
        return (
            f"; name the label columns of one file, as in {parameter('qrels')} "
            "relevance,credibility=FILE"
        )
    return "; name the label columns of one file by aspects=[…]"


def _read_labels(
    source: Source,
    columns: Mapping[str, str],
    *,
    as_it_is: bool = False,
    one_of_several: bool = False,
) -> tuple[str, pd.DataFrame]:
    """Read the name and the rows of a file with a label column for each aspect; labels are float64.

    With `as_it_is`, a Parquet file keeps all its columns. With `one_of_several`, judgments by
    subtopic are an error.
    """
    layout = LineFormat(
        fields=(*_QRELS.fields[:3], *(["label"] if len(columns) == 1 else columns)),
        ids={0: "qid", 1: "iteration", 2: "docno"},
        numbers={position: (aspect, LABEL) for position, aspect in enumerate(columns, 3)},
        remedy=_qrels_remedy if len(columns) == 1 else no_remedy,
        lookalike=(6, "a run") if len(columns) == 1 else (0, ""),
    )
    name, data, table = _load(source)
    if table is None:
        text = as_text(name, data)
        table = _read_text_table(text)
    if table is not None:
        return name, labels_of_table(
            name, table, None if as_it_is else columns, one_of_several=one_of_several
        )
    text = skip_comments(text, layout)
    rows = read_lines(text, layout, ("qid", "docno")).frame()[["qid", "docno", *columns]]
    if rows.duplicated(["qid", "docno"]).any():
        # Only now is the second field needed.
        rows = _distinct_judgments(
            text, read_lines(text, layout).frame(), list(columns), one_of_several
        )
    return text.name, rows.rename(columns=dict(columns))


def _read_text_table(text: Text) -> pd.DataFrame | None:
    """Read judgments in JSON, or with a header; None for lines."""
    if is_json(text.data):
        return read_json_judgments(text)
    text = skip_leading_comments(text)
    separator = find_separator(text)
    if separator is None:
        return None
    if separator == "\t":
        beir = read_beir(text)
        if beir is not None:
            return beir
    return read_judgment_table(text, separator)


def _distinct_judgments(
    text: Text, rows: pd.DataFrame, aspects: list[str], one_of_several: bool
) -> pd.DataFrame:
    """Return each judgment once, with the second field if judgments of a pair differ in it."""
    pair = ["qid", "docno"]
    key = [*pair, "iteration"]
    differs = rows.drop_duplicates(key).duplicated(pair)
    if not differs.any():
        key = pair
    elif one_of_several:
        (number, fields), (later, later_fields) = _lines(text, _first_equal(rows, differs, pair))
        raise MultiAspectError(
            f"{text.name}:{later}: expected one judgment of query {excerpt(fields[0])}, document "
            f"{excerpt(fields[2])}, got the second field {excerpt(later_fields[1])} here and "
            f"{excerpt(fields[1])} on line {number}. {ALONE_BY_SUBTOPIC}"
        )
    rows = rows[[*pair, *aspects, *key[2:]]].drop_duplicates()
    conflicts = rows.duplicated(key)
    if conflicts.any():
        both = _first_equal(rows, conflicts, key)
        position = int(np.argmax(rows.loc[both, aspects].nunique(dropna=False) > 1))
        (number, fields), (later, later_fields) = _lines(text, both)
        label, later_label = (line[3 + position].decode() for line in (fields, later_fields))
        raise MultiAspectError(
            f"{text.name}:{later}: {aspects[position]} of query {excerpt(fields[0])}, document "
            f"{excerpt(fields[2])} is {later_label} here and {label} on line {number}"
        )
    return rows.reset_index(drop=True)


def _first_equal(rows: pd.DataFrame, repeats: pd.Series[bool], key: list[str]) -> list[int]:
    """Return two rows: the first of `repeats`, preceded by the row whose key it repeats."""
    second = int(repeats.index[repeats][0])
    return [int(rows.index[(rows[key] == rows.loc[second, key]).all(axis=1)][0]), second]


def _lines(text: Text, rows: Sequence[int]) -> list[tuple[int, list[bytes]]]:
    """Return the numbers and fields of lines; rows are the lines that are not blank."""
    return [(number, fields) for row, (number, _, fields) in enumerate(text.lines()) if row in rows]


def _codes(pairs: pd.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return codes of the queries, and of the pairs of query and document."""
    queries = pd.factorize(pairs["qid"])[0].astype(np.int64)
    documents = pd.factorize(pairs["docno"])[0]
    return queries, queries * (int(documents.max(initial=0)) + 1) + documents


def _join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join on (qid, docno), keeping every pair, in order of first appearance."""
    # By integer codes, as pandas' outer merge sorts by the keys and is several times slower.
    pairs = pd.concat([frame[["qid", "docno"]] for frame in frames], ignore_index=True)
    codes, distinct = pd.factorize(_codes(pairs)[1])
    columns: dict[str, Floats] = {}
    begins = np.cumsum([len(frame) for frame in frames])[:-1]
    for frame, mine in zip(frames, np.split(codes, begins), strict=True):
        for column in frame.columns[2:]:
            columns[column] = np.full(len(distinct), np.nan)
            columns[column][mine] = frame[column].to_numpy()
    joined = pairs.loc[~pd.Series(codes).duplicated()].reset_index(drop=True)
    return joined.assign(**columns)
