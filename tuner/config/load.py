"""Reads the configuration: TOML file, then ``INNOBRIM_*`` variables, then flags.

Everything wrong is reported at once, each with its source, the value and what would be right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from tuner.config.checks import contradictions
from tuner.config.errors import ConfigError
from tuner.config.keys import (
    BRACKETS,
    BY_VARIABLE,
    KEYS,
    OTHER_VARIABLES,
    PASSWORD_VARIABLE,
    PREFIX,
    REMOVED,
    REMOVED_VALUES,
    SCHEDULE,
    SECTION_TYPES,
    SECTIONS,
    KeyValueError,
    nearest_key,
    nearest_section,
    nearest_variable,
)
from tuner.config.schedule import read_schedule
from tuner.config.schema import Config, ScheduleTable
from tuner.config.servicelinks import COMPOSE, is_service_link, may_be_a_slip
from tuner.config.tomlfile import file_of, read_toml
from tuner.systemd import watchdog_seconds

__all__ = ["ConfigError", "load_config"]

PASSWORD_PLACES = (
    "put the password into a MySQL option file (server.defaults_file), a systemd credential named "
    f"mysql-password, or {PASSWORD_VARIABLE}"
)
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
"""Not there, and often tried."""

_KNOWN_SECTIONS = ", ".join(BRACKETS.values())


class _Strength(IntEnum):
    """Kinds of source; a higher one beats a lower one."""

    FILE = 0
    ENVIRONMENT = 1
    FLAG = 2


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a value came from.

    Attributes:
        strength: what it beats.
        name: of the place, as the user wrote it.
        shown: place and value.
    """

    strength: _Strength
    name: str
    shown: str


@dataclass
class _Gathered:
    """What the sources said so far."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, _Source] = field(default_factory=dict)
    schedule: tuple[ScheduleTable, ...] = ()
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, dotted: str, value: object, source: _Source) -> None:
        """Note one key's value; a bad one becomes a problem."""
        if isinstance(value, str) and (instead := REMOVED_VALUES.get(dotted, {}).get(value)):
            self.problems.append(f"{source.shown}: {instead}")
            return
        try:
            self.values[dotted] = KEYS[dotted].read(value, from_text=source.strength > _Strength.FILE)
        except KeyValueError as error:
            self.problems.append(f"{source.shown}: {error}")
        else:
            self.sources[dotted] = source


def load_config(
    path: str | None,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    noted: Callable[[str], object] = lambda _: None,
) -> Config:
    """Return the configuration in force.

    Args:
        path: TOML file; None reads the one at its default path, where there is one.
        environ: environment; an empty ``INNOBRIM_*`` variable counts as absent, and "none"
            empties an optional key that the file sets.
        flags: dotted key to value, None where the flag was not given.
        noted: told in a line of each value that is understood and should be written otherwise.

    Raises:
        ConfigError: unreadable file, unknown key or variable, wrong type or bounds, or keys
            that contradict each other; all problems at once.
    """
    gathered = _Gathered()
    file = file_of(path)
    if file is not None:
        _take_file(gathered, file)
    _take_environment(gathered, environ)
    _take_flags(gathered, flags)
    _one_address(gathered)
    if gathered.problems:
        raise ConfigError(gathered.problems)
    config = _build(gathered)
    sources = {dotted: source.name for dotted, source in gathered.sources.items()}
    problems = contradictions(config, sources=sources, watchdog_seconds=watchdog_seconds(environ))
    if problems:
        raise ConfigError(problems)
    for note in gathered.notes:
        noted(note)
    return config


def _build(gathered: _Gathered) -> Config:
    values = gathered.values
    sections: dict[str, Any] = {
        name: section_type(
            **{
                key.name: values[key.dotted]
                for key in KEYS.values()
                if key.section == name and key.dotted in values
            }
        )
        for name, section_type in SECTION_TYPES.items()
    }
    return Config(**sections, schedule=gathered.schedule)


def _one_address(gathered: _Gathered) -> None:
    """Drop a socket that host or port from a stronger source overrules; refuse both from the same one."""
    socket = gathered.sources.get("server.socket")
    rest = [
        gathered.sources[dotted]
        for dotted in ("server.host", "server.port")
        if gathered.values.get(dotted) is not None
    ]
    if socket is None or gathered.values["server.socket"] is None or not rest:
        return
    strongest = max(source.strength for source in rest)
    if strongest > socket.strength:
        gathered.values["server.socket"] = None
    elif strongest == socket.strength:
        both = " and ".join(source.shown for source in (socket, *rest) if source.strength == socket.strength)
        gathered.problems.append(f"{both}: two ways to one server; leave out the socket, or host and port")


