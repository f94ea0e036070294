"""Settings of the examples on the pages of this folder."""

from __future__ import annotations

import pytest
from ir_measures.measures import registry


@pytest.fixture(autouse=True)
def _examples_may_be_in_the_package(request, monkeypatch) -> None:
    """Let CONTRIBUTING.md define the measure of its example also if that was added to the package."""
    if request.node.name == "CONTRIBUTING.md":
        monkeypatch.delitem(registry, "HalfLifeUtility", raising=False)
