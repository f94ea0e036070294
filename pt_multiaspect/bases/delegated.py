"""Bases computed by ir-measures, on single-aspect qrels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import Measure

from .._cached import Memo
from .._typing import Bools, Floats, Ints, Objects
from ..collection import Judgments, Ranking
from ..errors import MultiAspectError, choices, refuse_unknown
from ..kernels.target import Target
from .adapters import Adapter, adapted_names, adapter_of
from .base import Base
from .statements import Statements

#: The maximum label. For larger ones, back ends of ir-measures allocate memory proportional to the
#: label.
_MAX_LABEL = 100_000

#: Measures of ir-measures whose values have no maximum.
_UNBOUNDED = ("NumRelRet", "NumRet", "alpha_DCG")

#: The maximum label of gdeval.pl, the program in Perl by which ir-measures computes ERR and
#: nDCG(dcg='exp-log2').
_MAX_GDEVAL_LABEL = 4

#: The maximum label of pytrec_eval, which allocates 80 MB for it, and that of other back ends.
_MAX_TREC_EVAL_LABEL, _MAX_OTHER_LABEL = 10_000_000, 10**18

T = TypeVar("T")


class Delegated(Adapter):
    """A base computed by ir-measures.

    The labels that ir-measures receives are the gains, or 1 for relevant documents. The parameter
    ``max_rel`` of SDCG, INST, BPM and others is the maximum gain of the scale, if it is not given.
    """

    def __init__(self, measure: Measure) -> None:
        super().__init__(measure)
        accepted = measure.SUPPORTED_PARAMS
        # Measures with a lowest relevant label count documents as relevant or not.
        self.BINARY = "rel" in accepted  # type: ignore[misc]
        # The parameter `gains` maps labels to gains.
        self._maps_labels = "gains" in measure.params
        # The maximum gain, if it is not given, is that of the scale.
        if "max_rel" in accepted and "max_rel" not in measure.params:
            self._from_scale = ("max_rel",)
        if measure.NAME in _UNBOUNDED:
            self.RANGE = (0.0, np.inf)  # type: ignore[misc]

    def statements(self) -> Statements:
        """State the maximum gain, if it is that of the scale, and if ``gains`` maps labels."""
        return replace(
            super().statements(),
            needs_top=bool(self._from_scale),
            max_gain=self.params.get("max_rel", _MAX_LABEL),
            reads_labels=self._maps_labels,
        )

    @property
    def depth(self) -> int | None:
        """None, as the measure applies its cutoff itself: some use more than the first ranks."""
        return None

    @property
    def _is_binarised(self) -> bool:
        """Return whether the measure depends only on which labels reach ``rel``."""
        return self.BINARY and (self.rel is not None or self.SUPPORTED_PARAMS["rel"].default == 1)

    @property
    def reads_gains(self) -> bool:
        """Return whether the measure depends on gains."""
        return not self._is_binarised

    def gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, to which ``gains`` maps its label, if given."""
        if self._maps_labels:
            return target.source.mapped_gains(self.params["gains"])
        return super().gain(target)

    def has_positive(self, target: Target) -> Bools:
        """Return a mask of the queries in which values can exceed 0."""
        if self.NAME == "NumRet":  # it counts documents that are not relevant, too
            return np.ones(target.n_queries, dtype=np.bool_)
        return super().has_positive(target)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings with ir-measures."""
        labels = self._labels_of_documents(target)
        if self._from_scale:  # then the highest label is read too, whether it occurs or not
            self._check_labels(np.append(labels, target.top))
        else:
            self._check_labels(labels)
        measure = self._measure_of_labels(target)
        try:
            values = IrMeasures([measure], ranking.judgments, labels).values(ranking.frame())
        except MultiAspectError as error:
            raise MultiAspectError(
                f"the base {self.text} is computed by ir-measures: {error}"
            ) from error
        return values[measure]

    def _labels_of_documents(self, target: Target) -> Floats:
        """Return the labels that ir-measures reads, one per judged document.

        They are the gains if these are positive. Other documents have the label 0 or, if they are
        junk, a negative one, which some measures distinguish from 0. Documents without labels are
        NaN.
        """
        if self._is_binarised:
            gain = self.relevant(target).astype(np.float64)
        elif self._maps_labels:
            gain = self.gain(target)
        else:
            gain = target.gain
        # `junk` is NaN for documents without labels, negative for junk, and 0 for all others, which
        # is the label of those that have no positive gain.
        label_without_gain = target.source.junk
        is_unjudged = np.isnan(label_without_gain)
        has_gain = ~is_unjudged & (gain > 0)
        return np.where(has_gain, gain, label_without_gain)

    def _measure_of_labels(self, target: Target) -> Measure:
        """Return the measure that ir-measures computes, with the gains in the place of labels.

        So a parameter about labels must be about gains: ``max_rel`` is the highest label, ``rel``
        the lowest relevant one, and ``gains`` maps labels to gains. A measure has one of them, or
        none.
        """
        if self._from_scale:  # max_rel is not given: it is the highest gain of the scale
            highest_gain = max(int(target.top), 1)
            return self.measure(max_rel=highest_gain)
        if self._is_binarised:  # relevant documents have the gain 1, the others 0
            return self.measure(rel=1)
        if self._maps_labels:  # labels are already mapped to gains, which stay as they are
            other_params = {name: value for name, value in self.params.items() if name != "gains"}
            return type(self.measure)(**other_params)
        return self.measure

    def _check_labels(self, labels: Floats) -> None:
        """Raise an error for labels that are not integers, or higher than the measure can have."""
        fraction = first_fraction(labels)
        if fraction is not None:
            names = choices(adapted_names())
            raise MultiAspectError(
                f"the base {self.text} is computed by ir-measures: expected integer gains, got "
                f"{fraction:g}. Choose a base that this package computes ({names}), declare "
                "integer gains, or, under TOMA, use weighting='classes'"
            )
        highest = np.nanmax(labels, initial=0.0)
        limit = self.params.get("max_rel")
        if limit is not None and highest > limit:
            raise MultiAspectError(
                f"the base {self.text} expected gains of at most max_rel={limit}, got {highest:g}; "
                "increase max_rel"
            )
        if highest > _MAX_LABEL:
            raise MultiAspectError(
                f"the base {self.text} is computed by ir-measures: expected gains of at most "
                f"{_MAX_LABEL}, got {highest:g}; declare smaller gains, or, under TOMA, use "
                "weighting='classes'"
            )


def as_base(measure: Measure | Base) -> Base:
    """Return a single-aspect measure as a base.

    A measure that is a Base is returned unchanged. Measures of ir-measures are computed by this
    package if an adapter supports their class and parameters, otherwise by ir-measures.
    """
    if isinstance(measure, Base):
        return measure
    return adapter_of(measure) or Delegated(measure)


def first_fraction(labels: Floats) -> float | None:
    """Return the first label that is not an integer, or None; NaN is ignored."""
    is_judged = ~np.isnan(labels)
    is_fraction = (labels != np.floor(labels)) & is_judged
    fractions = labels[is_fraction]
    if len(fractions):
        return float(fractions[0])
    return None


class IrMeasures(Memo):
    """Measures computed by ir-measures on single-aspect labels, prepared once for all runs.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        Measures of ir-measures.
    judgments : Judgments
        The judged pairs.
    labels : ndarray of float, shape (n_pairs,)
        Integers; NaN for unjudged pairs.
    """

    def __init__(self, measures: Iterable[Measure], judgments: Judgments, labels: Floats) -> None:
        self.measures = sorted(measures, key=str)
        self._judgments = judgments
        self._labels = labels

    def _make_evaluators(self) -> list[tuple[Any, Objects]]:
        """Return an evaluator of ir-measures, and its names of queries, per group of measures."""
        self._check_labels()
        evaluators: list[tuple[Any, Objects]] = []
        for group in self._groups():
            first_measure = group[0]  # all measures of a group need the same qrels
            qrels, names = self._qrels_for(first_measure)
            evaluator = self._make_evaluator(group, qrels)
            evaluators.append((evaluator, names))
        return evaluators

    def _make_evaluator(self, group: Sequence[Measure], qrels: pd.DataFrame) -> Any:
        """Return an evaluator of ir-measures; errors name the measure that it does not support."""
        return compute_or_name_measure(
            group, lambda measures: ir_measures.evaluator(measures, qrels)
        )

    def _groups(self) -> list[list[Measure]]:
        return measure_groups(self.measures)

    def _check_labels(self) -> None:
        """Raise an error for the first label that a back end of ir-measures cannot read."""
        for measure in self.measures:
            if function_of(measure) is not None:  # it may be named like a measure of ir-measures
                continue
            with name_measures_in_errors([measure]):  # ir-measures checks parameters here
                limit = _max_label(measure)
            larger = np.flatnonzero(self._labels > limit)
            if len(larger):
                row = larger[0]
                label = self._labels[row]
                docno = self._judgments.docnos[row]
                qid = self._judgments.qids[self._judgments.pool_query[row]]
                raise MultiAspectError(
                    f"ir-measures computes {measure} for labels of at most {limit}, got {label:g} "
                    f"for document {docno}, query {qid}; {_remedy(measure)}"
                )

    def _check_documents(self, docnos: Objects) -> None:
        """Raise an error for a document whose id gdeval.pl would divide at a blank."""
        by_gdeval = [measure for measure in self.measures if _is_computed_by_gdeval(measure)]
        if not by_gdeval:
            return
        measure = by_gdeval[0]
        for docno in [*self._judgments.docnos, *docnos]:
            contains_blank = len(docno.split()) != 1
            if contains_blank:
                raise MultiAspectError(
                    f"ir-measures computes {measure} for ids of documents without blanks, got "
                    f"{docno!r}; {_remedy(measure)}"
                )

    def _qrels_for(self, measure: Measure) -> tuple[pd.DataFrame, Objects]:
        """Return the qrels for a measure, and the names of the queries in them."""
        if "gains" in measure.params:
            labels = self._labels_to_map(measure.params["gains"])
        else:
            labels = self._labels_without_negative_queries()
        if function_of(measure) is not None:
            # Users' functions may look topics up by their ids, and read further columns.
            names = self._judgments.qids.astype(object)
            columns = qrels_inputs([measure])
        else:
            # gdeval fails on query ids that are not numbers.
            names = query_numbers(self._judgments.n_queries)
            columns = []
        if columns:
            return self._rows(columns, labels, names), names
        return self._qrels(labels, names), names

    def _labels_without_negative_queries(self) -> Floats:
        """Return the labels; in queries that have only negative ones, 0 instead.

        pytrec_eval reads out of bounds on such queries. Their values do not change, as none of
        their documents is relevant.
        """
        query = self._judgments.pool_query
        best = _best_of_queries(self._labels, query, self._judgments.n_queries)
        has_only_negative = best[query] < 0  # per document, of its query
        return np.where(has_only_negative, np.maximum(self._labels, 0.0), self._labels)

    def _labels_to_map(self, gains: Mapping[Any, float]) -> Floats:
        """Return the labels for a measure that itself maps them to `gains`.

        It must not get queries whose gains are all negative, on which pytrec_eval reads out of
        bounds. Gains are computed here only to find these queries; their labels become NaN, which
        leaves them out of the qrels, so that they have the default value, 0.
        """
        gain = self._labels.copy()  # a label that `gains` does not list is its own gain
        for label, gain_of_label in gains.items():
            has_label = self._labels == float(label)
            gain[has_label] = gain_of_label
        query = self._judgments.pool_query  # of each document
        best_gain = _best_of_queries(gain, query, self._judgments.n_queries)
        is_negative_query = best_gain < 0
        is_left_out = is_negative_query[query]
        return np.where(is_left_out, np.nan, self._labels)

    def _qrels(self, labels: Floats, names: Objects) -> pd.DataFrame:
        """Return the judged documents with these labels, as qrels of ir-measures."""
        judged = np.flatnonzero(~np.isnan(labels))
        columns = {
            "query_id": names[self._judgments.pool_query[judged]],
            "doc_id": self._judgments.docnos[judged],
            "relevance": labels[judged].astype(np.int64),
        }
        return pd.DataFrame(columns)

    def _rows(self, columns: list[str], labels: Floats, names: Objects) -> pd.DataFrame:
        """Return all rows of the qrels with further columns, as pt.Experiment passes them."""
        refuse_unknown(columns, self._judgments.columns, "columns of the qrels", "qrel_inputs")
        rows = self._judgments.rows(columns)
        row_values = self._judgments.row_values  # the values of documents, per row of the qrels
        query = row_values(self._judgments.pool_query)
        return rows.assign(
            query_id=names[query],
            doc_id=row_values(self._judgments.docnos),
            relevance=row_values(labels),
        )

    def values(self, run: pd.DataFrame) -> dict[Measure, Floats]:
        """Evaluate one run.

        Parameters
        ----------
        run : DataFrame
            Columns ``query_id doc_id score``.

        Returns
        -------
        dict of Measure to ndarray of float, shape (n_queries,)
            Never NaN: values that ir-measures omits or returns as NaN are replaced by the measure's
            default.

        Raises
        ------
        MultiAspectError
            If ir-measures cannot compute one of the measures.
        """
        qids = run["query_id"].to_numpy(dtype=object)
        query_or_none = self._judgments.query_positions(qids)  # -1 for queries without judgments
        is_judged = query_or_none >= 0
        judged_run = run[is_judged]
        query = query_or_none[is_judged]  # the index of the query of each row
        values = self._default_values()
        evaluators = self.compute_once("evaluators", self._make_evaluators)
        self._check_documents(judged_run["doc_id"].to_numpy(dtype=object))
        for evaluator, names in evaluators:
            # The qrels of an evaluator have names of their own for the queries. The run gets them.
            name_of_row = names[query]
            renamed_run = judged_run.assign(query_id=name_of_row)
            metrics = self._metrics(evaluator, renamed_run, judged_run["query_id"])
            _fill_values(values, metrics, names)
        return values

    def _default_values(self) -> dict[Measure, Floats]:
        """Return the default of each measure for all queries."""
        values: dict[Measure, Floats] = {}
        for measure in self.measures:
            default = float(measure.DEFAULT)
            values[measure] = np.full(self._judgments.n_queries, default)
        return values

    def _metrics(self, evaluator: Any, run: pd.DataFrame, qids: pd.Series) -> list[Any]:
        """Return what an evaluator of ir-measures computes for a run, in which queries are renamed.

        Errors name the measure that fails and, unless it is a user's function, the query, by its id
        in `qids`, which has the original id of each row.
        """
        measures = list(evaluator.measures)
        compute = partial(self._compute, evaluator, run)  # a function of measures
        try:
            return compute_or_name_measure(measures, compute)
        except MultiAspectError as error:
            is_of_user = function_of(measures[0]) is not None
            if is_of_user:
                raise
            # The cause is the error of ir-measures, which `error` reports.
            raise _name_query(error, evaluator, run, qids) from error.__cause__

    def _compute(self, evaluator: Any, run: pd.DataFrame, measures: Sequence[Measure]) -> list[Any]:
        """Return what ir-measures computes for all measures of an evaluator, or some of them."""
        are_all = len(measures) == len(evaluator.measures)
        if are_all:
            return list(evaluator.iter_calc(run))
        # An evaluator computes all its measures, so make one for some of them, with the same qrels:
        # these are the same for all measures of an evaluator.
        qrels, _ = self._qrels_for(measures[0])
        smaller_evaluator = self._make_evaluator(measures, qrels)
        return list(smaller_evaluator.iter_calc(run))


def _fill_values(values: dict[Measure, Floats], metrics: list[Any], names: Objects) -> None:
    """Write the metrics of ir-measures into the arrays of `values`; NaN leaves the default there.

    A metric is the value of a measure for a query, which is called by its name: `names` has the
    names of all queries, in the order of the arrays.
    """
    index_of_name = {name: index for index, name in enumerate(names)}
    for metric in metrics:
        if np.isnan(metric.value):
            continue
        index = index_of_name[metric.query_id]
        values[metric.measure][index] = metric.value


def _name_query(
    error: MultiAspectError, evaluator: Any, run: pd.DataFrame, qids: pd.Series
) -> MultiAspectError:
    """Return the error of an evaluator with the first query that it cannot evaluate alone.

    If there is none, return the error as it is. `qids` has the query of each row of the run.
    """
    for qid, rows in run.groupby(qids, sort=False):
        try:
            list(evaluator.iter_calc(rows))
        except Exception:
            return MultiAspectError(f"query {qid}: {error}")
    return error


def _is_computed_by_gdeval(measure: Measure) -> bool:
    """Return whether ir-measures computes a measure by gdeval.pl."""
    if type(measure) is type(ir_measures.ERR):
        return True
    exponentiates = measure.params.get("dcg") == "exp-log2"
    return exponentiates and type(measure) is type(ir_measures.nDCG)


def _max_label(measure: Measure) -> int:
    """Return the maximum label that the back end of a measure of ir-measures reads."""
    if _is_computed_by_gdeval(measure):
        return _MAX_GDEVAL_LABEL
    if ir_measures.pytrec_eval.supports(measure):
        return _MAX_TREC_EVAL_LABEL
    return _MAX_OTHER_LABEL


def _remedy(measure: Measure) -> str:
    """Return what to do about a measure that ir-measures cannot compute."""
    if adapter_of(measure) is None:
        return "leave the measure out, or change the input"
    return f"use On(base={str(measure)!r}), which this package computes"


def compute_or_name_measure(
    measures: Sequence[Measure], compute: Callable[[Sequence[Measure]], T]
) -> T:
    """Return the result of a function of measures; its errors name the measure that causes them."""
    if len(measures) > 1:
        try:
            return compute(measures)
        except Exception:
            # Compute them one by one: the first that fails raises an error with its name.
            for measure in measures:
                with name_measures_in_errors([measure]):
                    compute([measure])
    # There is a single measure, or each succeeds alone: an error names all of them.
    with name_measures_in_errors(measures):
        return compute(measures)


@contextmanager
def name_measures_in_errors(measures: Collection[Measure]) -> Iterator[None]:
    """Name the measures in errors of ir-measures and of users' functions."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        names = choices(sorted(map(str, measures)))
        is_of_user = any(function_of(measure) is not None for measure in measures)
        if is_of_user and isinstance(error, KeyError):
            raise MultiAspectError(
                f"the function of {names} found no column {error}: name the columns that it reads "
                "by run_inputs= and qrel_inputs= of ir_measures.define_byquery, as in "
                "run_inputs=['query_id', 'text']"
            ) from error
        if is_of_user:
            kind = type(error).__name__
            raise MultiAspectError(
                f"the function of {names} raised {kind}: {error}. It reads all "
                "rows of a topic in the qrels and in the run, in which values may be missing. If "
                "it accepts one row each, evaluate the answers in a pt.Experiment of their own "
                "with perquery=True; the rows of both tables can be concatenated"
            ) from error
        cause = str(error).rstrip(".") or type(error).__name__
        remedy = _remedy(next(iter(measures)))
        raise MultiAspectError(f"ir-measures cannot compute {names}: {cause}; {remedy}") from error


