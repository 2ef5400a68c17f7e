"""What a simulated run goes through: named scenarios, and a user's own from a TOML file."""

from lab.scenarios.load import ScenarioError, load_scenario, scenario_names
from lab.scenarios.schema import Scenario

__all__ = ["Scenario", "ScenarioError", "load_scenario", "scenario_names"]
