"""Evaluation of runs by engines that apply a function to parts of a table.

Such engines are Spark, Dask, Ray, Polars and pandas.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..bases.base import is_measure
from ..collection import Judgments, Rankings
from ..collection.columns import check_distinct_columns
from ..collection.other_libraries import is_frame, to_pandas
from ..collection.overlap import warn_of_missing_topics
from ..errors import (
    Cause,
    MultiAspectError,
    choices,
    collect_warnings,
    refuse_unknown,
    tally,
    warn_of_runs,
)
from ..integration.parsing import Measures, parse_all, record_measures
from ..integration.provider import supports
from ..io.runs import join, no_common_query, run_of, run_title
from ..measures.measure import inferred_views
from ..strings.identifiers import identifiers
from .aggregation import check_one_value
from .long_frames import COLUMNS
from .plan import Plan, long_frame, pack_plan, unpack_plan
from .topics import check_all_topics

#: The columns of the result as Spark declares them.
SCHEMA = "name string, qid string, measure string, value double"


def evaluator(qrels: object, measures: Measures, *, by: str = "run") -> Evaluator:
    """Return a function that evaluates the runs of a table, for engines such as Spark and Dask.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, as for `evaluate`. They are sent to the workers with the function.
    measures : measure, str, sequence of these or mapping
        The measures, as for `evaluate`.
    by : {'run', 'query'}, default 'run'
        The content of a part of the table: whole runs, or whole queries of runs. With 'run', judged
        queries that are missing from a run count as empty rankings. With 'query', only the queries
        in the part are evaluated, as the others are in other parts; `Evaluator.complete` adds
        queries that are in no part. If no query of a run in the part is judged, there are rows of
        one such query, with the value NaN, so that `complete` knows the run. The measures must then
        declare the scales of their aspects.

    Returns
    -------
    Evaluator
        The function. It can be pickled.

    Raises
    ------
    MultiAspectError
        If qrels or measures are invalid or in the wrong order; with ``by="query"``, if scales are
        not declared.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}}
    >>> rows = [("a", "q1", "d1", 1.0), ("a", "q1", "d2", 1.0), ("b", "q2", "d1", 1.0)]
    >>> runs = pd.DataFrame(rows, columns=["name", "qid", "docno", "score"])
    >>> ev = ma.evaluator(qrels, "AP")
    >>> pd.concat([ev(part) for _, part in runs.groupby("name")], ignore_index=True)
      name qid measure  value
    0    a  q1      AP    0.5
    1    a  q2      AP    0.0
    2    b  q1      AP    0.0
    3    b  q2      AP    1.0
    """
    choice("by", "run", "query")(by)
    are_swapped = _are_measures(qrels) and not _are_measures(measures)
    if are_swapped:
        raise MultiAspectError(
            "expected the qrels first, evaluator(qrels, measures), got the measures first, as in "
            "ir_measures.evaluator: swap them"
        )
    check_all_topics(measures, "topics of other parts of the table are unknown")
    plan = Plan(Judgments.of(qrels), parse_all(measures))
    if by == "query":
        _check_declared(plan)
    return Evaluator(plan, by)


def _are_measures(argument: object) -> bool:
    """Return whether an argument is a measure, or a collection of at least one measure."""
    if _is_measure(argument):
        return True
    members = _members(argument)
    return len(members) > 0 and all(_is_measure(member) for member in members)


def _members(argument: object) -> list[object]:
    """Return the members or values of a collection; none for qrels, which may be large."""
    are_qrels = is_frame(argument) or isinstance(argument, Judgments)
    # An iterator could not be read again.
    if are_qrels or isinstance(argument, Iterator):
        return []
    if isinstance(argument, Mapping):
        return list(argument.values())
    if isinstance(argument, Iterable):
        return list(argument)
    return []


def _is_measure(argument: object) -> bool:
    return isinstance(argument, str) or is_measure(argument)


def _check_declared(plan: Plan) -> None:
    """Raise an error if values of a measure depend on scales that were inferred."""
    for measure in filter(supports, plan.measures):
        inferred = inferred_views(measure, measure.views(plan.judgments))
        if not inferred:
            continue
        names: list[str] = []
        declarations: list[str] = []
        for view in inferred:
            names.append(view.name)
            declarations.append(f"{view.name!r}: {view.aspect!r}")
        aspects = choices(names)
        declared = choices(declarations)
        raise MultiAspectError(
            f"{measure}: expected declared scales with by='query', got inferred ones for "
            f"{aspects}, which would differ if qrels were divided by query as well. Declare "
            f"them, as in aspects={{{declared}}}"
        )


class Evaluator:
    """A callable that evaluates the runs of a table; see `evaluator`.

    It takes a frame ``name qid docno score`` of pandas, Polars or PyArrow, and returns a frame
    ``name qid measure value`` of the same library, with one row per run, measure and query. For a
    frame without rows, the result has no rows. Rows may be in any order, but a run, or with
    ``by="query"`` a query of a run, must be in one frame.
    """

    #: The columns of the result and their types, as Spark reads them.
    schema = SCHEMA

    def __init__(self, plan: Plan, by: str) -> None:
        self._plan = plan
        self._by = by
        #: The key and the bytes of the plan, once it was pickled.
        self._packed: tuple[str, bytes] | None = None
        self.__name__ = "evaluator"
        # Spark passes the frame of a group to functions of one parameter. It would also count the
        # parameter self of `__call__`.
        frame = inspect.Parameter("frame", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.__signature__ = inspect.Signature([frame])

    def __repr__(self) -> str:
        labels = choices(self._plan.labels)
        return f"<Evaluator by {self._by}: {labels} on {self._plan.judgments!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Engines pickle the evaluator for each part of a table.
        if self._packed is None:
            self._packed = pack_plan(self._plan)
        key, content = self._packed
        return _restore_evaluator, (key, content, self._by)

    @property
    def meta(self) -> pd.DataFrame:
        """The result for a frame without rows, which Dask requires."""
        n_measures = len(self._plan.labels)
        n_queries = self._plan.judgments.n_queries
        values = np.zeros((n_measures, n_queries))
        result_of_any_run = self._plan.frame(["run"], [values])
        return result_of_any_run.iloc[:0]

    def __call__(self, frame: Any) -> Any:
        """Evaluate the runs of a frame.

        Parameters
        ----------
        frame : DataFrame of pandas or Polars, or Table of PyArrow
            Columns ``name qid docno score``, or ``query_id doc_id`` for the ids; others are
            ignored. In ``groupby("name").apply``, the name is that of the group.

        Returns
        -------
        DataFrame or Table
            Columns ``name qid measure value``. Runs are in the order of their first rows.

        Raises
        ------
        MultiAspectError
            If a column is missing, a name or an id is missing, or a score is not a number; with
            ``by="run"``, if a run has no query in common with the qrels.
        """
        rows = to_pandas(frame)
        if rows is None:
            type_name = type(frame).__name__
            raise MultiAspectError(
                "expected a data frame with the columns name, qid, docno and score, got "
                f"{type_name}"
            )
        check_distinct_columns(rows, "runs")
        rows = _with_group(rows, frame)
        run_of_row = identifiers(rows["name"], "runs")
        names: list[str] = []
        qids_of_runs: list[Any] = []
        values_of_runs: list[Floats] = []
        for raw_name, run in rows.groupby(run_of_row, sort=False):
            name = str(raw_name)
            if self._by == "run":
                qids, values = self._evaluate_run(name, run)
            else:
                qids, values = self._evaluate_queries(name, run)
            names.append(name)
            qids_of_runs.append(qids)
            values_of_runs.append(values)
        if names:
            result = long_frame(names, self._plan.labels, qids_of_runs, values_of_runs)
        else:
            result = self.meta
        return _convert_like(frame, result)

    def _evaluate_run(self, name: str, run: pd.DataFrame) -> tuple[Any, Floats]:
        """Return all judged queries, and the values of a run, shape (n_measures, n_queries)."""
        judgments = self._plan.judgments
        rankings = join(name, run, judgments, self._plan.run_columns)
        return judgments.qids, self._plan.values(rankings)

    def _evaluate_queries(self, name: str, part: pd.DataFrame) -> tuple[Any, Floats]:
        """Return the judged queries in a part of a run, and their values.

        Without such queries, this is one other query with the value NaN, so that `complete` knows
        the run.

        Returns
        -------
        qids : ndarray of str, shape (n_judged,)
        values : ndarray of float, shape (n_measures, n_judged)
        """
        judgments = self._plan.judgments
        run = run_of(name, part, self._plan.run_columns)
        rankings = Rankings(run, judgments)
        qids = rankings.source.qids
        positions = judgments.query_positions(qids)
        # Queries that are not judged have the position -1.
        judged = np.sort(positions[positions >= 0])
        if not len(judged):
            n_measures = len(self._plan.labels)
            no_value = np.full((n_measures, 1), np.nan)
            return qids[:1], no_value
        # These are the values of all judged queries, also of those in other parts.
        values = self._plan.values(rankings)
        return judgments.qids[judged], values[:, judged]

    def complete(self, perquery: Any, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the collected results as `evaluate` does: with all judged queries, in order.

        Parameters
        ----------
        perquery : DataFrame
            The results of all parts, in any order.
        names : iterable of str, optional
            The names of all runs, in the order of the result. By default, the names in `perquery`,
            sorted.

        Returns
        -------
        DataFrame
            Columns ``name qid measure value``, with a row for each run, measure and judged query.
            Queries that are in no part count as empty rankings. The measures are recorded for
            `aggregate`.

        Raises
        ------
        MultiAspectError
            If a run has several values for a query, as parts of it were evaluated separately; if
            values of a measure are missing; if a run has no query in common with the qrels; if a
            name has no values, or is not in `names`; or if there are other queries or measures.

        Warns
        -----
        MultiAspectWarning
            With ``by="query"``, in one message for all runs, if runs lack judged topics, as in
            `evaluate`.
        """
        rows = _read_results(perquery)
        if names is None:
            runs = sorted(rows["name"].unique())
        else:
            runs = [str(name) for name in names]
        refuse_unknown(rows["name"].unique(), runs, "values of the runs")

        # A part without judged queries has one row, without a value, that only names its run.
        has_no_value = rows["value"].isna()
        is_judged = rows["qid"].isin(self._plan.judgments.qids)
        only_names_run = has_no_value & ~is_judged
        rows_of_queries = rows[~only_names_run]
        check_one_value(rows_of_queries)
        self._check_all_runs(runs, rows_of_queries, rows[only_names_run])

        # A run that lacks all measures of a query was not evaluated on it.
        values = self._read_values(runs, rows_of_queries)  # runs × measures × queries
        is_missing = np.isnan(values)
        lacks_query = np.asarray(is_missing.all(axis=1))  # runs × queries
        self._check_all_measures(runs, is_missing, lacks_query)
        if self._by == "run":
            self._check_all_queries(runs, lacks_query)  # whole runs have all queries
        # Parts of runs have their own queries. Those that are in no part are empty rankings.
        if lacks_query.any():
            values = self._fill_empty_rankings(values, lacks_query)
            self._warn_of_missing_topics(runs, lacks_query)
        result = self._plan.frame(runs, list(values))
        measure_of_label = dict(zip(self._plan.labels, self._plan.measures, strict=True))
        record_measures(result, measure_of_label)
        return result

    def _check_all_runs(
        self, runs: list[str], rows: pd.DataFrame, placeholders: pd.DataFrame
    ) -> None:
        """Raise an error if a run has no values of judged queries.

        Parameters
        ----------
        runs : list of str
            All runs.
        rows : DataFrame
            The rows of judged queries.
        placeholders : DataFrame
            The rows of parts without judged queries.
        """
        if not runs:
            raise MultiAspectError(
                "expected values of at least one run, got none: no query of the runs is judged"
            )
        runs_with_values = set(rows["name"])
        without_values = [run for run in runs if run not in runs_with_values]
        for run in without_values:
            is_of_run = placeholders["name"] == run
            qids = placeholders.loc[is_of_run, "qid"].unique().tolist()
            if qids:
                raise no_common_query(run, self._plan.judgments, qids)
        if without_values:
            first_runs = choices(without_values[:3])
            total = tally(len(without_values), "run")
            raise MultiAspectError(
                f"expected values of every run, got none of {first_runs} {total}: no query of "
                "these is judged, or a part was lost"
            )

    def _read_values(self, runs: list[str], rows: pd.DataFrame) -> Floats:
        """Return the values, shape (n_runs, n_measures, n_queries); NaN if there is none."""
        labels = self._plan.labels
        qids = self._plan.judgments.qids
        refuse_unknown(rows["measure"].unique(), labels, "values of the measures")
        refuse_unknown(rows["qid"].unique(), qids, "values of the queries")
        numbers = rows["value"].to_numpy(dtype=np.float64)
        n_missing = int(np.isnan(numbers).sum())
        if n_missing > 0:
            total = tally(n_missing, "value")
            raise MultiAspectError(f"expected numbers, got missing values {total}")
        run = _positions(rows["name"], runs)
        measure = _positions(rows["measure"], labels)
        query = _positions(rows["qid"], qids)
        shape = (len(runs), len(labels), len(qids))
        values = np.full(shape, np.nan)
        values[run, measure, query] = numbers
        return values

    def _check_all_measures(self, runs: list[str], is_missing: Bools, lacks_query: Bools) -> None:
        """Raise an error if a run has values of some measures for a query, but not of all.

        Parameters
        ----------
        runs : list of str
            The runs.
        is_missing : ndarray of bool, shape (n_runs, n_measures, n_queries)
            Whether there is no value.
        lacks_query : ndarray of bool, shape (n_runs, n_queries)
            Whether no measure has a value.
        """
        has_query = ~lacks_query[:, None, :]
        incomplete = np.argwhere(is_missing & has_query)
        if not len(incomplete):
            return
        first_run, first_measure, first_query = incomplete[0]
        run = runs[first_run]
        label = self._plan.labels[first_measure]
        qid = self._plan.judgments.qids[first_query]
        total = tally(len(incomplete), "value")
        raise MultiAspectError(
            f"expected a value of every measure, got none of {label} for run {run}, query {qid} "
            f"{total}"
        )

    def _check_all_queries(self, runs: list[str], lacks_query: Bools) -> None:
        """Raise an error if a run lacks a judged query.

        Parameters
        ----------
        runs : list of str
            The runs.
        lacks_query : ndarray of bool, shape (n_runs, n_queries)
            Whether there is no value.
        """
        missing = np.argwhere(lacks_query)
        if not len(missing):
            return
        first_run, first_query = missing[0]
        run = runs[first_run]
        qid = self._plan.judgments.qids[first_query]
        raise MultiAspectError(
            f"expected values for every judged query, got none for run {run}, query {qid}: a part "
            "of the results was lost"
        )

    def _fill_empty_rankings(self, values: Floats, lacks_query: Bools) -> Floats:
        """Return values in which the queries that a run lacks have those of an empty ranking.

        Parameters
        ----------
        values : ndarray of float, shape (n_runs, n_measures, n_queries)
            The values.
        lacks_query : ndarray of bool, shape (n_runs, n_queries)
            Whether a run has no value for a query.
        """
        empty_ranking = Rankings({}, self._plan.judgments)
        values_if_empty = self._plan.values(empty_ranking)  # shape (n_measures, n_queries)
        lacks_values = lacks_query[:, np.newaxis, :]  # the same for all measures
        return np.where(lacks_values, values_if_empty, values)

    def _warn_of_missing_topics(self, runs: list[str], lacks_query: Bools) -> None:
        """Warn, in one message, of the runs that lack judged topics which count.

        Parameters
        ----------
        runs : list of str
            The runs.
        lacks_query : ndarray of bool, shape (n_runs, n_queries)
            Whether a run has no value for a topic.
        """
        is_counted = np.any(self._plan.counted, axis=0)  # by some measure, shape (n_queries,)
        causes_by_run: list[tuple[str, Cause]] = []
        for run, has_query in zip(runs, ~lacks_query, strict=True):
            title = run_title(run)
            with collect_warnings() as causes:
                warn_of_missing_topics(self._plan.judgments, has_query, is_counted)
            for cause in causes:
                causes_by_run.append((title, cause))
        warn_of_runs(causes_by_run)


