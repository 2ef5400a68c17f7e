"""``innobrim record``: a trace, or raw answers, from any server, which is not touched."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click

from tuner.cli.answer import FINE, NO, Refused, Unusable, answering, say
from tuner.cli.options import Duration, configuration, endpoint, real_server, server_options
from tuner.cli.wording import duration
from tuner.config.schema import Config
from tuner.daemon.board import Board, BoardInbox
from tuner.findings.remedies import ENABLE
from tuner.journal.tables import LOCK_SUFFIX
from tuner.recorder import Recorded, Recorder, RecordError
from tuner.records import Command, Facts, Missed, TickRecord
from tuner.servers.detect import detect
from tuner.servers.failures import CUT_SHORT, HANGS
from tuner.servers.fixture import Fixture, FixtureRecorder, encode
from tuner.servers.port import Server, Unreachable, Unsupported
from tuner.servers.session import Session
from tuner.system.amounts import share, size
from tuner.system.clock import Clock, SystemClock

LONGEST = 31 * 86_400
USUAL = 600.0
"""How long, seconds, where nobody says."""

LINE_SECONDS = 15.0
"""Between two lines of progress."""


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

    It sets no variable, turns on no counter, and does not disturb a daemon of the same server. Ctrl-C ends it
    early and keeps what was recorded. innobrim report makes a page of the file, innobrim replay compares
    decisions.

    With --fixture it writes the server's raw answers instead, without names, addresses and accounts. That is
    for a server that check refuses, or that docs/servers.md knows only from its source: a test can then use
    the file in place of the server. It prints what was taken out, what is missing, and where to send it.

    Exit 1: no reading succeeded, or the file is not whole. Exit 3: nothing answers.

    Example: innobrim record --socket /run/mysqld/mysqld.sock --user innobrim --for 30m --output monday.db

    Example: innobrim record --socket /run/mysqld/mysqld.sock --user innobrim --fixture server.json --for 1m
    """
    config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
    if fixture is not None:
        if output is not None:
            raise Unusable("--output, --fixture: a trace or a fixture; name one of them")
        record_fixture(config, fixture, seconds=seconds)
        return
    path = _file(output)
    clock = SystemClock()
    server = real_server(config, clock)
    try:
        facts = server.facts()
        with answering(means={RecordError: Refused}):
            done = _record(config, path, server, clock, facts=facts, seconds=seconds or USUAL)
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
            "ages are the checkpoint's, and no sync flushing is seen; docs/runbook.md"
        )
    if facts.absent_counters:
        say(f"{facts.without_counters}: what innobrim record --fixture writes shows us what it has instead")
    for blocker in facts.blockers:
        say(f"this server could not be tuned: {blocker}")
    board = Board()
    with stopped_by_signals(board):
        return Recorder(path, server, clock).run(
            config.loop,
            facts,
            BoardInbox(board, clock),
            seconds=seconds,
            interval=config.daemon.interval,
            told=Progress().show,
        )


class Progress:
    """Says how it goes, a line now and then."""

    def __init__(self) -> None:
        self._due = time.monotonic()

    def show(self, now: TickRecord, left: float) -> None:
        """Say age, redo rate and time left, when it is time."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + LINE_SECONDS
            say(progress(now, left), err=True)


def progress(now: TickRecord, left: float) -> str:
    """Return one tick as a line."""
    reading, estimate = now.tick.reading, now.estimate
    ending = f"{duration(left)} left"
    if isinstance(reading, Missed):
        return f"no reading: {reading.reason}  {ending}"
    age = f"uncheckpointed {size(reading.checkpoint_age)}"
    if estimate is None:
        return f"{age}  {ending}"
    return (
        f"{age}  redo {size(estimate.redo_rate)}/s  age {share(estimate.age_ratio)} of the flush "
        f"limit  {ending}"
    )


def _file(output: Path | None) -> Path:
    """Return where the trace goes; exit 2 where it cannot go there."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = new_file("--output", output or Path(f"innobrim-{stamp}.db"), "a trace")
    if path.suffix == LOCK_SUFFIX:
        raise Unusable(
            f"--output {path}: {LOCK_SUFFIX} is for the file that keeps a second writer out; write .db"
        )
    return path


def _tell(path: Path, done: Recorded) -> None:
    missed = f", {done.missed} missed ({done.why})" if done.missed else ""
    lost = f", {done.lost} lost because the disk took none" if done.lost else ""
    say(f"{done.readings} readings{missed}{lost} in {path} ({size(path.stat().st_size)})")
    say(f"make a page of it: innobrim report {path}")


FIXTURE_USUAL = 10.0
FIXTURE_LONGEST = 600.0
"""How long, seconds, where nobody says, and at most: a reading is some kilobytes."""

INTERVAL = 1.0
"""Between two readings, seconds."""

LSN, PERCENTAGE = "log_lsn_current", "buffer_flush_pct_for_lsn"
ON = ("enabled", "1")
"""What the families call a counter that is on."""


