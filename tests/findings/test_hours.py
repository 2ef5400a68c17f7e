"""What is said of a recording, hour by hour and of all of it."""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tuner.cli.advise import for_all, headline
from tuner.findings.combining import Figure
from tuner.findings.gain import Verdict
from tuner.findings.hours import Hour, by_hour, of_all
from tuner.records import Capacity, TickRecord
from tuner.settings import Settings


def hour(*parts: tuple[int, float]) -> Hour:
    """Return an hour of a recording, made of so many minutes with such a page demand, pages/s."""
    bench = Bench(Settings(), FakeServer(Capacity(1_000, 2_000)))
    bench.turns(120)
    (record,) = bench.records[-1:]
    assert record.estimate is not None
    demands = itertools.chain.from_iterable([demand] * 60 * minutes for minutes, demand in parts)
    records: list[TickRecord] = [
        replace(
            record,
            tick=replace(record.tick, wall=float(second)),
            estimate=replace(record.estimate, demand=demand),
        )
        for second, demand in enumerate(demands)
    ]
    (found,) = by_hour(records, bench.state)
    return found


def test_the_pair_for_all_hours_is_enough_for_the_busiest_minutes() -> None:
    """Ten minutes of batch in a quiet hour would end in sync flushing with a pair for the hour's mean."""
    quiet, batch, mixed = hour((60, 100.0)), hour((60, 3000.0)), hour((50, 100.0), (10, 3000.0))
    (static,) = for_all([quiet, mixed])

    assert mixed.static == batch.static
    assert str(batch.static) in static.title
    assert "3000 pages/s" in static.reason


def judged(verdict: Verdict, pages: float = 100.0) -> Hour:
    """Return an hour with a verdict that wrote so many pages a second."""
    return replace(hour((60, 100.0)), verdict=verdict, pages=pages)


SAVES = Verdict("gain", "", Figure(0.4, 0.5, 0.6))
SAVES_NOTHING = Verdict("nothing", "", Figure(-0.02, 0.0, 0.03))


def test_hours_that_would_gain_are_no_reason_for_nothing_to_gain() -> None:
    """A day that saves little is told with its range, and which of its hours would gain all the same."""
    found = of_all([judged(SAVES, pages=5.0), *[judged(SAVES_NOTHING)] * 2])

    assert headline(found) == (
        "nothing to gain, because over all hours little is saved, 1 % (-1 to 4) of the page writes; "
        "it would gain in 1 of 3 hours, see below"
    )


def test_a_day_in_which_writers_wait_for_m_is_a_gain() -> None:
    """An hour of stalls that a higher M ends counts, though it saves no page write."""
    waits = Verdict("gain", "writers wait", Figure(-0.3, -0.1, 0.0), sure="low")
    unmoved = Verdict("gain", "writers wait", sure="low")
    found = of_all([judged(waits), *[judged(SAVES_NOTHING)] * 2])
    alone = of_all([judged(Verdict("nothing", "no M moves the age")), judged(unmoved)])

    assert (found.answer, found.sure) == ("gain", "low")
    assert alone.answer == "gain"


def test_what_active_hours_brought_is_told_as_past() -> None:
    """Of a journal of active hours nobody reads that they would gain; of others beside them, both."""
    past = replace(judged(replace(SAVES, brought=True)), active=True)
    alone, both = of_all([past]), of_all([past, past, judged(SAVES)])

    assert headline(alone) == "you gained about 50 % (40 to 60) fewer page writes"
    assert alone.because == "active mode gained in 1 of 1 hour"
    assert headline(both).startswith("you gain about")
    assert both.because == "active mode gained in 2 of 2 hours where it was on, and would gain in 1 of 1 hour"


def test_one_hour_is_not_told_as_several() -> None:
    """No range from a figure to itself, and no hours where there is one."""
    (static,) = for_all([hour((60, 800.0))])

    assert " to " not in static.reason
    assert "the hour seen" in static.title
