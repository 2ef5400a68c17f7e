"""Commands that wait: a line whenever they got further, and an end with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.api.factory import MEBIBYTE, START, AnsweringLoop, record, sample
from tests.cli.support import Run, ended
from tuner.cli import steering
from tuner.records import Capacity, DrainProgress, Event, Hold, HoldCode, Remedy, RestoreProgress, TickRecord

Play = Callable[..., None]

TARGET = 64 * MEBIBYTE


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, and say everything."""
    monkeypatch.setattr(steering, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(steering, "LINE_SECONDS", 0.0)


def draining(number: int, age: int, **changes: object) -> TickRecord:
    """Return a tick of a loop that drains."""
    drain = DrainProgress(
        target=TARGET, start_age=80 * MEBIBYTE, ends=100.0 + 3600.0, who="ann", seconds_left=90.0
    )
    lsn = 10_000_000_000
    reading = sample(number, lsn_current=lsn, lsn_checkpoint=lsn - age)
    return record(number, reading=reading, drain=replace(drain, **changes))


@pytest.fixture
def play(daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return what has these ticks published one after the other, each time that the command waits."""

    def script(*ticks: TickRecord, events: tuple[Event, ...] = ()) -> None:
        left = list(ticks)

        def following(_: float) -> None:
            assert left, "waited on after the last tick"
            daemon.template, daemon._drain = left.pop(0), None
            daemon.publish(events=() if left else events)

        monkeypatch.setattr(steering, "sleep", following)

    return script


def test_drain_waits_until_the_age_is_down(daemon: AnsweringLoop, run: Run, play: Play) -> None:
    """Lines say where the age is and how long it will take; the end says where it stays, and is exit 0."""
    daemon.template = draining(50, 79 * MEBIBYTE, seconds_left=None)
    play(
        draining(51, 79 * MEBIBYTE, seconds_left=None),
        draining(52, 70 * MEBIBYTE),
        draining(53, 60 * MEBIBYTE, reached=152.0),
    )

    result = run("drain", "--to-age", "64MiB", "--wait")

    assert result.exit_code == 0, result.output
    assert "checkpoint age 79.0 MiB, from 80.0 MiB down to 64.0 MiB; not falling yet" in result.stderr
    assert "checkpoint age 70.0 MiB, from 80.0 MiB down to 64.0 MiB; about 1m 30s to go" in result.stderr
    assert "drained: checkpoint age 60.0 MiB, kept at or below 64.0 MiB" in result.stdout
    assert [(one.name, one.value, one.ttl) for one in daemon.commands] == [("drain", "64MiB", 3600.0)]


def test_drain_that_is_ended_is_exit_1_with_the_reason(daemon: AnsweringLoop, run: Run, play: Play) -> None:
    """Whoever ended the drain is named."""
    daemon.template = draining(50, 79 * MEBIBYTE)
    over = Event("drain_ended", "drain to 64.0 MiB ended: cancelled by bob", wall=START)
    play(draining(51, 78 * MEBIBYTE), record(52), events=(over,))

    result = run("drain", "--to-age", "64MiB", "--ttl", "30m", "--wait", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["detail"] == "drain to 64.0 MiB ended: cancelled by bob"
    assert daemon.commands[0].ttl == 1800.0


def test_drain_that_is_held_is_exit_1(daemon: AnsweringLoop, run: Run) -> None:
    """A hold that lasts is not waited for; its reason and what ends it are said."""
    hold = Hold(HoldCode.RESIZING, 10.0, "a redo capacity change is under way", (Remedy.RESIZE_DONE,))
    daemon.template = draining(50, 79 * MEBIBYTE)
    daemon.holding = (hold,)

    ended(
        run("drain", "--to-age", "64MiB", "--wait"),
        1,
        "a redo capacity change is under way; ended by the server, when it is done",
    )


def test_drain_without_wait_and_its_end(daemon: AnsweringLoop, run: Run) -> None:
    """Without --wait the answer is shown at once; --cancel ends it."""
    begun = run("drain", "--to-age", "10%", "--reason", "upgrade")
    shown = run("status")
    over = run("drain", "--cancel")

    assert begun.exit_code == shown.exit_code == over.exit_code == 0, begun.output
    assert "drain: none → to 64.0 MiB" in begun.output
    assert "checkpoint age 58.2 MiB, from 80.0 MiB down to 64.0 MiB; not falling yet" in shown.output
    assert "drain: to 64.0 MiB → none" in over.output
    assert [one.name for one in daemon.commands] == ["drain", "cancel_drain"]
    assert daemon.commands[0].reason == "upgrade"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say --to-age AGE, or --cancel"),
        (("--to-age", "10%", "--cancel"), "--cancel goes without"),
        (("--wait", "--cancel"), "--cancel goes without"),
        (("--to-age", "64MB"), "'64MB' is no age: write bytes, such as 64MiB or 2G"),
        (("--to-age", "10%", "--ttl", "8d"), "at most 7d"),
    ],
)
def test_wrong_usage_asks_nothing(daemon: AnsweringLoop, run: Run, words: tuple[str, ...], said: str) -> None:
    """A drain that makes no sense is exit 2, with what would be right."""
    ended(run("drain", *words), 2, said)
    assert daemon.commands == []


def test_restore_says_how_far_it_is(daemon: AnsweringLoop, run: Run, play: Play) -> None:
    """With --wait each step is a line: how many were taken, where it is, where it goes, what is left."""
    way = RestoreProgress("ann", step=3, steps_left=5, seconds_left=25.0, latency=0.002, latency_limit=0.005)
    reading = sample(51, io_capacity=4000, io_capacity_max=8000)
    originals = Capacity(10_000, 20_000)
    under_way = record(51, reading=reading, originals=originals, restore=way)
    there = sample(52, io_capacity=10_000, io_capacity_max=20_000)
    daemon.template = under_way
    daemon.publish()
    play(under_way, record(52, reading=there, originals=None, advisory="the originals were restored for ann"))

    status = run("status")
    result = run("restore", "--wait")
    after = run("status").output

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "restored: 10000/20000 is in force; advisory now, until innobrim mode active\n"
    )
    assert "the originals were restored for ann; innobrim mode active lets the daemon write" in after
    assert "C 10000, M 20000; the server's own, not InnoBrim's" in after
    assert "step 3, at 4000/8000 of 10000/20000; 5 left, 25 s at least" in result.stderr
    assert "step 3, at 4000/8000 of 10000/20000" in status.output
    assert "writes take 2.0 ms, 5.0 ms allowed" in status.output


def test_park_says_what_it_waits_for(
    daemon: AnsweringLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --wait park says what is in force and what is to be."""
    monkeypatch.setattr(steering, "WAIT_SECONDS", 0.05)
    daemon.template = record(50, reading=sample(50, io_capacity=300, io_capacity_max=600))

    ended(run("park", "--wait"), 1, "in force C 300, M 600; parking at C 225, M 450")


@pytest.mark.parametrize("words", [("park",), ("park", "--wait")])
@pytest.mark.parametrize("why", ["privilege", "write"])
def test_park_that_the_server_refuses_is_exit_1_at_once(
    daemon: AnsweringLoop, run: Run, play: Play, words: tuple[str, ...], why: str
) -> None:
    """An account that may not write, and a write that failed, is said; a failure from before is none."""
    before = sample(50, io_capacity=300, io_capacity_max=600)
    daemon.template = record(50, reading=before)
    daemon.publish(events=(Event("write_failed", "an old one", wall=START),))
    said = "the write failed: deadlock (error 1213)"
    if why == "write":
        play(record(51, reading=before), events=(Event("write_failed", "deadlock (error 1213)", wall=START),))
    else:
        play(record(51, reading=before))
        said = "the account may not write; ended by innobrim resume, after GRANT"
        lost = (Remedy.RESUME_WITH_GRANT,)
        daemon.holding = (Hold(HoldCode.PRIVILEGE_LOST, 10.0, "the account may not write", lost),)
    ended(run(*words), 1, f"not parked, in force: C 300, M 600: {said}")


def test_park_says_whether_it_was_written(
    daemon: AnsweringLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --wait a park in force is told from one that is still to come."""
    monkeypatch.setattr(steering, "RECEIPT_SECONDS", 0.0)
    parked = run("park")
    daemon.template = record(50, reading=sample(50, io_capacity=300, io_capacity_max=600))
    under_way = run("park")

    assert parked.exit_code == under_way.exit_code == 0
    assert parked.output.startswith("parked at 225/450; hands off until resumed")
    assert "not in force yet: innobrim status shows io_capacity" in under_way.output


def test_a_restore_beside_a_pause_says_that_both_are_to_be_ended(
    daemon: AnsweringLoop, run: Run, play: Play
) -> None:
    """Where a pause from before goes on, mode active alone is not enough, and resume is named as well."""
    pause = Hold(HoldCode.PAUSED, 10.0, "paused by ann", (Remedy.RESUME,))
    daemon.holding = (pause,)
    originals = Capacity(10_000, 20_000)
    daemon.template = record(50, originals=originals)
    daemon.publish()
    play(record(51, reading=sample(51, io_capacity=10_000, io_capacity_max=20_000), originals=None))

    result = run("restore", "--wait")

    assert result.stdout.startswith(
        "restored: 10000/20000 is in force; advisory now, until innobrim mode active and innobrim resume\n"
    )


def test_status_says_what_was_forgotten(daemon: AnsweringLoop, run: Run) -> None:
    """Who looks within a day of an upgrade sees which parts of what was learned begin afresh, and why."""
    daemon.publish(events=(Event("learned_lost", "of what was learned: 1 of 3 trials: no list", wall=START),))

    assert "min ago: of what was learned: 1 of 3 trials: no list" in run("status").output


def test_status_says_how_a_drain_ended(daemon: AnsweringLoop, run: Run) -> None:
    """A drain that is over does not vanish: for an hour status says why, and who to ask about a change."""
    daemon.holding = (Hold(HoldCode.FOREIGN_CHANGE, 10.0, "C/M were 1/2 and are 3/4", (Remedy.RESUME,)),)
    daemon.publish(events=(Event("drain_ended", "drain to 64.0 MiB ended: C/M were 1/2", wall=START),))

    said = run("status").output

    assert "s ago: drain to 64.0 MiB ended: C/M were 1/2" in said
    assert "FROM performance_schema.variables_info" in said
    run("drain", "--to-age", "64MiB")
    assert "ended: C/M were 1/2" not in run("status").output
