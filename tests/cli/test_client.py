"""The commands that ask and steer a running daemon, against a real unix socket."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from api.server import ApiServer
from api.steer import OverrideBody
from tests.api.factory import AnsweringLoop, answering, application, estimate, record, sample
from tests.cli.support import Run, ended, innobrim
from tuner.cli import steering
from tuner.cli.main import COMMANDS
from tuner.cli.options import Duration
from tuner.cli.wording import duration
from tuner.daemon.board import Board
from tuner.records import ENABLE_COUNTERS, LONGEST_TTL, Window

LOWEST_M, HIGHEST_M = 100, 4_000_000_000
OVERRIDE = ("override", "--io-capacity-max", "4000", "--ttl")


def test_status_shows_the_loop_and_the_daemons_cost(daemon: AnsweringLoop, run: Run) -> None:
    """Status prints mode, decision, C and M, ages, rates, and the daemon's own memory and share of a core."""
    daemon.publish()
    result, found = run("status"), json.loads(run("status", "--json").output)

    assert result.exit_code == 0, result.output
    for part in (
        "advisory",
        "dead_band",
        "C 225, M 450",
        "set-point 0.720",
        "MiB resident",
        "of a core",
    ):
        assert part in result.output
    assert "degraded" not in result.output
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
    unkept = "max_recovery_seconds cannot be kept"
    daemon.template = replace(record(), estimate=slow, schedule=(night,), unkept=(unkept,))
    daemon.publish()
    lines = [" ".join(one.split()) for one in run("status").output.splitlines()]
    found = json.loads(run("status", "--json").output)

    three = "6m 40s now, 7m at the set-point, 5m 50s with the baseline settings"
    assert f"predicted crash recovery {three}; budget 300 s: EXCEEDED" in lines
    assert "predicted shutdown 11 s now, 5m 1s at the set-point: LONG, and no budget is set" in lines
    assert f"budget {unkept}" in lines
    assert found["unkept"] == [unkept]
    recovery, shutdown = found["budgets"]["recovery"], found["budgets"]["shutdown"]
    assert (recovery["predicted"], recovery["allowed"], recovery["exceeded"]) == (400.0, 300.0, True)
    assert (shutdown["at_set_point"], shutdown["allowed"], shutdown["long"]) == (301.0, None, True)


def test_status_says_that_counters_are_off_and_what_turns_them_on(daemon: AnsweringLoop, run: Run) -> None:
    """Without InnoDB's counters status says what is weaker and which statements end that."""
    daemon.template = record(reading=sample(degraded=True))
    daemon.publish()
    (line,) = [line for line in run("status").output.splitlines() if line.startswith("degraded")]

    assert "ages are the checkpoint's" in line
    assert all(statement in line for statement in ENABLE_COUNTERS)
    assert json.loads(run("status", "--json").output)["degraded"] is True


def test_pause_and_resume_show_what_changed(daemon: AnsweringLoop, run: Run) -> None:
    """A change prints the loop's answer and old → new, and says who asked and why."""
    paused, resumed = run("pause", "--reason", "backup"), run("resume")

    assert paused.exit_code == resumed.exit_code == 0
    assert "holds: none → paused" in paused.output
    assert "holds: paused → none" in resumed.output
    assert daemon.commands[0].reason == "backup"
    assert daemon.commands[0].who == f"uid {os.getuid()} over the unix socket"


def test_the_mode_is_changed_by_word(daemon: AnsweringLoop, run: Run) -> None:
    """Active and advisory are a command each way; any other word is exit 2 and asks nothing."""
    codes = [run("mode", word).exit_code for word in ("active", "advisory", "on")]

    assert codes == [0, 0, 2]
    assert [(one.name, one.value) for one in daemon.commands] == [("mode", "active"), ("mode", "advisory")]


def test_override_and_its_end(daemon: AnsweringLoop, run: Run) -> None:
    """An override takes a duration in words, and can be cancelled."""
    made, over = run(*OVERRIDE, "1h30m"), run("override", "--cancel", "--json")

    ended(made, 0, "override: none → 5400 s left")
    assert json.loads(over.output)["command"] == "cancel_override"
    assert [command.ttl for command in daemon.commands] == [5400.0, None]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say --io-capacity-max N and --ttl TIME, or --cancel"),
        (OVERRIDE[1:3], "say --io-capacity-max"),
        (("--ttl", "10m"), "say --io-capacity-max"),
        ((*OVERRIDE[1:], "10m", "--cancel"), "--cancel goes without"),
        ((*OVERRIDE[1:], "0s"), "'0s' must be above 0s and at most 604800s"),
        ((*OVERRIDE[1:], "999h"), "'999h' must be above 0h and at most 168h"),
        ((*OVERRIDE[1:], "7d1s"), "'7d1s' must be above 0d and at most 7d"),
        ((*OVERRIDE[1:], "600"), "'600' is no duration: write 30s, 10m, 2h, 1d or 1h30m"),
        (
            ("--io-capacity-max", "99", "--ttl", "10m"),
            "'99' must be a whole number from 100 to 4,000,000,000",
        ),
        (("--io-capacity-max", "4000000001", "--ttl", "10m"), "a whole number from 100 to 4,000,000,000"),
        (("--io-capacity-max", "4k", "--ttl", "10m"), "'4k' must be a whole number from 100"),
    ],
)
def test_an_override_is_bounded_before_a_daemon_is_asked(
    daemon: AnsweringLoop, run: Run, words: tuple[str, ...], said: str
) -> None:
    """What makes no sense, and what no daemon would take, is exit 2, with the bound in the unit typed."""
    result = run("override", *words)

    assert (result.exit_code, daemon.commands) == (2, [])
    assert said in " ".join(result.output.split())


