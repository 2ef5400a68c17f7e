"""The daemon around the loop: signals, reloads, and what is on disk when."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.bench import FakeServer
from tests.daemon.life import ORIGINALS, SOON, Life, after, modes, told
from tests.factory import LOADED, command
from tuner.cli.run import permit
from tuner.config.schema import ApiSection, Config, ConfigError, DaemonSection, ScheduleTable
from tuner.daemon import daemon
from tuner.daemon.board import Board
from tuner.daemon.daemon import Daemon
from tuner.journal.reader import learned, originals, runs, trace
from tuner.records import Capacity, DecisionKind, Lifecycle, Missed, TickRecord
from tuner.settings import Mode, Settings
from tuner.system.clock import SystemClock
from tuner.system.systemd import Notifier

STOP_SECONDS = 2.0
ALWAYS = ScheduleTable(name="always", cron="* * * * *", minutes=600, timezone="UTC", set_point=0.5)

Line = MutableMapping[str, Any]


def test_sigterm_parks_and_ends_within_two_seconds(active: Life, tmp_path: Path) -> None:
    """Told to stop, the daemon leaves a parked setting and is gone in time; the journal has every tick."""
    active.through(50, lambda: active.server.capacity.io_capacity_max < LOADED)

    assert active.seconds_to_end < STOP_SECONDS
    assert active.server.closed
    last = active.records[-1]
    assert last.lifecycle is Lifecycle.STOPPING
    assert last.decision.kind is DecisionKind.PARK
    assert active.server.capacity == last.decision.target
    written = [one for one in trace(tmp_path) if isinstance(one, TickRecord)]
    assert [one.tick.number for one in written] == [one.tick.number for one in active.records]
    assert [one.decision for one in written] == [one.decision for one in active.records]
    assert active.server.identity in learned(tmp_path)


def test_advisory_writes_nothing_to_the_end(tmp_path: Path) -> None:
    """A daemon in advisory mode leaves the server as it found it, and takes no originals."""
    life = Life(tmp_path, Settings()).through(30)

    assert life.server.applied == []
    assert life.server.capacity == ORIGINALS
    assert originals(tmp_path) == []
    assert {state.mode for state in life.states} == {Mode.ADVISORY}


def test_originals_are_on_disk_before_the_first_write(active: Life, tmp_path: Path) -> None:
    """Whoever reads the journal at the moment of the first write finds what the server was set to before."""
    found: list[list[Capacity]] = []
    active.server.before_write = lambda: found.append([one.capacity for one in originals(tmp_path)])
    active.through("write")

    assert found[0] == [ORIGINALS]
    assert [one.identity for one in originals(tmp_path)] == [active.server.identity]


def test_a_daemon_that_comes_back_knows_the_originals(active: Life, tmp_path: Path) -> None:
    """After the end of one daemon the next one beside the same server knows what was there before both."""
    active.through("write")
    left = active.server.capacity
    again = after(active).through(3)

    assert left != ORIGINALS
    assert again.records[0].originals == ORIGINALS
    assert [one.capacity for one in originals(tmp_path)] == [ORIGINALS]
    assert len(runs(tmp_path)) == 2


def test_a_pause_is_still_one_after_a_restart_of_the_service(active: Life) -> None:
    """The next daemon on the same state directory begins paused, and writes nothing."""
    active.through("write", command("pause", reason="restoring a backup"), 3)
    again = after(active).through(40)

    assert again.server.applied == []
    assert "paused" in [hold.code.value for hold in again.records[2].holds]


def test_a_server_that_was_given_back_has_no_originals_any_more(active: Life, tmp_path: Path) -> None:
    """After a restore the next daemon takes what it finds then: a pair from before would be an old one."""
    active.through(
        "write",
        command("restore"),
        lambda: any(one.decision.reason == "restored" for one in active.records),
        2,
    )

    assert active.server.capacity == ORIGINALS
    assert originals(tmp_path) == []
    server: Any = SimpleNamespace()
    for state, record in zip(active.states, [None, *active.records], strict=True):
        permit(server, state, record, enable_counters=True)
        restoring = record is not None and record.restore is not None
        assert server.watches_latency is restoring, "it is asked for while it is restored, and only then"
        assert server.claims_writer is server.enables_counters is (state.mode is Mode.ACTIVE)
        managed = replace(state, facts=replace(state.facts, managed="Amazon RDS"))
        permit(server, managed, record, enable_counters=True)
        assert not server.enables_counters, "no account may there, and a refusal would cost a reading"


def test_leave_leaves(tmp_path: Path) -> None:
    """With on_stop = leave nothing is written on the way out."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE), on_stop="leave").through("write")

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


