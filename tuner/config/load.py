"""Reads the configuration: TOML file, then ``INNOBRIM_*`` variables, then flags.

Everything wrong is reported at once, each with its source, the value and what would be right.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from tuner.config.checks import contradictions
from tuner.config.hooks import read_hooks
from tuner.config.hosted import read_hosted
from tuner.config.keys import (
    ARRAYS,
    BRACKETS,
    BY_VARIABLE,
    FLEET,
    FLEET_KEYS,
    HOOK,
    HOSTED,
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
from tuner.config.schema import Config, ConfigError, Fault, FleetTable, HookTable, HostedTable, ScheduleTable
from tuner.config.tomlfile import line_of, read_toml
from tuner.settings import Settings
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

_SHOWN = re.compile(r"\b([a-z]+\.[a-z_]+) = (\S+)")
_OF_ARRAY = re.compile(rf"({'|'.join(ARRAYS)})\[(\d+)\](?: \".*?\")?\.(\w+)")

_SLIPS = frozenset({f"{PREFIX}SERVICE_HOST", f"{PREFIX}SERVICE_PORT"})
"""Such variables that a slip of the finger makes of ``server.host`` and ``server.port``."""

__all__ = ["ConfigError", "load_config"]

PASSWORD_PLACES = (
    "put the password into a MySQL option file (server.defaults_file), a systemd credential named "
    f"mysql-password, or {PASSWORD_VARIABLE}"
)

CONFIG_VARIABLE = f"{PREFIX}CONFIG"
"""Not there, and often tried."""

INCLUDE = "include"
"""What a file calls the files that it takes keys from, above its first table."""

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


class _Strength(IntEnum):
    """Kinds of source; a higher one beats a lower one."""

    INCLUDED = -1
    FILE = 0
    ENVIRONMENT = 1
    FLAG = 2


class Source(NamedTuple):
    """Where a value came from.

    Attributes:
        strength: what that beats.
        name: file with key, variable or option, as the user wrote it.
        shown: that with the value.
        origin: file, variable or option.
        line: of the file; None where unknown, and of what is no file.
    """

    strength: _Strength
    name: str
    shown: str
    origin: str
    line: int | None = None


class _Place(NamedTuple):
    """Where a key of a file stands: the file, the line where that is known, and what it beats."""

    path: str
    line: int | None
    strength: _Strength


@dataclass
class _Gathered:
    """What the sources have so far."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    schedule: dict[str, ScheduleTable] = field(default_factory=dict)
    hook: dict[str, HookTable] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    read: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    hosted: HostedTable | None = None
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def content(self, path: str, named: str) -> tuple[dict[str, Any], str]:
        """Return what ``read_toml`` does; read once where several include it, as it may change meanwhile."""
        place = os.path.realpath(path)
        if place not in self.read:
            self.read[place] = read_toml(path, named)
        if path not in self.files:
            self.files.append(path)
        tables, text = self.read[place]
        return dict(tables), text

    def take(self, dotted: str, value: object, source: Source) -> None:
        """Note one key's value; a bad one becomes a fault."""
        why = REMOVED_VALUES.get(dotted, {}).get(value) if isinstance(value, str) else None
        try:
            if why is None:
                key = KEYS.get(dotted) or FLEET_KEYS[dotted]
                self.values[dotted] = key.read(value, from_text=source.strength > _Strength.FILE)
                self.sources[dotted] = source
        except KeyValueError as error:
            why = str(error)
        if why is not None:
            said = f"{source.shown}: {why}"
            self.faults.append(Fault(said, source.origin, dotted, toml(value), source.line))


class Examined(NamedTuple):
    """A configuration as it was found, right or wrong.

    Attributes:
        config: the one in force; where anything is wrong, with the defaults in place of what is.
        file: that was read; None without one.
        sources: dotted key to where its value came from; a key that is not there has its default.
        faults: all that is wrong.
        notes: a line of each value that is understood and should be written otherwise.
    """

    config: Config
    file: str | None
    sources: Mapping[str, Source]
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


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
    found = examine(path, environ=environ, flags=flags)
    if found.faults:
        raise ConfigError(found.faults)
    for note in found.notes:
        noted(note)
    return found.config


def examine(path: str | None, *, environ: Mapping[str, str], flags: Mapping[str, object]) -> Examined:
    """Return the configuration with all that is wrong with it and where each value came from.

    Takes what ``load_config`` takes. Of keys that contradict each other those are told that are fine alone.
    """
    gathered = _Gathered()
    file = file_of(path)
    if file is not None:
        try:
            _take_file(gathered, file)
        except ConfigError as error:
            gathered.faults.extend(error.faults)
    _take_environment(gathered, environ)
    _take_flags(gathered, flags)
    _one_address(gathered)
    config = _build(gathered)
    sources = {dotted: source.name for dotted, source in gathered.sources.items()}
    bad = {fault.key for fault in gathered.faults if fault.key}
    said = contradictions(config, sources=sources, watchdog_seconds=watchdog_seconds(environ))
    apart = (
        _contradiction(one, gathered.sources)
        for one in said
        if bad.isdisjoint(key for key, _ in _SHOWN.findall(one))
    )
    faults = ConfigError(dict.fromkeys([*gathered.faults, *apart])).faults
    return Examined(config, file, gathered.sources, faults, tuple(dict.fromkeys(gathered.notes)))


