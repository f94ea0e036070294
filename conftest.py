"""Settings of all tests and of the examples on the pages of this folder."""

from __future__ import annotations

import functools
import re

import pytest
from ir_measures.measures import registry


@pytest.fixture(autouse=True)
def _examples_may_be_in_the_package(request, monkeypatch) -> None:
    """Let a page define the measures of its examples also if they were added to the package."""
    if request.path.suffix == ".md":
        for name in re.findall(
            r"^>>> (\w+) = ma\.register\(", request.path.read_text("utf-8"), re.MULTILINE
        ):
            monkeypatch.delitem(registry, name, raising=False)


@pytest.fixture(scope="session", autouse=True)
def _worlds_are_joined_once():
    """Share the small worlds of `check_measure` among all tests and examples, of which none changes them."""
    from pt_multiaspect.testing import measures

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "worlds", functools.cache(measures.worlds))
        yield
