"""What ``innobrim report`` makes of what it is given, and how it refuses what it cannot read."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.support import ended, innobrim
from tests.lab.report.factory import suite, write_rows
from tests.lab.report.reading import Page
from tests.lab.report.recorded import record_loop

Report = Callable[..., Result]
NAMES = ("cascade", "default")


report = partial(innobrim, "report")


def table(path: Path) -> list[dict[str, str]]:
    """Return a CSV file's lines."""
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Return the directory of a finished bench."""
    write_rows(tmp_path / "rows.jsonl", suite(NAMES, blocks=2))
    return tmp_path


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a daemon's state directory."""
    directory = tmp_path_factory.mktemp("state")
    record_loop(directory, seconds=60)
    return directory


def test_a_bench_gets_its_page_beside_its_rows(bench: Path) -> None:
    """Directory or file, the page is report.html there; JSON comes when asked for, with ratios and bounds."""
    for source in (bench, bench / "rows.jsonl"):
        result = report(source)
        assert result.exit_code == 0, result.output
        assert result.stdout.split() == [str(bench / "report.html")]
    assert {one.name for one in bench.iterdir()} == {"rows.jsonl", "report.html"}
    assert "MySQL 9.7.4" in Page((bench / "report.html").read_text()).words

    report(bench, "--json")

    assert {one.name for one in bench.iterdir()} == {"rows.jsonl", "report.html", "summary.json"}
    (group,) = json.loads((bench / "summary.json").read_text())["groups"]
    ours = next(one for one in group["contenders"] if one["kind"] == "policy")
    ratio = ours["to"]["default"]
    assert 1.8 < ratio["low"] < ratio["mean"] < ratio["high"] < 2.5


def test_a_trace_gets_its_page_beside_it(state: Path, tmp_path: Path) -> None:
    """NAME.db becomes NAME.html; CSV and JSON begin with the same name."""
    trace = tmp_path / "monday.db"
    trace.write_bytes((state / "journal.db").read_bytes())

    result = report(trace, "--csv", "--json")

    assert result.exit_code == 0, result.output
    assert {one.name for one in tmp_path.iterdir()} == {
        "monday.db",
        "monday.html",
        "monday-series.csv",
        "monday-events.csv",
        "monday-summary.json",
    }
    seconds = table(tmp_path / "monday-series.csv")
    assert len(seconds) == 60
    assert float(seconds[5]["commits"]) > 0
    assert json.loads((tmp_path / "monday-summary.json").read_text())["figures"]["row_changes_mean"] > 0


def test_a_state_directory_is_left_as_it_is(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of a daemon's journal goes where the command was given."""
    monkeypatch.chdir(tmp_path)
    before = {one.name: one.read_bytes() for one in state.iterdir()}

    result = report(state)

    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").exists()
    assert {one.name: one.read_bytes() for one in state.iterdir()} == before


def test_a_page_that_is_there_is_replaced_whole(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes only half of the new page leaves the old one, and nothing beside it."""
    page = bench / "page.html"
    page.write_text("the old one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        ended(report(bench, "--output", page), 2, f"{page}: cannot be written: no space left on device")
    assert page.read_text() == "the old one"
    assert {one.name for one in bench.iterdir()} == {"rows.jsonl", "page.html"}

    assert report(bench, "--output", page).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")


def test_a_bench_that_was_killed_in_a_line_is_read_up_to_there(bench: Path) -> None:
    """A last line that was cut short is no row yet, and no error."""
    rows = bench / "rows.jsonl"
    rows.write_text(rows.read_text()[:-500])

    result = report(bench)

    assert result.exit_code == 0, result.output
    assert "3 rows of the suite" in Page((bench / "report.html").read_text()).words


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent", None, "no such file or directory; expected rows.jsonl of a bench, a trace"),
        ("empty", "", "empty; expected rows.jsonl of a bench"),
        ("notes.txt", "hello\n", "something else; expected rows.jsonl"),
        ("rows.jsonl", '{"part": "blocks", "block": 1}\n', "line 1: no row of innobrim bench"),
        ("rows.jsonl", '{"schema": 2, "contender": "x"}\n', "line 1: schema 2; this version reads 1"),
        ("rows.jsonl", '{"schema": 1, "contender": 3}\n', "line 1: Expected `str`, got `int`"),
        ("rows.jsonl", '{"schema": 1}\n', "line 1: Object missing required field `contender`"),
        ("rows.jsonl", '{"schema": 1,\n{"schema": 1}\n', "line 1: not JSON"),
        (
            "rows.jsonl",
            '{"schema": 1, "contender": "x", "series": {"at": [1, 2], "commits": [1]}}\n',
            "line 1: series.commits has 1 values, series.at 2",
        ),
    ],
)
def test_what_is_no_source_is_refused_with_what_was_expected(
    tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    """Exit 2, the file's name and the line, and no page."""
    source = tmp_path / name
    if content is not None:
        source.write_text(content)

    ended(report(source), 2, str(source), said)
    assert not list(tmp_path.glob("*.html"))


def test_what_a_directory_or_database_is_instead_is_said(tmp_path: Path) -> None:
    """A directory with neither, a bench without a row yet with how to go on, another program's database."""
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE t (x)")

    ended(report(other), 2, "no journal of InnoBrim's")
    ended(report(tmp_path), 2, "neither rows.jsonl of a bench nor journal.db of a daemon")
    (tmp_path / "bench.json").write_text("{}")
    ended(report(tmp_path), 2, f"innobrim bench --resume {tmp_path}")


def test_options_that_do_not_fit_are_refused(bench: Path, state: Path, tmp_path: Path) -> None:
    """A run of rows, a run that is not there, and a page in the place of its own source."""
    rows = bench / "rows.jsonl"
    before = rows.read_bytes()

    assert "has every second already" in report(bench, "--csv").output
    assert "--run 1: it names a run of a journal" in report(bench, "--run", 1).output
    assert f"{state}: a page is made of one source" in report(bench, state).output
    assert "no run 9; the only one is 1" in report(state, "--run", 9, "--output", tmp_path / "x.html").output
    assert "that is what the page is made of" in report(bench, "--output", rows).output
    assert rows.read_bytes() == before
    assert "no such file" in report(bench, "--output", tmp_path / "no" / "x.html").output
