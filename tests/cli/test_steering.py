"""The commands that ask and steer a running daemon, against a real unix socket, and those that wait."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from api.models import Status
from api.server import ApiServer
from tests.api.factory import MEBIBYTE, START, AnsweringLoop, answering, application, estimate, record, sample
from tests.cli.support import Run, ended, innobrim
from tuner.cli import waiting
from tuner.cli.main import COMMANDS
from tuner.cli.options import Duration
from tuner.cli.status import rows
from tuner.cli.wording import duration
from tuner.daemon.board import Board
from tuner.records import (
    ENABLE_COUNTERS,
    LONGEST_TTL,
    Capacity,
    DrainProgress,
    Event,
    Hold,
    HoldCode,
    Remedy,
    RestoreProgress,
    TickRecord,
    Window,
)

Play = Callable[..., None]
OVERRIDE = ("override", "--io-capacity-max", "4000", "--ttl")
DRAIN = ("drain", "--to-age", "64MiB", "--wait")
TARGET = 64 * MEBIBYTE
ORIGINALS = Capacity(10_000, 20_000)
ELSEWHERE = sample(50, io_capacity=300, io_capacity_max=600)
"""A reading with another pair than a park of this daemon's leaves."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, say everything, and give up soon."""
    for name, seconds in {"POLL_SECONDS": 0.01, "LINE_SECONDS": 0.0, "WAIT_SECONDS": 2.0}.items():
        monkeypatch.setattr(waiting, name, seconds)