def test_an_override_at_its_bounds_reaches_the_loop(daemon: AnsweringLoop, run: Run) -> None:
    """What the command line lets through the daemon takes as well, and beyond it there is nothing."""
    for m in (LOWEST_M, HIGHEST_M):
        result = run("override", "--io-capacity-max", str(m), "--ttl", f"{LONGEST_TTL}s")
        assert result.exit_code == 0, result.output

    assert [command.value for command in daemon.commands] == [LOWEST_M, HIGHEST_M]
    bounds = {"io_capacity_max": (LOWEST_M - 1, HIGHEST_M + 1), "ttl": (0, LONGEST_TTL + 1)}
    for name, values in bounds.items():
        for value in values:
            with pytest.raises(msgspec.ValidationError, match=name):
                msgspec.convert({"io_capacity_max": 4000, "ttl": 60.0, name: value}, OverrideBody)


@pytest.mark.parametrize("name", ["status", "pause", "resume", "override", "drain"])
def test_only_mysqlds_socket_is_called_socket(run: Run, name: str) -> None:
    """A command that does not reach mysqld takes no --socket, so that none is taken for the other."""
    ended(run(name, "--socket", "/run/mysqld/mysqld.sock"), 2, "--api-socket")


def test_one_daemon_is_named_once(run: Run) -> None:
    """A unix socket and a URL together are a wrong usage, and not a daemon that cannot be reached."""
    assert run("status", "--api-socket", "/run/a.sock", "--url", "http://127.0.0.1:1").exit_code == 2


def test_refusal_is_exit_1_with_the_reason(folder: Path, run: Run) -> None:
    """What the loop refuses exits 1 with its reason; with --json as the problem it is."""
    board = Board()
    with answering(board, lambda _: "the mode is advisory, which writes nothing"):
        serving = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
        serving.start()
        plain, machine = run("park"), run("park", "--json")
        serving.stop(timeout=2.0)

    assert plain.exit_code == machine.exit_code == 1
    assert "the mode is advisory" in plain.output
    assert json.loads(machine.stdout)["status"] == 409


def test_restore_wait_gives_up_with_the_state(
    daemon: AnsweringLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that does not end in time exits 1 and says what is in force."""
    monkeypatch.setattr(steering, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(steering, "POLL_SECONDS", 0.01)
    ended(run("restore", "--wait"), 1, "in force: C 225, M 450")
    assert daemon.commands[0].name == "restore"


def test_help_has_an_example() -> None:
    """Every command's help shows how it is used."""
    for name in COMMANDS:
        result = innobrim(name, "--help")

        assert result.exit_code == 0
        assert f"Example: innobrim {name}" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("10m", 600), ("1h30m", 5400), ("1.5m", 90), ("7d", 604_800)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    """Durations are written as people write them."""
    assert Duration(LONGEST_TTL).convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0.4 s"), (12, "12 s"), (600, "10m"), (5400, "1h 30m"), (90_000, "1d 1h")]
)
def test_durations_are_said(seconds: float, text: str) -> None:
    """Durations are shown in the two units that matter."""
    assert duration(seconds) == text


@pytest.mark.parametrize("name", ["park", "restore"])
@pytest.mark.parametrize("words", [("--port", "1"), ("--host", "db2"), ("--socket", "/run/mysqld.sock")])
def test_another_server_than_the_daemons_is_refused(
    daemon: AnsweringLoop, run: Run, name: str, words: tuple[str, str]
) -> None:
    """A server that is named, and is not the one of the daemon that answers, is exit 2 and asks nothing."""
    result = run(name, *words)

    assert (result.exit_code, daemon.commands) == (2, [])
    assert f"{words[0]} {words[1]} is not the server of the daemon that answers" in result.output
    own = run(name, "--host", "127.0.0.1", "--port", "3306")
    assert own.exit_code == 0, own.output
    assert [one.name for one in daemon.commands] == [name]