@pytest.mark.parametrize("comes", [True, False])
def test_it_waits_for_a_server_that_is_not_there(active: Life, logged: list[Line], *, comes: bool) -> None:
    """A server that is down at the start is waited for, said once, and taken up; or SIGTERM ends the wait."""
    active.server.refuses = "innobrim@127.0.0.1:3306: connection refused"

    def script() -> None:
        active.look_until(lambda: bool(active.board.tally().waiting))
        if comes:
            active.server.refuses = ""
            active.wait_for_ticks(2)

    active.live(script)

    said = [line["reason"] for line in logged if line["event"] == "waiting for the server"]
    assert said == ["innobrim@127.0.0.1:3306: connection refused"]
    assert bool(active.records) is comes
    assert active.seconds_to_end < STOP_SECONDS
    assert active.server.closed


def test_a_server_that_dies_does_not_end_the_daemon(active: Life) -> None:
    """While the server is away the daemon holds, and goes on when it is back."""

    def script() -> None:
        active.wait_for_write()
        active.server.down = "connection refused"
        active.wait(lambda: any(hold.code.value == "stale" for hold in active.records[-1].holds))
        active.server.down = ""
        active.wait(lambda: told(active, "clear_stale"))

    active.live(script)

    missed = [one for one in active.records if isinstance(one.tick.reading, Missed)]
    assert missed
    assert all(one.decision.kind is DecisionKind.KEEP for one in missed)


