"""The error of the plant is worked out rightly: against servers whose difference from it is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from lab.plant.compare import files
from lab.plant.compare.__main__ import main
from lab.plant.compare.conditions import flavour_of, parameters_of
from lab.plant.compare.judge import PROMISES, Compared
from lab.plant.compare.page import document
from lab.plant.compare.suites import BENCHES, compared
from lab.plant.compare.twin import began_at, simulated
from lab.plant.fits import FittedOn, load_fits
from tests.lab.plant.real import SUITE, TRUTH, VARIANT, asked, bench, conditions, measured

ROOT = Path(__file__).parents[3]
AGE, THROUGHPUT, RESPONSE = PROMISES


def rows_of(root: Path, settings: tuple[int, ...], **changes: float) -> tuple[Compared, ...]:
    """Return the comparison of real rows with a plant whose parameters are off by these factors."""
    directory = bench(root, [measured(most, place=place) for place, most in enumerate(settings)])
    load = {name: value * changes.get(name, 1.0) for name, value in TRUTH.load.items()}
    (found,) = compared(directory, [replace(TRUTH, load=load)])
    return found.rows


def test_a_server_that_is_the_plant_has_no_error_but_the_dice(tmp_path: Path) -> None:
    """The same parameters under another seed keep every promise, by far."""
    rows = rows_of(tmp_path, (20_000, 1200, 500, 100))

    for promise in PROMISES:
        assert promise.kept(rows) == len(promise.errors(rows))
    assert max(map(abs, AGE.errors(rows))) < 0.02
    assert max(map(abs, THROUGHPUT.errors(rows))) < 0.03


def test_a_commit_that_costs_too_much_shows_as_throughput_that_lacks(tmp_path: Path) -> None:
    """Half as much again for a commit on the device: the error has its sign, and the promise is broken."""
    rows = rows_of(tmp_path, (1000, 700, 500), group_operations=1.5)

    assert THROUGHPUT.kept(rows) == 0
    assert all(-0.35 < error < -0.10 for error in THROUGHPUT.errors(rows))


def test_a_redo_rate_that_is_too_high_shortens_the_step(tmp_path: Path) -> None:
    """Twice the redo from each commit fills the log in about half the time."""
    (first, row) = rows_of(tmp_path, (20_000, 100), redo_bytes_per_commit=2.0)

    assert first.response.share is None
    assert row.response.share == pytest.approx(-0.5, abs=0.15)
    assert RESPONSE.kept([row]) == 0


@pytest.mark.parametrize("ratio", [0.05, 0.2, 0.6])
def test_the_simulated_server_begins_at_the_real_ones_age(ratio: float) -> None:
    """A step is timed from the same place, wherever the reset had come to."""
    row = measured(700, ratio=ratio)

    assert began_at(row) == pytest.approx(ratio, abs=0.06)


@pytest.mark.parametrize("most", [2400, 1200, 700])
def test_a_row_that_begins_where_it_stays_is_simulated_at_rest(most: int) -> None:
    """The plant was at work before, as the server was: its flush list is not that of an empty log."""
    long = asked(most, seconds=400)
    rest = simulated(long, parameters_of(long, TRUTH)).figures["age_ratio_mean"]
    row = replace(asked(most, ratio=rest), stage="search")

    found = simulated(row, parameters_of(row, TRUTH)).figures["age_ratio_mean"]

    assert found == pytest.approx(rest, abs=0.025)


def test_what_was_fitted_on_does_not_judge_and_is_named(tmp_path: Path) -> None:
    """Nobody is told an error that was fitted away."""
    directory = bench(tmp_path, [measured(most, place=place) for place, most in enumerate((1200, 500, 700))])
    fit = replace(TRUTH, fitted_on=(FittedOn(VARIANT, 500),))

    (found,) = compared(directory, [fit])
    text = document([found], state="x")

    assert [row.setting for row in found.rows if row.judges] == ["350/700"]
    assert f"fitted on `{SUITE}`: {VARIANT}, M = 500." in text
    assert "| 250/500 | *fitted* |" in text
    assert "| 600/1200 | *first* |" in text


def test_a_row_whose_processors_were_used_up_does_not_judge_the_disk(tmp_path: Path) -> None:
    """Below a tenth idle a row is printed, marked and not counted; one that says nothing of it counts."""
    given = [(700, 0.6), (600, 0.099), (500, 0.1), (400, 0.0)]
    rows = [measured(most, place=place, idle=idle) for place, (most, idle) in enumerate(given, 1)]
    silent = measured(300, place=5)
    silent = replace(silent, figures={k: v for k, v in silent.figures.items() if k != "machine_idle"})
    directory = bench(tmp_path, [measured(1000, place=0), *rows, silent])

    (found,) = compared(directory, [TRUTH])
    text = document([found], state="x")

    assert [row.setting for row in found.rows if row.judges] == ["350/700", "250/500", "150/300"]
    assert len(THROUGHPUT.errors(found.rows)) == 3
    assert "| 300/600 | ‡ |" in text
    assert "idle: 0.00 to 0.60 of their time; less than 0.1 in 2 of 6 rows, which are marked ‡" in text


def test_the_page_has_stalls_and_the_highest_checkpoint_age(tmp_path: Path) -> None:
    """What a low M costs is beside the real server's: seconds without room, and how full the log was."""
    rows = [measured(most, place=place) for place, most in enumerate((700, 100))]
    real = rows[1].figures | {"stall_seconds": 23, "checkpoint_ratio_max": 0.834}
    directory = bench(tmp_path, [rows[0], replace(rows[1], figures=real)])

    (found,) = compared(directory, [TRUTH])
    text = document([found], state="x")

    plant = found.rows[1].plant.figures
    cells = f"| 23 / {plant['stall_seconds']} | 0.834 / {plant['checkpoint_ratio_max']:.3f} |"
    line = next(line for line in text.splitlines() if line.startswith("| 100/100 |"))
    assert cells in line
    assert "| stalled, s | age / redo |" in text


