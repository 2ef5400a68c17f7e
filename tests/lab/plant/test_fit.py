"""Parameters are found again from rows of a server that has them; scenarios take them by name."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.plant import fits
from lab.plant.compare.suites import Static
from lab.plant.fit import chosen, main
from lab.plant.fits import Fit, FitError, FittedOn, load_fit
from lab.plant.fits.fitting import fit_rows, operations
from lab.plant.fits.rows import fitted_on
from lab.plant.fits.search import lowest
from lab.plant.parameters import DiskParameters
from lab.scenarios.load import ScenarioError, parse_scenario
from tests.lab.plant.real import SUITE, TRUTH, VARIANT, asked, bench, measured

SETTINGS = (5000, 1000, 500)
CONTENDERS = (100, 306, 366, 382, 400, 418, 436, 622, 888, 2000, 2400, 4000, 20_000)
"""What the suite ``contenders`` tries at 1200 writes/s."""

SCENARIO = """
name = "mine"
description = "fitted"
seconds = 600
measured_from = 300
fit = "truth"
[load]
hot_pages = 5000
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory in the place of the fits that come along."""
    place = tmp_path / "fits"
    place.mkdir()
    monkeypatch.setattr(fits, "_folder", lambda directory: directory or place)
    return place


def test_the_parameters_of_a_server_are_found_again() -> None:
    """Three rows give its pages, its redo and its costs to a few percent."""
    rows = [measured(most) for most in SETTINGS]

    found = fit_rows(rows, name="mysql-9.7", suite=SUITE, names=("hot_pages",))

    assert found.load["hot_pages"] == pytest.approx(TRUTH.load["hot_pages"], rel=0.06)
    assert found.load["redo_bytes_per_commit"] == pytest.approx(600.0, rel=0.01)
    assert found.load["group_operations"] == pytest.approx(TRUTH.load["group_operations"], rel=0.03)
    assert found.disk["operations_per_page"] == pytest.approx(1.2, rel=0.03)
    assert found.left < 0.3


def test_costs_are_searched_for_where_the_device_was_not_watched() -> None:
    """A server outside a control group has no writes per commit; throughput and pages tell of the costs."""
    rows = [measured(most) for most in SETTINGS]
    for row in rows:
        row.figures["device_writes_per_commit"] = None

    found = fit_rows(rows, name="mysql-9.7", suite=SUITE, names=())

    assert {"group_operations", "operations_per_page"} <= {*found.load, *found.disk}
    per_commit = found.load["group_operations"] / TRUTH.load["group_operations"]
    assert per_commit == pytest.approx(1.0, abs=0.15)


def test_rows_that_lie_close_together_tell_the_cost_of_a_commit_alone() -> None:
    """Noise in their writes does not become a page twice as dear: its cost is the device's own."""
    rows = [measured(500) for _ in range(4)]
    own = DiskParameters()
    page = own.page_operations(128)
    for row, pages, noise in zip(rows, (0.15, 0.155, 0.16, 0.165), (-0.02, 0.01, -0.01, 0.02), strict=True):
        row.figures["pages_per_commit"] = pages
        row.figures["device_writes_per_commit"] = 0.43 + page * pages + noise

    found = operations(rows)

    assert found["operations_per_page"] == pytest.approx(own.operations_per_page)
    assert found["group_operations"] == pytest.approx(0.43 * 16)


def test_the_lowest_point_is_found_in_a_slanting_valley() -> None:
    """Two parameters that make up for each other are still told apart."""

    def cost(point: dict[str, float]) -> float:
        a, b = math.log(point["a"] / 3.0), math.log(point["b"] / 0.2)
        return math.sqrt((a + b) ** 2 + 0.1 * (a - b) ** 2)

    point, left = lowest(cost, {"a": 1.0, "b": 1.0})

    assert point["a"] == pytest.approx(3.0, rel=0.02)
    assert point["b"] == pytest.approx(0.2, rel=0.02)
    assert left < 0.02


