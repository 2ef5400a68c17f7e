"""How ``innobrim watch`` follows a daemon: what it asks for, what it keeps, and what it makes of silence."""

from __future__ import annotations

from typing import TypeVar

import pytest
from msgspec.structs import replace

from api.models import Decisions, Events, HistoryAnswer, Status
from tests import factory
from tests.cli.watching import SECONDS, event, history, record, status
from tuner.cli.errors import Unreachable
from tuner.cli.watch.follow import LONGEST_WAIT, Follower
from tuner.cli.watch.trace import COLUMNS, Trace, trace_of
from tuner.records import Decision, DecisionKind

AnswerT = TypeVar("AnswerT")

RAISED = Decision(DecisionKind.SET, "raise", "the age runs ahead")


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
        found = next(
            one for one in (self.status, self.history, self.events, Decisions(())) if isinstance(one, answer)
        )
        assert isinstance(found, answer)
        return found

    def tick(self, number: int, decision: Decision | None = None) -> None:
        """Make another tick the newest."""
        made = record(number)
        self.status = status(made if decision is None else replace(made, decision=decision))


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


def test_the_past_is_asked_for_once(daemon: Daemon, follower: Follower) -> None:
    """Each further tick costs the daemon one status, whatever the charts show."""
    follower.ask()
    daemon.asked.clear()
    daemon.tick(SECONDS + 1)

    found = follower.ask()

    assert daemon.asked == ["/v1/status"]
    assert found.trace.rows[-1][0] == pytest.approx(factory.EPOCH + SECONDS + 1)


def test_what_happened_is_asked_for_when_something_did(daemon: Daemon, follower: Follower) -> None:
    """A write is followed by its event at once, and an event that shows nowhere else within five ticks."""
    follower.ask()
    daemon.asked.clear()
    daemon.events = Events((event(9, "set", "C/M → 300/600"),), run="18bcfe56800", gap=False)
    daemon.status = status(record(SECONDS + 1, changes_last_hour=8))

    found = follower.ask()

    assert daemon.asked[-1] == "/v1/events?after=1&limit=100"
    assert [one.code for one in found.events] == ["mode", "set"]
    daemon.asked.clear()
    for number in range(2, 8):
        daemon.status = status(record(SECONDS + number, changes_last_hour=8))
        follower.ask()
    assert daemon.asked.count("/v1/events?after=9&limit=100") == 1


def test_ticks_that_were_missed_are_asked_for(daemon: Daemon, follower: Follower) -> None:
    """After a slow answer the history fills in what came between, and no more than that."""
    follower.ask()
    daemon.asked.clear()
    daemon.tick(SECONDS + 20)

    follower.ask()

    (path,) = [path for path in daemon.asked if "history" in path]
    assert path.startswith("/v1/history?start=-22&columns=checkpoint_age,")


def test_a_decision_is_kept_when_it_changes(daemon: Daemon, follower: Follower) -> None:
    """A tick that decides as the one before adds no line."""
    follower.ask()
    for number, decision in ((1, RAISED), (2, RAISED), (3, None)):
        daemon.tick(SECONDS + number, decision)
        found = follower.ask()

    assert [one.decision.reason for one in found.decisions] == ["raise", "within_dead_band"]


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
    for _ in range(8):
        clock.now += 1.0
        found = follower.ask()
        assert found.gone is not None
        waits.append(found.gone.again - clock.now)

    assert found.status == before.status
    assert found.gone is not None
    assert (found.gone.began, found.gone.why) == (51.0, "connection refused")
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_WAIT, LONGEST_WAIT, LONGEST_WAIT]


