"""The daemon around the loop: signals, and what is on disk when."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.daemon.life import ORIGINALS, SOON, Life
from tests.factory import LOADED, command
from tuner.cli.run import permit
from tuner.config.schema import ScheduleTable
from tuner.daemon import daemon
from tuner.journal.reader import learned, originals, runs, trace
from tuner.records import (
    Capacity,
    DecisionKind,
    Lifecycle,
    Missed,
    TickRecord,
)
from tuner.settings import Mode, Settings

STOP_SECONDS = 2.0

Line = MutableMapping[str, Any]


@pytest.fixture
def logged() -> Iterator[list[Line]]:
    """Return what is logged, as the events come."""
    with capture_logs() as found:
        yield found


@pytest.fixture
def active(tmp_path: Path) -> Life:
    """Return a daemon in active mode that has not begun to live."""
    return Life(tmp_path, Settings(mode=Mode.ACTIVE))


def test_sigterm_parks_and_ends_within_two_seconds(active: Life, tmp_path: Path) -> None:
    """Told to stop, the daemon leaves a parked setting and is gone in time; the journal has the last tick."""
    active.live(lambda: active.wait(lambda: active.server.capacity.io_capacity_max < LOADED))

    assert active.seconds_to_end < STOP_SECONDS
    assert active.server.closed
    last = active.records[-1]
    assert last.lifecycle is Lifecycle.STOPPING
    assert last.decision.kind is DecisionKind.PARK
    assert active.server.capacity == last.decision.target
    *_, written = trace(tmp_path)
    assert isinstance(written, TickRecord)
    assert (written.tick.number, written.decision) == (last.tick.number, last.decision)


def test_advisory_writes_nothing_to_the_end(tmp_path: Path) -> None:
    """A daemon in advisory mode leaves the server as it found it, and takes no originals."""
    life = Life(tmp_path, Settings())
    life.live(lambda: life.wait_for_ticks(30))

    assert life.server.applied == []
    assert life.server.capacity == ORIGINALS
    assert originals(tmp_path) == []
    assert {state.mode for state in life.states} == {Mode.ADVISORY}


def test_originals_are_on_disk_before_the_first_write(active: Life, tmp_path: Path) -> None:
    """Whoever reads the journal at the moment of the first write finds what the server was set to before."""
    found: list[list[Capacity]] = []
    active.server.before_write = lambda: found.append([one.capacity for one in originals(tmp_path)])
    active.live(active.wait_for_write)

    assert found[0] == [ORIGINALS]
    assert [one.identity for one in originals(tmp_path)] == [active.server.identity]


def test_a_daemon_that_comes_back_knows_the_originals(active: Life, tmp_path: Path) -> None:
    """After the end of one daemon the next one beside the same server knows what was there before both."""
    active.live(active.wait_for_write)
    left = active.server.capacity
    again = Life(tmp_path, Settings(mode=Mode.ACTIVE))
    again.server.capacity, again.server.started = left, active.server.started
    again.server.facts_started = active.server.facts_started
    again.live(lambda: again.wait_for_ticks(3))

    assert left != ORIGINALS
    assert again.records[0].originals == ORIGINALS
    assert [one.capacity for one in originals(tmp_path)] == [ORIGINALS]
    assert len(runs(tmp_path)) == 2


def test_a_pause_is_still_one_after_a_restart_of_the_service(active: Life, tmp_path: Path) -> None:
    """The next daemon on the same state directory begins paused, and writes nothing."""

    def script() -> None:
        active.wait_for_write()
        active.board.submit(command("pause", number=0, reason="restoring a backup"))
        active.wait_for_ticks(3)

    active.live(script)
    again = Life(tmp_path, Settings(mode=Mode.ACTIVE))
    again.server.capacity, again.server.started = active.server.capacity, active.server.started
    again.server.facts_started = active.server.facts_started
    again.live(lambda: again.wait_for_ticks(40))

    assert again.server.applied == []
    assert [hold.code.value for hold in again.records[2].holds if hold.code.value == "paused"] == ["paused"]


def test_a_server_that_was_given_back_has_no_originals_any_more(active: Life, tmp_path: Path) -> None:
    """After a restore the next daemon takes what it finds then: a pair from before would be an old one."""

    def script() -> None:
        active.wait_for_write()
        active.board.submit(command("restore", number=0))
        active.wait(lambda: any(one.decision.reason == "restored" for one in active.records))
        active.wait_for_ticks(2)

    active.live(script)

    assert active.server.capacity == ORIGINALS
    assert originals(tmp_path) == []
    server: Any = SimpleNamespace()
    for state, record in zip(active.states, [None, *active.records], strict=True):
        permit(server, state, record, enable_counters=True)
        restoring = record is not None and record.restore is not None
        assert server.watches_latency is restoring, "it is asked for while it is restored, and only then"
        assert server.claims_writer is server.enables_counters is (state.mode is Mode.ACTIVE)


def test_the_journal_has_every_tick_and_what_was_learned(active: Life, tmp_path: Path) -> None:
    """Nothing is lost on the way to the disk: every tick of the run, in order, and what was learned."""
    active.live(lambda: active.wait_for_ticks(50))

    written = [one for one in trace(tmp_path) if isinstance(one, TickRecord)]
    assert [one.tick.number for one in written] == [one.tick.number for one in active.records]
    assert [one.decision for one in written] == [one.decision for one in active.records]
    assert active.server.identity in learned(tmp_path)


def test_leave_leaves(tmp_path: Path) -> None:
    """With on_stop = leave nothing is written on the way out."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE), on_stop="leave")
    life.live(life.wait_for_write)

    assert life.records[-1].lifecycle is Lifecycle.STOPPING
    assert life.records[-1].decision.steps == ()


