"""What the server makes of a value, where that is not what was asked for."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import Rig
from tests.real.proxy import Proxy
from tests.real.support import in_force
from tuner.records import Capacity

pytestmark = pytest.mark.real


@fault(
    Group.WRITERS,
    what="The server makes another value of a SET, because somebody lowered M between the daemon's two",
    left="what the server made of it, a legal pair",
    back="it was never away: the event `adjusted` says what was asked for and what came of it",
    invariants=(1, 2, 6),
)
def test_the_server_adjusts_a_value(rig: Rig) -> None:
    """What the server makes of a SET is read back, said, and what the loop goes on from."""
    meddled: list[str] = []

    def meddle(statement: str) -> bool:
        if statement == "SET GLOBAL innodb_io_capacity = 2000" and not meddled:
            rig.server.query("SET GLOBAL innodb_io_capacity_max = 1500")
            meddled.append(statement)
        return True

    with Proxy(rig.server.port, meddle) as proxy:
        daemon = rig.active(port=proxy.port)
        daemon.configure(fixed_io_capacity_max=4000)
        daemon.hang_up()
        daemon.await_event("adjusted")
        assert meddled
        assert in_force(rig.server) == Capacity(1500, 1500)
        daemon.want(600)
        rig.finish()
