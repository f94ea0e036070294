"""Evaluation of runs one by one, in this process or by the workers of joblib."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collection.run import Run
from ..errors import MultiAspectError
from ..io.runs import NamedRuns, run_of
from .digests import digest_of
from .packing import forget_plan, pack_plan, unpack_plan
from .plan import Outcome, Plan
from .store import RunFiles, Store, evaluate_stored

#: Number of tasks per worker, if there are enough runs, without the smaller first and last ones (overhead).
_TASKS_PER_WORKER = 8
#: Maximum number of runs per task, and if the total is unknown; limits the loss if interrupted.
_MOST_RUNS, _RUNS_OF_UNKNOWN_NUMBER = 64, 8
#: Maximum number of rows per task, which limits the memory of waiting tasks.
_MOST_ROWS = 1_000_000

#: Backends that send a large array once, by a file in memory.
_SHARING_ARRAYS = ("LokyBackend", "MultiprocessingBackend")


def check_n_jobs(n_jobs: object) -> None:
    """Raise an error unless `n_jobs` is None or a nonzero integer."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise MultiAspectError(
            f"n_jobs: expected a number of processes, None or a negative integer as in joblib, got {n_jobs!r}"
        )


def outcomes(
    plan: Plan, runs: NamedRuns, *, n_jobs: int | None, skip: bool, store: Store | None = None
) -> Iterator[Outcome]:
    """Evaluate runs, in their order.

    Parameters
    ----------
    plan : Plan
        The judgments and measures.
    runs : NamedRuns
        The runs, which are read when their turn comes.
    n_jobs : int or None
        As in joblib.
    skip : bool
        See `Plan.evaluate`.
    store : Store, optional
        The directory where values are stored, and read from if they are still valid.
    """
    if n_jobs != 1:
        from joblib import effective_n_jobs

        n_workers = effective_n_jobs(n_jobs)
        if n_workers > 1:
            if runs.topics is not None:  # joblib iterates in other threads, in which pipelines may not work
                runs = NamedRuns.of(list(runs))
            yield from _parallel(plan, runs, n_jobs, n_workers, skip, store)
            return
    for name, run in runs:
        item = _Item.of(name, run, plan.run_columns, skip, store)
        del run
        outcome = _evaluated(plan, item, skip)
        del item  # before the next one is read
        yield outcome


@dataclass(frozen=True, eq=False)
class _Item:
    """A run to be sent to a worker; an outcome if it could not be read."""

    name: str
    run: Any
    files: RunFiles | None
    #: The digest of the run; None for paths, or if values are not stored.
    digest: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        run: object,
        columns: list[str],
        skip: bool,
        store: Store | None,
    ) -> _Item:
        """Read a run, unless it is a path, which the evaluating process reads."""
        files = None if store is None else store.files_of(name)
        if isinstance(run, str | PathLike):
            return cls(name, run, files)
        try:
            run = run_of(name, run, columns)
            digest = None if files is None else digest_of(run)
        except MultiAspectError as error:
            if files is not None:
                files.clear()
            if not skip:
                raise
            return cls(name, Outcome(name, reason=str(error)), None)
        return cls(name, run, files, digest)

    @property
    def n_rows(self) -> int:
        """Return the number of rows to send; 0 for a path."""
        return len(self.run) if isinstance(self.run, Run) else 0


def _parallel(
    plan: Plan, runs: NamedRuns, n_jobs: int | None, n_workers: int, skip: bool, store: Store | None
) -> Iterator[Outcome]:
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    failures: list[Exception] = []
    backend = get_active_backend()[0]
    key, array = pack_plan(plan)
    # Dask would keep an array only on some workers, which may be lost: bytes are sent with every task.
    content = array if type(backend).__name__ in _SHARING_ARRAYS else array.tobytes()
    of_runs = _tasks(runs, plan.run_columns, n_workers, skip, store, failures)
    tasks = (delayed(_work)(content, key, task, skip) for task in of_runs)
    try:
        if backend.supports_return_generator:
            with _interrupts_blocked() if type(backend).__name__ == "LokyBackend" else nullcontext():
                results = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(tasks)
            for done in results:
                yield from done
        else:
            # Several tasks per worker at a time, so that results arrive early.
            with Parallel(n_jobs=n_jobs, batch_size=1) as parallel:
                while some := list(islice(tasks, n_workers * _TASKS_PER_WORKER // 2)):
                    for done in parallel(some):
                        yield from done
    finally:
        forget_plan(key)
    for failure in failures:
        raise failure


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let worker processes inherit that Ctrl-C, after which this process ends them, is blocked: no tracebacks."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as resource_tracker_of_loky

    for tracker in (resource_tracker, resource_tracker_of_loky):
        tracker.ensure_running()  # starting later, they would unblock it
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


def _n_runs(done: int, total: int | None, n_workers: int) -> int:
    """Return the number of runs of the next task, small for the first and last tasks so that no worker is idle."""
    if total is None:
        return min(_RUNS_OF_UNKNOWN_NUMBER, done + 1)
    most = min(-(-total // (_TASKS_PER_WORKER * n_workers)), _MOST_RUNS)
    return max(1, min(most, done + 1, -(-(total - done) // n_workers)))


def _tasks(
    runs: NamedRuns,
    columns: list[str],
    n_workers: int,
    skip: bool,
    store: Store | None,
    failures: list[Exception],
) -> Iterator[list[_Item]]:
    """Yield the runs in groups.

    joblib calls this in a separate thread, where an error would be lost: it is kept for the caller.
    """
    task: list[_Item] = []
    done = 0
    try:
        for name, run in runs:
            if isinstance(run, str | PathLike):  # workers may have been started in another directory
                run = os.path.abspath(os.path.expanduser(run))
            task.append(_Item.of(name, run, columns, skip, store))
            del run
            full = len(task) >= _n_runs(done, runs.total, n_workers)
            if full or sum(item.n_rows for item in task) >= _MOST_ROWS:
                done += len(task)
                yield task
                task = []
    except Exception as error:
        failures.append(error)
    if task:
        yield task


def _work(content: NDArray[np.uint8] | bytes, key: str, task: list[_Item], skip: bool) -> list[Outcome]:
    """Evaluate some runs in a worker."""
    plan = unpack_plan(key, content)
    return [_evaluated(plan, item, skip) for item in task]


def _evaluated(plan: Plan, item: _Item, skip: bool) -> Outcome:
    """Evaluate a run, unless its values are stored already or it could not be read."""
    if isinstance(item.run, Outcome):
        return item.run
    if item.files is not None:
        return evaluate_stored(plan, item.name, item.run, item.files, item.digest, skip=skip)
    return plan.evaluate(item.name, item.run, skip=skip)
