"""Several runs: their names and files, and their join with judgments."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

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
        if isinstance(runs, NamedRuns):
            return runs
        if is_pipeline(runs):  # a pipeline may be an iterable of its parts
            return cls._from_pairs([_name_run(runs, 1)])
        if isinstance(runs, Mapping) and not _is_one_run(runs):
            if isinstance(runs, dict):
                return cls._from_pairs([(str(name), run) for name, run in runs.items()])
            # One by one, as mappings of other classes may read a run on access.
            return cls(((str(name), runs[name]) for name in runs), len(runs))
        if isinstance(runs, str | PathLike):
            return cls._from_list([runs])
        several = (
            isinstance(runs, Iterable)
            and not isinstance(runs, Mapping)
            and not hasattr(runs, "read")
        )
        if not several or is_frame(runs):
            return cls._from_pairs([("run 1", runs)])
        if isinstance(runs, list | tuple):
            return cls._from_list(runs)
        remaining: Iterator[Any] = iter(runs)  # type: ignore[call-overload]
        first = next(remaining, None)
        if isinstance(first, str | PathLike) or hasattr(
            first, "_fields"
        ):  # paths, or the rows of one run
            return cls._from_list([first, *remaining])
        return cls(_name_runs([first], remaining), len(runs) if isinstance(runs, Sized) else None)

    @classmethod
    def _from_pairs(cls, pairs: list[tuple[str, object]]) -> NamedRuns:
        return cls(pairs, len(pairs))

    @classmethod
    def _from_list(cls, runs: list[Any] | tuple[Any, ...]) -> NamedRuns:
        if runs and hasattr(runs[0], "_fields"):
            return cls._from_pairs([("run 1", list(runs))])
        expanded: list[Any] = []
        for run in runs:
            expanded += run_files(run) if isinstance(run, str | PathLike) else [run]
        paths = [Path(run) for run in expanded if isinstance(run, str | PathLike)]
        # Run files in different folders often have the same name.
        alike = len({name_of_file(path) for path in paths}) < len(paths)
        pairs = [
            (str(run), run)
            if alike and isinstance(run, str | PathLike)
            else _name_run(run, position)
            for position, run in enumerate(expanded, 1)
        ]
        return cls._from_pairs(pairs)

    def check_files(self) -> None:
        """Raise an error for the first file that cannot be read, if the runs are known.

        Raises
        ------
        MultiAspectError
            If a file cannot be read; the message contains the name of the run.
        """
        for name, run in self.pairs if isinstance(self.pairs, list) else []:
            if isinstance(run, str | PathLike):
                with name_run_in_errors(run_title(name)):
                    _check_readable(run)

    def __iter__(self) -> Iterator[tuple[str, object]]:
        pairs = _check_names(self.pairs)
        if isinstance(self.pairs, list):
            pairs = iter(list(pairs))  # errors come before the first run
        may_retrieve = not isinstance(self.pairs, list) or any(
            is_pipeline(run) for _, run in self.pairs
        )
        if self.topics is not None and may_retrieve:
            bar = progress_bar(self.total, self.progress)
        else:
            bar = None
        with nullcontext() if bar is None else bar:
            for name, run in pairs:
                if is_pipeline(run):
                    if self.topics is None:
                        raise MultiAspectError(
                            f"the pipeline {name} requires topics: pass topics=..., as in "
                            "pt.Experiment, or its run, pipeline.transform(topics)"
                        )
                    run = retrieve(name, run, self.topics)
                if bar is not None:
                    bar.update()
                yield name, _repeatable_file(name, run)
                del run  # before the next one is read


def _check_names(pairs: Iterable[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """Yield the runs with their names, which must be distinct."""
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
    if not isinstance(run, str | PathLike) or not _is_read_once(run):
        return run
    with name_run_in_errors(run_title(name)):
        return read_run(run)


def _name_runs(first: list[Any], others: Iterator[Any]) -> Iterator[tuple[str, object]]:
    """Yield the first run, if any, and the others with their names, without keeping a run."""
    if first[0] is not None:
        yield _name_run(first.pop(), 1)
        numbers = count(2)  # enumerate would keep a run
        for run in others:
            named = _name_run(run, next(numbers))
            del run
            yield named
            del named


def _name_run(run: Any, position: int) -> tuple[str, object]:
    """Return the name of a run and the run; `run` may be a pair of both."""
    is_row = hasattr(run, "_fields")
    if isinstance(run, tuple) and len(run) == 2 and isinstance(run[0], str) and not is_row:
        return run
    if is_pipeline(run):
        return str(run), run  # as in pt.Experiment
    if isinstance(run, str | PathLike):
        return name_of_file(run), run
    return f"run {position}", run


def name_of_file(path: str | os.PathLike[str]) -> str:
    """Return the name of the run in a file: that of the model of MTEB, else of the file.

    The suffix of the runs that ``pt.Experiment(save_dir=…)`` writes is left out, as its tables have
    it.
    """
    return model_in_file(path) or Path(path).name.removesuffix(".res.gz") or Path(path).name


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is one run {qid: {docno: score}} rather than runs by name."""
    for value in runs.values():
        if not isinstance(value, Mapping):
            return False
        if value:
            documents = next(iter(value.values()))
            return not (isinstance(documents, Mapping) or is_frame(documents))
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
        if _is_file(run):
            if columns:
                return Run.of(read_run(run), columns)
            return load_run(run)
        return Run.of(run, columns)


