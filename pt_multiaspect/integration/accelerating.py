"""Optional computation of standard measures by the kernels of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import Measure as AnyMeasure
from ir_measures import Metric
from ir_measures.providers import Evaluator, Provider

from .._cached import cached_property
from ..bases.delegated import measure_groups
from ..bases.standard import StandardMeasures, standard_base
from ..collection import Judgments, Rankings
from ..errors import MultiAspectError
from ..io.runs import as_repeatable
from ..strings.identifiers import is_arrow
from .provider import LastJudgments

if TYPE_CHECKING:
    from typing_extensions import Self

#: Not shared with the provider: these are of the three columns that pytrec_eval reads.
_last = LastJudgments()

_QRELS = ("query_id", "doc_id", "relevance")
_RUN = ("query_id", "doc_id", "score")

#: Kinds of numbers in NumPy.
_INTEGERS = "iu"
_REAL_NUMBERS = "iuf"


def accelerate() -> Acceleration:
    """Let ir-measures and PyTerrier compute standard measures by the kernels of this package.

    Afterwards, ``pt.Experiment``, ``ir_measures.calc_aggregate`` and everything else that uses the
    default providers of ir-measures return the same values several times faster. The order of
    results and the errors for invalid input do not change. Measures of this package are always
    computed by its kernels, also without this function.

    Returns
    -------
    Acceleration
        Its method `undo` ends the acceleration; it is also a context manager. Calling `accelerate`
        again has no effect.

    Notes
    -----
    The accelerated measures are AP, nDCG, P, R, Rprec, RR, SetAP, SetF, SetP, SetR and Success,
    with any cutoff and ``rel``, for which ir-measures uses pytrec_eval. The values differ by less
    than 1e-12. With the parameters ``gains`` or ``judged_only``, and where tools define a measure
    differently (such as ``RR@10``, of MS MARCO), measures are computed as before. So are all
    measures if qrels or runs are not in the form that pytrec_eval documents: string identifiers,
    integer labels, and one label per document.

    Qrels are prepared once for all runs, as long as their content does not change. This package
    warns about runs that repeat documents, or in which most scores are equal as 32-bit floats.

    Errors of ir-measures are avoided. A query with only negative labels, for which pytrec_eval
    reads beyond its memory, has the value 0, and labels may exceed 32 bits. A plain nDCG next to an
    nDCG with ``gains`` is never computed with these gains, and NumRet next to measures with
    ``judged_only`` always counts all documents.

    Stability: provisional. It replaces functions of ir-measures and PyTerrier, and depends on their
    versions.

    Examples
    --------
    >>> import ir_measures
    >>> import pt_multiaspect as ma
    >>> with ma.accelerate():
    ...     ir_measures.calc_aggregate([ir_measures.AP], {"q1": {"d1": 1}}, {"q1": {"d1": 1.0}})
    {AP: 1.0}
    """
    # Its creation begins the acceleration.
    return Acceleration()


class Acceleration:
    """The acceleration of standard measures, see `accelerate`.

    As a context manager, it ends the acceleration after the block, unless it was already active
    before.

    Notes
    -----
    Stability: provisional. It is the result of `accelerate`, which may change.
    """

    def __init__(self) -> None:
        """Begin the acceleration, unless it is already active."""
        is_active = len(_installed_providers()) > 0
        self._began_here = not is_active
        if self._began_here:
            # ir-measures tries the providers in order: this one before that of pytrec_eval.
            ir_measures.DefaultPipeline.providers.insert(0, _AcceleratedProvider())

    def undo(self) -> None:
        """End the acceleration, also if another call of `accelerate` began it."""
        for provider in _installed_providers():
            ir_measures.DefaultPipeline.providers.remove(provider)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._began_here:
            self.undo()


def _installed_providers() -> list[Provider]:
    providers = ir_measures.DefaultPipeline.providers
    return [provider for provider in providers if isinstance(provider, _AcceleratedProvider)]


class _AcceleratedProvider(Provider):  # type: ignore[misc]
    """A provider before that of pytrec_eval, which computes all other measures."""

    NAME = "multiaspect-accelerated"

    def __init__(self) -> None:
        super().__init__()
        self._prepared: _Prepared | None = None

    def supports(self, measure: AnyMeasure) -> bool:
        """Return whether pytrec_eval supports a measure.

        That includes measures that are not accelerated: one provider yields them all in
        pytrec_eval's order.
        """
        pytrec_eval = ir_measures.pytrec_eval
        return bool(pytrec_eval.is_available() and pytrec_eval.supports(measure))

    def _evaluator(self, measures: Iterable[AnyMeasure], qrels: object) -> Evaluator:
        """Return an accelerated evaluator, or pytrec_eval's if this is as fast or would differ."""
        # An iterator can be read only once.
        if isinstance(measures, Iterator):
            measures = set(measures)
        accelerated = frozenset(measure for measure in measures if _is_accelerated(measure))
        if accelerated:
            qrels = as_repeatable(qrels)
            prepared = self._prepare(accelerated, qrels)
            if prepared is not None:
                return _AcceleratedEvaluator(measures, prepared)
        return ir_measures.pytrec_eval.evaluator(measures, qrels)

    def _prepare(self, measures: frozenset[AnyMeasure], qrels: object) -> _Prepared | None:
        """Return measures and qrels, prepared anew unless they are the last ones.

        None if pytrec_eval reads the qrels in another way than this package.
        """
        frame = _plain_frame(qrels, _QRELS, _INTEGERS)
        if frame is None:
            return None
        try:
            judgments = _last.of(frame)
            labels = judgments.labels("relevance")
        except MultiAspectError:
            # Different labels for the same document, of which pytrec_eval uses the last.
            return None
        # `_last` returns the same judgments for qrels with the same content, so that these can be
        # compared by identity. Another thread may replace the attribute meanwhile.
        last = self._prepared
        if last is not None and last.judgments is judgments and last.measures == measures:
            return last
        standard = StandardMeasures(measures, judgments, labels)
        prepared = _Prepared(frame, judgments, measures, standard)
        self._prepared = prepared
        return prepared


