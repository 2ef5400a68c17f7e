"""The one loop, on a clock that only moves when it waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.bench import FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, REDO, SAVED, command
from tuner.core.state import State
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import Capacity, Command, Facts, Lifecycle, Missed, Receipt, Sample, TickRecord
from tuner.servers.port import Unreachable, Unsupported
from tuner.settings import Settings
from tuner.system.amounts import size


class Timed(FakeServer):
    """A fake server on a clock, whose readings and writes take time.

    Attributes:
        reads: when each reading began.
        read_seconds: how long a reading takes.
    """

    def __init__(self, clock: SimClock, read_seconds: float = 0.01) -> None:
        super().__init__()
        self.clock = clock
        self.reads: list[float] = []
        self.read_seconds = read_seconds

    def read(self) -> Sample | Missed:
        """Live up to the clock, take some time, return a reading."""
        self.reads.append(self.clock.monotonic())
        self.clock.advance_to(self.clock.monotonic() + self.read_seconds)
        self.live(self.clock.monotonic() - self.now)
        return super().read()


class Script:
    """The loop's wait: commands come at given times.

    Attributes:
        waits: until when the loop waited, each time.
    """

    def __init__(self, clock: SimClock, *entries: tuple[float, Command]) -> None:
        self._clock = clock
        self._entries = sorted(entries, key=lambda entry: entry[0])
        self.waits: list[float] = []

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Move the clock to the next command or to the deadline; return what has come by then."""
        self.waits.append(until)
        moment = min([until, *(max(at, self._clock.monotonic()) for at, _ in self._entries)])
        self._clock.advance_to(moment)
        found = tuple(one for at, one in self._entries if at <= self._clock.monotonic())
        self._entries = self._entries[len(found) :]
        return found


class Run:
    """A loop over a script.

    Attributes:
        server: what is sampled and written.
        inbox: what the loop waits on.
        records: what was published.
        told: what was told of the write that a stop ended with.
    """

    def __init__(
        self,
        *entries: tuple[float, Command],
        settings: Settings = ACTIVE,
        read_seconds: float = 0.01,
        told: dict[str, Any] | None = None,
    ) -> None:
        self.clock = SimClock()
        self.server = Timed(self.clock, read_seconds)
        self.server.told = told or {}
        self.inbox = Script(self.clock, *entries)
        self.records: list[TickRecord] = []
        self.told: list[Receipt] = []
        self.watch: Callable[[TickRecord], None] = lambda _record: None
        self._state = start(settings, self.server.facts(), DEFAULT)

    def publish(self, state: State, record: TickRecord) -> None:  # noqa: ARG002 - the loop's signature
        """Note a record."""
        self.records.append(record)
        self.watch(record)

    def go(self, until: float | None, *, interval: float = 1.0, number: int = 0) -> State:
        """Turn until this time."""
        return drive(
            self.server,
            self.clock,
            self.inbox,
            self._state,
            interval=interval,
            publish=self.publish,
            until=until,
            number=number,
            last=self.told.append,
        )


@pytest.mark.parametrize("interval", [0.5, 1.0, 5.0])
def test_ticks_come_at_the_interval(interval: float) -> None:
    """Readings begin exactly one interval apart, however long each takes: the loop does not drift."""
    run = Run(read_seconds=0.3)
    run.go(20.0, interval=interval)

    assert run.server.reads == pytest.approx([interval * n for n in range(round(20.0 / interval))])
    assert [record.tick.number for record in run.records] == list(range(1, len(run.records) + 1))


def test_a_reading_that_takes_too_long_delays_but_does_not_pile_up() -> None:
    """When readings take longer than the interval the next begins at once, and lost ticks are not made up."""
    run = Run(read_seconds=2.5)
    run.go(25.0)
    slow = len(run.server.reads)
    run.server.read_seconds = 0.01
    run.go(35.0)

    assert slow == 10
    assert len(run.server.reads) - slow <= 11


