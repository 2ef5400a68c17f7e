"""The published invariants, called by a referee with books of its own on a server that misbehaves.

Rules do to the loop, between any two ticks, what people, mysqld and the network do; after every tick
the referee compares what was decided with what it saw itself.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.core.machine import Loop, Tried

RULES = 60


@pytest.mark.parametrize("machine", [Loop, Tried])
@pytest.mark.parametrize("examples", [30, pytest.param(250, marks=pytest.mark.long)])
def test_invariants_hold_whatever_comes_between_two_ticks(machine: type[Loop], examples: int) -> None:
    """No order of faults, commands and changes makes the loop break what the docs promise, or fail."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=RULES,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
            report_multiple_bugs=False,
        ),
    )
