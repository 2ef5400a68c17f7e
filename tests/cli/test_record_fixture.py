"""What ``innobrim record --fixture`` keeps of a server, and what it says."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.cli.support import SimInbox
from tests.servers.fixtured import Fixtured, fixture
from tuner.cli import record as command
from tuner.cli.main import cli
from tuner.servers.fixture import Reading, load
from tuner.servers.port import Unreachable

Record = Callable[..., Result]


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
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[[Played], Played]:
    """Return a way to say which server answers; a second on its clock takes no time."""
    clock = SimClock()
    monkeypatch.setattr(command, "SystemClock", lambda: clock)
    monkeypatch.setattr(command, "BoardInbox", SimInbox)

    def answer(session: Played) -> Played:
        monkeypatch.setattr(command, "Session", lambda *_: session)
        return session

    return answer


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return a way to record into ``server.json``."""

    def run(*words: str) -> Result:
        words = ("record", "--fixture", str(tmp_path / "server.json"), *words)
        return CliRunner().invoke(cli, words, prog_name="innobrim")

    return run


Answering = Callable[[Played], Played]


@pytest.mark.parametrize("name", ["mysql-5.7.44", "mysql-8.4.8", "percona-8.4.6", "mariadb-10.6.16"])
def test_ten_readings_of_any_family(played: Answering, record: Record, tmp_path: Path, name: str) -> None:
    """One a second, with what was taken out said, and nothing set."""
    session = played(Played(name))

    result = record()

    assert result.exit_code == 0, result.output
    found = load(tmp_path / "server.json")
    assert [reading.second for reading in found.readings] == [float(second) for second in range(10)]
    assert found.version == fixture(name).version
    assert not found.synthetic
    assert "10 readings in" in result.output
    assert "taken out: account and address of the connection" in result.output
    assert "look through it before you send it" in result.output
    assert session.closed
    assert all(statement.startswith(("SELECT ", "SHOW ")) for statement in session.asked)


def test_a_server_too_busy_to_say_what_it_is_is_recorded_all_the_same(
    played: Answering, record: Record, tmp_path: Path
) -> None:
    """A statement that the server cut short ends no recording: its number is in the file."""
    played(Played("mysql-8.0.46", refused={"metrics": 3024}))
    result = record("--for", "3s")

    assert result.exit_code == 0
    assert "what it is cannot be told now" in result.output
    assert "see what holds the server up" in result.output
    assert load(tmp_path / "server.json").refused == {"metrics": 3024}


def test_a_server_that_is_refused_is_recorded_all_the_same(
    played: Answering, record: Record, tmp_path: Path
) -> None:
    """That is when it is needed most; the reason is said."""
    played(Played("aurora-3.07.1"))

    result = record("--for", "3s")

    assert result.exit_code == 0, result.output
    assert "this version does not take this server" in result.output
    assert "Aurora 3.07.1" in result.output
    assert len(load(tmp_path / "server.json").readings) == 3


def test_what_the_account_may_not_see_is_said(played: Answering, record: Record, tmp_path: Path) -> None:
    """An account without PROCESS leaves variables and status, and the error's number for the rest."""
    played(Played("mysql-8.0.46", refused={"metrics": 1227, "engine_log": 1227}))

    result = record("--for", "3s")

    assert result.exit_code == 0, result.output
    assert "refused: metrics (error 1227)" in result.output
    assert "refused: engine log (error 1227)" in result.output
    assert load(tmp_path / "server.json").refused == {"engine_log": 1227, "metrics": 1227}


def test_ctrl_c_keeps_what_there_is(played: Answering, record: Record, tmp_path: Path) -> None:
    """An early end is a whole file, and fine."""
    session = played(Played("mysql-8.0.46"))
    session.at_reading = lambda number: os.kill(os.getpid(), signal.SIGTERM) if number == 4 else None

    result = record("--for", "5m")

    assert result.exit_code == 0, result.output
    assert 4 <= len(load(tmp_path / "server.json").readings) <= 6


