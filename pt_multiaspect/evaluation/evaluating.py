"""The function `evaluate`, and the evaluation of runs one by one, in this process or by the workers of joblib."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, islice
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._validation import choice
from ..collection import Judgments, Run
from ..collection.overlap import warn_of_answers, warn_of_unlabelled_topics
from ..errors import Cause, MultiAspectError, reissue, shown, warn, warn_of_runs
from ..integration.parsing import Measures, parse_all, record_measures
from ..integration.provider import supports
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, run_of, run_title
from .digests import digest_of
from .plan import Outcome, Plan, forget_plan, pack_plan, unpack_plan
from .store import RunFiles, Store, evaluate_stored
from .topics import check_average_over

#: Number of tasks per worker, if there are enough runs, without the smaller first and last ones (overhead).
_TASKS_PER_WORKER = 8
#: Maximum number of runs per task, and if the total is unknown; limits the loss if interrupted.
_MOST_RUNS, _RUNS_OF_UNKNOWN_NUMBER = 64, 8
#: Maximum number of rows per task, which limits the memory of waiting tasks.
_MOST_ROWS = 1_000_000

#: Backends that send a large array once, by a file in memory.
_SHARING_ARRAYS = ("LokyBackend", "MultiprocessingBackend")


def evaluate(
    runs: object,
    qrels: object,
    measures: Measures,
    *,
    topics: object = None,
    average_over: str | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
    errors: str = "raise",
    out: str | PathLike[str] | None = None,
    collect: bool = True,
) -> pd.DataFrame:
    """Evaluate runs with measures of this package and of ir-measures.

    Parameters
    ----------
    runs : mapping of str to run, iterable of runs or (name, run) pairs, or run
        A run is a DataFrame with columns ``qid docno score``, the path of a TREC run file, a dict
        ``{qid: {docno: score}}``, or a pipeline of PyTerrier. A directory, or a pattern such as ``"runs/*.run"``,
        represents its files. Runs without a name are named after their file, pipelines as in ``pt.Experiment``,
        others "run 1", "run 2" etc. Each run is read, or pipeline run, once, when its turn comes, and is not kept:
        of a generator of (name, run) pairs, only a few runs are in memory at a time.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `Judgments`. Use `read_qrels` to read
        files.
    measures : measure, str, sequence of these or mapping
        Measure objects, ir-measures names such as ``"TOMA@10"``, or trec_eval names. Measures
        of ir-measures are computed on the aspect relevance; its diversity measures, such as ``alpha_nDCG@20``, on
        long qrels with the subtopics in a column ``iteration`` or ``subtopic`` (with the aspects as subtopics, use
        `Subtopics`). A mapping is ``{label: measure}``; its labels
        appear in the column `measure`. A `suite` is such a mapping.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics to evaluate, which pipelines run on, with columns ``qid query``. As in ``pt.Experiment``, only
        their judgments are used, also to infer scales.
    average_over : {'judged', 'positive'}, optional
        The topics that count for each measure: all judged topics, or only those in which some judged document is
        positive for the measure (has a positive gain on an aspect that it evaluates), so that a run can score above
        0. The TREC Health Misinformation tracks average over the latter. By default the topics of the suite, or all
        judged topics.
    n_jobs : int, optional
        Number of processes that evaluate runs in parallel, as in joblib: -1 for all cores; None for that of
        ``joblib.parallel_config``, or else 1. Values, warnings and their order are the same for every number
        and backend. Starting processes takes about two seconds, more than short evaluations.
    progress : bool, default True
        Whether to show a progress bar over the runs; that of pipelines appears in terminals and notebooks only.
    errors : {'raise', 'skip'}, default 'raise'
        The reaction if a run cannot be read, or has no query in common with the qrels. With 'skip', such
        runs are left out with a warning. Other errors are always raised.
    out : path, optional
        A directory, created if needed, to which the values of each run are written as soon as it is evaluated: one
        file per run, complete or not at all, which `read_values` reads. If the evaluation is interrupted, repeat
        the call: values are read from the directory if the name and the content of the run, the measures with
        their scales, the judgments and the versions of packages are unchanged, and computed again otherwise, also
        if a file is damaged. Your own classes and functions are compared by their source in the file or cell,
        without what they refer to: restart Python after editing a module, and use another directory if you change a
        helper function or data of your measure.
    collect : bool, default True
        With False, which requires `out`, values are not kept in memory.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value`` with one row per run, measure and query that counts. Queries
        missing from a run count as empty rankings. Use `aggregate` for mean values. ``attrs["measures"]``
        contains the measures by label, for `aggregate`, and ``attrs["skipped"]`` the names of skipped runs, if
        there are any. With ``collect=False``, columns ``name reused`` with one row per run: whether its values were
        already in `out`.

    Raises
    ------
    MultiAspectError
        If a run has no query in common with the qrels, or the input is invalid, or all runs are skipped. Files
        that are missing are reported before the first run is evaluated. With ``average_over='positive'``, if no
        topic counts for a measure, or a measure does not tell which documents are positive.

    Warns
    -----
    MultiAspectWarning
        For each run that is skipped, with the reason; in one message for all runs, if runs lack judged topics,
        repeat documents or retrieve no judged ones; if the runs look like generated answers, with one document per
        topic that no other run has, and a measure compares them with each other, as nDCG does (see
        `pt_multiaspect.answers`); if an aspect has no label in a topic; for each file of `out`
        that is damaged; if `out` contains values of other measures or judgments, which are moved to a subdirectory.

    Notes
    -----
    Documents are ranked as in trec_eval for all measures, with ties broken by docno, descending. Only functions of
    ``ir_measures.define`` and ``define_byquery`` get the scores of the run.

    A file of `out` is replaced when its run has changed; files of runs that are not part of the call are kept, so
    several calls with the same measures and judgments, also at the same time, may share a directory. Warnings
    about a run are stored with its values, and issued again when these are read from `out`. Judged topics that runs
    lack are reported if at least five topics count.

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
    _check_n_jobs(n_jobs)
    choice("errors", "raise", "skip")(errors)
    skip = errors == "skip"
    average_over = check_average_over(average_over, measures)
    labelled = parse_all(measures)
    named = NamedRuns.read(runs, topics, progress=progress)
    if not skip:
        named.check_files()
    if out is None and not collect:
        raise MultiAspectError("collect=False discards the values: expected a directory to write them to, out=...")
    plan = Plan(select_topics(Judgments.of(qrels), named.topics), labelled, average_over)
    own = filter(supports, labelled.values())
    warn_of_unlabelled_topics(chain.from_iterable(measure.views(plan.judgments) for measure in own), plan.judgments)
    store = None if out is None else Store.open(out, plan)
    evaluations = outcomes(plan, named, n_jobs=n_jobs, skip=skip, store=store)
    evaluations = _show_progress(evaluations, named.total, progress and topics is None)
    evaluated, skipped = _collect_outcomes(evaluations, collect)
    documents = [outcome.documents for outcome in evaluated.values()]
    warn_of_answers(documents, plan.relative_measures(documents))
    if collect:
        values = [outcome.values for outcome in evaluated.values() if outcome.values is not None]
        result = plan.frame(list(evaluated), values)
        record_measures(result, labelled)
    else:
        reused = [outcome.reused for outcome in evaluated.values()]
        result = pd.DataFrame({"name": list(evaluated), "reused": reused})
    if skipped:
        result.attrs["skipped"] = skipped
    return result


