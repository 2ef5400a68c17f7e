r"""A MySQL option file, read by mysqld's own rules (mysys/my_default.cc).

A ``#`` outside quotes starts a comment anywhere; one pair of quotes around a value is taken
off; ``\n \t \r \b \s \" \' \\`` are escapes inside and outside quotes and any other
backslash stands for itself; dashes and underscores in names are the same, capitals in those of groups as
well; the last one wins. Bytes that are no UTF-8 are taken as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_GROUP = re.compile(r"\[([^\]]*)\]")
_BEFORE_COMMENT = re.compile(r"""(?:[^"'#]|"(?:[^"\\]|\\(?:.|$))*(?:"|$)|'(?:[^'\\]|\\(?:.|$))*(?:'|$))*""")
_QUOTED = re.compile(r"""(["'])(.*)\1""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_WRITTEN = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r", "\b": r"\b"}
_BARE = re.compile(r"[A-Za-z0-9_.@%+-]+")
_SPACE = " \t\r\n\v\f"


class OptionFileError(ValueError):
    """A line that is no group, option or comment; the message names the line, never its value."""


def read_options(text: str, *groups: str) -> dict[str, str]:
    """Return the options of some groups, names with underscores, in the order in which they were last given.

    An option without value is "".

    Args:
        text: the whole file; bytes that are no UTF-8 as ``surrogateescape`` makes them.
        groups: names without brackets, in small letters.

    Raises:
        OptionFileError: an option before the first group, a group that does not end, or a zero byte.
    """
    options: dict[str, str] = {}
    group: str | None = None
    for number, line in _lines(text):
        if line.startswith("["):
            match = _GROUP.match(line)
            if match is None:
                raise OptionFileError(f"line {number}: a group must end with ]")
            group = match[1].strip(_SPACE).lower()
        elif line.startswith("!"):
            continue
        elif group is None:
            raise OptionFileError(f"line {number}: an option stands before the first [group]")
        elif group in groups:
            name, _, value = _BEFORE_COMMENT.match(line)[0].partition("=")  # type: ignore[index] # matches anything
            name = name.strip(_SPACE).replace("-", "_").removeprefix("loose_")
            if "\0" in line:
                raise OptionFileError(
                    f"line {number}: {name.replace('_', '-')}: has a zero byte; take it out"
                )
            options.pop(name, None)
            options[name] = _unquoted(value.strip(_SPACE))
    return options


def includes(text: str) -> list[str]:
    """Return the ``!include`` lines, which are not followed."""
    return [line for _, line in _lines(text) if line.startswith("!include")]


def written(value: str) -> str:
    """Return a value as a line of an option file has it, in quotes where it needs them."""
    if _BARE.fullmatch(value):
        return value
    return f'"{"".join(_WRITTEN.get(letter, letter) for letter in value)}"'


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip(_SPACE)
        if line and line[0] not in "#;":
            yield number, line


def _unquoted(value: str) -> str:
    quoted = _QUOTED.fullmatch(value)
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[0]), quoted[2] if quoted else value)
