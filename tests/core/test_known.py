"""What was learned, in a few figures: as many as there are parts that somebody may want to see."""

from __future__ import annotations

from tests.core.learned_document import AT, full
from tests.factory import FACTS
from tuner.core.memory import Known, Learned, known_of, learned_of
from tuner.core.step import start
from tuner.settings import Settings


def test_the_figures_are_those_of_what_is_kept() -> None:
    """Hours seen, the largest burst, recoveries, the verified law, trials and what is set aside are shown."""
    assert known_of(full()) == Known(
        hours=3,
        visits=1,
        burst_bytes=6.0e7,
        recovery_factor=0.5,
        recovery_version="9.7.4",
        proven_version="9.7.4",
        trials=3,
        trials_since=AT,
        wins=1,
        aside=("8.4.8 legacy",),
    )


def test_a_burst_of_the_last_hours_counts() -> None:
    """A burst that no hour of the week is booked with yet is shown as well."""
    kept = full()
    late = Learned(late=kept.late)

    assert known_of(late).burst_bytes == kept.late.recent > 0.0


def test_a_daemon_that_begins_knows_what_was_kept() -> None:
    """The figures of a state are those of what it began with, and of a fresh one those of nothing."""
    kept = full()
    state = start(Settings(), FACTS, learned=kept)

    assert known_of(learned_of(state)).hours == known_of(kept).hours
    assert known_of(learned_of(start(Settings(), FACTS))) == known_of(Learned())