def measure_groups(measures: Iterable[Measure]) -> list[list[Measure]]:
    """Return groups of measures that one evaluator of ir-measures computes without confusion.

    In an evaluator of several measures, a plain nDCG may get the gains of another nDCG, and NumRet
    may count judged documents only, depending on the order of a set.
    """
    groups: list[list[Measure]] = []
    together: list[Measure] = []
    for measure in measures:
        changes_documents = measure.params.get("judged_only") or "gains" in measure.params
        if changes_documents or function_of(measure) is not None:
            groups.append([measure])
        else:
            together.append(measure)
    if together:
        groups.append(together)
    return groups


def function_of(measure: Measure) -> Callable[..., Any] | None:
    """Return the user's function that computes a measure; None for measures of other kinds.

    `ir_measures.define` and `define_byquery` make such measures.
    """
    method = getattr(type(measure), "runtime_impl", None)
    if method is None:
        return None
    # The method that `define` makes calls the user's function, an argument of `define`, by the name
    # `impl`. A method without that name is the user's own.
    variables = inspect.getclosurevars(method).nonlocals
    function: Callable[..., Any] = variables.get("impl", method)
    return function


def run_inputs(measures: Iterable[Measure]) -> list[str]:
    """Return the columns of runs that users' functions read, except those that every run has."""
    return _inputs(measures, "RUN_INPUTS", ("query_id", "doc_id", "score", "qid", "docno"))


