"""The daemon's wall clock jumps, forward and back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import FIRST_WRITE, START, WANTED, Daemon, Rig
from tests.real.support import in_force, pair, under_load

pytestmark = pytest.mark.real

JUMPING_CLOCK = str(Path(__file__).with_name("jumping_clock.py"))
DAY = 86_400.0
QUIET_TICKS = 8
"""Ticks after a jump; more than ``stale_seconds``, so that a hold would show."""


def jump(daemon: Daemon, offset: Path, seconds: float) -> None:
    """Set the daemon's clock off by so many seconds, and see that the loop makes nothing of it."""
    before = daemon.await_ticks(1)
    offset.write_text(str(seconds), encoding="ascii")
    after = daemon.await_ticks(QUIET_TICKS)
    assert after["holds"] == []
    assert after["changes_last_hour"] == before["changes_last_hour"]
    assert after["originals"] == before["originals"]
    assert abs(after["at"] - before["at"]) > DAY / 2, "the clock did not jump"
    assert 0 <= after["seconds_old"] < QUIET_TICKS


@fault(
    Group.CLOCK,
    what="The daemon's wall clock jumps a day forward, then a day back behind the right time",
    left="what the loop writes: it lives on the monotonic clock",
    back="it was never away: no hold, no restart seen, no write forgotten in the hourly budget",
    invariants=(3, 5),
)
def test_the_wall_clock_jumps(rig: Rig, tmp_path: Path) -> None:
    """A wall clock set forward and back is no restart and no silence, and gives the budget nothing back."""
    offset = tmp_path / "offset"
    daemon = rig.daemon()
    daemon.program = (sys.executable, "-P", JUMPING_CLOCK, str(offset))
    daemon.active()
    jump(daemon, offset, DAY)
    daemon.want(600)
    jump(daemon, offset, -DAY)
    daemon.want(800)
    verdict = rig.finish()
    assert not {"restarted", "hold_stale", "hold_restarted", "other_server"} & set(verdict.events())


@fault(
    Group.CLOCK,
    what="`kill -9` of the daemon, whose clock is a day off when it is started again",
    left="what the daemon before wrote",
    back="by itself, with the originals from the journal: mysqld's start is dated by mysqld's own clock",
    invariants=(7, 8),
)
def test_the_wall_clock_is_wrong_after_a_restart_of_the_daemon(rig: Rig, tmp_path: Path) -> None:
    """A daemon with a wrong clock knows that the values in force are its own, and which were before."""
    offset = tmp_path / "offset"
    daemon = rig.daemon()
    daemon.program = (sys.executable, "-P", JUMPING_CLOCK, str(offset))
    daemon.active()
    daemon.kill()
    under_load(rig.server, rig.work, WANTED)
    offset.write_text(str(DAY), encoding="ascii")
    daemon.start()
    now = daemon.await_status(lambda now: now["tick"] > 0, FIRST_WRITE, "a tick of the next daemon")
    assert pair(now["originals"]) == START
    daemon.want(600)
    rig.finish()
    done = daemon.command("restore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_force(rig.server) == START