def _collect_outcomes(evaluations: Iterator[Outcome], collect: bool) -> tuple[dict[str, Outcome], list[str]]:
    """Return the outcomes by run, with values if `collect`, and the skipped runs; issue their warnings."""
    evaluated: dict[str, Outcome] = {}
    skipped: list[str] = []
    reasons: list[str] = []
    run_causes: list[tuple[str, Cause]] = []
    try:
        for outcome in evaluations:
            for cause in outcome.causes:
                if cause.remedy is None:
                    reissue(cause)
                else:
                    run_causes.append((run_title(outcome.name), cause))
            if outcome.values is None:
                skipped.append(outcome.name)
                reasons.append(outcome.reason)
            else:
                evaluated[outcome.name] = replace(outcome, values=outcome.values if collect else None, causes=[])
            while evaluated and reasons:  # if no run can be evaluated, that is an error
                warn(f"skipped: {reasons.pop(0)}")
    finally:
        warn_of_runs(run_causes)
    if not evaluated:
        raise MultiAspectError(f"no run could be evaluated: {reasons[0]}")
    return evaluated, skipped


def _show_progress(evaluations: Iterator[Outcome], total: int | None, progress: bool) -> Iterator[Outcome]:
    """Yield evaluations, and show their number if `progress`."""
    if not progress:
        yield from evaluations
        return
    from tqdm.auto import tqdm  # warns in notebooks without widgets

    with tqdm(total=total, desc="evaluate", unit="run") as bar:
        n_reused = 0
        for outcome in evaluations:
            yield outcome
            n_reused += outcome.reused
            if outcome.reused:
                bar.set_postfix(reused=n_reused, refresh=False)
            bar.update()


