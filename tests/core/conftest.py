"""Loops to turn tick by tick, for every test of the core."""

from __future__ import annotations

import pytest

from tests.factory import Bench


@pytest.fixture
def bench() -> Bench:
    """Return a loop in active mode whose first write is in force."""
    return Bench().in_control()
