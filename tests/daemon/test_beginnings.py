"""What a daemon begins with where something changed while there was none."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from tests.daemon.life import ORIGINALS, Life, after, modes, told
from tests.factory import OTHER_IDENTITY, command
from tuner.core.writes.plan import PAIR
from tuner.daemon.persistence import Persistence
from tuner.findings import remedies
from tuner.journal.reader import originals
from tuner.journal.tables import journal_path
from tuner.records import Capacity
from tuner.settings import Mode, Settings

ACTIVE = Settings(mode=Mode.ACTIVE)


@pytest.fixture
def before(active: Life) -> Life:
    """Return a daemon in active mode that has not begun to live."""
    return active


def test_another_server_since_the_last_run_is_left_alone(before: Life, tmp_path: Path) -> None:
    """A server that took the address while no daemon ran is not written to before a person says so."""
    before.through("write")
    life = after(before, identity=OTHER_IDENTITY)
    with capture_logs() as logged:
        life.through(40)
    again = after(life).through(40)

    (event,) = told(life, "other_server")
    assert event.message == (
        f"server {OTHER_IDENTITY} answers now; the mode is advisory until a person says otherwise"
        f"; the last run was with the server {before.server.identity}"
    )
    (started,) = [line for line in logged if line["event"] == "started"]
    assert str(started["why"]).endswith("ended by innobrim mode active")
    assert modes(life) == modes(again) == {Mode.ADVISORY}
    assert life.server.applied == again.server.applied == []
    assert OTHER_IDENTITY not in [one.identity for one in originals(tmp_path)]
    assert told(again, "other_server") == []


def test_a_persons_word_lets_it_tune_the_other_server(before: Life) -> None:
    """After ``innobrim mode active`` the next daemon beside that server is active from its start."""
    before.through("write")
    life = after(before, identity=OTHER_IDENTITY).through(3, command("mode", value="active"), "write")
    again = after(life).through(3)

    assert again.records[0].mode is Mode.ACTIVE
    assert told(again, "other_server") == []


def test_a_pause_goes_on_beside_another_server(before: Life) -> None:
    """Hands off was said: who takes the server's place meanwhile is not touched either."""
    before.through("write", command("pause"), 3)
    life = after(before, identity=OTHER_IDENTITY).through(40)

    assert "paused" in {hold.code.value for hold in life.records[-1].holds}


