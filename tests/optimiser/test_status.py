"""The outer loop in a daemon's life: status, journal and its own process."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from api.models import OptimiserUnderWay
from api.views import status_of
from policies.types import Suggestion
from tests.api.factory import FACTS, START, record
from tuner.cli.status import table
from tuner.records import InUse, OptimiserHealth, OptimiserPhase, OptimiserProgress, TickRecord

TRYING = Suggestion(-0.02, 0.8, 1.2)
TRIAL = OptimiserProgress(
    OptimiserPhase.TRIAL, number=4, blocks=3, most_blocks=33, trying=TRYING, suggested=True
)
RESTING = OptimiserProgress(OptimiserPhase.RESTING, rest_seconds=1800.0, known=3)


def shown(progress: OptimiserProgress | None, health: OptimiserHealth | None = None) -> list[str]:
    """Return the lines of status about the optimiser."""
    made: TickRecord = replace(record(7), optimiser=progress)
    status = status_of(made, facts=FACTS, wall=START, process=None, optimiser=health)
    assert (status.optimiser is None) == (progress is None)
    return [line for line in table(status).splitlines() if line.startswith("optimiser")]


@pytest.mark.parametrize(
    ("progress", "health", "parts"),
    [
        (RESTING, OptimiserHealth("asleep"), ["the next trial begins in 30m", "3 trials known"]),
        (replace(RESTING, rest_seconds=0.0), None, ["waits until the load has been steady"]),
        (
            OptimiserProgress(OptimiserPhase.BARRED, why="held: paused"),
            OptimiserHealth("asleep"),
            ["no trial: held: paused"],
        ),
        (
            OptimiserProgress(OptimiserPhase.ASKING, number=4),
            OptimiserHealth("thinking"),
            ["asks for a suggestion for trial 4", "is working"],
        ),
        (
            OptimiserProgress(
                OptimiserPhase.TRIAL, number=4, blocks=3, most_blocks=33, trying=TRYING, suggested=True
            ),
            OptimiserHealth("asleep", deaths=2, why="killed by signal 9"),
            [
                "trial 4: set-point -0.020",
                "3 of at most 33 blocks done, now a suggested one",
                "died 2 times",
            ],
        ),
        (
            OptimiserProgress(OptimiserPhase.ASKING, number=4),
            OptimiserHealth("dead", why="was silent for 120 s", until=record(7).tick.wall + 60.0, deaths=1),
            ["dead for 1m more: was silent for 120 s"],
        ),
        (
            replace(RESTING, in_use=InUse(TRYING, 0.012, 0.004, 0.02)),
            OptimiserHealth("asleep"),
            ["in use: set-point -0.020, margin × 0.80, hold gain × 1.20", "+1.20 % (+0.40 to +2.00)"],
        ),
    ],
    ids=["resting", "quiet", "barred", "asking", "trial", "dead", "in use"],
)
def test_status_says_what_the_optimiser_does(
    progress: OptimiserProgress, health: OptimiserHealth | None, parts: list[str]
) -> None:
    """Asleep, thinking, trying with its blocks, in use with what it won, dead until when."""
    text = "\n".join(shown(progress, health))

    assert all(part in text for part in parts), text


def test_without_an_outer_loop_nothing_is_said_of_it() -> None:
    """Other policies have no such line."""
    assert shown(None) == []
    assert OptimiserUnderWay(RESTING).process is None