class _Prepared(NamedTuple):
    """Measures and qrels, prepared for any number of runs."""

    frame: pd.DataFrame
    judgments: Judgments
    measures: frozenset[AnyMeasure]
    standard: StandardMeasures


class _AcceleratedEvaluator(Evaluator):  # type: ignore[misc]
    """An evaluator that yields the same values as pytrec_eval's, in the same order."""

    def __init__(self, measures: Iterable[AnyMeasure], prepared: _Prepared) -> None:
        super().__init__(measures, prepared.judgments.qids.tolist())
        self._prepared = prepared
        self._others = [measure for measure in measures if measure not in prepared.measures]

    @cached_property
    def _original(self) -> Evaluator:
        """The evaluator of pytrec_eval for all measures, for runs that are not plain."""
        return ir_measures.pytrec_eval.evaluator(self.measures, self._prepared.frame)

    @cached_property
    def _originals_of_others(self) -> list[Evaluator]:
        groups = measure_groups(self._others)
        return [ir_measures.pytrec_eval.evaluator(group, self._prepared.frame) for group in groups]

    @cached_property
    def _groups(self) -> list[list[AnyMeasure]]:
        """The groups of measures that pytrec_eval computes together, in the order of its results.

        pt.Experiment shows its columns in this order, which depends on that of sets. So pytrec_eval
        itself is asked, by an evaluation of two queries.
        """
        qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
        run = {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}
        evaluator = ir_measures.pytrec_eval.evaluator(self.measures, qrels)
        # Its results begin with the first group on q1, the first group on q2, the second group on
        # q1, and so on: each block of results on q1 is one group.
        metrics = evaluator._iter_calc(run)
        groups: list[list[AnyMeasure]] = []
        for qid, block in groupby(metrics, key=lambda metric: metric.query_id):
            if qid == "q1":
                groups.append([metric.measure for metric in block])
        return groups

    def _iter_calc(self, run: object) -> Iterator[Metric]:
        """Yield the values of a run, in the order of pytrec_eval."""
        run = as_repeatable(run)
        frame = _plain_frame(run, _RUN, _REAL_NUMBERS)
        if frame is None:  # pytrec_eval may read it in another way
            yield from self._original._iter_calc(run)
            return
        rankings = Rankings(frame, self._prepared.judgments)
        row_of_qid = _rows_by_judged_qid(rankings, self._prepared.judgments)
        metrics = self._metrics(run, frame, rankings, row_of_qid)
        for measure_and_qid in self._order(row_of_qid):
            if measure_and_qid in metrics:
                yield metrics.pop(measure_and_qid)
        # Some measures may be in no group of pytrec_eval, which confuses them with others when it
        # computes all of them together: their values come last.
        yield from metrics.values()

    def _order(self, qids: Iterable[str]) -> Iterator[tuple[AnyMeasure, str]]:
        """Yield measures and queries in the order of the results of pytrec_eval."""
        for measures in self._groups:
            for qid in qids:
                for measure in measures:
                    yield measure, qid

    def _metrics(
        self, run: object, frame: pd.DataFrame, rankings: Rankings, row_of_qid: Mapping[str, int]
    ) -> dict[tuple[AnyMeasure, str], Metric]:
        """Return the values of a run, in any order, by measure and query.

        Parameters
        ----------
        run : object
            The run as it was given.
        frame : DataFrame
            Its queries, documents and scores.
        rankings : Rankings
            The run, joined with the judgments.
        row_of_qid : mapping of str to int
            The row in the judgments of each judged query of the run.
        """
        metrics: dict[tuple[AnyMeasure, str], Metric] = {}
        # By measure, arrays of shape (n_judged_queries,).
        accelerated = self._prepared.standard.values(rankings, lambda: frame)
        for measure, values in accelerated.items():
            value_of_row = values.tolist()
            for qid, row in row_of_qid.items():
                value = value_of_row[row]
                metrics[measure, qid] = Metric(query_id=qid, measure=measure, value=value)
        # Measures that are not accelerated.
        for evaluator in self._originals_of_others:
            for metric in evaluator._iter_calc(run):
                metrics[metric.measure, metric.query_id] = metric
        return metrics