@pytest.fixture
def play(daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return what has these ticks published one after the other, each time that the command waits."""

    def script(*ticks: TickRecord, events: tuple[Event, ...] = ()) -> None:
        left = list(ticks)

        def following(_: float) -> None:
            assert left, "waited on after the last tick"
            daemon.template, daemon._drain = left.pop(0), None
            daemon.publish(events=() if left else events)

        monkeypatch.setattr(waiting, "sleep", following)

    return script


def draining(number: int, age: int, **changes: object) -> TickRecord:
    """Return a tick of a loop that drains, with the age in MiB."""
    drain = DrainProgress(TARGET, 80 * MEBIBYTE, ends=3700.0, who="ann", seconds_left=90.0)
    lsn = 10_000_000_000
    reading = sample(number, lsn_current=lsn, lsn_checkpoint=lsn - age * MEBIBYTE)
    return record(number, reading=reading, drain=replace(drain, **changes))


def published(daemon: AnsweringLoop, **changes: Any) -> None:  # noqa: ANN401 - any field
    """Have the daemon's newest tick be another one."""
    daemon.template = replace(record(50), **changes)
    daemon.publish()


def test_status_shows_the_loop_and_the_daemons_cost(daemon: AnsweringLoop, run: Run) -> None:
    """Status prints mode, decision, C and M, ages, rates, and the daemon's own memory and share of a core."""
    daemon.publish()
    found = json.loads(run("status", "--json").output)

    parts = ("advisory", "no change", "io_capacity_max 450", "set-point 72 %", "MiB resident", "of a core")
    ended(run("status"), 0, *parts)
    assert "degraded" not in run("status").output
    assert (found["source"], found["degraded"]) == ("daemon", False)
    assert found["in_force"] == {"io_capacity": 225, "io_capacity_max": 450}


def test_status_holds_what_is_predicted_against_its_limit(daemon: AnsweringLoop, run: Run) -> None:
    """Each prediction comes with what it may be, and whether it is more, for people and for machines."""
    slow = estimate(
        recovery_seconds=400.0,
        recovery_at_set_point=420.0,
        recovery_at_baseline=350.0,
        shutdown_seconds=11.0,
        shutdown_at_set_point=301.0,
    )
    night = Window("night", 0.0, 1e12, max_recovery_seconds=300.0)
    published(daemon, estimate=slow, schedule=(night,), unkept=("max_recovery_seconds cannot be kept",))
    found = json.loads(run("status", "--json").output)
    recovery, shutdown = found["budgets"]["recovery"], found["budgets"]["shutdown"]

    ended(
        run("status"),
        0,
        "crash recovery 6m 40s now, at most 7m at the set-point, at most 5m 50s with the originals",
        "originals; budget 300 s: EXCEEDED",
        "predicted shutdown 11 s now, at most 5m 1s at the set-point: LONG, and no budget is set",
        "budget max_recovery_seconds cannot be kept",
    )
    assert (recovery["predicted"], recovery["allowed"], recovery["exceeded"]) == (400.0, 300.0, True)
    assert (shutdown["at_set_point"], shutdown["allowed"], shutdown["long"]) == (301.0, None, True)


def test_status_says_that_counters_are_off_and_what_turns_them_on(daemon: AnsweringLoop, run: Run) -> None:
    """Without InnoDB's counters status says what is weaker and which statements end that."""
    daemon.template = record(reading=sample(degraded=True))
    daemon.publish()

    ended(run("status"), 0, "the age shown is the checkpoint age", *ENABLE_COUNTERS)
    assert json.loads(run("status", "--json").output)["degraded"] is True
    shown = msgspec.json.decode(run("status", "--json").output, type=Status)
    assert shown.server is not None
    lacking = replace(shown.server, absent_counters=("log_lsn_current",))
    said = dict(rows(replace(shown, server=lacking)))["degraded"]
    assert "this server has no InnoDB counter log_lsn_current" in said
    assert not any(one in said for one in ENABLE_COUNTERS)


def test_status_says_what_was_forgotten_and_how_a_drain_ended(daemon: AnsweringLoop, run: Run) -> None:
    """Neither vanishes with its tick, and who to ask about a change is said; a new drain ends the latter."""
    daemon.holding = (Hold(HoldCode.FOREIGN_CHANGE, 10.0, "C/M were 1/2 and are 3/4", (Remedy.RESUME,)),)
    lost = Event(code="learned_lost", message="of what was learned: 1 of 3 trials: no list", wall=START)
    daemon.publish(
        events=(lost, Event(code="drain_ended", message="drain to 64 MiB ended: C/M were 1/2", wall=START))
    )

    ended(run("status"), 0, "min ago: of what was learned: 1 of 3 trials: no list")
    ended(run("status"), 0, "s ago: drain to 64 MiB ended: C/M were 1/2", "performance_schema.variables_info")
    run(*DRAIN[:3])
    assert "ended: C/M were 1/2" not in run("status").output


def test_pause_and_resume_show_what_changed(daemon: AnsweringLoop, run: Run) -> None:
    """A change prints the loop's answer and old → new, and says who asked and why."""
    ended(run("pause", "--reason", "backup"), 0, "holds: none → paused")
    ended(run("resume"), 0, "holds: paused → none")
    asked = daemon.commands[0]
    assert (asked.reason, asked.who) == ("backup", f"uid {os.getuid()} over the unix socket")


def test_the_mode_is_changed_by_word(daemon: AnsweringLoop, run: Run) -> None:
    """Active and advisory are a command each way; any other word is exit 2 and asks nothing."""
    codes = [run("mode", word).exit_code for word in ("active", "advisory", "on")]

    assert codes == [0, 0, 2]
    assert [(one.name, one.value) for one in daemon.commands] == [("mode", "active"), ("mode", "advisory")]


def test_override_and_its_end(daemon: AnsweringLoop, run: Run) -> None:
    """An override takes a duration in words, and can be cancelled; its bounds reach the loop."""
    ended(run(*OVERRIDE, "1h30m"), 0, "override: none → 5400 s left")
    assert json.loads(run("override", "--cancel", "--json").output)["command"] == "cancel_override"
    for m in ("100", "4000000000"):
        ended(run("override", "--io-capacity-max", m, "--ttl", f"{LONGEST_TTL}s"), 0)

    ttls = [5400.0, None, LONGEST_TTL, LONGEST_TTL]
    assert [command.ttl for command in daemon.commands] == ttls


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("override",), "say --io-capacity-max N and --ttl TIME, or --cancel"),
        (OVERRIDE[:3], "say --io-capacity-max"),
        (("override", "--ttl", "10m"), "say --io-capacity-max"),
        ((*OVERRIDE, "10m", "--cancel"), "--cancel goes without"),
        ((*OVERRIDE, "0s"), "'0s' must be above 0s and at most 604800s"),
        ((*OVERRIDE, "999h"), "'999h' must be above 0h and at most 168h"),
        ((*OVERRIDE, "600"), "'600' is no duration: write 30s, 10m, 2h, 1d or 1h30m"),
        (("override", "--io-capacity-max", "99"), "'99' must be a whole number from 100 to 4,000,000,000"),
        (("override", "--io-capacity-max", "4000000001"), "a whole number from 100 to 4,000,000,000"),
        (("override", "--io-capacity-max", "4k"), "'4k' must be a whole number from 100"),
        (("drain", "--timeout", "10m"), "--timeout goes with --wait"),
        (("drain", "--to-age", "10%", "--cancel"), "--cancel goes without"),
        (("drain", "--wait", "--cancel"), "--cancel goes without"),
        (("drain", "--to-age", "64MB"), "'64MB' is no age: write bytes, such as 64M or 2G"),
        (("drain", "--to-age", "10%", "--ttl", "8d"), "at most 7d"),
        (("status", "--api-socket", "/run/a.sock", "--url", "http://127.0.0.1:1"), "give one of them"),
        (("status", "--socket", "/run/mysqld/mysqld.sock"), "--api-socket"),
        (("drain", "--socket", "/run/mysqld/mysqld.sock"), "--api-socket"),
    ],
    ids=" ".join,
)
def test_wrong_usage_asks_nothing(daemon: AnsweringLoop, run: Run, words: tuple[str, ...], said: str) -> None:
    """What makes no sense, and what no daemon would take, is exit 2, with what would be right."""
    ended(run(*words), 2, said)
    assert daemon.commands == []