def _check_n_jobs(n_jobs: object) -> None:
    """Raise an error unless `n_jobs` is None or a nonzero integer."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise MultiAspectError(
            f"n_jobs: expected a number of processes, None or a negative integer as in joblib, got {shown(n_jobs)}"
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
                runs = NamedRuns.read(list(runs))
            yield from _evaluate_in_parallel(plan, runs, n_jobs, n_workers, skip, store)
            return
    for name, run in runs:
        item = _Item.read(name, run, plan.run_columns, skip, store)
        del run
        outcome = _evaluate_item(plan, item, skip)
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
    def read(cls, name: str, run: object, columns: list[str], skip: bool, store: Store | None) -> _Item:
        """Read a run, unless it is a path, which the evaluating process reads."""
        files = None if store is None else store.run_files(name)
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


def _evaluate_in_parallel(
    plan: Plan, runs: NamedRuns, n_jobs: int | None, n_workers: int, skip: bool, store: Store | None
) -> Iterator[Outcome]:
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    failures: list[Exception] = []
    backend = get_active_backend()[0]
    key, array = pack_plan(plan)
    # Dask would keep an array only on some workers, which may be lost: bytes are sent with every task.
    content = array if type(backend).__name__ in _SHARING_ARRAYS else array.tobytes()
    items = _tasks(runs, plan.run_columns, n_workers, skip, store, failures)
    tasks = (delayed(_evaluate_task)(content, key, task, skip) for task in items)
    try:
        if backend.supports_return_generator:
            with _start_of_workers() if type(backend).__name__ == "LokyBackend" else nullcontext():
                results = Parallel(n_jobs=n_jobs, return_as="generator", batch_size=1)(tasks)
            yield from chain.from_iterable(results)
        else:
            # Several tasks per worker at a time, so that results arrive early.
            with Parallel(n_jobs=n_jobs, batch_size=1) as parallel:
                while some := list(islice(tasks, n_workers * _TASKS_PER_WORKER // 2)):
                    yield from chain.from_iterable(parallel(some))
    finally:
        forget_plan(key)
    for failure in failures:
        raise failure


@contextmanager
def _start_of_workers() -> Iterator[None]:
    """Start worker processes undisturbed, and let them inherit that Ctrl-C is blocked: this process ends them.

    Workers that are interrupted, or left alone while they start, print tracebacks.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as resource_tracker_of_loky

    for tracker in (resource_tracker, resource_tracker_of_loky):
        tracker.ensure_running()  # starting later, they would unblock it
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        with _delay(signal.SIGTERM):
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


@contextmanager
def _delay(number: signal.Signals) -> Iterator[None]:
    """Handle a signal at the end of the block; to mask it is not enough, as another thread may receive it."""
    handler = signal.getsignal(number)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[int] = []
    signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(number, handler)
    for _ in received[:1]:
        signal.raise_signal(number)


def _n_runs(done: int, total: int | None, n_workers: int) -> int:
    """Return the number of runs of the next task, small for the first and last tasks so that no worker is idle."""
    if total is None:
        return min(_RUNS_OF_UNKNOWN_NUMBER, done + 1)
    most = min(-(-total // (_TASKS_PER_WORKER * n_workers)), _MOST_RUNS)
    return max(1, min(most, done + 1, -(-(total - done) // n_workers)))


def _tasks(
    runs: NamedRuns, columns: list[str], n_workers: int, skip: bool, store: Store | None, failures: list[Exception]
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
            task.append(_Item.read(name, run, columns, skip, store))
            del run
            n_rows = sum(len(item.run) for item in task if isinstance(item.run, Run))  # a path has none
            if len(task) >= _n_runs(done, runs.total, n_workers) or n_rows >= _MOST_ROWS:
                done += len(task)
                yield task
                task = []
    except Exception as error:
        failures.append(error)
    if task:
        yield task


def _evaluate_task(content: NDArray[np.uint8] | bytes, key: str, task: list[_Item], skip: bool) -> list[Outcome]:
    """Evaluate some runs in a worker."""
    plan = unpack_plan(key, content)
    return [_evaluate_item(plan, item, skip) for item in task]


def _evaluate_item(plan: Plan, item: _Item, skip: bool) -> Outcome:
    """Evaluate a run, unless its values are stored already or it could not be read."""
    if isinstance(item.run, Outcome):
        return item.run
    if item.files is not None:
        return evaluate_stored(plan, item.name, item.run, item.files, item.digest, skip=skip)
    return plan.evaluate(item.name, item.run, skip=skip)
