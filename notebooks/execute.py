"""Execute every notebook from top to bottom, without saving: what is committed must still run."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent


def execute(path: Path) -> str:
    """Execute one notebook, in its folder, and return its name."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    ).execute()
    return path.name


def main() -> int:
    """Execute the notebooks given as arguments, or all, as many at a time as there are cores."""
    paths = [Path(argument).resolve() for argument in sys.argv[1:]] or [
        *sorted(HERE.glob("*.ipynb")),
        *sorted(HERE.parent.glob("docs/reproductions/*.ipynb")),
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for done in as_completed([pool.submit(execute, path) for path in paths]):
            print(f"executed {done.result()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
