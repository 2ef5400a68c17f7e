"""Commands that steer a running daemon."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from api.models import Change, State, Status
from tuner.cli.answer import Unusable, say, say_json
from tuner.cli.client import DaemonClient, NoDaemon, Where, daemon_options, require_unnamed
from tuner.cli.offline import (
    park_if_crashed,
    park_without_daemon,
    restore_without_daemon,
)
from tuner.cli.options import (
    CheckpointAge,
    Duration,
    WholeNumber,
    stand_in_options,
)
from tuner.cli.waiting import last_event, until_drained, until_parked, until_restored
from tuner.cli.wording import pair_text
from tuner.records import LONGEST_TTL
from tuner.settings import Mode
from tuner.system.amounts import size

reason_option = click.option("--reason", default="", help="Why, for the record.")
wait_option = click.option("--wait", is_flag=True, help="Wait until it is done, and print how far it is.")


class Done(Struct, frozen=True):
    """What is printed as JSON once a command has waited for its end, or did it without a daemon."""

    command: str
    message: str


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


def ask(where: Where, method: str, path: str, body: dict[str, Any]) -> Change:
    """Return the loop's answer to a change.

    Raises:
        CommandError: refused, not allowed, not answered, or nobody there.
    """
    return DaemonClient(where).send(method, path, body, Change)


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
        "target": pair_text(state.target),
        "override": "none" if left is None else f"{left:.0f} s left",
        "drain": "none" if state.drain_target is None else f"to {size(state.drain_target)}",
        "settings": ", ".join(f"{name} {value:.10g}" for name, value in sorted((state.overlay or {}).items()))
        or "the file's",
    }


@click.command()
@click.argument("wanted", metavar="MODE", type=click.Choice([mode.value for mode in Mode]))
@reason_option
@daemon_options
def mode(where: Where, *, wanted: str, reason: str, as_json: bool) -> None:
    """Let the daemon write (active), or only watch (advisory).

    Leaving active mode parks. Advisory set here stays after a restart of the daemon, active does not. After a
    restore, mode active lets the daemon write again.

    Example: innobrim mode active
    """
    show(ask(where, "PUT", "/v1/mode", {"mode": wanted, "reason": reason}), as_json=as_json)


@click.command()
@reason_option
@daemon_options
def pause(where: Where, *, reason: str, as_json: bool) -> None:
    """Park, then write nothing until resumed.

    Example: innobrim pause --reason "restoring a backup"
    """
    show(ask(where, "POST", "/v1/pause", {"reason": reason}), as_json=as_json)


@click.command()
@reason_option
@daemon_options
def resume(where: Where, *, reason: str, as_json: bool) -> None:
    """End a pause, a drain, what the baseline guard decided, and every hold that waits for a person.

    Example: innobrim resume
    """
    show(ask(where, "POST", "/v1/resume", {"reason": reason}), as_json=as_json)


@click.command()
@click.option(
    "--io-capacity-max",
    metavar="N",
    type=WholeNumber(100, 4_000_000_000, " pages/s"),
    help="innodb_io_capacity_max to hold, pages/s.",
)
@click.option(
    "--ttl",
    metavar="TIME",
    type=Duration(LONGEST_TTL),
    help=f"How long, in s, m, h or d: 30s, 10m, 1h30m; at most {LONGEST_TTL // 86_400}d.",
)
@click.option("--cancel", is_flag=True, help="End the override in force.")
@reason_option
@daemon_options
def override(
    where: Where, *, io_capacity_max: int | None, ttl: float | None, cancel: bool, reason: str, as_json: bool
) -> None:
    """Keep an innodb_io_capacity_max of your own for a time.

    A value outside the configured limits is refused. In advisory mode and under a hold every value is.

    Example: innobrim override --io-capacity-max 4000 --ttl 10m
    """
    if cancel and (io_capacity_max is not None or ttl is not None):
        raise click.UsageError("--cancel goes without --io-capacity-max and --ttl")
    if not cancel and (io_capacity_max is None or ttl is None):
        raise click.UsageError("say --io-capacity-max N and --ttl TIME, or --cancel")
    if cancel:
        change = ask(where, "DELETE", "/v1/override", {"reason": reason})
    else:
        body = {"io_capacity_max": io_capacity_max, "ttl": ttl, "reason": reason}
        change = ask(where, "PUT", "/v1/override", body)
    show(change, as_json=as_json)


@click.command()
@wait_option
@reason_option
@click.option(
    "--if-crashed", is_flag=True, help="Ask no daemon; only if the last one was killed. For service managers."
)
@stand_in_options
@daemon_options
def park(where: Where, *, wait: bool, reason: str, if_crashed: bool, as_json: bool, **server: object) -> None:
    """Write a setting that is safe without a daemon; then write nothing until innobrim resume.

    In advisory mode it is refused. Where the server refuses the write, the exit code is 1; without --wait the
    command watches for three seconds. Without a daemon the command itself watches the server for some
    seconds, and parks the values that a dead daemon left in force; nothing else.

    Example: innobrim park --wait
    """
    daemon = DaemonClient(where, server)
    if if_crashed:
        _print_done("park", park_if_crashed(daemon.config, say=_say_aside), as_json=as_json)
        return
    try:
        require_meant(daemon.get("/v1/status", Status), server)
        before = last_event(daemon)
        change = daemon.send("POST", "/v1/park", {"reason": reason}, Change)
    except NoDaemon as nobody:
        require_unnamed(where, nobody)
        _print_done("park", park_without_daemon(daemon.config, nobody, say=_say_aside), as_json=as_json)
        return
    target = change.new.target
    parked = until_parked(daemon, target, after=before, wait=wait)
    done = f"parked at {pair_text(target)}; nothing is written until innobrim resume"
    unknown = f"{change.message}; not in force yet: innobrim status shows it"
    show(replace(change, message=done if parked else unknown), as_json=as_json)


@click.command()
@wait_option
@reason_option
@click.option(
    "--if-written",
    is_flag=True,
    help="Without a daemon: exit 0 also where nothing was written. For package managers.",
)
@stand_in_options
@daemon_options
def restore(
    where: Where, *, wait: bool, reason: str, if_written: bool, as_json: bool, **server: object
) -> None:
    """Go back to the original values in steps; each waits until writes are fast again.

    A daemon in advisory mode refuses it. Without a daemon the command takes the originals from the journal,
    connects itself, sets them, and waits until that is done.

    Example: innobrim restore --wait
    """
    daemon = DaemonClient(where, server)
    try:
        now = daemon.get("/v1/status", Status)
        require_meant(now, server)
        wanted = now.originals  # forgotten as soon as they are in force
        change = daemon.send("POST", "/v1/restore", {"reason": reason}, Change)
    except NoDaemon as nobody:
        require_unnamed(where, nobody)
        done = restore_without_daemon(daemon.config, nobody, say=_say_aside, if_written=if_written)
        _print_done("restore", done, as_json=as_json)
        return
    if wait:
        change = replace(change, message=until_restored(daemon, wanted))
    show(change, as_json=as_json)


_say_aside = partial(say, err=True)
"""Say what is no part of the answer."""


def _print_done(command: str, done: str, *, as_json: bool) -> None:
    if as_json:
        say_json(Done(command, done))
    else:
        say(done)


@click.command()
@click.option(
    "--to-age",
    metavar="AGE",
    type=CheckpointAge(),
    help="Uncheckpointed bytes to come down to: bytes (64M, 2G) or a share of the redo capacity (10%), which"
    " is not the flush limit that ages are percentages of; the answer names the bytes"
    " [default: lowest, the lowest that is safe].",
)
@click.option(
    "--ttl",
    metavar="TIME",
    type=Duration(LONGEST_TTL),
    help=f"How long to keep it low: 30m, 2h; at most {LONGEST_TTL // 86_400}d [default: 1h].",
)
@click.option("--cancel", is_flag=True, help="End the drain in force.")
@wait_option
@click.option(
    "--timeout",
    metavar="TIME",
    type=Duration(LONGEST_TTL),
    help="With --wait: how long to wait [default: as long as the drain lasts].",
)
@reason_option
@daemon_options
def drain(
    where: Where,
    *,
    to_age: str | None,
    ttl: float | None,
    cancel: bool,
    wait: bool,
    timeout: float | None,
    reason: str,
    as_json: bool,
) -> None:
    """Bring the uncheckpointed bytes down and keep them low for a time: before a shutdown, backup or upgrade.

    Without --to-age the target is the lowest that is safe: what the server's flush law and
    max_io_capacity_max can hold at the present load without taking all of the device. It follows the load.
    The drain ends when its time is over, with --cancel, with innobrim resume, and after a restart of mysqld;
    then the age goes back to the set-point. A target that cannot be reached is refused, and the lowest
    possible one is named. In advisory mode and under a hold a drain is refused. With --wait the exit code is
    0 once the target is reached, 1 where the drain ends or is held before, and 4 where --timeout is over
    before; the drain goes on then.

    Example: innobrim drain --wait && systemctl stop mysql
    """
    if cancel and (to_age is not None or ttl is not None or wait):
        raise click.UsageError("--cancel goes without --to-age, --ttl and --wait")
    if timeout is not None and not wait:
        raise click.UsageError("--timeout goes with --wait")
    if cancel:
        show(ask(where, "DELETE", "/v1/drain", {"reason": reason}), as_json=as_json)
        return
    given = {"to_age": to_age, "ttl": ttl, "reason": reason}
    body = {name: value for name, value in given.items() if value is not None}
    change = ask(where, "POST", "/v1/drain", body)
    if not wait:
        show(change, as_json=as_json)
        return
    say(change.message, err=True)
    _print_done("drain", until_drained(DaemonClient(where), timeout), as_json=as_json)
