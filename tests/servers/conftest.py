"""The MySQL adapter over a session whose answers are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.plant.clock import SimClock
from tests.servers.fixtured import Fixtured
from tests.servers.plain import plain
from tuner.servers.server import RealServer


@pytest.fixture
def session() -> Fixtured:
    """Return a session that answers well."""
    return Fixtured(plain())


@pytest.fixture
def clock() -> SimClock:
    """Return the clock that the adapter lives on."""
    return SimClock(start=50.0)


@pytest.fixture
def server(session: Fixtured, clock: SimClock) -> Iterator[RealServer]:
    """Return the adapter over it."""
    made = RealServer(session.endpoint, clock, session=session)
    yield made
    made.close()
