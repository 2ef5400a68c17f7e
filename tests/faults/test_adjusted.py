"""What the server makes of a value, where that is not what was asked for."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import EVERY, Group, fault
from tests.faults.deeds import clamped
from tests.faults.harness import Rig
from tests.real.meddler import Meddler
from tests.real.proxy import Proxy

pytestmark = pytest.mark.real


@fault(
    Group.WRITERS,
    what="The server makes another value of a SET, because somebody lowered M between the daemon's two",
    left="what the server made of it, a legal pair: MySQL clamps the value, MariaDB changes the other one",
    back="it was never away: the event `adjusted` says what was asked for and what came of it",
    invariants=(1, 2, 6),
    on=EVERY,
)
def test_the_server_adjusts_a_value(rig: Rig) -> None:
    """What the server makes of a SET is read back, said, and what the loop goes on from."""
    meddler = Meddler(rig.server)
    with Proxy(rig.server.port, meddler) as proxy:
        daemon = rig.active(port=proxy.port)
        clamped(daemon, meddler)
        daemon.want(600)
        rig.finish()
