"""Which law decides in a simulated run, where that is not the one asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from policies.registry import LAWS, make_policy
from tuner.settings import Settings

if TYPE_CHECKING:
    from lab.scenarios.schema import Scenario
    from tuner.settings import PolicyName


def in_place_of(policy: PolicyName, scenario: Scenario) -> str:
    """Return the law that decides in place of a policy; empty where that decides itself.

    Args:
        policy: what was asked for.
        scenario: what it goes through.
    """
    fixed = Settings().fixed_io_capacity_max
    name = make_policy(policy, flush_law=_flush_law(scenario), fixed_io_capacity_max=fixed).name
    return "" if name == policy else name


def why(scenario: Scenario) -> str:
    """Return why another law decides on such a server; empty where none does."""
    law = LAWS[_flush_law(scenario)]
    return law.sleeps if law.authority else "no M moves the age below the flush limit here"


def _flush_law(scenario: Scenario) -> str:
    return SimulatedServer(scenario.plant, SimClock()).facts().flush_law
