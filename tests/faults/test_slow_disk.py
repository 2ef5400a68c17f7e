"""The journal's disk hangs at every commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import FIRST_WRITE, LATEST_TICK, START, Rig
from tests.real.support import pair

pytestmark = pytest.mark.real

SYNC_SECONDS = 10.0


@fault(
    Group.JOURNAL,
    what="The journal's disk takes 10 s for each fsync, and the daemon is killed and started on it",
    left="what the loop writes, once a second; parked within two seconds of a SIGTERM",
    back="it was never away; a daemon that starts knows originals and pauses from before at once",
    invariants=(7, 8, 9),
)
def test_the_journals_disk_takes_ten_seconds_a_sync(rig: Rig, tmp_path: Path) -> None:
    """A disk that hangs delays neither tick nor write nor end, and makes no daemon forget the originals."""
    delay = tmp_path / "delay"
    daemon = rig.daemon().alter("slow-disk", delay).active()
    delay.write_text(str(SYNC_SECONDS), encoding="ascii")
    before = daemon.await_ticks(1)
    daemon.want(600)
    after = daemon.await_ticks(round(SYNC_SECONDS))
    assert after["at"] - before["at"] <= LATEST_TICK * (after["tick"] - before["tick"])
    daemon.kill()
    daemon.start()
    now = daemon.await_status(lambda now: now["tick"] > 0, FIRST_WRITE, "a tick of the next daemon")
    assert pair(now["originals"]) == START
    rig.finish()
