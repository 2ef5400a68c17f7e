"""A group of commands that speaks as they do: mistakes in the words of a command get the same prefix."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from tuner.cli.errors import complain


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
        with _in_our_words():
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
