"""What the commands that steer a running daemon share: options, the asking, and showing the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from api.models import Change, State, Status
from tuner.cli.api_client import Daemon, NoDaemon
from tuner.cli.errors import Unreachable, Unusable
from tuner.cli.saying import say, say_json
from tuner.cli.where import Where, configuration
from tuner.core.ages import said
from tuner.records import Capacity

reason_option = click.option("--reason", default="", help="Why, for the record.")
wait_option = click.option("--wait", is_flag=True, help="Wait until it is done, and say how far it is.")


def require_unnamed(where: Where, nobody: NoDaemon) -> None:
    """Let the journal stand in for a daemon, but for none that was named."""
    if where.named:
        raise Unreachable(
            f"{nobody.message}; the journal was not tried: leave {where.named} out for that"
        ) from nobody


def require_meant(status: Status, given: Mapping[str, object]) -> None:
    """Refuse where a server is named that is not the one of the daemon that answers.

    Args:
        status: of that daemon.
        given: what the command line says of the server, by option name; None where it says nothing.

    Raises:
        Unusable: they differ.
    """
    if status.server is None:
        return
    where = status.server.endpoint.partition("@")[2] or status.server.endpoint
    host, _, port = where.rpartition(":")
    theirs = {"socket": where} if where.startswith("/") else {"host": host.strip("[]"), "port": port}
    for name in ("socket", "host", "port"):
        wanted = given.get(name)
        if wanted is not None and str(wanted).strip("[]") != theirs.get(name):
            raise Unusable(
                f"--{name} {wanted} is not the server of the daemon that answers, which is {where}: leave it "
                f"out to ask that daemon, or name another daemon with --config or --state-directory"
            )


def send(where: Where, method: str, path: str, body: dict[str, Any]) -> Change:
    """Return the loop's answer to a change.

    Raises:
        CommandError: refused, not allowed, not answered, or nobody there.
    """
    return Daemon(where, configuration(where)).send(method, path, body, Change)


def show(change: Change, *, as_json: bool) -> None:
    """Print the loop's answer, and what it changed."""
    if as_json:
        say_json(change)
        return
    say(change.message)
    before, after = _described(change.old), _described(change.new)
    for name, old in before.items():
        if old != after[name]:
            say(f"  {name}: {old} → {after[name]}")


def _described(state: State) -> dict[str, str]:
    left = state.override_seconds_left
    return {
        "mode": state.mode.value,
        "holds": ", ".join(code.value for code in state.holds) or "none",
        "target": pair_named(state.target),
        "override": "none" if left is None else f"{left:.0f} s left",
        "drain": "none" if state.drain_target is None else f"to {said(state.drain_target)}",
        "settings": ", ".join(f"{name} {value:.10g}" for name, value in sorted((state.overlay or {}).items()))
        or "the file's",
    }


def pair_named(pair: Capacity | None) -> str:
    """Return a pair as people read it."""
    return "unknown" if pair is None else f"C {pair.io_capacity}, M {pair.io_capacity_max}"