def _contradiction(text: str, sources: Mapping[str, Source]) -> Fault:
    """Return what contradicts another key, with the place of the first key that it names."""
    named = _SHOWN.search(text)
    if named is None:
        return Fault(text)
    source = sources.get(named[1])
    where = ("", None) if source is None else (source.origin, source.line)
    return Fault(text, where[0], named[1], named[2], where[1])


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
    fleet = FleetTable(**{key.name: values[dotted] for dotted, key in FLEET_KEYS.items() if dotted in values})
    sections["loop"] = replace(
        loop,
        servers=fleet.servers,
        emergency_seconds=max(loop.emergency_seconds, late),
        stale_seconds=max(loop.stale_seconds, late),
    )
    return Config(
        **sections,
        schedule=tuple(gathered.schedule.values()),
        hook=tuple(gathered.hook.values()),
        fleet=fleet,
        hosted=gathered.hosted,
        files=tuple(gathered.files) if len(gathered.files) > 1 else (),
    )


def _one_address(gathered: _Gathered) -> None:
    """Drop a socket that host or port from a stronger source overrules; refuse both from the same one."""
    socket = gathered.sources.get("server.socket")
    rest: list[Source] = [
        gathered.sources[dotted]
        for dotted in ("server.host", "server.port")
        if gathered.values.get(dotted) is not None
    ]
    if socket is None or gathered.values["server.socket"] is None or not rest:
        return
    strongest = max(rest, key=lambda source: source.strength)
    if strongest.strength > socket.strength:
        gathered.values["server.socket"], gathered.sources["server.socket"] = None, strongest
    elif strongest.strength == socket.strength:
        both = " and ".join(source.shown for source in (socket, *rest) if source.strength == socket.strength)
        gathered.faults.append(
            Fault(
                f"{both}: two ways to one server; leave out the socket, or host and port", key="server.socket"
            )
        )


def _take_file(gathered: _Gathered, path: str, *chain: str) -> None:
    """Take a file's keys, and before them those of what it includes, which it overrules.

    Args:
        gathered: takes them.
        path: of the file.
        chain: the files that include it, the first one first.
    """
    named = f"mend the include in {chain[-1]}" if chain else "give --config the path of a TOML file"
    tables, text = gathered.content(path, named)
    for included in _included(gathered, path, tables.pop(INCLUDE, []), line_of(text, "", INCLUDE)):
        try:
            _require_no_circle(included, *chain, path)
            _take_file(gathered, included, *chain, path)
        except ConfigError as error:
            gathered.faults.extend(error.faults)
    strength = _Strength.INCLUDED if chain else _Strength.FILE
    for section, table in tables.items():
        if isinstance(table, dict) and section in (*SECTIONS, FLEET):
            for name, value in table.items():
                where = _Place(path, line_of(text, section, name), strength)
                _take_from_table(gathered, where, f"{section}.{name}", value)
        elif section in ARRAYS:
            place = f"{path}:{section}"
            if section == SCHEDULE:
                schedule, problems, notes = read_schedule(place, table)
                gathered.schedule.update({one.name: one for one in schedule})
            else:
                hooks, problems, notes = read_hooks(place, table)
                gathered.hook.update({one.name: one for one in hooks})
            gathered.faults.extend(_of_array(path, text, section, problem) for problem in problems)
            gathered.notes.extend(notes)
        elif section == HOSTED:
            gathered.hosted, problems = read_hosted(f"{path}:{HOSTED}", table)
            gathered.faults.extend(_of_hosted(path, text, problem) for problem in problems)
        else:
            line = line_of(text, section) or line_of(text, "", section)
            gathered.faults.append(Fault(f"{path}: {_misplaced(section, table)}", path, section, "", line))


def _included(gathered: _Gathered, path: str, given: object, line: int | None) -> list[str]:
    """Return the paths that a file includes, in its order; relative ones count from its folder."""
    names = given if isinstance(given, list) else [given]
    for one in names:
        if not isinstance(one, str) or not one or "\0" in one:
            wanted = 'must be a path such as "group.toml", or a list of paths'
            said = f"{path}:{INCLUDE} = {toml(given)}: {wanted}"
            gathered.faults.append(Fault(said, path, INCLUDE, toml(given), line))
            return []
    return [str(Path(path).parent / str(one)) for one in names]


