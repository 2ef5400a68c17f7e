"""A configuration that is read again: what takes effect, and what is refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.bench import FakeServer
from tests.daemon.life import ORIGINALS, Life
from tuner.config.schema import ApiSection, Config, ConfigError, DaemonSection, ScheduleTable
from tuner.daemon.board import Board
from tuner.daemon.daemon import Daemon
from tuner.settings import Mode, Settings
from tuner.system.clock import SystemClock
from tuner.system.systemd import Notifier


@pytest.fixture
def active(tmp_path: Path) -> Life:
    """Return a daemon in active mode that has not begun to live."""
    return Life(tmp_path, Settings(mode=Mode.ACTIVE))


def test_a_reload_changes_only_what_takes_effect(tmp_path: Path) -> None:
    """After SIGHUP the configuration shown is the one in force; each reload names what needs a restart."""
    old = Config(daemon=DaemonSection(state_directory=str(tmp_path)))
    new = Config(
        loop=Settings(dwell_seconds=20.0),
        daemon=DaemonSection(state_directory=str(tmp_path), interval=2.0, on_stop="leave"),
        api=ApiSection(port=9000),
    )
    board = Board()
    daemon = Daemon(old, FakeServer(), SystemClock(), board=board, notifier=Notifier({}), reload=lambda: new)

    with capture_logs() as said:
        daemon._reload()
        daemon._reload()

    assert daemon.config == replace(old, loop=new.loop, daemon=replace(old.daemon, on_stop="leave"))
    assert [line["keys"] for line in said if "keys" in line] == [["daemon.interval", "api.port"]] * 2
    assert [one.settings for one in board.inbox.take()] == [new.loop, new.loop]


class RenewedApi:
    """An HTTP side that only notes that it was told to reload."""

    def __init__(self) -> None:
        self.reloads = 0

    def start(self) -> None:
        """Do nothing."""

    def reload(self) -> None:
        """Note it."""
        self.reloads += 1

    def stop(self, timeout: float) -> bool:
        """Do nothing, in time."""
        return timeout > 0


def test_a_reload_renews_the_certificate_whatever_the_configuration_says(tmp_path: Path) -> None:
    """SIGHUP has the API read its certificate again, with a configuration that is refused too."""
    config = Config(daemon=DaemonSection(state_directory=str(tmp_path)))
    api = RenewedApi()

    def refused() -> Config:
        raise ConfigError(["loop.dwel_seconds is not known"])

    daemon = Daemon(
        config, FakeServer(), SystemClock(), board=Board(), notifier=Notifier({}), reload=refused, api=api
    )
    daemon._reload()

    assert api.reloads == 1
    assert daemon.config == config


def test_rubbish_in_the_configuration_changes_nothing(active: Life) -> None:
    """On SIGHUP a configuration that cannot be used is refused whole with the reason, and life goes on."""

    def script() -> None:
        active.wait_for_ticks(3)
        active.loaded.content = ConfigError(["loop.dwel_seconds is not known; did you mean dwell_seconds?"])
        os.kill(os.getpid(), signal.SIGHUP)
        active.wait(lambda: any("refused" in str(line["event"]) for line in logged))
        active.wait_for_ticks(3)

    with capture_logs() as logged:
        active.live(script)

    (line,) = [line for line in logged if "refused" in str(line["event"])]
    assert "did you mean dwell_seconds" in str(line["reason"])
    assert active.daemon.config == active.config
    assert all(event.code != "settings" for record in active.records for event in record.events)


def test_sighup_brings_new_settings_and_keeps_the_state(active: Life) -> None:
    """After SIGHUP the new settings decide, from where the old ones left off."""

    def script() -> None:
        active.wait_for_write()
        active.loaded.content = replace(active.config, loop=replace(active.config.loop, set_point=0.6))
        os.kill(os.getpid(), signal.SIGHUP)
        active.wait(lambda: active.records[-1].decision.set_point == 0.6)

    active.live(script)

    (event,) = [event for one in active.records for event in one.events if event.code == "settings"]
    assert event.who == "SIGHUP"
    assert "set_point None → 0.6" in event.message
    assert active.records[-1].originals == ORIGINALS
    assert active.daemon.config.loop.set_point == 0.6


def test_sighup_brings_another_schedule(tmp_path: Path) -> None:
    """A window of the new file is active at once, one of the old ends; a wrong file leaves all as it was."""
    always = ScheduleTable(name="always", cron="* * * * *", minutes=600, timezone="UTC", set_point=0.5)
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE))

    def script() -> None:
        life.wait_for_ticks(3)
        life.loaded.content = replace(life.config, schedule=(always,))
        os.kill(os.getpid(), signal.SIGHUP)
        life.wait(lambda: bool(life.records[-1].schedule))
        life.loaded.content = ConfigError(["FILE:schedule[1].cron is missing"])
        os.kill(os.getpid(), signal.SIGHUP)
        life.wait_for_ticks(20)
        life.loaded.content = life.config
        os.kill(os.getpid(), signal.SIGHUP)
        life.wait(lambda: not life.records[-1].schedule)

    life.live(script)

    said = [event.code for record in life.records for event in record.events if "schedule" in event.code]
    assert said == ["schedule_begins", "schedule_ends"]
    inside = [one for one in life.records if one.schedule and one.decision.set_point is not None]
    assert inside[-1].decision.set_point_source == "schedule always"