def test_refusal_is_exit_1_with_the_reason(folder: Path, run: Run) -> None:
    """What the loop refuses exits 1 with its reason; with --json as the problem it is."""
    board = Board()
    with answering(board, lambda _: "the mode is advisory, which writes nothing"):
        serving = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
        serving.start()
        plain, machine = run("park"), run("park", "--json")
        serving.stop(timeout=2.0)

    ended(plain, 1, "the mode is advisory")
    assert (machine.exit_code, json.loads(machine.stdout)["status"]) == (1, 409)


def test_help_has_an_example() -> None:
    """Every command's help shows how it is used."""
    for name in COMMANDS:
        ended(innobrim(name, "--help"), 0, f"Example: innobrim {name}")


@pytest.mark.parametrize(
    ("text", "seconds", "said"),
    [
        ("30s", 30, "30 s"),
        ("10m", 600, "10m"),
        ("1h30m", 5400, "1h 30m"),
        ("1.5m", 90, "1m 30s"),
        ("7d", 604_800, "7d"),
    ],
)
def test_durations_are_read_and_said(text: str, seconds: float, said: str) -> None:
    """As people write them, and in the two units that matter."""
    assert (Duration(LONGEST_TTL).convert(text, None, None), duration(seconds)) == (seconds, said)


@pytest.mark.parametrize("name", ["park", "restore"])
@pytest.mark.parametrize("words", [("--port", "1"), ("--host", "db2"), ("--socket", "/run/mysqld.sock")])
def test_another_server_than_the_daemons_is_refused(
    daemon: AnsweringLoop, run: Run, name: str, words: tuple[str, str]
) -> None:
    """A server that is named, and is not the one of the daemon that answers, is exit 2 and asks nothing."""
    said = f"{words[0]} {words[1]} is not the server of the daemon that answers"

    ended(run(name, *words), 2, said)
    assert daemon.commands == []
    ended(run(name, "--host", "127.0.0.1", "--port", "3306"), 0)
    assert [one.name for one in daemon.commands] == [name]


