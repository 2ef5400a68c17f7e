"""The configuration's TOML file: which one is read, and what is said where it cannot be."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from tuner.config.errors import ConfigError

DEFAULT_PATH = "/etc/innobrim/innobrim.toml"


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
        text = Path(path).read_text(encoding="utf-8-sig")  # a byte order mark is none of TOML's letters
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
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8 at byte {error.start}"]) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path}: not TOML: {error}{_start_of_line(text, str(error))}"]) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise ConfigError([f"{path}: not TOML that can be used: {error}"]) from error


def _start_of_line(text: str, said: str) -> str:
    """Quote the line that is meant as far as its key: the value may be a secret."""
    place = re.search(r"at line (\d+)", said)
    line = text.split("\n")[int(place[1]) - 1] if place else text.rstrip().rpartition("\n")[2]
    key, equals, _ = line.partition("=")
    if not equals:
        return ""
    twice = " is there already" if "overwrite" in said else ""
    return f': "{key.strip()} = …"{twice}'
