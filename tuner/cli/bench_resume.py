"""A bench in parts: the command that goes on with it, and what that cannot change any more."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection
from pathlib import Path

import click

from tuner.cli.options import usage
from tuner.cli.wording import counted

OF_A_PART = frozenset({"resume", "limit", "as_json", "yes", "variants", "defaults_file", "only_plan"})
"""Options that each part of a bench has for itself."""


def refuse_beside_resume(
    context: click.Context, allowed: Collection[str] = OF_A_PART, what: str = "bench"
) -> None:
    """End where an option is given that a bench which goes on cannot take any more.

    Args:
        context: of the command.
        allowed: options that each part has for itself.
        what: a word for what goes on.
    """
    for name in context.params:
        source = context.get_parameter_source(name)
        if name not in allowed and source is click.core.ParameterSource.COMMANDLINE:
            option = next(one for one in context.command.params if one.name == name).opts[0]
            usage(f"{option} cannot be changed with --resume; start another {what} for it")


def enough_minutes(needs: float) -> int:
    """Return the minutes of a part in which a run of so many seconds surely begins."""
    return math.ceil(needs / 60.0) + 1


def kept_text(rows: int) -> str:
    """Return that so many finished rows are kept."""
    return f"{counted(rows, 'row')} {'is' if rows == 1 else 'are'} kept"


def going_on(context: click.Context, directory: Path, *, needs: float | None = None) -> str:
    """Return the command that goes on with this bench, with what was asked of this part of it.

    Args:
        context: of the command.
        directory: the bench's.
        needs: how long this part would have had to be for a row, seconds; the next one gets that, and up to
            two minutes more, in place of the same time again. None where a row was finished.
    """
    given = context.params
    minutes = None if needs is None else enough_minutes(needs)
    limit = None if given["limit"] is None else f"{given['limit']:g}s" if minutes is None else f"{minutes}m"
    words = ["innobrim", "bench", "--resume", str(directory)]
    words += [word for name in given["variants"] for word in ("--variant", name)]
    words += [] if given["defaults_file"] is None else ["--defaults-file", given["defaults_file"]]
    words += [] if limit is None else ["--time", limit]
    words += [f"--{word}" for word, name in (("yes", "yes"), ("json", "as_json")) if given[name]]
    return shlex.join(words)
