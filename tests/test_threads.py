"""Calls in several threads at once give the values that they give one after the other."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from frame_world import as_ir_measures
from ir_measures import AP, RR, P, nDCG

import pt_multiaspect as ma
from pt_multiaspect import errors
from pt_multiaspect._cached import cached_property
from pt_multiaspect.integration.provider import MultiAspectProvider

SCALES = ma.Aspects({"relevance": 2, "credibility": 2})
OURS = [ma.CAM(aspects=SCALES) @ 10, ma.TOMA(aspects=SCALES) @ 10, ma.MM(aspects=SCALES, base="AP")]
#: Partly computed by ir-measures.
MIXED = [*OURS, ma.CAM(base="Bpref", aspects=SCALES), "map", "Bpref", "Judged@10"]
STANDARD = [[AP, nDCG @ 10], [P @ 5, AP], [nDCG(gains={1: 5}) @ 10, AP, RR @ 10]]


@pytest.fixture(autouse=True)
def _short_turns() -> Iterator[None]:
    """Let threads take turns fifty times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(interval)


def world(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return qrels and a run, with the same topics and documents for every seed."""
    rng = np.random.default_rng(seed)
    pairs = pd.DataFrame(
        product([f"q{query}" for query in range(3)], [f"d{document}" for document in range(12)]),
        columns=["qid", "docno"],
    )
    judged = pairs.assign(
        label=rng.integers(0, 3, len(pairs)), credibility=rng.integers(0, 3, len(pairs))
    )
    return judged, pairs.assign(score=rng.normal(size=len(pairs))).sample(
        frac=0.8, random_state=seed
    )


def run_in_threads(calls: list[Callable[[], Any]], times: int) -> None:
    """Make all calls one by one, then repeatedly in eight threads, and compare what they return."""
    expected = [call() for call in calls]
    order = np.random.default_rng(1).permutation(np.arange(times) % len(calls)).tolist()
    with ThreadPoolExecutor(8) as pool:
        result = list(pool.map(lambda index: calls[index](), order))
    assert sum(value != expected[index] for index, value in zip(order, result, strict=True)) == 0


def evaluate_measures(run: pd.DataFrame, qrels: object, measures: list[Any]) -> list[float]:
    return ma.evaluate({"run": run}, qrels, measures, progress=False)["value"].tolist()


def values(metrics: Any) -> list[tuple[str, str, float]]:
    return sorted((metric.query_id, str(metric.measure), metric.value) for metric in metrics)


@pytest.mark.slow
def test_2000_calls_in_8_threads() -> None:
    worlds = [world(seed) for seed in range(4)]
    shared = [ma.Judgments(qrels) for qrels, _ in worlds]
    provider = MultiAspectProvider()
    calls: list[Callable[[], Any]] = []
    calls += [
        lambda: evaluate_measures(worlds[0][1], shared[0], MIXED),
        lambda: evaluate_measures(worlds[1][1], worlds[1][0], OURS),
    ]
    for (qrels, run), judgments in zip(worlds, shared, strict=True):
        plain, ranked = as_ir_measures(qrels), as_ir_measures(run)
        evaluator = provider.evaluator(OURS, plain)
        calls += [
            lambda e=evaluator, r=ranked: values(e.iter_calc(r)),
            lambda q=plain, r=ranked: values(ir_measures.iter_calc(OURS, q, r)),
            lambda j=judgments, r=run: evaluate_measures(r, j, OURS),
        ]
        # The providers of ir-measures, with and without the kernels of this package.
        calls += [
            lambda q=plain, r=ranked, m=m: values(ir_measures.iter_calc(m, q, r)) for m in STANDARD
        ]
    with ma.accelerate():
        run_in_threads(calls, 2000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure", ["alpha_nDCG@10", "RBP(p=0.8,rel=1)", "Bpref", "Compat(p=0.9)", "ERR@10"]
)
def test_runs_in_threads_share_what_other_tools_keep(measure: str) -> None:
    qrels = world(0)[0]
    if measure.startswith("alpha"):
        qrels = pd.concat([world(seed)[0].assign(subtopic=f"s{seed}") for seed in range(3)])
        qrels = qrels[["qid", "docno", "label", "subtopic"]]
    parsed = ir_measures.parse_measure(measure)
    if not ir_measures.DefaultPipeline.supports(parsed):
        pytest.skip(f"no tool for {measure} is installed")
    runs = {f"run {seed}": world(seed)[1] for seed in range(40)}
    expected = ma.evaluate(runs, qrels, measure, progress=False)
    evaluator = ma.evaluator(qrels, measure)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(evaluator, [run.assign(name=name) for name, run in runs.items()]))
    result = evaluator.complete(pd.concat(parts), names=list(runs))
    pd.testing.assert_frame_equal(result, expected, check_exact=True)


def test_warnings_of_several_threads() -> None:
    """400 warnings with four keys are given once per key, while the set of earlier ones grows in eight threads.

    Each call counts the earlier warnings of its group, here beside 20 000 without a group.
    """
    errors._given.update((None, f"earlier {number}") for number in range(20_000))

    def warn(number: int) -> None:
        errors.warn_once("message", key=str(number % 4), group="group")

    with ThreadPoolExecutor(8) as pool, pytest.warns(ma.MultiAspectWarning):
        list(pool.map(warn, range(400)))
    keys_of_group = [key for group, key in errors._given if group is not None]
    assert len(keys_of_group) == 4


class Slow:
    """An object whose property takes long in this process, and no time in processes that it forks."""

    def __init__(self, computing: threading.Event, done: threading.Event) -> None:
        self.process, self.computing, self.done = os.getpid(), computing, done

    @cached_property
    def value(self) -> int:
        if os.getpid() == self.process:
            self.computing.set()
            self.done.wait(60)
        return 1


def exit_code_of(process: int, timeout: float) -> int | None:
    """The exit code of a child, or None if it has not ended after so many seconds, and was killed."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        ended_process, status = os.waitpid(process, os.WNOHANG)
        if ended_process:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_waits_for_no_thread_of_the_other() -> None:
    """A process is forked while a thread computes a cached value and another holds the lock of warnings.

    In the new process, which has neither thread, a value is computed and a warning given.
    """
    computing, done = threading.Event(), threading.Event()
    value_of_thread = Slow(computing, done)
    value_of_child = Slow(computing, done)
    thread = threading.Thread(target=lambda: value_of_thread.value)
    thread.start()
    assert computing.wait(60)

    with errors._lock:
        child = os.fork()
        if child == 0:
            # The child must end here, whatever happens: it is a copy of the running tests.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                errors.warn_once("a warning of a forked process")
            os._exit(value_of_child.value)
    exit_code = exit_code_of(child, timeout=20)

    done.set()
    thread.join()
    assert exit_code == 1  # the value
