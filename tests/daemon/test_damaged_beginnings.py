"""What a daemon begins with where the journal of the one before is damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.daemon.life import Life, after, copied, modes, told
from tests.factory import FACTS, command
from tuner.daemon import persistence
from tuner.daemon.predecessors import Predecessors
from tuner.journal.keeper import FAILURES, Keeper, set_aside
from tuner.journal.reader import Unheard, absence, originals, standing, unheard
from tuner.journal.store import Store
from tuner.journal.tables import journal_path
from tuner.records import Hold, HoldCode, Remedy
from tuner.settings import Mode, Settings

ACTIVE = Settings(mode=Mode.ACTIVE)
Damage = Callable[[Path], object]


def pragma(statement: str, journal: Path) -> None:
    """Have a file look as another version would have left it."""
    with contextlib.closing(sqlite3.connect(journal)) as db, db:
        db.execute(statement)


def replaced(statements: str, journal: Path) -> None:
    """Put another database into the place of a journal."""
    journal.unlink()
    with contextlib.closing(sqlite3.connect(journal)) as db:
        db.executescript(statements)


def instead(make: Callable[[Path], None], journal: Path) -> None:
    """Put something that is no file into the place of a journal."""
    journal.unlink()
    make(journal)


def filled(byte: int, journal: Path) -> None:
    """Overwrite all of a file."""
    journal.write_bytes(bytes([byte]) * journal.stat().st_size)


def cut(size: int, journal: Path) -> None:
    """Take the end of a file away."""
    os.truncate(journal, size)


OVERWRITTEN: Damage = partial(filled, 0xA5)
EMPTIED: Damage = partial(cut, 0)
NEWER: Damage = partial(pragma, "PRAGMA user_version = 99")
DAMAGES: dict[str, Damage] = {
    "cut": partial(cut, 100),
    "overwritten": OVERWRITTEN,
    "zeroed": partial(filled, 0),
    "emptied": EMPTIED,
    "newer": NEWER,
    "older": partial(pragma, "PRAGMA user_version = 0"),
    "another's": partial(replaced, "CREATE TABLE other (one)"),
    "no tables": partial(replaced, "PRAGMA user_version = 1; VACUUM"),
    "directory": partial(instead, Path.mkdir),
    "pipe": partial(instead, os.mkfifo),
}


def held(life: Life) -> Hold:
    """Return the hold of a daemon that did not know what stood; it was advisory, and wrote nothing."""
    assert modes(life) == {Mode.ADVISORY}
    assert life.server.applied == []
    (hold,) = [one for one in life.records[-1].holds if one.code is HoldCode.PAUSED]
    return hold


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Return a daemon in active mode that wrote, was paused by a person, and ended."""
    life = Life(tmp_path_factory.mktemp("paused"), ACTIVE)
    return life.through("write", command("pause"), 3)


@pytest.fixture
def before(paused: Life, tmp_path: Path) -> Life:
    """Return it with a state directory of this test's own."""
    return copied(paused, tmp_path)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_journal_never_comes_up_active(before: Life, tmp_path: Path, damage: Damage) -> None:
    """What stood cannot be read, so the daemon and every next one is advisory and held, and says so."""
    damage(journal_path(tmp_path))

    for life in (after(before).through(40), after(before).through(40)):
        hold = held(life)
        assert "not known what stood" in hold.reason
        assert hold.remedies == (Remedy.RESUME,)
        (event,) = told(life, "unheard")
        assert event.message in hold.reason
    assert len(list(tmp_path.glob("journal.damaged-*.db"))) == 1


@pytest.mark.parametrize("damage", [OVERWRITTEN, EMPTIED, NEWER], ids=["overwritten", "emptied", "newer"])
def test_a_persons_word_ends_what_a_damaged_journal_began(
    before: Life, tmp_path: Path, damage: Damage
) -> None:
    """After innobrim resume the daemon writes again, and the next one begins in active mode."""
    damage(journal_path(tmp_path))
    life = after(before).through(3, command("resume"), "write")
    again = after(life).through(3)

    assert life.records[-1].mode is Mode.ACTIVE
    assert again.records[0].mode is Mode.ACTIVE
    assert told(again, "unheard") == []


def test_what_stands_in_a_form_that_cannot_be_read_holds_as_well(before: Life, tmp_path: Path) -> None:
    """A sound journal whose word on this server is garbled keeps hands off like a damaged one."""
    pragma("UPDATE meta SET value = '{\"paused\": 7}' WHERE name LIKE 'standing:%'", journal_path(tmp_path))

    assert held(after(before).through(40))


