"""``innobrim drain``: a low checkpoint age before a shutdown, a backup or an upgrade."""

from __future__ import annotations

import click

from tuner.cli.errors import answering
from tuner.cli.quantities import CheckpointAge, Duration
from tuner.cli.saying import say, say_json
from tuner.cli.steer import reason_option, send, show, wait_option
from tuner.cli.waiting import until_drained
from tuner.cli.where import Where, options
from tuner.records import LONGEST_TTL

DEFAULT_TTL = "1h"


@click.command()
@click.option(
    "--to-age",
    metavar="AGE",
    type=CheckpointAge(),
    help="Checkpoint age to come down to: bytes (64MiB, 2G) or a share of the redo capacity (10%).",
)
@click.option(
    "--ttl",
    metavar="TIME",
    type=Duration(LONGEST_TTL),
    help=f"How long to keep it low: 30m, 2h; at most {LONGEST_TTL // 86_400}d [default: {DEFAULT_TTL}].",
)
@click.option("--cancel", is_flag=True, help="End the drain in force.")
@wait_option
@reason_option
@options
def drain(
    where: Where,
    *,
    to_age: str | None,
    ttl: float | None,
    cancel: bool,
    wait: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Bring the checkpoint age down, and keep it low for a time, before a shutdown, a backup or an upgrade.

    The loop goes back to its set-point by itself: when the time is over, on --cancel, on resume, and after a
    restart of mysqld. An age that cannot be reached is refused with the lowest one that can; so is any in
    advisory mode and under a hold. With --wait the exit code is 0 once the age is there, 1 where the drain
    ends or is held before.

    Example: innobrim drain --to-age 10% --wait && systemctl stop mysql
    """
    if cancel and (to_age is not None or ttl is not None or wait):
        raise click.UsageError("--cancel goes without --to-age, --ttl and --wait")
    if not cancel and to_age is None:
        raise click.UsageError("say --to-age AGE, or --cancel")
    with answering(as_json=as_json):
        if cancel:
            show(send(where, "DELETE", "/v1/drain", {"reason": reason}), as_json=as_json)
            return
        body: dict[str, object] = {"to_age": to_age, "reason": reason}
        change = send(where, "POST", "/v1/drain", body if ttl is None else body | {"ttl": ttl})
        if not wait:
            show(change, as_json=as_json)
            return
        say(change.message, err=True)
        done = until_drained(where)
        if as_json:
            say_json({"command": "drain", "message": done})
        else:
            say(done)
