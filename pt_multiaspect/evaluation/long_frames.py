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
from ..errors import MultiAspectError, choices, cut, in_shell, parameter, tally, warn_once
from ..integration.aggregators import lower_is_better
from ..integration.parsing import UNIT_SCORE, MeasureName, find_measures, parse_all, read_record

#: The columns of a long frame.
COLUMNS = ["name", "qid", "measure", "value"]

#: The columns that identify a value.
KEYS = ["name", "qid", "measure"]


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
    expected = choices(COLUMNS)
    if frame is None:
        type_name = type(perquery).__name__
        raise MultiAspectError(
            f"expected a long frame with the columns {expected}, got {type_name}"
        )
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        got = choices(frame.columns)
        missing_columns = choices(missing)
        raise MultiAspectError(
            f"expected a long frame with the columns {expected}, got {got} ({missing_columns} is "
            "missing); pass the result of pt.Experiment(perquery=True) or pt_multiaspect.evaluate"
        )
    check_distinct_columns(frame, "a long frame")
    record = dict(frame.attrs)
    frame = without_attrs(frame)
    check_filled(frame, KEYS)
    columns: dict[str, Any] = {"value": _float_values(frame)}
    for column in KEYS:
        # Groups of categories include those without rows in pandas 2.
        columns[column] = frame[column].astype(object)
    result = frame.assign(**columns)
    result = result.reset_index(drop=True)
    result.attrs = record
    return result


def _per_query_part(results: object) -> object:
    """Return the values per topic of the pair of ``pt.Experiment(perquery="both")``.

    Anything else is returned as it is.
    """
    if isinstance(results, tuple) and len(results) == 2:
        _, per_query = results
        return per_query
    return results


def without_attrs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without its record of measures, which pandas copies in every operation."""
    result = frame.copy(deep=False)
    result.attrs = {}
    return result


def is_long_frame(runs: object) -> bool:
    """Return whether runs are values per topic, as a frame or as a pair of PyTerrier."""
    candidate = _per_query_part(runs)
    if not is_frame(candidate):
        return False
    frame = as_pandas(candidate)
    columns = [str(column) for column in getattr(frame, "columns", ())]
    return set(COLUMNS) <= set(columns)


def read_named_values(values: object) -> pd.DataFrame:
    """Return a long frame whose names are strings."""
    perquery = read_long_frame(values)
    for column in KEYS:
        perquery[column] = perquery[column].map(str)
    return perquery


def _float_values(perquery: pd.DataFrame) -> Floats:
    """Return the column value of a long frame as floats, or raise an error if it has others."""
    column = perquery["value"]
    # NumPy would convert times and complex numbers.
    kind = getattr(column.dtype, "kind", "O")
    is_time_or_complex = kind in "mMc"
    if is_time_or_complex:
        raise MultiAspectError(f"expected numbers in the column value, got {column.dtype}")
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"expected numbers in the column value: {error}") from None
    return np.asarray(values, dtype=np.float64)


def drop_missing(perquery: pd.DataFrame, caller: str) -> pd.DataFrame:
    """Return a long frame without values that are NaN, and warn of these in the caller's name."""
    missing = perquery[perquery["value"].isna()]
    n_missing = len(missing)
    if n_missing == 0:
        return perquery
    if n_missing == len(perquery):
        raise MultiAspectError(
            "expected at least one value, got NaN only: do the topics have judgments?"
        )
    values_are = f"{n_missing} values are"
    if n_missing == 1:
        values_are = "1 value is"
    topics = _topics_in_words(missing)
    warn_once(
        f"{caller}: {values_are} NaN and left out: {topics}. PyTerrier returns NaN for topics "
        "without judgments; remove such rows by perquery.dropna(subset=['value'])"
    )
    return perquery.dropna(subset=["value"])


def _topics_in_words(rows: pd.DataFrame) -> str:
    """Return the first three topics of rows with their measures and runs, and how many follow."""
    first_topics: list[str] = []
    for qid, rows_of_topic in islice(rows.groupby("qid", sort=False), 3):
        values = _values_in_words(rows_of_topic)
        first_topics.append(f"topic {qid} ({values})")
    topics = choices(first_topics)
    n_more = rows["qid"].nunique() - len(first_topics)
    if n_more > 0:
        topics += f" and {n_more} more"
    return topics


