"""Time that the package adds to importing PyTerrier, installed and imported: CPU time, which load changes little.

With compiled modules, as pip leaves them, in a directory of their own: Python may be told not to
write them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

INSTALLED, IMPORTED = 0.03, 0.3

CODE = """
import importlib.metadata, sys, time
EntryPoint = importlib.metadata.EntryPoint
load, installed = EntryPoint.load, 0
def timed(self):
    global installed
    start = time.process_time()
    module = load(self)
    module = module() if callable(module) else module
    installed += (time.process_time() - start) * self.value.startswith("pt_multiaspect")
    return module
EntryPoint.load = timed
import pyterrier
assert "pt_multiaspect" not in sys.modules
start = time.process_time()
import pt_multiaspect
print(installed, time.process_time() - start)
"""


def test_import_adds_little_to_pyterriers(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(tmp_path),
    }
    outputs = [
        subprocess.run(
            [sys.executable, "-c", CODE],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        for _ in range(5)
    ]
    installed, imported = map(
        min, zip(*(map(float, output.split()) for output in outputs), strict=True)
    )
    print(f"\nthe installed package adds {installed:.4f} s to import pyterrier (limit {INSTALLED})")
    print(f"import pt_multiaspect takes {imported:.2f} s more (limit {IMPORTED})")
    assert installed < INSTALLED
    assert imported < IMPORTED
