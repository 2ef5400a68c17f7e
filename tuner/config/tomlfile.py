"""A TOML file as it is written: its tables, and the line that each key stands in."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from tuner.config.schema import UTF_16, ConfigError, Fault
from tuner.system.files import changeable, read_whole

_AT_LINE = re.compile(r"at line (\d+)")
_HEAD = re.compile(r"\s*\[\[?\s*([\w.-]*)\s*\]")
_NAME = re.compile(r"""\s*([\w-]+|"[^"]*"|'[^']*')\s*=""")


def read_toml(path: str, named: str = "give --config the path of a TOML file") -> tuple[dict[str, Any], str]:
    """Return what a TOML file has, and its text; ``named``: what to do where none is there.

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
        raise ConfigError([f"{path}: no such file; {named}"]) from error
    except PermissionError as error:
        raise ConfigError(
            [f"{path}: permission denied; it must be readable by the account that runs this command"]
        ) from error
    except IsADirectoryError as error:
        raise ConfigError([f"{path}: a directory; {named} in it"]) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}; {named}"]) from error
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
