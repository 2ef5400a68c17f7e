"""What is to be known of a scenario's table, so that nobody reads more out of it than is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.compare.summary import HOUR, METRICS, value_of
from lab.decides import in_place_of, why
from tuner.settings import OUTER, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lab.compare.task import Row
    from lab.scenarios.schema import Scenario
    from tuner.settings import PolicyName

CHANGES = next(metric for metric in METRICS if metric.name == "changes_per_hour")

TRIAL_SECONDS = 6 * HOUR
"""In a shorter run hardly one trial ends, of up to 33 blocks of five minutes or more each."""

NO_BOUNDS = "no bounds: they need two seeds or more, and with one nobody knows what is chance"

FIXED = (
    f"fixed: M = {Settings().fixed_io_capacity_max}, as fixed_io_capacity_max is by default; "
    "it is none that was searched for"
)


def notes_of(
    scenario: Scenario, rows_by_contender: Mapping[str, Sequence[Row]], *, recorded: bool = False
) -> tuple[str, ...]:
    """Return what is to be known, a line each.

    Args:
        scenario: what the runs were of.
        rows_by_contender: its rows, those of the reference first.
        recorded: it was made from a journal; its own notes say that it has one run each.
    """
    there = [found for found in rows_by_contender.values() if found]
    if not there:
        return ()
    rows = [row for found in there for row in found]
    alone = len(there) > 1 and all(len(found) == 1 for found in there) and not recorded
    return (
        *_decided(scenario, rows),
        *((NO_BOUNDS,) if alone else ()),
        *((FIXED,) if any(row["contender"] == "fixed" for row in rows) else ()),
        *_changes(rows),
        *_trials(scenario, rows),
    )


def _decided(scenario: Scenario, rows: Sequence[Row]) -> Iterator[str]:
    """Yield which law decides in place of which policies, so that their rows are the same."""
    asked: list[PolicyName] = list(dict.fromkeys(row["contender"] for row in rows if row["kind"] == "policy"))
    places: dict[str, list[str]] = {}
    for name in asked:
        if other := in_place_of(name, scenario):
            places.setdefault(other, []).append(name)
    for other, names in places.items():
        same = ", with the same rows" if len(names) > 1 or other in asked else ""
        yield f"{other} decides in place of {_listed(names)}{same}: {why(scenario)}"


def _listed(names: Sequence[str]) -> str:
    """Return names in a row, as people have it."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _changes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what a rate of changes is not, where it may look like a broken budget."""
    allowed = Settings().max_changes_per_hour
    seconds = rows[0]["seconds"]
    if seconds < HOUR or any((value_of(row, CHANGES) or 0.0) > allowed for row in rows):
        most = max(row.get("changes_in_hour", 0) for row in rows)
        yield (
            f"{CHANGES.title}: the changes of the whole run, {seconds} s, scaled to an hour; "
            f"max_changes_per_hour = {allowed} counts those of one hour, which were {most} at most"
        )


def _trials(scenario: Scenario, rows: Sequence[Row]) -> Iterator[str]:
    """Yield that a policy with trials had no time for them, where its row may look like a verdict."""
    there = {row["contender"] for row in rows}
    optimised = OUTER in there and not in_place_of(OUTER, scenario)
    if optimised and rows[0]["seconds"] < TRIAL_SECONDS:
        yield (
            f"{OUTER}: a trial takes hours, so that none or hardly one has ended within "
            f"{rows[0]['seconds']} s: no verdict on what trials are worth; that takes "
            f"{TRIAL_SECONDS / HOUR:g} h or more, better days"
        )