def _values_in_words(rows: pd.DataFrame) -> str:
    """Return the measures and runs of the first three rows, as in "AP of bm25, nDCG of bm25"."""
    first_rows = rows[:3]
    values: list[str] = []
    for measure, name in zip(first_rows["measure"], first_rows["name"], strict=True):
        short_name = cut(name, 40)
        values.append(f"{measure} of {short_name}")
    if len(rows) > 3:
        values.append("…")
    return choices(values)


def check_filled(perquery: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise an error for empty cells in columns of names.

    pandas reads texts such as NA in files as empty.
    """
    for column in columns:
        n_empty = int(perquery[column].isna().sum())
        if n_empty > 0:
            total = tally(n_empty, "cell")
            raise MultiAspectError(
                f"the column {column} has an empty cell {total}; if names such as NA or None were "
                "read from a file, read it with keep_default_na=False"
            )


def check_distinct(perquery: pd.DataFrame, remedy: str, others: Sequence[str] = ()) -> None:
    """Raise an error if a run has several values of a measure for a topic.

    Parameters
    ----------
    perquery : DataFrame
        A long frame.
    remedy : str
        What to do, at the end of the error.
    others : sequence of str
        Further columns that identify a value, such as one of seeds.
    """
    keys = ["name", "measure", "qid", *others]
    repeated = perquery[perquery.duplicated(keys)]
    if not len(repeated):
        return
    first = repeated[keys].iloc[0]
    measure = first["measure"]
    name = first["name"]
    qid = first["qid"]
    subject = f"{measure} for {name} on topic {qid}"
    for column in others:
        cell = first[column]
        subject += f", {column} {cell}"
    total = tally(len(repeated), "row")
    raise MultiAspectError(f"expected one value of {subject}, got several {total}; {remedy}")


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
        return _given_measures(labels, measures)
    record = read_record(perquery)
    measure_of_label: dict[str, ir_measures.Measure | None] = {}
    for label in labels:
        # A label without a record may be the name of its measure.
        definition = record.get(label, label)
        if definition is None or definition == UNIT_SCORE:
            measure_of_label[label] = None
            continue
        measure = _measure_of_definition(definition)
        if measure is None and label in record:
            remedy = declare_measures()
            warn_once(
                f"{label} is recorded as the measure {definition}, which cannot be parsed here. "
                f"Its values are averaged and higher values count as better; {remedy}, or import "
                "or declare what the measure requires"
            )
        measure_of_label[label] = measure
    return measure_of_label


def _given_measures(
    labels: Sequence[str], measures: object
) -> dict[str, ir_measures.Measure | None]:
    """Return the measure of each label, among those that a user gave for all labels.

    Parameters
    ----------
    labels : sequence of str
        The labels of a long frame.
    measures : object
        Measures in any form accepted by `parse_all`.
    """
    unknown = dict.fromkeys(labels)  # `find_label` expects labels with measures, here all None
    measure_of_label: dict[str, ir_measures.Measure] = {}
    for name, measure in parse_all(measures).items():
        # A user may spell the name of a measure in another way than the frame.
        label = find_label(unknown, name)
        measure_of_label[label] = measure
    check_labels(labels, measure_of_label)
    return {label: measure_of_label[label] for label in labels}


def _measure_of_definition(definition: object) -> ir_measures.Measure | None:
    """Return the measure that a record or a label contains or names, None if it names none."""
    if isinstance(definition, MeasureName):
        return definition.measure
    return find_measure(definition)


def check_labels(labels: Sequence[str], known: Collection[str]) -> None:
    """Raise an error if measures= does not contain all labels of a long frame."""
    missing = [label for label in labels if label not in known]
    if missing:
        missing_labels = choices(missing)
        expected = choices(labels)
        got = choices(known)
        raise MultiAspectError(
            f"measures= lacks {missing_labels}: expected all measures of the long frame "
            f"({expected}), got {got}"
        )


def is_measure_name(text: str) -> bool:
    """Return whether a name refers to a measure, or (like "P") to several of one direction."""
    are_lower_better = [lower_is_better(measure) for measure in find_measures(text)]
    if not are_lower_better:
        return False
    return all(are_lower_better) or not any(are_lower_better)


def warn_of_unknown_labels(
    caller: str,
    perquery: pd.DataFrame,
    known: Mapping[str, ir_measures.Measure | None],
    labels: Sequence[str],
    consequence: str,
) -> None:
    """Warn once about labels that name no known or recorded measure, and of the consequence.

    Parameters
    ----------
    caller : str
        The function in whose name the warning is given.
    perquery : DataFrame
        The long frame.
    known : mapping of str to Measure or None
        Its measures by label, None if unknown.
    labels : sequence of str
        The labels to warn of, if they are unknown.
    consequence : str
        How their values are treated.
    """
    record = read_record(perquery)
    unknown: list[str] = []
    for label in labels:
        is_known = known[label] is not None or label in record
        if not is_known and not is_measure_name(label):
            unknown.append(label)
    if not unknown:
        return
    verb = "name"
    if len(unknown) == 1:
        verb = "names"
    unknown_labels = choices(unknown)
    remedy = declare_measures()
    warn_once(
        f"{caller}: {unknown_labels} {verb} no known measure, and the frame has no record of "
        f"the measures: {consequence}; {remedy}"
    )


def declare_measures() -> str:
    """Return how to say which measures names refer to, for messages."""
    if in_shell():
        option = parameter("measures")
        return f"say so by {option} ALIAS=higher, ALIAS=lower or ALIAS=MEASURE"
    return "pass measures={alias: measure}"


def find_measure(text: object) -> ir_measures.Measure | None:
    """Return the measure that a name refers to, None if it refers to no measure or to several."""
    measures = find_measures(str(text))
    if len(measures) == 1:
        return measures[0]
    return None


def find_labels(perquery: pd.DataFrame, measures: Iterable[object]) -> list[str]:
    """Return the label in a frame of each measure; see `find_label`."""
    texts = [str(measure) for measure in measures]
    has_labels = isinstance(perquery, pd.DataFrame) and list(perquery.columns).count("measure") == 1
    if not has_labels:
        return texts
    labels = [str(label) for label in perquery["measure"].unique()]
    if set(texts) <= set(labels):
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
    meant = find_measures(measure)
    if not meant:
        meant = find_measures(with_quotes(text))
    if len(meant) != 1:
        return text

    # A label refers to the measure if it is known to do so, or if it is a name of the measure.
    measure_meant = meant[0]
    matching_labels: list[str] = []
    for label, measure_of_label in known.items():
        is_known = measure_of_label == measure_meant
        if is_known or find_measure(label) == measure_meant:
            matching_labels.append(label)
    if len(matching_labels) == 1:
        return matching_labels[0]
    return text


def is_combined(measure: object) -> bool:
    """Return whether a measure combines criteria of an answer."""
    return hasattr(measure, "of_criteria")


def labels_of_answers(measures: Mapping[str, Any]) -> set[str]:
    """Return the labels of measures that combine criteria of answers, rather than rate rankings.

    CAM and MM can do both, so it depends on the other labels.

    Parameters
    ----------
    measures : mapping of str to Measure or None
        The measures by label; None for criteria, whose labels are no measures.
    """
    criteria: set[str] = set()
    labels_of_means: list[str] = []
    has_other_measures = False
    for label, measure in measures.items():
        if measure is None:
            criteria.add(label)
        elif is_combined(measure):
            labels_of_means.append(label)
        else:
            has_other_measures = True

    labels: set[str] = set()
    for label in labels_of_means:
        declared_aspects = measures[label].spec
        if declared_aspects:
            combines_criteria = criteria.issuperset(declared_aspects)
        else:
            # It combines all criteria, unless it evaluates rankings, as other measures do.
            combines_criteria = bool(criteria) and not has_other_measures
        if combines_criteria:
            labels.add(label)
    return labels


def labels_of_aspects(measures: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of the values on each aspect.

    Aspects are those of measures of one aspect, or else, for answers, the criteria that the first
    mean combines. A criterion is its own label.

    Parameters
    ----------
    measures : mapping of str to Measure or None
        The measures by label; None for criteria, whose labels are no measures.
    """
    labels = _labels_of_single_aspects(measures)
    if labels:
        return labels
    criteria = [label for label, measure in measures.items() if measure is None]
    means = [measure for measure in measures.values() if is_combined(measure)]
    if not means:
        return {}
    # A mean that declares no aspects combines all criteria.
    aspects = means[0].spec or criteria
    return {aspect: aspect for aspect in aspects if aspect in criteria}


def _labels_of_single_aspects(measures: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of the measure of each single aspect.

    To be comparable, all of these have one base, that of the first one, such as nDCG. Of several
    measures of an aspect, it is the first one.
    """
    labels: dict[str, str] = {}
    first_base = None
    for label, measure in measures.items():
        # None for measures of several aspects. Measures of ir-measures lack the attribute.
        aspect = getattr(measure, "one_aspect", None)
        if not aspect:
            continue
        base = measure.bases.one
        if first_base is None:
            first_base = base
        has_first_base = base == first_base
        if has_first_base and aspect not in labels:
            labels[aspect] = label
    return labels
