"""``innobrim simulate --oracle``: the static settings that stand beside a policy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lab.scenarios import load_scenario, scenario_names
from lab.scenarios.load import parse_scenario
from lab.scenarios.static import Caps, pair, run_static, search
from lab.simulate import shortened, simulate
from lab.simulate_loop import run_policy
from tests.lab.simulating import SHORT, parsed_result, scenario_file, simulated
from tuner.cli.wording import duration
from tuner.records import Capacity
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_best_static_keeps_the_rules_and_beats_its_neighbours() -> None:
    """The best static setting keeps every rule, and no other that does gives more."""
    scenario = load_scenario("steady-1200iops")
    found = search(scenario, ratio=2, caps=Caps(0.78))
    assert found.best is not None
    assert found.without_cap is not None
    assert found.unconstrained is not None
    outcome = run_static(scenario, 2, found.best.io_capacity_max)
    assert outcome.sync_flush_seconds == 0
    assert outcome.checkpoint_age_max <= 0.78
    assert outcome.throughput_p1 >= 0.5 * outcome.throughput_median
    assert outcome.throughput_mean == pytest.approx(found.best.throughput_mean, abs=0.1)
    for other in (480, 600, 1200):
        assert run_static(scenario, 2, other).throughput_mean <= outcome.throughput_mean
    assert (
        found.best.throughput_mean <= found.without_cap.throughput_mean <= found.unconstrained.throughput_mean
    )
    assert (
        found.unconstrained.io_capacity_max < found.without_cap.io_capacity_max < found.best.io_capacity_max
    )


def test_no_static_setting_may_keep_the_rules() -> None:
    """Where every static setting breaks a rule, best static is null and the unconstrained one is there."""
    scenario = parse_scenario(SHORT, source="test")
    found = simulate(scenario, "fixed", oracle=True)
    impossible = search(scenario, ratio=2, caps=Caps(0.01))
    assert impossible.best is None
    assert impossible.unconstrained == found.best_static_unconstrained


def test_the_best_static_setting_keeps_the_contenders_budgets() -> None:
    """A recovery or shutdown budget that the best one breaks makes another, slower one the best."""
    scenario = parse_scenario(SHORT, source="test")
    free = search(scenario, ratio=2, caps=Caps(0.78)).best
    assert free is not None
    broken = run_static(scenario, 2, free.io_capacity_max)
    for caps in (
        Caps(0.78, recovery_seconds=0.9 * broken.recovery_seconds_max),
        Caps(0.78, pages_dirty=0.9 * broken.pages_dirty_max),
    ):
        found = search(scenario, ratio=2, caps=caps)
        assert found.best is not None
        assert caps.keep(run_static(scenario, 2, found.best.io_capacity_max))
        assert found.best.throughput_mean < free.throughput_mean


def test_a_search_that_found_none_is_told_from_no_search(tmp_path: Path) -> None:
    """Where a search finds no static setting that keeps the rules, the answer is an object and not null."""
    dip = "[{ at = 0, write_iops = 2400 }, { at = 300, write_iops = 100 }, { at = 320, write_iops = 2400 }]"
    path = scenario_file(tmp_path, SHORT.replace("[{ at = 0, write_iops = 1200 }]", dip))
    asked = ("--scenario", path, "--policy", "fixed")

    searched, table = parsed_result(*asked, "--oracle"), simulated(*asked, "--oracle").stdout

    assert parsed_result(*asked)["best_static"] is None
    assert searched["best_static"] == {
        "io_capacity_max": None,
        "throughput_mean": None,
        "pages_per_commit": None,
    }
    assert searched["best_static_unconstrained"]["io_capacity_max"] >= 100
    assert "none keeps the rules" in table
    assert "without age cap and budgets" in table


def test_the_table_sets_the_policy_beside_the_best_static_setting(tmp_path: Path) -> None:
    """--oracle prints the policy's share of the commits/s, and of the pages for each, of the best setting."""
    asked = ("--scenario", scenario_file(tmp_path), "--policy", "fixed", "--oracle")
    searched, table = parsed_result(*asked), simulated(*asked).stdout
    best = searched["best_static"]
    commits = searched["throughput_mean"] / best["throughput_mean"]
    pages = searched["pages_per_commit"] / best["pages_per_commit"]
    said = rf"beside the first +{commits:.3f} of its commits/s, {pages:.3f} of its pages per commit"
    assert re.search(said, table)


def test_the_setting_that_a_server_starts_with_is_tried_as_well(tmp_path: Path) -> None:
    """--oracle says what the scenario's own C and M give where nobody moves them, whatever their ratio."""
    path = scenario_file(tmp_path, f"{SHORT}[server]\nio_capacity = 700\nio_capacity_max = 700\n")
    searched = parsed_result("--scenario", path, "--policy", "fixed", "--oracle")
    table = simulated("--scenario", path, "--policy", "fixed", "--oracle").stdout
    alone = run_policy(load_scenario(path), Settings(mode=Mode.ADVISORY)).outcome
    assert (searched["untouched"]["io_capacity"], searched["untouched"]["io_capacity_max"]) == (700, 700)
    assert searched["untouched"]["throughput_mean"] == pytest.approx(alone.throughput_mean, rel=0.02)
    assert searched["untouched"]["checkpoint_age_max"] == pytest.approx(alone.checkpoint_age_max, abs=0.02)
    assert re.search(rf"C/M = 700/700 +{searched['untouched']['throughput_mean']:g} commits/s", table)
    assert parsed_result("--scenario", path, "--policy", "fixed")["untouched"] is None


def test_the_default_that_a_search_tried_is_the_setting_left_alone() -> None:
    """Where the server starts with one of the values that the search tries, its run is the answer."""
    scenario = parse_scenario(SHORT, source="test")
    found = search(scenario, ratio=2, caps=Caps(0.78)).untouched
    assert (found.io_capacity, found.io_capacity_max) == (10_000, 20_000)
    assert found.throughput_mean == round(run_static(scenario, 2, 20_000).throughput_mean, 1)


def test_static_pairs_are_legal() -> None:
    """A static M goes with C = M / k, never below the server's minimum of 100."""
    assert pair(450, 2) == Capacity(225, 450)
    assert pair(150, 2) == Capacity(100, 150)


def test_the_best_static_setting_of_a_month_does_not_take_an_afternoon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --oracle no named scenario is longer than two days, and what was left out is said."""
    assert {shortened(load_scenario(one)).seconds for one in ("daily", "month")} == {172_800}
    assert all(shortened(load_scenario(one)).problems() == [] for one in scenario_names())

    path = scenario_file(tmp_path, SHORT)
    length = load_scenario(path).seconds
    monkeypatch.setattr("lab.simulate.JUDGED_SECONDS", length - 60)
    asked = ("--scenario", path, "--policy", "fixed", "--oracle")
    done, whole = simulated(*asked), simulated(*asked, "--seconds", str(length))
    assert f"with --oracle the first {duration(length - 60)} of {duration(length)}" in done.stderr
    assert f"--seconds {length} for all of it" in done.stderr
    assert "with --oracle" not in whole.stderr
