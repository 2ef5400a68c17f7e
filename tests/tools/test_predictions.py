"""Predictions are made before anything is measured, and stay from then on."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec.structs import replace

from lab.bench.plan import LoadPlan, load_suite
from lab.bench.runner import chosen
from lab.bench.store import Row
from tools import cases, predictions
from tools.cases import CASES, Case, Setting
from tools.kept import without_best
from tools.predictions import compared, page


def predicted(contender: str, commits: float, age: float, **changes: Any) -> Row:  # noqa: ANN401 - any column
    """Return a row of predictions."""
    return {
        "variant": "",
        "plan_hash": "1",
        "stage": "block",
        "block": 1,
        "contender": contender,
        "io_capacity_max": None,
        "settled": True,
        "commits": commits,
        "age_ratio": age,
        "pages_per_commit": 0.15,
        "sync_pages": 0.0,
        **changes,
    }


def real(contender: str, commits: float, age: float, plan: str = "1", m: int | None = None) -> Row:
    """Return a row as a bench keeps it."""
    row = predicted(contender, commits, age, plan_hash=plan, io_capacity_max=m)
    figures = {"commits_mean": commits, "age_ratio_mean": age, "pages_per_commit": 0.15, "sync_pages": 0}
    return row | {"figures": figures | {"seconds": 60}}


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Case:
    """Return the only case, whose files are in directories of its own and whose runs are made up."""
    for module, name in ((cases, "FOLDER"), (predictions, "BENCH"), (predictions, "ROOT")):
        monkeypatch.setattr(module, name, tmp_path)
    monkeypatch.setattr(predictions, "PAGE", tmp_path / "README.md")
    runs = itertools.count(1)
    monkeypatch.setattr(predictions, "predict", lambda _: [predicted("ours", 1000.0 * next(runs), 0.9)])
    one = Case("here", "quick", "here")
    monkeypatch.setattr(predictions, "CASES", (one,))
    (tmp_path / "here").mkdir()
    return one


def measure(case: Case, *rows: Row, ends: str = "") -> None:
    """Keep rows as a bench would."""
    path = predictions.BENCH / f"{case.name}{ends}" / "rows.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def commits(case: Case, *, compare: bool = False) -> list[float]:
    """Return what the command predicts now, commits/s."""
    predictions.main.callback(compare=compare)  # type: ignore[misc] # the function under the command
    return [json.loads(line)["commits"] for line in case.file.read_text(encoding="utf-8").splitlines()]


def test_a_case_is_predicted_anew_until_its_first_row_is_measured(case: Case) -> None:
    """Then no change of loop or simulated server touches what was said before."""
    assert [commits(case), commits(case), commits(case, compare=True)] == [[1000.0], [2000.0], [2000.0]]
    measure(case, real("ours", 1900.0, 0.88))

    assert commits(case) == [2000.0]
    assert "| ours | 2000 / 1900 | +5.3% | 0.90 / 0.88 | +0.020 |" in predictions.PAGE.read_text("utf-8")


def test_what_was_measured_without_best_static_is_compared_until_all_of_it_is(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first answer is held against its prediction, and one in memory against one of such a disk."""
    suite = load_suite("disks")
    (plan,) = [one for one in suite.plans if one.variant == "600 writes/s"]
    predicted_rows = [predicted("ours", 1000.0, 0.9, plan_hash=suite.digest, variant=plan.variant)]
    monkeypatch.setattr(predictions, "predict", lambda _: predicted_rows)
    monkeypatch.setattr(predictions, "CASES", (one := case._replace(suite="disks"),))
    commits(one)
    first = {**real("ours", 800.0, 0.9, plan=without_best(suite).digest), "variant": plan.variant}
    quick = {**first["figures"], "commits_mean": 1300.0}
    memory = {**first, "figures": quick, "conditions": {"disk": {"in_memory": True}}}

    measure(case, memory, ends="-first")
    assert predictions.measured(one) == []
    measure(case, first, memory, ends="-first")
    assert [row["commits"] for row in predictions.measured(one)] == [800.0]
    of_memory = one._replace(in_memory=True)
    assert [row["commits"] for row in predictions.measured(of_memory)] == [1300.0]
    measure(
        case, {**first, "plan_hash": suite.digest, "figures": {**first["figures"], "commits_mean": 900.0}}
    )
    assert [row["commits"] for row in predictions.measured(one)] == [900.0]


