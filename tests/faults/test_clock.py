"""The daemon's wall clock jumps, forward and back, and its monotonic clock stands still."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, FIRST_WRITE, FROZEN, START, WANTED, QuickDaemon, Rig
from tests.real.support import in_force, pair, under_load
from tuner.records import DecisionKind

pytestmark = pytest.mark.real

DAY = 86_400.0
QUIET_TICKS = 8
"""Ticks after a jump; more than five seconds, so that a hold would show."""


def jump(daemon: QuickDaemon, offset: Path, seconds: float) -> None:
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
    what="The wall clock jumps a day forward, then back",
    left="the last values for ten seconds, while estimates begin anew",
    back="by itself: no hold, no restart seen, no write forgotten in the hourly budget",
    invariants=(3, 5),
)
def test_the_wall_clock_jumps(rig: Rig, tmp_path: Path) -> None:
    """A wall clock set forward and back is no restart and no silence, and gives the budget nothing back."""
    offset = tmp_path / "offset"
    daemon = rig.daemon().alter("jumping-clock", offset).active()
    jump(daemon, offset, DAY)
    daemon.want(600)
    jump(daemon, offset, -DAY)
    daemon.want(800)
    verdict = rig.finish()
    assert not {"restarted", "hold_stale", "hold_restarted", "other_server"} & set(verdict.events())


@fault(
    Group.CLOCK,
    what="The daemon's clock stops for 30 s, as on a suspended machine",
    left="the last values: no emergency and no park is called",
    back="by itself after ten seconds; event `clock_gap`",
    invariants=(3, 5),
)
def test_the_clock_stands_still(rig: Rig, tmp_path: Path) -> None:
    """The redo of half a minute never counts as that of a second: M stays until there are rates again."""
    still = tmp_path / "still"
    daemon = rig.daemon().alter("standing-clock", still).active()
    still.touch()
    time.sleep(FROZEN)  # the time itself is the fault
    still.unlink()
    daemon.await_event("clock_gap", BACK)
    daemon.await_ticks(QUIET_TICKS)
    assert in_force(rig.server) == daemon.wanted
    daemon.want(600)
    verdict = rig.finish()
    assert verdict.writes(DecisionKind.EMERGENCY) == []


@fault(
    Group.CLOCK,
    what="`kill -9`, then a start with the clock a day off",
    left="the last values",
    back="by itself when started: mysqld's own clock dates its start",
    invariants=(7, 8),
)
def test_the_wall_clock_is_wrong_after_a_restart_of_the_daemon(rig: Rig, tmp_path: Path) -> None:
    """A daemon with a wrong clock knows that the values in force are its own, and which were before."""
    offset = tmp_path / "offset"
    daemon = rig.daemon().alter("jumping-clock", offset).active()
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
