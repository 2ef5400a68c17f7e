"""The counts of statements that read rows and that change them, in a reading of every family."""

from __future__ import annotations

import pytest

from lab.plant.clock import SimClock
from tests.servers.fixtured import Fixtured
from tests.servers.scripted import Scripted, good
from tests.servers.test_fixtures import FILES, TAKEN
from tuner.servers.adapter import CHANGES, SELECTS
from tuner.servers.fixture import load
from tuner.servers.mysql import MySQLServer

COUNTED = {name: str(10**place) for place, name in enumerate((*SELECTS, *CHANGES))}


@pytest.fixture
def session() -> Scripted:
    """Return a session to a server that counts its statements."""
    made = Scripted()
    made.status |= COUNTED
    return made


@pytest.fixture
def server(session: Scripted) -> MySQLServer:
    """Return the adapter behind it."""
    return MySQLServer(session.endpoint, SimClock(start=50.0), session=session)


def test_reads_and_changes_come_with_the_status_that_is_asked_for_anyway(
    server: MySQLServer, session: Scripted
) -> None:
    """SELECT is one count, everything that changes rows the other, and the reading stays two statements."""
    reading = good(server)

    assert (reading.select_statements, reading.change_statements) == (1, 1_111_111_110)
    assert len(session.asked) == 2
    (status,) = (one for one in session.asked if one.startswith("SHOW GLOBAL STATUS"))
    assert all(f"'{name}'" in status for name in COUNTED)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("shown", [None, "", "many"])
def test_a_count_that_is_not_shown_makes_both_unknown(
    server: MySQLServer, session: Scripted, name: str, shown: str | None
) -> None:
    """Without one of them there is no share of reads, and still a reading."""
    session.status.pop(name)
    session.status |= {} if shown is None else {name: shown}
    reading = good(server)

    assert (reading.select_statements, reading.change_statements) == (None, None)


@pytest.mark.parametrize("name", TAKEN)
def test_every_family_shows_them(name: str) -> None:
    """What each server counts is in the reading, those recorded long before it was asked for included."""
    fixture = load(FILES[name])
    session = Fixtured(fixture)
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session)
    server.facts()
    session.at = -1
    reading = good(server)
    status = fixture.readings[-1].status

    assert reading.select_statements == int(status["Com_select"]) > 0
    assert reading.change_statements == sum(int(status[one]) for one in CHANGES) > 0
