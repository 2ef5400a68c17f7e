"""What is said under a comparison's table."""

from __future__ import annotations

from typing import Any

import pytest

from lab.compare.notes import notes_of


def row(contender: str = "cascade", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return a row as far as notes look at it."""
    return {
        "contender": contender,
        "seed": 1,
        "seconds": 7200,
        "changes": 20,
        "changes_in_hour": 15,
        **changes,
    }


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seconds": 600, "changes": 15}, "of the whole run, 600 s, scaled to an hour; max_changes_per_hour"),
        ({"changes": 130, "changes_in_hour": 60}, "= 60 counts those of one hour, which were 60 at most"),
        ({}, ""),
    ],
    ids=["a short run", "more than the budget", "neither"],
)
def test_a_rate_of_changes_is_not_taken_for_a_broken_budget(changed: dict[str, Any], said: str) -> None:
    """Where changes/h can exceed the hourly budget it says what it counts, and what the budget does."""
    found = [note for note in notes_of({"cascade": [row(**changed)]}) if note.startswith("changes/h: ")]

    assert len(found) == bool(said)
    assert all(said in note for note in found)


@pytest.mark.parametrize(
    ("names", "seconds", "said"),
    [
        (("cascade", "bayes"), 7200, "bayes: a trial takes hours, so that none or hardly one has ended"),
        (("bayes", "bayes-low-water"), 2400, "bayes and bayes-low-water: a trial takes hours"),
        (("cascade", "bayes"), 86_400, ""),
        (("cascade", "pid"), 2400, ""),
    ],
    ids=["two hours", "both", "a day", "no trials"],
)
def test_a_policy_with_trials_is_not_judged_by_runs_without_one(
    names: tuple[str, ...], seconds: int, said: str
) -> None:
    """Where runs end before a trial does, it says that the row is no verdict, and how long would be right."""
    rows = {name: [row(name, seconds=seconds)] for name in names}
    found = [note for note in notes_of(rows) if "a trial takes hours" in note]

    assert len(found) == bool(said)
    assert all(note.startswith(said) and "6 h or more" in note for note in found)
