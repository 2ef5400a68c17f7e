"""``innobrim redo``: what a smaller or larger redo log would bring."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import Struct

from tuner.cli.advise import watch
from tuner.cli.answer import Refused, answering, say, say_json
from tuner.cli.finding import show
from tuner.cli.options import WholeNumber, configuration, json_option, real_server, server_options
from tuner.cli.redo_table import table
from tuner.findings.devicewrites import device_writes
from tuner.findings.finding import Finding
from tuner.findings.providers import in_its_way
from tuner.findings.redo_size import redo_size
from tuner.findings.sizing import Sizing, sizing
from tuner.records import Sample
from tuner.system.clock import SystemClock


class Answer(Struct, frozen=True):
    """What the command prints as JSON."""

    sizing: Sizing
    advice: tuple[Finding, ...]


@click.command()
@server_options
@click.option(
    "--seconds", type=WholeNumber(60, 86_400), default=120, show_default=True, help="How long to watch."
)
@json_option
def redo(config_path: str | None, *, seconds: int, as_json: bool, **server_flags: object) -> None:
    """Watch a server, then say what a smaller or larger redo log would bring. Writes nothing.

    For each size from half to sixteen times today's, with an M that follows the load: pages written per row
    change, page writes and all device writes saved for the same work, commits/s gained where the device is
    the limit, how long a crash recovery and a shutdown take; and the size at which more gains nothing.
    Behind each figure is the range in which it lies in nine cases of ten. Exit 0: it was told. Exit 1: there
    was no load to tell it from, or server or redo log were not the same throughout. Exit 3: nothing answers.

    Example: innobrim redo --socket /run/mysqld/mysqld.sock --user innobrim --seconds 300
    """
    with answering(as_json=as_json):
        config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
        clock = SystemClock()
        server = real_server(config, clock)
        try:
            before = server.survey()
            watched = watch(server, clock, config, seconds)
            after = server.survey()
        finally:
            server.close()
        record, state = watched.last()
        if why := _not_as_usual(watched.samples()):
            raise Refused(why)
        found = sizing(watched.records, state, device_writes(before, after, state.facts.family))
        sample = record.tick.reading
        if found is None or not isinstance(sample, Sample):
            raise Refused("no redo was written, or no page became dirty: watch longer, at a busy hour")
        answer = Answer(
            found, tuple(in_its_way([redo_size(found, state.facts, state.settings)], state.facts))
        )
        if as_json:
            say_json(answer)
        else:
            say(*table(found, sample.capacity, state.facts))
            for finding in answer.advice:
                show(finding)


def _not_as_usual(samples: Sequence[Sample]) -> str:
    """Return why a time of watching says nothing of other sizes; empty where it does."""
    if not all(one.redo_enabled for one in samples):
        return "redo logging is disabled: ALTER INSTANCE ENABLE INNODB REDO_LOG, then ask again"
    if any(one.resizing for one in samples) or len({one.redo_capacity for one in samples}) > 1:
        return "the redo log was given another size meanwhile: ask again once that is done"
    return ""
