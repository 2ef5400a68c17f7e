"""What a daemon keeps for the next one: its journal, fed from the loop, which never waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tuner.core.commands.handlers import originals_name
from tuner.core.leaving.lowwater import saved_name
from tuner.core.memory import Learned, learned_of
from tuner.core.ownership.standing import Standing, standing_of
from tuner.core.state import State, encode_state
from tuner.core.trials.proof import progress
from tuner.daemon.predecessors import Predecessors, look
from tuner.journal.ending import left_after
from tuner.journal.items import EndItem, GivenBackItem, LearnedItem, RunItem, StandingItem
from tuner.journal.tables import Originals, Snapshot
from tuner.journal.writer import JournalWriter
from tuner.records import EventCode, Facts, TickRecord, TrialProgress
from tuner.settings import Settings
from tuner.system.logs import get_logger

READY_SECONDS = 2.0
"""Wait for the journal at the start: a damaged one is set aside and its originals are carried over first."""

log = get_logger("innobrim")


class Persistence:
    """The journal of one state directory: what earlier daemons left, and what this one leaves."""

    def __init__(self, directory: Path, *, keep_ticks: int) -> None:
        """Use a state directory; nothing is opened yet.

        Args:
            directory: where the journal is.
            keep_ticks: ticks that it holds.
        """
        self._directory = directory
        self._left = Predecessors()
        self._standing: Standing | None = None
        self._proven = ""
        self._newest: tuple[TickRecord, State] | None = None
        self._journal = JournalWriter(
            directory, keep_ticks=keep_ticks, on_error=lambda said: log.warning("journal", message=said)
        )

    def open(self) -> None:
        """Read what is there, start the writer's thread, and give it time to look after a damaged journal.

        The reading comes first: on a slow disk the writer's first commit locks readers out for long, and
        originals, or a pause, that could not be read would be as good as forgotten.
        """
        first = self._left = look(self._directory, quietly=True)
        self._journal.start()
        ready = self._journal.flush(READY_SECONDS)
        if None in first or first.unheard.why:
            again = look(self._directory, quietly=False)
            self._left = Predecessors(
                first.originals if first.originals is not None else again.originals,
                first.written if first.written is not None else again.written,
                first.standing if first.standing is not None else again.standing,
                first.learned if first.learned is not None else again.learned,
                first.ended if first.ended is not None else again.ended,
                again.unheard if ready or again.unheard.why else first.unheard,
            )

    @property
    def alive(self) -> bool:
        """Tell whether the journal's thread lives."""
        return self._journal.alive

    @property
    def trouble(self) -> str:
        """Return why the journal cannot be written just now; empty while it can."""
        return self._journal.trouble

    @property
    def written(self) -> float | None:
        """Return when the journal was written last, Unix time; None where it has not been."""
        return self._journal.written

    @property
    def lost(self) -> int:
        """Return how many ticks the journal will never have."""
        return self._journal.dropped

    def close(self, timeout: float) -> None:
        """Write what is left, for at most so many seconds."""
        self._journal.close(timeout)

    def state_at_start(self, settings: Settings, facts: Facts, *, now: float) -> State:
        """Return the state before the first tick, with what earlier daemons left."""
        return self._left.begin(settings, facts, now=now)

    def end(self, wall: float) -> None:
        """Note that this run ends in order, and which pair it leaves."""
        self._journal.put(EndItem(wall, left=left_after(None if self._newest is None else self._newest[0])))

    def begin(self, settings: Settings, state: State, *, wall: float) -> None:
        """Begin a run with the state that its first tick takes; what stands for its server comes first."""
        self._keep_standing(state)
        self._journal.put(
            RunItem(settings=settings, facts=state.facts, state=encode_state(state), tick=0, wall=wall)
        )

    def record(
        self,
        state: State,
        record: TickRecord,
        *,
        originals_saved: Callable[[str], None],
        mark_saved: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take a tick in; never blocks.

        Args:
            state: the state after it.
            record: the tick.
            originals_saved: called from another thread, with the originals' name, when those taken at
                this tick are on disk.
            mark_saved: the same of the operator's low-water mark.
        """
        self._journal.record(record)
        facts = state.facts
        self._keep_standing(state, mark_saved)
        for event in record.events:
            if event.code == EventCode.ORIGINALS and record.originals is not None:
                self._journal.put(
                    Originals(
                        facts.identity, record.originals, facts.started, facts.version, record.tick.wall
                    ),
                    partial(originals_saved, originals_name(facts.identity, record.originals)),
                )
            elif event.code == EventCode.RESTORED:
                self._journal.put(GivenBackItem(facts.identity))
        self._newest = (record, state)
        if state.gate.proven != self._proven:
            self.keep_learned(state)
        self._proven = state.gate.proven

    def keep_newest(self) -> None:
        """Keep what was learned up to the newest tick; for another thread than the loop's."""
        if self._newest is not None:
            self.keep_learned(self._newest[1])

    def learned(self) -> Learned | None:
        """Return what was learned up to the newest tick, for any thread; None before the first."""
        newest = self._newest
        return None if newest is None else learned_of(newest[1])

    def trial(self) -> TrialProgress | None:
        """Return how far a trial is, or what the last one came to, for any thread; None before the first."""
        newest = self._newest
        return None if newest is None else progress(newest[1].proof)

    def snapshot(self) -> None:
        """Keep the state after the newest tick, for a replay to begin there; for another thread as well."""
        if self._newest is not None:
            record, state = self._newest
            self._journal.put(Snapshot(record.tick.number, encode_state(state)))

    def _keep_standing(self, state: State, mark_saved: Callable[[str], None] = lambda _: None) -> None:
        standing = standing_of(state)
        if standing != self._standing:
            self._standing = standing
            name = "" if standing.low_water is None else saved_name(standing.identity, standing.low_water)
            self._journal.put(
                StandingItem(standing.identity, msgspec.json.encode(standing).decode()),
                partial(mark_saved, name) if name else lambda: None,
            )

    def keep_learned(self, state: State) -> None:
        """Keep what the next daemon should know about the load.

        A server that comes to the address while a daemon runs begins with an empty ledger: that of earlier
        runs stays until it has counted for as long.
        """
        identity, learned = state.facts.identity, learned_of(state)
        before = self._left.learned_of(identity)
        if before is not None and before.savings.seconds > learned.savings.seconds:
            learned = replace(learned, savings=before.savings, tried=learned.tried or before.tried)
        self._journal.put(LearnedItem(identity, time.time(), msgspec.msgpack.encode(learned)))
