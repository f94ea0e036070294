"""Long frames: one row per run, topic and measure, and the measures that their labels refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..bases.strings import with_quotes
from ..collection.columns import check_distinct_columns
from ..collection.other_libraries import as_pandas, is_frame, to_pandas
from ..errors import (
    MultiAspectError,
    choices,
    cut,
    in_shell,
    number_of,
    parameter,
    tally,
    warn_once,
)
from ..integration.aggregators import lower_is_better
from ..integration.parsing import UNIT_SCORE, MeasureName, find_measures, parse_all, read_record

#: The columns of a long frame, and those that identify a value.
COLUMNS = ["name", "qid", "measure", "value"]
KEYS = COLUMNS[:3]


def read_long_frame(perquery: object) -> pd.DataFrame:
    """Return a long frame with names as objects, values as floats, and rows numbered from 0.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``, also read from a file, in any
        library; or the pair that ``pt.Experiment(perquery="both")`` returns.

    Returns
    -------
    DataFrame
        With the record of the measures and further columns. Systems may have different topics.

    Raises
    ------
    MultiAspectError
        If a column is missing or repeated, a name is empty, or a value is not a number.
    """
    frame = to_pandas(_per_query_part(perquery))
    if frame is None:
        raise MultiAspectError(
            f"expected a long frame with the columns {choices(COLUMNS)}, got "
            f"{type(perquery).__name__}"
        )
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise MultiAspectError(
            f"expected a long frame with the columns {choices(COLUMNS)}, got "
            f"{choices(frame.columns)} ({choices(missing)} is missing); pass the result of "
            "pt.Experiment(perquery=True) or pt_multiaspect.evaluate"
        )
    check_distinct_columns(frame, "a long frame")
    record = dict(frame.attrs)
    frame = without_attrs(frame)
    check_filled(frame, KEYS)
    # Groups of categories include those without rows in pandas 2.
    names = {column: frame[column].astype(object) for column in KEYS}
    result = frame.assign(**names, value=_float_values(frame)).reset_index(drop=True)
    result.attrs = record
    return result


def _per_query_part(results: object) -> object:
    """Return the values per topic of the pair of ``pt.Experiment(perquery="both")``."""
    if isinstance(results, tuple) and len(results) == 2:
        return results[1]
    return results


def without_attrs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without its record of measures, which pandas copies in every operation."""
    result = frame.copy(deep=False)
    result.attrs = {}
    return result


def is_long_frame(runs: object) -> bool:
    """Return whether runs are values per topic, as a frame or as a pair of PyTerrier."""
    frame = _per_query_part(runs)
    if not is_frame(frame):
        return False
    columns = getattr(as_pandas(frame), "columns", ())
    return set(COLUMNS) <= {str(column) for column in columns}


def read_named_values(values: object) -> pd.DataFrame:
    """Return a long frame whose names are strings."""
    perquery = read_long_frame(values)
    return perquery.assign(**{column: perquery[column].map(str) for column in KEYS})


def _float_values(perquery: pd.DataFrame) -> Floats:
    """Return the values of a long frame as floats.

    Raises
    ------
    MultiAspectError
        If they are not numbers.
    """
    column = perquery["value"]
    if getattr(column.dtype, "kind", "O") in "mMc":
        raise MultiAspectError(f"expected numbers in the column value, got {column.dtype}")
    try:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"expected numbers in the column value: {error}") from None


def drop_missing(perquery: pd.DataFrame, caller: str) -> pd.DataFrame:
    """Warn, in the name of the caller, about values that are NaN, and leave them out."""
    missing = perquery[perquery["value"].isna()]
    if not len(missing):
        return perquery
    if len(missing) == len(perquery):
        raise MultiAspectError(
            "expected at least one value, got NaN only: do the topics have judgments?"
        )
    shown = []
    for qid, rows in islice(missing.groupby("qid", sort=False), 3):
        shown.append(f"topic {qid} ({_cells_in_words(rows)})")
    more = ""
    n_topics = missing["qid"].nunique()
    if n_topics > len(shown):
        more = f" and {n_topics - len(shown)} more"
    are = "are"
    if len(missing) == 1:
        are = "is"
    warn_once(
        f"{caller}: {number_of(len(missing), 'value')} {are} NaN and left out: {choices(shown)}"
        f"{more}. PyTerrier returns NaN for topics without judgments; remove such rows by "
        "perquery.dropna(subset=['value'])"
    )
    return perquery.dropna(subset=["value"])


