"""``innobrim why``: what it answers from a journal that lived through something, and where it cannot."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
import pytest
from click import BadParameter
from msgspec.structs import replace

from tests.api.factory import MEBIBYTE, record
from tests.cli.support import ended, innobrim
from tests.why.asked import ASKED, END_SECONDS, FOLDER, HELD_SECONDS, Situation, day, said
from tests.why.situations import EPOCH, lived
from tuner.cli.why import moment
from tuner.records import Capacity, Decision, DecisionKind, DrainProgress
from tuner.settings import Mode
from tuner.why.model import Why
from tuner.why.told import story
from tuner.why.view import Around

Lived = Callable[[Situation], Path]
EARLY = 600
END = datetime(2026, 1, 1, 0, 32, 39, tzinfo=UTC).timestamp()


@pytest.fixture(scope="module")
def lived_through(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Return what gives the journal's directory of a situation, lived through once."""

    @cache
    def found(situation: Situation) -> Path:
        return situation(tmp_path_factory.mktemp(situation.__name__))

    return found


@pytest.fixture
def journal(lived_through: Lived, tmp_path: Path) -> Path:
    """Return a copy of the day's journal, as an export is one."""
    return Path(shutil.copy(lived_through(day) / "journal.db", tmp_path / "exported.db"))


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have people live in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def altered(path: Path, *statements: str) -> None:
    """Change a journal behind its back."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def asked_json(*words: object) -> Why:
    """Return the answer of the command as JSON, which is of its type and has no field beside it."""
    found = innobrim("why", *words, "--json").stdout
    answer = msgspec.json.decode(found, type=Why)
    assert json.loads(found) == json.loads(msgspec.json.encode(answer))
    return answer


@pytest.mark.parametrize("name", ASKED)
def test_each_situation_is_told_as_it_was(name: str, lived_through: Lived) -> None:
    """A change or a moment of each kind is told in the sentences that somebody read and kept."""
    situation, ask = ASKED[name]

    assert said(ask, lived_through(situation)) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [one for one in DecisionKind if one is not DecisionKind.KEEP])
def test_of_no_write_it_is_said_that_nothing_was_written(kind: DecisionKind) -> None:
    """Whatever kind of decision wrote, its story is one of a write."""
    pair = Capacity(400, 800)
    steps = (("innodb_io_capacity", 400), ("innodb_io_capacity_max", 800))
    decision = Decision(kind=kind, reason=kind.value, detail="as asked", target=pair, steps=steps)
    told = story(Around(record(decision=decision)))

    assert "nothing was written" not in " ".join((told.headline, *told.sentences)).lower()


def test_it_is_told_why_the_two_values_part() -> None:
    """Where C rises while M falls, the way that C goes is explained, and nowhere else."""

    def told(new: Capacity) -> str:
        steps = (("innodb_io_capacity_max", new.io_capacity_max),)
        decision = replace(record().decision, kind=DecisionKind.SET, target=new, steps=steps)
        return " ".join(story(Around(record(decision=decision))).sentences)

    assert "1 × 400" in told(Capacity(400, 400))
    assert "went the other way" not in told(Capacity(200, 400))


@pytest.mark.parametrize(
    ("set_point", "told"),
    [
        (0.9, "must stay within max_checkpoint_age_ratio = 0.79 of the redo capacity"),
        (0.98, "with the original settings, above max_checkpoint_age_ratio = 0.79"),
    ],
)
def test_the_alarm_is_named_with_what_it_is_a_share_of(set_point: float, told: str) -> None:
    """Set-point and alarm are shares of two wholes; above the alarm it is said why it may be there."""
    decision = record().decision
    quiet = replace(decision, reason="within_band", set_point=set_point, set_point_source="alarm")

    assert told in " ".join(story(Around(record(decision=quiet))).sentences)


def test_a_drain_that_begins_below_its_age_is_said_to_keep_it_there() -> None:
    """No age comes down from 11.2 MiB to 20.3 MiB; and what is aimed at is the drain's age."""
    way = DrainProgress(target=20 * MEBIBYTE, start_age=11 * MEBIBYTE, ends=3700.0, who="ann")
    decision = replace(record().decision, kind=DecisionKind.DRAIN, reason="draining")
    told = story(Around(record(decision=decision, drain=way)))

    assert told.aim_share == pytest.approx(20 * MEBIBYTE / record().tick.reading.stall_point)
    assert "keeps the uncheckpointed bytes at 20 MiB at most" in " ".join(told.sentences)