def _positions(names: pd.Series, known: Any) -> Ints:
    """Return the position of each name among the known ones."""
    index = pd.Index(known, dtype=object)
    sought = pd.Index(names, dtype=object)
    positions: Ints = index.get_indexer(sought)
    return positions


def _key_of_group(frame: Any) -> Any:
    """Return the name of a group of ``groupby(…).apply``, None for frames of other origin.

    It is the value of the column by which rows were grouped, or a tuple for several columns.
    """
    if not isinstance(frame, pd.DataFrame):
        return None
    key = getattr(frame, "name", None)
    is_column = isinstance(key, pd.Series)  # called name, of a frame that is no group
    if is_column:
        return None
    return key


def _with_group(rows: pd.DataFrame, frame: Any) -> pd.DataFrame:
    """Return rows with the column of their group, which pandas' ``groupby(…).apply`` leaves out.

    The column is that of the runs or of the queries. Without a group, rows are unchanged.

    Parameters
    ----------
    rows : DataFrame
        The rows of the frame.
    frame : DataFrame of any library
        The frame as given by an engine. That of a group has its name as an attribute.

    Raises
    ------
    MultiAspectError
        If the runs of the rows remain unknown.
    """
    has_runs = "name" in rows.columns
    has_queries = "qid" in rows.columns or "query_id" in rows.columns
    if has_runs and has_queries:
        return rows
    key = _key_of_group(frame)  # None without a group
    is_by_several_columns = isinstance(key, tuple)
    is_by_one_column = key is not None and not is_by_several_columns
    if has_runs and is_by_one_column:
        return rows.assign(qid=key)
    if has_queries and is_by_one_column:
        return rows.assign(name=key)
    if has_runs:
        # Missing query ids are an error of the run that is read from the rows.
        return rows

    got = choices(rows.columns)
    remedy = ""
    if is_by_several_columns:
        remedy = (
            ". In pandas, apply leaves out the columns of groups: use [ev(part) for _, part "
            "in table.groupby(...)]"
        )
    raise MultiAspectError(
        f"expected a column name with the run of each row, got the columns {got}{remedy}"
    )


