"""Reads the configuration: TOML file, then ``INNOBRIM_*`` variables, then flags.

Everything wrong is reported at once, each with its source, the value and what would be right.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from tuner.config.checks import contradictions
from tuner.config.errors import ConfigError
from tuner.config.keys import (
    BY_VARIABLE,
    KEYS,
    OTHER_VARIABLES,
    PASSWORD_VARIABLE,
    PREFIX,
    SECTIONS,
    KeyValueError,
    nearest_key,
    nearest_variable,
)
from tuner.config.schema import Config
from tuner.systemd import watchdog_seconds

__all__ = ["DEFAULT_PATH", "ConfigError", "load_config"]

DEFAULT_PATH = "/etc/innobrim/innobrim.toml"
PASSWORD_PLACES = (
    "put the password into a MySQL option file (server.defaults_file), a systemd credential named "
    f"mysql-password, or {PASSWORD_VARIABLE}"
)


@dataclass
class _Gathered:
    """What the sources said so far."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, dotted: str, value: object, *, source: str, shown: str, from_text: bool) -> None:
        """Note one key's value; a bad one becomes a problem."""
        try:
            self.values[dotted] = KEYS[dotted].read(value, from_text=from_text)
        except KeyValueError as error:
            self.problems.append(f"{shown}: {error}")
        else:
            self.sources[dotted] = source


def load_config(path: str | None, *, environ: Mapping[str, str], flags: Mapping[str, object]) -> Config:
    """Return the configuration in force.

    Args:
        path: TOML file; None reads ``DEFAULT_PATH`` where it exists.
        environ: environment; an empty ``INNOBRIM_*`` variable counts as absent, and "none"
            empties an optional key that the file sets.
        flags: dotted key to value, None where the flag was not given.

    Raises:
        ConfigError: unreadable file, unknown key or variable, wrong type or bounds, or keys
            that contradict each other; all problems at once.
    """
    gathered = _Gathered()
    if path is not None or Path(DEFAULT_PATH).exists():
        _take_file(gathered, path or DEFAULT_PATH)
    _take_environment(gathered, environ)
    _take_flags(gathered, flags)
    if gathered.problems:
        raise ConfigError(gathered.problems)
    config = _build(gathered.values)
    problems = contradictions(config, sources=gathered.sources, watchdog_seconds=watchdog_seconds(environ))
    if problems:
        raise ConfigError(problems)
    return config


def _build(values: Mapping[str, Any]) -> Config:
    sections = {
        name: section_type(
            **{
                key.name: values[key.dotted]
                for key in KEYS.values()
                if key.section == name and key.dotted in values
            }
        )
        for name, section_type in get_type_hints(Config).items()
    }
    return Config(**sections)


def _read_toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError([f"{path}: no such file; give --config the path of a TOML file"]) from error
    except PermissionError as error:
        raise ConfigError(
            [f"{path}: permission denied; it must be readable by the account that runs this command"]
        ) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8 at byte {error.start}"]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path}: not TOML: {error}"]) from error


def _take_file(gathered: _Gathered, path: str) -> None:
    for section, table in _read_toml(path).items():
        if not isinstance(table, dict):
            gathered.problems.append(
                f"{path}: {section}: stands outside a section; did you mean {_placed(nearest_key(section))}?"
            )
            continue
        if section not in SECTIONS:
            known = ", ".join(f"[{name}]" for name in SECTIONS)
            hint = f"; did you mean [{nearest_key(section + '.').partition('.')[0]}]?"
            gathered.problems.append(f"{path}: [{section}]: unknown section{hint} There are {known}")
            continue
        for name, value in table.items():
            dotted = f"{section}.{name}"
            source = f"{path}:{dotted}"
            if dotted in KEYS:
                gathered.take(
                    dotted, value, source=source, shown=f"{source} = {_toml(value)}", from_text=False
                )
            elif "password" in name:
                gathered.problems.append(f"{source}: no place for a secret; {PASSWORD_PLACES}")
            else:
                gathered.problems.append(
                    f"{source}: unknown key; did you mean {_placed(nearest_key(dotted))}?"
                )


def _take_environment(gathered: _Gathered, environ: Mapping[str, str]) -> None:
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        key = BY_VARIABLE.get(name)
        if key is None:
            gathered.problems.append(f"{name}: unknown variable; did you mean {nearest_variable(name)}?")
        elif text:
            gathered.take(key.dotted, text, source=name, shown=f"{name}={text}", from_text=True)


def _take_flags(gathered: _Gathered, flags: Mapping[str, object]) -> None:
    for dotted, value in flags.items():
        if dotted not in KEYS:
            gathered.problems.append(f"flag {dotted}: unknown key; did you mean {nearest_key(dotted)}?")
        elif value is not None:
            source = f"flag for {dotted}"
            gathered.take(dotted, value, source=source, shown=f"{source} = {value}", from_text=True)


def _placed(dotted: str) -> str:
    section, _, name = dotted.partition(".")
    return f"{name} in [{section}]"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
