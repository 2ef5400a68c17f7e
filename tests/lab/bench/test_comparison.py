"""Runs that are kept, and runs that are not begun."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.bench import comparison as module
from lab.bench.comparison import UNEVEN, Asked, Comparison, Runner, Task, TimeUpError
from lab.bench.store import Ledger
from lab.scenarios import Scenario
from lab.scenarios.progress import Progress

SHORT = Scenario(name="short", description="for tests", seconds=200, measured_from=100)
TASKS = [Task("static", replace(SHORT, seed=seed), m=600) for seed in (1, 2)]


def ledger(folder: Path) -> Ledger:
    """Return the ledger of a folder, with what is in it."""
    return Ledger(folder / "rows.jsonl")


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    """What has a row is answered from the file, also by another process later."""
    with Runner(ledger(tmp_path), jobs=1) as runner:
        first = runner.done(TASKS)
    kept = ledger(tmp_path)
    with Runner(kept, jobs=1, seconds=0.0) as runner:
        again = runner.done(TASKS)

    assert again == first
    assert len(kept.rows) == 2
    assert [row["seed"] for row in first] == [1, 2]


def test_two_processes_do_what_one_does(tmp_path: Path) -> None:
    """However many processes there are, the rows are the same, in the order asked for."""
    figures = []
    for jobs in (1, 2):
        with Runner(ledger(tmp_path / str(jobs)), jobs=jobs) as runner:
            figures.append([(row["key"], row["outcome"]) for row in runner.done(TASKS)])

    assert figures[0] == figures[1]


def test_no_run_begins_that_would_end_late(tmp_path: Path) -> None:
    """Runs that do not fit are left out, those that do are kept, and how long one takes is said."""
    long = replace(SHORT, name="long", seconds=2_000_000)
    kept = ledger(tmp_path)
    with (
        Runner(kept, jobs=1, seconds=60.0) as runner,
        pytest.raises(TimeUpError, match=r"another run may take \d+ (s|min)"),
    ):
        runner.done([Task("static", long, m=600), *TASKS])

    assert {row["scenario"] for row in kept.rows} == {"short"}


def test_another_plant_seed_length_or_setting_is_another_run() -> None:
    """The key moves with all that a row depends on, and not with a scenario's name."""
    task = TASKS[0]
    others = [
        TASKS[1],
        Task("static", replace(SHORT, seconds=210), m=600),
        Task("static", SHORT, m=602),
        Task("untouched", SHORT),
        Task("static", replace(SHORT, server=replace(SHORT.server, redo_capacity=2**28)), m=600),
    ]

    assert len({task.key, *(one.key for one in others)}) == len(others) + 1
    assert Task("static", replace(SHORT, name="other"), m=600).key == task.key


def test_other_policies_make_their_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a policy counts for the code that decided it; one of a static setting for any."""
    policy = Asked(("fixed",), (SHORT,), 1).tasks(SHORT)[0]
    before = policy.key, TASKS[0].key
    monkeypatch.setattr(module, "policies_revision", lambda: "another")

    assert policy.key != before[0]
    assert TASKS[0].key == before[1]


def test_a_comparison_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Cut short again and again it comes to the same as in one go, each run done once."""
    asked = Asked(("cascade", "fixed"), (SHORT,), 2, oracle=True)
    whole = ledger(tmp_path / "whole")
    with Runner(whole, jobs=1) as runner:
        one_go = Comparison(asked, runner)
        assert one_go.run()
    parts = ledger(tmp_path / "parts")
    with Runner(parts, jobs=1, seconds=0.0) as runner:
        assert not Comparison(asked, runner).run()
    for row in whole.rows[: len(whole.rows) // 2]:
        parts.add(row)
    told: list[Progress] = []
    with Runner(parts, jobs=1, progress=told.append) as runner:
        rest = Comparison(asked, runner)
        assert rest.run()

    assert rest.found == one_go.found
    assert rest.found["short"].static is not None
    assert sorted(row["key"] for row in parts.rows) == sorted(row["key"] for row in whole.rows)
    assert told
    assert all(0.0 <= one.share <= 1.0 for one in told)


def test_where_only_the_search_is_left_that_is_said(tmp_path: Path) -> None:
    """When the time is up after the policies it says what is left and where, and no run takes 0 s."""
    other = replace(SHORT, name="other", seconds=210)
    asked = Asked(("fixed",), (SHORT, other), 1, oracle=True)
    rows = ledger(tmp_path)
    with Runner(rows, jobs=1) as runner:
        runner.done(Comparison(asked, runner).tasks())
    with Runner(rows, jobs=1, seconds=0.0) as runner:
        cut = Comparison(asked, runner)
        assert not cut.run()

    assert str(cut.stopped) == (
        "only the search of best static is left, on short, other; another run may take 1 s"
    )


def test_an_object_that_is_no_whole_row_costs_its_own_run(tmp_path: Path) -> None:
    """Whoever takes a field out of a row, or has rows of another schema, has those runs done again."""
    with Runner(ledger(tmp_path), jobs=1) as runner:
        first = runner.done(TASKS)
    kept = ledger(tmp_path)
    kept.rows = [{**kept.rows[0], "schema": 4}, {n: v for n, v in kept.rows[1].items() if n != "outcome"}]
    with Runner(kept, jobs=1) as runner:
        assert runner.missing(TASKS) == TASKS
        again = runner.done(TASKS)

    assert [row["outcome"] for row in again] == [row["outcome"] for row in first]


def test_a_load_that_pauses_still_has_a_best_static(tmp_path: Path) -> None:
    """No M makes the first percentile of a pause half the median; the best without that rule says so."""
    entry = SHORT.load.timeline[0]
    pauses = tuple(
        replace(entry, at=at, threads=threads) for at, threads in ((0.0, 16), (260.0, 0), (320.0, 16))
    )
    moving = replace(SHORT, seconds=400, measured_from=200, load=replace(SHORT.load, timeline=pauses))
    asked = Asked(("fixed",), (moving,), 1, oracle=True)
    with Runner(ledger(tmp_path), jobs=1) as runner:
        comparison = Comparison(asked, runner)
        assert comparison.run()
        found = comparison.found["short"]
        assert found.static is not None
        (row,) = runner.done(asked.static_tasks(moving, found.static))

    assert found.note == UNEVEN
    assert row["outcome"]["sync_flush_seconds"] == 0
    assert row["outcome"]["throughput_p1"] == 0.0
