"""What ``innobrim record`` keeps of a server, as trace or fixture, and that it leaves the server alone."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.bench import FakeServer
from tests.cli.support import SimInbox, ended, innobrim
from tests.servers.fixtured import Fixtured, fixture
from tuner.cli import record as command
from tuner.cli.replay import replay_trace
from tuner.journal.reader import trace
from tuner.journal.tables import ENDED, Run
from tuner.records import Capacity, Facts, Missed, Receipt, Sample, TickRecord
from tuner.servers.fixture import load
from tuner.servers.port import Unreachable

Record = Callable[..., Result]
Answering = Callable[..., "Played"]
FIXTURE, TRACE = "--fixture", "--output"


class Untouchable(FakeServer):
    """A server on a simulated clock that takes no write and no claim; ``at`` hears of each reading."""

    def __init__(self, clock: SimClock) -> None:
        super().__init__()
        self._clock = clock
        self.at: Callable[[int], None] = lambda _: None
        self.reads = 0
        self.absent = ""

    def facts(self) -> Facts:
        """Return what this server is, where it answers."""
        if self.absent:
            raise Unreachable(self.absent)
        return super().facts()

    def read(self) -> Sample | Missed:
        """Live up to the clock and return a reading."""
        self.reads += 1
        self.at(self.reads)
        self.live(self._clock.monotonic() - self.now)
        return super().read()

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Refuse to be written to."""
        raise AssertionError(f"{wanted} was written: {steps}")

    @property
    def claims_writer(self) -> bool:
        """Tell that nobody claims to be the writer."""
        return False

    @claims_writer.setter
    def claims_writer(self, wanted: bool) -> None:
        raise AssertionError(f"the writer lock was claimed: {wanted}")


class Played(Fixtured):
    """A fixture's server that goes on to the next reading by itself.

    Attributes:
        at_reading: called with each reading's number; may raise.
    """

    def __init__(self, name: str, **changes: Any) -> None:  # noqa: ANN401 - as the fields of a fixture
        super().__init__(replace(fixture(name), **changes))
        self.at_reading: Callable[[int], None] = lambda _: None
        self.count = 0
        self.closed = False

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, and move on with each look at all status variables."""
        if "LIKE 'Handler" in statement:
            self.count += 1
            self.at = min(self.count, 3) - 1
            self.at_reading(self.count)
        return super().query(statement)

    def close(self) -> None:
        """Note it."""
        self.closed = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimClock:
    """Return a clock on which a second takes no time."""
    made = SimClock()
    monkeypatch.setattr(command, "SystemClock", lambda: made)
    monkeypatch.setattr(command, "BoardInbox", SimInbox)
    return made


@pytest.fixture
def server(clock: SimClock, monkeypatch: pytest.MonkeyPatch) -> Untouchable:
    """Return the server that a trace is recorded of."""
    found = Untouchable(clock)
    monkeypatch.setattr(command, "real_server", lambda *_: found)
    return found


@pytest.fixture
def played(clock: SimClock, monkeypatch: pytest.MonkeyPatch) -> Answering:  # noqa: ARG001 - time must pass
    """Return a way to say which server a fixture is recorded of."""

    def answer(name: str = "mysql-8.0.46", **changes: Any) -> Played:  # noqa: ANN401 - as the fields of a fixture
        session = Played(name, **changes)
        monkeypatch.setattr(command, "Session", lambda *_: session)
        return session

    return answer


@pytest.fixture
def record(server: Untouchable, tmp_path: Path) -> Record:  # noqa: ARG001 - the server must be there
    """Return a way to record into ``out``, a trace unless something else is said."""

    def run(*words: str, what: str = TRACE) -> Result:
        where = (what, str(tmp_path / "out"))
        return innobrim("record", *where, *words)

    return run


def ticks(folder: Path) -> list[TickRecord]:
    """Return a trace's ticks."""
    return [item for item in trace(folder / "out") if isinstance(item, TickRecord)]