def _read_results(perquery: Any) -> pd.DataFrame:
    """Return the columns of the results of all parts as a frame of pandas."""
    table = to_pandas(perquery)
    if table is None or not set(COLUMNS) <= set(table.columns):
        expected = choices(COLUMNS)
        raise MultiAspectError(f"expected the results of the parts, with the columns {expected}")
    columns: dict[str, np.ndarray] = {}
    for column in COLUMNS:
        columns[column] = table[column].to_numpy(dtype=object)
    return pd.DataFrame(columns)


def _restore_evaluator(key: str, content: bytes, by: str) -> Evaluator:
    """Restore an evaluator in another process; copies share the judgments."""
    plan = unpack_plan(key, content)
    restored = Evaluator(plan, by)
    restored._packed = (key, content)
    return restored


def _convert_like(frame: Any, result: pd.DataFrame) -> Any:
    """Return the result as a frame of the library of `frame`."""
    library = type(frame).__module__.partition(".")[0]
    if library == "polars":
        return _to_polars(result)
    if library == "pyarrow":
        return _to_arrow(result)
    return result


def _to_polars(result: pd.DataFrame) -> Any:
    """Return a long frame as a frame of Polars, whose types do not depend on the rows."""
    import polars

    schema = {
        "name": polars.String,
        "qid": polars.String,
        "measure": polars.String,
        "value": polars.Float64,
    }
    columns = {column: result[column].tolist() for column in schema}
    return polars.DataFrame(columns, schema=schema)


def _to_arrow(result: pd.DataFrame) -> Any:
    """Return a long frame as a table of PyArrow, whose types do not depend on the rows."""
    import pyarrow

    schema = pyarrow.schema(
        {
            "name": pyarrow.string(),
            "qid": pyarrow.string(),
            "measure": pyarrow.string(),
            "value": pyarrow.float64(),
        }
    )
    columns = {column: result[column].tolist() for column in schema.names}
    return pyarrow.table(columns, schema=schema)
