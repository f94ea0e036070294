"""Settings of all tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from pt_multiaspect import errors

settings.register_profile(
    "pt_multiaspect", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("pt_multiaspect")


@pytest.fixture(autouse=True)
def _warnings_are_given_again() -> None:
    """Warnings that are given once a process are given once a test."""
    errors._given.clear()
