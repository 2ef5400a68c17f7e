"""How ``innobrim watch`` follows a daemon: what it asks for, what it keeps, and what it makes of silence."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from api.models import Events, Status
from tests import factory
from tests.cli.watching import PROCESS, SECONDS, event, history, record, status
from tuner.cli.answer import Unreachable
from tuner.cli.picture import HISTORY
from tuner.cli.watch import LONGEST_WAIT, Follower

AnswerT = TypeVar("AnswerT")


class Daemon:
    """A daemon that says what a test puts into it, and nothing at all where that is None."""

    def __init__(self) -> None:
        self.status: Status | None = status()
        self.history = history()
        self.events = Events((event(1, "mode", "mode advisory → active"),), run="18bcfe56800", gap=False)
        self.asked: list[str] = []

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return the answer to a path."""
        self.asked.append(path)
        if self.status is None:
            raise Unreachable("connection refused")
        found = next(one for one in (self.status, self.history, self.events) if isinstance(one, answer))
        assert isinstance(found, answer)
        return found

    def tick(self, number: int) -> None:
        """Make another tick the newest."""
        self.status = status(record(number))


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now


@pytest.fixture
def daemon() -> Daemon:
    """Return a daemon that answers."""
    return Daemon()


@pytest.fixture
def clock() -> Time:
    """Return a clock."""
    return Time()


@pytest.fixture
def follower(daemon: Daemon, clock: Time) -> Follower:
    """Return one that asks it every second."""
    return Follower(daemon, interval=1.0, span=float(SECONDS), monotonic=clock, wall=lambda: factory.EPOCH)


def test_a_tick_costs_the_daemon_one_status(daemon: Daemon, clock: Time, follower: Follower) -> None:
    """Numbers and events are asked for anew only when a column of the charts is full."""
    follower.ask()
    for _ in range(2):
        clock.now += 1.0
        daemon.asked.clear()
        follower.ask()
        assert daemon.asked == ["/v1/status"]
    clock.now += 1.0
    follower.ask()

    assert [path.partition("?")[0] for path in daemon.asked[-2:]] == ["/v1/history", "/v1/events"]


@pytest.mark.parametrize("news", [{"changes_last_hour": 8}, {"process": replace(PROCESS, started=5.0)}])
def test_what_happened_is_asked_for_when_something_did(
    daemon: Daemon, follower: Follower, news: dict[str, Any]
) -> None:
    """A write, and another daemon in the place of the first, are followed by their events at once."""
    follower.ask()
    daemon.events = Events((event(9, "set", "C/M → 300/600"),), run="18bcfe56800", gap=False)
    daemon.status = replace(status(record(SECONDS + 1)), **news)

    assert [one.code for one in follower.ask().events] == ["set"]


def test_nobody_there_at_the_beginning_is_an_error(daemon: Daemon, follower: Follower) -> None:
    """Who mistypes an address is told at once."""
    daemon.status = None

    with pytest.raises(Unreachable, match="connection refused"):
        follower.ask()


def test_silence_keeps_what_was_known_and_is_asked_later_and_later(
    daemon: Daemon, clock: Time, follower: Follower
) -> None:
    """A daemon that is gone leaves its last answer, with since when and why; questions get rarer."""
    before = follower.ask()
    daemon.status = None
    waits: list[float] = []
    for _ in range(7):
        clock.now += 1.0
        found = follower.ask()
        waits.append(follower.due - clock.now)

    assert (found.status, found.gone, found.gone_since) == (
        before.status,
        "connection refused",
        factory.EPOCH,
    )
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_WAIT, LONGEST_WAIT]


def test_a_daemon_that_is_back_is_asked_for_everything(
    daemon: Daemon, clock: Time, follower: Follower
) -> None:
    """A new daemon's numbers take the place of the old one's, and waits begin anew."""
    follower.ask()
    daemon.status = None
    follower.ask()
    follower.ask()
    daemon.tick(SECONDS + 101)
    daemon.history = history(gap=range(200, 290))
    found = follower.ask()

    assert (found.gone, found.history) == ("", daemon.history)
    daemon.status = None
    follower.ask()
    assert follower.due - clock.now == 1.0


def test_a_longer_range_asks_for_a_longer_past(daemon: Daemon, follower: Follower) -> None:
    """What the charts show next is asked for at the next question."""
    follower.ask()
    follower.widen(1)

    assert follower.ask().span == 900.0
    assert any(path.startswith("/v1/history?start=-900&") for path in daemon.asked)
    for _ in range(5):
        follower.widen(-1)
    assert follower.span == 60.0


def test_every_column_that_is_drawn_is_one_that_the_daemon_keeps() -> None:
    """What is asked for is in the history's own list."""
    from api.read import HISTORY_COLUMNS  # noqa: PLC0415 - the web framework, for this alone

    assert set(HISTORY) <= set(HISTORY_COLUMNS)
