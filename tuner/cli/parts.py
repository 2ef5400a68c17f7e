"""An experiment in parts: what a later part cannot change, and what is said of one that was cut short."""

from __future__ import annotations

from collections.abc import Collection

import click

from tuner.cli.options import usage
from tuner.cli.wording import counted


def refuse_given(context: click.Context, allowed: Collection[str], why: str) -> None:
    """End where an option is given on the command line that has no place there.

    Args:
        context: of the command.
        allowed: options that have.
        why: what is said behind the option's name.
    """
    for param in context.command.params:
        name = str(param.name)
        source = context.get_parameter_source(name)
        if name not in allowed and source is click.core.ParameterSource.COMMANDLINE:
            usage(f"{param.opts[0]}{why}")


def kept_text(rows: int) -> str:
    """Return that so many finished rows are kept."""
    return f"{counted(rows, 'row')} {'is' if rows == 1 else 'are'} kept"
