"""Several runs: their names and files, and their join with judgments."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ..collection import Judgments, Rankings, Run, overlap
from ..collection.other_libraries import is_frame
from ..collection.run import name_run_in_errors
from ..errors import MultiAspectError, choices, refuse_none
from .file_contents import NO_SUCH_FILE, Content, name_in_utf8
from .json_files import model_in_file
from .pipelines import is_pipeline, progress_bar, read_topics, retrieve
from .trec_files import load_run, read_run, warn_of_ranks


@dataclass(frozen=True, eq=False)
class NamedRuns:
    """Runs with their names, for a single iteration. Runs are not kept in memory."""

    #: The names and the runs; a list if all runs, or their files, are known.
    pairs: Iterable[tuple[str, object]]
    #: The number of runs, None if unknown.
    total: int | None = None
    #: The topics of pipelines, if there are any.
    topics: pd.DataFrame | None = None
    #: Whether to show a progress bar, if there are topics.
    progress: bool = True

    @classmethod
    def read(cls, runs: object, topics: object = None, *, progress: bool = True) -> NamedRuns:
        """Read runs and pipelines; each pipeline runs on `topics` once, when its turn comes.

        Parameters
        ----------
        runs : object
            The runs, in any form that `pt_multiaspect.evaluate` takes.
        topics : DataFrame or dataset of PyTerrier, optional
            As in `pt.Experiment`. Pipelines require it.
        progress : bool, default True
            Whether to show a progress bar, if there are topics.

        Raises
        ------
        MultiAspectError
            If there is no run, a directory or pattern has no files, or the topics cannot be read;
            during the iteration over the runs, for pipelines without topics.
        """
        named = cls._read(runs)
        if topics is None:
            return named
        return replace(named, topics=read_topics(topics), progress=progress)

    @classmethod
    def _read(cls, runs: object) -> NamedRuns:
        """Return runs in any form with their names, without topics."""
        if isinstance(runs, NamedRuns):
            return runs
        if is_pipeline(runs):  # a pipeline may be an iterable of its parts
            return cls._from_pairs([_name_run(runs, 1)])
        if isinstance(runs, Mapping):
            return cls._from_mapping(runs)
        if _is_path(runs):
            return cls._from_list([runs])
        # What is no iterable is refused when it is read, with the name of the run.
        if not isinstance(runs, Iterable):
            return cls._from_pairs([("run 1", runs)])
        # An open file and a frame are iterables, too, but one run.
        if hasattr(runs, "read") or is_frame(runs):
            return cls._from_pairs([("run 1", runs)])
        if isinstance(runs, list | tuple):
            return cls._from_list(runs)
        return cls._from_iterable(runs)

    @classmethod
    def _from_pairs(cls, pairs: list[tuple[str, object]]) -> NamedRuns:
        return cls(pairs, len(pairs))

    @classmethod
    def _from_mapping(cls, runs: Mapping[Any, Any]) -> NamedRuns:
        """Return the runs of a mapping by name, or the run ``{qid: {docno: score}}``."""
        if _is_one_run(runs):
            return cls._from_pairs([("run 1", runs)])
        if isinstance(runs, dict):
            named = [(str(name), run) for name, run in runs.items()]
            return cls._from_pairs(named)
        # One by one, as mappings of other classes may read a run on access.
        pairs = ((str(name), runs[name]) for name in runs)
        return cls(pairs, len(runs))

    @classmethod
    def _from_list(cls, runs: list[Any] | tuple[Any, ...]) -> NamedRuns:
        """Return the runs of a list of runs, named runs and paths, or the run of a list of rows."""
        if runs and _is_row(runs[0]):
            return cls._from_pairs([("run 1", list(runs))])
        # A path may be a directory or pattern of several files.
        expanded: list[Any] = []
        for run in runs:
            if _is_path(run):
                expanded += run_files(run)
            else:
                expanded.append(run)
        # Run files in different folders often have the same name: then their paths are their names.
        paths = [Path(run) for run in expanded if _is_path(run)]
        names = {name_of_file(path) for path in paths}
        has_equal_names = len(names) < len(paths)
        pairs: list[tuple[str, object]] = []
        for position, run in enumerate(expanded, 1):
            if has_equal_names and _is_path(run):
                pairs.append((str(run), run))
            else:
                pairs.append(_name_run(run, position))
        return cls._from_pairs(pairs)

    @classmethod
    def _from_iterable(cls, runs: Iterable[Any]) -> NamedRuns:
        """Return the runs of an iterable, which are read one by one, or the run of its rows."""
        remaining = iter(runs)
        first = next(remaining, None)  # of no runs, None, which is refused when it is read
        # The names of paths, and the one run of rows, need the whole iterable.
        if _is_path(first) or _is_row(first):
            return cls._from_list([first, *remaining])
        # Other runs can be large: each is taken from the iterable only when it is evaluated.
        n_runs = None
        if isinstance(runs, Sized):
            n_runs = len(runs)
        if first is None:
            return cls(iter(()), n_runs)
        # Put the first run back before the others. The list itself would keep it in memory.
        all_runs = chain(iter([first]), remaining)
        named_runs = map(_name_run, all_runs, count(1))
        return cls(named_runs, n_runs)

    def check_files(self) -> None:
        """Raise an error for the first file that cannot be read, if the runs are known.

        Raises
        ------
        MultiAspectError
            If a file cannot be read; the message contains the name of the run.
        """
        if not isinstance(self.pairs, list):
            return
        for name, run in self.pairs:
            if isinstance(run, str | PathLike):
                with name_run_in_errors(run_title(name)):
                    _check_readable(run)

    def __iter__(self) -> Iterator[tuple[str, object]]:
        """Yield the name and the ranking of each run: a pipeline is run on the topics."""
        pairs: Iterable[tuple[str, object]] = _check_names(self.pairs)
        if isinstance(self.pairs, list):
            pairs = list(pairs)  # checks all names before the first run is read
        with self._progress_bar() as bar:
            for name, run in pairs:
                if is_pipeline(run):
                    run = self._retrieve(name, run)
                if bar is not None:
                    bar.update()
                yield name, _repeatable_file(name, run)
                del run  # so that it is not in memory while the next one is read

    def _progress_bar(self) -> AbstractContextManager[Any]:
        """Return the progress bar, or a context of None if no run can be a pipeline."""
        if self.topics is None:
            return nullcontext()
        # Runs that are not known yet may be pipelines.
        if isinstance(self.pairs, list):
            has_pipeline = any(is_pipeline(run) for _, run in self.pairs)
            if not has_pipeline:
                return nullcontext()
        bar: AbstractContextManager[Any] = progress_bar(self.total, self.progress)
        return bar

    def _retrieve(self, name: str, pipeline: object) -> pd.DataFrame:
        """Return the run of a pipeline; raise an error without topics."""
        if self.topics is None:
            raise MultiAspectError(
                f"the pipeline {name} requires topics: pass topics=..., as in "
                "pt.Experiment, or its run, pipeline.transform(topics)"
            )
        return retrieve(name, pipeline, self.topics)


def _is_path(run: object) -> TypeGuard[str | PathLike[str]]:
    """Return whether an object is the path of a file, directory or pattern."""
    return isinstance(run, str | PathLike)


def _is_row(run: object) -> bool:
    """Return whether an object is a namedtuple, which is a row of a run."""
    return hasattr(run, "_fields")


def _check_names(pairs: Iterable[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """Yield the runs with their names, which must be distinct, without keeping a run."""
    names: set[str] = set()
    for raw_name, run in pairs:
        name = name_in_utf8(raw_name)
        if name in names:
            raise MultiAspectError(
                f"expected distinct names, got several runs named {name}; rename all but one"
            )
        if "\0" in name:  # pandas before 3.1 ends strings there
            raise MultiAspectError(f"expected names of runs without NUL characters, got {name!r}")
        names.add(name)
        yield name, run
        del run  # before the next one is read
    refuse_none(names, "run")


def _repeatable_file(name: str, run: object) -> object:
    """Return a run, read from its file if the file can be read only once."""
    if isinstance(run, str | PathLike) and _is_read_once(run):
        with name_run_in_errors(run_title(name)):
            return read_run(run)
    return run


def _name_run(run: Any, position: int) -> tuple[str, object]:
    """Return the name of a run and the run; `run` may be a pair of both.

    A run without a name is called by its position, from 1.
    """
    is_pair = isinstance(run, tuple) and len(run) == 2 and not _is_row(run)
    if is_pair and isinstance(run[0], str):
        name, named_run = run
        return name, named_run
    if is_pipeline(run):
        return str(run), run  # as in pt.Experiment
    if _is_path(run):
        return name_of_file(run), run
    return f"run {position}", run


def name_of_file(path: str | os.PathLike[str]) -> str:
    """Return the name of the run in a file: that of the model of MTEB, else of the file.

    The suffix of the runs that ``pt.Experiment(save_dir=…)`` writes is left out, as its tables have
    it.
    """
    model = model_in_file(path)
    if model:
        return model
    file_name = Path(path).name
    without_suffix = file_name.removesuffix(".res.gz")
    if without_suffix:
        return without_suffix
    return file_name


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is one run ``{qid: {docno: score}}`` rather than runs by name.

    Runs by name are ``{name: {qid: {docno: score}}}``, or have runs of another type as values.
    """
    for value in runs.values():
        if not isinstance(value, Mapping):
            return False
        # The first value that is not empty decides. If the mapping is one run, the value has the
        # scores of documents; else it is a run, and has the documents of queries.
        if value:
            scores_or_documents = next(iter(value.values()))
            is_mapping = isinstance(scores_or_documents, Mapping)
            has_documents = is_mapping or is_frame(scores_or_documents)
            return not has_documents
    return False


