"""How a command says something: nothing in it steers the terminal, whoever chose the words."""

from __future__ import annotations

from collections.abc import Callable

import click
import msgspec

from tuner.printable import escaped, printable


def say(*lines: str, err: bool = False) -> None:
    """Print lines, on stderr where they are no part of the answer; what is in one of them ends no line."""
    for line in lines:
        click.echo(printable(line), err=err)


def say_json(answer: object, *, enc_hook: Callable[[object], object] | None = None) -> None:
    r"""Print an answer as one line of JSON.

    JSON itself escapes no control characters but those below a blank. The others, and what else is not to be
    seen, are \u escapes here: the same value for who reads it, and nothing for a terminal to obey.

    Args:
        answer: whatever msgspec encodes.
        enc_hook: turns what it does not encode by itself into something that it does.
    """
    text = msgspec.json.encode(answer, enc_hook=enc_hook).decode()
    click.echo(escaped(text).encode())  # as UTF-8, whatever the locale's encoding is
