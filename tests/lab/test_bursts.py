"""Bursts at random moments: with each seed others, with the same seed the same, on top of what goes on."""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from lab.scenarios import Scenario, load_scenario

DAY = 86_400


def month(*, seed: int = 1, seconds: int = 30 * DAY) -> Scenario:
    """Return thirty days, or fewer."""
    return replace(load_scenario("month"), seed=seed, seconds=seconds)


def test_the_seed_decides_the_bursts() -> None:
    """A run can be had again, and another seed is another month."""
    assert month().plant == month().plant
    assert month().plant.load.timeline != month(seed=2).plant.load.timeline


def test_a_shorter_run_has_the_first_of_the_same_bursts() -> None:
    """What is searched on the first days is searched on what the whole run begins with."""
    whole, part = month().plant.load.timeline, month(seconds=3 * DAY).plant.load.timeline

    assert part == tuple(one for one in whole if one.at < 3 * DAY)


def test_bursts_come_on_top_and_go_again() -> None:
    """About as many as asked for, as long and as large as allowed, and below them the day as it is."""
    scenario = month()
    bursts, plain = scenario.bursts, scenario.load.timeline
    assert bursts is not None
    timeline = scenario.plant.load.timeline
    by_hour = {one.at: one.threads for one in plain}
    lowest = min(by_hour.values())
    extra = [one.threads - by_hour[max(at for at in by_hour if at <= one.at % DAY)] for one in timeline]

    assert set(extra) <= {0, *range(bursts.fewest, bursts.most + 1)}
    came = sum(before == 0 < now for before, now in pairwise(extra))
    assert 0.8 <= came / (30 * bursts.per_day) <= 1.1
    assert min(one.threads for one in timeline) == lowest
    assert [one.at for one in timeline] == sorted({one.at for one in timeline})


def test_bursts_that_cannot_be_are_refused() -> None:
    """Bounds the wrong way round, and clients beside an offered rate, are said."""
    scenario = month()
    assert scenario.bursts is not None
    wrong = replace(scenario, bursts=replace(scenario.bursts, shortest=400.0, fewest=60))
    offered = replace(load_scenario("open-70"), bursts=scenario.bursts)

    assert [one.partition(":")[0] for one in wrong.problems()] == [
        "bursts.shortest = 400",
        "bursts.fewest = 60",
    ]
    assert any("at a rate of its own" in one for one in offered.problems())
