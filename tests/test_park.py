"""Parking in place of a daemon that was killed: what is left in force, and what is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.factory import ACTIVE, DEFAULT, EPOCH, Bench, FakeServer, command
from tuner.cli.replay import replay_trace
from tuner.core.plan import plan
from tuner.core.snapshot import encode_state
from tuner.journal.ending import Ending, ending, last_writes, left_by
from tuner.journal.reader import trace
from tuner.journal.writer import JournalWriter
from tuner.memory import look
from tuner.park import LIMIT_SECONDS, READ_SECONDS, WAIT_SECONDS, Notebook, park_offline
from tuner.records import Capacity
from tuner.servers.port import ServerError, Unreachable
from tuner.settings import Mode

SOON = 10.0
ADVISORY = replace(ACTIVE, mode=Mode.ADVISORY)


class ServerClock:
    """The server's own time, which passes only while it is waited."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return 1000.0 + self._server.now

    def wall(self) -> float:
        """Return Unix time."""
        return EPOCH + self._server.now


class Crash(NamedTuple):
    """A server beside which a daemon was killed, and the state directory that it left."""

    server: FakeServer
    directory: Path

    def park(self, *, unattended: bool = True) -> str:
        """Park as the command does, in no real time."""
        clock = ServerClock(self.server)
        facts = self.server.facts()
        left = look(self.directory, quietly=True)
        assert left.originals_of(facts) == DEFAULT
        notes = Notebook(self.directory, keep_ticks=3600)
        try:
            return park_offline(
                self.server,
                clock,
                left.begin(ADVISORY, facts, now=clock.monotonic()),
                self.ending,
                notes=notes,
                began=clock.monotonic(),
                unattended=unattended,
                wait=self.server.live,
            )
        finally:
            assert notes.close() == ""

    @property
    def ending(self) -> Ending:
        """Return what the journal knows."""
        found = ending(self.directory)
        assert found is not None
        return found


