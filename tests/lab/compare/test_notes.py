"""What is said under a comparison's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from lab.compare.notes import notes_of
from lab.scenarios import Scenario, load_scenario

if TYPE_CHECKING:
    from lab.plant.flavour import FlavourName

STEADY = load_scenario("steady-1200iops")


def row(contender: str = "cascade", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return a row as far as notes look at it."""
    return {
        "contender": contender,
        "kind": "policy",
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
    found = [
        note for note in notes_of(STEADY, {"cascade": [row(**changed)]}) if note.startswith("changes/h: ")
    ]

    assert len(found) == bool(said)
    assert all(said in note for note in found)


@pytest.mark.parametrize(
    ("names", "seconds", "said"),
    [
        (("cascade", "bayes"), 7200, "bayes: a trial takes hours, so that none or hardly one has ended"),
        (("cascade", "bayes"), 86_400, ""),
        (("cascade", "pid"), 2400, ""),
    ],
    ids=["two hours", "a day", "no trials"],
)
def test_a_policy_with_trials_is_not_judged_by_runs_without_one(
    names: tuple[str, ...], seconds: int, said: str
) -> None:
    """Where runs end before a trial does, it says that the row is no verdict, and how long would be right."""
    rows = {name: [row(name, seconds=seconds)] for name in names}
    found = [note for note in notes_of(STEADY, rows) if "a trial takes hours" in note]

    assert len(found) == bool(said)
    assert all(note.startswith(said) and "6 h or more" in note for note in found)


def on(flavour: FlavourName) -> Scenario:
    """Return a scenario on such a server, as it comes."""
    return replace(STEADY, server=replace(STEADY.server, flavour=flavour))


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (
            on("mariadb-11.8"),
            "pace decides in place of cascade and pid, with the same rows: no M moves the age below",
        ),
        (
            on("mariadb-10.5"),
            "cascade decides in place of pid, with the same rows: the page cleaner falls asleep",
        ),
        (STEADY, ""),
    ],
    ids=["no authority", "sleeps", "each its own"],
)
def test_policies_that_do_not_decide_are_named(scenario: Scenario, said: str) -> None:
    """Where one law decides for several policies, so that their rows are the same, that is said with why."""
    names = ("cascade", "pid", "fixed")
    found = notes_of(scenario, {name: [row(name)] for name in names})
    notes = [note for note in found if "decides in place of" in note]

    assert len(notes) == bool(said)
    assert all(note.startswith(said) for note in notes)


def test_a_policy_that_does_not_decide_is_not_told_to_take_longer() -> None:
    """Where no trial can begin whatever the length, nobody is sent away for longer runs."""
    found = notes_of(on("mariadb-11.8"), {"bayes": [row("bayes", seconds=2400)]})

    assert any(note.startswith("pace decides in place of bayes") for note in found)
    assert not any("a trial takes hours" in note for note in found)


@pytest.mark.parametrize(
    ("seeds", "names", "recorded", "said"),
    [
        (1, ("cascade", "fixed"), False, True),
        (2, ("cascade", "fixed"), False, False),
        (1, ("cascade",), False, False),
        (1, ("cascade", "fixed"), True, False),
    ],
    ids=["one seed", "two seeds", "nothing beside it", "a journal, which says so itself"],
)
def test_a_ratio_without_bounds_says_what_they_need(
    *, seeds: int, names: tuple[str, ...], recorded: bool, said: bool
) -> None:
    """With one seed there are ratios and no bounds, and a line says that two seeds are the fewest."""
    rows = {name: [row(name, seed=seed) for seed in range(seeds)] for name in names}
    found = notes_of(STEADY, rows, recorded=recorded)

    assert any("two seeds or more" in note for note in found) is said


def test_the_row_fixed_says_which_m_it_is() -> None:
    """Where fixed takes part its M is named, and where it does not there is no word about it."""
    there = notes_of(STEADY, {"cascade": [row()], "fixed": [row("fixed")]})
    absent = notes_of(STEADY, {"cascade": [row()], "pid": [row("pid")]})

    assert any(note.startswith("fixed: M = 2000, as fixed_io_capacity_max is by default") for note in there)
    assert not any(note.startswith("fixed") for note in absent)
