"""Several runs: their names, and their join with judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import MultiAspectError, choices
from .frames import to_pandas
from .inputs import run_frame
from .judgments import Judgments
from .overlap import warn_of_no_common_document
from .rankings import Rankings
from .run_tables import RunTable, is_polars
from .trec_files import read_run, read_run_table

__all__ = ["join", "named_runs", "read_if_file", "titled"]


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """Distinguish {qid: {docno: score}} from {name: {qid: {docno: score}}}."""
    inner = [value for value in runs.values() if isinstance(value, Mapping) and value]
    return bool(inner) and not isinstance(next(iter(inner[0].values())), Mapping)


def named_runs(runs: object) -> dict[str, object]:
    """Return the runs given to `pt_multiaspect.evaluate`, in any form, by name."""
    if isinstance(runs, Mapping) and not _is_one_run(runs):
        named = {str(name): run for name, run in runs.items()}
    else:
        several = isinstance(runs, Iterable) and not isinstance(runs, Mapping | str | PathLike)
        single = not several or to_pandas(runs) is not None
        each: list[Any] = [runs] if single else list(runs)  # type: ignore[call-overload]
        if each and hasattr(each[0], "_fields"):
            each = [each]  # the rows of one run
        paths = [Path(run) for run in each if isinstance(run, str | PathLike)]
        # Run files in different folders often have the same name.
        alike = len({path.name for path in paths}) < len(paths)
        named = {}
        for position, run in enumerate(each, 1):
            is_path = isinstance(run, str | PathLike)
            named[(str(run) if alike else Path(run).name) if is_path else f"run {position}"] = run
    if not named:
        raise MultiAspectError("expected at least one run, got none")
    return named


def titled(name: str) -> str:
    """The name of a run in errors; unnamed runs are called run 1, run 2 and so on already."""
    return name if name.startswith("run ") else f"run {name}"


def read_if_file(run: object) -> object:
    """Return a run, read from its file if it is a path."""
    return read_run(run) if isinstance(run, str | PathLike) else run


def join(name: str, run: object, judgments: Judgments) -> tuple[object, Rankings]:
    """Read a run, if it is a file, and join it with the judgments.

    Parameters
    ----------
    name : str
        Name of the run in errors.
    run : DataFrame, dict, iterable of namedtuples or path
        The run.
    judgments : Judgments
        The judgments.

    Returns
    -------
    run, rankings
        The run in a form that can be read repeatedly, and the join.

    Raises
    ------
    MultiAspectError
        If the run is invalid or has no query in common with the judgments.
    """
    try:
        if isinstance(run, str | PathLike):
            run = read_run_table(run)
        elif is_polars(run):
            run = RunTable.of(run)
        elif (frame := to_pandas(run)) is not None:
            run = frame
        elif isinstance(run, Iterable) and not isinstance(run, Mapping):
            run = list(run)  # which can be read repeatedly
        rankings = Rankings(run, judgments)
    except MultiAspectError as error:
        raise MultiAspectError(f"{titled(name)}: {error}") from None
    if not rankings.n_common:
        raise MultiAspectError(
            f"{titled(name)} and the qrels have no query in common: the qrels have queries such as "
            f"{choices(judgments.qids[:3])}, the run has queries such as "
            f"{choices(run_frame(run)['query_id'].unique()[:3])}. Check the query ids"
        )
    warn_of_no_common_document(rankings, titled(name))
    return run, rankings
