"""The MySQL adapter over a session whose answers are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.plant.clock import SimClock
from tests.servers.scripted import Scripted
from tuner.servers.server import RealServer


@pytest.fixture
def session() -> Scripted:
    """Return a session that answers well."""
    return Scripted()


@pytest.fixture
def clock() -> SimClock:
    """Return the clock that the adapter lives on."""
    return SimClock(start=50.0)


@pytest.fixture
def server(session: Scripted, clock: SimClock) -> Iterator[RealServer]:
    """Return the adapter over it."""
    made = RealServer(session.endpoint, clock, session=session)
    yield made
    made.close()
