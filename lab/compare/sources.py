"""Where a comparison's scenarios came from, and what became of that since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lab.scenarios import ScenarioError, load_scenario, scenario_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.compare.asked import Asked


def source_of(name_or_path: str) -> str:
    """Return what names a scenario wherever somebody goes on: its name, or its file's whole path.

    Args:
        name_or_path: as ``load_scenario`` takes it.
    """
    return name_or_path if name_or_path in scenario_names() else str(Path(name_or_path).absolute())


def moved_on(asked: Asked) -> Iterator[str]:
    """Yield a line for each scenario that is not what it was when the comparison was begun.

    Args:
        asked: with the scenarios as they were, which count.
    """
    for scenario in asked.scenarios:
        source = asked.sources.get(scenario.name)
        if source is None:
            continue
        try:
            same = load_scenario(source) == scenario
        except ScenarioError:
            same = False
        if not same:
            yield (
                f"{source}: {_state_of(source)}; what counts is the copy of "
                f"{scenario.name} from when this comparison was begun"
            )


def _state_of(source: str) -> str:
    """Return what became of a scenario that is not what it was."""
    if source in scenario_names():
        return "differs now"
    try:
        Path(source).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return "is gone"
    except OSError as error:
        return f"cannot be read now, {error.strerror}"
    return "differs now"
