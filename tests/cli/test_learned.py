"""What was learned, as ``innobrim status`` shows it, with a daemon and without one."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from msgspec.structs import replace

from api.ledger import Ledger
from tests.api.factory import FACTS
from tests.cli.support import write_journal
from tests.core.learned_document import full
from tests.daemon.life import Life
from tuner.cli.status import learned_text
from tuner.core.memory import Known, Learned, known_of
from tuner.daemon.predecessors import look
from tuner.journal.items import LearnedItem
from tuner.journal.tables import journal_path
from tuner.journal.writer import JournalWriter
from tuner.settings import Settings

Run = Callable[..., Result]

LINE = (
    "load of 3 of the 168 hours of a week; bursts up to 57.2 MiB; a crash recovery takes 0.50 of "
    "the predicted time, measured on 9.7.4; "
    "flush law verified on 9.7.4; 3 trials since 31 Dec 2025, 1 won; trials of 8.4.8 legacy set aside"
)


def remembered(folder: Path) -> None:
    """Leave behind the journal of a daemon that learned of its server, and of another one."""
    write_journal(folder)
    journal = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    for identity in (FACTS.identity, "another"):
        journal.put(LearnedItem(identity, time.time(), msgspec.msgpack.encode(full())))
    journal.close(5.0)


def test_status_shows_what_was_learned(folder: Path, run: Run) -> None:
    """One line has all of it, and the JSON object its figures, also where no daemon is at work."""
    remembered(folder)

    assert f"learned         {LINE}\n" in run("status").stdout
    shown = json.loads(run("status", "--json").stdout)["learned"]
    assert msgspec.convert(shown, Known) == known_of(full())


def test_status_shows_what_was_saved_with_its_bounds(folder: Path, run: Run) -> None:
    """The line has the likeliest figure between its bounds, and the JSON object is whole by its type."""
    remembered(folder)
    savings = full().savings

    (line,) = (one for one in run("status").stdout.splitlines() if one.startswith("page writes "))
    figures = [f"{one * FACTS.page_size / (1 << 30):,.1f}" for one in (savings.likely, savings.least)]
    assert all(figure in line for figure in figures)
    shown = msgspec.convert(json.loads(run("status", "--json").stdout)["ledger"], Ledger)
    assert (shown.pages_saved.least, shown.pages_saved.most) == (savings.least, savings.most)


def test_status_without_anything_learned_has_no_line(folder: Path, run: Run) -> None:
    """Where the journal knows nothing of the server, nothing is made up."""
    write_journal(folder)

    assert "\nlearned" not in run("status").stdout
    assert "\npage writes" not in run("status").stdout
    nothing = json.loads(run("status", "--json").stdout)
    assert (nothing["learned"], nothing["ledger"]) == (None, None)


def test_the_line_says_what_was_seen_often_and_what_not_at_all() -> None:
    """Repeated weeks and a win in use are said, and so is what has not been seen yet."""
    often = replace(known_of(full()), hours=97, visits=4, trials=1, aside=())

    assert learned_text(often, in_use=True) == (
        "load of 97 of the 168 hours of a week (each seen up to 4 times); bursts up to 57.2 MiB; "
        "a crash recovery takes 0.50 of the predicted time, measured on 9.7.4; flush law verified on 9.7.4; "
        "1 trial since 31 Dec 2025, 1 won, one in use"
    )
    assert learned_text(known_of(Learned()), in_use=False) == (
        "load of 0 of the 168 hours of a week; no burst; no crash recovery measured"
    )


def test_a_daemon_tells_what_it_has_learned(tmp_path: Path) -> None:
    """Who asks a daemon at work sees what it knows by now, before it is on disk."""
    life = Life(tmp_path, Settings())
    seen: list[Learned | None] = [life.board.learned()]

    def script() -> None:
        life.wait_for_ticks(3)
        seen.append(life.board.learned())

    life.live(script)

    before, during = seen
    assert before is None
    assert during is not None
    assert known_of(during).hours == 0


def test_what_was_learned_is_forgotten_on_purpose(folder: Path) -> None:
    """A row that is deleted while no daemon runs is unknown to the next one, and the others stay."""
    remembered(folder)
    with closing(sqlite3.connect(journal_path(folder))) as db, db:
        db.execute("DELETE FROM learned WHERE identity = ?", (FACTS.identity,))

    left = look(folder, quietly=True)
    assert list(left.learned or {}) == ["another"]
    assert left.begin(Settings(), FACTS, now=0.0).estimator.recovery.factor == 1.0
