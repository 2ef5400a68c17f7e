"""The daemon or mysqld is killed; the daemon is told to end while its server hangs."""

from __future__ import annotations

import signal
import time

import pytest

from tests.faults.boundaries import OVERRIDE, Request, ask, kill_at_boundaries
from tests.faults.catalogue import EVERY, Group, fault
from tests.faults.deeds import mysqld_killed
from tests.faults.harness import BACK, FIRST_WRITE, LEAN, START, WANTED, Rig
from tests.real.killer import Killer
from tests.real.proxy import Proxy
from tests.real.support import in_force
from tuner.journal.reader import originals
from tuner.records import Capacity, DecisionKind

pytestmark = pytest.mark.real

LOW = Capacity(100, 100)
"""Less than any park leads to, and some steps from the originals."""

PARKED_WITHIN = 15.0

HUNG = 6.0
"""Seconds that an end may take while the server hangs: each statement under way has a limit of one second."""


PARK: Request = ("POST", "/v1/park", {})
ACTIVE: Request = ("PUT", "/v1/mode", {"mode": "active"})
RESTORE: Request = ("POST", "/v1/restore", {})


@fault(
    Group.DAEMON,
    what="`kill -9` between any two statements of a write",
    left="a legal pair: old, half-way or new",
    back="by itself when started, with the originals",
    invariants=(1, 2, 7, 8),
    on=EVERY,
)
def test_killed_at_every_statement_of_a_write(rig: Rig) -> None:
    """Whichever statement of a write a kill comes before, the pair left is legal and between old and new."""
    killer = Killer()
    with Proxy(rig.server.port, killer) as proxy:
        daemon = rig.daemon(port=proxy.port)
        kill_at_boundaries(rig, daemon, killer, old=START, provoke=ask(OVERRIDE), known=START)
        rig.server.set_capacity(START.io_capacity, START.io_capacity_max)
        daemon.active()
        rig.finish()


@fault(
    Group.DAEMON,
    what="`kill -9` between any two statements of a park",
    left="a legal pair: old, half-way or parked",
    back="paused, as after every park: `innobrim resume`",
    invariants=(1, 2, 4, 8),
)
def test_killed_at_every_statement_of_a_park(rig: Rig) -> None:
    """Whichever statement of a park a kill comes before, a legal pair between old and parked is left."""
    killer = Killer()
    with Proxy(rig.server.port, killer) as proxy:
        daemon = rig.daemon(port=proxy.port)
        kill_at_boundaries(rig, daemon, killer, old=LOW, provoke=ask(PARK), known=LOW)
        rig.server.set_capacity(START.io_capacity, START.io_capacity_max)
        daemon.start()
        hold = daemon.await_hold("paused")
        assert hold["clears"] == "innobrim resume"
        assert daemon.command("resume").returncode == 0
        daemon.await_force(daemon.wanted, FIRST_WRITE)
        rig.finish()


@fault(
    Group.DAEMON,
    what="`kill -9` between any two statements of a restore",
    left="a legal pair: old, half-way or the next step",
    back="advisory: `innobrim mode active`, or another `restore`",
    invariants=(1, 2, 4, 7),
)
def test_killed_at_every_statement_of_a_restore(rig: Rig) -> None:
    """Whichever statement of a restore a kill comes before, a legal pair is left and the originals stay."""
    killer = Killer()
    with Proxy(rig.server.port, killer) as proxy:
        daemon = rig.daemon(port=proxy.port)
        daemon.start()
        daemon.await_event("originals_saved")
        daemon.kill()
        provoke = ask(ACTIVE, RESTORE)
        kill_at_boundaries(rig, daemon, killer, old=LOW, provoke=provoke, known=START)
        daemon.start()
        assert daemon.await_status(lambda now: now["tick"] > 0, BACK, "a tick")["mode"] == "advisory"
        daemon.await_ticks(3)
        assert daemon.command("mode", "active").returncode == 0
        assert daemon.command("restore", "--wait").returncode == 0
        assert in_force(rig.server) == START
        rig.finish()


