"""What the server makes of a value, where that is not what was asked for."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import Daemon, Rig
from tests.real.meddler import Meddler
from tests.real.proxy import Proxy
from tests.real.support import in_force
from tuner.records import Capacity

pytestmark = pytest.mark.real


@fault(
    Group.WRITERS,
    what="The server makes another value of a SET, because somebody lowered M between the daemon's two",
    left="what the server made of it, a legal pair: MySQL clamps the value, MariaDB changes the other one",
    back="it was never away: the event `adjusted` says what was asked for and what came of it",
    invariants=(1, 2, 6),
)
def test_the_server_adjusts_a_value(rig: Rig) -> None:
    """What the server makes of a SET is read back, said, and what the loop goes on from."""
    meddler = Meddler(rig.server)
    with Proxy(rig.server.port, meddler) as proxy:
        daemon = rig.active(port=proxy.port)
        clamped(daemon, meddler)
        daemon.want(600)
        rig.finish()


def clamped(daemon: Daemon, meddler: Meddler) -> None:
    """Lower M between a daemon's two SETs, so that a server of MySQL's clamps the C that follows."""
    meddler.meddle(
        before="SET GLOBAL innodb_io_capacity = 2000", say="SET GLOBAL innodb_io_capacity_max = 1500"
    )
    daemon.configure(fixed_io_capacity_max=4000)
    daemon.hang_up()
    daemon.await_event("adjusted")
    assert not meddler.waiting
    assert in_force(meddler.server) == Capacity(1500, 1500)