def record_fixture(config: Config, given: Path, *, seconds: float | None) -> None:
    """Record into a new file for some seconds, and say what was taken out."""
    for_ = seconds or FIXTURE_USUAL
    if for_ > FIXTURE_LONGEST:
        raise Unusable(f"--for {duration(for_)}: with --fixture at most {duration(FIXTURE_LONGEST)}")
    path = new_file("--fixture", given, "a fixture")
    clock = SystemClock()
    session = Session(endpoint(config), clock.monotonic)
    try:
        _announce(session, path, for_)
        recorder = FixtureRecorder(session, clock)
        recorder.look()
        missed = _readings(recorder, clock, for_)
    finally:
        session.close()
    if recorder.count == 0:
        raise Refused(f"no reading succeeded, so there is no file: {missed[-1]}")
    found = recorder.fixture()
    try:
        with path.open("xb") as file:
            file.write(encode(found))
    except OSError as error:
        raise Refused(f"--fixture {path}: {error.strerror or error}") from error
    lost = f", {len(missed)} missed ({missed[-1]})" if missed else ""
    say(f"{recorder.count} readings{lost} in {path} ({size(path.stat().st_size)})")
    for name, number in found.refused.items():
        say(f"refused: {name.replace('_', ' ')} (error {number})")
    for what in found.scrubbed:
        say(f"taken out: {what}")
    kept = (found.readings[0].variables.get(name, "") for name in ("version", "version_comment"))
    say(f"left in: version and version_comment, {' and '.join(map(repr, kept))}; counts of statements")
    for what in wanting(found):
        say(f"missing: {what}")
    say("it is text: look through it before you send it; docs/guide.md#a-fixture says where to")


def _announce(session: Session, path: Path, seconds: float) -> None:
    say(
        f"recording the raw answers of {session.endpoint} for {duration(seconds)} into {path}; "
        "nothing is set; Ctrl-C ends it and keeps what there is"
    )
    try:
        facts, _adapter = detect(session)
    except Unsupported as error:
        say(f"this version does not take this server: {error}")
        return
    except Unreachable as error:
        if session.current is None:
            raise
        say(f"what it is cannot be told now: {error}")
        return
    say(f"{facts.product}: flush law {facts.flush_law}")
    for blocker in facts.blockers:
        say(f"this server could not be tuned: {blocker}")


def _readings(recorder: FixtureRecorder, clock: Clock, seconds: float) -> list[str]:
    """Take readings until the time is over or somebody ends it; return why some were missed."""
    board = Board()
    inbox = BoardInbox(board, clock)
    missed: list[str] = []
    due = clock.monotonic()
    ends = due + seconds
    with stopped_by_signals(board):
        while due < ends:
            try:
                recorder.read()
            except Unreachable as error:
                missed.append(str(error))
            due = max(due + INTERVAL, clock.monotonic())
            if inbox.take(until=min(due, ends)):
                break
    return missed


def wanting(found: Fixture) -> list[str]:
    """Return what the recording cannot show, each with what would let another one show it."""
    metrics = [reading.metrics for reading in found.readings]
    if found.refused.get("metrics") in CUT_SHORT:
        return [f"ages and flush percentages, as the look at InnoDB's counters was cut short; {HANGS}"]
    if not found.state_column or "metrics" in found.refused:
        grant = "GRANT PROCESS ON *.* lets the account see them"
        return [f"ages and flush percentages, as InnoDB's counters may not be read; {grant}"]
    if any(metrics[-1].get(name, ("", ""))[0] not in ON for name in (LSN, PERCENTAGE)):
        absent = [name for name in (LSN, PERCENTAGE) if name not in metrics[-1]]
        why = f"InnoDB's counters are off; {ENABLE} turns them on"
        if absent:
            why = f"this server has no InnoDB counter {', '.join(absent)}"
        return [f"ages and flush percentages, as {why}"]
    if metrics[0][LSN] == metrics[-1][LSN]:
        return ["load, as no redo was written; a recording at a busy time shows how the server flushes"]
    if all(reading[PERCENTAGE][1] == "0" for reading in metrics):
        heavier = "a recording at a busier time, with a longer --for, may show what it flushes by"
        return [f"flushing by age, as {PERCENTAGE} was 0 throughout; {heavier}"]
    return []


ENDED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stopped_by_signals(board: Board) -> Iterator[None]:
    """Have Ctrl-C, SIGTERM and a lost terminal end the recording instead of the program.

    A signal that whoever started this had ignored, as nohup does, stays ignored.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        board.commands.put(Command(name="stop", who=signal.Signals(number).name, value="leave"))

    heard = [number for number in ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def new_file(option: str, given: Path, what: str) -> Path:
    """Return where a recording, such as "a trace", goes; exit 2 where it cannot go there."""
    path = given.absolute()
    if path.exists():
        raise Unusable(
            f"{option} {path}: is there already; name a file that is not, for {what} is never overwritten"
        )
    if not path.parent.is_dir():
        raise Unusable(f"{option} {path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise Unusable(f"{option} {path}: this account may not write to {path.parent}")
    return path
