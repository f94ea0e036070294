"""Runs and plans as bytes, which are quick to send to other processes."""

from __future__ import annotations

import hashlib
import io
import pickle
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass, replace
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import Measure
from numpy.typing import NDArray

from ..bases.delegated import function_of
from ..collection.inputs import run_columns
from ..collection.run_tables import RunTable
from ..errors import MultiAspectError
from ..strings.texts import Texts, is_arrow, joined
from .plan import Plan

__all__ = ["JoinedRun", "PackedRun", "SentRun", "forget_plan", "pack_plan", "unpack_plan", "unpacked"]


@dataclass(frozen=True)
class SentRun(ABC):
    """The rows of a run as bytes. Python strings would take longer to pickle than the run to evaluate."""

    #: The scores, as 64-bit floats.
    score: bytes

    @abstractmethod
    def unpacked(self) -> RunTable:
        """Return the rows of the run."""

    def __len__(self) -> int:
        return len(self.score) // 8


@dataclass(frozen=True)
class PackedRun(SentRun):
    """The rows of a run that has been read already."""

    qids: tuple[str, ...]
    #: The query of each block of adjacent rows with the same query, and the number of its rows.
    block_query: bytes
    block_size: bytes
    #: The bytes of all docnos, the number of bytes of each (as 8-bit or 32-bit numbers) and of those after each.
    docnos: bytes
    docno_size: bytes
    gap: int
    is_short: bool
    #: The further columns, see `RunTable.others`.
    others: pd.DataFrame | None = None

    @classmethod
    def of(cls, table: RunTable) -> PackedRun:
        """Pack the rows of a run."""
        heads = np.flatnonzero(np.diff(table.query, prepend=-1))
        size = table.docnos.size
        is_short = bool(size.max(initial=0) < 256)
        docnos, gap = _adjacent(table.docnos)
        return cls(
            qids=tuple(table.qids.tolist()),
            block_query=table.query[heads].astype("<u4").tobytes(),
            block_size=np.diff(heads, append=len(table)).astype("<u4").tobytes(),
            docnos=docnos.tobytes(),
            docno_size=size.astype("<u1" if is_short else "<u4").tobytes(),
            gap=gap,
            is_short=is_short,
            score=table.score.astype("<f8", copy=False).tobytes(),
            others=table.others,
        )

    def unpacked(self) -> RunTable:
        """Return the rows of the run."""
        size = np.frombuffer(self.docno_size, "<u1" if self.is_short else "<u4").astype(np.int64)
        docnos = Texts.within(self.docnos, _starts(size, self.gap), size)
        query = np.repeat(
            np.frombuffer(self.block_query, "<u4").astype(np.intp), np.frombuffer(self.block_size, "<u4")
        )
        qids = np.empty(len(self.qids), dtype=object)
        qids[:] = self.qids
        score = np.frombuffer(self.score, "<f8").astype(np.float64, copy=False)
        return RunTable(qids, query, docnos, score, self.others)

    def digest(self) -> str:
        """Return a digest of the content, except that of further columns."""
        digest = hashlib.sha256(b"rows")
        for part in astuple(replace(self, others=None)):
            data = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
        return digest.hexdigest()


@dataclass(frozen=True)
class JoinedRun(SentRun):
    """The rows of a frame of Python strings, which is quicker to make than a `PackedRun`.

    All else is left to the process that evaluates the run.
    """

    #: The queries and documents, as joined by `texts.joined`.
    queries: bytes
    docnos: bytes

    @classmethod
    def of(cls, run: object) -> JoinedRun | None:
        """Join the rows of a run; None if it is not such a frame, or needs conversion or an error."""
        if not isinstance(run, pd.DataFrame):
            return None
        try:
            frame, *ids = run_columns(run)
        except MultiAspectError:
            return None
        if any(isinstance(column.dtype, pd.CategoricalDtype) or is_arrow(column) for column in ids):
            return None
        score = frame["score"].to_numpy() if "score" in frame.columns else None
        if score is None or score.dtype != np.float64 or np.isnan(score).any():
            return None
        try:
            queries, docnos = (joined(column.to_numpy(dtype=object)) for column in ids)
        except TypeError:  # some are no strings
            return None
        if any(
            np.count_nonzero(np.frombuffer(content, np.uint8) == 0) != len(frame) for content in (queries, docnos)
        ):
            return None  # a zero byte within a string
        return cls(score.astype("<f8", copy=False).tobytes(), queries, docnos)

    def unpacked(self) -> RunTable:
        """Return the rows of the run."""
        queries, docnos = (Texts.of_joined(content, len(self)) for content in (self.queries, self.docnos))
        assert queries is not None  # no zero byte is within a string
        assert docnos is not None
        codes, distinct = queries.codes()
        return RunTable(distinct.decode(), codes, docnos, np.frombuffer(self.score, "<f8").astype(np.float64))