def named_runs(runs: object) -> dict[str, object]:
    """Return the runs given to `pt_multiaspect.evaluate`, in any form, by name."""
    return dict(NamedRuns.read(runs))


def run_title(name: str) -> str:
    """Return the name of a run in errors; unnamed runs are already named run 1, run 2, …."""
    if name.startswith("run "):
        return name
    return f"run {name}"


def read_if_file(run: object) -> object:
    """Return a run, read from its file if it is a path."""
    if isinstance(run, str | PathLike):
        return read_run(run)
    return run


def as_repeatable(data: object) -> object:
    """Return a run or qrels in a form that can be read repeatedly."""
    if isinstance(data, Iterator) and not is_frame(data):
        return list(data)
    return data


def run_of(name: str, run: Any, columns: Sequence[str] = ()) -> Run:
    """Read a run.

    Parameters
    ----------
    name : str
        Name of the run in errors.
    run : DataFrame, dict, iterable of namedtuples, path, open file or Run
        The run.
    columns : sequence of str, optional
        Columns to keep besides queries, documents and scores.

    Raises
    ------
    MultiAspectError
        If the run is invalid.
    """
    with name_run_in_errors(run_title(name)):
        if not _is_file(run):
            return Run.of(run, columns)
        # `load_run` is fast, but reads queries, documents and scores only.
        if not columns:
            return load_run(run)
        frame = read_run(run)
        return Run.of(frame, columns)