def test_a_daemon_that_is_back_goes_on_with_a_gap(daemon: Daemon, follower: Follower) -> None:
    """A new daemon's numbers follow the old one's, the time without one stays empty, waits begin anew."""
    follower.ask()
    daemon.status = None
    follower.ask()
    follower.ask()
    daemon.tick(SECONDS + 101)
    fresh = history()
    daemon.history = replace(
        fresh,
        columns={name: values[:5] for name, values in fresh.columns.items()}
        | {"time": [factory.EPOCH + SECONDS + 96 + second for second in range(5)]},
    )
    found = follower.ask()

    assert found.gone is None
    (ages,) = found.trace.columns(["checkpoint_age"], end=found.status.at, span=200.0, count=20)
    known = [age is not None for age in ages]
    assert known[:9] == [True] * 9
    assert known[11:17] == [False] * 6
    assert known[-1]
    daemon.status = None
    silent = follower.ask().gone
    assert silent is not None
    assert silent.again == 51.0


def test_a_daemon_started_anew_is_asked_for_everything(daemon: Daemon, follower: Follower) -> None:
    """One that was away for less than a second, and whose ticks go on by chance, is another one."""
    before = follower.ask()
    daemon.asked.clear()
    daemon.tick(SECONDS + 1)
    assert daemon.status is not None
    assert before.status.process is not None
    later = replace(before.status.process, started=before.status.process.started + 60.0)
    daemon.status = replace(daemon.status, process=later)
    daemon.events = Events((event(1, "mode", "mode active → advisory"),), run="18bcfe65260", gap=False)
    found = follower.ask()

    assert found.events == daemon.events.events
    assert any("history" in path for path in daemon.asked)


def test_a_longer_range_asks_for_a_longer_past(daemon: Daemon, follower: Follower) -> None:
    """What the charts show next is asked for at the next question."""
    follower.ask()
    daemon.asked.clear()
    follower.widen(3600.0)

    assert follower.ask().span == 3600.0
    assert any(path.startswith("/v1/history?start=-3600&") for path in daemon.asked)


def made(*seconds: float, spacing: float = 1.0) -> Trace:
    """Return a trace with an age of as many bytes as its second."""
    return Trace(tuple((one, (one, *(1.0,) * (len(COLUMNS) - 1))) for one in seconds), spacing)


def test_a_column_is_the_mean_of_its_part() -> None:
    """A part of a chart that several rows fall into shows their mean."""
    (ages,) = made(*range(20)).columns(["checkpoint_age"], end=19.0, span=20.0, count=4)

    assert ages == [2.0, 7.0, 12.0, 17.0]


def test_columns_stay_where_they_are_as_time_goes_by() -> None:
    """A moment later every full column has the value that it had."""
    rows = made(*range(40))
    (one,) = rows.columns(["checkpoint_age"], end=30.0, span=20.0, count=4)
    (next_one,) = rows.columns(["checkpoint_age"], end=32.0, span=20.0, count=4)

    assert one[:3] == next_one[:3]


def test_rare_rows_are_no_gaps() -> None:
    """Where a tick, or a step of a long history, takes several columns, each of them shows it."""
    (ages,) = made(0.0, 5.0, 10.0, spacing=5.0).columns(["checkpoint_age"], end=11.0, span=12.0, count=12)

    assert ages == [0.0] * 5 + [5.0] * 5 + [10.0] * 2


def test_a_reading_that_failed_is_a_gap() -> None:
    """A tick without a reading is an empty column, not the value before it."""
    missed = status(record(SECONDS + 1), missed="did not answer", estimate=None, limits=None, in_force=None)
    after = trace_of(history(), interval=1.0).with_status(missed, span=float(SECONDS))
    (ages,) = after.columns(["checkpoint_age"], end=missed.at, span=4.0, count=4)

    assert ages[-1] is None
    assert None not in ages[:-1]


def test_every_column_that_is_drawn_is_one_that_the_daemon_keeps() -> None:
    """What is asked for is in the history's own list."""
    from api.read import HISTORY_COLUMNS  # noqa: PLC0415 - the web framework, for this alone

    assert set(COLUMNS) <= set(HISTORY_COLUMNS)
    assert set(history().columns) == {*COLUMNS, "time"}
    assert isinstance(history(), HistoryAnswer)
