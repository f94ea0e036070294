"""Several runs: their names, and their join with judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import MultiAspectError, choices
from .inputs import run_frame
from .judgments import Judgments
from .rankings import Rankings
from .trec_files import read_run

__all__ = ["join", "named_runs"]


def _is_one_run(runs: Mapping[Any, Any]) -> bool:
    """Tell {qid: {docno: score}} from {name: {qid: {docno: score}}}."""
    inner = [value for value in runs.values() if isinstance(value, Mapping) and value]
    return bool(inner) and not isinstance(next(iter(inner[0].values())), Mapping)


def named_runs(runs: object) -> dict[str, object]:
    """Name the runs given to `pt_multiaspect.evaluate` in any of its forms."""
    if isinstance(runs, Mapping) and not _is_one_run(runs):
        named = {str(name): run for name, run in runs.items()}
    else:
        single = isinstance(runs, pd.DataFrame | Mapping | str | PathLike) or not isinstance(runs, Iterable)
        each: list[Any] = [runs] if single else list(runs)  # type: ignore[call-overload]
        if each and hasattr(each[0], "_fields"):
            each = [each]  # the rows of one run
        paths = [Path(run) for run in each if isinstance(run, str | PathLike)]
        # Run files of several folders are often called alike.
        alike = len({path.name for path in paths}) < len(paths)
        named = {}
        for position, run in enumerate(each, 1):
            is_path = isinstance(run, str | PathLike)
            named[(str(run) if alike else Path(run).name) if is_path else f"run {position}"] = run
    if not named:
        raise MultiAspectError("no run was given")
    return named


def join(name: str, run: object, judgments: Judgments) -> tuple[object, Rankings]:
    """Read a run, or take it as it is, and join it with the judgments.

    Parameters
    ----------
    name : str
        What the run is called in errors.
    run : DataFrame, dict, iterable of namedtuples or path
        The run.
    judgments : Judgments
        The judgments.

    Returns
    -------
    run, rankings
        The run in a form that can be read again, and the join.

    Raises
    ------
    MultiAspectError
        If the run is faulty, or shares no query with the judgments.
    """
    try:
        if isinstance(run, str | PathLike):
            run = read_run(run)
        elif isinstance(run, Iterable) and not isinstance(run, pd.DataFrame | Mapping):
            run = list(run)  # to be read twice
        rankings = Rankings(run, judgments)
    except MultiAspectError as error:
        raise MultiAspectError(f"run {name}: {error}") from None
    if not rankings.n_common:
        raise MultiAspectError(
            f"run {name} has no query in common with the qrels, whose queries are such as "
            f"{choices(judgments.qids[:3])}; the run's are such as "
            f"{choices(run_frame(run)['query_id'].unique()[:3])}"
        )
    return run, rankings