@fault(
    Group.DAEMON,
    what="`kill -9` between two SETs; the unit runs `innobrim park --if-crashed`",
    left="parked within 15 s",
    back="by itself when started, with the originals",
    invariants=(7, 8, 10),
)
def test_killed_and_parked_for(rig: Rig) -> None:
    """What the unit runs after a crash leaves a parked setting, and the next daemon goes on from it."""
    killer = Killer()
    with Proxy(rig.server.port, killer) as proxy:
        daemon = rig.active(port=proxy.port)
        killer.aim(daemon.pid, 2)
        daemon.configure(fixed_io_capacity_max=LEAN)
        daemon.hang_up()
        assert daemon.wait(FIRST_WRITE) == -signal.SIGKILL, daemon.log()
        assert in_force(rig.server) not in {WANTED, daemon.wanted}
        began = time.monotonic()
        done = daemon.command("park", "--if-crashed")
        assert done.returncode == 0, done.stdout + done.stderr
        assert time.monotonic() - began <= PARKED_WITHIN
        assert in_force(rig.server).io_capacity_max > LEAN
        assert [one.capacity for one in originals(daemon.state)] == [START]
        daemon.configure(fixed_io_capacity_max=WANTED.io_capacity_max)
        daemon.active()
        verdict = rig.finish()
    assert verdict.writes(DecisionKind.PARK)
    assert "foreign_change" not in verdict.held()


@fault(
    Group.DAEMON,
    what="`kill -9` in a trial against the baseline",
    left="what the trial had in force",
    back="by itself when started: the trial goes on with its next pair",
    invariants=(7, 8),
)
def test_killed_in_a_trial(rig: Rig) -> None:
    """The next daemon verifies the flush law, and the trial goes on."""
    daemon = rig.active()
    begun = daemon.command("trial", "begin", "--hours", "8", "--seed", "1")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    daemon.kill()
    daemon.start()
    daemon.await_event("clear_model_mismatch", BACK)
    trial = daemon.await_ticks(3)["trial"]["progress"]
    assert trial["running"], trial
    assert rig.finish().events().count("baseline_trial_ended") == 0


@fault(
    Group.DAEMON,
    what="SIGTERM while mysqld hangs",
    left="the last values; the log names them",
    back="ends cleanly, exit code 0, in time for the service manager",
    invariants=(8, 9),
)
def test_told_to_end_while_the_server_hangs(rig: Rig) -> None:
    """A daemon whose server hangs ends cleanly and in time, and says which values it leaves."""
    daemon = rig.active()
    rig.server.signal(signal.SIGSTOP)
    try:
        daemon.await_hold("stale")
        ended = daemon.terminate()
    finally:
        rig.server.signal(signal.SIGCONT)
    assert ended.code == 0, daemon.log()
    assert ended.seconds <= HUNG
    assert in_force(rig.server) == daemon.wanted
    left = f"{daemon.wanted.io_capacity}/{daemon.wanted.io_capacity_max}"
    assert left in daemon.log().splitlines()[-1]
    rig.finish()


@fault(
    Group.MYSQLD,
    what="`kill -9` of mysqld, crash recovery, start",
    left="what mysqld starts with: the new originals",
    back="by itself within a minute, once the flush law is verified again",
    invariants=(4, 6, 7),
    on=EVERY,
)
def test_mysqld_is_killed(rig: Rig) -> None:
    """After a crash of mysqld the loop takes its new values for originals, not for a change, and goes on."""
    daemon = rig.active()
    mysqld_killed(rig, daemon, unlimited=True)  # with 10000/20000 a slow disk would hold next to no age
    events = rig.finish().events()
    assert events.index("hold_stale") < events.index("hold_restarted") < events.index("clear_restarted")
    assert "foreign_change" not in events
