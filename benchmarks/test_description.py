"""The time `describe` takes for a million judgments, as a ratio to reading the same judgments once.

Run with ``pytest benchmarks -s``.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from pt_multiaspect import Judgments, describe

from .collection import collection


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def test_a_million_judgments() -> None:
    qrels, run = collection(n_queries=1000, n_retrieved=2000, n_judged=1000)
    pairs = [(_seconds(lambda: describe(qrels)), _seconds(lambda: Judgments(qrels))) for _ in range(3)]
    taken, reading = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"\n{len(qrels)} judgments of three aspects: describe {taken:.2f} s of processor time (at most 5), "
        f"{taken / reading:.1f} times as long as Judgments ({reading:.2f} s; at most 6 times)"
    )
    assert taken / reading <= 6
    assert taken < 5
    with_run = _seconds(lambda: describe(qrels, runs=run))
    print(f"with a run of {len(run)} documents: {with_run:.2f} s")
