"""Reads scenarios: the named ones from this folder, any other from the path given."""

from __future__ import annotations

import difflib
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import msgspec

from lab.plant.fits import FitError, load_fit
from lab.scenarios.schema import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".toml"


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
        near = difflib.get_close_matches(name_or_path, names, n=1)
        hint = f"did you mean {near[0]}? There" if near else "there"
        raise ScenarioError(
            f"{name_or_path}: no such scenario; {hint} are {', '.join(names)}, "
            f"and any TOML file, named with its path"
        )
    try:
        text = Path(name_or_path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{name_or_path}: not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise ScenarioError(f"{name_or_path}: cannot be read: {error.strerror}") from error
    return parse_scenario(text, source=name_or_path)


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
    unknown = [f"{source}: {problem}" for problem in _unknown_keys(raw, Scenario, "")]
    if unknown:
        raise ScenarioError("\n".join(unknown))
    try:
        scenario = msgspec.convert(_fitted(raw), Scenario)
    except FitError as error:
        raise ScenarioError(f"{source}: {error}") from error
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{source}: {_in_words(str(error))}") from error
    problems = [f"{source}: {problem}" for problem in scenario.problems()]
    if problems:
        raise ScenarioError("\n".join(problems))
    return scenario


def _fitted(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a scenario's tables with the fitted parameters that it names under its own.

    Raises:
        FitError: there are none of that name, or their file is wrong.
    """
    name = raw.get("fit", "")
    if not isinstance(name, str) or not name:
        return raw
    fit = load_fit(name)
    own = {table: raw.get(table, {}) for table in ("load", "disk")}
    if not all(isinstance(given, dict) for given in own.values()):
        return raw
    return raw | {"load": fit.load | own["load"], "disk": fit.disk | own["disk"]}


def _in_words(message: str) -> str:
    """Turn msgspec's ``... - at `$.disk.x``` around, so that the key comes first."""
    what, separator, where = message.partition(" - at `$")
    if not separator:
        return message
    return f"{where.rstrip('`').lstrip('.')}: {what[:1].lower()}{what[1:]}"


def _unknown_keys(value: object, kind: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - a type expression
    """Yield one line for each key that the schema does not know, with the nearest that it does."""
    if get_origin(kind) is not None and hasattr(kind, "__metadata__"):
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown_keys(item, get_args(kind)[0], f"{where}[{number}]")
        return
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, dict)):
        return
    hints = get_type_hints(kind, include_extras=True)
    for key, item in value.items():
        dotted = f"{where}.{key}".lstrip(".")
        if key in hints:
            yield from _unknown_keys(item, hints[key], dotted)
            continue
        near = difflib.get_close_matches(key, list(hints), n=1, cutoff=0.5)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(hints)}"
        yield f"{dotted}: unknown key; {known}"