def test_an_age_off_its_set_point_is_not_said_to_be_there() -> None:
    """Where the policy left M alone although the age was elsewhere, that is what is told."""
    decision = replace(record().decision, reason="within_band", set_point=0.95)
    told = story(Around(record(decision=decision)))

    assert told.brief.startswith("the age was off its set-point")
    assert "The age was off its set-point" in " ".join(told.sentences)


def test_an_exported_journal_answers_every_question(journal: Path) -> None:
    """A copy of a journal is asked by time of day, by change and by span, and is not written to."""
    before = journal.read_bytes()

    ended(innobrim("why", journal), 0, "Change 27. At 00:31:40", "ago; times count from there")
    ended(innobrim("why", "--at", "00:15", journal), 0, "At 00:15:00 innodb_io_capacity_max 453")
    ended(innobrim("why", "--at", "00:16", journal), 0, "Change 8. At 00:16:40", "override to 900")
    ended(innobrim("why", "--change", "8", journal), 0, "bulk load")
    ended(innobrim("why", "--last", "5m", journal), 0, "1 change in 5 min", "#27")
    assert journal.read_bytes() == before


def test_json_has_the_numbers_of_the_sentences(journal: Path) -> None:
    """A program gets both pairs, age and aim on one scale, and what was seen before and after."""
    (story,) = asked_json("--change", 8, journal).stories
    assert story.change is not None
    assert story.before is not None
    assert story.after is not None

    assert (story.change.kind.value, str(story.change.new)) == ("override", "900/900")
    assert (story.before.io_capacity_max, story.after.io_capacity_max) == (453, 900)
    assert story.after.age_share < story.before.age_share
    assert story.aim_share is None
    assert story.after.wall - story.before.wall == pytest.approx(30.0)


def test_a_moment_that_is_not_kept_ends_with_what_is_nearest(journal: Path) -> None:
    """In a gap, before the beginning and after the end the answer is no, with what is nearest."""
    altered(journal, f"DELETE FROM ticks WHERE number > {EARLY} AND number <= {HELD_SECONDS}")

    gap = innobrim("why", "--at", "00:12:30", journal)
    ended(
        gap,
        1,
        "nearest tick before: 2026-01-01 00:09:59",
        "nearest tick after: 2026-01-01 00:15:00",
        "Change 7.",
    )
    ended(innobrim("why", "--at", "2025-12-31T10:00:00", journal), 1, "after: 2026-01-01 00:00:00 UTC")
    ended(innobrim("why", "--at", "2026-02-01T10:00:00", journal), 1, "before: 2026-01-01 00:32:39 UTC")
    ended(innobrim("why", "--change", "99", journal), 1, "between 1 and 27")
    answer = asked_json("--at", "00:12:30", journal)
    assert (answer.earlier, answer.later) == (EPOCH + EARLY - 1, EPOCH + HELD_SECONDS)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (f"DELETE FROM ticks WHERE number <= {EARLY}", "daemon.keep_ticks"),
        ("UPDATE runs SET fingerprint = 'other', program = '0.1.0'", "InnoBrim 0.1.0 wrote this part"),
    ],
    ids=["ticks gone", "records of another version"],
)
def test_where_a_tick_is_gone_its_change_is_told_with_what_is_missing(
    journal: Path, statement: str, told: str
) -> None:
    """An old change, or one of another version's, is told by its row, and what is not known of it is said."""
    altered(journal, statement)

    ended(innobrim("why", "--change", "3", journal), 0, "from 5000 to 2500", "heading for", told)
    (story,) = asked_json("--change", 3, journal).stories
    assert (story.before, story.after) == (None, None)


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        ("number <= 720", "in the 3 min before (older ticks are not kept). The reason: the age was"),
        ("number BETWEEN 400 AND 800", "in the 10 min before. The reason: nothing was recorded"),
    ],
    ids=["no longer kept", "a gap"],
)
def test_what_was_not_recorded_is_not_told_from_what_was(journal: Path, gone: str, told: str) -> None:
    """Of a time without a change only what the kept ticks show is said to be so."""
    altered(journal, f"DELETE FROM ticks WHERE {gone}")

    ended(innobrim("why", "--at", "00:15:00", journal), 0, told)


def test_a_wrong_question_says_what_is_right(journal: Path, tmp_path: Path) -> None:
    """A time that is none, two questions at once and a file that is no journal are exit code 2."""
    ended(innobrim("why", "--at", "noon", journal), 2, "'noon' is no time", "10:42", "5m ago")
    ended(innobrim("why", "--at", "2026-01-01", journal), 2, "no time of day")
    ended(innobrim("why", "--at", "10:42", "--change", "3", journal), 2, "give one of them")
    ended(innobrim("why", tmp_path / "none.db"), 2, "no journal there")
    ended(innobrim("why", journal, "--url", "http://127.0.0.1:1"), 2, "name one of them")


