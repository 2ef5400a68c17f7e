"""What ``innobrim record`` keeps of a server, and that it leaves the server alone."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.plant.clock import SimClock
from tests.bench import FakeServer
from tests.cli.support import SimInbox
from tuner.cli import record as command
from tuner.cli.main import cli
from tuner.cli.replay import replay_trace
from tuner.journal.reader import trace
from tuner.journal.tables import ENDED, Run
from tuner.records import Capacity, Facts, Missed, Receipt, Sample, TickRecord
from tuner.servers.port import Unreachable

Record = Callable[..., Result]


class Untouchable(FakeServer):
    """A server on a simulated clock that takes no write and no claim.

    Attributes:
        at: called with each reading's number before it is given.
    """

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


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Untouchable:
    """Return the server that is recorded; a second on its clock takes no time."""
    clock = SimClock()
    found = Untouchable(clock)
    monkeypatch.setattr(command, "real_server", lambda *_: found)
    monkeypatch.setattr(command, "SystemClock", lambda: clock)
    monkeypatch.setattr(command, "BoardInbox", SimInbox)
    return found


@pytest.fixture
def record(server: Untouchable, tmp_path: Path) -> Record:  # noqa: ARG001 - the server must be there
    """Return a way to record into ``trace.db``."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(
            cli, ["record", "--output", str(tmp_path / "trace.db"), *words], prog_name="innobrim"
        )

    return run


def ticks(path: Path) -> list[TickRecord]:
    """Return a trace's ticks."""
    return [item for item in trace(path) if isinstance(item, TickRecord)]


def test_it_ends_by_itself_and_the_trace_replays(record: Record, tmp_path: Path) -> None:
    """A reading a second for as long as was said, in one file that replays to the same decisions."""
    path = tmp_path / "trace.db"

    result = record("--for", "2m")

    assert result.exit_code == 0, result.output
    assert len(ticks(path)) == 120
    assert f"120 readings in {path}" in result.output
    assert f"innobrim report {path}" in result.output
    assert [one.name for one in tmp_path.iterdir()] == ["trace.db"]
    outcome = replay_trace(trace(path))
    assert (outcome.compared, outcome.same) == (120, True)


def test_nothing_is_written_where_an_active_loop_would_write(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the configuration's mode: the trace says what would be set, and nothing is."""
    configuration = tmp_path / "innobrim.toml"
    configuration.write_text('[loop]\nmode = "active"\n')
    monkeypatch.setenv("INNOBRIM_LOOP_MODE", "active")

    result = record("--for", "5m", "--config", str(configuration))

    assert result.exit_code == 0, result.output
    recorded = ticks(tmp_path / "trace.db")
    assert any(one.decision.would is not None for one in recorded)
    assert not any(one.decision.steps for one in recorded)


@pytest.mark.usefixtures("terminal")
def test_ctrl_c_keeps_everything_read_so_far(server: Untouchable, record: Record, tmp_path: Path) -> None:
    """An early end is a whole trace, and fine."""
    server.at = lambda number: os.kill(os.getpid(), signal.SIGINT) if number == 30 else None

    result = record("--for", "1h")

    assert result.exit_code == 0, result.output
    recorded = ticks(tmp_path / "trace.db")
    assert 30 <= len(recorded) <= 32
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nohup_is_heeded(server: Untouchable, record: Record, tmp_path: Path) -> None:
    """A recording that was started to outlive its terminal does."""
    server.at = lambda number: os.kill(os.getpid(), signal.SIGHUP) if number == 30 else None
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        result = record("--for", "1m")
    finally:
        signal.signal(signal.SIGHUP, before)

    assert result.exit_code == 0, result.output
    assert len(ticks(tmp_path / "trace.db")) == 60


def test_silence_is_recorded_as_a_gap_and_said(server: Untouchable, record: Record, tmp_path: Path) -> None:
    """Readings that failed are in the trace with their reason, and counted at the end."""

    def fail_for_a_while(number: int) -> None:
        server.down = "did not answer within 1 s" if 20 < number <= 25 else ""

    server.at = fail_for_a_while

    result = record("--for", "1m")

    assert "55 readings, 5 missed (did not answer within 1 s)" in result.output
    missed = [one for one in ticks(tmp_path / "trace.db") if isinstance(one.tick.reading, Missed)]
    assert len(missed) == 5


def test_a_trace_is_never_overwritten(server: Untouchable, record: Record, tmp_path: Path) -> None:
    """A file that is there is left as it is, before the server is asked anything."""
    path = tmp_path / "trace.db"
    path.write_text("last monday")

    result = record()

    assert result.exit_code == 2
    assert "is there already" in result.output
    assert path.read_text() == "last monday"
    assert server.reads == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--output", "/nowhere/at/all/trace.db"), "there is no directory /nowhere/at/all"),
        (("--output", "trace.lock"), "write .db"),
        (("--for", "soon"), "is no duration"),
    ],
)
def test_wrong_options_say_what_would_be_right(record: Record, words: tuple[str, ...], said: str) -> None:
    """Exit 2, with the option, the value and what is wrong with it."""
    result = record(*words)

    assert result.exit_code == 2
    assert said in result.output


def test_a_server_that_does_not_answer_leaves_no_file(
    server: Untouchable, record: Record, tmp_path: Path
) -> None:
    """Exit 3 with the reason, and nothing to tidy up."""
    server.absent = "127.0.0.1:3306 refused the connection"

    result = record()

    assert result.exit_code == 3
    assert "refused the connection" in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_server_without_counters_is_recorded_and_said(
    server: Untouchable, record: Record, tmp_path: Path
) -> None:
    """Counters that are off stay off; the first lines say what the trace will not have."""
    server.told = {"disabled_counters": ("log_lsn_current",)}

    result = record("--for", "10s")

    assert "counters are off and stay off" in result.output
    header = next(iter(trace(tmp_path / "trace.db")))
    assert isinstance(header, Run)
    assert header.facts.disabled_counters == ("log_lsn_current",)


def test_the_trace_ends_in_order(record: Record, tmp_path: Path) -> None:
    """Whoever reads the file can tell an end from a crash."""
    record("--for", "10s")

    with closing(sqlite3.connect(tmp_path / "trace.db")) as db:
        assert db.execute("SELECT code FROM events ORDER BY id DESC LIMIT 1").fetchone() == (ENDED,)
