"""The referee of real runs: journals replayed, invariants called, and the server's own books beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lab.servers.base import LabServer
from tests.core.referee import Referee
from tests.faults.witness import Witness
from tests.real.installation import Innobrim
from tests.real.support import in_force
from tuner.core.state import State, decode_state
from tuner.core.step import step
from tuner.core.writes.plan import LONGEST
from tuner.journal.reader import runs, trace
from tuner.journal.tables import JournalError, Run, Snapshot
from tuner.records import Capacity, DecisionKind, Hold, Lifecycle, Sample, TickRecord


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found; a breach never gets here, it fails the test.

    Attributes:
        left: the pair in force now.
        records: every tick on disk, of all runs in order.
    """

    left: Capacity
    records: list[TickRecord]

    def events(self) -> list[str]:
        """Return the codes of all events, in order."""
        return [event.code for record in self.records for event in record.events]

    def writes(self, *kinds: DecisionKind) -> list[TickRecord]:
        """Return the ticks that wrote, of these kinds or all."""
        return [
            one for one in self.records if one.decision.steps and (not kinds or one.decision.kind in kinds)
        ]

    def held(self) -> list[str]:
        """Return the codes of all holds, each once, in order of their first tick."""
        return list(dict.fromkeys(hold.code.value for record in self.records for hold in record.holds))

    def hold(self, code: str) -> Hold:
        """Return the first hold with this code."""
        return next(hold for record in self.records for hold in record.holds if hold.code.value == code)


def judge(server: LabServer, *daemons: Innobrim) -> Verdict:
    """Judge all runs of these daemons, which have all ended, and what the server heard from them.

    Args:
        server: the one in front of which they ran; it answers.
        daemons: everyone that ran beside it since ``Witness.watch``.

    Raises:
        AssertionError: an invariant was broken; the message begins with its number.
    """
    records: list[TickRecord] = []
    cut = 0
    for daemon in daemons:
        for run in _numbers(daemon):
            found = judge_run(daemon.state, run)
            records += found
            cut += not found or found[-1].lifecycle is not Lifecycle.STOPPING
    written = Counter(step for record in records for step in record.decision.steps)
    unexplained = Witness(server).writes() - written
    assert unexplained.total() <= cut * LONGEST, f"4: the server was told what no journal has: {unexplained}"
    return Verdict(in_force(server), records)


def judge_run(directory: Path, run: int, *, since: int = 0) -> list[TickRecord]:
    """Replay one run of a journal with a referee beside it, and return its ticks.

    Args:
        directory: where the journal is.
        run: number of the run.
        since: tick of the snapshot to begin at; 0 for the run's start.

    Raises:
        AssertionError: an invariant was broken, or a recorded decision did not come out again.
    """
    state: State | None = None
    referee = Referee(saved=False)
    ours: set[Capacity] = set()
    number, found = 0, []
    for item in trace(directory, run):
        if since and state is None and not (isinstance(item, Snapshot) and item.tick == since):
            continue
        if isinstance(item, TickRecord):
            found.append(item)
            assert state is None or item.tick.number == number + 1, "ticks are missing in the journal"
            if state is None:
                continue
            receipt, reading = item.tick.receipt, item.tick.reading
            if receipt is not None and receipt.in_force is None:
                ours.add(receipt.requested)  # the line went dead: it may be in force
            elif receipt is not None and receipt.done and receipt.in_force is not None:
                ours = {receipt.in_force}
            known = isinstance(reading, Sample) and reading.capacity in ours
            after, again = step(state, item.tick)
            assert again.decision == item.decision, f"tick {item.tick.number} replays otherwise"
            referee.judge(state, item, after, ours=known)
            _read_back(item)
            state, number = after, item.tick.number
        elif (isinstance(item, Run) and item.state) or (isinstance(item, Snapshot) and state is None):
            state, number = decode_state(item.state), item.tick
            referee, ours = _referee(state), _ours(state)
    return found


def _referee(state: State) -> Referee:
    """Return a referee whose books begin with what a run, or a part of one, begins with."""
    kept = state.originals
    referee = Referee(saved=kept is not None and kept.saved)
    referee.last = state.estimator.last
    referee.codes = {hold.code for hold in state.holds}
    referee.permit = "owed" if state.park_owed else ""
    return referee


def _ours(state: State) -> set[Capacity]:
    """Return the pairs that an earlier run may have left in force."""
    own = state.writes.own
    return {*state.writes.left, *(() if own is None else (own,))}


def _read_back(record: TickRecord) -> None:
    """See that a write that went well was read back, both values, and left C at most M."""
    receipt, reading = record.tick.receipt, record.tick.reading
    if receipt is not None and not receipt.error:
        assert receipt.in_force is not None, "2: not read back"
    if isinstance(reading, Sample):
        assert reading.io_capacity <= reading.io_capacity_max, "1: C above M"


def _numbers(daemon: Innobrim) -> list[int]:
    """Return the numbers of all runs on disk; none where no journal was begun."""
    try:
        return [one.number for one in runs(daemon.state)]
    except JournalError as error:
        if "no journal" in str(error):
            return []
        raise
