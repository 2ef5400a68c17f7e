"""``innobrim record``: a trace from any server, which is not touched."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from tuner.board import Board, BoardInbox
from tuner.cli.exits import FINE, NO, UNREACHABLE
from tuner.cli.fixture import record_fixture
from tuner.cli.options import configuration, fail, real_server, server_options, usage
from tuner.cli.quantities import Duration
from tuner.cli.recording import new_file, stopped_by_signals
from tuner.cli.saying import say
from tuner.cli.wording import duration
from tuner.clock import Clock, SystemClock
from tuner.config.schema import Config
from tuner.core.ages import said
from tuner.journal.tables import LOCK_SUFFIX
from tuner.printable import printable
from tuner.recorder import Recorded, Recorder, RecordError
from tuner.records import Facts, Missed, TickRecord
from tuner.servers.port import Server, ServerError, Unreachable

LONGEST = 31 * 86_400
USUAL = 600.0
"""How long, seconds, where nobody says."""

LINE_SECONDS = 15.0
"""Between two lines of progress where there is no terminal, which gets one at every reading."""

REWRITE = "\r\033[K"


@click.command()
@server_options
@click.option(
    "--for",
    "seconds",
    type=Duration(LONGEST),
    show_default="10m, or 10s with --fixture",
    help="How long to record.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the trace goes; must not exist. Default: innobrim-DATE-TIME.db in this directory.",
)
@click.option(
    "--fixture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write raw answers for a test there instead, JSON without names and addresses; must not exist.",
)
def record(
    config_path: str | None,
    *,
    seconds: float | None,
    output: Path | None,
    fixture: Path | None,
    **server_flags: object,
) -> None:
    """Record what a server does, once a second, into a file; the server is not touched.

    No variable is set, no counter is turned on, and a daemon beside it is not disturbed. Ctrl-C ends it early
    and keeps what there is. innobrim report makes a page of the file, innobrim replay compares decisions.

    With --fixture it writes down the server's raw answers instead, with names, addresses and accounts taken
    out. That is for a server that check refuses, or that docs/servers.md knows from its source alone: with
    the file a test can stand in for it. It says what was taken out, what is missing, and where to send it.

    Exit 1: no reading succeeded, or the file is not whole. Exit 3: nothing answers.

    Example: innobrim record --socket /run/mysqld/mysqld.sock --user innobrim --for 30m --output monday.db

    Example: innobrim record --socket /run/mysqld/mysqld.sock --user innobrim --fixture server.json --for 1m
    """
    config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
    if fixture is not None:
        if output is not None:
            usage("--output, --fixture: a trace or a fixture; name one of them")
        record_fixture(config, fixture, seconds=seconds)
    path = _file(output)
    clock = SystemClock()
    server = real_server(config, clock)
    try:
        facts = server.facts()
        done = _record(config, path, server, clock, facts=facts, seconds=seconds or USUAL)
    except Unreachable as error:
        fail(str(error), UNREACHABLE)
    except (ServerError, RecordError) as error:
        fail(str(error), NO)
    finally:
        server.close()
    _tell(path, done)
    sys.exit(FINE if done.readings and not done.lost else NO)


def _record(
    config: Config, path: Path, server: Server, clock: Clock, *, facts: Facts, seconds: float
) -> Recorded:
    say(
        f"recording {facts.product} at {facts.endpoint} for {duration(seconds)} "
        f"into {path}; Ctrl-C ends it and keeps what there is"
    )
    if facts.disabled_counters:
        say(
            f"InnoDB's counters are off and stay off ({len(facts.disabled_counters)} of those needed): "
            "ages are the checkpoint's, and no sync flushing is seen; docs/degraded.md"
        )
    for blocker in facts.blockers:
        say(f"this server could not be tuned: {blocker}")
    board, line = Board(), Line()
    with stopped_by_signals(board):
        try:
            return Recorder(path, server, clock).run(
                config.loop,
                facts,
                BoardInbox(board, clock),
                seconds=seconds,
                interval=config.daemon.interval,
                told=line.show,
            )
        finally:
            line.end()


class Line:
    """How it goes: one line, rewritten on a terminal, a new one now and then elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._due = time.monotonic()

    def show(self, now: TickRecord, left: float) -> None:
        """Say age, redo rate and time left."""
        if self._terminal:
            sys.stderr.write(f"{REWRITE}{printable(progress(now, left))}")
            sys.stderr.flush()
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + LINE_SECONDS
            say(progress(now, left), err=True)

    def end(self) -> None:
        """Leave the terminal's line for the next one."""
        if self._terminal:
            sys.stderr.write("\n")


def progress(now: TickRecord, left: float) -> str:
    """Return one tick as a line."""
    reading, found = now.tick.reading, now.estimate
    ending = f"{duration(left)} left"
    if isinstance(reading, Missed):
        return f"no reading: {reading.reason}  {ending}"
    age = f"checkpoint age {said(reading.checkpoint_age)} of {said(reading.stall_point)}"
    if found is None:
        return f"{age}  {ending}"
    return f"{age}  redo {said(found.redo_rate)}/s  age ratio {found.age_ratio:.2f}  {ending}"


def _file(output: Path | None) -> Path:
    """Return where the trace goes; exit 2 where it cannot go there."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = new_file("--output", output or Path(f"innobrim-{stamp}.db"), "a trace")
    if path.suffix == LOCK_SUFFIX:
        usage(f"--output {path}: {LOCK_SUFFIX} is for the file that keeps a second writer out; write .db")
    return path


def _tell(path: Path, done: Recorded) -> None:
    missed = f", {done.missed} missed ({done.why})" if done.missed else ""
    lost = f", {done.lost} lost because the disk took none" if done.lost else ""
    say(f"{done.readings} readings{missed}{lost} in {path} ({said(path.stat().st_size)})")
    say(f"make a page of it: innobrim report {path}")
