"""The page of the loop beside the server left alone, and of what each mechanism is worth."""

from __future__ import annotations

import importlib
from operator import attrgetter

import pytest

from lab.no_harm import ABLATIONS, Job, Outcome, run_one
from lab.scenarios import load_scenario


@pytest.mark.parametrize("ablation", ABLATIONS, ids=lambda one: one.what)
def test_what_is_taken_out_is_there(ablation: object) -> None:
    """A row says what the loop is worth without a mechanism, and never without nothing."""
    (one,) = (known for known in ABLATIONS if known is ablation)
    found = attrgetter(one.name)(importlib.import_module(one.module))

    assert found != one.value


def test_a_row_counts_every_second_that_counts() -> None:
    """The server left alone is seen from the scenario's own time on, second by second."""
    scenario = load_scenario("steady-1200iops")

    found = run_one(Job("steady-1200iops", 1, untouched=True))

    assert isinstance(found, Outcome)
    assert len(found.commits) == pytest.approx(scenario.seconds - scenario.measured_from, abs=2)
    assert found.changes == 0
