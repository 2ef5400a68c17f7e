"""Reads scenarios: the named ones from this folder, any other from the path given."""

from __future__ import annotations

import difflib
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from lab.keys import problems
from lab.scenarios.schema import Scenario
from tuner.system.files import read_whole

SUFFIX = ".toml"
NAMED_SO = {
    "innodb_redo_log_capacity": ("redo_capacity", "in bytes"),
    "innodb_log_file_size": ("redo_capacity", "in bytes, all files together"),
    "innodb_buffer_pool_size": ("buffer_pool_pages", "in pages of 16384 bytes"),
    "buffer_pool_size": ("buffer_pool_pages", "in pages of 16384 bytes"),
}
"""Variables of the server that have another name or unit here."""

COUNTS_WITH = {"zipf_exponent": "zipf", "hot_share": "hot_set", "hot_touches": "hot_set"}
"""Keys of a load, and the only distribution with which each counts."""


class ScenarioError(Exception):
    """A scenario that cannot be run; the message has every problem on a line of its own."""


def scenario_names() -> tuple[str, ...]:
    """Return the names of the scenarios that come with the package, sorted."""
    found = (entry.name for entry in resources.files(__package__ or "lab.scenarios").iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX)))


def load_scenario(name_or_path: str) -> Scenario:
    """Return a named scenario, or the one in a TOML file.

    Args:
        name_or_path: a name of ``scenario_names``; a word with a slash or ending in ``.toml``
            is a path.

    Raises:
        ScenarioError: no such scenario, an unreadable file, or a file that is wrong; all of
            its problems at once.
    """
    names = scenario_names()
    if name_or_path in names:
        file = resources.files(__package__ or "lab.scenarios") / f"{name_or_path}{SUFFIX}"
        return parse_scenario(file.read_text(encoding="utf-8"), source=name_or_path)
    if "/" not in name_or_path and not name_or_path.endswith(SUFFIX):
        if there := _lying_there(name_or_path):
            raise ScenarioError(f"{name_or_path}: no such scenario; there is a file: --scenario {there}")
        near = _meant(name_or_path, names)
        hint = f"did you mean {near}? There" if near else "there"
        raise ScenarioError(
            f"{name_or_path or '(an empty word)'}: no such scenario; {hint} are {', '.join(names)}, "
            f"and any TOML file, named with its path"
        )
    try:
        text = read_whole(name_or_path).decode("utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"{name_or_path}: not UTF-8 at byte {error.start}; save it with that encoding"
        ) from error
    except OSError as error:
        bare = name_or_path.removesuffix(SUFFIX)
        hint = f"; without {SUFFIX} it is the scenario that comes along" if bare in names else ""
        raise ScenarioError(f"{name_or_path}: cannot be read: {error.strerror}{hint}") from error
    return parse_scenario(text, source=name_or_path)


def _meant(word: str, names: tuple[str, ...]) -> str:
    """Return the scenario that a word may mean, by its beginning or by its letters; empty for none."""
    lower = word.lower()
    begins = [name for name in names if lower and name.startswith(lower)]
    return next(iter(begins or difflib.get_close_matches(lower, names, n=1)), "")


def _lying_there(name: str) -> str:
    """Return how a file of that name in this directory is asked for; empty where there is none."""
    for path in (Path(f"{name}{SUFFIX}"), Path(name)):
        if path.is_file():
            return path.name if path.suffix == SUFFIX else f"./{path.name}"
    return ""


def parse_scenario(text: str, *, source: str) -> Scenario:
    """Return the scenario that a TOML text describes.

    Args:
        text: TOML.
        source: what the messages call it.

    Raises:
        ScenarioError: not TOML, an unknown key, a wrong type or value, or keys that contradict
            each other.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{source}: not TOML: {error}") from error
    _refuse(problems(raw, Scenario, named_so=NAMED_SO), source)
    try:
        scenario = msgspec.convert(_fitted(raw, source), Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{source}: {error}") from error
    _refuse([*_idle_keys(raw.get("load", {}), scenario), *scenario.problems()], source)
    return scenario


def _refuse(problems: list[str], source: str) -> None:
    if problems:
        raise ScenarioError("\n".join(f"{source}: {problem}" for problem in problems))


def _idle_keys(load: dict[str, Any], scenario: Scenario) -> list[str]:
    """Return the keys of a load that count for nothing with its distribution, a line each."""
    chosen = scenario.load.distribution
    return [
        f'load.{key}: counts for nothing with distribution = "{chosen}"; it belongs to "{needed}"'
        for key, needed in COUNTS_WITH.items()
        if key in load and chosen != needed
    ]


def _fitted(raw: dict[str, Any], source: str) -> dict[str, Any]:
    """Return a scenario's tables with the fitted parameters that it names under its own.

    Raises:
        ScenarioError: there are none of that name.
    """
    name = raw.get("fit", "")
    if not name:
        return raw
    fits = tomllib.loads((resources.files("lab.plant") / "fits.toml").read_text(encoding="utf-8"))
    if name not in fits:
        raise ScenarioError(f"{source}: fit = {name}: no such fitted parameters; there are {', '.join(fits)}")
    return raw | {table: given | raw.get(table, {}) for table, given in fits[name].items()}
