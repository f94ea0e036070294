"""Where the tests find the shared fixtures, which are no part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    """The path of a shared fixture; skips the test that asks for it when it is not there.

    The folder is ``$PT_MULTIASPECT_SHARED``, by default ``shared`` beside the repository.
    """
    default = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("PT_MULTIASPECT_SHARED", default), *parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not in the shared data (set PT_MULTIASPECT_SHARED)")
    return path
