"""``innobrim record --fixture``: a server's raw answers, for those who cannot run that server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from tuner.board import Board, BoardInbox
from tuner.cli.exits import FINE, NO, UNREACHABLE
from tuner.cli.options import endpoint, fail, usage
from tuner.cli.recording import new_file, stopped_by_signals
from tuner.cli.saying import say
from tuner.cli.wording import duration
from tuner.clock import Clock, SystemClock
from tuner.config.schema import Config
from tuner.core.ages import said
from tuner.core.degraded import ENABLE
from tuner.servers.detect import detect
from tuner.servers.failures import CUT_SHORT, HANGS
from tuner.servers.fixture import Fixture, FixtureRecorder, encode
from tuner.servers.port import Unreachable, Unsupported
from tuner.servers.session import Session

USUAL = 10.0
LONGEST = 600.0
"""How long, seconds, where nobody says, and at most: a reading is some kilobytes."""

INTERVAL = 1.0
"""Between two readings, seconds."""

LSN, PERCENTAGE = "log_lsn_current", "buffer_flush_pct_for_lsn"
ON = ("enabled", "1")
"""What the families call a counter that is on."""


def record_fixture(config: Config, given: Path, *, seconds: float | None) -> NoReturn:
    """Record into a new file, say what was taken out, and exit.

    Args:
        config: says where the server is.
        given: the file.
        seconds: how long; the usual time where nobody said.
    """
    for_ = seconds or USUAL
    if for_ > LONGEST:
        usage(f"--for {duration(for_)}: with --fixture at most {duration(LONGEST)}")
    path = new_file("--fixture", given, "a fixture")
    clock = SystemClock()
    session = Session(endpoint(config), clock.monotonic)
    try:
        _announce(session, path, for_)
        recorder = FixtureRecorder(session, clock)
        recorder.look()
        missed = _record(recorder, clock, for_)
    except Unreachable as error:
        fail(str(error), UNREACHABLE)
    finally:
        session.close()
    if recorder.count == 0:
        fail(f"no reading succeeded, so there is no file: {missed[-1]}", NO)
    found = recorder.fixture()
    try:
        with path.open("xb") as file:
            file.write(encode(found))
    except OSError as error:
        fail(f"--fixture {path}: {error.strerror or error}", NO)
    lost = f", {len(missed)} missed ({missed[-1]})" if missed else ""
    say(f"{recorder.count} readings{lost} in {path} ({said(path.stat().st_size)})")
    for name, number in found.refused.items():
        say(f"refused: {name.replace('_', ' ')} (error {number})")
    for what in found.scrubbed:
        say(f"taken out: {what}")
    kept = (found.readings[0].variables.get(name, "") for name in ("version", "version_comment"))
    say(f"left in: version and version_comment, {' and '.join(map(repr, kept))}; counts of statements")
    for what in wanting(found):
        say(f"missing: {what}")
    say("it is text: look through it before you send it; docs/record-and-report.md says where to")
    sys.exit(FINE)


def _announce(session: Session, path: Path, seconds: float) -> None:
    """Say what begins, and what this version makes of the server."""
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


def _record(recorder: FixtureRecorder, clock: Clock, seconds: float) -> list[str]:
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
        return [f"ages and flush percentages, as InnoDB's counters are off; {ENABLE} turns them on"]
    if metrics[0][LSN] == metrics[-1][LSN]:
        return ["load, as no redo was written; a recording at a busy time shows how the server flushes"]
    if all(reading[PERCENTAGE][1] == "0" for reading in metrics):
        heavier = "a recording at a busier time, with a longer --for, may show what it flushes by"
        return [f"flushing by age, as {PERCENTAGE} was 0 throughout; {heavier}"]
    return []
