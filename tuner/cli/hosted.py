"""``innobrim hosted``: another pair by way of a hosted server's provider, by a person's consent, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click
from msgspec import Meta, Struct

from tuner.cli.answer import (
    Group,
    Refused,
    Unfinished,
    Unusable,
    answering,
    interruptible,
    like_ctrl_c,
    say,
    say_json,
)
from tuner.cli.options import (
    Duration,
    configuration,
    endpoint,
    json_option,
    real_server,
    server_options,
    with_options,
)
from tuner.cli.redo_growth import must_be_asked_or_told
from tuner.hosted.change import RAISED_BY, Change
from tuner.hosted.kept import KeptError
from tuner.hosted.opened import opened
from tuner.hosted.port import NAMES, HostedError, NotInTimeError
from tuner.journal.resized import BusyError, ResizeError, alone
from tuner.records import Capacity
from tuner.system.clock import SystemClock

LONGEST_TIMEOUT = 86_400.0
LEFT = "stopped; what was written stays at the provider: innobrim hosted restore sets back what was found"
MEANS = {NotInTimeError: Unfinished, HostedError: Refused, KeptError: Refused, ResizeError: Refused}


class HostedDone(Struct, frozen=True):
    """What ``apply`` and ``restore`` print as JSON."""

    place: Annotated[str, Meta(description="what keeps the variables at the provider")]
    before: Annotated[Capacity, Meta(description="the pair that was in force")]
    in_force: Annotated[Capacity, Meta(description="the pair that is in force now, as the server shows it")]
    seconds: Annotated[float, Meta(description="how long that took")]


def _pair(_context: click.Context, _param: click.Parameter, text: str) -> Capacity:
    """Return the pair that somebody typed."""
    named = re.fullmatch(r"([1-9]\d{0,9})/([1-9]\d{0,9})", text.strip())
    if named is None:
        what = "innodb_io_capacity/innodb_io_capacity_max, such as 444/444"
        raise click.BadParameter(f"{text!r} is no pair: write {what}")
    return Capacity(int(named[1]), int(named[2]))


change_options = with_options(
    server_options,
    click.option("--yes", is_flag=True, help="Do not ask."),
    click.option(
        "--timeout",
        type=Duration(LONGEST_TIMEOUT),
        default="10m",
        show_default=True,
        help="How long the provider may take for one variable.",
    ),
    json_option,
)


@click.group(cls=Group)
def hosted() -> None:
    """Set both variables of a hosted server at its provider, after a question, or set back what was found.

    The table [hosted] of the configuration says where Amazon RDS, Azure or Google Cloud SQL keeps them, and
    innobrim check whether they can be changed there. No daemon writes to a provider: it only advises.

    Example: innobrim hosted apply --config innobrim.toml --to 444/444
    """


@hosted.command()
@click.option(
    "--to", "wanted", callback=_pair, required=True, metavar="C/M", help="The pair, as advise prints it."
)
@click.option("--adopt", is_flag=True, help="Take what somebody else set since for what restore sets back.")
@change_options
def apply(config_path: str | None, *, wanted: Capacity, adopt: bool, **options: object) -> None:
    """Show what changes, ask, have the provider set the pair, and wait until the server shows it.

    What was found is on disk before the first write. One variable is set at a time, in the order that is
    safe, and innodb_io_capacity_max is at most doubled at a time. A change begins 30 minutes after the one
    before at the earliest, and at most four begin within 24 hours.

    Exit 0: it is in force. Exit 1: refused, with the reason. Exit 2: wrong configuration, or nobody to ask.
    Exit 3: the server does not answer. Exit 4: written, and not in force in time; the same command goes on.

    Example: innobrim hosted apply --config innobrim.toml --to 444/444
    """
    _carry_out(config_path, wanted, adopt=adopt, **options)  # type: ignore[arg-type]  # click knows their types


@hosted.command()
@change_options
def restore(config_path: str | None, **options: object) -> None:
    """Show what changes, ask, and have the provider keep again what the first apply found there.

    A variable that had the provider's default is reset to it. No waiting time and no number of changes a day
    stands in the way, but it counts as a change. With --yes it refuses where somebody else changed the values
    since.

    Exit 0: it is in force. Exit 1: refused, with the reason. Exit 2: wrong configuration, or nobody to ask.
    Exit 3: the server does not answer. Exit 4: written, and not in force in time; the same command goes on.

    Example: innobrim hosted restore --config innobrim.toml
    """
    _carry_out(config_path, None, **options)  # type: ignore[arg-type]  # click knows their types


def _carry_out(
    config_path: str | None,
    wanted: Capacity | None,
    *,
    adopt: bool = False,
    yes: bool,
    timeout: float,
    as_json: bool,
    **server_flags: object,
) -> None:
    """Set a pair, or where none is given what was found."""
    with answering(as_json=as_json, means=MEANS):
        config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
        directory = Path(config.daemon.state_directory)
        if config.hosted is None:
            raise Unusable("no table [hosted] in the configuration: docs/hosted.md says what it needs")
        if not directory.is_dir():
            raise Unusable(
                f"{directory}: no such directory, and what is found has to be on disk first; name one with "
                "--state-directory or --config"
            )
        must_be_asked_or_told(yes=yes)
        clock = SystemClock()
        store, server = opened(config.hosted), real_server(config, clock)
        try:
            with alone(directory):
                change = Change(
                    server,
                    store,
                    host=endpoint(config, noted=lambda _: None).tcp_host,
                    settings=config.loop,
                    directory=directory,
                    clock=clock,
                    say=lambda line: say(line, err=as_json),
                )
                before = change.now.in_force
                target = change.to_be_set(wanted, adopt=adopt)
                if wanted is None and (why := change.foreign()):
                    if yes:
                        raise Refused(f"{why}: somebody else changed it; without --yes you are asked")
                    say(f"warning: {why}: somebody else changed it", err=True)
                undo = "" if wanted is None else "; undo: innobrim hosted restore"
                say(*_told(change, target, undo), err=as_json)
                if not yes:
                    if not click.confirm("Set it?", err=True):
                        raise Refused("nothing was set: not confirmed")
                    change.must_be_as_told()
                began = clock.monotonic()
                with like_ctrl_c(), interruptible(LEFT):
                    if wanted is None:
                        target = change.restore(timeout=timeout)
                    else:
                        change.apply(wanted, timeout=timeout)
                took = clock.monotonic() - began
        except BusyError as error:
            raise Refused(f"another innobrim hosted is at work from {directory}: wait for its end") from error
        finally:
            server.close()
    if as_json:
        say_json(HostedDone(change.now.seen.place, before, target, took))
    else:
        say(f"{target} is in force")


def _told(change: Change, target: Capacity, undo: str) -> Iterator[str]:
    """Yield what a person is told before the question."""
    now = change.now
    yield f"{now.seen.place}, the server {change.facts.endpoint}:"
    yield f"  in force: {now.in_force} → {target}"
    for name in NAMES:
        yield f"  at the provider: {name} is {now.seen.parameters[name]}"
    if now.seen.along:
        yield f"  sent along as found: {', '.join(now.seen.along)}"
    for other in now.seen.beside:
        yield f"  also on: {other}, whose values are not looked at"
    if target.io_capacity_max > now.in_force.io_capacity_max:
        yield f"  innodb_io_capacity_max rises by a factor of {RAISED_BY:g} at most in a step"
    yield "  it may take minutes, and stays over restarts of the server" + undo