def _is_file(run: object) -> bool:
    return isinstance(run, str | PathLike | Content) or hasattr(run, "read")


def no_common_query(name: str, judgments: Judgments, qids: Sequence[str]) -> MultiAspectError:
    """Return the error for a run whose queries `qids` are not judged."""
    title = run_title(name)
    judged_examples = choices(judgments.qids[:3])
    examples = choices(qids[:3])
    remedy = overlap.by_query_remedy(judgments, qids)
    return MultiAspectError(
        f"{title} and the qrels have no query in common: the qrels have queries such as "
        f"{judged_examples}, the run has queries such as {examples}. Check the query ids{remedy}"
    )


def join(name: str, run: object, judgments: Judgments, columns: Sequence[str] = ()) -> Rankings:
    """Read a run, if it has not been read, and join it with the judgments.

    Parameters
    ----------
    name : str
        Name of the run in errors.
    run : DataFrame, dict, iterable of namedtuples, path, open file or Run
        The run.
    judgments : Judgments
        The judgments.
    columns : sequence of str, optional
        See `run_of`.

    Raises
    ------
    MultiAspectError
        If the run is invalid or has no query in common with the judgments.
    """
    title = run_title(name)
    rankings = Rankings(run_of(name, run, columns), judgments)
    if not len(rankings.source):
        raise MultiAspectError(
            f"{title}: expected at least one row, got none. A reader that was read before is empty"
        )
    if not rankings.n_common:
        raise no_common_query(name, judgments, rankings.source.qids.tolist())
    overlap.warn_of_no_common_document(rankings, title)
    overlap.warn_if_swapped(rankings, title)
    if isinstance(run, pd.DataFrame):
        _check_ranks(title, run, rankings.source)
    if _is_file(run):  # other runs may have labels as scores on purpose, as ideal rankings
        overlap.warn_of_labels_as_scores(rankings, title)
    return rankings


