"""Runs that are kept, and runs that are not begun."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest
from msgspec.structs import replace

from lab.bench.ledger import Ledger
from lab.compare import task as task_module
from lab.compare.asked import Asked, static_task
from lab.compare.comparison import UNEVEN, Comparison, _Search
from lab.compare.runner import Runner, TimeUpError
from lab.compare.task import Row, Task
from lab.scenarios import Scenario
from lab.scenarios.progress import Progress
from lab.scenarios.trace import Outcome

SHORT = Scenario(name="short", description="for tests", seconds=200, measured_from=100)
TASKS = [static_task("static", replace(SHORT, seed=seed), (600,)) for seed in (1, 2)]


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
        runner.done([static_task("static", long, (600,)), *TASKS])

    assert {row["scenario"] for row in kept.rows} == {"short"}


def test_another_plant_seed_length_or_setting_is_another_run() -> None:
    """The key moves with all that a row depends on, and not with a scenario's name."""
    task = TASKS[0]
    others = [
        TASKS[1],
        static_task("static", replace(SHORT, seconds=210), (600,)),
        static_task("static", SHORT, (602,)),
        static_task("untouched", SHORT),
        static_task("static", replace(SHORT, server=replace(SHORT.server, redo_capacity=2**28)), (600,)),
    ]

    assert len({task.key, *(one.key for one in others)}) == len(others) + 1
    assert static_task("static", replace(SHORT, name="other"), (600,)).key == task.key


def test_other_policies_make_their_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a policy counts for the code that decided it; one of a static setting for any."""
    policy = Asked(("fixed",), (SHORT,), 1).policy_tasks(SHORT)[0]
    before = policy.key, TASKS[0].key
    monkeypatch.setattr(task_module, "policies_revision", lambda: "another")

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


@pytest.mark.parametrize(
    ("clairvoyant", "what"), [(False, "best static is"), (True, "best static and clairvoyant is")]
)
def test_where_only_the_search_is_left_that_is_said(tmp_path: Path, *, clairvoyant: bool, what: str) -> None:
    """When the time is up after the policies it says what is left and where, and no run takes 0 s."""
    other = replace(SHORT, name="other", seconds=210)
    asked = Asked(("fixed",), (SHORT, other), 1, oracle=True, clairvoyant=clairvoyant)
    rows = ledger(tmp_path)
    with Runner(rows, jobs=1) as runner:
        runner.done(Comparison(asked, runner).policy_tasks())
    with Runner(rows, jobs=1, seconds=0.0) as runner:
        cut = Comparison(asked, runner)
        assert not cut.run()

    assert str(cut.stopped) == (
        f"only the search of {what} left, on short, other; another run may take less than 1 s"
    )


def test_the_clairvoyant_is_no_worse_than_the_best_static(tmp_path: Path) -> None:
    """On the seeds searched an M for each piece gives at least what one M for all gives."""
    disk = replace(
        SHORT.disk,
        timeline=(SHORT.disk.timeline[0], replace(SHORT.disk.timeline[0], at=280.0, write_iops=1500.0)),
    )
    moving = replace(SHORT, seconds=400, measured_from=200, disk=disk)
    asked = Asked(("fixed",), (moving,), 1, oracle=True, clairvoyant=True)
    with Runner(ledger(tmp_path), jobs=1) as runner:
        comparison = Comparison(asked, runner)
        assert comparison.run()
        found = comparison.found["short"]
        assert found.static is not None
        gives = [
            runner.done(asked.tasks(kind, moving, levels))[0]["outcome"]["throughput_mean"]
            for kind, levels in (("static", (found.static,)), ("pieces", found.levels))
        ]

    assert len(found.levels) == 2
    assert gives[1] >= gives[0]


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
        (row,) = runner.done(asked.tasks("static", moving, (found.static,)))

    assert found.notes == (UNEVEN,)
    assert row["outcome"]["sync_flush_seconds"] == 0
    assert row["outcome"]["throughput_p1"] == 0.0


class Judged:
    """Stands for a runner: an M below 300 gives more commits and sync-flushes, a higher one costs pages."""

    def done(self, tasks: Sequence[Task]) -> list[Row]:
        """Return the rows of some tasks."""
        return [{"outcome": msgspec.to_builtins(self._outcome(max(task.levels)))} for task in tasks]

    def _outcome(self, level: int) -> Outcome:
        figures = dict.fromkeys(Outcome.__struct_fields__, 0.0)
        served = 1030.0 if level < 300 else 1000.0
        for name in ("throughput_mean", "throughput_median", "throughput_p1"):
            figures[name] = served
        figures["pages_per_commit"] = level / 1000.0
        return Outcome(**{**figures, "pages_dirty_max": 0, "sync_flush_seconds": 5 if level < 300 else 0})


def test_what_breaks_the_rules_says_not_what_serves_a_load() -> None:
    """The best static M of an offered load is served as M of every piece too, whatever sync flushing gave."""
    offered = replace(SHORT, load=replace(SHORT.load, timeline=(replace(SHORT.load.timeline[0], rate=1e3),)))
    search = _Search(cast("Runner", Judged()), [offered])

    assert search.static() == 300
    assert search.scores([(300, 300), (280, 300), (400, 400)]) == [(1, -0.3), (1, -0.3), (1, -0.4)]
    assert search.scores([(280, 280)])[0][0] == 0
