"""What a simulated run goes through: named scenarios, and a user's own from a TOML file.

A scenario is a TOML file here, by ``schema`` and ``load``. Beside them is what runs on one without the loop:
``static`` searches the best C and M that nobody moves, ``parallel`` has the processes for many runs at once,
``trace`` a run's readings and what they come to, ``progress`` how far it is.
"""

from lab.scenarios.load import ScenarioError, load_scenario, scenario_names
from lab.scenarios.schema import Scenario

__all__ = ["Scenario", "ScenarioError", "load_scenario", "scenario_names"]
