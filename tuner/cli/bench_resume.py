"""A bench in parts: the command that goes on with it, and what that cannot change any more."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path

import click

from tuner.cli.options import usage

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


def going_on(context: click.Context, directory: Path) -> str:
    """Return the command that goes on with this bench, with what was asked of this part of it."""
    given = context.params
    words = ["innobrim", "bench", "--resume", str(directory)]
    words += [word for name in given["variants"] for word in ("--variant", name)]
    words += [] if given["defaults_file"] is None else ["--defaults-file", given["defaults_file"]]
    words += [] if given["limit"] is None else ["--time", f"{given['limit']:g}s"]
    words += [f"--{word}" for word, name in (("yes", "yes"), ("json", "as_json")) if given[name]]
    return shlex.join(words)
