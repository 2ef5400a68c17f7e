"""Which pieces a scenario has, and the search over them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from lab.compare.coordinates import Levels, Score, best_levels
from lab.compare.pieces import MOST_PIECES, pieces_of
from lab.scenarios import load_scenario


@pytest.mark.parametrize(
    ("name", "count"),
    [("steady-1200iops", 1), ("credits", 1), ("iops-drop", 2), ("redo-resize", 3), ("burst", 2)],
)
def test_pieces_lie_between_moments_known_beforehand(name: str, count: int) -> None:
    """Load, disk and redo log begin a piece where they change by plan; burst credits that run out do not."""
    found = pieces_of(load_scenario(name))

    assert found.count == count
    assert found.moments[0] == (0.0, 0)


def test_what_comes_again_is_the_same_piece() -> None:
    """Ten bursts are two pieces in turn, at the moments of the scenario."""
    found = pieces_of(load_scenario("burst"))

    assert found.moments[:5] == ((0.0, 0), (540.0, 1), (600.0, 0), (1140.0, 1), (1200.0, 0))
    assert found.moments[-1][0] < 6000.0


def test_a_day_can_be_searched() -> None:
    """The pieces of the longest named scenario are no more than a search goes through."""
    assert 2 < pieces_of(load_scenario("daily")).count <= MOST_PIECES


def hill(best: Levels) -> tuple[list[Levels], object]:
    """Return what was asked, and a rating that is highest at one setting."""
    asked: list[Levels] = []

    def rate(settings: Sequence[Levels]) -> list[Score]:
        asked.extend(settings)
        return [
            (
                3,
                1000.0
                - 100.0 * sum(math.log(one / there) ** 2 for one, there in zip(levels, best, strict=True)),
            )
            for levels in settings
        ]

    return asked, rate


def test_the_search_finds_each_pieces_own_value() -> None:
    """From one value for all it comes within 2 % of the best for each, in some dozen tries a piece."""
    best = (460, 1200, 300)
    asked, rate = hill(best)
    found = best_levels((700, 700, 700), rate, ratio=2)  # type: ignore[arg-type] # the rating above

    assert all(abs(math.log(one / there)) < 0.025 for one, there in zip(found, best, strict=True))
    assert len(asked) < 90
    assert all(one % 2 == 0 for one in found)


def test_the_search_keeps_the_rules_before_it_gains() -> None:
    """A setting that breaks a rule on one seed is worse than one that keeps all, whatever it gives."""

    def rate(settings: Sequence[Levels]) -> list[Score]:
        return [(2 if one[0] < 500 else 3, 10_000.0 / one[0]) for one in settings]

    (found,) = best_levels((2000,), rate, ratio=2)

    assert 500 <= found < 520