def test_a_command_is_answered_at_once() -> None:
    """A command does not wait for the next tick, and does not move it."""
    run = Run((3.4, command("pause", number=7)))
    run.go(6.0)

    (answered,) = [record for record in run.records if record.acknowledgements]
    assert answered.tick.now == pytest.approx(3.41)
    assert answered.acknowledgements[0].number == 7
    assert [at for at in run.server.reads if at != 3.4] == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


def test_commands_that_come_together_share_a_tick() -> None:
    """What has come by the time the loop looks is answered in one tick, in order."""
    run = Run((2.5, command("pause", number=1)), (2.5, command("resume", number=2)))
    run.go(4.0)

    (answered,) = [record for record in run.records if record.acknowledgements]
    assert [one.number for one in answered.acknowledgements] == [1, 2]


def test_a_receipt_is_in_the_next_tick() -> None:
    """What became of a write is an input of the tick after it, so that a trace replays."""
    run = Run()
    run.go(40.0)

    wrote = [record for record in run.records if record.decision.steps]
    received = [record for record in run.records if record.tick.receipt is not None]
    assert len(wrote) == len(run.server.applied) > 1
    assert [one.tick.number + 1 for one in wrote] == [one.tick.number for one in received]
    for record, (steps, wanted, _) in zip(wrote, run.server.applied, strict=True):
        assert (record.decision.steps, record.decision.target) == (steps, wanted)


def test_a_write_is_published_before_it_is_carried_out() -> None:
    """Who watches knows of a write before the server does: a crash in between leaves a trace."""
    run = Run()
    seen: list[tuple[Capacity, int]] = []

    def watch(record: TickRecord) -> None:
        if record.decision.steps:
            seen.append((run.server.capacity, len(run.server.applied)))

    run.watch = watch
    run.go(40.0)

    assert [count for _, count in seen] == list(range(len(run.server.applied)))
    assert [pair for pair, _ in seen] == [before for _, _, before in run.server.applied]


def test_stop_ends_it_in_the_same_tick() -> None:
    """A stop parks, tells what became of that, and returns; no tick follows."""
    run = Run((60.2, command("stop", who="SIGTERM", value="park")))
    state = run.go(None)

    assert state.lifecycle is Lifecycle.STOPPING
    assert run.records[-1].decision.reason == "park"
    assert run.records[-1].tick.now == pytest.approx(60.21)
    assert run.inbox.waits[-1] <= 61.0
    assert [receipt.in_force for receipt in run.told] == [run.server.capacity]


def test_a_server_that_is_gone_does_not_delay_a_stop() -> None:
    """When the last reading failed, the server is not asked again on the way out."""
    run = Run((5.5, command("stop", value="park")))
    run.server.down = "did not answer within 1 s"
    run.go(None)
    asked = len(run.server.reads)

    assert run.records[-1].lifecycle is Lifecycle.STOPPING
    assert asked == len(run.records) - 1
    assert run.server.applied == []


def test_it_ends_at_the_given_time() -> None:
    """Without a stop it turns until the time given, and not a tick longer."""
    run = Run()
    state = run.go(10.0)

    assert state.lifecycle is Lifecycle.RUNNING
    assert run.server.reads[-1] == pytest.approx(9.0)
    assert not run.server.closed


def test_numbers_go_on_where_they_were() -> None:
    """A loop that takes over a state counts on from its last tick."""
    run = Run((1.5, SAVED))
    run.go(3.0, number=100)

    assert [record.tick.number for record in run.records] == [101, 102, 103, 104]


