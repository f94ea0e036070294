"""Execute every notebook from top to bottom, without saving: what is committed must still run."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent


def main() -> int:
    for path in sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        print(f"executing {path.name} ...", flush=True)
        NotebookClient(
            notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": HERE}}
        ).execute()
    return 0


if __name__ == "__main__":
    sys.exit(main())
