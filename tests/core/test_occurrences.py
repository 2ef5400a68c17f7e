"""What else goes on in a server: how it is told, when it ends, and that nothing is learned from it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import Bench
from tests.factory import SAVED, held, sample
from tuner.core.estimate.occurrences import CALM_SECONDS, WARM_UP_SECONDS, Occurrence, Occurrences, update
from tuner.records import Capacity, Event, Sample

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

    def see(self, seconds: int = 1, *, restarted: bool = False, **changes: Any) -> Occurrences:  # noqa: ANN401 - any field
        """Take in so many readings that show this."""
        for _ in range(seconds):
            self._second += 1.0
            reading = sample(self._second, **changes)
            self.state, said = update(self.state, self._last, reading, restarted=restarted)
            self.events.extend(said)
            self._last, restarted = reading, False
        return self.state

    @property
    def learns(self) -> bool:
        """Tell whether the last reading may be learned from."""
        return self.state.learns(1000.0 + self._second)

    @property
    def said(self) -> list[str]:
        """Return the codes of the events so far."""
        return [event.code for event in self.events]


@pytest.mark.parametrize(("field", "name"), FLAGS.items())
def test_what_a_flag_shows_ends_with_it(field: str, name: str) -> None:
    """It begins with the first reading that shows it and ends with the first that does not; both are said."""
    watch = Watch()
    watch.see()
    assert watch.see(5, **{field: True}).names == (name,)
    assert watch.see().names == ()

    assert watch.said == [f"begin_{name}", f"end_{name}"]
    assert "over after 5 s" in watch.events[-1].message


@pytest.mark.parametrize(("field", "name"), COUNTERS.items())
def test_what_a_counter_shows_ends_when_it_rests(field: str, name: str) -> None:
    """A statement that was counted begins it; it ends when none was counted for half a minute."""
    watch = Watch()
    watch.see(2, **{field: 7})
    assert watch.state.names == ()
    watch.see(**{field: 8})
    assert watch.state.names == (name,)
    watch.see(20, **{field: 8})
    watch.see(**{field: 9})
    assert watch.see(int(CALM_SECONDS) - 1, **{field: 9}).names == (name,)
    assert watch.see(**{field: 9}).names == ()

    assert watch.said == [f"begin_{name}", f"end_{name}"]


def test_a_counter_at_its_first_reading_shows_nothing() -> None:
    """Whatever was counted before the daemon began, or before mysqld was restarted, is no occurrence."""
    watch = Watch()
    watch.see(ddl_statements=400)
    watch.see(ddl_statements=400)
    watch.see(ddl_statements=900, restarted=True)

    assert "begin_ddl" not in watch.said


def test_a_counter_that_was_set_back_shows_nothing() -> None:
    """FLUSH STATUS is no DDL."""
    watch = Watch()
    watch.see(ddl_statements=400, drop_statements=3)
    watch.see(2)

    assert watch.said == []


def test_a_restart_that_was_seen_is_warmed_up_from() -> None:
    """A mysqld that was restarted before our eyes warms up for minutes; one that is merely young does not."""
    watch = Watch()
    watch.see(uptime=3.0)
    assert watch.state.names == ()
    watch.see(uptime=3.0, restarted=True)
    assert watch.see(uptime=WARM_UP_SECONDS - 1).names == ("warm_up",)
    assert watch.see(uptime=WARM_UP_SECONDS).names == ()
    assert watch.see(uptime=10.0).names == ()


def test_learning_waits_for_the_last_end_and_half_a_minute_more() -> None:
    """Readings are learned from again when the window of rates has nothing left of the occurrence."""
    watch = Watch()
    watch.see()
    assert watch.learns
    watch.see(3, backup_locked=True, cloning=True)
    watch.see(10, cloning=True)
    assert not watch.learns
    watch.see(int(CALM_SECONDS))
    assert not watch.learns
    watch.see()
    assert watch.learns


def test_several_are_told_apart() -> None:
    """Each has its own beginning and end."""
    watch = Watch()
    watch.see()
    watch.see(backup_locked=True, read_locked=True)
    assert watch.state.names == ("backup_lock", "read_lock")
    watch.see(backup_locked=True)

    assert watch.state.names == ("backup_lock",)
    assert watch.said == ["begin_backup_lock", "begin_read_lock", "end_read_lock"]


def test_statements_that_never_rest_are_a_part_of_the_load() -> None:
    """A load that truncates a table every 40 s is learned after ten minutes; ten of rest end the habit."""
    watch = Watch()
    for count in range(1, 17):
        watch.see(40, drop_statements=count)
    assert not watch.learns
    watch.see(40, drop_statements=17)

    assert watch.learns
    assert "habit after 10 minutes" in watch.events[-1].message
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
    watch.see(20, ddl_statements=1)

    assert watch.state.names == ("ddl",)
    assert not any("habit" in event.message for event in watch.events)


def test_every_occurrence_can_be_shown() -> None:
    """There is no name that no reading leads to."""
    assert {*FLAGS.values(), *COUNTERS.values()} == {name.value for name in Occurrence}


@pytest.mark.parametrize(
    "shown",
    [
        {"backup_locked": True},
        {"cloning": True},
        {"pool_loading": True},
        {"undo_truncating": True},
        {"ddl_statements": 1},
        {"drop_statements": 1},
    ],
    ids=lambda shown: next(iter(shown)),
)
def test_it_is_no_hold_and_nothing_is_learned_from_it(bench: Bench, shown: dict[str, Any]) -> None:
    """The loop goes on with ages and rates; load and device stay as they were known; the record says so."""
    bench.turns(60)
    known = bench.state.estimator
    bench.server.shows = shown
    bench.server.density, bench.server.redo_rate = 0.002, 1.5e6
    names = []
    for _ in range(25):
        record = bench.turn()
        names.append(record.occurrences)
        assert held(record) == set()
    busy = bench.state.estimator

    assert len(set(names)) == 1
    assert len(names[0]) == 1
    assert (busy.load, busy.trends) == (known.load, known.trends)
    assert record.estimate is not None
    assert record.estimate.redo_rate == pytest.approx(1.5e6)
    assert any(one.decision.steps for one in bench.records[-25:])
    bench.server.shows = {**shown, "backup_locked": False, "cloning": False, "pool_loading": False}
    bench.server.shows["undo_truncating"] = False
    bench.turns(70)
    assert bench.state.estimator.load != known.load
    assert bench.state.estimator.trends != known.trends


def test_a_missed_reading_ends_nothing(bench: Bench) -> None:
    """What was going on still is, as far as anybody knows."""
    bench.server.shows = {"cloning": True}
    bench.turn()
    bench.server.down = "did not answer"

    assert bench.turn().occurrences == ("clone",)


def test_nothing_is_learned_while_a_restarted_server_warms_up(bench: Bench) -> None:
    """After the restart's hold is over the loop writes again, and learns when the warm-up is over as well."""
    bench.turns(30)
    known = bench.state.estimator.load
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.density = 0.002
    bench.turns(3)
    bench.turn(SAVED)
    begun = len(bench.server.applied)
    bench.turns(200)
    assert held(bench.record) == set()
    assert len(bench.server.applied) > begun
    assert bench.record.occurrences == ("warm_up",)
    assert bench.state.estimator.load == known
    bench.turns(200)

    assert "warm_up" not in bench.record.occurrences
    assert bench.state.estimator.load != known


def test_another_server_begins_without_occurrences(bench: Bench) -> None:
    """What goes on in one server does not go on in the next one behind its address."""
    bench.server.shows = {"ddl_statements": 1}
    bench.turn()
    bench.server.identity = "another"

    assert bench.turn().occurrences == ()


def test_a_read_lock_leaves_m_alone(bench: Bench) -> None:
    """While nobody can write the rates fall to nothing: M stays as long as it lasts, and no hold comes."""
    bench.server.redo_rate = rate = 4e6
    bench.turns(300)
    before = bench.server.capacity
    bench.server.shows, bench.server.redo_rate = {"read_locked": True}, 0.0
    bench.turns(60)

    assert {record.decision.reason for record in bench.records[-60:]} == {"idle"}
    assert "READ LOCK" in bench.record.decision.detail
    assert not any(record.holds for record in bench.records[-60:])
    assert bench.server.capacity == before
    bench.server.shows, bench.server.redo_rate = {}, rate
    bench.turns(9)
    assert bench.server.capacity == before
    bench.turns(300)
    assert bench.record.estimate is not None
    assert bench.record.decision.set_point is not None
    assert bench.record.estimate.age_ratio == pytest.approx(bench.record.decision.set_point, abs=0.12)