def test_drain_waits_until_the_age_is_down(daemon: AnsweringLoop, run: Run, play: Play) -> None:
    """Lines say where the age is and how long it will take; the end says where it stays, and is exit 0."""
    daemon.template = draining(50, 79, seconds_left=None)
    play(draining(51, 79, seconds_left=None), draining(52, 70), draining(53, 60, reached=152.0))

    ended(
        run(*DRAIN),
        0,
        "uncheckpointed 79 MiB; from 80 MiB down to 64 MiB; not falling yet",
        "uncheckpointed 70 MiB; from 80 MiB down to 64 MiB; about 1m 30s to go",
        "drained: uncheckpointed 60 MiB, kept at or below 64 MiB",
    )
    assert [(one.name, one.value, one.ttl) for one in daemon.commands] == [("drain", "64MiB", 3600.0)]


def test_drain_without_an_age_goes_as_low_as_it_safely_does(
    daemon: AnsweringLoop, run: Run, play: Play
) -> None:
    """The loop is asked for the lowest age, and the end says that it stands as low as it safely goes."""
    daemon.template = draining(50, 79, lowest=True)
    play(draining(51, 70, lowest=True), draining(52, 60, reached=152.0, lowest=True))

    ended(
        run("drain", "--wait"),
        0,
        "from 80 MiB down to 64 MiB, the lowest that is safe; about 1m 30s to go",
        "drained: uncheckpointed 60 MiB, the lowest that is safe, kept at or below 64 MiB",
    )
    assert [(one.name, one.value, one.ttl) for one in daemon.commands] == [("drain", "lowest", 3600.0)]


def test_drain_that_takes_longer_than_it_is_waited_for_is_exit_4(
    daemon: AnsweringLoop, run: Run, play: Play
) -> None:
    """Nobody waits on beyond the time given; the drain goes on, and how to end it is said."""
    daemon.template = draining(50, 79)
    play(*(draining(51 + number, 78) for number in range(200)))

    ended(run(*DRAIN, "--timeout", "0.2s"), 4, "not there after 0.2 s: uncheckpointed 78", "drain --cancel")
    assert [one.name for one in daemon.commands] == ["drain"]


def test_drain_that_is_ended_is_exit_1_with_the_reason(daemon: AnsweringLoop, run: Run, play: Play) -> None:
    """Whoever ended the drain is named."""
    daemon.template = draining(50, 79)
    over = Event(code="drain_ended", message="drain to 64 MiB ended: cancelled by bob", wall=START)
    play(draining(51, 78), record(52), events=(over,))
    result = run(*DRAIN, "--ttl", "30m", "--json")

    ended(result, 1)
    assert json.loads(result.stdout)["detail"] == "drain to 64 MiB ended: cancelled by bob"
    assert daemon.commands[0].ttl == 1800.0


def test_drain_that_is_held_is_exit_1(daemon: AnsweringLoop, run: Run) -> None:
    """A hold that lasts is not waited for; its reason and what ends it are said."""
    hold = Hold(HoldCode.RESIZING, 10.0, "a redo capacity change is under way", (Remedy.RESIZE_DONE,))
    daemon.template, daemon.holding = draining(50, 79), (hold,)

    ended(run(*DRAIN), 1, "a redo capacity change is under way; what ends it: the server, when it is done")


def test_drain_without_wait_and_its_end(daemon: AnsweringLoop, run: Run) -> None:
    """Without --wait the answer is shown at once; --cancel ends it."""
    ended(run("drain", "--to-age", "10%", "--reason", "upgrade"), 0, "drain: none → to 64 MiB")
    ended(run("status"), 0, "uncheckpointed 58.2 MiB; from 80 MiB down to 64 MiB; not falling yet")
    ended(run("drain", "--cancel"), 0, "drain: to 64 MiB → none")
    assert [one.name for one in daemon.commands] == ["drain", "cancel_drain"]
    assert daemon.commands[0].reason == "upgrade"


