"""Processor time of two sides in one process, and the peak memory of a process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """The processor time of all threads, which other processes change little."""
    start = time.process_time()
    work()
    return time.process_time() - start


def ratio(work: Work, yardstick: Work, rounds: int = 3) -> float:
    """The time of `work` divided by that of `yardstick`: both alternate, and the shortest of each counts.

    With several rounds, there is another one before them, for imports and caches.
    """
    if rounds > 1:
        work(), yardstick()
    pairs = [(seconds(work), seconds(yardstick)) for _ in range(rounds)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    return ours / theirs


def printed_by(script: str, *arguments: str) -> list[float]:
    """The numbers that a script prints, run in a process of its own for its memory."""
    root = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-c", _MEMORY + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return [float(number) for number in done.stdout.split()]


#: Functions for scripts: the peak and the present memory of the process, in MB.
_MEMORY = """
import sys
def memory(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(key))
def peak():
    return memory("VmHWM")
def present():
    return memory("VmRSS")
"""
