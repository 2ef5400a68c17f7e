"""What else goes on in a server: how it is told, when it ends, and that nothing is learned from it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import Bench
from tests.factory import sample
from tuner.core.estimate.occurrences import CALM_SECONDS, WARM_UP_SECONDS, Occurrence, Occurrences, update
from tuner.records import Event, Sample

FLAGS = {
    "backup_locked": "backup_lock",
    "read_locked": "read_lock",
    "cloning": "clone",
    "undo_truncating": "undo_truncation",
    "pool_loading": "warm_up",
    "resizing": "resizing",
}
COUNTERS = {"ddl_statements": "ddl", "drop_statements": "drop"}


class Watch:
    """Readings taken in one a second.

    Attributes:
        state: after the last.
        events: of all of them.
    """

    def __init__(self) -> None:
        self.state = Occurrences()
        self.events: list[Event] = []
        self._last: Sample | None = None
        self._second = 0.0

    def see(self, seconds: int = 1, *, restarted: bool = False, **changes: Any) -> tuple[str, ...]:  # noqa: ANN401 - any field
        """Take in so many readings that show this; return the names of what goes on."""
        for _ in range(seconds):
            self._second += 1.0
            reading = sample(self._second, **changes)
            self.state, said = update(self.state, self._last, reading, restarted=restarted)
            self.events.extend(said)
            self._last, restarted = reading, False
        return self.state.names

    @property
    def learns(self) -> bool:
        """Tell whether the last reading may be learned from."""
        return self.state.learns(1000.0 + self._second)

    @property
    def said(self) -> list[str]:
        """Return the codes of the events so far."""
        return [event.code for event in self.events]


def test_every_occurrence_can_be_shown() -> None:
    """There is no name that no reading leads to."""
    assert {*FLAGS.values(), *COUNTERS.values()} == {name.value for name in Occurrence}


@pytest.mark.parametrize(("field", "name"), FLAGS.items())
def test_what_a_flag_shows_ends_with_it(field: str, name: str) -> None:
    """It begins with the first reading that shows it and ends with the first that does not; both are said."""
    watch = Watch()
    watch.see()
    assert watch.see(5, **{field: True}) == (name,)
    assert watch.see() == ()

    assert watch.said == [f"begin_{name}", f"end_{name}"]
    assert "over after 5 s" in watch.events[-1].message


@pytest.mark.parametrize(("field", "name"), COUNTERS.items())
def test_what_a_counter_shows_ends_when_it_rests(field: str, name: str) -> None:
    """A statement that was counted begins it; it ends when none was counted for half a minute."""
    watch = Watch()
    assert watch.see(2, **{field: 7}) == ()
    assert watch.see(21, **{field: 8}) == (name,)
    assert watch.see(int(CALM_SECONDS), **{field: 9}) == (name,)
    assert watch.see(**{field: 9}) == ()

    assert watch.said == [f"begin_{name}", f"end_{name}"]


def test_a_counter_that_begins_anew_shows_nothing() -> None:
    """Neither its first reading, nor one after a restart of mysqld or FLUSH STATUS, is an occurrence."""
    watch = Watch()
    watch.see(2, ddl_statements=400, drop_statements=3)
    watch.see(2)
    watch.see(ddl_statements=900, restarted=True)

    assert [code for code in watch.said if code != "begin_warm_up"] == []


def test_a_restart_that_was_seen_is_warmed_up_from() -> None:
    """A mysqld that was restarted before our eyes warms up for minutes; one that is merely young does not."""
    watch = Watch()
    assert watch.see(uptime=3.0) == ()
    watch.see(uptime=3.0, restarted=True)
    assert watch.see(uptime=WARM_UP_SECONDS - 1) == ("warm_up",)
    assert watch.see(uptime=WARM_UP_SECONDS) == ()
    assert watch.see(uptime=10.0) == ()


def test_learning_waits_for_the_last_end_and_half_a_minute_more() -> None:
    """Each has its own end; readings are learned from when the window has nothing left of the last."""
    watch = Watch()
    watch.see()
    assert watch.learns
    assert watch.see(3, backup_locked=True, cloning=True) == ("backup_lock", "clone")
    assert watch.see(10, cloning=True) == ("clone",)
    watch.see(int(CALM_SECONDS))
    assert not watch.learns
    watch.see()
    assert watch.learns


def test_statements_that_never_rest_are_a_part_of_the_load() -> None:
    """A load that truncates a table every 40 s is learned after ten minutes; ten of rest end the habit."""
    watch = Watch()
    for count in range(1, 17):
        watch.see(40, drop_statements=count)
    assert not watch.learns
    watch.see(40, drop_statements=17)

    assert watch.learns
    said = len(watch.said)
    watch.see(550, drop_statements=17)
    watch.see(drop_statements=18)
    assert len(watch.said) == said
    watch.see(600, drop_statements=18)
    watch.see(drop_statements=19)
    assert watch.said[said:] == ["begin_drop"]


def test_a_long_backup_makes_no_habit() -> None:
    """An ALTER TABLE after an hour under the backup lock is as new as any other."""
    watch = Watch()
    watch.see(3_600, backup_locked=True)
    watch.see(backup_locked=True, ddl_statements=1)

    assert watch.see(20, ddl_statements=1) == ("ddl",)
    assert not watch.learns


@pytest.mark.parametrize("field", ["backup_locked", "pool_loading", "ddl_statements"])
def test_it_is_no_hold_and_nothing_is_learned_from_it(bench: Bench, field: str) -> None:
    """The loop goes on with ages and rates; load and device stay as they were known; the record says so."""
    bench.turns(60)
    known, begun = bench.state.estimator, len(bench.records)
    bench.server.shows = {field: 1 if field in COUNTERS else True}
    bench.server.density, bench.server.redo_rate = 0.002, 1.5e6
    bench.turns(25)
    busy = bench.state.estimator

    assert {record.occurrences for record in bench.records[begun:]} == {((FLAGS | COUNTERS)[field],)}
    assert (busy.load, busy.trends) == (known.load, known.trends)
    assert bench.record.estimate is not None
    assert bench.record.estimate.redo_rate == pytest.approx(1.5e6)
    assert bench.wrote(since=begun)
    assert not any(record.holds for record in bench.records[begun:])
    bench.server.shows = {field: 1 if field in COUNTERS else False}
    bench.turns(70)
    assert bench.state.estimator.load != known.load
    assert bench.state.estimator.trends != known.trends


def test_what_goes_on_outlasts_a_missed_reading_and_ends_with_its_server(bench: Bench) -> None:
    """What was going on still is, as far as anybody knows; another server begins without occurrences."""
    bench.server.shows = {"ddl_statements": 1}
    bench.turn()
    assert bench.silent(1).occurrences == ("ddl",)
    bench.server.identity = "another"

    assert bench.turn().occurrences == ()


def test_a_read_lock_leaves_m_alone(bench: Bench) -> None:
    """While nobody can write the rates fall to nothing: M stays as long as it lasts, and no hold comes."""
    bench.server.redo_rate = rate = 4e6
    bench.turns(300)
    before, begun = bench.server.capacity, len(bench.records)
    bench.server.shows, bench.server.redo_rate = {"read_locked": True}, 0.0
    bench.turns(60)

    assert {record.decision.reason for record in bench.records[begun:]} == {"idle"}
    assert "READ LOCK" in bench.record.decision.detail
    assert not any(record.holds for record in bench.records[begun:])
    bench.server.shows, bench.server.redo_rate = {}, rate
    bench.turns(9)
    assert bench.server.capacity == before
    bench.turns(300)
    assert bench.record.estimate is not None
    assert bench.record.estimate.age_ratio == pytest.approx(bench.set_point, abs=0.12)
