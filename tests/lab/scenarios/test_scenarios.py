"""The scenarios that come along, their bursts, and what is said of their keys."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from lab.plant.flavour import FLAVOURS
from lab.scenarios import Scenario, load_scenario, scenario_names
from lab.scenarios.load import parse_scenario
from lab.scenarios.schema import SETTLING_RESIDENCES
from lab.scenarios.static import run_static
from lab.simulate import resized
from lab.simulate_loop import run_policy
from tools import scenario_keys_page
from tuner.settings import Mode, Settings

HARDLY_FILLED = frozenset({"h10-short-pool", "h12-mysql80-defaults", "h13-big-redo-poolpct"})
"""With the C and M that they start with hardly any of the redo log is used: how long a record stays in it is
reckoned by what the loop leaves in it."""

THE_WAY_UP = frozenset({"from-empty-1gib"})
"""What is counted there is how the set-point is come to."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in HARDLY_FILLED else [])
        for name in scenario_names()
        if name not in THE_WAY_UP
    ],
)
def test_counting_starts_late_enough_and_before_the_first_change(name: str) -> None:
    """Steady scenarios count after five residence times S/R, moving ones before they move or whole rounds."""
    scenario = load_scenario(name)
    if scenario.repeats:
        rounds = [one for one in (scenario.load.repeat, scenario.disk.repeat) if one is not None]
        assert all((scenario.seconds - scenario.measured_from) % one == 0.0 for one in rounds)
    elif scenario.changes or scenario.disk.credits:
        assert scenario.measured_from < min(scenario.changes, default=scenario.seconds)
    elif name in HARDLY_FILLED:
        outcome = run_policy(scenario, Settings(mode=Mode.ACTIVE)).outcome
        filled = outcome.checkpoint_age_max * scenario.server.redo_capacity
        assert scenario.measured_from >= SETTLING_RESIDENCES * filled / outcome.redo_rate_before
    else:
        outcome = run_static(scenario, 2, 20_000)
        least = SETTLING_RESIDENCES * scenario.server.redo_capacity / outcome.redo_rate_before
        assert scenario.measured_from >= least


def test_a_longer_run_is_the_same_run_longer() -> None:
    """--seconds lengthens a scenario and leaves server, disk and load as they are."""
    scenario = load_scenario("iops-drop")
    longer = resized(scenario, seed=None, seconds=86_400)
    assert longer == replace(scenario, seconds=86_400)
    assert longer.plant.fingerprint() == scenario.plant.fingerprint()


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


ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "lab" / "scenarios.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("table", list(scenario_keys_page.TABLES.values()))
def test_no_key_is_without_its_meaning(table: type[Struct]) -> None:
    """Every key that a file may have is explained."""
    assert set(scenario_keys_page.meanings(table)) == set(table.__struct_fields__)


def test_a_version_is_not_cut_at_its_point() -> None:
    """What counts without a key is told to its end, be there a number with a point in it."""
    page = scenario_keys_page.keys()

    assert "| true in MariaDB and in MySQL before 8.0 | `innodb_flush_neighbors`, 0 or 1 |" in page


def test_the_examples_are_taken() -> None:
    """A reader can copy the examples of the page."""
    whole, part = EXAMPLES
    assert parse_scenario(whole, source="page").name == "db1"
    assert tomllib.loads(part)["load"]["repeat"] == 3600
    top, _, _ = whole.partition("[load]")
    assert parse_scenario(top + part, source="page").repeats


def test_every_flavour_is_told_whose_it_is() -> None:
    """The table of servers leads to each flavour that there is."""
    assert all(f"| `{name}` |" in PAGE for name in FLAVOURS)
