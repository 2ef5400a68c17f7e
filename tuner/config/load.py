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
from tuner.config.hooks import read_hooks
from tuner.config.hosted import read_hosted
from tuner.config.keys import (
    ARRAYS,
    BRACKETS,
    BY_VARIABLE,
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
from tuner.config.schema import UTF_16, Config, ConfigError, Fault, HookTable, HostedTable, ScheduleTable
from tuner.settings import Settings
from tuner.system.files import changeable, read_whole
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
_AT_LINE = re.compile(r"at line (\d+)")
_HEAD = re.compile(r"\s*\[\[?\s*([\w.-]*)\s*\]")
_NAME = re.compile(r"""\s*([\w-]+|"[^"]*"|'[^']*')\s*=""")
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


def read_toml(path: str) -> tuple[dict[str, Any], str]:
    """Return what a TOML file has, and its text.

    Raises:
        ConfigError: it cannot be read, other accounts can change it, or it is no TOML; the message says what
            would be right.
    """
    if not path:
        raise ConfigError(["--config is empty: give it the path of a TOML file"])
    try:
        content = read_whole(path)
        if why := changeable(path):
            raise ConfigError([Fault(f"{path}: {why}", source=path)])
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
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        said = f"{path}: not TOML: {error}{_start_of_line(text, str(error))}"
        place = _AT_LINE.search(str(error))
        raise ConfigError([Fault(said, source=path, line=int(place[1]) if place else None)]) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise ConfigError([f"{path}: not TOML that can be used: {error}"]) from error


def line_of(text: str, section: str, name: str = "", *, number: int = 1) -> int | None:
    """Return the line of a file that a key stands in; None where it is not written as usual, below its table.

    Args:
        text: of the file, which is TOML.
        section: of the key; empty for what stands before the first table.
        name: of the key, without its section; empty for the head of the table.
        number: of its table, counted from 1, where there are several of that name.
    """
    seen, inside = 0, not section
    for count, line in enumerate(text.split("\n"), 1):
        if head := _HEAD.match(line):
            seen += head[1] == section
            inside = head[1] == section and seen == number
            if inside and not name:
                return count
        elif inside and name and (key := _NAME.match(line)) and key[1].strip("\"'") == name:
            return count
    return None


def _start_of_line(text: str, error: str) -> str:
    """Quote the line that is meant as far as its key: the value may be a secret."""
    place = _AT_LINE.search(error)
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


@dataclass
class _Gathered:
    """What the sources have so far."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    schedule: tuple[ScheduleTable, ...] = ()
    hook: tuple[HookTable, ...] = ()
    hosted: HostedTable | None = None
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, dotted: str, value: object, source: Source) -> None:
        """Note one key's value; a bad one becomes a fault."""
        why = REMOVED_VALUES.get(dotted, {}).get(value) if isinstance(value, str) else None
        try:
            if why is None:
                self.values[dotted] = KEYS[dotted].read(value, from_text=source.strength > _Strength.FILE)
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
    faults = ConfigError([*gathered.faults, *apart]).faults
    return Examined(config, file, gathered.sources, faults, tuple(gathered.notes))


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
    sections["loop"] = replace(
        loop,
        emergency_seconds=max(loop.emergency_seconds, late),
        stale_seconds=max(loop.stale_seconds, late),
    )
    return Config(**sections, schedule=gathered.schedule, hook=gathered.hook, hosted=gathered.hosted)


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


def _take_file(gathered: _Gathered, path: str) -> None:
    tables, text = read_toml(path)
    for section, table in tables.items():
        if isinstance(table, dict) and section in SECTIONS:
            for name, value in table.items():
                line = line_of(text, section, name)
                _take_from_table(gathered, path, f"{section}.{name}", value, line)
        elif section in ARRAYS:
            place = f"{path}:{section}"
            if section == SCHEDULE:
                gathered.schedule, problems, notes = read_schedule(place, table)
            else:
                gathered.hook, problems, notes = read_hooks(place, table)
            gathered.faults.extend(_of_array(path, text, section, problem) for problem in problems)
            gathered.notes.extend(notes)
        elif section == HOSTED:
            gathered.hosted, problems = read_hosted(f"{path}:{HOSTED}", table)
            gathered.faults.extend(_of_hosted(path, text, problem) for problem in problems)
        else:
            line = line_of(text, section) or line_of(text, "", section)
            gathered.faults.append(Fault(f"{path}: {_misplaced(section, table)}", path, section, "", line))


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


def _take_from_table(gathered: _Gathered, path: str, dotted: str, value: object, line: int | None) -> None:
    place = f"{path}:{dotted}"
    section, _, name = dotted.partition(".")
    if dotted in KEYS:
        shown = f"{place} = {toml(value)}"
        gathered.take(dotted, value, Source(_Strength.FILE, place, shown, path, line))
    elif dotted in WITHOUT_EFFECT:
        gathered.notes.append(f"{place}: {WITHOUT_EFFECT[dotted]}")
    elif "password" in name:
        gathered.faults.append(
            Fault(f"{place}: no place for a secret; {PASSWORD_PLACES}", path, dotted, "", line)
        )
    else:
        near = nearest_key(dotted)
        names = ", ".join(key.name for key in KEYS.values() if key.section == section)
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
