"""Settings of the examples on the pages of this folder."""

from __future__ import annotations

import re

import pytest
from ir_measures.measures import registry


@pytest.fixture(autouse=True)
def _examples_may_be_in_the_package(request, monkeypatch) -> None:
    """Let a page define the measures of its examples also if they were added to the package."""
    if request.path.suffix == ".md":
        for name in re.findall(r"^>>> (\w+) = ma\.register\(", request.path.read_text("utf-8"), re.MULTILINE):
            monkeypatch.delitem(registry, name, raising=False)
