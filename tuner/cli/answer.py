"""How a command answers: what it prints, its exit codes, and how it ends where the answer is no."""

from __future__ import annotations

import difflib
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, MappingProxyType
from typing import IO, Any, NoReturn

import click
import msgspec

from tuner.config.schema import ConfigError
from tuner.servers import port
from tuner.system.printable import escaped, printable

FINE = 0
NO = 1
USAGE = 2
UNREACHABLE = 3
UNFINISHED = 4
NOTHING_TO_GAIN = 5
NO_VERDICT = 6
INTERRUPTED = 130


def complain(message: str) -> None:
    """Print a message on stderr, with the program's name in front of every line."""
    for line in message.splitlines():
        say(f"innobrim: {line}", err=True)


class CommandError(click.ClickException):
    """Ends a command with one of the exit codes above.

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


class Unfinished(CommandError):  # noqa: N818 - reads as the state it names
    """The time given is up before it is done."""

    exit_code = UNFINISHED


MEANS: Mapping[type[Exception], type[CommandError]] = {
    port.Unreachable: Unreachable,
    port.ServerError: Refused,
    ConfigError: Unusable,
}
"""How an error of the daemon's rooms ends a command; the first that fits counts."""


@contextmanager
def answering(
    *, as_json: bool = False, means: Mapping[type[Exception], type[CommandError]] = MappingProxyType({})
) -> Iterator[None]:
    """End with an exit code where a command fails, by ``means`` and ``MEANS``; print why as JSON too."""
    known = {**means, **MEANS}
    try:
        try:
            yield
        except tuple(known) as error:
            end = next(end for kind, end in known.items() if isinstance(error, kind))
            raise end(str(error)) from error
    except CommandError as error:
        if as_json:
            say_json(error.problem or {"title": "Not done", "detail": error.message})
        raise


def say(*lines: str, err: bool = False) -> None:
    """Print lines, on stderr where they are no part of the answer; what is in one of them ends no line."""
    for line in lines:
        click.echo(printable(line), err=err)


def say_json(answer: object, *, enc_hook: Callable[[object], object] | None = None) -> None:
    r"""Print an answer as one line of JSON.

    JSON itself escapes no control characters but those below a blank. The others, and what else is not to be
    seen, are \u escapes here: the same value for who reads it, and nothing for a terminal to obey.
    """
    text = msgspec.json.encode(answer, enc_hook=enc_hook).decode()
    click.echo(escaped(text).encode())  # as UTF-8, whatever the locale's encoding is


BY = (signal.SIGTERM, signal.SIGHUP)
"""What ends a command beside Ctrl-C."""

_SHELL = 128
"""What a shell adds to a signal's number for an exit code."""


class Ended(KeyboardInterrupt):
    """A signal other than Ctrl-C ended the command.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Raise ``Ended`` for the first of these signals, and ignore further ones; what was ignored stays so."""
    before = {number: signal.getsignal(number) for number in BY}
    heard = [number for number in BY if before[number] is not signal.SIG_IGN]  # nohup ignores SIGHUP

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        for one in heard:  # whoever ends a group of processes may send it twice
            signal.signal(one, signal.SIG_IGN)
        raise Ended(number)

    for number in heard:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


@contextmanager
def interruptible(words: str) -> Iterator[None]:
    """Say these words where Ctrl-C or its like ends what is done meanwhile, and exit as a shell expects."""
    try:
        yield
    except KeyboardInterrupt as error:
        say(words, err=True)
        raise click.exceptions.Exit(exit_code(error)) from error


def exit_code(error: KeyboardInterrupt) -> int:
    """Return what a command exits with that was ended like this."""
    return _SHELL + error.number if isinstance(error, Ended) else INTERRUPTED


class Group(click.Group):
    """A group that names the nearest command for an unknown one, and the program in front of every error."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> click.Context:
        """Read the group's own options."""
        with _in_our_words():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run a command."""
        with _in_our_words(), answering():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            ctx.fail(f"{name}: no such command; {hint}")
        return super().resolve_command(ctx, args)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """End with click's exit code for a wrong usage, and with its message in our form."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        if error.ctx is not None:
            hint = f"Try '{error.ctx.command_path} --help' for help."
            click.echo(f"{error.ctx.get_usage()}\n{hint}\n", err=True)
        complain(error.format_message())
        raise click.exceptions.Exit(error.exit_code) from error