def test_a_policys_row_between_two_settings_is_no_pause(tmp_path: Path) -> None:
    """The bench had the same server all along, though only the settings are compared."""
    policy = replace(measured(900, place=1), kind="policy", io_capacity=None, io_capacity_max=None)
    directory = bench(tmp_path, [measured(1200, place=0), policy, measured(700, place=2)])

    (found,) = compared(directory, [TRUTH])

    assert [row.setting for row in found.rows if row.judges] == ["350/700"]


def test_the_first_row_after_a_pause_is_on_a_server_that_has_just_been_filled(tmp_path: Path) -> None:
    """Each part of a bench has a server of its own; its averages still hold the filling."""
    directory = bench(tmp_path, [measured(most, place=p) for p, most in ((0, 1200), (1, 700), (9, 500))])

    (found,) = compared(directory, [TRUTH])

    assert [row.setting for row in found.rows if row.fresh] == ["600/1200", "250/500"]


def test_a_server_that_has_just_been_filled_flushes_at_m_whatever_its_age() -> None:
    """The look-ahead over the filling's redo rate keeps the age down for minutes, as on real servers."""
    row = measured(1200)
    parameters = parameters_of(row, TRUTH)

    filled = simulated(row, parameters, fresh=True).figures
    usual = simulated(row, parameters).figures

    assert filled["age_ratio_mean"] < 0.1
    assert usual["age_ratio_mean"] > 0.4
    assert filled["commits_mean"] < 0.7 * usual["commits_mean"]


