"""Optional computation of standard measures of ir-measures and PyTerrier by the kernels of this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        self._began = not _installed_providers()
        if self._began:
            # Before pytrec_eval's provider; ir-measures tries the providers in order.
            ir_measures.DefaultPipeline.providers.insert(0, _AcceleratedProvider())

    def undo(self) -> None:
        """End the acceleration, also if another call of `accelerate` began it."""
        for provider in _installed_providers():
            ir_measures.DefaultPipeline.providers.remove(provider)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._began:
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
        return bool(
            ir_measures.pytrec_eval.is_available() and ir_measures.pytrec_eval.supports(measure)
        )

    def _evaluator(self, measures: Iterable[AnyMeasure], qrels: object) -> Evaluator:
        wanted = set(measures) if isinstance(measures, Iterator) else measures
        ours = frozenset(measure for measure in wanted if _is_accelerated(measure))
        if ours:
            qrels = as_repeatable(qrels)
            prepared = self._prepare(ours, qrels)
            if prepared is not None:
                return _AcceleratedEvaluator(wanted, prepared)
        return ir_measures.pytrec_eval.evaluator(wanted, qrels)

    def _prepare(self, measures: frozenset[AnyMeasure], qrels: object) -> _Prepared | None:
        frame = _plain_frame(qrels, _QRELS, "iu")
        if frame is None:
            return None
        try:
            judgments = _last.of(frame)
            labels = judgments.labels("relevance")
        except MultiAspectError:
            return None  # pytrec_eval uses the last of different labels for the same document
        prepared = self._prepared  # another thread may replace it meanwhile
        if prepared is None or prepared.judgments is not judgments or prepared.measures != measures:
            standard = StandardMeasures(measures, judgments, labels)
            prepared = self._prepared = _Prepared(frame, judgments, measures, standard)
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
        """The groups of measures that pytrec_eval computes together, in the order in which it yields them.

        The order depends on that of sets. pt.Experiment shows its columns in this order.
        """
        run = {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}
        tiny = ir_measures.pytrec_eval.evaluator(self.measures, {"q1": {"d1": 1}, "q2": {"d1": 1}})
        by_query = [
            list(part) for _, part in groupby(tiny._iter_calc(run), lambda metric: metric.query_id)
        ]
        # Queries alternate within each group: q1 q2 q1 q2.
        return [[metric.measure for metric in metrics] for metrics in by_query[::2]]

    def _iter_calc(self, run: object) -> Iterator[Metric]:
        run = as_repeatable(run)
        frame = _plain_frame(run, _RUN, "iuf")
        if frame is None:
            yield from self._original._iter_calc(run)
            return
        judgments = self._prepared.judgments
        rankings = Rankings(frame, judgments)
        qids = rankings.source.qids
        position = judgments.query_positions(qids)
        answered = [
            (qid, query)
            for qid, query in zip(qids.tolist(), position.tolist(), strict=True)
            if query >= 0
        ]
        values: dict[tuple[AnyMeasure, str], float] = {}
        for measure, column in self._prepared.standard.values(rankings, lambda: frame).items():
            query_values = column.tolist()
            values.update(((measure, qid), query_values[query]) for qid, query in answered)
        for original in self._originals_of_others:
            for metric in original._iter_calc(run):
                values[metric.measure, metric.query_id] = metric.value
        for measures in self._groups:
            for qid, _ in answered:
                for measure in measures:
                    if (measure, qid) in values:
                        yield Metric(
                            query_id=qid, measure=measure, value=values.pop((measure, qid))
                        )
        for (
            measure,
            qid,
        ), value in values.items():  # measures that pytrec_eval confuses with others
            yield Metric(query_id=qid, measure=measure, value=value)


def _is_accelerated(measure: AnyMeasure) -> bool:
    return (
        standard_base(measure) is not None and not {"gains", "judged_only"} & measure.params.keys()
    )


def _plain_frame(data: Any, columns: tuple[str, str, str], kinds: str) -> pd.DataFrame | None:
    """Return qrels or a run as a frame if pytrec_eval reads them as this package does, else None.

    Parameters
    ----------
    data : object
        The qrels or the run.
    columns : tuple of str
        Two columns of identifiers, which are strings, and one of numbers.
    kinds : str
        The kinds of the numbers in NumPy.
    """
    if isinstance(data, dict):
        if not all(isinstance(documents, dict) and documents for documents in data.values()):
            return None
        rows = [
            (qid, docno, value)
            for qid, documents in data.items()
            for docno, value in documents.items()
        ]
        frame = pd.DataFrame(rows, columns=list(columns))
    elif isinstance(data, pd.DataFrame):
        if not data.columns.is_unique or not set(columns) <= set(data.columns):
            return None
        frame = data[list(columns)]
    elif isinstance(data, list) and data and all(type(row) is type(data[0]) for row in data):
        fields = getattr(data[0], "_fields", ())
        if not set(columns) <= set(fields):
            return None
        frame = pd.DataFrame(data, columns=list(fields))[list(columns)]
    else:
        return None
    *identifiers, numbers = columns
    is_plain = len(frame) and all(_has_strings(frame[column]) for column in identifiers)
    return frame if is_plain and _has_numbers(frame[numbers], kinds) else None


def _has_strings(column: pd.Series[Any]) -> bool:
    """Return whether all values are strings."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return (
            not column.hasnans
            and pd.api.types.infer_dtype(column.cat.categories, skipna=False) == "string"
        )
    if is_arrow(column):
        return pd.api.types.is_string_dtype(column.dtype) and not column.hasnans
    # Faster than a test for missing values, which are not strings in pandas.
    return pd.api.types.infer_dtype(column.to_numpy(dtype=object), skipna=False) == "string"


def _has_numbers(column: pd.Series[Any], kinds: str) -> bool:
    return (
        isinstance(column.dtype, np.dtype)
        and column.dtype.kind in kinds
        and not column.isna().any()
    )