def test_a_journal_that_may_not_be_read_holds_and_stays(
    before: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With wrong permissions nothing is known, the server is left alone, and the file is as it was."""
    monkeypatch.setattr(persistence, "READY_SECONDS", 0.2)
    journal = journal_path(tmp_path)
    content = journal.read_bytes()
    opened, access = os.open, os.access

    def denied(path: str | Path, *how: int, **more: int) -> int:
        if str(path) == str(journal):
            raise PermissionError(13, "Permission denied")
        return opened(path, *how, **more)

    monkeypatch.setattr(os, "open", denied)
    monkeypatch.setattr(os, "access", lambda path, mode: access(path, mode) and str(path) != str(journal))

    assert "permission denied" in held(after(before).through(40)).reason
    assert journal.read_bytes() == content


def test_a_link_in_place_of_the_journal_is_not_followed(
    before: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal that leads elsewhere is neither read nor written, and nothing is written to the server."""
    monkeypatch.setattr(persistence, "READY_SECONDS", 0.2)
    journal = journal_path(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"not ours")
    journal.unlink()
    journal.symlink_to(elsewhere)

    assert "move the file here" in held(after(before).through(40)).reason
    assert elsewhere.read_bytes() == b"not ours"


def test_a_person_who_wanted_advisory_mode_is_still_heard(before: Life, tmp_path: Path) -> None:
    """A resume after damage does not undo an advisory mode that a person asked for and that can be read."""
    life = after(before).through(3, command("mode", value="advisory"), 3)
    NEWER(journal_path(tmp_path))
    again = after(life).through(3, command("resume"), 5)

    assert modes(again) == {Mode.ADVISORY}
    assert not again.records[-1].holds


def test_a_first_start_that_finds_no_room_leaves_no_empty_journal(tmp_path: Path) -> None:
    """A journal that could not be begun is gone again, so that the next start finds nothing to wonder at."""

    class Spoilt(Store):
        def _prepare(self, *, made: bool) -> bool:
            assert made
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(sqlite3.OperationalError):
        Spoilt(tmp_path / "journal.db", keep_ticks=10, program="0")

    assert list(tmp_path.iterdir()) == []
    assert unheard(tmp_path).why == ""


def test_another_server_of_that_journal_is_not_known_either(before: Life, tmp_path: Path) -> None:
    """A person's resume is about one server: beside another one of that journal nothing is known."""
    OVERWRITTEN(journal_path(tmp_path))
    life = after(before).through(3, command("resume"), 3)

    assert unheard(tmp_path).beside(life.server.identity) == ""
    assert "set aside" in unheard(tmp_path).beside("another")


def put_aside(journal: Path, *, damaged: bool = False, begun: bool = False) -> None:
    """Leave what a daemon does that dies while it sets a journal aside, and begins another."""
    if damaged:
        OVERWRITTEN(journal)
    set_aside(journal, wall=1_000_000_000.0)
    if begun:
        journal.touch()


@pytest.mark.parametrize("state", [{"damaged": True}, {}, {"begun": True}], ids=["damaged", "sound", "begun"])
def test_a_daemon_that_dies_while_it_sets_a_journal_aside_leaves_no_first_start(
    before: Life, tmp_path: Path, state: dict[str, bool]
) -> None:
    """Whatever comes between the old file and the new one, the next daemons are advisory and held.

    What the old file still tells, originals and a pause, is in the new one.
    """
    kept, stood = originals(tmp_path), standing(tmp_path)
    put_aside(journal_path(tmp_path), **state)

    for life in (after(before).through(40), after(before).through(40)):
        assert "not known what stood" in held(life).reason
        if "damaged" not in state:
            assert told(life, "originals") == []
            assert stood.keys() == standing(tmp_path).keys()
            assert [one.capacity for one in originals(tmp_path)] == [one.capacity for one in kept]


@pytest.mark.parametrize("stage", ["_prepare", "begin", "_add", "commit"])
def test_no_new_journal_is_there_without_what_the_old_one_did_not_tell(
    before: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """A disk that fills up, or a daemon that dies, at any step leaves on disk that something is not known."""
    journal = journal_path(tmp_path)
    OVERWRITTEN(journal)

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as spoilt:
        spoilt.setattr(Store, stage, full)
        keeper = Keeper(journal, keep_ticks=10, on_error=lambda _: None)
        for _ in range(3):
            try:
                keeper.write([], dropped=0)
            except FAILURES as error:
                keeper.failed(error)
            assert unheard(tmp_path).beside(before.server.identity)
        keeper.close()

    assert after(before).through(40).server.applied == []
    assert len(list(tmp_path.glob("journal.damaged-*.db"))) == 1


def test_a_file_set_aside_long_ago_changes_nothing_beside_a_journal(before: Life, tmp_path: Path) -> None:
    """Where another journal was begun since, the old one is of no account."""
    (tmp_path / "journal.damaged-20200101T000000Z.db").write_bytes(b"rubbish")

    assert unheard(tmp_path).why == ""
    assert absence(tmp_path) == ""
    assert before.server.identity in standing(tmp_path)


@pytest.mark.parametrize("known", ["orders", "c0ffee:3306:/var/lib/mysql/"])
def test_a_resume_beside_a_named_server_lasts_after_damage(known: str) -> None:
    """What a person said of a server is known under its name, or under what it calls itself."""
    facts = replace(FACTS, identity="orders", calls_itself="c0ffee:3306:/var/lib/mysql/")
    lost = Unheard("journal.db was set aside", frozenset({known}))

    assert Predecessors(unheard=lost).begin(ACTIVE, facts, now=0.0).mode is Mode.ACTIVE
    assert Predecessors(unheard=lost).begin(ACTIVE, FACTS, now=0.0).mode is Mode.ADVISORY
