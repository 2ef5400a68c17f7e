"""Reads the configuration: TOML file, then ``INNOBRIM_*`` variables, then flags.

Everything wrong is reported at once, each with its source, the value and what would be right.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from tuner.config.checks import contradictions
from tuner.config.keys import (
    BRACKETS,
    BY_VARIABLE,
    KEYS,
    NO_KEYS,
    OTHER_VARIABLES,
    PASSWORD_VARIABLE,
    PREFIX,
    REMOVED,
    REMOVED_VALUES,
    SCHEDULE,
    SECTION_TYPES,
    SECTIONS,
    WITHOUT_EFFECT,
    KeyValueError,
    nearest,
    nearest_key,
    nearest_variable,
    toml,
)
from tuner.config.schedule import read_schedule
from tuner.config.schema import UTF_16, Config, ConfigError, ScheduleTable
from tuner.settings import Settings
from tuner.system.files import read_whole
from tuner.system.systemd import watchdog_seconds

DEFAULT_PATH = "/etc/innobrim/innobrim.toml"
_PROTOCOL = "(TCP|UDP|SCTP)"
_IP = r"([0-9]{1,3}(\.[0-9]{1,3}){3}|\[?[0-9a-f]*:[0-9a-f:.]*\]?)"
_URL = rf"{_PROTOCOL}://{_IP}:[0-9]+"
_PORT = rf"_PORT_[0-9]+_{_PROTOCOL}"
_SERVICE_LINK = re.compile(
    rf".+({_PORT}_PROTO={_PROTOCOL}|{_PORT}_PORT=[0-9]+|{_PORT}_ADDR={_IP}|{_PORT}={_URL}|_PORT={_URL}"
    rf"|_SERVICE_HOST={_IP}|_SERVICE_PORT(_[A-Z0-9_]+)?=[0-9]+)",
    re.IGNORECASE,
)
"""A variable with its value as Kubernetes sets it for the address of a Service."""

_SLIPS = frozenset({f"{PREFIX}SERVICE_HOST", f"{PREFIX}SERVICE_PORT"})
"""Such variables that a slip of the finger makes of ``server.host`` and ``server.port``."""

__all__ = ["ConfigError", "load_config"]

PASSWORD_PLACES = (
    "put the password into a MySQL option file (server.defaults_file), a systemd credential named "
    f"mysql-password, or {PASSWORD_VARIABLE}"
)

CONFIG_VARIABLE = f"{PREFIX}CONFIG"
"""Not there, and often tried."""

READINGS_UNTIL_LATE = 2
"""Intervals within which nothing is called stale, and a stall must not come unseen."""

_KNOWN_SECTIONS = ", ".join(BRACKETS.values())


def file_of(path: str | None) -> str | None:
    """Return the file that is read: the one given, else ``DEFAULT_PATH`` where it exists; None for none.

    Where nobody lets us look whether it exists, it is taken to: reading it says so.
    """
    if path is not None:
        return path
    try:
        Path(DEFAULT_PATH).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        pass
    return DEFAULT_PATH


def read_toml(path: str) -> dict[str, Any]:
    """Return what a TOML file has.

    Raises:
        ConfigError: it cannot be read, or is no TOML; the message says what would be right.
    """
    if not path:
        raise ConfigError(["--config is empty: give it the path of a TOML file"])
    try:
        content = read_whole(path)
    except FileNotFoundError as error:
        raise ConfigError([f"{path}: no such file; give --config the path of a TOML file"]) from error
    except PermissionError as error:
        raise ConfigError(
            [f"{path}: permission denied; it must be readable by the account that runs this command"]
        ) from error
    except IsADirectoryError as error:
        raise ConfigError([f"{path}: a directory; give --config the path of a TOML file in it"]) from error
    except OSError as error:
        raise ConfigError(
            [f"{path}: cannot be read: {error.strerror}; give --config the path of a TOML file"]
        ) from error
    try:
        text = content.decode("utf-8-sig")  # a byte order mark is none of TOML's letters
    except UnicodeDecodeError as error:
        why = "UTF-16; save it as UTF-8" if content.startswith(UTF_16) else f"not UTF-8 at byte {error.start}"
        raise ConfigError([f"{path}: {why}"]) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path}: not TOML: {error}{_start_of_line(text, str(error))}"]) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise ConfigError([f"{path}: not TOML that can be used: {error}"]) from error


def _start_of_line(text: str, error: str) -> str:
    """Quote the line that is meant as far as its key: the value may be a secret."""
    place = re.search(r"at line (\d+)", error)
    line = text.split("\n")[int(place[1]) - 1] if place else text.rstrip().rpartition("\n")[2]
    key, equals, _ = line.partition("=")
    if not equals:
        return ""
    twice = " is there already" if "overwrite" in error else ""
    return f': "{key.strip()} = …"{twice}'


class _Strength(IntEnum):
    """Kinds of source; a higher one beats a lower one."""

    FILE = 0
    ENVIRONMENT = 1
    FLAG = 2


class _Source(NamedTuple):
    """Where a value came from: what that beats, its name as the user wrote it, and that with the value."""

    strength: _Strength
    name: str
    shown: str


@dataclass
class _Gathered:
    """What the sources have so far."""

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
    late = READINGS_UNTIL_LATE * sections["daemon"].interval
    loop: Settings = sections["loop"]
    sections["loop"] = replace(
        loop,
        emergency_seconds=max(loop.emergency_seconds, late),
        stale_seconds=max(loop.stale_seconds, late),
    )
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
            gathered.schedule, problems, notes = read_schedule(f"{path}:{SCHEDULE}", table)
            gathered.problems.extend(problems)
            gathered.notes.extend(notes)
        else:
            gathered.problems.append(f"{path}: {_misplaced(section, table)}")


def _misplaced(name: str, value: object) -> str:
    """Say what is wrong with what stands at the top of a file and is no section of ours."""
    if name in SECTIONS:
        return f"{name} must be a table: write [{name}]"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        section = nearest(name, BRACKETS)
        hint = f"; did you mean {BRACKETS[section]}?" if section else "."
        return f"[{name}]: unknown section{hint} There are {_KNOWN_SECTIONS}"
    near = nearest_key(name)
    hint = f"; did you mean {_placed(near)}?" if near else f"; each key stands in one of {_KNOWN_SECTIONS}"
    return f"{name}: stands outside a section{hint}"


def _take_from_table(gathered: _Gathered, path: str, dotted: str, value: object) -> None:
    place = f"{path}:{dotted}"
    section, _, name = dotted.partition(".")
    if dotted in KEYS:
        gathered.take(dotted, value, _Source(_Strength.FILE, place, f"{place} = {toml(value)}"))
    elif dotted in WITHOUT_EFFECT:
        gathered.notes.append(f"{place}: {WITHOUT_EFFECT[dotted]}")
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
        key, shown = BY_VARIABLE.get(name), f"{name}={text}"
        if _SERVICE_LINK.fullmatch(shown):
            if key is not None:
                link = f"is the address of a Kubernetes Service, and is not taken for {key.dotted}"
                gathered.notes.append(f"{shown}: {link}; a number sets that")
            elif name in _SLIPS and "://" not in text + environ.get(f"{PREFIX}PORT", ""):
                link = "is taken for the address of a Kubernetes Service, and for no key"
                gathered.notes.append(f"{shown}: {link}; {_variable_hint(name)}")
        elif name in NO_KEYS:
            gathered.notes.append(f"{shown}: {NO_KEYS[name]}")
        elif key is None:
            gathered.problems.append(f"{name}: unknown variable; {_variable_hint(name)}")
        elif text:
            gathered.take(key.dotted, text, _Source(_Strength.ENVIRONMENT, name, shown))


def _variable_hint(name: str) -> str:
    if name == CONFIG_VARIABLE:
        return "the configuration file is named with --config"
    if removed := REMOVED.get(name.removeprefix(PREFIX).lower().replace("_", ".", 1)):
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
