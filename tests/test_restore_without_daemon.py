"""The way back to the originals without a daemon."""

from __future__ import annotations

import itertools

import pytest

from tests.bench import FakeServer
from tuner import without_daemon
from tuner.core.leaving.restore import RESTORE_FACTOR, restore_steps
from tuner.core.writes.restore_pace import STEP_SECONDS
from tuner.records import LOW_WATER_MARK, LOWEST_ABOVE_ZERO, Capacity, percent
from tuner.servers.port import ServerError
from tuner.without_daemon import restore_offline

ORIGINALS = Capacity(1_000, 2_000)
OURS = LOWEST_ABOVE_ZERO


class Patient:
    """A server that lives while a restore waits, and what was said meanwhile."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.lines: list[str] = []
        self.written: list[float] = []

    def wait(self, seconds: float) -> None:
        """Let time pass; note when something was written."""
        if len(self.server.applied) > len(self.written):
            self.written.append(self.server.now)
        self.server.live(seconds)


def restored(server: FakeServer, *, hidden: bool = False) -> Patient:
    """Go back to the originals; return what was seen on the way."""
    seen = Patient(server)
    restore_offline(server, ORIGINALS, say=seen.lines.append, hidden=hidden, wait=seen.wait)
    return seen


def test_it_ends_at_the_originals_in_the_daemons_steps() -> None:
    """Every step is a quarter at most, five seconds apart, and the last line says what is in force."""
    server = FakeServer(Capacity(225, 450))
    expected = restore_steps(server.capacity, ORIGINALS)
    seen = restored(server, hidden=True)

    values = [before.io_capacity_max for _, _, before in server.applied]
    assert server.capacity == ORIGINALS
    assert len(server.applied) == expected
    assert all(new <= RESTORE_FACTOR * old for old, new in itertools.pairwise(values))
    assert all(later - earlier >= STEP_SECONDS for earlier, later in itertools.pairwise(seen.written))
    assert seen.lines[0].startswith("step 1, at ")
    assert seen.lines[0].endswith(f"; {expected - 1} left, {5 * (expected - 1)} s at least")
    assert seen.lines[-1] == "originals 1000/2000 are in force"


def test_it_waits_while_writes_are_slow() -> None:
    """A step that makes writes slow is the last one until they are quick again, as with the daemon."""
    server = FakeServer(Capacity(225, 450))
    server.write_seconds = 0.002
    seen = Patient(server)

    def wait(seconds: float) -> None:
        slow = len(server.applied) == 2 and server.now < 40.0
        server.write_seconds = 0.03 if slow else 0.002
        seen.wait(seconds)

    restore_offline(server, ORIGINALS, say=seen.lines.append, wait=wait)

    assert server.capacity == ORIGINALS
    assert seen.written[0] >= 5.0
    assert seen.written[2] >= 40.0
    assert seen.written[1] < 20.0


def test_what_stops_it_is_said_with_what_is_in_force() -> None:
    """A server that is lost or refuses ends it, with the reason."""
    server = FakeServer(Capacity(225, 450))
    server.refusal = "access denied"
    with pytest.raises(ServerError, match="stopped at 225/450: access denied"):
        restored(server, hidden=True)
    server.refusal, server.down = "", "did not answer"
    with pytest.raises(ServerError, match="stopped on the way back: did not answer"):
        restored(server)
    assert server.capacity == Capacity(225, 450)


@pytest.mark.parametrize(
    ("change", "value", "said"),
    [
        ("adjusts", 460, r"stopped at 460/\d+: somebody else changed the values"),
        ("drop_after", 1, "stopped and what is in force is unknown: connection lost"),
        ("writer", False, "a daemon holds this server's writer lock"),
    ],
)
def test_whoever_comes_between_ends_it(change: str, value: object, said: str) -> None:
    """Another hand on the values, a connection that ends half-way, or a daemon: no further step is taken."""
    server = FakeServer(Capacity(225, 450))
    setattr(server, change, value)
    with pytest.raises(ServerError, match=said):
        restored(server, hidden=True)

    assert len(server.applied) == (change != "writer")


def test_it_gives_up_where_the_originals_never_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many steps it says how far it came and how long that took, and leaves the rest to a person."""
    monkeypatch.setattr(without_daemon, "LONGEST_RESTORE", 2)
    with pytest.raises(ServerError, match=r"still not at the originals after 2 steps and (5|6|7|8|9|10) s"):
        restored(FakeServer(Capacity(225, 450)), hidden=True)


@pytest.mark.parametrize("found", [0, 50_000_000])
def test_a_mark_that_cannot_be_put_back_stops_it(found: int) -> None:
    """The reason is the server's, or that somebody else's value is in force; C and M are left alone then."""
    for change, value, said in (("refusal", "denied", "denied"), ("adjusts", 5_000_000, "somebody else")):
        server = FakeServer(Capacity(225, 450))
        server.mark = OURS
        setattr(server, change, value)
        with pytest.raises(
            ServerError, match=f"{LOW_WATER_MARK} = {percent(found)} could not be put back: {said}"
        ):
            restore_offline(server, ORIGINALS, low_water=found, say=lambda _: None, hidden=True)

        assert server.capacity == Capacity(225, 450)


@pytest.mark.parametrize(
    ("mark", "found", "written"),
    [
        (OURS, 0, True),
        (OURS, 50_000_000, True),
        (OURS, int(str(OURS)), False),
        (OURS, None, False),
        (0, 0, False),
        (5_000_000, 0, False),
    ],
)
def test_a_low_water_mark_that_was_left_is_put_back_first(
    mark: int, found: int | None, *, written: bool
) -> None:
    """A dead daemon's mark goes back before C and M; one that is not its own stays."""
    server = FakeServer(Capacity(225, 450))
    server.mark = mark
    seen = Patient(server)
    restore_offline(server, ORIGINALS, low_water=found, say=seen.lines.append, hidden=True, wait=seen.wait)

    marks = [at for at, (steps, _, _) in enumerate(server.applied) if steps[0][0] == LOW_WATER_MARK]
    assert marks == [0] * written
    assert server.mark == (found if written else mark)
    assert server.capacity == ORIGINALS
    assert (seen.lines[0] == f"{LOW_WATER_MARK} = {percent(found or 0)} again") is written
