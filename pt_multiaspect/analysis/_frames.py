"""Long frames, checked and as arrays."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..collection.columns import check_distinct_columns
from ..errors import MultiAspectError, choices, counted
from ..integration.labels import lower_is_better, recorded

__all__ = [
    "COLUMNS",
    "Floats",
    "check_between",
    "check_choice",
    "check_count",
    "check_seed",
    "directions",
    "matrix",
]

Floats = npt.NDArray[np.float64]

COLUMNS = ["name", "qid", "measure", "value"]

_KEYS = COLUMNS[:3]


def matrix(perquery: pd.DataFrame, *, as_given: bool = False) -> tuple[Floats, list[Any], list[Any], list[Any]]:
    """Turn a complete long frame into an array.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return.
    as_given : bool, default False
        Whether systems and queries stay in the order in which they come in the frame. By default they are
        sorted, as text, so that seeded draws and sums do not depend on the order of rows.

    Returns
    -------
    values : ndarray, systems × queries × measures
    names, qids, measures : list
        What the axes stand for; measures are in the order in which they come in the frame.

    Raises
    ------
    MultiAspectError
        If a column is missing, a value is no finite number, a row is there twice, there are fewer
        than two systems or topics, or a system lacks a measure or a topic that others have.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [["a", "q1", "AP", 0.5], ["a", "q2", "AP", 0.25], ["b", "q1", "AP", 1.0], ["b", "q2", "AP", 0.0]]
    >>> values, names, qids, measures = matrix(pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]))
    >>> values[:, :, 0]
    array([[0.5 , 0.25],
           [1.  , 0.  ]])
    >>> names, qids, measures
    (['a', 'b'], ['q1', 'q2'], ['AP'])
    """
    if not isinstance(perquery, pd.DataFrame):
        raise MultiAspectError(
            f"a long frame is a DataFrame with the columns {choices(COLUMNS)}, not a {type(perquery).__name__}"
        )
    missing = [column for column in COLUMNS if column not in perquery.columns]
    if missing:
        raise MultiAspectError(
            f"a long frame has the columns {choices(COLUMNS)}; {choices(missing)} is missing among "
            f"{choices(perquery.columns)} (pt.Experiment returns one with perquery=True)"
        )
    check_distinct_columns(perquery, "a long frame")
    if perquery.empty:
        raise MultiAspectError("the long frame has no rows")
    codes, levels = zip(*(_levels(perquery[column]) for column in _KEYS), strict=True)
    values = _numbers(perquery)
    names, qids, measures = levels
    if len(names) < 2:
        raise MultiAspectError(f"at least two systems are compared, but there is only {names[0]}")
    if len(qids) < 2:
        raise MultiAspectError(f"at least two topics are needed, but there is only {qids[0]}")
    shape = (len(names), len(qids), len(measures))
    cells = np.ravel_multi_index((codes[0], codes[1], codes[2]), shape)
    times = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
    _check_complete(times, names, qids, measures)
    result = np.empty(shape)
    result.reshape(-1)[cells] = values
    if as_given:
        return result, names, qids, measures
    systems, queries = (sorted(range(len(level)), key=lambda i: str(level[i])) for level in (names, qids))
    return result[np.ix_(systems, queries)], [names[i] for i in systems], [qids[i] for i in queries], measures


def directions(perquery: pd.DataFrame, values: Floats, measures: list[Any]) -> Floats:
    """Tell by which sign greater values of each measure become better ones.

    Parameters
    ----------
    perquery : DataFrame
        The long frame, by whose record or names the measures are known.
    values : ndarray, systems × queries × measures
        Its values.
    measures : list
        The labels of the last axis.

    Returns
    -------
    ndarray, shape (n_measures,)
        −1 if lower is better, else 1; 1 for measures nobody knows.

    Raises
    ------
    MultiAspectError
        If a measure of which lower is better, and which is never negative, has negative values: somebody has
        changed their sign already.
    """
    known = recorded(perquery)
    signs = np.ones(len(measures))
    for place, label in enumerate(measures):
        measure = known[str(label)]
        if lower_is_better(measure):
            signs[place] = -1.0
            if getattr(measure, "RANGE", (0.0,))[0] >= 0 and (values[:, :, place] < 0).any():
                raise MultiAspectError(
                    f"{label} has negative values, but {measure} is never negative: lower values are better, and "
                    "the sign is changed here; give the values as they are, or another label"
                )
    return signs


def _levels(column: pd.Series[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """A code per cell, and what the codes stand for."""
    try:
        code, level = pd.factorize(column)
    except TypeError as error:
        raise MultiAspectError(f"the column {column.name} has a cell that is no name: {error}") from None
    if (code < 0).any():
        raise MultiAspectError(
            f"the column {column.name} has an empty cell {counted(int((code < 0).sum()), 'cell')}"
        )
    names: dict[str, Any] = {}
    for name in level.tolist():
        other = names.setdefault(str(name), name)
        if other is not name:
            raise MultiAspectError(
                f"the column {column.name} has {other!r} and {name!r}, of different types but the same name; "
                f"make them one, as by astype(str)"
            )
    return np.asarray(code, dtype=np.intp), level.tolist()


def _numbers(perquery: pd.DataFrame) -> Floats:
    if getattr(perquery["value"].dtype, "kind", "O") in "mMc":
        raise MultiAspectError(f"the column value has the type {perquery['value'].dtype}; values are numbers")
    try:
        values = perquery["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"the column value has a cell that is no number: {error}") from None
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        name, qid, measure = perquery[_KEYS].to_numpy(dtype=object)[wrong[0]]
        raise MultiAspectError(
            f"{measure} of system {name} on topic {qid} is {values[wrong[0]]:g}, no finite number "
            f"{counted(wrong.size, 'value')}"
        )
    return np.asarray(values, dtype=np.float64)


def _check_complete(times: npt.NDArray[np.intp], names: list[Any], qids: list[Any], measures: list[Any]) -> None:
    """Every system has every measure on every topic once."""
    twice = np.argwhere(times > 1)
    if len(twice):
        system, query, measure = twice[0]
        raise MultiAspectError(
            f"{measures[measure]} of system {names[system]} on topic {qids[query]} is there "
            f"{times[tuple(twice[0])]} times {counted(len(twice), 'cell')}; "
            f"every system needs a name of its own, as by pt.Experiment(names=[...])"
        )
    any_topic = np.asarray(times.max(axis=1) > 0)
    lacking = np.argwhere(~any_topic)
    if len(lacking):
        system, measure = lacking[0]
        has = [name for name, there in zip(names, any_topic[:, measure], strict=True) if there]
        raise MultiAspectError(
            f"system {names[system]} has no value of {measures[measure]}, but {choices(has[:3])} "
            f"{'has' if len(has) == 1 else 'have'} {counted(len(lacking), 'gap')}"
        )
    gaps = np.argwhere(times == 0)
    if len(gaps):
        system, query, measure = gaps[0]
        raise MultiAspectError(
            f"systems have unequal sets of topics: {names[system]} has no {measures[measure]} on topic "
            f"{qids[query]}, which others have {counted(len(gaps), 'gap')}; pt_multiaspect.evaluate counts the "
            f"topics that a run misses as empty rankings, or keep only the topics that all have"
        )


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise if a parameter is none of the strings allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise MultiAspectError(f"{name} is one of {choices(allowed)}, not {value!r}")


def check_count(name: str, value: object) -> int:
    """Return a parameter that counts something, at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise MultiAspectError(f"{name} is a whole number of at least 1, not {value!r}")
    return int(value)


def check_seed(value: object) -> int:
    """Return a seed, at least 0."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise MultiAspectError(f"seed is a whole number of at least 0, not {value!r}")
    return int(value)


def check_between(name: str, value: object) -> float:
    """Return a parameter that lies strictly between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise MultiAspectError(f"{name} is a number between 0 and 1, both excluded, not {value!r}")
    return float(value)
