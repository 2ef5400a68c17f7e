"""Which server a bench has: the best one here, or one of the user's own, and what is not said beside that."""

from __future__ import annotations

import sys

import click
import msgspec

from lab.bench.plan import PlanError, Suite
from lab.servers.base import LabServer, LabServerError
from lab.servers.choose import Kind, choose, kind_of
from lab.servers.existing import PASSWORD_PLACES, DsnServer
from tuner.cli.options import usage
from tuner.cli.plan_options import specification

_NOT_OURS = {
    "server_words": "no other server is started",
    "redo": "its redo log stays as it is",
    "buffer_pool": "its buffer pool stays as it is",
    "settings": "no variable of it is set but C and M",
    "write_iops": "its disk is not limited",
    "write_mib": "its disk is not limited",
}
"""Options that a server of the user's own leaves without effect."""


def refuse_beside_own(context: click.Context) -> None:
    """End where an option is given that ``--dsn`` would leave without effect."""
    for name, why in _NOT_OURS.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = next(one for one in context.command.params if one.name == name).opts[0]
            usage(f"{option} beside --dsn: {why}; leave one of the two out")


def check_named(suite: Suite, dsn: str | None, words: str) -> None:
    """Return when a suite can be run on the server that ``--dsn``, else ``--server``, names.

    Raises:
        PlanError: it asks of one of the user's own what is never done to that, or ``--server`` names one.
        LabServerError: ``--server`` names nothing that could be a server.
    """
    if dsn is not None:
        refuse_for_own(suite)
    elif words != "auto" and kind_of(words) is Kind.OWN:
        raise PlanError(
            f"--server {words}: a server of your own is no throw-away one; name it as --dsn mysql://USER@HOST:PORT"
            " or --dsn mysql://USER@/PATH/TO/SOCKET"
        )


def refuse_for_own(suite: Suite) -> None:
    """Return when a suite can be run on a server of the user's own, which is loaded and has its C and M set.

    Raises:
        PlanError: it would be killed, or rows would bear the name of something that was never set there.
    """
    own, plans = "a server of your own", suite.plans
    if any(one.surge for one in plans):
        raise PlanError(f"surge: the daemon is killed and the load grows, which is no test for {own}")
    if any(one.crash for one in plans):
        raise PlanError(f"--crash: {own} is never killed or shut down; leave --crash or --dsn out")
    if names := sorted({name for one in plans for name in one.server.set}):
        raise PlanError(f"server.set: {', '.join(names)} would not be set on {own}; leave it or --dsn out")
    if any(one.disk.alternate_iops is not None for one in plans):
        raise PlanError(f"disk.alternate_iops: the disk of {own} is not limited; leave it or --dsn out")
    if len({msgspec.json.encode((one.server, one.disk)) for one in plans}) > 1:
        raise PlanError(
            f"{suite.name}: its variants differ in server or disk, which stay as they are on {own};"
            " take a suite whose variants differ in the load alone, or leave --dsn out"
        )


def look_at(server: LabServer) -> None:
    """Return when a server of the user's own can be taken; nothing is written to it.

    Raises:
        LabServerError: it does not answer, or is not fit for a bench.
    """
    if isinstance(server, DsnServer):
        server.look()


def check_servers(suite: Suite) -> None:
    """Return when every plan's server can be started as it says; later would be after hours.

    Raises:
        PlanError: one of them sets what it must not.
    """
    for one in suite.plans:
        specification(one)


def best_here() -> str:
    """Return the best real server that can be had without installing anything."""
    choice = choose()
    if choice.kind == "none":
        refusals = "".join(f"\n  {refusal}" for refusal in choice.refusals)
        raise LabServerError(f"no real server can be had here: {choice.why}{refusals}")
    return choice.name


def password(what: str) -> str:
    """Ask for a password, which may be none; without a terminal there is nobody to ask."""
    if not sys.stdin.isatty():
        click.echo(f"innobrim: {what}: none in {PASSWORD_PLACES}; trying without one", err=True)
        return ""
    return str(click.prompt(what, hide_input=True, err=True, default="", show_default=False))
