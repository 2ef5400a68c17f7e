"""Loops to turn tick by tick, for every test of the core."""

from __future__ import annotations

import pytest

from tests.bench import Bench
from tests.core.loops import BYTES, HIGH, age_of


@pytest.fixture
def bench() -> Bench:
    """Return a loop in active mode whose first write is in force."""
    return Bench().in_control()


@pytest.fixture
def full() -> Bench:
    """Return a loop that holds a high age on a busy server."""
    bench = Bench(HIGH).in_control()
    bench.turns(300)
    assert age_of(bench.record) > 1.3 * BYTES
    return bench
