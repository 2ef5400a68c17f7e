"""A daemon that is killed between its two SETs."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from lab.servers.base import LabServer
from tests.real.installation import Innobrim
from tests.real.killer import KNOB, Killer
from tests.real.proxy import Proxy
from tests.real.support import Work, in_force, pair, remember, under_load
from tuner.journal.reader import originals
from tuner.records import Capacity

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("old", "target"),
    [(Capacity(2000, 4000), Capacity(1000, 2000)), (Capacity(1000, 2000), Capacity(2000, 4000))],
    ids=["lower", "raise"],
)
def test_a_kill_between_the_two_sets(
    server: LabServer, work: Work, tmp_path: Path, old: Capacity, target: Capacity
) -> None:
    """Killed between its two SETs, the daemon leaves a legal pair, and its next start knows the originals."""
    under_load(server, work, old)
    remember(server, server.daemon)
    killer = Killer()
    with Proxy(server.port, killer) as proxy, Innobrim(server, tmp_path / "one", port=proxy.port) as daemon:
        daemon.configure(
            tls="off", mode="active", policy="fixed", fixed_io_capacity_max=target.io_capacity_max, ratio=2
        )
        daemon.start()
        killer.aim(daemon.pid, 2)
        assert daemon.wait(60.0) == -signal.SIGKILL, daemon.log()
        assert len(killer.seen) == 2
        assert [one for one in proxy.passed if KNOB.match(one)] == killer.seen[:1]
        left = in_force(server)
        assert left not in {old, target}
        assert left.io_capacity <= left.io_capacity_max
        low, high = sorted((old.gain, target.gain))
        assert low <= left.gain <= high
        assert [one.capacity for one in originals(daemon.state)] == [old]
        daemon.configure(tls="off", mode="active")
        daemon.start()
        now = daemon.await_status(lambda now: now["tick"] > 0, 20.0, "the first tick of the next start")
        assert pair(now["originals"]) == old