@pytest.mark.parametrize("away", [0, 3])
def test_after_a_restart_the_server_is_asked_again_what_it_is(away: int) -> None:
    """An upgrade under a running daemon is seen as soon as the server answers; the law is checked anew."""
    run = Run()
    asked: list[float] = []
    upgraded = replace(run.server.facts(), version="9.8.0")

    def facts() -> Facts:
        asked.append(run.clock.monotonic())
        if len(asked) <= away:
            raise Unreachable("did not answer within 1 s")
        return upgraded

    def watch(record: TickRecord) -> None:
        if record.tick.number == 20:
            run.server.facts = facts  # type: ignore[method-assign]  # the server's own answer from here on
            run.server.restart(DEFAULT)

    run.watch = watch
    state = run.go(60.0)

    assert len(asked) == away + 1
    assert state.facts.version == "9.8.0"
    said = [event.message for record in run.records for event in record.events if event.code == "version"]
    assert said == [f"the server is 9.8.0 now and was {FACTS.version}"]
    missed = [one.tick.reading for one in run.records if isinstance(one.tick.reading, Missed)]
    assert {one.reason for one in missed} == {"asked again what server this is"}


def test_counters_that_come_back_have_the_server_looked_at_again() -> None:
    """Who turns them on is no longer told to; the limits that only they show are compared, once."""
    off = ("log_lsn_current", "log_max_modified_age_sync")
    run = Run(told={"disabled_counters": off})
    run.server.shows = {"degraded": True}
    seen: list[tuple[str, ...]] = []

    def watch(record: TickRecord) -> None:
        if record.tick.number == 20:
            run.server.shows = {}
            run.server.told = {"blockers": ("log_max_modified_age_sync is not ours",)}
        if record.tick.facts is not None:
            seen.append(record.tick.facts.disabled_counters)

    run.watch = watch
    state = run.go(60.0)

    assert seen == [()]
    assert state.facts.disabled_counters == ()
    (hold,) = [one for one in run.records[-1].holds if one.code.value == "inert"]
    assert "log_max_modified_age_sync is not ours" in hold.reason


def test_a_resize_has_the_server_looked_at_again() -> None:
    """Limits are compared for the size in force: what blocks is said there, once, and ends with that size."""
    run = Run()
    blocked = {"blockers": ("log_max_modified_age_sync is not ours",)}
    changes: dict[int, dict[str, Any]] = {
        20: {"redo_capacity": 2 * REDO, "resizing": True},
        30: {"resizing": False, "told": blocked},
        40: {"redo_capacity": REDO, "told": {}},
    }
    seen: list[tuple[int, tuple[str, ...]]] = []

    def watch(record: TickRecord) -> None:
        for name, value in changes.get(record.tick.number, {}).items():
            setattr(run.server, name, value)
        if record.tick.facts is not None:
            seen.append((record.tick.number, record.tick.facts.blockers))

    run.watch = watch
    run.go(60.0)

    assert seen == [(32, blocked["blockers"]), (42, ())]
    inert = [one.tick.number for one in run.records if "inert" in {hold.code.value for hold in one.holds}]
    assert inert == list(range(33, 43))


def test_another_size_of_the_redo_log_is_told_once() -> None:
    """Who resizes it beside the loop reads that it was seen, with both sizes."""
    run = Run()

    def watch(record: TickRecord) -> None:
        if record.tick.number == 20:
            run.server.redo_capacity = 2 * REDO

    run.watch = watch
    run.go(60.0)

    said = [one.message for record in run.records for one in record.events if one.code == "redo_capacity"]
    (message,) = said
    assert size(REDO) in message
    assert size(2 * REDO) in message


def test_a_server_that_is_no_longer_supported_is_left_alone() -> None:
    """What answers after a restart and cannot be controlled makes the loop hold, with the reason."""
    run = Run()

    def facts() -> Facts:
        raise Unsupported("MariaDB 11.8 is not supported yet")

    def watch(record: TickRecord) -> None:
        if record.tick.number == 20:
            run.server.facts = facts  # type: ignore[method-assign]  # the server's own answer from here on
            run.server.restart(DEFAULT)

    run.watch = watch
    run.go(60.0)

    (hold,) = [one for one in run.records[-1].holds if one.code.value == "inert"]
    assert "MariaDB 11.8 is not supported yet" in hold.reason
