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
    if _are_measures(qrels) and not _are_measures(measures):
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
    """Return whether an argument is one or several measures."""
    if _is_measure(argument):
        return True
    if is_frame(argument) or isinstance(argument, Judgments | Iterator):
        return False
    if isinstance(argument, Mapping):
        return len(argument) > 0 and all(_is_measure(value) for value in argument.values())
    if not isinstance(argument, Iterable):
        return False
    measures = list(argument)
    return len(measures) > 0 and all(_is_measure(measure) for measure in measures)


def _is_measure(argument: object) -> bool:
    return isinstance(argument, str) or is_measure(argument)


def _check_declared(plan: Plan) -> None:
    """Raise an error if values of a measure depend on scales that were inferred."""
    for measure in filter(supports, plan.measures):
        inferred = inferred_views(measure, measure.views(plan.judgments))
        if inferred:
            names = choices(view.name for view in inferred)
            declaration = choices(f"{view.name!r}: {view.aspect!r}" for view in inferred)
            raise MultiAspectError(
                f"{measure}: expected declared scales with by='query', got inferred ones for "
                f"{names}, which would differ if qrels were divided by query as well. Declare "
                f"them, as in aspects={{{declaration}}}"
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
        self._packed: tuple[str, bytes] | None = None
        self.__name__ = "evaluator"
        # Spark counts the parameters, including self of bound methods: with one, it passes the
        # frame of a group.
        frame = inspect.Parameter("frame", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.__signature__ = inspect.Signature([frame])

    def __repr__(self) -> str:
        return (
            f"<Evaluator by {self._by}: {choices(self._plan.labels)} on {self._plan.judgments!r}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            self._packed = pack_plan(self._plan)
        return _restore_evaluator, (*self._packed, self._by)

    @property
    def meta(self) -> pd.DataFrame:
        """The result for a frame without rows, which Dask requires."""
        values = np.zeros((len(self._plan.labels), self._plan.judgments.n_queries))
        return self._plan.frame(["run"], [values]).iloc[:0]

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
            raise MultiAspectError(
                "expected a data frame with the columns name, qid, docno and score, got "
                f"{type(frame).__name__}"
            )
        check_distinct_columns(rows, "runs")
        rows = _with_group(rows, frame)
        names: list[str] = []
        qids: list[Any] = []
        values: list[Floats] = []
        for raw_name, run in rows.groupby(identifiers(rows["name"], "runs"), sort=False):
            name = str(raw_name)
            run_qids, run_values = self._evaluate_run(name, run)
            names.append(name)
            qids.append(run_qids)
            values.append(run_values)
        if not names:
            return _convert_like(frame, self.meta)
        result = long_frame(names, self._plan.labels, qids, values)
        return _convert_like(frame, result)

    def _evaluate_run(self, name: str, run: pd.DataFrame) -> tuple[Any, Floats]:
        """Return the queries and values of a run."""
        judgments = self._plan.judgments
        if self._by == "run":
            rankings = join(name, run, judgments, self._plan.run_columns)
            return judgments.qids, self._plan.values(rankings)
        rankings = Rankings(run_of(name, run, self._plan.run_columns), judgments)
        position = judgments.query_positions(rankings.source.qids)
        present = np.sort(position[position >= 0])
        if not len(present):
            no_values = np.full((len(self._plan.labels), 1), np.nan)
            return rankings.source.qids[:1], no_values
        values = self._plan.values(rankings)
        return judgments.qids[present], values[:, present]

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
        rows = to_pandas(perquery)
        if rows is None or not {*COLUMNS} <= {*rows.columns}:
            raise MultiAspectError(
                f"expected the results of the parts, with the columns {choices(COLUMNS)}"
            )
        rows = pd.DataFrame({column: rows[column].to_numpy(dtype=object) for column in COLUMNS})
        if names is None:
            order = sorted(rows["name"].unique())
        else:
            order = [str(name) for name in names]
        refuse_unknown(rows["name"].unique(), order, "values of the runs")
        is_unjudged = rows["value"].isna() & ~rows["qid"].isin(self._plan.judgments.qids)
        unjudged = rows[is_unjudged]
        rows = rows[~is_unjudged]
        check_one_value(rows)
        self._check_all_runs(order, rows, unjudged)
        values = self._read_values(order, rows)
        empty = np.asarray(np.isnan(values).all(axis=1))
        self._check_all_measures(order, values, empty)
        if empty.any():
            values_of_empty_run = self._empty_values(order, empty)[None, :, :]
            values = np.where(empty[:, None, :], values_of_empty_run, values)
        result = self._plan.frame(order, list(values))
        record_measures(result, dict(zip(self._plan.labels, self._plan.measures, strict=True)))
        return result

    def _check_all_runs(self, order: list[str], rows: pd.DataFrame, unjudged: pd.DataFrame) -> None:
        """Raise an error if a run has no values of judged queries."""
        evaluated = set(rows["name"])
        lost = [name for name in order if name not in evaluated]
        for name in lost:
            qids = unjudged.loc[unjudged["name"] == name, "qid"].unique().tolist()
            if qids:
                raise no_common_query(name, self._plan.judgments, qids)
        if not order:
            raise MultiAspectError(
                "expected values of at least one run, got none: no query of the runs is judged"
            )
        if lost:
            raise MultiAspectError(
                f"expected values of every run, got none of {choices(lost[:3])} "
                f"{tally(len(lost), 'run')}: no query of these is judged, or a part was lost"
            )

    def _read_values(self, order: list[str], rows: pd.DataFrame) -> Floats:
        """Return the values, shape (n_runs, n_measures, n_queries); NaN if there is none."""
        labels = self._plan.labels
        qids = self._plan.judgments.qids
        refuse_unknown(rows["measure"].unique(), labels, "values of the measures")
        refuse_unknown(rows["qid"].unique(), qids, "values of the queries")
        numbers = rows["value"].to_numpy(dtype=np.float64)
        n_missing = int(np.isnan(numbers).sum())
        if n_missing:
            raise MultiAspectError(
                f"expected numbers, got missing values {tally(n_missing, 'value')}"
            )
        run = _positions(rows["name"], order)
        measure = _positions(rows["measure"], labels)
        query = _positions(rows["qid"], qids)
        values = np.full((len(order), len(labels), len(qids)), np.nan)
        values[run, measure, query] = numbers
        return values

    def _check_all_measures(self, order: list[str], values: Floats, empty: Bools) -> None:
        """Raise an error if a query of a run lacks values of some measures, or by run, of all."""
        qids = self._plan.judgments.qids
        incomplete = np.argwhere(np.isnan(values) & ~empty[:, None, :])
        if len(incomplete):
            run, measure, query = incomplete[0]
            raise MultiAspectError(
                f"expected a value of every measure, got none of {self._plan.labels[measure]} for "
                f"run {order[run]}, query {qids[query]} {tally(len(incomplete), 'value')}"
            )
        if empty.any() and self._by == "run":
            run, query = np.argwhere(empty)[0]
            raise MultiAspectError(
                f"expected values for every judged query, got none for run {order[run]}, query "
                f"{qids[query]}: a part of the results was lost"
            )

    def _empty_values(self, order: list[str], empty: Bools) -> Floats:
        """Return the values of an empty run, and warn of the runs that lack judged topics."""
        judgments = self._plan.judgments
        values = self._plan.values(Rankings({}, judgments))
        warned: list[tuple[str, Cause]] = []
        for name, answered in zip(order, ~empty, strict=True):
            with collect_warnings() as causes:
                warn_of_missing_topics(judgments, answered, np.any(self._plan.counted, axis=0))
            warned += [(run_title(name), cause) for cause in causes]
        warn_of_runs(warned)
        return values


def _positions(names: pd.Series, known: Any) -> Ints:
    """Return the positions of names among the known ones."""
    index = pd.Index(known, dtype=object)
    positions: Ints = index.get_indexer(pd.Index(names, dtype=object))
    return positions


def _with_group(rows: pd.DataFrame, frame: Any) -> pd.DataFrame:
    """Return the rows with the column of their group, which `groupby(…).apply` leaves out."""
    missing: list[str] = []
    if "name" not in rows.columns:
        missing.append("name")
    if "qid" not in rows.columns and "query_id" not in rows.columns:
        missing.append("qid")
    group = None
    if isinstance(frame, pd.DataFrame) and missing:
        group = getattr(frame, "name", None)
    if len(missing) == 1 and pd.api.types.is_scalar(group) and group is not None:
        return rows.assign(**{missing[0]: group})
    if "name" in missing:
        remedy = ""
        if isinstance(group, tuple):
            remedy = (
                ". In pandas, apply leaves out the columns of groups: use [ev(part) for _, part "
                "in table.groupby(...)]"
            )
        raise MultiAspectError(
            "expected a column name with the run of each row, got the columns "
            f"{choices(rows.columns)}{remedy}"
        )
    return rows


def _restore_evaluator(key: str, content: bytes, by: str) -> Evaluator:
    """Restore an evaluator in another process; copies share the judgments."""
    restored = Evaluator(unpack_plan(key, content), by)
    restored._packed = key, content
    return restored


def _convert_like(frame: Any, result: pd.DataFrame) -> Any:
    """Return the result as a frame of the library of `frame`."""
    library = type(frame).__module__.partition(".")[0]
    if library not in ("polars", "pyarrow"):
        return result
    columns = {column: result[column].tolist() for column in COLUMNS}
    if library == "polars":
        import polars

        types: dict[str, Any] = dict.fromkeys(COLUMNS, polars.String)
        types["value"] = polars.Float64
        return polars.DataFrame(columns, schema=types)
    import pyarrow

    arrow_types = dict.fromkeys(COLUMNS, pyarrow.string())
    arrow_types["value"] = pyarrow.float64()
    schema = pyarrow.schema(list(arrow_types.items()))
    return pyarrow.table(columns, schema=schema)
