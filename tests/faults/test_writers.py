"""Somebody else writes: a person, configuration management, or a second daemon."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import pymysql
import pytest

from lab.servers.base import LabServer
from tests.faults.catalogue import EVERY, Group, fault
from tests.faults.deeds import THEIRS, changed_once, clamped
from tests.faults.harness import BACK, LEAN, START, QuickDaemon, Rig
from tests.faults.witness import Witness
from tests.real.meddler import Meddler
from tests.real.proxy import Proxy
from tests.real.support import in_force
from tuner.core.ownership import foreign
from tuner.records import Capacity, DecisionKind

pytestmark = pytest.mark.real

COOL_DOWN = 2.0
READOPTIONS = 3


@fault(
    Group.WRITERS,
    what="Another session sets innodb_io_capacity_max",
    left="that session's values",
    back="`innobrim resume`",
    invariants=(4, 6),
    on=EVERY,
)
def test_another_session_changes_m_once(rig: Rig) -> None:
    """A value that somebody else set stays until a person lets the loop go on."""
    changed_once(rig, rig.active())
    rig.finish()


@fault(
    Group.WRITERS,
    what="Another session sets the pair while no daemon runs",
    left="that session's values",
    back="`innobrim resume`",
    invariants=(4, 6),
)
def test_a_change_while_no_daemon_runs(rig: Rig) -> None:
    """What somebody else sets between two daemons is left alone from the first reading on."""
    daemon = rig.active()
    assert daemon.terminate().code == 0
    rig.server.set_capacity(THEIRS.io_capacity, THEIRS.io_capacity_max)
    writes = Witness(rig.server).writes()
    daemon.start()
    hold = daemon.await_hold("foreign_change")
    assert "are 350/700: somebody else changed them while no daemon ran" in hold["reason"]
    assert hold["clears"] == "innobrim resume"
    daemon.await_ticks(5)
    assert in_force(rig.server) == THEIRS
    assert Witness(rig.server).writes() == writes
    assert daemon.command("resume").returncode == 0
    daemon.await_force(daemon.wanted, BACK)
    rig.finish()


@fault(
    Group.WRITERS,
    what="Configuration management sets the declared `baseline` again",
    left="the baseline for five minutes, then the loop's values",
    back="by itself after the cool-down",
    invariants=(3, 6),
)
def test_the_baseline_is_set_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A declared baseline is left alone for its cool-down and then taken over again, every time."""
    monkeypatch.setattr(foreign, "COOLDOWN_SECONDS", COOL_DOWN)  # for the replay of what the daemon recorded
    daemon = _with_baseline(rig)
    for count in (1, 2):
        rig.server.set_capacity(START.io_capacity, START.io_capacity_max)
        began = time.monotonic()
        daemon.await_event("baseline", count=count)
        assert time.monotonic() - began >= COOL_DOWN
        daemon.await_force(daemon.wanted, BACK)
    rig.server.set_capacity(THEIRS.io_capacity, THEIRS.io_capacity_max)
    assert daemon.await_hold("foreign_change")["clears"] == "innobrim resume"
    verdict = rig.finish()
    assert verdict.left == THEIRS


@fault(
    Group.WRITERS,
    what="Another session sets the `baseline` twice a second",
    left="the baseline, after three takeovers within an hour",
    back="`innobrim resume`",
    invariants=(3, 6),
)
def test_the_baseline_is_set_in_a_loop(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against somebody who will not stop, the loop gives up after three tries and waits for a person."""
    monkeypatch.setattr(foreign, "COOLDOWN_SECONDS", COOL_DOWN)  # for the replay of what the daemon recorded
    daemon = _with_baseline(rig)
    with _insisting(rig.server, START):
        daemon.await_event("baseline", 60.0, count=READOPTIONS)
        daemon.await_status(
            lambda now: any(hold["clears"].startswith("innobrim resume") for hold in now["holds"]),
            BACK,
            "a hold that waits for a person",
        )
        daemon.await_ticks(5)
    assert daemon.events().count("baseline") == READOPTIONS
    assert in_force(rig.server) == START
    assert daemon.command("resume").returncode == 0
    daemon.await_force(daemon.wanted, BACK)
    verdict = rig.finish()
    assert len(verdict.writes(DecisionKind.SET)) <= READOPTIONS + 2


@fault(
    Group.WRITERS,
    what="A second daemon starts; later the first is killed",
    left="the first one's values, then the second one's",
    back="hold `not_writer`; the second takes over within 30 s",
    invariants=(4, 10),
)
def test_two_daemons_at_once(rig: Rig) -> None:
    """Of two daemons one writes; the other takes over by itself when the first one is gone."""
    first = rig.active()
    second = _watching(rig)
    second.await_ticks(10)
    assert in_force(rig.server) == first.wanted
    first.kill()
    second.await_force(second.wanted, BACK)
    rig.finish()


@fault(
    Group.WRITERS,
    what="Of two daemons the first ends and parks",
    left="parked",
    back="the second takes that park for a person's change: `innobrim resume`",
    invariants=(4, 6, 10),
)
def test_the_first_of_two_daemons_parks(rig: Rig) -> None:
    """A daemon that saw values change while it watched asks a person before it takes over."""
    first = rig.active()
    first.want(LEAN)
    second = _watching(rig)
    assert first.terminate().code == 0
    hold = second.await_hold("foreign_change")
    assert hold["clears"] == "innobrim resume"
    assert in_force(rig.server).io_capacity_max > LEAN
    second.await_status(lambda now: len(now["holds"]) == 1, BACK, "the writer lock")
    assert second.command("resume").returncode == 0
    second.await_force(second.wanted, BACK)
    rig.finish()


@fault(
    Group.WRITERS,
    what="Somebody lowers innodb_io_capacity_max between the daemon's two SETs",
    left="the legal pair that the server made of it",
    back="not interrupted; event `adjusted`",
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


def _watching(rig: Rig) -> QuickDaemon:
    """Return a second daemon that has been told that it is one."""
    second = rig.daemon()
    second.configure(fixed_io_capacity_max=1000)
    second.start()
    hold = second.await_hold("not_writer")
    assert hold["clears"] == "the other one's end"
    return second


def _with_baseline(rig: Rig) -> QuickDaemon:
    """Return an active daemon that knows ``START`` as the baseline."""
    daemon = rig.daemon().alter("cool-down", COOL_DOWN)
    daemon.configure(baseline=f"{START.io_capacity}/{START.io_capacity_max}")
    return daemon.active()


@contextlib.contextmanager
def _insisting(server: LabServer, wanted: Capacity) -> Iterator[None]:
    """Have somebody look twice a second, and set this pair where another one is in force, while inside."""
    over = threading.Event()

    def insist() -> None:
        while not over.wait(0.5):
            with contextlib.suppress(pymysql.MySQLError):
                if in_force(server) != wanted:
                    server.set_capacity(wanted.io_capacity, wanted.io_capacity_max)

    thread = threading.Thread(target=insist, name="insisting")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