def test_a_daemon_that_is_killed_loses_little_of_what_it_learned(
    active: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned is on disk while it lives, not at its end alone."""
    monkeypatch.setattr(daemon, "LEARNED_SECONDS", 0.1)
    active.through("write", lambda: learned(tmp_path))


def test_a_daemon_that_starts_in_a_window_is_in_it_from_the_first_wait_on(tmp_path: Path) -> None:
    """What was begun before the daemon was started counts from its second tick on, for every later one."""
    life = Life(tmp_path, Settings())
    life.config = replace(life.config, schedule=(ALWAYS,))
    life.through(10)

    assert [bool(one.schedule) for one in life.records[:10]] == [False, *[True] * 9]


def test_a_daemon_carries_nothing_that_it_does_not_need() -> None:
    """It brings in no numpy, web framework or provider's SDK, and with its command no terminal's library."""
    names = "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    code = f"import sys, tuner.daemon.daemon; {names}; import tuner.cli.run, api.app; {names}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code

    brought, served = map(set, map(str.split, found.stdout.splitlines()))
    assert served.isdisjoint({"rich", "pygments", "markdown_it", "numpy", "docker"})
    assert "pymysql" in brought
    assert brought.isdisjoint(
        {
            "apscheduler",
            "boto3",
            "botocore",
            "azure",
            "googleapiclient",
            "numpy",
            "scipy",
            "skopt",
            "sklearn",
            "fastapi",
            "docker",
            "pandas",
        }
    )


def test_an_api_holds_no_models_that_nobody_asked_for(tmp_path: Path) -> None:
    """What FastAPI has for OpenAPI documents and for pydantic 1 is not in memory before somebody needs it."""
    code = (
        "import sys; from tuner.cli import run; from tuner.config import schema\n"
        f"config = schema.Config(daemon=schema.DaemonSection(state_directory={str(tmp_path)!r}))\n"
        "run.make_api(config, run.Board(watched=True), configuration=lambda: config)\n"
        "from fastapi.openapi.models import OpenAPI\n"
        "print('pydantic.v1' in sys.modules, OpenAPI.__pydantic_complete__)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code

    assert found.stdout.split() == ["False", "False"]


class RenewedApi:
    """An HTTP side that only notes that it was told to reload."""

    reloads = 0

    def start(self) -> None:
        """Do nothing."""

    def reload(self) -> None:
        """Note it."""
        self.reloads += 1

    def stop(self, timeout: float) -> bool:
        """Do nothing, in time."""
        return timeout > 0


def test_a_reload_changes_only_what_takes_effect(tmp_path: Path) -> None:
    """After SIGHUP the configuration shown is the one in force; each reload names what needs a restart."""
    old = Config(daemon=DaemonSection(state_directory=str(tmp_path)))
    new = Config(
        loop=Settings(dwell_seconds=20.0),
        daemon=DaemonSection(state_directory=str(tmp_path), interval=2.0, on_stop="leave"),
        api=ApiSection(port=9000),
    )
    board = Board()
    made = Daemon(old, FakeServer(), SystemClock(), board=board, notifier=Notifier({}), reload=lambda: new)

    with capture_logs() as said:
        made._reload()
        made._reload()

    assert made.config == replace(old, loop=new.loop, daemon=replace(old.daemon, on_stop="leave"))
    assert [line["keys"] for line in said if "keys" in line] == [["daemon.interval", "api.port"]] * 2
    assert [one.settings for one in board.commands.take()] == [new.loop, new.loop]


def refused(logged: Sequence[Line]) -> list[Line]:
    """Return what was said of a configuration that was refused."""
    return [line for line in logged if "refused" in str(line["event"])]


def test_rubbish_in_the_configuration_changes_nothing(active: Life) -> None:
    """On SIGHUP a configuration that cannot be used is refused whole with the reason, and life goes on.

    The API reads its certificate again all the same.
    """
    api = RenewedApi()
    with capture_logs() as logged:
        active.loaded.content = ConfigError(["loop.dwel_seconds is not known; did you mean dwell_seconds?"])
        active.through(3, "SIGHUP", lambda: refused(logged), 3, api=api)

    (line,) = refused(logged)
    assert "did you mean dwell_seconds" in str(line["reason"])
    assert active.daemon.config == active.config
    assert told(active, "settings") == []
    assert api.reloads == 1


def test_sighup_brings_new_settings_and_keeps_the_state(active: Life) -> None:
    """After SIGHUP the new settings decide, from where the old ones left off."""
    active.loaded.content = replace(active.config, loop=replace(active.config.loop, set_point=0.6))
    active.through("write", "SIGHUP", lambda: active.records[-1].decision.set_point == 0.6)

    (event,) = told(active, "settings")
    assert event.who == "SIGHUP"
    assert "set_point None → 0.6" in event.message
    assert active.records[-1].originals == ORIGINALS
    assert active.daemon.config.loop.set_point == 0.6
    assert modes(active) == {Mode.ACTIVE}


def test_sighup_brings_another_schedule(active: Life) -> None:
    """A window of the new file is active at once, one of the old ends; a wrong file leaves all as it was."""

    def script() -> None:
        active.wait_for_ticks(3)
        for content, done in (
            (replace(active.config, schedule=(ALWAYS,)), lambda: active.records[-1].schedule),
            (ConfigError(["FILE:schedule[1].cron is missing"]), None),
            (active.config, lambda: not active.records[-1].schedule),
        ):
            active.loaded.content = content
            active.signal("SIGHUP")
            active.wait(done) if done else active.wait_for_ticks(20)

    active.live(script)

    said = [event.code for record in active.records for event in record.events if "schedule" in event.code]
    assert said == ["schedule_begins", "schedule_ends"]
    inside = [one for one in active.records if one.schedule and one.decision.set_point is not None]
    assert inside[-1].decision.set_point_source == "schedule always"
