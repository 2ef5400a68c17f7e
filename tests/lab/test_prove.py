"""The proof's arithmetic: percentiles, bounds, windows, the search's choices and the page."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from lab.bench.daemon import configuration
from lab.bench.ledger import Ledger, read_rows
from lab.bench.sampler import Reading
from lab.bench.statistics import percentile, ratio_bounds, t95
from lab.prove import blocks, hold, report, search
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


def row(capacity: int, mean: float, **other: object) -> dict[str, Any]:
    return {
        "io_capacity": capacity // 2,
        "io_capacity_max": capacity,
        "stage": "coarse",
        "commits_mean": mean,
        "commits_median": mean,
        "commits_p1": 0.8 * mean,
        "sync_pages": 0,
        "stall_waits": 0,
        "checkpoint_ratio_max": 0.7,
        "age_ratio_mean": 0.9,
        "settle_seconds": 90.0,
        "settled": True,
        "seconds": 120,
        "reset": "how",
        "conditions": CONDITIONS,
        **other,
    }


def test_percentiles_interpolate() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 0) == 1.0
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([4.0, 1.0, 3.0, 2.0], 100) == 4.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_a_paired_ratio_has_t_bounds() -> None:
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


def test_best_static_obeys_every_constraint() -> None:
    rows = [
        row(360, 3000.0, sync_pages=1),
        row(400, 2950.0, commits_p1=1000.0),
        row(440, 2900.0, checkpoint_ratio_max=0.79),
        row(480, 2800.0),
        row(520, 2700.0),
    ]
    assert (search.best(rows) or {})["io_capacity_max"] == 480
    assert (search.best(rows, search.steady) or {})["io_capacity_max"] == 440
    assert (search.best(rows, search.anything) or {})["io_capacity_max"] == 360
    assert search.best(rows[:3]) is None


def test_the_search_refines_beside_the_winner_and_moves_up_without_one() -> None:
    rows = [row(440, 2700.0), row(480, 2800.0), row(520, 2750.0)]
    tried = []
    while (value := search.refine(rows)) is not None:
        tried.append(value)
        rows.append(row(value, 2000.0))
    assert tried == [460, 500, 470, 490, 450, 510]
    assert search.refine([row(360, 1.0, sync_pages=5), row(560, 1.0, sync_pages=5)]) == 600
    assert search.refine([]) is None


def test_a_fine_row_is_approached_from_its_neighbours() -> None:
    rows = [row(440, 1.0, age_ratio_mean=0.9), row(480, 1.0, age_ratio_mean=0.8)]
    assert search.expected_ratio(rows, 450) == pytest.approx(0.875)
    assert search.expected_ratio(rows, 500) is None


def test_a_ledger_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results" / "search.jsonl"
    Ledger(path, resume=False).add({"io_capacity_max": 440})
    assert Ledger(path, resume=True).find(io_capacity_max=440) is not None
    assert Ledger(path, resume=False).rows == []
    assert len(list(tmp_path.glob(".cache/prove/*.jsonl"))) == 1
    assert read_rows(path) == []


def test_blocks_are_whole_and_repeatable() -> None:
    order = blocks.plan(7)
    assert order == blocks.plan(7)
    for block in (1, 2, 3):
        assert {contender for number, contender in order if number == block} == set(blocks.CONTENDERS)
    assert len({tuple(blocks.plan(seed)) for seed in range(20)}) > 1


def test_the_parts_fit_into_an_hour() -> None:
    assert search.BUDGET <= 45 * 60
    assert len(blocks.plan(1)) * (blocks.SECONDS + blocks.RESET_SECONDS) <= blocks.BUDGET <= 3600
    assert hold.SETTLE[1] + hold.COUNTED <= 3600


def test_the_share_inside_a_band() -> None:
    assert hold.inside([0.84, 0.86, 0.90, 0.94], 0.9) == 0.75


def test_the_daemons_configuration_is_toml(tmp_path: Path) -> None:
    class Fake:
        host, port, socket, daemon = "127.0.0.1", 3307, None, Account("innobrim", "x")

    server: LabServer = Fake()  # type: ignore[assignment]  # only the address is looked at
    found = tomllib.loads(configuration(server, tmp_path / 'a "b"'))
    assert found["server"]["port"] == 3307
    assert found["server"]["defaults_file"].endswith('a "b"/client.cnf')
    assert found["loop"]["mode"] == "active"
    assert (found["api"]["port"], found["api"]["socket"]) == (0, "-")


def test_the_page_says_where_we_fall_short(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "search.jsonl", resume=True)
    for one in (row(440, 2800.0), row(480, 2700.0, settled=False)):
        ledger.add({**one, "part": "search"})
    ledger = Ledger(tmp_path / "blocks.jsonl", resume=True)
    for block, contender in blocks.plan(3):
        commits = {"default": 1300.0, "best static": 2800.0, "ours": 2700.0}[contender] + block
        ledger.add(
            {
                **row(440, commits),
                "part": "blocks",
                "seed": 3,
                "block": block,
                "contender": contender,
                "best_static": 440,
                "knob_changes": 2,
                "changes_before": 9,
                "io_capacity_max_mean": 450.0,
                "commits": [commits] * 240,
            }
        )
    text = report.write(tmp_path).read_text()
    assert "met: throughput over the default's: 2.07" in text
    assert "**not met**: throughput over best static's: 0.964" in text
    assert "**not met**: p1 over all counted seconds" in text
    assert "still drifting" in text
    assert "M = 440, 2800.0 commits/s" in text
    assert "Not run yet: `python -m lab.prove --part hold`" in text


def test_an_unfinished_block_claims_nothing(tmp_path: Path) -> None:
    one = row(440, 2000.0, part="blocks", seed=3, block=1, contender="ours", best_static=440)
    one |= {"commits": [1.0], "knob_changes": 0, "changes_before": 0, "io_capacity_max_mean": 440.0}
    Ledger(tmp_path / "blocks.jsonl", resume=True).add(one)
    assert "no ratio is claimed" in report.write(tmp_path).read_text()