def crash(directory: Path, bench: Bench) -> Crash:
    """Leave behind what a daemon had on disk that was killed after the last tick."""
    journal = JournalWriter(directory, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    facts = bench.server.facts()
    journal.begin_run(
        settings=ACTIVE, facts=facts, state=encode_state(bench.state), tick_number=0, wall=EPOCH
    )
    for record in bench.records:
        journal.record(record)
    journal.save_originals(facts.identity, DEFAULT, facts.started, facts.version, EPOCH, lambda: None)
    assert journal.close(SOON)
    return Crash(bench.server, directory)


@pytest.fixture
def killed(tmp_path: Path) -> Crash:
    """Return a server whose daemon was killed while its M was as low as the load allows."""
    return crash(tmp_path, Bench().in_control())


def test_what_a_dead_daemon_left_is_parked(killed: Crash) -> None:
    """A setting with room for half as much load again is in force within seconds, and noted as ours."""
    before, began = killed.server.capacity, killed.server.now

    said = killed.park()

    after = killed.server.capacity
    assert said == f"parked at {after.io_capacity}/{after.io_capacity_max}"
    assert after.io_capacity_max > before.io_capacity_max
    assert READ_SECONDS <= killed.server.now - began < LIMIT_SECONDS
    steps, target, old = killed.server.applied[-1]
    assert steps == plan(old, target)
    assert left_by(last_writes(killed.directory))[-1] == after
    assert killed.ending.orderly


def test_the_next_daemon_goes_on_from_the_parked_pair(killed: Crash) -> None:
    """Started again, the loop has the originals, takes the parked pair for its own, and comes back to it."""
    killed.park()
    left = look(killed.directory, quietly=True)
    bench = Bench(server=killed.server, originals=DEFAULT, left=left_by(left.written or ()))
    bench.turns(3)

    assert bench.record.originals == DEFAULT
    assert bench.state.writes.own == killed.server.capacity
    bench.until("set")


def test_a_park_without_a_daemon_replays(killed: Crash) -> None:
    """The journal of such a park gives the same decision again."""
    killed.park()

    found = replay_trace(trace(killed.directory))

    assert (found.same, found.compared, found.skipped) == (True, 2, 0)


def test_a_park_is_safe_for_the_load_before_the_crash(killed: Crash) -> None:
    """Where the load stopped together with the daemon, the room is that for the load of before."""
    last = killed.ending.last
    assert last is not None
    assert last.estimate is not None
    before = last.estimate.flush_rate
    killed.server.redo_rate = 1.0

    killed.park()

    assert killed.server.capacity.io_capacity_max >= ACTIVE.park_slack * before


@pytest.mark.parametrize("unattended", [True, False])
def test_somebody_elses_values_are_left_alone(killed: Crash, *, unattended: bool) -> None:
    """A pair that is not our last write is not touched, and the message names both."""
    killed.server.capacity, writes = Capacity(300, 900), len(killed.server.applied)

    said = killed.park(unattended=unattended)

    assert said.startswith("nothing to park: 300/900 is in force and ")
    assert len(killed.server.applied) == writes


def test_a_change_while_it_looks_is_left_alone(killed: Crash) -> None:
    """Somebody who sets C and M in these seconds has the last word."""
    live = killed.server.live

    def meddle(seconds: float) -> None:
        live(seconds)
        killed.server.capacity = Capacity(300, 900)

    killed.server.live = meddle  # type: ignore[method-assign]

    assert "not ours" in killed.park()
    assert killed.server.capacity == Capacity(300, 900)


def test_originals_in_force_are_no_work(killed: Crash) -> None:
    """A server that has its originals again is its operator's."""
    killed.server.capacity = DEFAULT

    assert killed.park(unattended=False) == "nothing to park: the originals 10000/20000 are in force"


def test_a_park_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    """A daemon killed after its own park leaves nothing to do, but for a person when the load has grown."""
    bench = Bench().in_control()
    bench.turn(command("pause"))
    bench.turn()
    parked = bench.server.capacity
    left = crash(tmp_path, bench)

    assert left.park() == f"nothing to park: parked at {parked.io_capacity}/{parked.io_capacity_max} already"
    left.server.redo_rate *= 2.0
    assert left.park(unattended=False).startswith("parked at ")
    assert left.server.capacity.io_capacity_max > parked.io_capacity_max


@pytest.mark.parametrize("ask", ["park", "restore"])
@pytest.mark.parametrize("done", [1, 2])
def test_a_half_done_write_is_ended_safely(tmp_path: Path, ask: str, done: int) -> None:
    """Killed within its park or a step of its restore, a daemon leaves what is parked all the same."""
    bench = Bench().in_control()
    bench.server.drop_after = done
    bench.turn(command(ask))
    if bench.receipt is None:
        bench.until(ask)
    left = crash(tmp_path, bench)
    cut = left.server.capacity
    lowest = cut.io_capacity_max

    said = left.park()

    safe = left.server.capacity
    assert ("already" if (ask, done) == ("park", 2) else "parked at") in said
    assert safe.io_capacity_max == 2 * safe.io_capacity
    assert safe.io_capacity_max >= lowest


def test_an_advisory_run_that_is_killed_parks_nothing(tmp_path: Path) -> None:
    """What was left on purpose the service manager leaves as well, also after an advisory run died."""
    bench = Bench().in_control()
    left = crash(tmp_path, bench)
    later = JournalWriter(tmp_path, keep_ticks=3600, on_error=pytest.fail)
    later.start()
    later.begin_run(settings=ADVISORY, facts=bench.server.facts(), state=b"", tick_number=0, wall=EPOCH)
    assert later.close(SOON)

    assert "advisory mode" in left.park()
    assert left.park(unattended=False).startswith("parked at ")


def test_a_dying_session_is_waited_for(killed: Crash) -> None:
    """While the dead daemon's session keeps the writer lock nothing is written; then it is."""
    live, server = killed.server.live, killed.server
    until, server.writer = server.now + 12.0, False

    def pass_time(seconds: float) -> None:
        live(seconds)
        server.writer = server.now >= until

    server.live = pass_time  # type: ignore[method-assign]

    assert killed.park().startswith("parked at ")
    assert server.now >= until


def test_a_living_daemon_keeps_its_server(killed: Crash) -> None:
    """Where the writer lock stays with somebody, the end comes in time and says so."""
    killed.server.writer, began = False, killed.server.now
    writes = len(killed.server.applied)

    with pytest.raises(ServerError, match="writer lock"):
        killed.park()

    assert len(killed.server.applied) == writes
    assert WAIT_SECONDS <= killed.server.now - began <= LIMIT_SECONDS


def test_a_silent_server_ends_it_in_time(killed: Crash) -> None:
    """A server that answers nothing is given up after a while, with its reason."""
    killed.server.down = "did not answer within 1 s"

    with pytest.raises(Unreachable, match="no reading within 20 s: did not answer within 1 s"):
        killed.park()


def test_one_reading_is_enough_where_the_journal_knows_the_load(killed: Crash) -> None:
    """Where the server answers once and again only much later, the daemon's own last estimate decides."""
    live, server, began = killed.server.live, killed.server, killed.server.now

    def be_slow(seconds: float) -> None:
        live(seconds)
        server.down = "did not answer within 1 s" if server.now - began < WAIT_SECONDS else ""

    server.live = be_slow  # type: ignore[method-assign]

    assert killed.park().startswith("parked at ")


def test_a_refused_write_says_what_is_in_force(killed: Crash) -> None:
    """A refused write is no success: no mark of an orderly end, and the pair in force is named."""
    killed.server.refusal = "access denied"
    pair = killed.server.capacity

    with pytest.raises(ServerError, match=f"{pair.io_capacity}/{pair.io_capacity_max}: access denied"):
        killed.park()

    assert not killed.ending.orderly
