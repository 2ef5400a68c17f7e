"""Loops to turn tick by tick, for every test of the core."""

from __future__ import annotations

import pytest

from tests.bench import Bench
from tests.core.loops import BYTES, HIGH, age_of


@pytest.fixture(scope="session")
def controlled() -> Bench:
    """Return a loop in active mode whose first write is in force; tests take a fork of it."""
    return Bench().in_control()


@pytest.fixture
def bench(controlled: Bench) -> Bench:
    """Return a loop in active mode whose first write is in force."""
    return controlled.fork()


@pytest.fixture(scope="session")
def filled() -> Bench:
    """Return a loop that holds a high age on a busy server; tests take a fork of it."""
    bench = Bench(HIGH).in_control()
    bench.turns(300)
    assert age_of(bench.record) > 1.3 * BYTES
    return bench


@pytest.fixture
def full(filled: Bench) -> Bench:
    """Return a loop that holds a high age on a busy server."""
    return filled.fork()