def _take_file(gathered: _Gathered, path: str) -> None:
    for section, table in read_toml(path).items():
        if isinstance(table, dict) and section in SECTIONS:
            for name, value in table.items():
                _take_from_table(gathered, path, f"{section}.{name}", value)
        elif section == SCHEDULE:
            gathered.schedule, problems = read_schedule(f"{path}:{SCHEDULE}", table)
            gathered.problems.extend(problems)
        else:
            gathered.problems.append(f"{path}: {_misplaced(section, table)}")


def _misplaced(name: str, value: object) -> str:
    """Say what is wrong with what stands at the top of a file and is no section of ours."""
    if name in SECTIONS:
        return f"{name} must be a table: write [{name}]"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        near_section = nearest_section(name)
        hint = f"; did you mean {near_section}?" if near_section else "."
        return f"[{name}]: unknown section{hint} There are {_KNOWN_SECTIONS}"
    near = nearest_key(name)
    hint = f"; did you mean {_placed(near)}?" if near else f"; each key stands in one of {_KNOWN_SECTIONS}"
    return f"{name}: stands outside a section{hint}"


def _take_from_table(gathered: _Gathered, path: str, dotted: str, value: object) -> None:
    place = f"{path}:{dotted}"
    section, _, name = dotted.partition(".")
    if dotted in KEYS:
        gathered.take(dotted, value, _Source(_Strength.FILE, place, f"{place} = {_toml(value)}"))
    elif "password" in name:
        gathered.problems.append(f"{place}: no place for a secret; {PASSWORD_PLACES}")
    else:
        near = nearest_key(dotted)
        names = ", ".join(key.name for key in KEYS.values() if key.section == section)
        hint = f"did you mean {_placed(near)}?" if near else f"[{section}] has {names}"
        hint = REMOVED.get(dotted, hint)
        gathered.problems.append(f"{place}: unknown key; {hint}")


def _take_environment(gathered: _Gathered, environ: Mapping[str, str]) -> None:
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        key = BY_VARIABLE.get(name)
        if is_service_link(name, text):
            if may_be_a_slip(name, environ):
                link = "is taken for the address of a Kubernetes Service, and for no key"
                gathered.notes.append(f"{name}={text}: {link}; {_variable_hint(name)}")
        elif key is None and name in COMPOSE:
            if COMPOSE[name]:
                gathered.notes.append(f"{name}={text}: is the compose file's, and no key; {COMPOSE[name]}")
        elif key is None:
            gathered.problems.append(f"{name}: unknown variable; {_variable_hint(name)}")
        elif text:
            gathered.take(key.dotted, text, _Source(_Strength.ENVIRONMENT, name, f"{name}={text}"))


def _variable_hint(name: str) -> str:
    if name == CONFIG_VARIABLE:
        return "the configuration file is named with --config"
    removed = REMOVED.get(name.removeprefix(PREFIX).lower().replace("_", ".", 1))
    if removed:
        return removed
    if name.startswith(f"{PREFIX}{SCHEDULE.upper()}"):
        return f"a schedule stands in the configuration file alone, as a table {BRACKETS[SCHEDULE]}"
    near = nearest_variable(name)
    return f"did you mean {near}?" if near else f"a key's variable is {PREFIX} + section + _ + key"


def _take_flags(gathered: _Gathered, flags: Mapping[str, object]) -> None:
    for dotted, value in flags.items():
        if dotted not in KEYS:
            gathered.problems.append(f"flag {dotted}: unknown key")
        elif value is not None:
            name = _option(dotted)
            gathered.take(dotted, value, _Source(_Strength.FLAG, name, f"{name} = {value}"))


def _option(dotted: str) -> str:
    """Return the command line's option for a key; only those of [api] carry their section."""
    section, _, name = dotted.partition(".")
    return f"--{'api-' if section == 'api' else ''}{name.replace('_', '-')}"


def _placed(dotted: str) -> str:
    section, _, name = dotted.partition(".")
    return f"{name} in [{section}]"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
