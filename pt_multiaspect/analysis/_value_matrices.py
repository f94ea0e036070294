"""Validation of long frames, and their conversion to arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import ir_measures
import numpy as np
import numpy.typing as npt
import pandas as pd

from .._typing import Floats
from .._validation import real
from ..errors import (
    MultiAspectError,
    choices,
    parameter,
    refuse_none,
    refuse_single,
    refuse_unknown,
    shown,
    tally,
)
from ..evaluation.long_frames import (
    KEYS,
    check_filled,
    find_label,
    find_labels,
    measures_by_label,
    read_long_frame,
    warn_of_unknown_labels,
    without_attrs,
)
from ..integration.aggregators import lower_is_better
from ..integration.parsing import find_measures, parse_all


@dataclass(frozen=True)
class Direction:
    """The direction of a measure that is known by its direction only."""

    lower_is_better: bool
    RANGE: ClassVar[tuple[float, float]] = (-np.inf, np.inf)


_DIRECTIONS = {"higher": Direction(False), "lower": Direction(True)}


def matrix(
    perquery: pd.DataFrame, *, as_given: bool = False, least: int = 2, gap_remedy: str | None = None
) -> tuple[Floats, list[Any], list[Any], list[Any]]:
    """Convert a complete long frame to an array.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return.
    as_given : bool, default False
        Whether systems and queries keep the order of their first rows in the frame. By default,
        they are sorted as text, so that seeded draws and sums do not depend on the order of rows.
    least : int, default 2
        Minimum number of systems and of topics, 1 or 2.
    gap_remedy : str, optional
        What to do, besides leaving topics out, about a system that lacks a topic that others have.
        By default, it depends on whether the measures are of rankings.

    Returns
    -------
    values : ndarray, systems × queries × measures
    names, qids, measures : list
        Labels of the axes; measures are in the order of their first rows in the frame.

    Raises
    ------
    MultiAspectError
        If a column is missing, a value is not a finite number, a row is duplicated, there are fewer
        than `least` systems or topics, or a system lacks a measure or a topic that others have.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [["a", "q1", 0.5], ["a", "q2", 0.25], ["b", "q1", 1.0], ["b", "q2", 0.0]]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "value"]).assign(measure="AP")
    >>> values, names, qids, measures = matrix(perquery)
    >>> values[:, :, 0]
    array([[0.5 , 0.25],
           [1.  , 0.  ]])
    >>> names, qids, measures
    (['a', 'b'], ['q1', 'q2'], ['AP'])
    """
    perquery = without_attrs(read_long_frame(perquery))
    refuse_none(perquery, "row in the long frame")
    system, names = _codes_and_labels(perquery["name"])
    topic, qids = _codes_and_labels(perquery["qid"])
    measure, measures = _codes_and_labels(perquery["measure"])
    values = _read_values(perquery)
    if least > 1:
        refuse_single(names, "systems")
        refuse_single(qids, "topics")

    # Each row of the frame is a value of one cell of systems × topics × measures.
    shape = (len(names), len(qids), len(measures))
    n_cells = int(np.prod(shape))
    cell_of_row = np.ravel_multi_index((system, topic, measure), shape)
    n_values = np.bincount(cell_of_row, minlength=n_cells).reshape(shape)
    _check_complete(n_values, names, qids, measures, gap_remedy)
    cells = np.empty(n_cells)
    cells[cell_of_row] = values
    array = cells.reshape(shape)
    if as_given:
        return array, names, qids, measures

    system_order = _order_as_text(names)
    topic_order = _order_as_text(qids)
    sorted_array = array[np.ix_(system_order, topic_order)]
    sorted_names = [names[row] for row in system_order]
    sorted_qids = [qids[row] for row in topic_order]
    return sorted_array, sorted_names, sorted_qids, measures


def _order_as_text(labels: list[Any]) -> list[int]:
    """Return the positions of labels in the order of their texts."""
    texts = list(map(str, labels))
    return sorted(range(len(texts)), key=texts.__getitem__)


def select_measures(
    perquery: pd.DataFrame, measures: object
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of some measures of a long frame, and the measures or directions of labels.

    Parameters
    ----------
    perquery : DataFrame
        The long frame.
    measures : None, sequence of measures or str, or mapping of str to measure or str
        The measures to keep; None for all. A mapping ``{alias: measure}`` says which measures the
        names refer to, or whether 'higher' or 'lower' is better.

    Returns
    -------
    perquery, by_label : DataFrame, dict
        The rows, and the measures or directions that `measures` contains, by label.

    Raises
    ------
    MultiAspectError
        If a measure is not in the frame.
    """
    if measures is None:
        return perquery, {}
    if isinstance(measures, Mapping):
        by_label = _measures_by_label(perquery, measures)
        return rows_of_measures(perquery, list(by_label)), by_label
    if isinstance(measures, str) or not isinstance(measures, Sequence):
        raise MultiAspectError(
            "measures: expected a list of measures of the frame, or a mapping {alias: measure}, "
            f"got {shown(measures)}"
        )
    refuse_none(measures, "measure of the frame", "measures")
    labels = find_labels(perquery, measures)
    # Names are only labels: the measures that they stand for are in the record of the frame.
    by_label = {}
    for label, measure in zip(labels, measures, strict=True):
        if not isinstance(measure, str):
            by_label[label] = measure
    distinct_labels = list(dict.fromkeys(labels))
    return rows_of_measures(perquery, distinct_labels), by_label