def test_another_address_is_no_other_server(before: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who configures another address means another server, and is not asked again."""
    before.through("write")
    life = after(before, identity=OTHER_IDENTITY)
    facts = life.server.facts()
    elsewhere = replace(facts, endpoint="innobrim@127.0.0.2:3306")
    monkeypatch.setattr(life.server, "facts", lambda: elsewhere)
    life.through(3)

    assert life.records[0].mode is Mode.ACTIVE
    assert told(life, "other_server") == []


THEIRS = Capacity(3_000, 7_000)


def changed(before: Life, pair: Capacity = THEIRS) -> Life:
    """Return the next daemon, after somebody else set a pair while there was none."""
    life = after(before)
    life.server.capacity, life.server.ours = pair, False
    return life


def holds(life: Life) -> set[str]:
    """Return the codes of the holds at the first tick."""
    return {hold.code.value for hold in life.records[0].holds}


def test_a_change_while_no_daemon_ran_waits_for_a_person(before: Life) -> None:
    """A pair that somebody set after the daemon's end is not tuned away from before a person says so."""
    before.through("write")
    left = before.server.capacity
    life = changed(before)
    life.through(30, lambda: life.server.applied == [], command("resume"), "write")

    (event,) = told(life, "foreign_change")
    change = f"{PAIR} were left at {left} and are 3000/7000"
    assert remedies.told(event).startswith(
        f"{change}: somebody else changed them while no daemon ran; who: SELECT "
    )
    assert "foreign_change" in holds(life)


def of_another_version(life: Life) -> None:
    """Make what a daemon left unreadable in the way that an upgrade does: records of another shape."""
    path = journal_path(Path(life.config.daemon.state_directory))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE runs SET fingerprint = 'of another version'")
        db.execute("UPDATE ticks SET record = x'00'")


@pytest.mark.parametrize("pair", [THEIRS, None])
def test_a_change_while_the_daemon_was_upgraded_waits_for_a_person(
    before: Life, pair: Capacity | None
) -> None:
    """A daemon that cannot read the records of the version before knows all the same which pair that left."""
    before.through("write")
    left = before.server.capacity
    of_another_version(before)
    life = (after(before) if pair is None else changed(before, pair)).through(10)

    assert ("foreign_change" in holds(life)) == (pair is not None)
    if pair is not None:
        (event,) = told(life, "foreign_change")
        assert event.message.startswith(f"{PAIR} were left at {left} and are {pair}")
        assert life.server.applied == []


@pytest.mark.parametrize("what", ["as left", "originals", "restarted", "baseline"])
def test_what_is_no_change_by_somebody_else_holds_nothing(before: Life, what: str) -> None:
    """What the daemon left, the originals, the baseline and what a new mysqld has are no such change."""
    before.through("write")
    life = after(before)
    if what == "originals":
        life = changed(before, ORIGINALS)
    elif what == "restarted":
        life = changed(before)
        life.server.started += 3600.0
        life.server.facts_started += 3600.0
    elif what == "baseline":
        life = changed(before)
        life.config = replace(life.config, loop=replace(ACTIVE, baseline="3000/7000"))
    life.through(3)

    assert told(life, "foreign_change") == []


def test_what_a_person_let_pass_before_the_end_is_no_change(before: Life) -> None:
    """A pair that somebody set and a person resumed on is what the daemon left, though it never wrote it."""

    def theirs() -> bool:
        before.server.capacity, before.server.ours = THEIRS, False
        return bool(told(before, "foreign_change"))

    before.through("write", theirs, command("resume"), lambda: told(before, "resumed"))

    assert told(after(before).through(3), "foreign_change") == []


@pytest.mark.parametrize("why", ["advisory run", "killed"])
def test_what_the_journal_cannot_know_of_holds_nothing(
    before: Life, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """After a run that only watched, or that was killed within a write, no pair is somebody else's."""
    if why == "killed":
        monkeypatch.setattr(Persistence, "end", lambda _self, _wall: None)
    before.through("write")
    if why == "advisory run":
        advisory = after(before)
        advisory.config = replace(advisory.config, loop=Settings())
        advisory.through(3)

    assert told(changed(before).through(3), "foreign_change") == []


def relearned(before: Life, changes: Callable[[dict[str, Any]], None]) -> Life:
    """Return the next daemon, after what the one before learned was changed on disk."""
    path = journal_path(Path(before.config.daemon.state_directory))
    with contextlib.closing(sqlite3.connect(path)) as db:
        ((blob,),) = db.execute("SELECT state FROM learned").fetchall()
        raw = msgspec.msgpack.decode(blob)
        changes(raw)
        db.execute("UPDATE learned SET state = ?", (msgspec.msgpack.encode(raw),))
        db.commit()
    return after(before)


def test_what_cannot_be_read_is_forgotten_alone_and_said(before: Life) -> None:
    """Event and log name the spoilt part with the reason; the room for bursts is what it was."""
    before.through(40)

    def spoil(raw: dict[str, Any]) -> None:
        raw["week"]["visits"] = "often"
        raw["late"] |= {"recent": 4e7, "at": before.clock.wall()}

    with capture_logs() as logged:
        life = relearned(before, spoil).through(40)

    (event,) = told(life, "learned_lost")
    assert "bursts by hour of the week: Expected `array`, got `str`" in event.message
    assert any(event.message in str(line.get("why")) for line in logged)
    assert life.records[-1].estimate is not None
    assert life.records[-1].estimate.burst_bytes == pytest.approx(4e7, rel=0.1)
    assert told(after(life).through(40), "learned_lost") == []


def test_an_upgrade_of_the_server_while_no_daemon_ran_is_said_once(before: Life) -> None:
    """The next daemon says what is forgotten, with both versions; the one after it has nothing to say."""
    before.through(40)

    def measured(raw: dict[str, Any]) -> None:
        raw |= {"recovery_factor": 0.5, "version": "9.7.4", "proven": ""}

    life = relearned(before, measured)
    life.server.told = {"version": "9.8.0"}
    life.through(40)
    again = after(life)
    again.server.told = {"version": "9.8.0"}
    again.through(40)

    (event,) = told(life, "learned_afresh")
    assert event.message == (
        "the server is 9.8.0 legacy now: the factor 0.50 of crash recoveries, measured on 9.7.4, is forgotten"
    )
    assert told(again, "learned_afresh") == []