def unpacked(run: object) -> object:
    """Return a run in a form that can be evaluated: the rows of a run that was sent, other runs unchanged."""
    return run.unpacked() if isinstance(run, SentRun) else run


def _starts(size: NDArray[np.int64], gap: int) -> NDArray[np.int64]:
    """Return the starts of adjacent strings of these sizes, separated by gaps."""
    step = size + gap
    return np.asarray(np.cumsum(step) - step, dtype=np.int64)


def _adjacent(texts: Texts) -> tuple[NDArray[np.uint8], int]:
    """Return the bytes of all strings one after the other, and the number of bytes after each."""
    if not len(texts):
        return texts.data[:0], 0
    for gap in (1, 0):  # as read from Python's strings, and from Arrow's
        begin = _starts(texts.size, gap)
        if np.array_equal(texts.start - texts.start[0], begin):
            first = int(texts.start[0])
            return texts.data[first : first + int(begin[-1] + texts.size[-1])], gap
    position = np.repeat(texts.start - begin, texts.size)
    position += np.arange(len(position))
    data: NDArray[np.uint8] = texts.data[position]
    return data, 0


#: Plans by key: those of this process, and those that it was sent.
_plans: dict[str, Plan] = {}

#: How many plans a process keeps.
_MOST_PLANS = 2


def pack_plan(plan: Plan) -> tuple[str, NDArray[np.uint8]]:
    """Return a key and the bytes of a plan.

    An array, which joblib sends to each worker once, rather than with each task. Measures that are defined in a
    notebook or script are sent with their code.
    """
    try:
        import cloudpickle
    except ImportError:  # joblib before 1.5 has a copy
        from joblib.externals import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """A pickler of measures that are defined by functions."""

        def reducer_override(self, obj: object) -> object:
            """Pickle a measure of a user's function by its definition."""
            if type(obj).__module__ == _RUNTIME and hasattr(obj, "runtime_impl"):
                return _defined, _definition(obj)
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(plan)
    content = buffer.getvalue()
    key = hashlib.sha256(content).hexdigest()
    _keep(key, plan)
    return key, np.frombuffer(content, dtype=np.uint8)


#: The module of the classes that `ir_measures.define` makes.
_RUNTIME = ir_measures.define.__module__


def _definition(measure: Measure) -> tuple[Any, ...]:
    """Return the parameters of `_defined` for a measure of a user's function, whose class cannot be pickled."""
    inputs = {"run_inputs": "RUN_INPUTS", "qrel_inputs": "QREL_INPUTS"}
    named = {name: getattr(measure, attribute) for name, attribute in inputs.items() if hasattr(measure, attribute)}
    return function_of(measure), measure.NAME, "cutoff" in measure.SUPPORTED_PARAMS, named, measure.params


def _defined(
    function: Any, name: str, support_cutoff: bool, named: dict[str, list[str]], params: dict[str, Any]
) -> Measure:
    return ir_measures.define(function, name, support_cutoff, **named)(**params)


def unpack_plan(key: str, content: NDArray[np.uint8] | bytes) -> Plan:
    """Return a plan, restored once per process."""
    plan = _plans.get(key)
    if plan is None:
        plan = pickle.loads(content if isinstance(content, bytes) else content.data)
        _keep(key, plan)
    return plan


def forget_plan(key: str) -> None:
    """Drop a plan from those that this process keeps."""
    _plans.pop(key, None)


def _keep(key: str, plan: Plan) -> None:
    _plans[key] = plan
    for earlier in list(_plans)[:-_MOST_PLANS]:  # threads of the caller may add and drop others meanwhile
        _plans.pop(earlier, None)