def test_rows_that_cannot_be_simulated_are_named_with_the_reason(tmp_path: Path) -> None:
    """They are not passed over in silence, and keep nobody from the others."""
    other = asked(500, conditions(set={"innodb_adaptive_hash_index": "ON"}), place=1)
    directory = bench(tmp_path, [measured(700, place=0), other])

    text = document(compared(directory, [TRUTH]), state="x")

    assert "Not compared:\n- the plant has no innodb_adaptive_hash_index" in text
    assert "| 350/700 |" in text


def test_the_page_has_the_sync_regimes_mean_and_spread(tmp_path: Path) -> None:
    """M = 100: mean, deviation, 5th percentile and slowest second of both, with the error."""
    directory = bench(tmp_path, [measured(most, place=place) for place, most in enumerate((700, 100))])

    text = document(compared(directory, [TRUTH]), state="x")

    _, _, table = text.partition("| at M = 100, block ")
    for title in ("mean, commits/s", "standard deviation", "5th percentile", "slowest second"):
        assert f"| {title} |" in table


@pytest.mark.parametrize("server", ["MySQL 5.6.24", "MariaDB 11.8.6-MariaDB"])
def test_every_family_has_its_twin(tmp_path: Path, server: str) -> None:
    """The plant stands beside a row of MySQL 5.6 and MariaDB as of 9.7."""
    given = conditions(server, set={"innodb_max_dirty_pages_pct_lwm": "0.001"})
    rows = [measured(most, given=given, ratio=0.6, place=place) for place, most in enumerate((700, 500))]
    directory = bench(tmp_path, rows)

    (found,) = compared(directory, [replace(TRUTH, name=flavour_of(server))])

    assert AGE.kept(found.rows) == THROUGHPUT.kept(found.rows) == 1


def test_the_command_prints_the_page_of_any_bench(tmp_path: Path) -> None:
    """One that was measured for another reason as well; the older measurements stand below it."""
    directory = bench(tmp_path, [measured(700)], suite="mine")

    found = CliRunner().invoke(main, [str(directory)], prog_name="lab.plant.compare")

    assert found.exit_code == 0, found.output
    assert "## MySQL 9.7.4, `mine`, 1200 writes/s" in found.output
    assert "| 10000/20000 | 1333 / 1289 |" in found.output


def test_the_fit_of_one_bench_is_judged_by_all_rows_of_another(tmp_path: Path) -> None:
    """Load and disk are the server's: the same parameters, and no row of it was fitted away."""
    fit = replace(TRUTH, fitted_on=(FittedOn(VARIANT, 500),))
    directory = bench(
        tmp_path, [measured(most, place=place) for place, most in enumerate((700, 500))], "disks"
    )

    (found,) = compared(directory, [fit])
    (without,) = compared(directory, [replace(fit, name="mysql-5.6")])

    assert [row.setting for row in found.rows if row.judges] == ["250/500"]
    assert (found.fit, without.fit) == (fit, None)
    assert "the plant's own, fitted on none of these rows" in document([without], state="x")


def test_the_published_benches_are_held_against_the_plant_in_one_order(tmp_path: Path) -> None:
    """Those that are there, whatever else lies beside them; the others are said to be missing."""
    for name in ("seeds", "disks", "contenders"):
        (tmp_path / "docs/results/bench" / name).mkdir(parents=True)

    found = [path.name for path in files.found(tmp_path)]

    assert found == ["contenders", "disks"]
    missing = ", ".join(f"`{name}`" for name in BENCHES)
    assert f"**Not measured yet:** {missing}." in document([], state="x")


def test_the_published_page_is_of_these_rows_and_this_plant() -> None:
    """Whoever adds rows, fits anew or changes the plant writes docs/results/plant.md again."""
    text = (ROOT / files.PAGE).read_text(encoding="utf-8")

    assert files.state_of(text) == files.state(files.found(ROOT)), "run: python -m lab.plant.compare --write"


def test_the_fits_that_come_along_can_be_read() -> None:
    """A fit that was written by hand or by the command is one that the comparison takes."""
    assert all(fit.suite for fit in load_fits())