def _cells_in_words(rows: pd.DataFrame) -> str:
    """Return the measures and runs of the first three rows."""
    cells: list[str] = []
    for measure, name in zip(rows["measure"][:3], rows["name"][:3], strict=True):
        cells.append(f"{measure} of {cut(name, 40)}")
    if len(rows) > 3:
        cells.append("…")
    return choices(cells)


def check_filled(perquery: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise an error for empty cells in columns of names.

    pandas reads texts such as NA in files as empty.
    """
    for column in columns:
        empty = int(perquery[column].isna().sum())
        if empty:
            raise MultiAspectError(
                f"the column {column} has an empty cell {tally(empty, 'cell')}; if names such as "
                "NA or None were read from a file, read it with keep_default_na=False"
            )


def check_distinct(perquery: pd.DataFrame, remedy: str, others: Sequence[str] = ()) -> None:
    """Raise an error with a `remedy` if a run, measure, topic and `others` have several values."""
    keys = ["name", "measure", "qid", *others]
    repeated = perquery[perquery.duplicated(keys)]
    if len(repeated):
        name, measure, qid, *cells = repeated[keys].iloc[0]
        within = "".join(f", {key} {value}" for key, value in zip(others, cells, strict=True))
        raise MultiAspectError(
            f"expected one value of {measure} for {name} on topic {qid}{within}, got several "
            f"{tally(len(repeated), 'row')}; {remedy}"
        )


def is_unit_score(perquery: pd.DataFrame, label: str) -> bool:
    """Return whether the frame records no measure of a label, but that values lie in [0, 1]."""
    return bool(read_record(perquery).get(label) == UNIT_SCORE)


def measures_by_label(
    perquery: pd.DataFrame, measures: object = None
) -> dict[str, ir_measures.Measure | None]:
    """Look up the measures of a long frame.

    Parameters
    ----------
    perquery : DataFrame
        A frame with a column ``measure``.
    measures : optional
        Measures in any form accepted by `parse_all`, used instead of the recorded measures.

    Returns
    -------
    dict of str to Measure or None
        The measure of every label of the frame, or None if unknown.

    Raises
    ------
    MultiAspectError
        If `measures` does not contain all labels of the frame.
    """
    labels = [str(label) for label in perquery["measure"].unique()]
    if measures is not None:
        spellings = dict.fromkeys(labels)
        labelled: dict[str, ir_measures.Measure] = {}
        for name, measure in parse_all(measures).items():
            labelled[find_label(spellings, name)] = measure
        check_labels(labels, labelled)
        return {label: labelled[label] for label in labels}
    written = read_record(perquery)
    known: dict[str, ir_measures.Measure | None] = {}
    for label in labels:
        text = written.get(label, label)
        if text in (None, UNIT_SCORE):
            known[label] = None
            continue
        if isinstance(text, MeasureName):
            measure = text.measure
        else:
            measure = find_measure(text)
        if measure is None and label in written:
            warn_once(
                f"{label} is recorded as the measure {text}, which cannot be parsed here. Its "
                f"values are averaged and higher values count as better; {declare_measures()}, or "
                "import or declare what the measure requires"
            )
        known[label] = measure
    return known


def check_labels(labels: Sequence[str], known: Collection[str]) -> None:
    """Raise an error if measures= does not contain all labels of a long frame."""
    missing = [label for label in labels if label not in known]
    if missing:
        raise MultiAspectError(
            f"measures= lacks {choices(missing)}: expected all measures of the long frame "
            f"({choices(labels)}), got {choices(known)}"
        )


def is_measure_name(text: str) -> bool:
    """Return whether a name refers to a measure, or (like "P") to several of one direction."""
    directions = {lower_is_better(measure) for measure in find_measures(text)}
    return len(directions) == 1


def warn_of_unknown_labels(
    caller: str,
    perquery: pd.DataFrame,
    known: Mapping[str, ir_measures.Measure | None],
    labels: Sequence[str],
    consequence: str,
) -> None:
    """Warn once about labels that name no known or recorded measure, and of the consequence."""
    record = read_record(perquery)
    unknown: list[str] = []
    for label in labels:
        if known[label] is None and label not in record and not is_measure_name(label):
            unknown.append(label)
    if not unknown:
        return
    names = "name"
    if len(unknown) == 1:
        names = "names"
    warn_once(
        f"{caller}: {choices(unknown)} {names} no known measure, and the frame has no record of "
        f"the measures: {consequence}; {declare_measures()}"
    )


def declare_measures() -> str:
    """Return how to say which measures names refer to, for messages."""
    if in_shell():
        option = parameter("measures")
        return f"say so by {option} ALIAS=higher, ALIAS=lower or ALIAS=MEASURE"
    return "pass measures={alias: measure}"


def find_measure(text: object) -> ir_measures.Measure | None:
    """Return the measure that a name refers to, or None."""
    members = find_measures(str(text))
    if len(members) == 1:
        return members[0]
    return None


def find_labels(perquery: pd.DataFrame, measures: Iterable[object]) -> list[str]:
    """Return the label in a frame of each measure; see `find_label`."""
    texts = [str(measure) for measure in measures]
    if not isinstance(perquery, pd.DataFrame) or list(perquery.columns).count("measure") != 1:
        return texts
    if {*texts} <= {*map(str, perquery["measure"].unique())}:
        return texts
    known = measures_by_label(perquery)
    return [find_label(known, measure) for measure in measures]


def find_label(known: Mapping[str, ir_measures.Measure | None], measure: object) -> str:
    """Return the label of a measure, given as an object or by a name, in a frame.

    Names are compared as measures.

    Parameters
    ----------
    known : mapping of str to Measure or None
        The measures of the frame by label; None if unknown.
    measure : measure or str
        A label, or a measure in any spelling, also without quotes, such as ``CAM(base=AP)``.

    Returns
    -------
    str
        The label; the text of `measure` if no label, or several, refer to this measure.
    """
    text = str(measure)
    if text in known:
        return text
    meant = find_measures(measure) or find_measures(with_quotes(text))
    if len(meant) != 1:
        return text
    matching: list[str] = []
    for label, recorded in known.items():
        if meant[0] in (recorded, find_measure(label)):
            matching.append(label)
    if len(matching) == 1:
        return matching[0]
    return text


def is_combined(measure: object) -> bool:
    """Return whether a measure combines criteria of an answer."""
    return hasattr(measure, "of_criteria")


def labels_of_answers(measures: Mapping[str, Any]) -> set[str]:
    """Return the labels of measures that combine criteria, which are labels without a measure.

    Beside measures of rankings, only those that name their criteria count as such.
    """
    criteria = {label for label, measure in measures.items() if measure is None}
    combined = [label for label, measure in measures.items() if is_combined(measure)]
    has_rankings = len(criteria) + len(combined) < len(measures)
    labels: set[str] = set()
    for label in combined:
        named = set(measures[label].spec or ())
        if not named and not has_rankings:
            named = criteria
        if named and named <= criteria:
            labels.add(label)
    return labels


def labels_of_aspects(measures: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of each aspect.

    Aspects are those of measures of one aspect, or else the criteria that the first mean combines.
    """
    aspects: dict[str, str] = {}
    first_base = None
    for label, measure in measures.items():
        if getattr(measure, "one_aspect", None):
            base = measure.bases.one
            if first_base is None:
                first_base = base
            if base == first_base:
                aspects.setdefault(measure.one_aspect, label)
    if aspects:
        return aspects
    criteria = [label for label, measure in measures.items() if measure is None]
    means = [measure for measure in measures.values() if is_combined(measure)]
    if not means:
        return {}
    return {name: name for name in means[0].spec or criteria if name in criteria}