def test_silence_in_between_is_counted(played: Answering, record: Record, tmp_path: Path) -> None:
    """Readings that failed are not in the file, and said with the reason."""
    session = played(Played("mysql-8.0.46"))

    def fail(number: int) -> None:
        if number in {3, 4}:
            raise Unreachable("did not answer within 1 s")

    session.at_reading = fail

    result = record()

    assert result.exit_code == 0, result.output
    assert "8 readings, 2 missed (did not answer within 1 s)" in result.output
    assert len(load(tmp_path / "server.json").readings) == 8


def test_a_server_that_does_not_answer_leaves_no_file(
    played: Answering, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3 where nothing answers at all, 1 where no reading succeeded."""
    session = played(Played("mysql-8.0.46"))

    def silent(*_: object) -> None:
        raise Unreachable("timed out")

    session.at_reading = silent
    result = record("--for", "3s")
    assert (result.exit_code, "no reading succeeded" in result.output) == (1, True)

    monkeypatch.setattr(session, "query", silent)
    result = record("--for", "3s")
    assert (result.exit_code, "timed out" in result.output) == (3, True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_left(played: Answering, record: Record, tmp_path: Path) -> None:
    """It is not overwritten, and the server is asked nothing."""
    session = played(Played("mysql-8.0.46"))
    (tmp_path / "server.json").write_text("last week's")

    result = record()

    assert result.exit_code == 2
    assert "a fixture is never overwritten" in result.output
    assert (tmp_path / "server.json").read_text() == "last week's"
    assert session.asked == []


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--for", "1h"), "with --fixture at most"), (("--output", "trace.db"), "name one of them")],
)
def test_wrong_options_say_what_would_be_right(
    played: Answering, record: Record, words: tuple[str, ...], said: str
) -> None:
    """Exit 2, before anything is asked."""
    session = played(Played("mysql-8.0.46"))

    result = record(*words)

    assert (result.exit_code, session.asked) == (2, [])
    assert said in result.output


def of_metrics(name: str, **metrics: tuple[str, str]) -> tuple[Reading, ...]:
    """Return the readings of a fixture with counters that say otherwise."""
    return tuple(replace(one, metrics=one.metrics | metrics) for one in fixture(name).readings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"refused": {"metrics": 1227}}, "may not be read; GRANT PROCESS ON *.* lets the account see them"),
        ({"refused": {"metrics": 3024}}, "was cut short; see what holds the server up"),
        (
            {"readings": of_metrics("mysql-8.0.46", log_lsn_current=("disabled", "0"))},
            "are off; SET GLOBAL innodb_monitor_enable = 'module_log'",
        ),
        (
            {"readings": of_metrics("mysql-8.0.46", log_lsn_current=("enabled", "5"))},
            "load, as no redo was written",
        ),
        (
            {"readings": of_metrics("mysql-8.0.46", buffer_flush_pct_for_lsn=("enabled", "0"))},
            "flushing by age, as buffer_flush_pct_for_lsn was 0 throughout",
        ),
    ],
    ids=["refused", "cut short", "off", "idle", "light"],
)
def test_what_another_recording_could_show_is_said(
    played: Answering, record: Record, changes: dict[str, Any], said: str
) -> None:
    """Whoever records for us learns at once what the file lacks and what to do, and not from our answer."""
    played(Played("mysql-8.0.46", **changes))

    result = record("--for", "3s")

    assert result.exit_code == 0, result.output
    (missing,) = [line for line in result.output.splitlines() if line.startswith("missing: ")]
    assert said in missing


def test_a_recording_that_lacks_nothing_says_so_by_silence(played: Answering, record: Record) -> None:
    """Under load with counters on nothing is missing; what stays in the file is named."""
    played(Played("mysql-8.0.46"))

    result = record("--for", "3s")

    assert "missing: " not in result.output
    assert "left in: version and version_comment, '8.0.46'" in result.output