def qrels_inputs(measures: Iterable[Measure]) -> list[str]:
    """Return the columns of qrels that users' functions read, except those that all qrels have."""
    usual = ("query_id", "doc_id", "relevance", "qid", "docno", "label")
    return _inputs(measures, "QREL_INPUTS", usual)


def _inputs(measures: Iterable[Measure], attribute: str, usual: Sequence[str]) -> list[str]:
    """Return the distinct columns that users' functions read, but the usual ones.

    The attribute, ``RUN_INPUTS`` or ``QREL_INPUTS``, has the columns that a user has named to
    `ir_measures.define`.
    """
    columns: dict[str, None] = {}  # distinct ones, in order
    for measure in measures:
        if function_of(measure) is None:
            continue
        inputs = getattr(measure, attribute, ())
        columns.update(dict.fromkeys(inputs))
    return [column for column in columns if column not in usual]


def reads_relevance(measure: Measure) -> bool:
    """Return whether a measure of ir-measures reads relevance labels.

    All do but some that users define by a function: these may list the columns that they read.
    """
    is_of_user = function_of(measure) is not None
    if not is_of_user:
        return True
    inputs = getattr(measure, "QREL_INPUTS", ("label",))
    return "relevance" in inputs or "label" in inputs


def check_functions(measures: Iterable[Measure]) -> None:
    """Raise an error for equal measures with different functions.

    ir-measures would compute only one of them.

    Raises
    ------
    MultiAspectError
        If two measures have the same name and parameters.
    """
    functions: dict[Measure, Any] = {}
    for measure in measures:
        function = function_of(measure)
        if function is None:
            continue
        first = functions.setdefault(measure, function)
        if first is not function:
            raise MultiAspectError(
                f"expected measures of different names, got two functions for {measure}; give each "
                "its own name= when it is defined"
            )


def query_numbers(n_queries: int) -> Objects:
    """Return names of queries that every back end of ir-measures reads: "1", "2" and so on."""
    numbers = np.arange(1, n_queries + 1)
    return numbers.astype(str).astype(object)


def _best_of_queries(values: Floats, query: Ints, n_queries: int) -> Floats:
    """Return the maximum of each query; -inf for queries without values."""
    best = np.full(n_queries, -np.inf)
    without_nan = np.nan_to_num(values, nan=-np.inf)
    np.maximum.at(best, query, without_nan)
    return best
