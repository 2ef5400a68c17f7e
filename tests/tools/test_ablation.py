"""What each mechanism of the loop is worth is measured without that mechanism, and with all others."""

from __future__ import annotations

import pkgutil

import pytest

from lab.bench.store import Row
from lab.scenarios import load_scenario
from tools import ablation
from tools.ablation import INTRODUCTION, MECHANISMS, PAGE, SEED, SHOWN
from tools.no_harm import Job


@pytest.mark.parametrize("what", MECHANISMS)
def test_a_mechanism_is_out_while_it_is_measured_and_back_afterwards(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each names something that is there, and that is changed by what stands in its place."""
    name, instead = MECHANISMS[what]
    before = pkgutil.resolve_name(name)
    monkeypatch.setattr(ablation, "compared", lambda _: {"there": pkgutil.resolve_name(name)})

    measured = ablation.measured(Job(load_scenario("step-up"), what))

    assert measured["there"] == instead != before
    assert pkgutil.resolve_name(name) == before


def row(scenario: str, without: str | None, commits: float, starved: int, changes: int) -> Row:
    """Return a finished row with these figures of ours; pages go up as commits go down."""
    figures = {"commits": commits, "pages": 50.0 / commits, "starved": starved, "stalled": 0.0}
    ours = {name: [figure, 1.0] for name, figure in figures.items()}
    return {"scenario": scenario, "without": without, "changes": changes, **ours}


def test_a_line_says_what_is_lost_without_a_mechanism() -> None:
    """Of commits/s where the load takes what it gets, of commits a page where it is offered, and of calm."""
    whole = [row("step-up", None, 1000.0, 0, 10), row("open-70", None, 500.0, 0, 5)]
    without = [row("step-up", "relief", 810.0, 7, 12), row("open-70", "relief", 500.0, 0, 4)]

    assert ablation.worth(whole + without).splitlines()[2:] == [
        "| relief | 0.9000 | step-up 0.810 | +7 | +0.0 | +1 |"
    ]


def test_the_page_says_how_it_is_made() -> None:
    """The command stands on it as the command itself would write it, whenever its figures were measured."""
    command, _, figures = INTRODUCTION.format(revision="", seed=SEED, shown=SHOWN).partition("Measured at .")
    text = PAGE.read_text(encoding="utf-8")

    assert text.startswith(command)
    assert figures in text
