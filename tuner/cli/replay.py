"""``innobrim replay``: a recorded trace must give the same decisions again."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from tuner.cli.answer import FINE, NO, Unusable, answering, say, say_json
from tuner.cli.options import json_option
from tuner.core.state import State, decode_state
from tuner.core.step import step
from tuner.journal.reader import trace
from tuner.journal.tables import JournalError, Run, Snapshot
from tuner.records import TickRecord

COMPARED = ("kind", "target", "steps", "reason", "guards")
"""Parts of a decision that must come out the same; ``holds`` and ``would`` are compared beside them."""


class Difference(Struct, frozen=True):
    """The first tick that came out otherwise.

    Attributes:
        tick: its number.
        wall: its Unix time.
        parts: what differs.
        recorded: what stands in the journal.
        replayed: what came out now.
    """

    tick: int
    wall: float
    parts: tuple[str, ...]
    recorded: dict[str, object]
    replayed: dict[str, object]


class Outcome(Struct):
    """What a replay found.

    Attributes:
        run: number of the run in its journal.
        program: version of InnoBrim that wrote it.
        compared: ticks that came out the same.
        skipped: ticks without a state to start from: before the first snapshot, or after a gap.
        first: number of the first tick compared, 0 for none.
        last: number of the last tick compared.
        same: no difference was found.
        difference: the first difference.
    """

    run: int = 0
    program: str = ""
    compared: int = 0
    skipped: int = 0
    first: int = 0
    last: int = 0
    same: bool = True
    difference: Difference | None = None


def replay_trace(items: Iterable[Run | Snapshot | TickRecord]) -> Outcome:
    """Send one run's ticks through ``step`` again, up to the first difference.

    Args:
        items: as ``tuner.journal.reader.trace`` gives them.

    Raises:
        JournalError: a stored state is of another version.
    """
    outcome = Outcome()
    state: State | None = None
    after = 0
    for item in items:
        if isinstance(item, Run):
            outcome.run, outcome.program = item.number, item.program
            state, after = (_state(item.state) if item.state else None), item.tick
        elif isinstance(item, Snapshot):
            if state is None or item.tick != after:
                state, after = _state(item.state), item.tick
        elif state is None or item.tick.number != after + 1:
            state = None
            outcome.skipped += 1
        else:
            state, replayed = step(state, item.tick)
            after = item.tick.number
            outcome.difference = _difference(item, replayed)
            if outcome.difference is not None:
                outcome.same = False
                return outcome
            outcome.compared += 1
            outcome.first = outcome.first or after
            outcome.last = after
    return outcome


def _state(blob: bytes) -> State:
    try:
        return decode_state(blob)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise JournalError(f"a stored state is of another version: {error}") from error


def _parts(record: TickRecord) -> dict[str, object]:
    decision = record.decision
    return {
        **{name: getattr(decision, name) for name in COMPARED},
        "would": decision.would,
        "holds": tuple(hold.code.value for hold in record.holds),
    }


def _difference(recorded: TickRecord, replayed: TickRecord) -> Difference | None:
    before, now = _parts(recorded), _parts(replayed)
    parts = tuple(name for name, value in before.items() if now[name] != value)
    if not parts:
        return None
    return Difference(
        tick=recorded.tick.number,
        wall=recorded.tick.wall,
        parts=parts,
        recorded={**before, "detail": recorded.decision.detail},
        replayed={**now, "detail": replayed.decision.detail},
    )


@click.command()
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--run", type=int, help="Number of the run; default: the newest.")
@json_option
def replay(journal: Path, *, run: int | None, as_json: bool) -> None:
    """Replay a journal and compare every decision with the one that was recorded.

    JOURNAL is a journal file or a state directory; it is only read, and may be in use. Exit 0 when all
    decisions came out the same, 1 at the first difference, 2 for a file that this version cannot read.

    Example: innobrim replay /var/lib/innobrim/journal.db
    """
    with answering(as_json=as_json, means={JournalError: Unusable}):
        outcome = replay_trace(trace(journal, run))
        if not outcome.compared and outcome.same:
            raise Unusable(f"{journal}: no snapshot left to start from in run {outcome.run}")
    if as_json:
        say_json(outcome, enc_hook=str)
    else:
        say(*_lines(outcome))
    sys.exit(FINE if outcome.same else NO)


def _lines(outcome: Outcome) -> list[str]:
    skipped = f", {outcome.skipped} skipped for want of a state to start from" if outcome.skipped else ""
    whose, found = f"run {outcome.run} by InnoBrim {outcome.program}", outcome.difference
    if found is None:
        ticks = f"{outcome.compared} ticks ({outcome.first} to {outcome.last})"
        return [f"{whose}: {ticks}, every decision the same{skipped}"]
    when = datetime.fromtimestamp(found.wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    first = (
        f"{whose}: tick {found.tick} at {when} differs in "
        f"{', '.join(found.parts)} after {outcome.compared} that did not{skipped}"
    )
    lines = [first]
    for name in (*found.parts, "detail"):
        lines += [
            f"  {name}",
            f"    recorded  {found.recorded[name]}",
            f"    replayed  {found.replayed[name]}",
        ]
    return lines