def _check_ranks(title: str, frame: pd.DataFrame, run: Run) -> None:
    """Warn if the ranks of a frame contradict the scores of its run; files are checked elsewhere.

    Ranks that are not numbers are ignored.
    """
    if "rank" in frame.columns and is_numeric_dtype(frame["rank"]):
        rank = frame["rank"].to_numpy(dtype=np.float64, na_value=np.nan)
        warn_of_ranks(title, run, rank)


#: The tables that pt.Experiment(save_dir=…) writes beside runs.
_TABLES = ("aggregated.csv", "perquery.csv")


def run_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the files of a path, directory or pattern, sorted.

    Parameters
    ----------
    path : str or path
        A file, which need not exist; a directory, whose files are returned except hidden ones and
        the tables of ``pt.Experiment(save_dir=…)``; or a pattern such as ``runs/*.run``, in which
        ``**`` matches any number of directories.

    Raises
    ------
    MultiAspectError
        If a directory contains no files, or no file matches a pattern.
    """
    text = os.fspath(path)
    expanded = os.path.expanduser(text)
    if os.path.isdir(expanded):
        files = [str(file) for file in Path(expanded).iterdir() if _may_be_run_file(file)]
        if not files:
            raise MultiAspectError(
                f"the directory {text} contains no files; give a directory of runs"
            )
        return sorted(files)
    # A file may be called like a pattern.
    is_pattern = glob.has_magic(expanded) and not os.path.exists(expanded)
    if is_pattern:
        files = [match for match in glob.glob(expanded, recursive=True) if os.path.isfile(match)]
        if not files:
            raise MultiAspectError(
                f"no file matches {text}; check the pattern and the current directory"
            )
        return sorted(files)
    return [expanded]


def _may_be_run_file(path: Path) -> bool:
    """Return whether a path is a file that is neither hidden nor a table of `pt.Experiment`."""
    is_hidden = path.name.startswith(".")
    is_table = path.name in _TABLES
    return path.is_file() and not is_hidden and not is_table


def _check_readable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be read, without reading it.

    Raises
    ------
    MultiAspectError
        If the file does not exist, is a directory, or reading it is not permitted.
    """
    name = os.fspath(path)
    file = os.path.expanduser(name)
    if not os.path.exists(file):
        raise MultiAspectError(f"{name}: {NO_SUCH_FILE}")
    if os.path.isdir(file):
        raise MultiAspectError(f"{name}: expected a run file, got a directory")
    if not os.access(file, os.R_OK):
        raise MultiAspectError(f"{name}: cannot be read: no permission")


def _is_read_once(path: str | os.PathLike[str]) -> bool:
    """Return whether a file can be read only once, such as a pipe or ``<(command)``."""
    file = os.path.expanduser(os.fspath(path))
    if not os.path.exists(file):
        return False
    is_regular_file = os.path.isfile(file)
    is_directory = os.path.isdir(file)
    return not is_regular_file and not is_directory