def test_restore_says_how_far_it_is(daemon: AnsweringLoop, run: Run, play: Play) -> None:
    """With --wait each step is a line: how many were taken, where it is, where it goes, what is left."""
    way = RestoreProgress("ann", step=3, steps_left=5, seconds_left=25.0, latency=0.002, latency_limit=0.005)
    under_way = record(51, reading=sample(51, io_capacity=4000, io_capacity_max=8000), restore=way)
    there = sample(52, io_capacity=10_000, io_capacity_max=20_000)
    daemon.template = under_way
    daemon.publish()
    play(under_way, record(52, reading=there, originals=None, advisory="the originals were restored for ann"))

    step = "in force: io_capacity 4000, io_capacity_max 8000"
    ended(run("status"), 0, step, "writes take 2.0 ms, 5.0 ms allowed")
    result = run("restore", "--wait")
    ended(result, 0, f"{step}; 5 left, 25 s at least")
    assert result.stdout.startswith(
        "restored: io_capacity 10000, io_capacity_max 20000 are in force; "
        "the mode is advisory until innobrim mode active\n"
    )
    ended(
        run("status"),
        0,
        "the originals were restored for ann; to let it write: innobrim mode active",
        "io_capacity 10000, io_capacity_max 20000; not set by InnoBrim",
    )


def test_a_restore_beside_a_pause_says_that_both_are_to_be_ended(
    daemon: AnsweringLoop, run: Run, play: Play
) -> None:
    """Where a pause from before goes on, mode active alone is not enough, and resume is named as well."""
    daemon.holding = (Hold(HoldCode.PAUSED, 10.0, "paused by ann", (Remedy.RESUME,)),)
    published(daemon, originals=ORIGINALS)
    play(record(51, reading=sample(51, io_capacity=10_000, io_capacity_max=20_000), originals=None))

    ended(run("restore", "--wait"), 0, "the mode is advisory until innobrim mode active and innobrim resume")


def test_restore_wait_gives_up_with_the_state(daemon: AnsweringLoop, run: Run) -> None:
    """A restore that does not end in time exits 1 and says what is in force."""
    ended(run("restore", "--wait"), 1, "in force: io_capacity 225, io_capacity_max 450")
    assert daemon.commands[0].name == "restore"


@pytest.mark.parametrize("words", [("park",), ("park", "--wait")])
@pytest.mark.parametrize("why", ["privilege", "write"])
def test_park_that_the_server_refuses_is_exit_1_at_once(
    daemon: AnsweringLoop, run: Run, play: Play, words: tuple[str, ...], why: str
) -> None:
    """An account that may not write, and a write that failed, is said; a failure from before is none."""
    daemon.template = record(50, reading=ELSEWHERE)
    daemon.publish(events=(Event(code="write_failed", message="an old one", wall=START),))
    failed = Event(code="write_failed", message="deadlock (error 1213)", wall=START)
    play(record(51, reading=ELSEWHERE), events=(failed,) if why == "write" else ())
    said = "the write failed: deadlock (error 1213)"
    if why == "privilege":
        said = "the account may not write; what ends it: innobrim resume, after GRANT"
        lost = (Remedy.RESUME_WITH_GRANT,)
        daemon.holding = (Hold(HoldCode.PRIVILEGE_LOST, 10.0, "the account may not write", lost),)

    ended(run(*words), 1, f"not parked, in force: io_capacity 300, io_capacity_max 600: {said}")


def test_park_says_what_it_waits_for_and_whether_it_was_written(
    daemon: AnsweringLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A park in force is told from one that is still to come; with --wait that is waited for."""
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.0)
    ended(
        run("park"),
        0,
        "parked at io_capacity 225, io_capacity_max 450; nothing is written until innobrim resume",
    )
    daemon.template = record(50, reading=ELSEWHERE)
    ended(run("park"), 0, "not in force yet: innobrim status shows it")
    ended(
        run("park", "--wait"), 1, "in force: io_capacity 300, io_capacity_max 600; parking at io_capacity 225"
    )
