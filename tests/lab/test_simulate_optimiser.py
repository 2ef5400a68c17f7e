"""What ``innobrim simulate`` says of the optimiser: its trials, what came of them, and what is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lab.simulate_loop import Trials
from policies.types import Suggestion
from tests.api.factory import record
from tests.lab.simulating import parsed_result, scenario_file, simulated
from tuner.core.trials.engine import Came
from tuner.records import Event, EventCode, InUse, OptimiserPhase, OptimiserProgress

if TYPE_CHECKING:
    from pathlib import Path

    from tuner.records import TickRecord

SUGGESTED = Suggestion(0.01, 1.2, 1.1)
BETTER = InUse(SUGGESTED, 0.004, 0.002, 0.006)


def tick(phase: OptimiserPhase, number: int, *said: tuple[str, str]) -> TickRecord:
    """Return a tick's record with what the optimiser was at, and the events of its trials."""
    events = tuple(Event(wall=1.0, code=code, message="", subject=came) for code, came in said)
    return replace(
        record(1),
        optimiser=OptimiserProgress(phase, number=number, in_use=BETTER if number > 1 else None),
        events=events,
    )


def test_the_table_and_the_object_say_what_the_optimiser_did() -> None:
    """A trial that is under way at the end is counted with its question; both forms say the same."""
    words = ("--scenario", "steady-1200iops", "--seed", "3", "--seconds", "1100", "--policy", "bayes")
    found = parsed_result(*words)["optimiser"]

    assert (found["questions"], found["begun"], found["under_way"], found["in_use"]) == (1, 1, 1, None)
    assert (
        "optimiser: 1 question, 1 trial: 0 won, 0 not used, 0 abandoned, 0 unsafe, 1 under way; "
        "at the end the analytic set-point\n"
    ) in simulated(*words).stdout


def test_a_policy_without_an_optimiser_has_no_word_about_one(tmp_path: Path) -> None:
    """Other policies have null in the object and no line in the table."""
    words = ("--scenario", scenario_file(tmp_path), "--policy", "fixed")

    assert parsed_result(*words)["optimiser"] is None
    assert "optimiser" not in simulated(*words).stdout


def test_what_won_is_counted_again_where_it_is_tried_again() -> None:
    """A trial of what is in use begins without an event, and counts as one; what is in use is named."""
    trials = Trials()
    for one in (
        tick(OptimiserPhase.ASKING, 1),
        tick(OptimiserPhase.TRIAL, 1, (EventCode.TRIAL_BEGUN, "")),
        tick(OptimiserPhase.RESTING, 1, (EventCode.TRIAL_ENDED, Came.WON)),
        tick(OptimiserPhase.TRIAL, 2),
        tick(OptimiserPhase.TRIAL, 2),
        tick(OptimiserPhase.RESTING, 2, (EventCode.TRIAL_ENDED, Came.NOT_USED)),
        tick(OptimiserPhase.ASKING, 3),
        tick(OptimiserPhase.BARRED, 3, (EventCode.TRIAL_BEGUN, ""), (EventCode.SUGGESTION_UNSAFE, "")),
    ):
        trials.add(one)
    found = trials.found()

    assert found is not None
    assert (found.questions, found.begun, found.won, found.not_used) == (2, 3, 1, 1)
    assert (found.abandoned, found.unsafe, found.under_way, found.in_use) == (1, 1, 0, BETTER)