def test_without_journal_and_daemon_it_says_so(tmp_path: Path) -> None:
    """Where there is neither a journal nor a daemon the exit code is 3, and both are named."""
    found = innobrim("why", "--state-directory", tmp_path, INNOBRIM_API_PORT="0")

    ended(found, 3, "no journal there", "cannot be reached")


def test_the_state_directory_is_what_is_read_without_a_file(lived_through: Lived) -> None:
    """Without a file the daemon's own state directory answers, beside a daemon or without one."""
    found = innobrim("why", "--state-directory", lived_through(day))

    ended(found, 0, "Change 27.", "paused by ann")


def test_a_loop_that_only_watches_says_what_it_would_have_done(tmp_path: Path) -> None:
    """In advisory mode, where nothing was ever written, the moment itself is told."""
    lived(tmp_path, seconds=60, mode=Mode.ADVISORY)

    ended(innobrim("why", tmp_path), 0, "The mode was advisory", "would have set innodb_io_capacity_max")


@pytest.mark.parametrize(
    ("text", "second", "lasting"),
    [
        ("00:15", HELD_SECONDS, 60.0),
        ("0:15:00", HELD_SECONDS, 0.0),
        ("10:42:07", 10 * 3600 + 42 * 60 + 7 - 86_400, 0.0),
        ("2026-01-01T00:15", HELD_SECONDS, 60.0),
        ("2026-01-01 00:15:30", HELD_SECONDS + 30, 0.0),
        ("2026-01-01T02:15:00+02:00", HELD_SECONDS, 0.0),
        ("2026-01-01T02:15+02:00", HELD_SECONDS, 60.0),
        ("5m ago", END_SECONDS - 1 - 300, 0.0),
        ("1h30m ago", END_SECONDS - 1 - 5400, 0.0),
    ],
)
def test_times_are_read_as_people_write_them(text: str, second: float, lasting: float) -> None:
    """A time of day is the last one before the newest tick, and ago counts from that tick."""
    assert moment(text, end=END) == (EPOCH + second, lasting)


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have people live where the clock is changed."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_a_time_is_told_in_the_summer_or_winter_time_of_its_own_day(journal: Path) -> None:
    """Who asks in winter for a time in summer means, and reads, the clock of that summer."""
    found = innobrim("why", "--at", "2025-07-01T10:42", journal)

    ended(
        found,
        1,
        "2025-07-01 10:42:00 CEST: the ticks that are kept begin after that moment",
        "after: 2026-01-01 01:00:00 CET",
    )


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize(
    ("text", "end", "meant"),
    [
        ("2025-07-01T10:42", "2026-01-01T00:30:00Z", "2025-07-01T08:42:00Z"),
        ("2025-12-01T10:42", "2026-07-01T00:30:00Z", "2025-12-01T09:42:00Z"),
        ("01:15", "2026-01-01T00:30:00Z", "2026-01-01T00:15:00Z"),
        ("01:30", "2026-03-29T10:00:00Z", "2026-03-29T00:30:00Z"),
        ("12:00", "2026-03-29T08:00:00Z", "2026-03-28T11:00:00Z"),
        ("02:30", "2026-10-25T01:10:00Z", "2026-10-25T00:30:00Z"),
        ("02:30", "2026-10-25T01:40:00Z", "2026-10-25T01:30:00Z"),
    ],
)
def test_a_time_of_day_is_when_the_clock_last_showed_it(text: str, end: str, meant: str) -> None:
    """So it is on the days when the clock leaves out an hour, or shows one twice, too."""
    assert (
        moment(text, end=datetime.fromisoformat(end).timestamp())[0]
        == datetime.fromisoformat(meant).timestamp()
    )


@pytest.mark.parametrize("text", ["25:00", "10:61", "0001-01-01T00:00+02:00", "9999-12-31T23:59-02:00"])
def test_what_no_clock_shows_is_refused(text: str) -> None:
    """The error has what was typed, and what would be right."""
    with pytest.raises(BadParameter, match=re.escape(text)):
        moment(text, end=END)


def test_a_year_of_changes_is_no_year_of_work(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer tells the newest changes alone where there are many, and says how many there are."""
    whole = asked_json("--last", "365d", journal)
    changes = [one for one in whole.stories if one.change]
    monkeypatch.setattr("tuner.why.search.MOST", 2)
    short = asked_json("--last", "365d", journal)
    assert len(changes) > 2
    assert [one for one in short.stories if one.change] == changes[-2:]
    assert str(len(changes)) in short.remark
