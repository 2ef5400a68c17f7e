"""Parking in place of a daemon that was killed: what is left in force, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.core.low_water import OURS, in_force
from tests.crashed import ADVISORY, PAIRED, SOON, Crash, crash
from tests.factory import ACTIVE, C_NAME, DEFAULT, EPOCH, IDENTITY, M_NAME, SAVED, command, held
from tuner.cli.replay import replay_trace
from tuner.core.ownership.standing import Standing
from tuner.core.writes.plan import Steps, plan
from tuner.daemon.predecessors import look
from tuner.journal.ending import last_writes, left_by
from tuner.journal.items import RunItem
from tuner.journal.reader import done_offline, standing, trace
from tuner.journal.writer import JournalWriter
from tuner.records import LOW_WATER_MARK, Capacity, Missed, Receipt, Sample, percent
from tuner.servers.port import ServerError
from tuner.without_daemon import LIMIT_SECONDS, READ_SECONDS


@pytest.fixture
def killed(tmp_path: Path) -> Crash:
    """Return a server whose daemon was killed while its M was as low as the load allows."""
    return crash(tmp_path, Bench(PAIRED).in_control())


def killed_in_its_first_write(directory: Path) -> Crash:
    """Return a server whose daemon was killed between the two SETs of its first write, not yet noted."""
    bench = Bench(PAIRED)
    bench.turn()
    bench.turn(SAVED)
    bench.server.drop_after = 1
    bench.until("set")
    bench.records.pop()
    return crash(directory, bench)


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
    assert vars(killed.server)["claims_writer"], "or a daemon could be at work beside it"
    assert left_by(last_writes(killed.directory)[IDENTITY])[-1] == after
    assert killed.ending.orderly


def test_the_next_daemon_goes_on_from_the_parked_pair(killed: Crash) -> None:
    """Started again, the loop has the originals, takes the parked pair for its own, and comes back to it."""
    killed.park()
    left = look(killed.directory, quietly=True)
    bench = Bench(PAIRED, server=killed.server, originals=DEFAULT, left=left.left_to(killed.server.facts()))
    bench.turns(3)

    assert bench.record.originals == DEFAULT
    assert bench.state.writes.own == killed.server.capacity
    bench.until("set")


def test_a_change_after_such_a_park_is_somebody_elses(killed: Crash) -> None:
    """Who changes what the command parked is asked for a word before the next daemon goes on."""
    killed.park()
    facts, parked = killed.server.facts(), killed.server.capacity
    bench = Bench(PAIRED, server=killed.server)
    bench.state = look(killed.directory, quietly=True).begin(ACTIVE, facts, now=0.0)
    killed.server.capacity, killed.server.ours = Capacity(300, 900), False

    assert held(bench.turn()) >= {"foreign_change"}
    assert f"were left at {parked} and are 300/900" in bench.record.holds[0].reason


def test_a_park_without_a_daemon_replays(killed: Crash) -> None:
    """The journal of such a park gives the same decision again."""
    killed.park()

    found = replay_trace(trace(killed.directory))

    assert (found.same, found.compared, found.skipped) == (True, 2, 0)


@pytest.mark.parametrize(("gone", "counts"), [(0.0, True), (590.0, True), (600.0, False)])
def test_a_park_is_safe_for_the_load_before_the_crash(killed: Crash, gone: float, *, counts: bool) -> None:
    """Where the load stopped with the daemon, the room is that for the load of before, for ten minutes."""
    last = killed.ending.last
    assert last is not None
    assert last.estimate is not None
    before = last.estimate.flush_rate
    killed.server.redo_rate = 1.0
    killed.server.live(gone)

    killed.park()

    assert (killed.server.capacity.io_capacity_max >= ACTIVE.park_slack * before) is counts


@pytest.mark.parametrize("unattended", [True, False])
@pytest.mark.parametrize("writer", [True, False], ids=["", "beside another daemon"])
def test_somebody_elses_values_are_left_alone(killed: Crash, *, unattended: bool, writer: bool) -> None:
    """A pair that is not our last write is not touched, and the message names both, at once."""
    killed.server.capacity, killed.server.ours = Capacity(300, 900), False
    killed.server.writer = writer
    writes, began = len(killed.server.applied), killed.server.now
    wrote = killed.server.applied[-1][1]

    said = killed.park(unattended=unattended)

    assert (
        said
        == f"nothing to park: 300/900 is in force and {wrote} was written last, so it was not set by InnoBrim"
    )
    assert (len(killed.server.applied), killed.server.now) == (writes, began)


def test_a_change_while_it_looks_is_left_alone(killed: Crash, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who sets C and M in these seconds has the last word."""
    live = killed.server.live

    def meddle(seconds: float) -> None:
        live(seconds)
        killed.server.capacity = Capacity(300, 900)

    monkeypatch.setattr(killed.server, "live", meddle)

    assert "not set by InnoBrim" in killed.park()
    assert killed.server.capacity == Capacity(300, 900)


