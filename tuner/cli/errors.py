"""How a command ends that did not do what was asked: message, exit code, and JSON where it is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from tuner.cli.exits import NO, UNREACHABLE, USAGE
from tuner.cli.saying import say, say_json


def complain(message: str) -> None:
    """Print a message on stderr, with the program's name in front of every line."""
    for line in message.splitlines():
        say(f"innobrim: {line}", err=True)


class CommandError(click.ClickException):
    """Ends a command with one of the exit codes of ``tuner.cli.exits``.

    Attributes:
        problem: the daemon's own answer, where it gave one.
    """

    def __init__(self, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.problem = problem

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - click's signature
        """Print the message."""
        complain(self.message)


class Refused(CommandError):  # noqa: N818 - reads as the state it names
    """The answer is no."""

    exit_code = NO


class Unusable(CommandError):  # noqa: N818 - reads as the state it names
    """Options, configuration or token are wrong."""

    exit_code = USAGE


class Unreachable(CommandError):  # noqa: N818 - reads as the state it names
    """Daemon or server does not answer; the message says which."""

    exit_code = UNREACHABLE


ENDS = {end.exit_code: end for end in (Refused, Unusable, Unreachable)}


@contextmanager
def answering(*, as_json: bool) -> Iterator[None]:
    """Print why a command failed as JSON too, where JSON is wanted; it ends with the same exit code."""
    try:
        yield
    except CommandError as error:
        if as_json:
            say_json(error.problem or {"title": "Not done", "detail": error.message})
        raise
