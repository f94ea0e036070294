"""The time and memory that discriminative power takes: 71 runs × 50 topics × 10 measures × 10 000 resamples.

Run with ``pytest benchmarks -s``. Each test runs in a process of its own, so that its memory is its
own.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys, time
import numpy as np, pandas as pd
from pt_multiaspect.analysis import discriminative_power

rng = np.random.default_rng(0)
shape = (71, 50, 10)
values = rng.normal(rng.normal(0.4, 0.1, (71, 1, 1)), 0.2, shape).clip(0, 1)
axes = np.indices(shape).reshape(3, -1).astype(str)
perquery = pd.DataFrame({"name": axes[0], "qid": axes[1], "measure": axes[2], "value": values.ravel()})
start = time.perf_counter()
power = discriminative_power(perquery, test=sys.argv[1])
seconds = time.perf_counter() - start
assert power.table["power"].between(0.05, 0.95).all()
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "tukey", "t"])
def test_a_track(test: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, test], capture_output=True, text=True, check=True
    )
    seconds, gigabytes = map(float, done.stdout.split())
    print(
        f"\n{test}, 71 runs, 50 topics, 10 measures, B = 10 000: {seconds:.1f} s (at most 60), "
        f"{gigabytes:.2f} GB"
    )
    assert seconds < 60
    assert gigabytes < 2
