"""A comparison's rows as groups, and its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.compare.notes import notes_of
from lab.compare.summary import Group, group, table_csv

if TYPE_CHECKING:
    from pathlib import Path

    from lab.compare.asked import Asked
    from lab.compare.comparison import Comparison
    from lab.compare.runner import Runner
    from lab.compare.task import Row, Task
    from lab.scenarios.schema import Scenario

CSV = "comparison.csv"


def groups_of(asked: Asked, comparison: Comparison, runner: Runner) -> list[Group]:
    """Return what there is so far, a group for each scenario that has a row."""
    found: list[Group] = []
    for scenario in asked.scenarios:
        searched = comparison.found.get(scenario.name)
        rows = judged_rows(asked, comparison, runner, scenario)
        notes = [*asked.recorded.get(scenario.name, ()), *(searched.notes if searched is not None else ())]
        notes = [*notes_of(scenario, rows, recorded=scenario.name in asked.recorded), *notes]
        one = group(scenario.name, rows, notes=notes)
        found += [] if one is None else [one]
    return found


def judged_rows(
    asked: Asked, comparison: Comparison, runner: Runner, scenario: Scenario
) -> dict[str, list[Row]]:
    """Return the rows of a scenario by contender, the reference first, without what a search only tried."""
    tasks = asked.policy_tasks(scenario)
    rows: dict[str, list[Row]] = {
        name: _there(runner, [one for one in tasks if one.settings.policy == name]) for name in asked.policies
    }
    searched = comparison.found.get(scenario.name)
    if searched is not None:
        if searched.static is not None:
            rows["static"] = _there(runner, asked.tasks("static", scenario, (searched.static,)))
        if searched.levels:
            rows["pieces"] = _there(runner, asked.tasks("pieces", scenario, searched.levels))
        rows["untouched"] = _there(runner, asked.tasks("untouched", scenario))
    return rows


def _there(runner: Runner, tasks: list[Task]) -> list[Row]:
    """Return the rows of those tasks that have one."""
    return [row for task in tasks if (row := runner.row(task)) is not None]


def write_table(directory: Path, groups: list[Group]) -> Path:
    """Write the table of a comparison into its directory and return where it is."""
    path = directory / CSV
    part = directory / f"{CSV}.part"
    part.write_text(table_csv(groups), encoding="utf-8")
    part.replace(path)
    return path
