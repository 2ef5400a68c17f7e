"""Marks on axes, numbers in words, and where labels go."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.plot.paths import LINE_HEIGHT, Label, apart, path
from lab.plot.scales import counts, moment, ratios, short, sizes, times


@pytest.mark.parametrize(
    ("seconds", "second_mark", "last"),
    [
        (60, "10 s", "60 s"),
        (2400, "5 min", "40 min"),
        (4500, "10 min", "70 min"),
        (86_400, "3 h", "24 h"),
        (2_678_400, "5 d", "30 d"),
    ],
)
def test_time_is_marked_in_round_steps_of_one_unit(seconds: int, second_mark: str, last: str) -> None:
    """From a minute to a month the time axis has a handful of round marks."""
    marks = times(seconds)
    assert marks[0] == (0.0, "0")
    assert marks[1][1] == second_mark
    assert marks[-1][1] == last
    assert 4 <= len(marks) <= 11


@given(st.integers(60, 2_678_400))
def test_no_length_of_a_run_crowds_its_time_axis(seconds: int) -> None:
    """Whatever the length, there are a few marks, evenly apart and inside the run."""
    marks = [at for at, _ in times(seconds)]
    assert 3 <= len(marks) <= 11
    assert marks[-1] <= seconds
    assert len({later - earlier for earlier, later in itertools.pairwise(marks)}) == 1


@given(st.lists(st.just(0.0) | st.floats(1e-3, 1e13), min_size=1))
def test_every_value_is_on_its_axis(values: list[float]) -> None:
    """Axes begin at 0 and reach beyond the highest value."""
    for axis in (counts(values), sizes(values)):
        assert axis.marks[0] == 0.0
        assert axis.marks[-1] >= max(values)
        assert 0.0 <= axis.place(max(values)) <= 1.0


@given(st.lists(st.integers(100, 4_294_967_295), min_size=1))
def test_every_c_and_m_is_on_the_logarithmic_axis(values: list[int]) -> None:
    """Between its ends lie all values that a server takes, with marks that do not crowd it."""
    axis = ratios([float(value) for value in values])
    assert axis.marks[0] <= min(values)
    assert axis.marks[-1] >= max(values)
    assert 2 <= len(axis.marks) <= 10
    assert 0.0 <= axis.place(min(values)) <= axis.place(max(values)) <= 1.0


def test_numbers_have_prefixes() -> None:
    """Thousands are written with SI prefixes, times in the two units that count, sizes in one unit."""
    assert [short(value) for value in (0, 0.5, 500, 2500, 20_000, 1.2e6)] == [
        "0",
        "0.5",
        "500",
        "2.5 k",
        "20 k",
        "1.2 M",
    ]
    assert [moment(value) for value in (0, 59, 900, 5400, 93_600)] == [
        "0 s",
        "59 s",
        "15 min",
        "1 h 30 min",
        "1 d 2 h",
    ]
    assert (sizes([80 * 2**20]).unit, sizes([3 * 2**30]).said) == ("MiB", ("0", "1", "2", "3", "4"))


@given(st.lists(st.floats(0.0, 200.0), max_size=8))
def test_labels_do_not_lie_over_each_other(ends: list[float]) -> None:
    """However close lines end, their names are a line's height apart, in the same order, in the panel."""
    found = apart([Label("x", str(index), at) for index, at in enumerate(ends)], 0.0, 200.0)
    heights = [one.y for one in found]
    assert [one.at for one in found] == sorted(one.at for one in found)
    assert all(later - earlier >= LINE_HEIGHT - 0.11 for earlier, later in itertools.pairwise(heights))
    assert all(0.0 <= y <= 200.0 for y in heights)


def test_a_path_has_its_bends_and_its_gaps() -> None:
    """Points on a level line are left out, a gap begins anew, and steps hold until the next point."""
    points = [(0.0, 5.0), (1.0, 5.0), (2.0, 5.0), (3.0, 1.0), None, (5.0, 2.0)]
    assert path(points) == "M0 5L2 5L3 1M5 2h0"
    assert path(points, steps=True) == "M0 5H2V5H3V1M5 2h0"