def _require_no_circle(path: str, *chain: str) -> None:
    if os.path.realpath(path) in map(os.path.realpath, chain):
        said = " includes ".join((*chain, path))
        raise ConfigError([Fault(f"{said}: a circle; take one of these out", chain[-1], INCLUDE)])


def _misplaced(name: str, value: object) -> str:
    """Say what is wrong with what stands at the top of a file and is no section of ours."""
    if name in (*SECTIONS, FLEET):
        return f"{name} must be a table: write [{name}]"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value)):
        section = nearest(name, BRACKETS)
        hint = f"; did you mean {BRACKETS[section]}?" if section else "."
        return f"[{name}]: unknown section{hint} There are {_KNOWN_SECTIONS}"
    near = nearest_key(name)
    hint = f"; did you mean {_placed(near)}?" if near else f"; each key stands in one of {_KNOWN_SECTIONS}"
    return f"{name}: stands outside a section{hint}"


def _of_array(path: str, text: str, array: str, problem: str) -> Fault:
    """Return a fault of one of an array's tables, with the line of its key where it names one."""
    place = _OF_ARRAY.match(problem.removeprefix(f"{path}:"))
    if place is None:
        return Fault(problem, path, array)
    line = line_of(text, array, place[3], number=int(place[2]))
    return Fault(problem, path, f"{array}.{place[3]}", line=line)


def _of_hosted(path: str, text: str, problem: str) -> Fault:
    """Return a fault of the table of a hosted server, with the line of its key where it names one."""
    place = re.match(rf"{HOSTED}\.(\w+)", problem.removeprefix(f"{path}:"))
    name = place[1] if place else ""
    return Fault(problem, path, f"{HOSTED}.{name}".rstrip("."), line=line_of(text, HOSTED, name))


def _take_from_table(gathered: _Gathered, where: _Place, dotted: str, value: object) -> None:
    path, line, strength = where
    place = f"{path}:{dotted}"
    section, _, name = dotted.partition(".")
    if dotted in KEYS or dotted in FLEET_KEYS:
        shown = f"{place} = {toml(value)}"
        gathered.take(dotted, value, Source(strength, place, shown, path, line))
    elif dotted in WITHOUT_EFFECT:
        gathered.notes.append(f"{place}: {WITHOUT_EFFECT[dotted]}")
    elif "password" in name:
        gathered.faults.append(
            Fault(f"{place}: no place for a secret; {PASSWORD_PLACES}", path, dotted, "", line)
        )
    elif name == INCLUDE:
        said = f"{place}: stands in [{section}]; write it above the first table"
        gathered.faults.append(Fault(said, path, dotted, "", line))
    else:
        near = nearest_key(dotted)
        known = {**KEYS, **FLEET_KEYS}.values()
        names = ", ".join(key.name for key in known if key.section == section)
        hint = f"did you mean {_placed(near)}?" if near else f"[{section}] has {names}"
        hint = REMOVED.get(dotted, hint)
        gathered.faults.append(Fault(f"{place}: unknown key; {hint}", path, dotted, "", line))


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
            gathered.faults.append(Fault(f"{name}: unknown variable; {_variable_hint(name)}", name))
        elif text:
            gathered.take(key.dotted, text, Source(_Strength.ENVIRONMENT, name, shown, name))


def _variable_hint(name: str) -> str:
    if name == CONFIG_VARIABLE:
        return "the configuration file is named with --config"
    if removed := REMOVED.get(name.removeprefix(PREFIX).lower().replace("_", ".", 1)):
        return removed
    nouns = {SCHEDULE: "a schedule", HOOK: "a hook", HOSTED: "a hosted server"}
    for section, noun in nouns.items():
        if name.startswith(f"{PREFIX}{section.upper()}"):
            return f"{noun} stands in the configuration file alone, as a table {BRACKETS[section]}"
    near = nearest_variable(name)
    return f"did you mean {near}?" if near else f"a key's variable is {PREFIX} + section + _ + key"


def _take_flags(gathered: _Gathered, flags: Mapping[str, object]) -> None:
    for dotted, value in flags.items():
        if dotted not in KEYS:
            gathered.faults.append(Fault(f"flag {dotted}: unknown key", key=dotted))
        elif value is not None:
            name = _option(dotted)
            gathered.take(dotted, value, Source(_Strength.FLAG, name, f"{name} = {value}", name))


def _option(dotted: str) -> str:
    """Return the command line's option for a key; only those of [api] carry their section."""
    section, _, name = dotted.partition(".")
    return f"--{'api-' if section == 'api' else ''}{name.replace('_', '-')}"


def _placed(dotted: str) -> str:
    section, _, name = dotted.partition(".")
    return f"{name} in [{section}]"