def _is_file(run: object) -> bool:
    return isinstance(run, str | PathLike | Content) or hasattr(run, "read")


def no_common_query(name: str, judgments: Judgments, qids: Sequence[str]) -> MultiAspectError:
    """Return the error for a run whose queries `qids` are not judged."""
    return MultiAspectError(
        f"{run_title(name)} and the qrels have no query in common: the qrels have queries such as "
        f"{choices(judgments.qids[:3])}, the run has queries such as {choices(qids[:3])}. Check "
        f"the query ids{overlap.by_query_remedy(judgments, qids)}"
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
    rankings = Rankings(run_of(name, run, columns), judgments)
    if not len(rankings.source):
        raise MultiAspectError(
            f"{run_title(name)}: expected at least one row, got none. A reader that was read "
            "before is empty"
        )
    if not rankings.n_common:
        raise no_common_query(name, judgments, rankings.source.qids.tolist())
    overlap.warn_of_no_common_document(rankings, run_title(name))
    overlap.warn_if_swapped(rankings, run_title(name))
    # Files are checked as they are read.
    if isinstance(run, pd.DataFrame) and "rank" in run.columns and is_numeric_dtype(run["rank"]):
        warn_of_ranks(
            run_title(name),
            rankings.source,
            run["rank"].to_numpy(dtype=np.float64, na_value=np.nan),
        )
    if _is_file(run):  # other runs may have labels as scores on purpose, as ideal rankings
        overlap.warn_of_labels_as_scores(rankings, run_title(name))
    return rankings


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
        inside = sorted(
            str(file)
            for file in Path(expanded).iterdir()
            if file.is_file() and file.name[0] != "." and file.name not in _TABLES
        )
        if not inside:
            raise MultiAspectError(
                f"the directory {text} contains no files; give a directory of runs"
            )
        return inside
    if glob.has_magic(expanded) and not os.path.exists(expanded):
        matches = sorted(
            match for match in glob.glob(expanded, recursive=True) if os.path.isfile(match)
        )
        if not matches:
            raise MultiAspectError(
                f"no file matches {text}; check the pattern and the current directory"
            )
        return matches
    return [expanded]


def _check_readable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be read, without reading it.

    Raises
    ------
    MultiAspectError
        If the file does not exist, is a directory, or reading it is not permitted.
    """
    file = os.path.expanduser(os.fspath(path))
    if not os.path.exists(file):
        raise MultiAspectError(f"{os.fspath(path)}: {NO_SUCH_FILE}")
    if os.path.isdir(file):
        raise MultiAspectError(f"{os.fspath(path)}: expected a run file, got a directory")
    if not os.access(file, os.R_OK):
        raise MultiAspectError(f"{os.fspath(path)}: cannot be read: no permission")


def _is_read_once(path: str | os.PathLike[str]) -> bool:
    """Return whether a file can be read only once, such as a pipe or ``<(command)``."""
    file = os.path.expanduser(os.fspath(path))
    return os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file)
