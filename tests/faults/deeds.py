"""What is done to a daemon beside a server of any family: for the faults of MySQL 9.7, and of the others."""

from __future__ import annotations

from tests.faults.harness import BACK, QuickDaemon, Rig
from tests.faults.sharing import Sharing
from tests.faults.witness import Witness, lock_holder
from tests.real.meddler import Meddler
from tests.real.proxy import Proxy
from tests.real.support import WRITE_IOPS, in_force, pair
from tuner.journal.reader import originals
from tuner.records import Capacity

THEIRS = Capacity(350, 700)
WARM = 60.0
"""Seconds after a start of mysqld: at its configured values it flushes by age only after a while."""


def black_holed(sharing: Sharing, proxy: Proxy) -> None:
    """Swallow the daemon's packets until it is held, and see it come back with a session of its own."""
    old = lock_holder(sharing.server)
    assert old is not None
    proxy.fall_silent()
    sharing.daemon.await_hold("stale")
    assert lock_holder(sharing.server) == old
    proxy.speak()
    sharing.daemon.want(900)
    assert lock_holder(sharing.server) not in {None, old}
    sharing.judged()


def changed_once(rig: Rig, daemon: QuickDaemon) -> None:
    """Set another pair beside an active daemon, see it yield, and let it go on."""
    rig.server.set_capacity(THEIRS.io_capacity, THEIRS.io_capacity_max)
    hold = daemon.await_hold("foreign_change")
    assert "350/700" in hold["reason"]
    assert hold["clears"] == "innobrim resume"
    writes = Witness(rig.server).writes()
    daemon.await_ticks(5)
    assert in_force(rig.server) == THEIRS
    assert Witness(rig.server).writes() == writes
    assert daemon.command("resume").returncode == 0
    daemon.await_force(daemon.wanted, BACK)


def clamped(daemon: QuickDaemon, meddler: Meddler) -> None:
    """Lower M between a daemon's two SETs, so that a server of MySQL's clamps the C that follows."""
    meddler.meddle(
        before="SET GLOBAL innodb_io_capacity = 2000", say="SET GLOBAL innodb_io_capacity_max = 1500"
    )
    daemon.configure(fixed_io_capacity_max=4000)
    daemon.hang_up()
    daemon.await_event("adjusted")
    assert not meddler.waiting
    assert in_force(meddler.server) == Capacity(1500, 1500)


def mysqld_killed(rig: Rig, daemon: QuickDaemon, *, unlimited: bool, within: float = WARM) -> None:
    """Kill the server beside an active daemon, start it, and see the daemon go on.

    Args:
        rig: server and load.
        daemon: in active mode.
        unlimited: the disk is as fast as it can be from the start to the daemon's next write.
        within: seconds until that write, at the most.
    """
    spec = rig.server.spec
    configured = Capacity(spec.io_capacity, spec.io_capacity_max)
    rig.restart_server(once=lambda: daemon.await_hold("stale"))
    if unlimited:
        rig.server.limit_write_iops(None)
    try:
        daemon.await_status(
            lambda now: pair(now["originals"]) == configured,
            BACK,
            "the originals that the server started with",
        )
        daemon.await_force(daemon.wanted, within)
    finally:
        rig.server.limit_write_iops(WRITE_IOPS)
    assert [one.capacity for one in originals(daemon.state)] == [configured]
