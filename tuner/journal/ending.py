"""What the last daemon left behind, as far as its journal knows: how it ended, and what it wrote."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import msgspec
from msgspec import Struct

from tuner.core.writes.plan import on_the_way
from tuner.journal.reader import last_record
from tuner.journal.readonly import ReadOnlyJournal, Rows, is_there, located, understood
from tuner.journal.tables import ENDED, LEFT, SERVER, JournalError, LeftPair, loaded
from tuner.records import Capacity, DecisionKind, Sample, TickRecord
from tuner.settings import Mode

LAST = 2
"""Writes to a server that tell what was left there."""

_PLACE = re.compile(rf"{SERVER}([0-9]{{1,18}}):([0-9]{{1,18}})")
"""Run and tick from which on a server answered."""


class Write(Struct, frozen=True):
    """A write that was noted before it was carried out, so that it may have got only half-way.

    Attributes:
        kind: what it was for.
        before: the pair in force before it; None where that is not known.
        target: the pair asked for.
    """

    kind: str
    before: Capacity | None
    target: Capacity

    @property
    def parks(self) -> bool:
        """Tell whether it was to leave a setting that is safe without a daemon."""
        return self.kind == DecisionKind.PARK.value


Writes = dict[str, tuple[Write, ...]]
"""The last writes to each server, by its identity: what was written to one says nothing of another."""


class Ending(Struct, frozen=True):
    """How the newest run ended.

    Attributes:
        orderly: it was told to stop and left behind what it was to leave; a killed one leaves no such mark.
        identity: the server that it ended beside.
        endpoint: where that was, with the account.
        active: it was in active mode.
        writes: by server, the last two writes of any run, the newest first.
        last: its last tick; None where it has none that this version can read.
        left: the pair that an orderly end of an active run left in force; None where that is not known. After
            a kill the journal may lack the newest write.
    """

    orderly: bool
    identity: str
    endpoint: str
    active: bool
    writes: Writes
    last: TickRecord | None
    left: Capacity | None


def left_after(last: TickRecord | None) -> Capacity | None:
    """Return the pair that a run leaves in force whose last tick is this one; None where it is not known.

    An advisory run writes nothing, and what others do meanwhile is not its business.
    """
    if last is None or last.mode is not Mode.ACTIVE:
        return None
    decision, reading = last.decision, last.tick.reading
    if decision.steps:
        return decision.target
    return reading.capacity if isinstance(reading, Sample) else None


def ending(state_directory: Path, writes: Writes | None = None) -> Ending | None:
    """Return how the newest run ended; None where there was no run.

    Args:
        state_directory: where the journal is.
        writes: what ``last_writes`` returned, where that was asked already.

    Raises:
        JournalError: damaged.
    """
    path = located(state_directory)
    if not is_there(path):
        return None
    with ReadOnlyJournal(path) as journal:
        runs = journal.rows("SELECT run, settings, facts FROM runs ORDER BY run DESC LIMIT 1")
        if not runs:
            return None
        run, settings, facts = runs[0]
        orderly = bool(journal.rows("SELECT 1 FROM events WHERE run = ? AND code = ? LIMIT 1", (run, ENDED)))
        moved = [identity for its, _, identity in _moves(journal) if its == run]
        ticks = journal.rows("SELECT run FROM ticks ORDER BY id DESC LIMIT 1")
        kept = journal.rows("SELECT value FROM meta WHERE name = ?", (LEFT,))
    last = _last(path) if ticks and ticks[0][0] == run else None
    with understood(path):
        mode = last.mode.value if last is not None else msgspec.json.decode(settings).get("mode")
        began = msgspec.json.decode(facts)
        return Ending(
            orderly=orderly,
            identity=moved[-1] if moved else began.get("identity", ""),
            endpoint=began.get("endpoint", ""),
            active=mode == Mode.ACTIVE.value,
            writes=last_writes(state_directory) if writes is None else writes,
            last=last,
            left=_left(kept, run, last) if orderly else None,
        )


def last_writes(state_directory: Path) -> Writes:
    """Return the last two writes to each server, the newest first; fewer where there were none.

    A run's server is the one that it began with, until another one answers at the same address. What a run
    wrote that is forgotten itself counts for none.

    Raises:
        JournalError: damaged.
    """
    path = located(state_directory)
    if not is_there(path):
        return {}
    with ReadOnlyJournal(path) as journal:
        runs = journal.rows("SELECT run, facts FROM runs")
        moves = _moves(journal)
        rows = journal.rows(
            "SELECT run, tick, kind, old_io_capacity, old_io_capacity_max, new_io_capacity, "
            "new_io_capacity_max FROM decisions WHERE written = 1 AND kind <> 'low_water' ORDER BY id DESC"
        )
    found: Writes = {}
    with understood(path):
        servers = {run: [(-1, msgspec.json.decode(facts).get("identity", ""))] for run, facts in runs}
        for run, tick, identity in moves:
            servers.get(run, []).append((tick, identity))
        for run, tick, kind, low, high, new_low, new_high in rows:
            identity = next((name for since, name in reversed(servers.get(run, [])) if since <= tick), "")
            known = found.get(identity, ())
            if identity and len(known) < LAST:
                before = None if low is None else Capacity(loaded(low), loaded(high))
                target = Capacity(loaded(new_low), loaded(new_high))
                found[identity] = (*known, Write(kind, before, target))
    return found


def _moves(journal: ReadOnlyJournal) -> list[tuple[int, int, str]]:
    """Return where another server answered, in order: run, tick, its identity; empty where that is not kept.

    A name outlives its event, where the run went on for longer than events are kept.
    """
    rows = journal.rows(
        "SELECT run, tick FROM events WHERE code = 'other_server' AND typeof(run) = typeof(tick) "
        "AND typeof(run) = 'integer'"
    )
    moves: dict[tuple[int, int], str] = dict.fromkeys(rows, "")
    for name, identity in journal.rows("SELECT name, value FROM meta WHERE name LIKE ?", (f"{SERVER}%",)):
        if place := _PLACE.fullmatch(str(name)):
            moves[int(place[1]), int(place[2])] = identity
    return [(run, tick, moves[run, tick]) for run, tick in sorted(moves)]


def left_by(writes: tuple[Write, ...]) -> tuple[Capacity, ...]:
    """Return the pairs that the last writes may have left in force; each of them is ours.

    That is whatever lies on the way of the newest, and where it began if the one before ended there.
    """
    if not writes:
        return ()
    newest = writes[0]
    if newest.before is None:
        return (newest.target,)
    left = on_the_way(newest.before, newest.target)
    began_with_ours = len(writes) > 1 and writes[1].target == newest.before
    return (newest.before, *left) if began_with_ours else left


def _left(kept: Rows, run: int, last: TickRecord | None) -> Capacity | None:
    """Return the pair that was kept at a run's orderly end; that of its last tick where none was."""
    for (value,) in kept:
        with contextlib.suppress(msgspec.MsgspecError, TypeError):
            mark = msgspec.json.decode(value, type=LeftPair)
            if mark.run == run:
                return mark.capacity
    return left_after(last)


def _last(path: Path) -> TickRecord | None:
    try:
        return last_record(path)
    except JournalError:
        return None
