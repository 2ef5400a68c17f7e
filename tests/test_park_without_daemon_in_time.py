"""Parking in place of a daemon that was killed, where server or disk do not play along: it ends in time."""

from __future__ import annotations

import itertools
import math
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
        live(1.3 * seconds)
        server.writer = server.now >= until

    monkeypatch.setattr(server, "live", pass_time)

    assert killed.park().startswith("parked at ")
    assert until <= server.now < until + 5.0


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


@pytest.mark.parametrize("back", [10.0, 24.0, math.inf], ids=["soon", "late", "never"])
def test_a_server_that_vanishes_is_not_parked(
    killed: Crash, monkeypatch: pytest.MonkeyPatch, back: float
) -> None:
    """A server that goes away once the estimate is there is waited for; what was not reached is said."""
    server, read, readings = killed.server, killed.server.read, itertools.count()
    began, pair = server.now, server.capacity

    def vanish() -> Sample | Missed:
        gone = next(readings) > READ_SECONDS and server.now - began < back
        server.down = "refused the connection" if gone else ""
        return read()

    monkeypatch.setattr(server, "read", vanish)
    if back < LIMIT_SECONDS:
        assert killed.park().startswith("parked at ")
        return
    with pytest.raises(Unreachable, match=r"not parked at \d+/\d+: refused the connection"):
        killed.park()

    assert server.capacity == pair
    assert LIMIT_SECONDS <= server.now - began < LIMIT_SECONDS + 1.0
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


def test_what_bars_it_at_the_last_moment_is_said(killed: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that becomes read-only once the estimate is there is not written to, and is told why."""
    server, read, readings = killed.server, killed.server.read, itertools.count()
    writes = len(server.applied)

    def turn_read_only() -> Sample | Missed:
        server.shows = {"read_only": next(readings) > READ_SECONDS}
        return read()

    monkeypatch.setattr(server, "read", turn_read_only)

    assert killed.park().endswith("; the values in force are not for InnoBrim to change")
    assert len(server.applied) == writes


@pytest.mark.parametrize(
    ("change", "value", "said"),
    [
        ("refusal", "access denied", "{}: access denied"),
        ("adjusts", 20_000, r"\d+/\d+: somebody else changed the values"),
        ("drop_after", 0, "what is in force is unknown: connection lost"),
    ],
)
def test_a_write_that_did_not_succeed_says_what_is_in_force(
    killed: Crash, change: str, value: object, said: str
) -> None:
    """No success: there is no mark of an orderly end, and what is in force is named with the reason."""
    pair = killed.server.capacity
    setattr(killed.server, change, value)

    with pytest.raises(ServerError, match=rf"not parked at \d+/\d+: {said.format(pair)}$"):
        killed.park()

    assert not killed.ending.orderly