def test_rows_are_held_against_a_prediction_of_such_tables(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that were just filled are another load; of what was measured twice the newer rows count."""
    monkeypatch.setattr(predictions, "CASES", (one := case._replace(rows=("here*",), filled=70),))
    commits(one)

    def row(rate: float, when: str, filled: int | None) -> Row:
        return {**real("ours", rate, 0.9), "when": when, "conditions": {"fill_factor": filled}}

    measure(case, row(700.0, "2026-11-30", None))
    measure(case, row(800.0, "2026-11-28", 70), ends="-first")
    measure(case, row(900.0, "2026-11-29", 70), ends="-first-12345678")

    assert [found["commits"] for found in predictions.measured(one)] == [900.0]


def test_what_was_fitted_to_its_rows_is_called_so(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made anew whenever somebody asks, and a reader must not take it for a prediction."""
    commits(case)
    monkeypatch.setattr(predictions, "CASES", (one := case._replace(fitted=True),))
    measure(case, real("ours", 2900.0, 0.9))

    assert [commits(one), commits(one)] == [[2000.0], [3000.0]]
    assert "Fitted to these rows; within the bounds: 1 of 1." in predictions.PAGE.read_text("utf-8")


def test_a_ladder_of_an_open_load_is_offered_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Best static under it is judged by a rung, which must not be one of a closed load."""
    suite = load_suite("quick")
    open_plan = replace(suite.plans[0], contenders=("default", "best-static"), load=LoadPlan(knee_share=0.5))
    monkeypatch.setattr(predictions, "load_suite", lambda _: replace(suite, plans=(open_plan,)))
    monkeypatch.setattr(predictions, "LADDER", (600, 300))

    rows = predictions.predict(Case("here", "quick", "mysql-8.0.31"))

    (knee,) = [row["commits"] for row in rows if row["stage"] == "knee"]
    rungs = [row["commits"] for row in rows if row["stage"] == "ladder"]
    assert rungs == pytest.approx([0.5 * knee] * 2, rel=0.02)


def test_nothing_is_predicted_of_what_was_measured_before(case: Case) -> None:
    """It would be no prediction."""
    measure(case, real("ours", 1900.0, 0.88))

    with pytest.raises(click.ClickException, match="measured before"):
        commits(case)


def test_rows_of_another_plan_are_not_compared(case: Case) -> None:
    """A suite that was changed in between is another experiment."""
    commits(case)
    measure(case, real("ours", 1900.0, 0.88, plan="2"))

    with pytest.raises(click.ClickException, match="of the plan 2, and here"):
        commits(case)


@pytest.mark.parametrize(
    ("rate", "age", "kept"), [(1000.0, 0.85, True), (1120.0, 0.9, False), (1000.0, 0.84, False)]
)
def test_a_prediction_is_kept_within_both_bounds(rate: float, age: float, *, kept: bool) -> None:
    """Throughput within 10 %, and the age ratio within 0.05; one of them alone is not enough."""
    (one,) = compared([predicted("ours", 1000.0, 0.9)], [predicted("ours", rate, age + 1e-9)])

    assert one.kept is kept


def test_the_best_static_setting_is_judged_at_the_m_that_was_measured() -> None:
    """Two searches that end at other values of M say nothing of how right the simulated server is."""
    rungs = [
        predicted(f"M = {m}", rate, age, stage="ladder", io_capacity_max=m)
        for m, rate, age in ((400, 2400.0, 0.8), (360, 2600.0, 0.9))
    ]
    told = [predicted("best static", 3000.0, 1.0, io_capacity_max=300), *rungs]

    (one,) = compared(told, [predicted("best static", 2500.0, 0.85, io_capacity_max=380)])

    assert one.predicted["commits"] == pytest.approx(2500.0)
    assert one.predicted["age_ratio"] == pytest.approx(0.85)


def test_the_order_is_said_as_it_was_measured() -> None:
    """The same order as somebody else's, or another one."""
    case = Case("here", "quick", "here", (Setting("", "320/320"), Setting("", "280/280")))
    told = [predicted("320/320", 2700.0, 0.7), predicted("280/280", 2800.0, 0.8)]
    seen = [predicted("320/320", 2750.0, 0.7), predicted("280/280", 2740.0, 0.8)]

    lines = page({case: told}, {case: seen}).splitlines()

    assert [line for line in lines if line.startswith("- ")] == [
        "- predicted: 2700, 2800 commits/s; the same order",
        "- measured: 2750, 2740 commits/s; another order",
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_is_predicted_of_the_suite_that_comes_along(case: Case) -> None:
    """Who measures it measures what was predicted."""
    plans = {json.loads(line)["plan_hash"] for line in case.file.read_text(encoding="utf-8").splitlines()}

    assert plans == {load_suite(case.suite).digest}
    assert chosen(load_suite(case.suite), case.variants)


def test_the_page_is_what_predictions_and_rows_make() -> None:
    """Whoever adds rows sees at once how far off their prediction was."""
    made = predictions.current()

    assert made == predictions.PAGE.read_text(encoding="utf-8"), "python -m tools.proof makes it anew"
