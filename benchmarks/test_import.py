"""What importing the package adds to importing PyTerrier, in CPU time, which load changes little."""

from __future__ import annotations

import subprocess
import sys

SECONDS = 0.3

#: PyTerrier imports the package by its entry point, which would hide what importing the package costs.
CODE = """
import importlib.metadata, sys, time
EntryPoint = importlib.metadata.EntryPoint
load, EntryPoint.load = EntryPoint.load, lambda self: None
import pyterrier
EntryPoint.load = load
assert "pt_multiaspect" not in sys.modules
start = time.process_time()
import pt_multiaspect
print(time.process_time() - start)
"""


def test_import_adds_little_to_pyterriers() -> None:
    seconds = [
        float(subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    print(f"\nimport pt_multiaspect adds {min(seconds):.2f} s to import pyterrier (limit {SECONDS})")
    assert min(seconds) < SECONDS
