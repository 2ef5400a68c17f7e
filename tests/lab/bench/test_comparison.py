"""Runs of a comparison, and what comes of them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.bench import comparison as module
from lab.bench.comparison import UNEVEN, Asked, Comparison, Found, Task
from lab.scenarios import Scenario
from lab.scenarios.progress import Progress

SHORT = Scenario(name="short", description="for tests", seconds=200, measured_from=100)
ASKED = Asked(("cascade", "fixed"), (SHORT,), 2, oracle=True)


def outcomes(found: Found) -> dict[str, list[object]]:
    """Return what each contender came to with each seed."""
    return {name: [(row["seed"], row["outcome"]) for row in rows] for name, rows in found.rows.items()}


def test_two_processes_do_what_one_does() -> None:
    """However many processes there are, the rows are the same, by seed, and it is told how far they are."""
    told: list[Progress] = []
    ((_, one),) = Comparison(ASKED, jobs=1, progress=told.append).run()
    ((_, two),) = Comparison(replace(ASKED, oracle=False), jobs=2).run()

    assert one.rows["static"][0]["io_capacity_max"]
    assert outcomes(two) == outcomes(one) | {"static": []}
    assert [row["seed"] for row in two.rows["fixed"]] == [1, 2]
    assert all(0.0 < each.share <= 1.0 for each in told)


def test_no_run_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search tried is not run again to be judged."""
    done: list[Task] = []
    carry_out = module.carry_out
    monkeypatch.setattr(module, "carry_out", lambda task: (done.append(task), carry_out(task))[1])
    Comparison(replace(ASKED, policies=("fixed",), seeds=1), jobs=1).run()

    assert len(done) == len(set(done)) > len(ASKED.policies)


def test_a_load_that_pauses_still_has_a_best_static() -> None:
    """No M makes the first percentile of a pause half the median; the best without that rule says so."""
    entry = SHORT.load.timeline[0]
    pauses = tuple(
        replace(entry, at=at, threads=threads) for at, threads in ((0.0, 16), (260.0, 0), (320.0, 16))
    )
    moving = replace(SHORT, seconds=400, measured_from=200, load=replace(SHORT.load, timeline=pauses))
    asked = Asked(("fixed",), (moving,), 1, oracle=True)
    ((_, found),) = Comparison(asked, jobs=1).run()
    (row,) = found.rows["static"]

    assert found.note == UNEVEN
    assert row["outcome"]["sync_flush_seconds"] == 0
    assert row["outcome"]["throughput_p1"] == 0.0
