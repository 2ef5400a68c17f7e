"""Parking in place of a daemon that was killed, where server or disk do not play along: it ends in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import Bench
from tests.crashed import Crash, crash
from tuner.records import Missed, Sample
from tuner.servers.port import ServerError, Unreachable
from tuner.without_daemon import LIMIT_SECONDS, READ_SECONDS, WAIT_SECONDS


@pytest.fixture
def killed(tmp_path: Path) -> Crash:
    """Return a server whose daemon was killed while its M was as low as the load allows."""
    return crash(tmp_path, Bench().in_control())


def test_a_dying_session_is_waited_for(killed: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the dead daemon's session keeps the writer lock nothing is written; then it is."""
    live, server = killed.server.live, killed.server
    until, server.writer = server.now + 12.0, False

    def pass_time(seconds: float) -> None:
        live(seconds)
        server.writer = server.now >= until

    monkeypatch.setattr(server, "live", pass_time)

    assert killed.park().startswith("parked at ")
    assert server.now >= until


def test_a_living_daemon_keeps_its_server(killed: Crash) -> None:
    """Where the writer lock stays with somebody, the end comes in time and says so."""
    killed.server.writer, began = False, killed.server.now
    writes = len(killed.server.applied)

    with pytest.raises(ServerError, match="writer lock"):
        killed.park()

    assert len(killed.server.applied) == writes
    assert WAIT_SECONDS <= killed.server.now - began <= LIMIT_SECONDS


def test_a_silent_server_ends_it_in_time(killed: Crash) -> None:
    """A server that answers nothing is given up after a while, with its reason."""
    killed.server.down = "did not answer within 1 s"

    with pytest.raises(Unreachable, match="no reading within 20 s: did not answer within 1 s"):
        killed.park()


def test_a_server_that_vanishes_is_not_parked(killed: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that goes away once the estimate is there is no success, and what was not reached is said."""
    server, read = killed.server, killed.server.read
    began, pair = server.now, server.capacity

    def vanish() -> Sample | Missed:
        reading = read()
        server.down = "refused the connection" if server.now - began >= READ_SECONDS else ""
        return reading

    monkeypatch.setattr(server, "read", vanish)

    with pytest.raises(Unreachable, match=r"not parked at \d+/\d+: refused the connection"):
        killed.park()

    assert server.capacity == pair
    assert server.now - began <= LIMIT_SECONDS
    assert not killed.ending.orderly


def test_one_reading_is_enough_where_the_journal_knows_the_load(
    killed: Crash, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the server answers once and again only much later, the daemon's own last estimate decides."""
    live, server, began = killed.server.live, killed.server, killed.server.now

    def be_slow(seconds: float) -> None:
        live(seconds)
        server.down = "did not answer within 1 s" if server.now - began < WAIT_SECONDS else ""

    monkeypatch.setattr(server, "live", be_slow)

    assert killed.park().startswith("parked at ")


def test_a_refused_write_says_what_is_in_force(killed: Crash) -> None:
    """A refused write is no success: no mark of an orderly end, and the pair in force is named."""
    killed.server.refusal = "access denied"
    pair = killed.server.capacity

    with pytest.raises(ServerError, match=f"{pair.io_capacity}/{pair.io_capacity_max}: access denied"):
        killed.park()

    assert not killed.ending.orderly