@pytest.mark.parametrize("ask", ["park", "restore"])
def test_a_write_that_was_not_noted_yet_is_known_from_the_server(tmp_path: Path, ask: str) -> None:
    """A kill between two SETs may come before the journal has the write: the server knows who set them."""
    bench = Bench(PAIRED).in_control()
    bench.server.drop_after = 1
    if not bench.turn(command(ask)).decision.steps:
        bench.until(ask)
    bench.records.pop()
    left = crash(tmp_path, bench)
    assert left.server.capacity not in left_by(last_writes(tmp_path)[IDENTITY])

    assert left.park().startswith("parked at ")
    assert left_by(last_writes(tmp_path)[IDENTITY])[-1] == left.server.capacity


def test_a_first_write_that_was_not_noted_yet_is_ours(tmp_path: Path) -> None:
    """Killed within its very first write a daemon has none in its journal, and is stood in for."""
    left = killed_in_its_first_write(tmp_path)
    assert left.ending.writes == {}

    left.server.ours = False
    assert left.park().endswith("and nothing was written last, so it was not set by InnoBrim")
    left.server.ours = True
    assert left.park().startswith("parked at ")


@pytest.mark.parametrize(
    ("theirs", "said"), [("C", "not set by InnoBrim"), ("M", "parked at"), ("", "parked at")]
)
def test_half_a_pair_that_was_there_before_may_be_anybodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str, said: str
) -> None:
    """Killed after its first SET, of C, a daemon left an M that somebody else had set, and a C of its own."""
    left = killed_in_its_first_write(tmp_path)
    assert left.server.capacity.io_capacity_max == DEFAULT.io_capacity_max
    names = {"C": C_NAME, "M": M_NAME}
    ours = frozenset(name for short, name in names.items() if short != theirs)
    monkeypatch.setattr(left.server, "set_by_us", lambda: ours)

    assert said in left.park()


def test_a_roomy_setting_is_left_as_it_is(killed: Crash) -> None:
    """Where the pair in force has the room already, nothing is written, and that is said."""
    killed.park()
    writes = len(killed.server.applied)
    pair = killed.server.capacity

    said = killed.park(unattended=False)

    text = f"{pair.io_capacity}/{pair.io_capacity_max}"
    assert said == f"nothing to park: {text} has room for 1.5 times the load already"
    assert len(killed.server.applied) == writes


def test_originals_in_force_are_no_work(killed: Crash) -> None:
    """A server that has its originals again is its operator's."""
    killed.server.capacity = DEFAULT

    assert killed.park(unattended=False) == "nothing to park: the originals 10000/20000 are in force"


def test_a_park_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    """A daemon killed after its own park leaves nothing to do, but for a person when the load has grown."""
    bench = Bench(PAIRED).in_control()
    bench.turn(command("pause"))
    bench.turn()
    parked = bench.server.capacity
    left = crash(tmp_path, bench)

    assert left.park() == f"nothing to park: parked at {parked.io_capacity}/{parked.io_capacity_max} already"
    left.server.redo_rate *= 2.0
    assert left.park(unattended=False).startswith("parked at ")
    assert left.server.capacity.io_capacity_max > parked.io_capacity_max


