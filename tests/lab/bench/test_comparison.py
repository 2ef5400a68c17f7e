"""Runs that are kept, and what comes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.bench import comparison as module
from lab.bench.comparison import UNEVEN, Asked, Comparison, Task
from lab.bench.store import Ledger, Row
from lab.scenarios import Scenario
from lab.scenarios.progress import Progress

SHORT = Scenario(name="short", description="for tests", seconds=200, measured_from=100)
ASKED = Asked(("cascade", "fixed"), (SHORT,), 2, oracle=True)


def ledger(folder: Path) -> Ledger:
    """Return the ledger of a folder, with what is in it."""
    return Ledger(folder / "rows.jsonl")


def keys(rows: Ledger) -> list[str]:
    """Return the keys of all runs that were done, sorted."""
    return sorted(row["key"] for row in rows.rows)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """Return the rows of a whole comparison, by one process."""
    rows = ledger(tmp_path_factory.mktemp("whole"))
    ((_, found),) = Comparison(ASKED, rows, jobs=1).run()
    assert found.rows["static"][0]["io_capacity_max"]
    return rows


def test_a_comparison_goes_on_where_it_stopped(tmp_path: Path, whole: Ledger) -> None:
    """With half of the rows it comes to the same, each run done once, and tells how far it is."""
    parts = ledger(tmp_path)
    for row in whole.rows[: len(whole.rows) // 2]:
        parts.add(row)
    told: list[Progress] = []
    ((_, rest),) = Comparison(ASKED, ledger(tmp_path), jobs=1, progress=told.append).run()
    ((_, one_go),) = Comparison(ASKED, whole, jobs=1).run()

    assert keys(ledger(tmp_path)) == keys(whole)
    assert outcomes(rest.rows) == outcomes(one_go.rows)
    assert told
    assert all(0.0 < one.share <= 1.0 for one in told)


def test_two_processes_do_what_one_does(tmp_path: Path, whole: Ledger) -> None:
    """However many processes there are, the rows are the same, by seed."""
    asked = replace(ASKED, oracle=False)
    ((_, two),) = Comparison(asked, ledger(tmp_path), jobs=2).run()
    ((_, one),) = Comparison(asked, whole, jobs=1).run()

    assert outcomes(two.rows) == outcomes(one.rows)
    assert [row["seed"] for row in two.rows["fixed"]] == [1, 2]


def outcomes(rows: dict[str, list[Row]]) -> dict[str, list[object]]:
    """Return what each contender came to with each seed."""
    return {name: [(row["seed"], row["outcome"]) for row in there] for name, there in rows.items()}


def test_another_plant_seed_length_or_setting_is_another_run() -> None:
    """The key moves with all that a row depends on, and not with a scenario's name."""
    task = Task(SHORT, m=600)
    others = [
        Task(replace(SHORT, seed=2), m=600),
        Task(replace(SHORT, seconds=210), m=600),
        Task(SHORT, m=602),
        Task(SHORT),
        Task(SHORT, "fixed"),
        Task(replace(SHORT, server=replace(SHORT.server, redo_capacity=2**28)), m=600),
    ]

    assert len({task.key, *(one.key for one in others)}) == len(others) + 1
    assert Task(replace(SHORT, name="other"), m=600).key == task.key


def test_other_policies_make_their_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a policy counts for the code that decided it; one of a static setting for any."""
    policy, static = Task(SHORT, "fixed"), Task(SHORT, m=600)
    before = policy.key, static.key
    monkeypatch.setattr(module, "policies_revision", lambda: "another")

    assert policy.key != before[0]
    assert static.key == before[1]


def test_rows_of_another_schema_cost_their_own_runs(tmp_path: Path, whole: Ledger) -> None:
    """What an older version wrote is done again, and stays where it is."""
    kept = ledger(tmp_path)
    kept.add({**whole.rows[0], "schema": 4})

    assert len(Comparison(ASKED, kept, jobs=1).missing()) == 6


def test_a_load_that_pauses_still_has_a_best_static(tmp_path: Path) -> None:
    """No M makes the first percentile of a pause half the median; the best without that rule says so."""
    entry = SHORT.load.timeline[0]
    pauses = tuple(
        replace(entry, at=at, threads=threads) for at, threads in ((0.0, 16), (260.0, 0), (320.0, 16))
    )
    moving = replace(SHORT, seconds=400, measured_from=200, load=replace(SHORT.load, timeline=pauses))
    asked = Asked(("fixed",), (moving,), 1, oracle=True)
    ((_, found),) = Comparison(asked, ledger(tmp_path), jobs=1).run()
    (row,) = found.rows["static"]

    assert found.note == UNEVEN
    assert row["outcome"]["sync_flush_seconds"] == 0
    assert row["outcome"]["throughput_p1"] == 0.0
