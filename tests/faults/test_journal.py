"""The journal's disk is full, read-only or gone; the journal itself is damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lab.bench.daemon import PROGRAM
from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, FIRST_WRITE, LATEST_TICK, START, WANTED, QuickDaemon, Rig
from tests.faults.small_disk import SmallDisk
from tests.faults.witness import Witness
from tests.real.fixtures import missing
from tests.real.support import in_force, pair, under_load, until
from tuner.journal.reader import originals
from tuner.journal.tables import FILE_NAME

pytestmark = pytest.mark.real

SYNC_SECONDS = 10.0
SAID = 20.0
"""Seconds until the log tells of a journal's trouble; a commit comes every five."""


def await_trouble(daemon: QuickDaemon) -> None:
    """Return once the log says that the journal cannot be written."""
    until(lambda: "cannot be written" in daemon.log(), SAID, daemon.log)


def await_written(daemon: QuickDaemon) -> None:
    """Return once the log says that the journal is written again, and that no tick was lost."""
    until(lambda: "written again; nothing was lost" in daemon.log(), SAID, daemon.log)


def kept(daemon: QuickDaemon) -> list[object]:
    """Return the originals on disk."""
    return [one.capacity for one in originals(daemon.state)]


@fault(
    Group.JOURNAL,
    what="Disk full at the start",
    left="untouched: the originals are not on disk yet",
    back="by itself once there is room; until then `originals_pending`",
    invariants=(7,),
)
def test_the_journals_disk_is_full_at_the_start(rig: Rig) -> None:
    """Without room for the originals nothing is written; with room the loop begins by itself."""
    daemon = rig.daemon()
    with SmallDisk(daemon.state) as disk:
        daemon.configure(mode="advisory")
        daemon.start()
        daemon.await_status(lambda now: now["tick"] > 0, FIRST_WRITE, "a tick")
        daemon.terminate()
        disk.fill()
        daemon.configure(mode="active")
        daemon.start()
        daemon.await_status(
            lambda now: now["decision"]["reason"] == "originals_pending", FIRST_WRITE, "what it waits for"
        )
        assert "disk is full" in daemon.await_ticks(5)["journal"]
        await_trouble(daemon)
        assert in_force(rig.server) == START
        disk.empty()
        daemon.await_force(WANTED, BACK)
        assert kept(daemon) == [START]
        rig.finish()


@fault(
    Group.JOURNAL,
    what="Disk fills up",
    left="the loop's values; twenty minutes of ticks wait in memory",
    back="by itself once there is room: the ticks are written then",
    invariants=(7, 9),
)
def test_the_journals_disk_fills_up(rig: Rig) -> None:
    """A full disk costs neither a tick nor a write of the loop's."""
    daemon = rig.daemon()
    with SmallDisk(daemon.state) as disk:
        daemon.active()
        disk.fill()
        await_trouble(daemon)
        daemon.want(600)
        disk.empty()
        await_written(daemon)
        rig.finish()


@fault(
    Group.JOURNAL,
    what="Journal turns read-only",
    left="the loop's values; ticks wait in memory",
    back="by itself: the ticks are written then",
    invariants=(7, 9),
)
def test_the_journal_turns_read_only(rig: Rig) -> None:
    """A journal that may not be written any more costs neither a tick nor a write of the loop's."""
    daemon = rig.daemon()
    if os.geteuid() == 0:  # who is above the permissions of files would not notice
        if shutil.which("setpriv") is None:
            missing("setpriv, to run a daemon as root without root's way around permissions")
        daemon.program = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", PROGRAM)
    daemon.active()
    files = list(daemon.state.glob(f"{FILE_NAME}*"))
    for one in files:
        one.chmod(0o440)
    daemon.state.chmod(0o550)
    await_trouble(daemon)
    daemon.want(600)
    daemon.state.chmod(0o750)
    for one in files:
        one.chmod(0o640)
    await_written(daemon)
    rig.finish()


@fault(
    Group.JOURNAL,
    what="Journal damaged in its middle, or cut off, at the start",
    left="the last values; originals are carried over",
    back="by itself; the old file stays as `journal.damaged-….db`",
    invariants=(7,),
)
def test_the_journal_is_damaged(rig: Rig) -> None:
    """Garbage in a journal, or a missing part, costs the ticks in it, not the originals."""
    daemon = rig.active()
    for first, last in ((50, 70), (60, None)):  # percent of the file that are overwritten, or where it is cut
        daemon.kill()
        path = daemon.state / FILE_NAME
        content = path.read_bytes()
        begin = len(content) * first // 100
        rest = b""
        if last is not None:
            end = len(content) * last // 100
            rest = b"\xaa" * (end - begin) + content[end:]
        path.write_bytes(content[:begin] + rest)
        under_load(rig.server, rig.work, WANTED)
        Witness(rig.server).watch()  # the damaged journal is no witness any more
        daemon.configure(fixed_io_capacity_max=WANTED.io_capacity_max)
        daemon.start()
        now = daemon.await_status(lambda now: now["tick"] > 0, FIRST_WRITE, "a tick of the next daemon")
        assert pair(now["originals"]) == START
        assert in_force(rig.server) == WANTED
        assert "originals of 1 servers were carried over" in daemon.log()
        assert kept(daemon) == [START]
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            found = db.execute("SELECT count(*) FROM events WHERE code = 'journal_set_aside'").fetchone()
        assert found == (1,)
        (aside,) = daemon.state.glob("journal.damaged-*.db")
        assert aside.stat().st_size >= begin
        aside.unlink()
        daemon.want(600)
    rig.finish()


@fault(
    Group.JOURNAL,
    what="State directory removed and made again",
    left="the loop's values; ticks and originals wait in memory",
    back="by itself with a new journal; the unix socket comes with the next start",
    invariants=(7, 10),
)
def test_the_state_directory_is_removed(rig: Rig) -> None:
    """A daemon outlives its state directory, and tells a new one what the old one knew."""
    daemon = rig.active()
    shutil.rmtree(daemon.state)
    Witness(rig.server).watch()  # the journal of what was said before is gone
    await_trouble(daemon)
    daemon.want(600)
    daemon.state.mkdir()
    await_written(daemon)
    assert kept(daemon) == [START]
    rig.finish()


@fault(
    Group.JOURNAL,
    what="Each fsync takes 10 s; the daemon is killed and started",
    left="the loop's values; parked within two seconds of a SIGTERM",
    back="not interrupted; a start knows originals and pauses at once",
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