def test_a_parameter_that_the_rows_do_not_tell_of_stays() -> None:
    """It is not moved by noise in the last digits."""
    point, _ = lowest(lambda point: 1.0 + abs(math.log(point["a"])), {"a": 2.0, "idle": 7.0})

    assert point["idle"] == 7.0


def test_a_fit_is_written_as_it_is_read(folder: Path) -> None:
    """Words with quotes in them too; what it was fitted on is in the file."""
    fit = Fit(
        name="mine",
        suite=SUITE,
        fitted_on=(FittedOn('a "quoted" disk', 500),),
        load={"hot_pages": 23_456.0},
        disk={"operations_per_page": 1.0625},
        left=0.25,
    )
    (folder / "mine.toml").write_text(fit.toml(), encoding="utf-8")

    assert load_fit("mine") == fit


def test_a_fit_of_something_that_cannot_be_fitted_is_refused(folder: Path) -> None:
    """A misspelt parameter is an error with the names that there are."""
    (folder / "mine.toml").write_text('suite = "s"\nfitted_on = []\n[load]\nhot_page = 1\n[disk]\n')

    with pytest.raises(FitError, match=r"load\.hot_page: cannot be fitted; there are hot_pages"):
        load_fit("mine")


def test_what_was_tried_decides_what_is_fitted_on() -> None:
    """The quartiles of M, in any order and however often each was measured; ten values judge."""
    tried = [FittedOn(VARIANT, most) for most in CONTENDERS]

    found = fitted_on([*reversed(tried), *tried[:5]])

    assert [one.io_capacity_max for one in found] == [382, 436, 2000]
    assert fitted_on(tried) == found
    assert len(set(tried) - set(found)) == 10


def test_every_variant_has_its_own_quartiles() -> None:
    """One that has a single value is fitted on it, and does not lose it to another."""
    found = fitted_on([FittedOn("a", 500), *(FittedOn("b", most) for most in (100, 200, 300, 400, 500))])

    assert found == (FittedOn("a", 500), FittedOn("b", 200), FittedOn("b", 300), FittedOn("b", 400))


def test_rows_that_were_first_on_their_server_are_not_fitted_on() -> None:
    """Their averages still hold the filling of the tables."""
    rows = [Static(asked(1000), fresh=True), Static(asked(500), fresh=False)]

    found = chosen(rows)

    assert [row.io_capacity_max for row in found] == [500]


def test_the_command_prints_what_a_scenario_can_take(tmp_path: Path, folder: Path) -> None:
    """From a bench's directory to a fit that is named after the server, with the rows that it is from."""
    settings = (1200, 5000, 1000, 700, 500, 100)
    directory = bench(tmp_path, [measured(most, place=place) for place, most in enumerate(settings)])

    found = CliRunner().invoke(main, [str(directory), "--parameter", "hot_pages"], prog_name="lab.plant.fit")

    assert found.exit_code == 0, found.output
    assert 'in a scenario: fit = "mysql-9.7"' in found.output
    (folder / "truth.toml").write_text(found.output, encoding="utf-8")
    assert load_fit("truth").fitted_on == tuple(FittedOn(VARIANT, most) for most in (1000, 700, 500))
    scenario = parse_scenario(SCENARIO, source="mine")
    assert scenario.load.hot_pages == 5000.0
    assert scenario.load.redo_bytes_per_commit == pytest.approx(600.0, rel=0.01)
    assert scenario.disk.operations_per_page == pytest.approx(1.2, rel=0.05)


def test_rows_that_are_not_measured_yet_are_no_fit(tmp_path: Path) -> None:
    """The command says what is missing instead of fitting on nothing."""
    found = CliRunner().invoke(main, [str(bench(tmp_path, []))], prog_name="lab.plant.fit")

    assert found.exit_code == 1
    assert "none of the rows to fit on is measured yet" in found.output


def test_a_scenario_that_names_no_fit_there_is_says_which_there_are(folder: Path) -> None:
    """An empty directory has none yet."""
    assert not list(folder.iterdir())
    with pytest.raises(ScenarioError, match="mine: fit = truth: no such fitted parameters"):
        parse_scenario(SCENARIO, source="mine")