def _rows_by_judged_qid(rankings: Rankings, judgments: Judgments) -> dict[str, int]:
    """Return the row in the judgments of each query of a run that is judged."""
    qids = rankings.source.qids
    rows = judgments.query_positions(qids)
    is_judged = rows >= 0
    return dict(zip(qids[is_judged].tolist(), rows[is_judged].tolist(), strict=True))


def _is_accelerated(measure: AnyMeasure) -> bool:
    """Return whether a kernel of this package computes the measure with its parameters."""
    if "gains" in measure.params or "judged_only" in measure.params:
        return False
    return standard_base(measure) is not None


def _plain_frame(data: Any, columns: tuple[str, str, str], kinds: str) -> pd.DataFrame | None:
    """Return qrels or a run as a frame if pytrec_eval reads them as this package does, else None.

    Parameters
    ----------
    data : object
        The qrels or the run.
    columns : tuple of str
        Two columns of identifiers, which are strings, and one of numbers.
    kinds : str
        The kinds of the numbers in NumPy, such as 'iu' for integers.
    """
    frame = _frame_of_columns(data, columns)
    if frame is None or frame.empty:
        return None
    qids, docnos, numbers = columns
    if not _has_strings(frame[qids]) or not _has_strings(frame[docnos]):
        return None
    if not _has_numbers(frame[numbers], kinds):
        return None
    return frame


def _frame_of_columns(data: Any, columns: tuple[str, str, str]) -> pd.DataFrame | None:
    """Return three columns of qrels or a run: a frame, a nested dict or a list of named tuples.

    None for anything else, and if a column is missing.
    """
    names = list(columns)
    if isinstance(data, dict):
        return _frame_of_dict(data, names)
    if isinstance(data, pd.DataFrame):
        has_columns = data.columns.is_unique and set(names) <= set(data.columns)
        if not has_columns:
            return None
        return data[names]
    if isinstance(data, list) and data:
        row_type = type(data[0])
        fields = getattr(row_type, "_fields", ())
        has_one_type = all(type(row) is row_type for row in data)
        if not has_one_type or not set(names) <= set(fields):
            return None
        return pd.DataFrame(data, columns=list(fields))[names]
    return None


def _frame_of_dict(data: dict[Any, Any], names: list[str]) -> pd.DataFrame | None:
    """Return ``{qid: {docno: number}}`` as a frame; None if a query has no dict of documents."""
    rows = []
    for qid, documents in data.items():
        if not isinstance(documents, dict) or not documents:
            return None
        for docno, number in documents.items():
            rows.append((qid, docno, number))
    return pd.DataFrame(rows, columns=names)


def _has_strings(column: pd.Series[Any]) -> bool:
    """Return whether all values are strings."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
        has_string_categories = pd.api.types.infer_dtype(categories, skipna=False) == "string"
        return has_string_categories and not column.hasnans
    if is_arrow(column):
        return pd.api.types.is_string_dtype(column.dtype) and not column.hasnans
    # Faster than a test for missing values, which are not strings in pandas.
    values = column.to_numpy(dtype=object)
    return pd.api.types.infer_dtype(values, skipna=False) == "string"


def _has_numbers(column: pd.Series[Any], kinds: str) -> bool:
    """Return whether all values are numbers of these kinds in NumPy, and none is missing."""
    if not isinstance(column.dtype, np.dtype):
        return False
    has_missing = column.isna().any()
    return column.dtype.kind in kinds and not has_missing
