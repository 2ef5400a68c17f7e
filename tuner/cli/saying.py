"""How a command says something: nothing in it steers the terminal, whoever chose the words."""

from __future__ import annotations

import click

from tuner.printable import printable


def say(*lines: str, err: bool = False) -> None:
    """Print lines, on stderr where they are no part of the answer; what is in one of them ends no line."""
    for line in lines:
        click.echo(printable(line), err=err)
