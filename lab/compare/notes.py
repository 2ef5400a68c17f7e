"""What is to be known of a scenario's table, so that nobody reads more out of it than is in it; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.compare.summary import HOUR, METRICS, value_of
from tuner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lab.compare.task import Row

CHANGES = next(metric for metric in METRICS if metric.name == "changes_per_hour")

OPTIMISED = ("bayes", "bayes-low-water")
TRIAL_SECONDS = 6 * HOUR
"""In a shorter run hardly one trial ends, of up to 33 blocks of five minutes or more each."""


def notes_of(rows_by_contender: Mapping[str, Sequence[Row]]) -> tuple[str, ...]:
    """Return what is to be known, a line each.

    Args:
        rows_by_contender: of one scenario, the reference first.
    """
    rows = [row for found in rows_by_contender.values() for row in found]
    return (*_changes(rows), *_trials(rows)) if rows else ()


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


def _trials(rows: Sequence[Row]) -> Iterator[str]:
    """Yield that a policy with trials had no time for them, where its row may look like a verdict."""
    optimised = [name for name in OPTIMISED if any(row["contender"] == name for row in rows)]
    if optimised and rows[0]["seconds"] < TRIAL_SECONDS:
        yield (
            f"{' and '.join(optimised)}: a trial takes hours, so that none or hardly one has ended within "
            f"{rows[0]['seconds']} s: no verdict on what trials are worth; that takes "
            f"{TRIAL_SECONDS / HOUR:g} h or more, better days"
        )
