"""The proof's arithmetic: percentiles, bounds, windows and the page."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from lab.bench.daemon import configuration
from lab.bench.ledger import Ledger, read_rows
from lab.bench.sampler import Reading
from lab.bench.statistics import percentile, ratio_bounds, t95
from lab.prove import hold, report
from lab.servers.base import Account, LabServer
from tests.lab.factory import CONDITIONS

if TYPE_CHECKING:
    from pathlib import Path

SOME = Reading(
    monotonic=0.0,
    age_ratio=0.9,
    checkpoint_ratio=0.7,
    lsn=0,
    adaptive=0,
    sync=0,
    background=0,
    lru=0,
    space_waits=0,
    io_capacity=225,
    io_capacity_max=450,
    cpu_idle=0.0,
)


def test_percentiles_interpolate() -> None:
    """A percentile between two values lies between them, and of no values there is none."""
    assert percentile([4.0, 1.0, 3.0, 2.0], 0) == 1.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([4.0, 1.0, 3.0, 2.0], 100) == 4.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_a_paired_ratio_has_t_bounds() -> None:
    """Three pairs give Student's bounds; one pair gives a ratio without bounds, a zero none at all."""
    found = ratio_bounds([(200.0, 100.0), (210.0, 100.0), (190.0, 100.0)])
    assert found is not None
    assert found.mean == pytest.approx(1.998, abs=0.001)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.9
    assert found.high > 2.1
    single = ratio_bounds([(2.0, 1.0)])
    assert single is not None
    assert single.low is None
    assert ratio_bounds([(1.0, 0.0)]) is None


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (9, 2.262), (10, 2.228), (12, 2.179), (19, 2.093)])
def test_bounds_of_many_blocks_are_no_narrower_than_students_t(freedom: int, t: float) -> None:
    """Up to the most blocks that a plan may have, t is right within a hundredth (table of Student's t)."""
    assert t95(freedom) == pytest.approx(t, abs=0.01)


def test_a_ledger_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished rows are there again on resume; a new begin keeps the old ones aside."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results" / "search.jsonl"
    Ledger(path, resume=False).add({"io_capacity_max": 440})
    assert Ledger(path, resume=True).find(io_capacity_max=440) is not None
    assert Ledger(path, resume=False).rows == []
    assert len(list(tmp_path.glob(".cache/prove/*.jsonl"))) == 1
    assert read_rows(path) == []


def test_the_hold_fits_into_an_hour() -> None:
    """The proof of the hold, with its longest way there, takes no more than the hour that is promised."""
    assert hold.SETTLE[1] + hold.COUNTED <= 3600


def test_the_share_inside_a_band() -> None:
    """The share is of the readings no farther than 0.05 from the set-point."""
    assert hold.inside([0.84, 0.86, 0.90, 0.94], 0.9) == 0.75


def test_the_daemons_configuration_is_toml(tmp_path: Path) -> None:
    """The daemon that is proved reads its address, its option file and active mode from valid TOML."""

    class Fake:
        host, port, socket, daemon = "127.0.0.1", 3307, None, Account("innobrim", "x")

    server: LabServer = Fake()  # type: ignore[assignment]  # only the address is looked at
    found = tomllib.loads(configuration(server, tmp_path / 'a "b"'))
    assert found["server"]["port"] == 3307
    assert found["server"]["defaults_file"].endswith('a "b"/client.cnf')
    assert found["loop"]["mode"] == "active"
    assert (found["api"]["port"], found["api"]["socket"]) == (0, "-")


def test_the_page_says_where_we_fall_short(tmp_path: Path) -> None:
    """A promise that was not kept is said as plainly as one that was."""
    Ledger(tmp_path / "hold.jsonl", resume=True).add(
        {
            "settle_seconds": 186.0,
            "seconds": 3000,
            "io_capacity_max_mean": 401.7,
            "knob_changes": 4,
            "commits_mean": 2558.8,
            "sync_pages": 12,
            "checkpoint_ratio_max": 0.79,
            "share_within_band": 0.97,
            "band": 0.05,
            "conditions": CONDITIONS,
        }
    )

    text = report.write(tmp_path).read_text()

    assert "disk limited to 1200 write operations/s" in text
    assert "- met: changes of M in the counted time: 4" in text
    assert "**not met**: sync-flushed pages: 12" in text
    assert "**not met**: highest checkpoint age: 0.790 of S; at most 0.78 wanted" in text


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    """A page without rows names the command."""
    assert "Not run yet: `python -m lab.prove --part hold`" in report.write(tmp_path).read_text()
