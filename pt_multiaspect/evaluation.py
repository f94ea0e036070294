"""Evaluation of several runs against the same qrels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import pandas as pd
from ir_measures import Measure as AnyMeasure
from ir_measures.measures import MeanAgg

from ._typing import Floats
from .bases.delegated import by_ir_measures, first_fraction
from .collection.columns import check_distinct_columns
from .collection.inputs import run_frame
from .collection.judgments import Judgments
from .collection.runs import join, named_runs
from .errors import MultiAspectError, MultiAspectWarning, callers_level, choices
from .integration.labels import record, recorded
from .integration.parsing import parse_all
from .integration.provider import supports

__all__ = ["aggregate", "evaluate"]

COLUMNS = ["name", "qid", "measure", "value"]


def evaluate(
    runs: object,
    qrels: object,
    measures: AnyMeasure | str | Sequence[AnyMeasure | str] | Mapping[str, AnyMeasure | str],
    *,
    n_jobs: int = 1,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate runs with measures of this package and of ir-measures.

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, or run
        A run is a DataFrame with columns ``qid docno score``, the path of a TREC run file, or a dict
        ``{qid: {docno: score}}``. Runs in a sequence are named after their file, or "run 1", "run 2" etc.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `Judgments`. Use `read_qrels` to read
        files.
    measures : measure, str, sequence of these or mapping
        Measure objects, ir-measures names such as ``"TOMA@10"``, or trec_eval names. Measures
        of ir-measures are computed on the aspect relevance. A mapping is ``{label: measure}``; its labels
        appear in the column `measure`.
    n_jobs : int, default 1
        Number of processes that evaluate runs in parallel, as in joblib.
    progress : bool, default True
        Whether to show a progress bar over the runs.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value`` with one row per run, measure and judged query. Queries
        missing from a run count as empty rankings. Use `aggregate` for mean values. ``attrs["measures"]``
        contains the measures by label, for `aggregate`.

    Raises
    ------
    MultiAspectError
        If a run has no query in common with the qrels, or the input is invalid.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> runs = {"mine": {"q1": {"d1": 2.0, "d2": 1.0}}}
    >>> ma.evaluate(runs, qrels, ["map", ma.CAM(base="AP")], progress=False)
       name qid        measure  value
    0  mine  q1            map   1.00
    1  mine  q1  CAM(base='AP')   0.75
    """
    from joblib import Parallel, delayed

    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise MultiAspectError(
            f"n_jobs: expected a number of processes, or a negative integer as in joblib, got {n_jobs!r}"
        )
    labelled = list(parse_all(measures).items())
    named = named_runs(runs)
    judgments = Judgments.of(qrels)
    jobs = (delayed(_evaluate)(name, run, judgments, labelled) for name, run in named.items())
    tables = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    if progress:
        from tqdm.auto import tqdm  # warns in notebooks without widgets

        tables = tqdm(tables, total=len(named), desc="evaluate", unit="run")
    evaluated = list(tables)
    for message in dict.fromkeys(message for _, messages in evaluated for message in messages):
        warnings.warn(message, MultiAspectWarning, stacklevel=callers_level())
    result: pd.DataFrame = pd.concat([table for table, _ in evaluated], ignore_index=True)[COLUMNS]
    record(result, dict(labelled))
    return result


def aggregate(
    perquery: pd.DataFrame,
    measures: AnyMeasure | str | Sequence[AnyMeasure | str] | Mapping[str, AnyMeasure | str] | None = None,
) -> pd.DataFrame:
    """Aggregate a long frame over queries, with one row per run and one column per measure.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``.
    measures : measure, str, sequence of these or mapping, optional
        The measures of the frame, as for `evaluate`. By default, the measures recorded by `evaluate` in
        ``perquery.attrs["measures"]``; see Notes.

    Returns
    -------
    DataFrame
        Columns ``name`` and the labels of the measures, with runs and measures in the order of the frame.
        Each measure defines its aggregation: the mean for most, the sum for counts such as NumRet, the
        geometric mean for GMAP.

    Raises
    ------
    MultiAspectError
        If a column is missing, or `measures` lacks a measure of the frame.

    Warns
    -----
    MultiAspectWarning
        If a recorded measure can no longer be parsed, so its values are averaged.

    Notes
    -----
    The record is kept when pandas selects, sorts, copies or pickles the frame, and when frames with equal
    records are concatenated. Parquet files restore it as text. It is lost in CSV files, by
    ``DataFrame.merge`` and when frames with different measures are concatenated. Without a record, a label
    that is the name of a measure is aggregated as that measure, and the values of any other label are averaged:
    pass `measures` if this is not intended.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}}
    >>> run = {"q1": {"d1": 1.0}}
    >>> ma.aggregate(ma.evaluate({"mine": run}, qrels, "map", progress=False))
       name  map
    0  mine  0.5
    >>> labelled = {"mean AP": "map", "geometric": "GMAP"}
    >>> ma.aggregate(ma.evaluate({"mine": run}, qrels, labelled, progress=False)).round(4)
       name  mean AP  geometric
    0  mine      0.5     0.0032
    """
    missing = [column for column in COLUMNS if column not in perquery.columns]
    if missing:
        raise MultiAspectError(
            f"expected a long frame with the columns {choices(COLUMNS)}, got {choices(perquery.columns)} "
            f"({choices(missing)} is missing)"
        )
    check_distinct_columns(perquery, "a long frame")
    known = recorded(perquery, measures)
    rows = {name: {"name": name} for name in perquery["name"].unique()}
    for (name, measure), group in perquery.groupby(["name", "measure"], sort=False):
        of = known[str(measure)]
        aggregator = MeanAgg() if of is None else of.aggregator()
        for value in group["value"].tolist():
            aggregator.add(value)
        rows[name][str(measure)] = aggregator.result()
    return pd.DataFrame(list(rows.values()))


def _evaluate(
    name: str, run: object, judgments: Judgments, labelled: list[tuple[str, AnyMeasure]]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the long frame of one run, and the warnings, which worker processes cannot show."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = _table(name, run, judgments, labelled)
    for other in caught:
        if not issubclass(other.category, MultiAspectWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return table, [str(one.message) for one in caught if issubclass(one.category, MultiAspectWarning)]


def _table(name: str, run: object, judgments: Judgments, labelled: list[tuple[str, AnyMeasure]]) -> pd.DataFrame:
    """Return the long frame of one run."""
    run, rankings = join(name, run, judgments)
    foreign = {measure for _, measure in labelled if not supports(measure)}
    elsewhere = _standard(foreign, run, judgments) if foreign else {}
    parts = []
    for label, measure in labelled:
        if supports(measure):
            measure.validate_params()
            values = measure.evaluate(rankings)
        else:
            values = elsewhere[measure]
        parts.append(pd.DataFrame({"qid": judgments.qids, "measure": label, "value": values}))
    return pd.concat(parts, ignore_index=True).assign(name=name)


def _standard(measures: set[AnyMeasure], run: object, judgments: Judgments) -> dict[AnyMeasure, Floats]:
    """Compute measures of ir-measures on the aspect relevance."""
    labels = judgments.labels("relevance")
    fraction = first_fraction(labels)
    if fraction is not None:
        raise MultiAspectError(
            f"ir-measures supports integer relevance labels only, got {fraction:g}; use On(base=...) to compute "
            f"{choices(sorted(map(str, measures)))} on such labels, where possible"
        )
    return by_ir_measures(measures, judgments, labels, run_frame(run))
