"""Detect swapped arguments: runs given as qrels, and qrels as runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from ..collection.frames import is_frame
from ..collection.judgments import Judgments
from ..collection.overlap import are_grades
from ..errors import SWAPPED, MultiAspectError, silenced
from .runs import named_runs, read_table
from .trec_files import read_qrels

__all__ = ["asks_whether_swapped"]

#: More keys are rather the documents of a query than the aspects of a document.
_USUAL_ASPECTS = 20

_P = ParamSpec("_P")
_R = TypeVar("_R")


def asks_whether_swapped(
    runs: str = "runs", qrels: str = "qrels"
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function so that its errors ask whether two arguments are swapped, if they can be read as such.

    Parameters
    ----------
    runs, qrels : str
        The names of the parameters.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def asking(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            except MultiAspectError as error:
                arguments = inspect.signature(function).bind(*args, **kwargs).arguments
                if SWAPPED in str(error) or not _are_swapped(arguments.get(runs), arguments.get(qrels)):
                    raise
                error.args = (f"{str(error).rstrip('.')}. {SWAPPED}",)
                raise

        return asking

    return decorate


def _are_swapped(runs: object, qrels: object) -> bool:
    """Return whether the runs can be read as qrels with grades, and the qrels as runs of the same queries."""
    try:
        if any(argument is None or _is_read_once(argument) for argument in (runs, qrels)):
            return False
        with silenced():
            judged = _as_judgments(runs)
            name, run = next(iter(named_runs(qrels).items()))
            if _is_read_once(run):
                return False
            table = read_table(name, run)
            if not (judged.queries_of(table.qids) >= 0).any():
                return False
            return all(are_grades(judged.labels(name)) for name in judged.label_names)
    except Exception:  # of whatever they are instead
        return False


def _is_read_once(obj: object) -> bool:
    """Return whether an object is empty after it was read."""
    return isinstance(obj, Iterator) or (is_frame(obj) and not hasattr(obj, "columns"))


def _as_judgments(runs: Any) -> Judgments:
    """Read the argument for runs as qrels: alone, in a list or by name."""
    if isinstance(runs, Judgments) or is_frame(runs):
        return Judgments.of(runs)
    if isinstance(runs, str | PathLike):
        return Judgments(read_qrels(runs))
    if isinstance(runs, Mapping) and not isinstance(runs, dict):
        raise MultiAspectError("its values may take long to read")
    values = list(runs.values() if isinstance(runs, dict) else runs)
    if any(map(_is_read_once, values)):
        raise MultiAspectError("expected an object that can be read repeatedly")
    if len(values) == 1 and (is_frame(values[0]) or isinstance(values[0], str | PathLike | Judgments | Mapping)):
        try:
            return _as_judgments(values[0])
        except MultiAspectError:  # a single query
            pass
    of_first = list(values[0].values()) if values and isinstance(values[0], Mapping) else []
    if of_first and isinstance(of_first[0], Mapping) and len(of_first[0]) > _USUAL_ASPECTS:
        raise MultiAspectError("several runs, whose documents would become aspects")
    return Judgments(runs)
