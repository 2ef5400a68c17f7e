"""Commands that speak to a running daemon: status, pause, resume, override, park, restore."""

from __future__ import annotations

import click
from msgspec.structs import replace

from api.models import Change, Status
from tuner.cli.api_client import Daemon, NoDaemon
from tuner.cli.errors import answering
from tuner.cli.offline import (
    park_if_crashed,
    park_without_daemon,
    restore_without_daemon,
    status_from_journal,
)
from tuner.cli.options import stand_in_options
from tuner.cli.quantities import HIGHEST_M, LOWEST_M, Duration, PagesPerSecond
from tuner.cli.saying import say, say_json
from tuner.cli.status_table import table
from tuner.cli.steer import reason_option, require_meant, require_unnamed, send, show, wait_option
from tuner.cli.waiting import last_event, until_parked, until_restored
from tuner.cli.where import Where, configuration, options
from tuner.records import LONGEST_TTL
from tuner.settings import Mode


@click.command()
@options
def status(where: Where, *, as_json: bool) -> None:
    """Show what the loop does and why; without a daemon, its last tick from the journal.

    Example: innobrim status --json
    """
    with answering(as_json=as_json):
        config = configuration(where)
        try:
            found = Daemon(where, config).get("/v1/status", Status)
        except NoDaemon as nobody:
            require_unnamed(where, nobody)
            found = status_from_journal(config, nobody)
            say(f"warning: {nobody.message}", err=True)
        if as_json:
            say_json(found)
        else:
            print(table(found))


@click.command()
@click.argument("wanted", metavar="MODE", type=click.Choice([mode.value for mode in Mode]))
@reason_option
@options
def mode(where: Where, *, wanted: str, reason: str, as_json: bool) -> None:
    """Let the daemon write (active), or only watch (advisory).

    Leaving active mode parks. Advisory said here outlives the daemon, active does not; after a restore,
    mode active is the way back.

    Example: innobrim mode active
    """
    with answering(as_json=as_json):
        show(send(where, "PUT", "/v1/mode", {"mode": wanted, "reason": reason}), as_json=as_json)


@click.command()
@reason_option
@options
def pause(where: Where, *, reason: str, as_json: bool) -> None:
    """Park, then write nothing until resumed.

    Example: innobrim pause --reason "restoring a backup"
    """
    with answering(as_json=as_json):
        show(send(where, "POST", "/v1/pause", {"reason": reason}), as_json=as_json)


@click.command()
@reason_option
@options
def resume(where: Where, *, reason: str, as_json: bool) -> None:
    """End a pause, a drain, the baseline guard's word, and every hold that waits for a person.

    Example: innobrim resume
    """
    with answering(as_json=as_json):
        show(send(where, "POST", "/v1/resume", {"reason": reason}), as_json=as_json)


@click.command()
@click.option(
    "--io-capacity-max", metavar="N", type=PagesPerSecond(LOWEST_M, HIGHEST_M), help="M to hold, pages/s."
)
@click.option(
    "--ttl",
    metavar="TIME",
    type=Duration(LONGEST_TTL),
    help=f"How long, in s, m, h or d: 30s, 10m, 1h30m; at most {LONGEST_TTL // 86_400}d.",
)
@click.option("--cancel", is_flag=True, help="End the override in force.")
@reason_option
@options
def override(
    where: Where, *, io_capacity_max: int | None, ttl: float | None, cancel: bool, reason: str, as_json: bool
) -> None:
    """Hold an io_capacity_max of your own for a time.

    A value outside the configured limits is refused, and so is any in advisory mode and under a hold.

    Example: innobrim override --io-capacity-max 4000 --ttl 10m
    """
    if cancel and (io_capacity_max is not None or ttl is not None):
        raise click.UsageError("--cancel goes without --io-capacity-max and --ttl")
    if not cancel and (io_capacity_max is None or ttl is None):
        raise click.UsageError("say --io-capacity-max N and --ttl TIME, or --cancel")
    with answering(as_json=as_json):
        if cancel:
            change = send(where, "DELETE", "/v1/override", {"reason": reason})
        else:
            body = {"io_capacity_max": io_capacity_max, "ttl": ttl, "reason": reason}
            change = send(where, "PUT", "/v1/override", body)
        show(change, as_json=as_json)


@click.command()
@wait_option
@reason_option
@click.option(
    "--if-crashed", is_flag=True, help="Ask no daemon; only if the last one was killed. For service managers."
)
@stand_in_options
@options
def park(where: Where, *, wait: bool, reason: str, if_crashed: bool, as_json: bool, **server: object) -> None:
    """Write a setting that is safe without a daemon, then keep hands off until resumed.

    Refused in advisory mode, which writes nothing. Where the server takes no write, that is said and the
    exit code is 1; without --wait it looks for three seconds. Without a daemon this command looks for some
    seconds itself, and parks what a dead daemon left in force; nothing else.

    Example: innobrim park --wait
    """
    with answering(as_json=as_json):
        config = configuration(where, server)
        try:
            if if_crashed:
                _tell("park", park_if_crashed(config, say=_aside), as_json=as_json)
                return
            daemon = Daemon(where, config)
            require_meant(daemon.get("/v1/status", Status), server)
            before = last_event(daemon)
            change = daemon.send("POST", "/v1/park", {"reason": reason}, Change)
        except NoDaemon as nobody:
            require_unnamed(where, nobody)
            _tell("park", park_without_daemon(config, nobody, say=_aside), as_json=as_json)
            return
        target = change.new.target
        parked = until_parked(daemon, target, after=before, wait=wait)
        done = f"parked at {target}; hands off until resumed"
        unknown = f"{change.message}; not in force yet: innobrim status shows io_capacity when it is"
        show(replace(change, message=done if parked else unknown), as_json=as_json)


@click.command()
@wait_option
@reason_option
@click.option(
    "--if-written",
    is_flag=True,
    help="Without a daemon: fine as well where nothing was written. For package managers.",
)
@stand_in_options
@options
def restore(
    where: Where, *, wait: bool, reason: str, if_written: bool, as_json: bool, **server: object
) -> None:
    """Go back to the original values in steps, each when writes are no longer slow from the last one.

    A daemon in advisory mode, which writes nothing, refuses. Without a daemon the originals come from its
    journal, and a connection of this command's own puts them back; it waits until that is done.

    Example: innobrim restore --wait
    """
    with answering(as_json=as_json):
        config = configuration(where, server)
        try:
            daemon = Daemon(where, config)
            now = daemon.get("/v1/status", Status)
            require_meant(now, server)
            wanted = now.originals  # forgotten as soon as they are in force
            change = daemon.send("POST", "/v1/restore", {"reason": reason}, Change)
        except NoDaemon as nobody:
            require_unnamed(where, nobody)
            done = restore_without_daemon(config, nobody, say=_aside, if_written=if_written)
            _tell("restore", done, as_json=as_json)
            return
        if wait:
            change = replace(change, message=until_restored(where, wanted))
        show(change, as_json=as_json)


def _aside(line: str) -> None:
    """Say what is no part of the answer."""
    say(line, err=True)


def _tell(command: str, done: str, *, as_json: bool) -> None:
    """Print what a command did by itself."""
    if as_json:
        say_json({"command": command, "message": done})
    else:
        say(done)
