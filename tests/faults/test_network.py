"""The network between daemon and server swallows, resets or misdirects."""

from __future__ import annotations

import time

import pytest

from lab.servers.base import LabServer
from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, FIRST_WRITE, Daemon, Rig
from tests.faults.witness import Witness
from tests.real.proxy import Proxy
from tests.real.support import in_force, remember, until
from tuner.servers.writerlock import WRITER_LOCK

pytestmark = pytest.mark.real


@fault(
    Group.NETWORK,
    what="The connection is black-holed: packets vanish, and the server keeps the old session with its lock",
    left="the last values",
    back="by itself: it ends its own old session, parks at the first good contact and goes on",
    invariants=(5, 9, 10),
)
def test_the_connection_is_black_holed(rig: Rig) -> None:
    """A daemon whose packets vanish is held, and is back as soon as a new connection gets through."""
    with Proxy(rig.server.port) as proxy:
        daemon = rig.active(port=proxy.port)
        old = _lock_holder(rig.server)
        assert old is not None
        proxy.fall_silent()
        daemon.await_hold("stale")
        assert _lock_holder(rig.server) == old
        proxy.speak()
        daemon.want(900)
        assert _lock_holder(rig.server) not in {None, old}
        rig.finish()


@fault(
    Group.NETWORK,
    what="The connection is reset (RST), again and again",
    left="the last values, or the next ones",
    back="by itself, with the next sample",
    invariants=(2, 9, 10),
)
def test_the_connection_is_reset(rig: Rig) -> None:
    """A connection that is reset is opened anew at once, and not one change is lost."""
    with Proxy(rig.server.port) as proxy:
        daemon = rig.active(port=proxy.port)
        for wanted in (900, 1000, 700):
            proxy.reset()
            daemon.want(wanted)
        verdict = rig.finish()
        assert "foreign_change" not in verdict.held()


@fault(
    Group.NETWORK,
    what="The daemon is killed behind a dead network path: its zombie session keeps the writer lock",
    left="the last values",
    back="by itself, held as `not_writer` until the zombie's `wait_timeout` of 15 s is over",
    invariants=(8, 10),
)
def test_a_daemon_and_its_own_zombie(rig: Rig) -> None:
    """A daemon that finds the lock with its predecessor's dead session writes again within 30 seconds."""
    with Proxy(rig.server.port) as proxy:
        daemon = rig.active(port=proxy.port)
        zombie = _lock_holder(rig.server)
        assert zombie is not None
        proxy.fall_silent()
        daemon.kill()
        proxy.speak()
        began = time.monotonic()
        daemon.configure(fixed_io_capacity_max=900)
        daemon.start()
        hold = daemon.await_hold("not_writer")
        assert hold["clears"] == "the other one's end"
        daemon.await_force(daemon.wanted, BACK)
        assert time.monotonic() - began <= BACK
        rig.finish()


@fault(
    Group.NETWORK,
    what="Another server answers behind the same address, as after a failover or a move",
    left="its own values: not one write, whatever the mode was",
    back="advisory, with the event `other_server`: waits for a person, `innobrim mode active`",
    invariants=(4, 7),
)
def test_another_server_behind_the_address(rig: Rig, other_server: LabServer) -> None:
    """A daemon that finds another server says so, turns advisory, and writes nothing to it."""
    books = Witness(other_server)
    books.watch()
    theirs = in_force(other_server)
    remember(other_server, other_server.daemon)
    with Proxy(rig.server.port) as proxy:
        daemon: Daemon = rig.active(port=proxy.port)
        proxy.lead_to(other_server.port)
        daemon.await_status(lambda now: now["mode"] == "advisory", BACK, "advisory mode")
        daemon.await_ticks(5)
        assert "other_server" in daemon.events()
        assert not books.writes()
        assert in_force(other_server) == theirs
        proxy.lead_to(rig.server.port)
        until(lambda: daemon.events().count("other_server") == 2, BACK, "the first server again")
        daemon.await_ticks(3)
        assert in_force(rig.server) == daemon.wanted
        assert daemon.command("mode", "active").returncode == 0
        daemon.want(900, FIRST_WRITE)
        rig.finish()


def _lock_holder(server: LabServer) -> int | None:
    """Return the session that holds the writer lock."""
    found = server.query(f"SELECT IS_USED_LOCK('{WRITER_LOCK}')")[0][0]
    return None if found is None else int(found)