@pytest.mark.parametrize("parked", [False, True], ids=["steering", "parked before"])
@pytest.mark.parametrize("mark", [0, 50_000_000])
def test_the_low_water_mark_goes_back_after_the_park(tmp_path: Path, *, parked: bool, mark: int) -> None:
    """A dead daemon's own mark is the operator's again, also where it had parked C and M already."""
    bench = in_force(mark)
    if parked:
        bench.turn(command("pause"))
    left = crash(tmp_path, bench)
    begun = len(left.server.applied)

    said = left.park()

    assert said.startswith("nothing to park: parked at " if parked else "parked at ")
    assert said.endswith(f"; innodb_max_dirty_pages_pct_lwm = {percent(mark)} again")
    assert left.server.mark == mark
    assert [steps[0][0] for steps, _, _ in left.server.applied[begun:]][-1] == LOW_WATER_MARK
    assert left.park().endswith("already")


def test_a_mark_that_is_back_is_taken_out_of_the_journal(tmp_path: Path) -> None:
    """The next daemon takes a 0.001 that somebody has set since for somebody's, not for ours."""
    left = crash(tmp_path, in_force())
    left.park()
    (note,) = standing(tmp_path).values()

    assert msgspec.json.decode(note, type=Standing).low_water is None


@pytest.mark.parametrize("why", ["refused", "no estimate"])
def test_the_low_water_mark_goes_back_without_a_park(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Where C and M cannot be parked the mark is the operator's again all the same, and both are told."""
    left = crash(tmp_path, in_force())
    server = left.server
    apply, read = server.apply, server.read

    def refuses(steps: Steps, wanted: Capacity) -> Receipt:
        server.refusal = "" if steps[0][0] == LOW_WATER_MARK else "lock wait timeout"
        return apply(steps, wanted)

    def backwards() -> Sample | Missed:
        server.lsn -= 50e6
        server.oldest -= 50e6
        return read()

    if why == "refused":
        monkeypatch.setattr(server, "apply", refuses)
    else:
        monkeypatch.setattr(server, "read", backwards)
        monkeypatch.setattr(Crash, "ending", replace(left.ending, last=None))

    with pytest.raises(ServerError, match=r"^not parked.*; innodb_max_dirty_pages_pct_lwm = 0 again$"):
        left.park()
    assert server.mark == 0


@pytest.mark.parametrize("bars", ["read_only", "refused"])
def test_a_low_water_mark_that_cannot_go_back_is_told(tmp_path: Path, bars: str) -> None:
    """What stays in force is named, the journal goes on knowing it, and nothing says that it is back."""
    left = crash(tmp_path, in_force())
    left.server.shows = {"read_only": bars == "read_only"}
    left.server.refusal = "access denied" if bars == "refused" else ""
    try:
        said = left.park()
    except ServerError as error:
        said = str(error)
    (note,) = standing(tmp_path).values()

    assert "innodb_max_dirty_pages_pct_lwm = 0" in said
    assert not said.endswith("again")
    assert left.server.mark == OURS
    assert msgspec.json.decode(note, type=Standing).low_water == 0
    assert done_offline(tmp_path, after=0.0) == []


def test_a_low_water_mark_that_is_not_its_own_stays(tmp_path: Path) -> None:
    """What somebody made of the mark since the daemon died is left alone."""
    left = crash(tmp_path, in_force())
    left.server.mark = 5_000_000

    assert left.park().startswith("parked at ")
    assert left.server.mark == 5_000_000


@pytest.mark.parametrize("ask", ["park", "restore"])
@pytest.mark.parametrize("done", [1, 2])
def test_a_half_done_write_is_ended_safely(tmp_path: Path, ask: str, done: int) -> None:
    """Killed within its park or a step of its restore, a daemon leaves what is parked all the same."""
    bench = Bench(PAIRED).in_control()
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
    bench = Bench(PAIRED).in_control()
    left = crash(tmp_path, bench)
    later = JournalWriter(tmp_path, keep_ticks=3600, on_error=pytest.fail)
    later.start()
    later.put(RunItem(settings=ADVISORY, facts=bench.server.facts(), state=b"", tick=0, wall=EPOCH))
    assert later.close(SOON)

    assert "advisory mode" in left.park()
    assert left.park(unattended=False).startswith("parked at ")