def test_it_ends_by_itself_and_the_trace_replays(record: Record, tmp_path: Path) -> None:
    """A reading a second for as long as was said, in one file that ends in order and replays the same."""
    path = tmp_path / "out"
    ended(record("--for", "2m"), 0, f"120 readings in {path}", f"innobrim report {path}")
    outcome = replay_trace(trace(path))

    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert (outcome.compared, outcome.same) == (120, True)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT code FROM events ORDER BY id DESC LIMIT 1").fetchone() == (ENDED,)


def test_nothing_is_written_where_an_active_loop_would_write(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the configuration's mode: the trace says what would be set, and nothing is."""
    monkeypatch.setenv("INNOBRIM_LOOP_MODE", "active")
    ended(record("--for", "5m"), 0)

    assert any(one.decision.would is not None for one in ticks(tmp_path))
    assert not any(one.decision.steps for one in ticks(tmp_path))


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("heard", [True, False], ids=["Ctrl-C", "nohup"])
def test_an_early_end_keeps_everything_read_so_far(
    server: Untouchable, record: Record, tmp_path: Path, *, heard: bool
) -> None:
    """Ctrl-C leaves a whole trace, and is fine; a hangup that whoever started it had ignored ends nothing."""
    number = signal.SIGINT if heard else signal.SIGHUP
    server.at = lambda reading: os.kill(os.getpid(), number) if reading == 30 else None
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        ended(record("--for", "1m"), 0)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert len(ticks(tmp_path)) in (range(30, 33) if heard else [60])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_silence_is_recorded_as_a_gap_and_said(server: Untouchable, record: Record, tmp_path: Path) -> None:
    """Readings that failed are in the trace with their reason, and counted at the end."""

    def fail_for_a_while(number: int) -> None:
        server.down = "did not answer within 1 s" if 20 < number <= 25 else ""

    server.at = fail_for_a_while

    ended(record("--for", "1m"), 0, "55 readings, 5 missed (did not answer within 1 s)")
    assert sum(isinstance(one.tick.reading, Missed) for one in ticks(tmp_path)) == 5


@pytest.mark.parametrize(
    ("what", "words", "said"),
    [
        (TRACE, "", "a trace is never overwritten"),
        (FIXTURE, "", "a fixture is never overwritten"),
        (TRACE, "--output /nowhere/at/all/trace.db", "there is no directory /nowhere/at/all"),
        (TRACE, "--output trace.lock", "write .db"),
        (TRACE, "--for soon", "is no duration"),
        (FIXTURE, "--for 1h", "with --fixture at most"),
        (FIXTURE, "--output trace.db", "name one of them"),
    ],
)
def test_wrong_options_say_what_would_be_right(  # noqa: PLR0917 - fixtures and cases
    server: Untouchable, played: Answering, record: Record, tmp_path: Path, what: str, words: str, said: str
) -> None:
    """Exit 2, with the option, the value and what is wrong with it, before anything is asked or written."""
    session = played()
    (tmp_path / "out").write_text("last week's")

    ended(record(*words.split(), what=what), 2, said)
    assert (server.reads, session.asked) == (0, [])
    assert (tmp_path / "out").read_text() == "last week's"


def test_a_server_that_does_not_answer_leaves_no_file(
    server: Untouchable, played: Answering, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3 where nothing answers at all, 1 where no reading succeeded, and nothing to tidy up."""

    def silent(*_: object) -> None:
        raise Unreachable("timed out")

    server.absent = "127.0.0.1:3306 refused the connection"
    session = played()
    session.at_reading = silent

    ended(record(), 3, "refused the connection")
    ended(record("--for", "3s", what=FIXTURE), 1, "no reading succeeded")
    monkeypatch.setattr(session, "query", silent)
    ended(record("--for", "3s", what=FIXTURE), 3, "timed out")
    assert list(tmp_path.iterdir()) == []


def test_a_server_without_counters_is_recorded_and_said(
    server: Untouchable, record: Record, tmp_path: Path
) -> None:
    """Counters that are off stay off; the first lines say what the trace will not have."""
    server.told = {"disabled_counters": ("log_lsn_current",)}

    ended(record("--for", "10s"), 0, "counters are off and stay off")
    header = next(iter(trace(tmp_path / "out")))
    assert isinstance(header, Run)
    assert header.facts.disabled_counters == ("log_lsn_current",)


@pytest.mark.parametrize("name", ["mysql-5.7.44", "mysql-8.4.8", "percona-8.4.6", "mariadb-10.6.16"])
def test_ten_readings_of_any_family(played: Answering, record: Record, tmp_path: Path, name: str) -> None:
    """One a second, with what was taken out and left in said, and nothing set."""
    session = played(name)

    said = ("10 readings in", "taken out: account and address", "left in: version", "look through it")
    ended(record(what=FIXTURE), 0, *said)
    found = load(tmp_path / "out")
    assert [reading.second for reading in found.readings] == [float(second) for second in range(10)]
    assert (found.version, found.synthetic, session.closed) == (fixture(name).version, False, True)
    assert all(statement.startswith(("SELECT ", "SHOW ")) for statement in session.asked)


def of_metrics(**metrics: tuple[str, str]) -> dict[str, Any]:
    """Return the readings of a fixture with counters that say otherwise."""
    found = fixture("mysql-8.0.46").readings
    return {"readings": tuple(replace(one, metrics=one.metrics | metrics) for one in found)}


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("aurora-3.07.1", {}, ("this version does not take this server", "Aurora 3.07.1")),
        (
            "mysql-8.0.46",
            {"refused": {"metrics": 3024}},
            ("what it is cannot be told now", "see what holds the server up", "was cut short; see what"),
        ),
        (
            "mysql-8.0.46",
            {"refused": {"engine_log": 1227, "metrics": 1227}},
            (
                "refused: metrics (error 1227)",
                "refused: engine log (error 1227)",
                "missing: ages and flush percentages, as InnoDB's counters may not be read; GRANT PROCESS",
            ),
        ),
        (
            "mysql-8.0.46",
            of_metrics(log_lsn_current=("disabled", "0")),
            ("are off; SET GLOBAL innodb_monitor_enable = 'module_log'",),
        ),
        ("mysql-8.0.46", of_metrics(log_lsn_current=("enabled", "5")), ("load, as no redo was written",)),
        (
            "mysql-8.0.46",
            of_metrics(buffer_flush_pct_for_lsn=("enabled", "0")),
            ("flushing by age, as buffer_flush_pct_for_lsn was 0 throughout",),
        ),
        ("mysql-8.0.46", {}, ()),
    ],
    ids=["refused server", "cut short", "no grant", "off", "idle", "light", "nothing missing"],
)
def test_what_a_fixture_lacks_is_said(  # noqa: PLR0917 - fixtures and cases
    played: Answering,
    record: Record,
    tmp_path: Path,
    name: str,
    changes: dict[str, Any],
    said: tuple[str, ...],
) -> None:
    """Any server is recorded all the same; whoever records learns at once what the file lacks and why."""
    played(name, **changes)
    result = record("--for", "3s", what=FIXTURE)
    found = load(tmp_path / "out")

    ended(result, 0, *said)
    assert len(found.readings) == 3
    assert found.refused == changes.get("refused", found.refused)
    assert ("missing: " in result.output) is (bool(said) and name != "aurora-3.07.1")


@pytest.mark.parametrize("how", ["ended", "silent"])
def test_a_fixture_keeps_what_there_is(played: Answering, record: Record, tmp_path: Path, how: str) -> None:
    """An early end is a whole file, and fine; readings that failed are counted, with the reason."""
    session = played()

    def meanwhile(number: int) -> None:
        if how == "ended" and number == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        elif how == "silent" and number in {3, 4}:
            raise Unreachable("did not answer within 1 s")

    session.at_reading = meanwhile
    result = record(*(("--for", "5m") if how == "ended" else ()), what=FIXTURE)
    found = load(tmp_path / "out").readings

    assert result.exit_code == 0, result.output
    assert 4 <= len(found) <= 6 if how == "ended" else len(found) == 8
    assert ("8 readings, 2 missed (did not answer within 1 s)" in result.output) is (how == "silent")
