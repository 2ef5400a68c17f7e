"""``innobrim redo``: what another size of the redo log would bring, and growing it while the server runs."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import Struct

from tuner.cli.advise import watch
from tuner.cli.answer import Refused, answering, say, say_json
from tuner.cli.finding import show
from tuner.cli.options import (
    Duration,
    LogSize,
    WholeNumber,
    configuration,
    json_option,
    real_server,
    refuse_given,
    server_options,
)
from tuner.cli.redo_growth import Begun, Target, begun_before, grow, must_be_asked_or_told, undo
from tuner.cli.redo_table import table
from tuner.config.schema import Config
from tuner.findings.beside import beside
from tuner.findings.devicewrites import device_writes
from tuner.findings.evidence import look_again
from tuner.findings.finding import Finding
from tuner.findings.load import LEAST_PAGES
from tuner.findings.providers import in_its_way
from tuner.findings.redo_size import redo_size
from tuner.findings.sizing import Sizing, sizing
from tuner.records import Sample
from tuner.servers.server import RealServer
from tuner.system.clock import SystemClock


class Answer(Struct, frozen=True):
    """What the command prints as JSON."""

    sizing: Sizing
    advice: tuple[Finding, ...]
    begun: Begun | None = None
    beside: str = ""


LONGEST_TIMEOUT = 86_400.0


@click.command()
@server_options
@click.option(
    "--seconds", type=WholeNumber(60, 86_400), default=120, show_default=True, help="How long to watch."
)
@click.option("--to", "wanted", type=LogSize(), metavar="SIZE", help="Grow the redo log to it, such as 2G.")
@click.option("--undo", "back", is_flag=True, help="Set back what the first --to found.")
@click.option("--yes", is_flag=True, help="With --to and --undo: do not ask.")
@click.option(
    "--timeout",
    type=Duration(LONGEST_TIMEOUT),
    default="10m",
    show_default=True,
    help="With --to and --undo: how long the server may take.",
)
@json_option
def redo(
    config_path: str | None,
    *,
    seconds: int,
    wanted: int | None,
    back: bool,
    yes: bool,
    timeout: float,
    as_json: bool,
    **server_flags: object,
) -> None:
    """Watch a server, then say what a smaller or larger redo log would bring; writes nothing but with --to.

    First it names the size to take, and how to set it. A larger one would gain nothing, or little. Then there
    is a row for each size from half to sixteen times today's, with an innodb_io_capacity_max that follows the
    load: how long the log lasts at the busiest rate, pages written per row change, page writes and device
    writes saved for the same work, commits/s gained where the device is the limit, and how long a crash
    recovery and a shutdown take. The range in brackets holds in nine cases of ten. Exit 0: done. Exit 1:
    there was no load, or server or redo log changed meanwhile. Exit 3: nothing answers.

    With --to SIZE the redo log grows to it while the server runs, after a question or with --yes. The command
    refuses where the version cannot do that safely, where the disk has no room, and where a crash recovery
    would take longer than max_recovery_seconds, for which it watches first. Until mysqld is restarted, --undo
    sets the old size again. The account must be allowed to set global variables. Exit 0: it is in force. Exit
    1: refused, with the reason, and the lines for my.cnf where only a restart does it. Exit 2: there is
    nobody to ask. Exit 3: nothing answers. Exit 4: not in force in time.

    Example: innobrim redo --socket /run/mysqld/mysqld.sock --user innobrim --seconds 300
    """
    changes = wanted is not None or back
    if wanted is not None and back:
        raise click.UsageError("--to and --undo exclude each other")
    if not changes:
        for name in ("yes", "timeout"):
            allowed = {str(one.name) for one in redo.params} - {name}
            refuse_given(click.get_current_context(), allowed, " is an option with --to and --undo alone")
    with answering(as_json=as_json):
        if changes:
            must_be_asked_or_told(yes=yes)
        config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
        server = real_server(config, SystemClock())
        try:
            if not changes:
                _foretell(server, config, seconds, as_json=as_json)
            elif back:
                undo(Target(server, config, as_json=as_json), timeout=timeout, yes=yes, as_json=as_json)
            elif wanted is not None:
                target = Target(server, config, as_json=as_json)
                grow(target, wanted, seconds=seconds, timeout=timeout, yes=yes, as_json=as_json)
        finally:
            server.close()


def _foretell(server: RealServer, config: Config, seconds: int, *, as_json: bool) -> None:
    begun = begun_before(server, config)
    before = server.survey()
    clock = SystemClock()
    watched = watch(server, clock, config, seconds)
    after = look_again(server, before, clock.monotonic())
    record, state = watched.last()
    if why := _not_as_usual(watched.samples()):
        raise Refused(why)
    found = sizing(watched.records, state, device_writes(before, after, state.facts.family))
    sample = record.tick.reading
    if found is None or not isinstance(sample, Sample):
        raise Refused(f"no load: fewer than {LEAST_PAGES:g} pages a second became dirty; ask at a busy hour")
    advice = tuple(in_its_way([redo_size(found, state.facts, state.settings)], state.facts))
    if as_json:
        say_json(Answer(found, advice, begun, beside(watched.samples())))
        return
    if who := beside(watched.samples()):
        say(who)
    for finding in advice:
        show(finding)
    say("", *table(found, sample.capacity, state.facts))


def _not_as_usual(samples: Sequence[Sample]) -> str:
    """Return why a time of watching says nothing of other sizes; empty where it does."""
    if not all(one.redo_enabled for one in samples):
        return "redo logging is disabled: ALTER INSTANCE ENABLE INNODB REDO_LOG, then ask again"
    if any(one.resizing for one in samples) or len({one.redo_capacity for one in samples}) > 1:
        return "the redo log was given another size meanwhile: ask again once that is done"
    return ""
