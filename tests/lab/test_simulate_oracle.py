"""``innobrim simulate --oracle``: the static settings that stand beside a policy."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import pytest

from lab.scenarios import load_scenario, scenario_names
from lab.scenarios.load import parse_scenario
from lab.scenarios.search import Caps, Search, search
from lab.scenarios.static import RATIO, run_static
from lab.simulate import shortened
from lab.simulate_loop import run_policy
from tests.lab.simulating import SHORT, parsed_result, scenario_file, simulated
from tuner.cli.wording import duration
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from pathlib import Path


CAPS = Caps(0.78)


@functools.cache
def searched(caps: Caps = CAPS) -> Search:
    """Return the best static settings of a short scenario within caps."""
    return search(parse_scenario(SHORT, source="test"), ratio=RATIO, caps=caps)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return how the command is asked for a short scenario that starts with a C and M of its own."""
    text = f"{SHORT}[server]\nio_capacity = 700\nio_capacity_max = 700\n"
    return ("--scenario", scenario_file(tmp_path_factory.mktemp("own"), text), "--policy", "fixed")


@pytest.fixture(scope="module")
def found(asked: tuple[str, ...]) -> dict[str, Any]:
    """Return what the command says with --oracle, as an object."""
    return parsed_result(*asked, "--oracle")


def test_best_static_keeps_the_rules_and_beats_its_neighbours() -> None:
    """The best static setting keeps every rule, and no other that does gives more."""
    scenario, winners = parse_scenario(SHORT, source="test"), searched()
    best, without_cap, unconstrained = winners.best, winners.without_cap, winners.unconstrained
    assert best is not None
    assert without_cap is not None
    assert unconstrained is not None
    outcome = run_static(scenario, RATIO, best.io_capacity_max)
    assert outcome.sync_flush_seconds == 0
    assert outcome.checkpoint_age_max <= 0.78
    assert outcome.throughput_p1 >= 0.5 * outcome.throughput_median
    assert outcome.throughput_mean == pytest.approx(best.throughput_mean, abs=0.1)
    for other in (600, 1200):
        assert run_static(scenario, RATIO, other).throughput_mean <= outcome.throughput_mean
    assert best.throughput_mean <= without_cap.throughput_mean <= unconstrained.throughput_mean
    assert unconstrained.io_capacity_max < without_cap.io_capacity_max < best.io_capacity_max


def test_the_best_static_setting_keeps_the_contenders_budgets() -> None:
    """A recovery or shutdown budget that the best one breaks makes another, slower one the best."""
    scenario, free = parse_scenario(SHORT, source="test"), searched().best
    assert free is not None
    broken = run_static(scenario, RATIO, free.io_capacity_max)
    for caps in (
        Caps(0.78, recovery_seconds=0.9 * broken.recovery_seconds_max),
        Caps(0.78, pages_dirty=0.9 * broken.pages_dirty_max),
    ):
        best = searched(caps).best
        assert best is not None
        assert caps.keep(run_static(scenario, RATIO, best.io_capacity_max))
        assert best.throughput_mean < free.throughput_mean


def test_a_search_that_found_none_is_told_from_no_search(tmp_path: Path) -> None:
    """Where no static setting keeps the rules, the answer is an object and not null; the others are there."""
    dip = "[{ at = 0, write_iops = 2400 }, { at = 300, write_iops = 100 }, { at = 320, write_iops = 2400 }]"
    path = scenario_file(tmp_path, SHORT.replace("[{ at = 0, write_iops = 1200 }]", dip))
    words = ("--scenario", path, "--policy", "fixed")
    best = parsed_result(*words, "--oracle")

    assert parsed_result(*words)["best_static"] is None
    assert set(best["best_static"].values()) == {None}
    assert best["best_static_unconstrained"]["io_capacity_max"] >= 100
    assert "none keeps the rules" in simulated(*words, "--oracle").stdout


def test_the_table_sets_the_policy_beside_the_best_and_the_first_setting(
    asked: tuple[str, ...], found: dict[str, Any]
) -> None:
    """--oracle prints the policy's share of the best one's commits and pages, and what C and M found give."""
    table = simulated(*asked, "--oracle").stdout
    best, untouched = found["best_static"], found["untouched"]
    commits = found["throughput_mean"] / best["throughput_mean"]
    pages = found["pages_per_commit"] / best["pages_per_commit"]

    said = rf"beside the first +{commits:.3f} of its commits/s, {pages:.3f} of its pages per commit"
    assert re.search(said, table)
    assert re.search(rf"C/M = 700/700 +{untouched['throughput_mean']:g} commits/s", table)


def test_the_setting_that_a_server_starts_with_is_tried_as_well(
    asked: tuple[str, ...], found: dict[str, Any]
) -> None:
    """A run says what the scenario's own C and M give where nobody moves them, with --oracle and without."""
    untouched = found["untouched"]
    alone = run_policy(load_scenario(asked[1]), Settings(mode=Mode.ADVISORY)).outcome

    assert (untouched["io_capacity"], untouched["io_capacity_max"]) == (700, 700)
    assert untouched["throughput_mean"] == pytest.approx(alone.throughput_mean, rel=0.02)
    assert untouched["checkpoint_age_max"] == pytest.approx(alone.checkpoint_age_max, abs=0.02)
    assert parsed_result(*asked)["untouched"] == untouched
    assert "the setting it starts with, left alone" in simulated(*asked).stdout


def test_the_best_static_setting_of_a_month_does_not_take_an_afternoon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --oracle no named scenario is longer than two days, and what was left out is said."""
    assert {shortened(load_scenario(one)).seconds for one in ("daily", "month")} == {172_800}
    assert all(shortened(load_scenario(one)).problems() == [] for one in scenario_names())

    path = scenario_file(tmp_path, SHORT)
    length = load_scenario(path).seconds
    monkeypatch.setattr("lab.simulate.JUDGED_SECONDS", length - 60)
    monkeypatch.setattr("lab.simulate.search", lambda *_, **__: searched())
    asked = ("--scenario", path, "--policy", "fixed", "--oracle")
    done, whole = simulated(*asked), simulated(*asked, "--seconds", str(length))
    assert f"with --oracle the first {duration(length - 60)} of {duration(length)}" in done.stderr
    assert f"--seconds {length} for all of it" in done.stderr
    assert "with --oracle" not in whole.stderr
