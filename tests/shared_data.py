"""The location of the shared fixtures, which are not part of this repository."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def shared_path(*parts: str) -> Path:
    """Return the path of a shared fixture.

    The folder is ``$PT_MULTIASPECT_SHARED``, where the fixture must be, as in `.ci/run`; by default
    ``shared`` beside the repository, without which the test that asks for it is skipped.
    """
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = os.environ.get("PT_MULTIASPECT_SHARED")
    path = Path(folder or default, *parts)
    if not path.exists():
        refuse = pytest.fail if folder else pytest.skip
        refuse(
            f"{'/'.join(parts)} is not in the shared data "
            f"(PT_MULTIASPECT_SHARED={folder or default})"
        )
    return path


def golden(name: str) -> Any:
    """Return the content of a shared file of golden figures."""
    return json.loads(shared_path("golden", name).read_text(encoding="utf-8"))
