"""A trace of a real server under load, and the page that is made of it."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from lab.bench.daemon import PROGRAM, environment
from lab.servers.base import LabServer
from tests.lab.report.reading import Page
from tests.real.installation import Innobrim, innobrim
from tests.real.support import DEFAULT, Work, global_sets, in_force, new_account, under_load, until
from tuner.journal.reader import trace
from tuner.journal.tables import JournalError
from tuner.records import TickRecord

pytestmark = pytest.mark.real

SECONDS = 10
SOON = 30.0


@pytest.fixture
def reader(server: LabServer, work: Work, tmp_path: Path) -> Innobrim:
    """Return an installation whose account may only look, beside a server under load."""
    under_load(server, work, DEFAULT)
    return Innobrim(server, tmp_path / "reader", account=new_account(server, "innobrim_reader"))


def ticks(path: Path) -> list[TickRecord]:
    """Return the ticks of a trace that are on disk; none where there is no file yet."""
    try:
        return [item for item in trace(path) if isinstance(item, TickRecord)]
    except JournalError:
        return []


def test_ten_seconds_become_a_page_and_the_server_is_not_touched(
    server: LabServer, reader: Innobrim, tmp_path: Path
) -> None:
    """No SET GLOBAL by the server's own count, and what it did is on the page: load, ages, flushing."""
    path = tmp_path / "trace.db"
    before = global_sets(server)

    recorded = reader.command("record", "--for", f"{SECONDS}s", "--output", str(path))

    assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    assert (global_sets(server), in_force(server)) == (before, DEFAULT)
    assert SECONDS // 2 <= len(ticks(path)) <= SECONDS + 1
    reported = innobrim("report", str(path), "--csv", "--json")
    assert reported.returncode == 0, reported.stdout + reported.stderr
    page = Page((tmp_path / "trace.html").read_text())
    assert "Advisory throughout: nothing was written to the server." in page.words
    series = page.data["trace"]["series"]
    drawn = {
        name: [value for value in series[name] if value is not None]
        for name in ("row_changes", "pages_flushed", "checkpoint_age", "max_checkpoint_age")
    }
    assert min(drawn["row_changes"]) > 0
    assert max(drawn["pages_flushed"]) > 0
    assert 0 < max(drawn["checkpoint_age"]) < max(drawn["max_checkpoint_age"])
    assert set(series["io_capacity_max"]) == {DEFAULT.io_capacity_max}
    figures = json.loads((tmp_path / "trace-summary.json").read_text())["figures"]
    assert figures["readings_missed"] == 0


@pytest.mark.usefixtures("terminal")
def test_ctrl_c_keeps_what_was_read_and_the_writer_lock_was_never_taken(
    server: LabServer, reader: Innobrim, tmp_path: Path
) -> None:
    """A daemon could have become the writer all the while; the trace ends where it was told to, whole."""
    path = tmp_path / "trace.db"
    with subprocess.Popen(  # noqa: S603 - our own program
        [PROGRAM, "record", "--config", str(reader.config), "--output", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
    ) as process:
        until(lambda: len(ticks(path)) > 0, SOON, "ticks on disk")
        assert server.query("SELECT IS_FREE_LOCK('innobrim.writer')") == [(1,)]
        on_disk = len(ticks(path))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=SOON)

    assert process.returncode == 0, said
    assert f"{len(ticks(path))} readings" in said
    assert len(ticks(path)) >= on_disk
    assert innobrim("replay", str(path)).returncode == 0
