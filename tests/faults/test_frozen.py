"""The daemon stands still, or mysqld does."""

from __future__ import annotations

import signal
import time

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import BACK, FROZEN
from tests.faults.sharing import Sharing
from tests.real.support import in_force

pytestmark = pytest.mark.real

ANSWERED = 5.0
"""Seconds in which the API answers while mysqld hangs: the machine is busy, and mysqld hangs for 30."""


@fault(
    Group.DAEMON,
    what="SIGSTOP for 30 s, then SIGCONT",
    left="the last values",
    back="by itself: parks at the first contact, goes on",
    invariants=(5, 8, 10),
)
def test_the_daemon_is_frozen(sharing: Sharing) -> None:
    """A daemon that stood still for 30 s trusts no old sample, and is back by itself."""
    daemon, began = sharing.daemon, sharing.now()
    daemon.freeze()
    try:
        before = in_force(sharing.server)
        time.sleep(FROZEN)  # the time itself is the fault
        assert in_force(sharing.server) == before
    finally:
        daemon.thaw()
    sharing.await_said("hold_stale", "", began, BACK)
    daemon.want(900)
    assert held_since(sharing, began) == {"stale"}


@fault(
    Group.MYSQLD,
    what="SIGSTOP of mysqld for 30 s, as when its storage hangs",
    left="the last values",
    back="by itself: parks at the first contact, goes on",
    invariants=(5, 9),
)
def test_mysqld_stands_still(sharing: Sharing) -> None:
    """While mysqld hangs the loop waits and stays responsive; when it answers again it parks and goes on."""
    daemon, before = sharing.daemon, sharing.now()
    sharing.server.signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        hold = daemon.await_hold("stale")
        assert hold["clears"] == "a good sample"
        time.sleep(max(0.0, began + FROZEN - time.monotonic()))  # the time itself is the fault
        asked = time.monotonic()
        assert daemon.status() is not None
        assert time.monotonic() - asked < ANSWERED
    finally:
        sharing.server.signal(signal.SIGCONT)
    daemon.await_no_hold()
    assert in_force(sharing.server).io_capacity_max >= daemon.wanted.io_capacity_max
    daemon.want(1000)
    assert held_since(sharing, before) == {"stale"}


def held_since(sharing: Sharing, number: int) -> set[str]:
    """Judge all ticks; return the codes of the holds in those after this number."""
    return {hold.code.value for one in sharing.judged() if one.tick.number > number for hold in one.holds}
