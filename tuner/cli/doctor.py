"""``innobrim doctor``: the whole flushing configuration against what the server shows; writes nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Protocol

import click
from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.cli.answer import FINE, NO, Refused, answering, say, say_json
from tuner.cli.finding import show
from tuner.cli.options import WholeNumber, configuration, json_option, real_server, server_options
from tuner.findings.doctor import Examination, examine
from tuner.findings.evidence import (
    OTHER_RUN,
    Evidence,
    Surveyed,
    evidence,
    local_volumes,
    look_again,
    one_run,
)
from tuner.findings.finding import Finding
from tuner.findings.redo_growth import grow_to_line
from tuner.records import Missed, Sample
from tuner.servers.port import Server
from tuner.system.clock import Clock, SystemClock


@click.command()
@server_options
@click.option(
    "--seconds", type=WholeNumber(5, 3600), default=30, show_default=True, help="How long to watch the load."
)
@click.option(
    "--all", "everything", is_flag=True, help="Also name what is fine, and what is not known and why."
)
@json_option
def doctor(
    config_path: str | None, *, seconds: int, everything: bool, as_json: bool, **server_flags: object
) -> None:
    """Check every setting that flushing depends on, and name those that cost under this load. Writes nothing.

    A setting is named only where this server shows that it matters, so run it at a busy hour. Devices and
    file systems are checked where the server runs on this machine. The first line is the verdict. Exit 0: no
    setting costs, but something may be worth knowing. Exit 1: a setting costs, or the server could not be
    watched. Exit 3: nothing answers.

    Example: innobrim doctor --socket /run/mysqld/mysqld.sock --user innobrim
    """
    with answering(as_json=as_json):
        config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
        clock = SystemClock()
        server = real_server(config, clock)
        try:
            seen = watch(server, clock, seconds)
            goal = config.redo.goal
            line = None if goal is None else grow_to_line(server, seen.facts, seen.last, goal)
        finally:
            server.close()
    found = examine(seen)
    if line is not None and line.severity == "warning":
        found = replace(found, findings=(line, *found.findings))
    if as_json:
        say_json(
            Answer(seen.facts.product, round(seen.seconds, 1), found.findings, found.fine, found.unknown)
        )
    else:
        report(seen, found, everything=everything)
    sys.exit(NO if any(one.severity == "warning" for one in found.findings) else FINE)


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """What ``--json`` prints."""

    server: Annotated[str, Meta(description="product and version")]
    seconds: Annotated[float, Meta(description="how long it was watched")]
    findings: Annotated[
        tuple[Finding, ...], Meta(description="what costs: warnings; then what is worth knowing: info")
    ]
    fine: Annotated[tuple[str, ...], Meta(description="settings that cost nothing that was seen")]
    unknown: Annotated[Mapping[str, str], Meta(description="why a setting could not be judged")]


class Watchable(Server, Surveyed, Protocol):
    """A server that can be read and surveyed."""


def watch(
    server: Watchable, clock: Clock, seconds: float, wait: Callable[[float], object] = time.sleep
) -> Evidence:
    """Return what a server shows in so many seconds: a reading each second, and a survey at both ends.

    Raises:
        ServerError: it does not answer, or is not supported.
        Refused: fewer than two readings could be had, or not all are of one run of one server.
    """
    facts = server.facts()
    before = server.survey()
    volumes = local_volumes(before)
    say(f"watching {facts.product} for {seconds:g} s", err=True)
    samples: list[Sample] = []
    reason = ""
    until = clock.monotonic() + seconds
    while True:
        reading = server.read()
        if isinstance(reading, Missed):
            reason = reading.reason
        else:
            samples.append(reading)
        left = until - clock.monotonic()
        if left <= 0.0:
            break
        wait(min(1.0, left))
    if len(samples) < 2:  # noqa: PLR2004 - a rate needs two
        raise Refused(f"no two readings in {seconds:g} s: {reason}")
    if not one_run(samples):
        raise Refused(OTHER_RUN)
    return evidence(facts, samples, before, look_again(server, before, clock.monotonic()), volumes)


def report(seen: Evidence, found: Examination, *, everything: bool) -> None:
    """Print how many settings cost, the load seen, and each finding."""
    costs = sum(one.severity == "warning" for one in found.findings)
    told = len(found.findings) - costs
    counts = [f"{len(found.fine)} fine"]
    if told:
        counts.insert(0, f"{told} worth knowing")
    if found.unknown:
        counts.append(f"{len(found.unknown)} not known")
    hint = "" if everything else " (--all names them)"
    verdict = f"{costs} settings cost" if costs > 1 else "1 setting costs" if costs else "nothing costs"
    say(f"{verdict}; {found.looked_at} settings looked at: {', '.join(counts)}{hint}")
    say(
        f"{seen.facts.product}, {seen.seconds:.0f} s: {seen.per_second('row_changes'):.0f} row changes/s, "
        f"{seen.per_second('lsn_current') / 1e6:.2f} MB/s of redo, {seen.flushed:.0f} pages/s flushed, "
        f"age at {100 * seen.age:.0f} % of the flush limit"
    )
    for finding in found.findings:
        show(finding)
    if everything:
        for name in found.fine:
            say(f"fine      {name}")
        for name, why in found.unknown.items():
            say(f"not known {name}: {why}")
