"""Where windows of schedules overlap: the same pairs as by looking at every two."""

from __future__ import annotations

from itertools import accumulate, combinations

from hypothesis import given
from hypothesis import strategies as st

from tuner.cli.schedule_overlaps import Row, counts, pairs
from tuner.records import Window

lengths = st.lists(st.integers(1, 4), max_size=20)


def windows(name: str, steps: list[int]) -> list[Window]:
    """Return windows that begin and end at the ends of steps, each step in turn a window and none."""
    at = [float(one) for one in accumulate([0, *steps])]
    return [Window(name=name, began=began, ends=ends) for began, ends in zip(at[::2], at[1::2], strict=False)]


@given(st.lists(st.tuples(lengths, st.integers(0, 20)), max_size=3))
def test_overlaps_are_those_that_looking_at_every_two_windows_finds(
    found: list[tuple[list[int], int]],
) -> None:
    """Windows overlap with time in common, not where they meet; of two that come after, nothing is said."""
    made = [(windows(str(at), steps), told) for at, (steps, told) in enumerate(found)]
    rows = [Row(all_of_it[:told], all_of_it[told:]) for all_of_it, told in made]
    expected = []
    for (one, told), (other, told_too) in combinations(made, 2):
        both = [
            (a, b)
            for at, a in enumerate(one)
            for to, b in enumerate(other)
            if a.began < b.ends and b.began < a.ends and (at < told or to < told_too)
        ]
        if both:
            first = min(both, key=lambda each: max(each[0].began, each[1].began))
            expected.append((*first, len(both)))

    assert list(pairs(rows)) == expected


def test_windows_that_meet_do_not_overlap() -> None:
    """One that begins as the other ends has no time in common with it."""
    early, late, both = (
        Row([Window(name=name, began=began, ends=ends)], [])
        for name, began, ends in (("early", 1.0, 2.0), ("late", 2.0, 3.0), ("both", 1.5, 2.5))
    )

    found = [(one.name, other.name, times) for one, other, times in pairs([early, late, both])]

    assert found == [("early", "both", 1), ("late", "both", 1)]


def test_a_drain_decides_over_a_set_point_whichever_stands_first() -> None:
    """What counts does not hang on the order of the file where no value is the same."""
    drain = Window(name="drain", began=0.0, ends=1.0, drain=True)
    other = Window(name="other", began=0.0, ends=1.0, set_point=0.5)

    assert counts(drain, other) == counts(other, drain)
    assert (counts(drain, other).wins, counts(drain, other).drain_decides) == ({}, "drain")
