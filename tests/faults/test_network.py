"""The network leads a daemon to its own zombie, or to another server."""

from __future__ import annotations

import time

import pytest

from lab.servers.base import LabServer
from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, FIRST_WRITE, QuickDaemon, Rig
from tests.faults.witness import Witness, lock_holder
from tests.real.proxy import Proxy
from tests.real.support import in_force, remember, until

pytestmark = pytest.mark.real


@fault(
    Group.NETWORK,
    what="The daemon is killed behind a dead network path; its session keeps the writer lock",
    left="the last values",
    back="by itself, after `not_writer` for the session's `wait_timeout` of 15 s",
    invariants=(8, 10),
)
def test_a_daemon_and_its_own_zombie(rig: Rig) -> None:
    """A daemon that finds the lock with its predecessor's dead session writes again within 30 seconds."""
    with Proxy(rig.server.port) as proxy:
        daemon = rig.active(port=proxy.port)
        zombie = lock_holder(rig.server)
        assert zombie is not None
        proxy.fall_silent()
        daemon.kill()
        proxy.speak()
        began = time.monotonic()
        daemon.configure(fixed_io_capacity_max=900)
        daemon.start()
        daemon.await_force(daemon.wanted, BACK)
        assert time.monotonic() - began <= BACK
        assert "not_writer" in rig.finish().held()


@fault(
    Group.NETWORK,
    what="[Another server](topologies.md#another-server-answers) answers at the address",
    left="that server's own values: not one write",
    back="advisory, event `other_server`: `innobrim mode active`",
    invariants=(4, 7),
)
def test_another_server_behind_the_address(rig: Rig, other_server: LabServer) -> None:
    """A daemon that finds another server says so, turns advisory, and writes nothing to it."""
    books = Witness(other_server)
    books.watch()
    theirs = in_force(other_server)
    remember(other_server, other_server.daemon)
    with Proxy(rig.server.port) as proxy:
        daemon: QuickDaemon = rig.active(port=proxy.port)
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