def test_a_command_over_the_board_is_answered(active: Life) -> None:
    """Whoever submits a command gets the loop's answer by its number, without waiting for the next second."""
    answers = []

    def script() -> None:
        active.wait_for_write()
        number = active.board.submit(command("pause", number=0, reason="deployment"))
        answers.append(active.board.answer(number, timeout=SOON))
        active.wait_for_ticks(1)

    active.live(script)

    (answer,) = answers
    assert answer is not None
    assert answer.accepted
    assert {hold.code.value for hold in active.records[-1].holds} == {"paused"}


def test_it_waits_for_a_server_that_is_not_there(active: Life, logged: list[Line]) -> None:
    """A server that is down when the daemon starts is waited for, said once, and taken up when it comes."""
    active.server.refuses = "innobrim@127.0.0.1:3306: connection refused"

    def script() -> None:
        deadline = time.monotonic() + SOON
        while not active.board.tally().waiting and time.monotonic() < deadline:
            threading.Event().wait(0.01)  # before its first tick the daemon tells nobody
        active.server.refuses = ""
        active.wait_for_ticks(2)

    active.live(script)

    said = [line for line in logged if line["event"] == "waiting for the server"]
    assert [line["reason"] for line in said] == ["innobrim@127.0.0.1:3306: connection refused"]
    assert active.records


def test_it_can_be_stopped_while_it_waits_for_the_server(active: Life) -> None:
    """SIGTERM ends a daemon that has not reached its server yet, in time as well."""
    active.server.refuses = "connection refused"

    def script() -> None:
        deadline = time.monotonic() + SOON
        while not active.board.tally().waiting and time.monotonic() < deadline:
            threading.Event().wait(0.01)  # before its first tick the daemon tells nobody

    active.live(script)

    assert active.records == []
    assert active.seconds_to_end < STOP_SECONDS
    assert active.server.closed


def test_a_server_that_dies_does_not_end_the_daemon(active: Life) -> None:
    """While the server is away the daemon holds, and goes on when it is back."""

    def script() -> None:
        active.wait_for_write()
        active.server.down = "connection refused"
        active.wait(lambda: any(hold.code.value == "stale" for hold in active.records[-1].holds))
        active.server.down = ""
        active.wait(lambda: any(e.code == "clear_stale" for one in active.records for e in one.events))

    active.live(script)

    missed = [one for one in active.records if isinstance(one.tick.reading, Missed)]
    assert missed
    assert all(one.decision.kind is DecisionKind.KEEP for one in missed)


def test_a_daemon_that_is_killed_loses_little_of_what_it_learned(active: Life, tmp_path: Path) -> None:
    """What was learned, and the state for a replay, are on disk while it lives, not at its end alone."""
    found: list[bytes] = []

    def script() -> None:
        active.wait_for_write()
        active.wait(lambda: bool(learned(tmp_path)))
        found.extend(learned(tmp_path).values())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(daemon, "LEARNED_SECONDS", 0.1)
        active.live(script)

    assert found


def test_a_daemon_that_starts_in_a_window_is_in_it_from_the_first_wait_on(tmp_path: Path) -> None:
    """What was begun before the daemon was started counts from its second tick on, for every later one."""
    life = Life(tmp_path, Settings())
    always = ScheduleTable(name="always", cron="* * * * *", minutes=600, timezone="UTC", set_point=0.5)
    life.config = replace(life.config, schedule=(always,))
    life.live(lambda: life.wait_for_ticks(10))

    assert [bool(one.schedule) for one in life.records[:10]] == [False, *[True] * 9]


def test_a_daemon_carries_nothing_that_it_does_not_need() -> None:
    """It brings in neither numpy nor a web framework, and with its command and API no terminal's library."""
    names = "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    code = f"import sys, tuner.daemon.daemon; {names}; import tuner.cli.run, api.app; {names}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code

    brought, served = map(set, map(str.split, found.stdout.splitlines()))
    assert served.isdisjoint({"rich", "pygments", "markdown_it", "numpy", "docker"})
    assert "apscheduler" in brought
    assert brought.isdisjoint({"numpy", "scipy", "skopt", "sklearn", "fastapi", "docker", "pandas"})