def _measures_by_label(perquery: pd.DataFrame, measures: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the measures or directions of a mapping by the labels of the frame."""
    # The keys of the mapping may be other spellings of the labels. The values are 'higher' or
    # 'lower', which are declared directions, or measures.
    direction_of_key, measure_of_key = read_directions(measures)
    labels = find_labels(perquery, measures)  # one per key
    by_label: dict[str, Any] = {}
    for label, key in zip(labels, measures, strict=True):
        if key in direction_of_key:
            by_label[label] = direction_of_key[key]
        else:
            by_label[label] = measure_of_key[key]
    return by_label


@dataclass(frozen=True)
class OrientedValues:
    """The values of measures of a long frame, multiplied by −1 if lower is better."""

    #: systems × topics × measures
    values: Floats
    #: −1 for measures of which lower is better, else 1.
    signs: Floats
    names: list[Any]
    qids: list[Any]
    labels: list[Any]
    #: Measures or directions by label, None if unknown.
    known: dict[str, Any]


def read_oriented(
    perquery: pd.DataFrame, measures: object, function: str, *, as_given: bool = False
) -> OrientedValues:
    """Convert some measures of a long frame to an array in which higher is better.

    See `select_measures`, `matrix` and `directions`.
    """
    rows, by_label = select_measures(perquery, measures)
    values, names, qids, labels = matrix(rows, as_given=as_given)
    known = _known_measures(rows, labels, by_label)
    signs = directions(rows, values, labels, known, function)
    return OrientedValues(values * signs, signs, names, qids, labels, known)


class ValuesByMeasure:
    """The values of measures of a long frame, each converted to an array once.

    Measures may have different topics, but must have the same systems.

    Parameters
    ----------
    perquery : DataFrame
        The long frame.
    known : mapping
        The measures to read, by label: measures, directions, or None if unknown.
    """

    def __init__(self, perquery: pd.DataFrame, known: Mapping[str, Any]) -> None:
        self.known = known
        labels = list(known)
        self._rows = rows_of_measures(perquery, labels)
        #: The systems, which are the same for all measures.
        self._names: list[Any] = []
        #: By label: the values, systems × topics × 1, and the topics.
        self._arrays: dict[str, tuple[Floats, list[Any]]] = {}
        if topics_differ(self._rows):
            for label in labels:
                self._convert([label])
        else:
            self._convert(labels)

    def _convert(self, labels: list[str]) -> None:
        """Convert the values of measures with the same topics to arrays, and remember these."""
        values, names, qids, _ = matrix(rows_of_measures(self._rows, labels))
        self._check_names(names, labels)
        self._names = names
        for column, label in enumerate(labels):
            values_of_measure = values[:, :, [column]]  # systems × topics × 1
            self._arrays[label] = values_of_measure, qids

    def _check_names(self, names: list[Any], labels: Sequence[str]) -> None:
        """Check that some measures have values of the same systems as those before."""
        is_first = not self._names
        if is_first or names == self._names:
            return
        measures = choices(labels)
        expected = choices(self._names)
        got = choices(names)
        raise MultiAspectError(
            f"expected values of {measures} for the systems {expected}, got those of {got}"
        )

    def select(self, labels: Sequence[str], function: str | None = None) -> OrientedValues:
        """Return the values of some measures, which must have the same topics.

        Parameters
        ----------
        labels : sequence of str
            The measures.
        function : str, optional
            If given, directions are checked for this caller, as by `check_directions`.
        """
        values, qids = self._join(labels)
        known = {label: self.known[label] for label in labels}
        if function is not None:
            check_directions(self._rows, values, list(labels), known, function)
        signs = np.array([_sign(measure) for measure in known.values()])
        return OrientedValues(
            values=values * signs,
            signs=signs,
            names=self._names,
            qids=qids,
            labels=list(labels),
            known=known,
        )

    def _join(self, labels: Sequence[str]) -> tuple[Floats, list[Any]]:
        """Return the values of some measures, systems × topics × measures, and their topics."""
        _, qids_of_first = self._arrays[labels[0]]
        arrays = []
        for label in labels:
            array, qids = self._arrays[label]
            if qids != qids_of_first:
                # An array of different topics is refused, with an error that says what is missing.
                return self._convert_together(labels)
            arrays.append(array)
        return np.concatenate(arrays, axis=2), qids_of_first

    def _convert_together(self, labels: Sequence[str]) -> tuple[Floats, list[Any]]:
        """Convert the values of some measures to one array, systems × topics × measures."""
        values, _, qids, _ = matrix(rows_of_measures(self._rows, labels))
        return values, qids


def _known_measures(
    perquery: pd.DataFrame, labels: list[Any], by_label: Mapping[str, Any]
) -> dict[str, Any]:
    """Return measures or directions by label: those given, then those recorded or named."""
    is_all_given = set(map(str, labels)) <= set(by_label)
    if is_all_given:
        return dict(by_label)
    return {**measures_by_label(perquery), **by_label}


def _sign(measure: Any) -> float:
    """Return −1 for a measure of which lower is better, else 1."""
    if lower_is_better(measure):
        return -1.0
    return 1.0


def read_directions(
    measures: Mapping[Any, Any],
) -> tuple[dict[str, Direction], dict[str, ir_measures.Measure]]:
    """Return the labels that a mapping declares as 'higher' or 'lower', and the other measures."""
    declared: dict[str, Direction] = {}
    others = {}
    for label, measure in measures.items():
        is_text = isinstance(label, str) and isinstance(measure, str)
        if is_text and measure in _DIRECTIONS:
            declared[label] = _DIRECTIONS[measure]
        else:
            others[label] = measure
    has_only_directions = len(declared) > 0 and not others
    if has_only_directions:
        return declared, {}
    # An empty mapping is an error there.
    return declared, parse_all(others)


def read_differences(given: object, labels: Sequence[str], name: str) -> dict[str, float] | None:
    """Return a difference of means by measure, given one for all or a mapping; None if not given.

    Parameters
    ----------
    given : object
        What a user gave: a number above 0, or a mapping of measures to such numbers.
    labels : sequence of str
        The labels of the measures.
    name : str
        The name of the parameter.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        check = real(name, low=0, open_low=True)
        difference = check(given)
        return dict.fromkeys(labels, difference)
    differences = {}
    for label, number in _numbers_by_label(given, labels, name).items():
        check = real(f"{name}: {label}", low=0, open_low=True)
        differences[label] = check(number)
    return differences


def _numbers_by_label(
    number_by_measure: Mapping[Any, Any], labels: Sequence[str], name: str
) -> dict[str, Any]:
    """Return a mapping whose keys are measures or their spellings by the labels of these.

    Each key must stand for one of the labels, and each label have a key. `name` is that of the
    parameter, for errors.
    """
    labels_only = dict.fromkeys(labels)  # the measure of each label is not known: None
    number_of_label = {}
    for measure, number in number_by_measure.items():
        label = find_label(labels_only, measure)
        number_of_label[label] = number
    refuse_unknown(number_of_label, labels, "measures", name)  # keys that are no label
    refuse_unknown(labels, number_of_label, "one difference per measure", name)  # without a key
    return number_of_label


def rows_of_measures(perquery: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return the rows of some measures of a long frame, whose labels become strings.

    Parameters
    ----------
    perquery : DataFrame
        The long frame. A frame that `matrix` rejects is returned unchanged.
    labels : sequence of str
        The measures; the rows are in their order.

    Returns
    -------
    DataFrame
        With the record of the measures.

    Raises
    ------
    MultiAspectError
        If a measure is not in the frame.
    """
    if not isinstance(perquery, pd.DataFrame) or perquery.empty:
        return perquery
    n_measure_columns = list(perquery.columns).count("measure")
    if n_measure_columns != 1:
        return perquery
    names = perquery["measure"].map(str)
    refuse_unknown(labels, names.unique(), "measures of the frame")
    rows_by_label = [np.zeros(0, dtype=np.intp)]  # so that no labels select no rows
    for label in labels:
        has_label = (names == label).to_numpy()
        rows_by_label.append(np.flatnonzero(has_label))
    rows = np.concatenate(rows_by_label)
    return perquery.assign(measure=names).iloc[rows]


def directions(
    perquery: pd.DataFrame,
    values: Floats,
    measures: list[Any],
    by_label: Mapping[str, Any],
    function: str,
) -> Floats:
    """Return the sign of each measure: values multiplied by it are higher-is-better.

    For functions that compare systems by any label of a long frame, where a direction must not be
    assumed silently. Where the measure itself is known, use `lower_is_better`.

    Parameters
    ----------
    perquery : DataFrame
        The long frame; its record, or the measures' names, identify the measures.
    values : ndarray, systems × queries × measures
        The values of the frame.
    measures : list
        The labels of the last axis.
    by_label : mapping
        Measures or directions by label, which precede the record and the names.
    function : str
        The name of the caller, for the warning.

    Returns
    -------
    ndarray, shape (n_measures,)
        −1 if lower is better, else 1; 1 for unknown measures.

    Raises
    ------
    MultiAspectError
        If a non-negative measure for which lower is better has negative values, whose sign was
        therefore changed before.

    Warns
    -----
    MultiAspectWarning
        If labels are neither in `by_label` nor recorded nor names of measures, so that higher is
        assumed to be better.
    """
    known = _known_measures(perquery, measures, by_label)
    check_directions(perquery, values, measures, known, function)
    return np.array([_sign(known[str(label)]) for label in measures])


def check_directions(
    perquery: pd.DataFrame,
    values: Floats,
    measures: list[Any],
    known: Mapping[str, Any],
    function: str,
) -> None:
    """Warn of labels of unknown measures, and raise an error for values that were negated.

    See `directions`.
    """
    labels = list(map(str, measures))
    warn_of_unknown_labels(function, perquery, known, labels, "higher is assumed to be better")
    for column, label in enumerate(labels):
        measure = known[label]
        if not lower_is_better(measure) or _can_be_negative(measure):
            continue
        has_negative_values = (values[:, :, column] < 0).any()
        if has_negative_values:
            raise MultiAspectError(
                f"expected non-negative values for {label}, as {measure} is never negative, got "
                "negative ones. Lower is better for this measure, which is taken into account: do "
                "not negate the values, or use another label"
            )


def _can_be_negative(measure: Any) -> bool:
    """Return whether a measure has negative values; only measures of this package state a range."""
    lowest, *_ = getattr(measure, "RANGE", (0.0,))
    return bool(lowest < 0)


def _codes_and_labels(column: pd.Series[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """Return a code per cell, and the label of each code."""
    try:
        codes, distinct = pd.factorize(column)
    except TypeError as error:
        raise MultiAspectError(f"invalid label in the column {column.name}: {error}") from None
    labels = distinct.tolist()
    label_of_text: dict[str, Any] = {}
    for label in labels:
        first = label_of_text.setdefault(str(label), label)
        if first is not label:
            raise MultiAspectError(
                f"the column {column.name} has {first!r} and {label!r}, of different types but the "
                "same name; convert the column, for example with astype(str)"
            )
    return np.asarray(codes, dtype=np.intp), labels


def _read_values(perquery: pd.DataFrame) -> Floats:
    """Return the values of a long frame, after checking that they are finite."""
    values: Floats = perquery["value"].to_numpy()
    not_finite = np.flatnonzero(~np.isfinite(values))
    if len(not_finite):
        row = not_finite[0]
        name, qid, measure = perquery[KEYS].to_numpy(dtype=object)[row]
        number = tally(len(not_finite), "value")
        raise MultiAspectError(
            f"expected finite values, got {values[row]:g} for {measure} of system {name} on topic "
            f"{qid} {number}; leave out topics without judgments, to which pt.Experiment gives NaN"
        )
    return values


def _check_complete(
    n_values: npt.NDArray[np.intp],
    names: list[Any],
    qids: list[Any],
    measures: list[Any],
    gap_remedy: str | None,
) -> None:
    """Check that each system has exactly one value of each measure on each topic.

    Parameters
    ----------
    n_values : ndarray of int, systems × topics × measures
        The number of values of each cell.
    names, qids, measures : list
        The labels of the axes.
    gap_remedy : str, optional
        What to do about gaps, for the error.
    """
    _check_unique(n_values, names, qids, measures)
    _check_measures_of_systems(n_values, names, measures)
    _check_topics_of_measures(n_values, qids, measures)
    gaps = np.argwhere(n_values == 0)
    if len(gaps) == 0:
        return
    system, topic, measure = gaps[0]
    if gap_remedy is None:
        gap_remedy = _remedy_of_gaps(measures)
    number = tally(len(gaps), "gap")
    raise MultiAspectError(
        f"systems have different sets of topics: {names[system]} has no {measures[measure]} on "
        f"topic {qids[topic]}, which others have {number}; {gap_remedy}, or keep only the topics "
        "that all systems have"
    )


def _check_unique(
    n_values: npt.NDArray[np.intp], names: list[Any], qids: list[Any], measures: list[Any]
) -> None:
    """Check that no cell, systems × topics × measures, has several values."""
    repeated_cells = np.argwhere(n_values > 1)
    if len(repeated_cells) == 0:
        return
    # The error shows the first of these cells, and how many there are: "got 2 (5 such cells in
    # all)".
    system, topic, measure = repeated_cells[0]
    n_in_cell = n_values[system, topic, measure]
    n_such_cells = tally(len(repeated_cells), "cell")
    raise MultiAspectError(
        f"expected one value of {measures[measure]} for system {names[system]} on topic "
        f"{qids[topic]}, got {n_in_cell} {n_such_cells}; give each system its own name, as in "
        "pt.Experiment(names=[...])"
    )


def _check_measures_of_systems(
    n_values: npt.NDArray[np.intp], names: list[Any], measures: list[Any]
) -> None:
    """Check that each system has values of each measure."""
    has_measure = np.asarray(n_values.max(axis=1) > 0)  # systems × measures
    gaps = np.argwhere(~has_measure)
    if len(gaps) == 0:
        return
    system, measure = gaps[0]
    others = [names[row] for row in np.flatnonzero(has_measure[:, measure])]
    if len(others) == 1:
        verb = "has"
    else:
        verb = "have"
    examples = choices(others[:3])
    number = tally(len(gaps), "gap")
    raise MultiAspectError(
        f"system {names[system]} has no value of {measures[measure]}, but {examples} {verb} "
        f"{number}"
    )


def _check_topics_of_measures(
    n_values: npt.NDArray[np.intp], qids: list[Any], measures: list[Any]
) -> None:
    """Check that each measure has values on each topic."""
    is_empty = n_values.max(axis=0) == 0  # topics × measures
    gaps = np.argwhere(is_empty)
    if len(gaps) == 0:
        return
    topic, measure = gaps[0]
    number = tally(len(gaps), "gap")
    remedy = parameter("average_over", "judged")
    raise MultiAspectError(
        f"measures have different sets of topics: no system has {measures[measure]} on topic "
        f"{qids[topic]} {number}; evaluate with {remedy}, or give the measures one at a time"
    )


def _remedy_of_gaps(measures: list[Any]) -> str:
    """Return what to do about topics that a system lacks."""
    if all(find_measures(str(label)) for label in measures):
        return "use pt_multiaspect.evaluate, which scores missing topics as empty rankings"
    # Labels without a measure, such as criteria, have gaps where a label is missing.
    return "add the missing values"


def matrices(perquery: pd.DataFrame, *, least: int = 2) -> tuple[list[Any], dict[Any, Floats]]:
    """Convert a long frame to one array per measure.

    Parameters
    ----------
    perquery : DataFrame
        As for `matrix`, but measures may have different topics.
    least : int, default 2
        Minimum number of systems, and of topics of each measure, 1 or 2.

    Returns
    -------
    names : list
        The systems, in the order of their first rows in the frame.
    values : dict of measure to ndarray, systems × topics of the measure
        In the order of the frame.

    Raises
    ------
    MultiAspectError
        As for `matrix`, if the systems of one measure have different topics, or lack a measure that
        others have.
    """
    array_of_measure: dict[Any, Floats] = {}
    if not topics_differ(perquery):
        values, names, _, measures = matrix(perquery, as_given=True, least=least)
        for column, measure in enumerate(measures):
            array_of_measure[measure] = values[:, :, column]
        return names, array_of_measure
    names = perquery["name"].unique().tolist()
    for measure, rows in by_measure(perquery):
        values, own_names, _, _ = matrix(rows, as_given=True, least=least)
        missing_names = [name for name in names if name not in own_names]
        if missing_names:
            raise MultiAspectError(
                f"system {missing_names[0]} has no value of {measure}, but {own_names[0]} has"
            )
        order = [own_names.index(name) for name in names]
        array_of_measure[measure] = values[order, :, 0]
    return names, array_of_measure


def by_measure(perquery: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield each measure of a long frame and its rows; every row must have a measure."""
    check_filled(perquery, ["measure"])  # groupby would leave these rows out
    yield from perquery.groupby("measure", sort=False, observed=True)


def topics_differ(perquery: object) -> bool:
    """Return whether the measures of a long frame have different topics.

    False for frames that `matrix` rejects.
    """
    if not isinstance(perquery, pd.DataFrame):
        return False
    has_columns = "measure" in perquery.columns and "qid" in perquery.columns
    if not has_columns:
        return False
    try:
        pairs = perquery[["measure", "qid"]].drop_duplicates()
    except TypeError:  # labels that are not hashable
        return False
    n_measures = pairs["measure"].nunique()
    n_topics = pairs["qid"].nunique()
    return bool(len(pairs) < n_measures * n_topics)
