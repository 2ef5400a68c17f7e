"""What outlives one daemon: its journal, as the daemon uses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from tuner.core.commands.handlers import originals_name
from tuner.core.leaving.lowwater import saved_name
from tuner.core.memory import Known, Remembered, known_of, learned_of, remember
from tuner.core.ownership.standing import Standing, moved, standing_of, take_up
from tuner.core.state import SAME_START_SECONDS, State, encode_state
from tuner.core.step import start
from tuner.journal import reader
from tuner.journal.ending import Ending, Writes, ending, last_writes, left_after, left_by
from tuner.journal.reader import Unheard
from tuner.journal.readonly import settled
from tuner.journal.tables import JournalError, Originals
from tuner.journal.writer import JournalWriter
from tuner.logs import get_logger
from tuner.records import Capacity, EventCode, Facts, TickRecord
from tuner.settings import Settings

READY_SECONDS = 2.0
"""Wait for the journal at the start: a damaged one is set aside and its originals are carried over first."""

T = TypeVar("T")
log = get_logger("innobrim")


class Left(NamedTuple):
    """What earlier daemons left, of every server; None for what could not be read."""

    originals: list[Originals] | None = None
    written: Writes | None = None
    standing: dict[str, str] | None = None
    learned: dict[str, bytes] | None = None
    ended: tuple[Ending, ...] | None = None
    unheard: Unheard = Unheard()

    def originals_of(self, facts: Facts) -> Capacity | None:
        """Return the originals of an earlier run on this very start of this very server."""
        for one in self.originals or []:
            if one.identity in facts.names and abs(one.started - facts.started) <= SAME_START_SECONDS:
                return one.capacity
        return None

    def begin(self, settings: Settings, facts: Facts, *, now: float) -> State:
        """Return the state of a run that begins with what is known of a server, before its first tick."""
        originals, standing = self.originals_of(facts), self.stood(facts)
        advisory = standing is not None and standing.advisory
        remembered = self._learned_about(facts)
        state = start(
            settings,
            facts,
            originals,
            left=self.left_to(facts) if originals is not None else (),
            known=self._known_of(facts, originals) if originals is not None and not advisory else (),
            learned=remembered.learned,
            lost=remembered.lost,
        )
        state = take_up(state, standing, now=now)
        before = self._elsewhere(facts)
        return state if before is None else moved(state, before, now=now)

    def advisory_from_here(self, facts: Facts) -> Standing:
        """Return what stands for a server whose originals a person wants back."""
        standing = self.stood(facts) or Standing(facts.identity, facts.started)
        return replace(standing, advisory=True, why="restored by innobrim restore, without a daemon")

    def stood(self, facts: Facts) -> Standing | None:
        """Return what stands for a server, and that this is not known where it is not; None for nothing."""
        standing = self._standing_of(*facts.names)
        why = self.unheard.beside(*facts.names)
        if standing is None and not (self.standing or {}).keys().isdisjoint(facts.names):
            why = why or "the journal has it in a form that this version cannot read"
        if not why:
            return standing
        standing = standing or Standing(facts.identity, facts.started)
        return replace(standing, unheard=standing.unheard or why)

    def _elsewhere(self, facts: Facts) -> Standing | None:
        """Return what stands for the server that the last run ended beside; None where it is this one.

        Another address is another server by the operator's own word, and nothing to be told of.
        """
        for one in self.ended or ():
            if one.identity not in {"", *facts.names} and _address(one.endpoint) == _address(facts.endpoint):
                return self._standing_of(one.identity) or Standing(one.identity, 0.0)
        return None

    def _known_of(self, facts: Facts, originals: Capacity) -> tuple[Capacity, ...]:
        """Return the pairs of which one is in force on this start of a server where nobody changed it."""
        for one in self.ended or ():
            if one.identity in facts.names and one.left is not None:
                return (one.left, originals, *self.left_to(facts))
        return ()

    def left_to(self, facts: Facts) -> tuple[Capacity, ...]:
        """Return the pairs that earlier writes to this very server may have left in force."""
        return left_by(next((w for one in facts.names if (w := (self.written or {}).get(one))), ()))

    def _standing_of(self, *names: str) -> Standing | None:
        """Return what stands for a server, by the first of its names that is known, under its first."""
        text = next((said for one in names if (said := (self.standing or {}).get(one))), None)
        try:
            return (
                None if text is None else replace(msgspec.json.decode(text, type=Standing), identity=names[0])
            )
        except msgspec.MsgspecError:
            return None

    def _learned_about(self, facts: Facts) -> Remembered:
        blob = next((kept for one in facts.names if (kept := (self.learned or {}).get(one))), None)
        return Remembered() if blob is None else remember(blob)


def _address(endpoint: str) -> str:
    """Return an endpoint without the account, which may change beside the same server."""
    return endpoint.rpartition("@")[2]


def known_from_journal(directory: Path, identity: str) -> Known | None:
    """Return what a journal knows of a server; None where that is nothing, or cannot be read."""
    try:
        blob = reader.learned(directory).get(identity)
    except JournalError:
        return None
    learned = None if blob is None else remember(blob).learned
    return None if learned is None else known_of(learned)


def look(directory: Path, *, quietly: bool) -> Left:
    """Read what earlier daemons left in a state directory.

    Args:
        directory: the state directory.
        quietly: log nothing of what cannot be read.
    """

    def read(what: Callable[[], T]) -> T | None:
        try:
            return what()
        except (JournalError, OSError) as error:
            if not quietly:
                log.warning("the journal could not be read", reason=str(error))
            return None

    def everything() -> Left:
        with settled(directory) as place:
            written = read(lambda: last_writes(place))
            return Left(
                read(lambda: reader.originals(place)),
                written,
                read(lambda: reader.standing(place)),
                read(lambda: reader.learned(place)),
                read(lambda: tuple(one for one in (ending(place, written or {}),) if one is not None)),
                reader.unheard(place),
            )

    return read(everything) or Left(unheard=reader.unheard(directory))


class Memory:
    """The journal of one state directory: what earlier daemons left, and what this one leaves."""

    def __init__(self, directory: Path, *, keep_ticks: int) -> None:
        """Use a state directory; nothing is opened yet.

        Args:
            directory: where the journal is.
            keep_ticks: ticks that it holds.
        """
        self._directory = directory
        self._left = Left()
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
            self._left = Left(
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
        self._journal.end_run(wall, left=left_after(None if self._newest is None else self._newest[0]))

    def begin(self, settings: Settings, state: State, *, wall: float) -> None:
        """Begin a run with the state that its first tick takes; what stands for its server comes first."""
        self._keep_standing(state)
        self._journal.begin_run(
            settings=settings, facts=state.facts, state=encode_state(state), tick_number=0, wall=wall
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
                self._journal.save_originals(
                    facts.identity,
                    record.originals,
                    facts.started,
                    facts.version,
                    record.tick.wall,
                    partial(originals_saved, originals_name(facts.identity, record.originals)),
                )
            elif event.code == EventCode.RESTORED:
                self._journal.given_back(facts.identity)
        self._newest = (record, state)
        if state.gate.proven != self._proven:
            self.keep_learned(state)
        self._proven = state.gate.proven

    def keep_newest(self) -> None:
        """Keep what was learned up to the newest tick; for another thread than the loop's."""
        if self._newest is not None:
            self.keep_learned(self._newest[1])

    def known(self) -> Known | None:
        """Return what was learned up to the newest tick, for any thread; None before the first."""
        newest = self._newest
        return None if newest is None else known_of(learned_of(newest[1]))

    def snapshot(self) -> None:
        """Keep the state after the newest tick, for a replay to begin there; for another thread as well."""
        if self._newest is not None:
            record, state = self._newest
            self._journal.snapshot(record.tick.number, encode_state(state))

    def _keep_standing(self, state: State, mark_saved: Callable[[str], None] = lambda _: None) -> None:
        standing = standing_of(state)
        if standing != self._standing:
            self._standing = standing
            name = "" if standing.low_water is None else saved_name(standing.identity, standing.low_water)
            self._journal.save_standing(
                standing.identity,
                msgspec.json.encode(standing).decode(),
                partial(mark_saved, name) if name else lambda: None,
            )

    def keep_learned(self, state: State) -> None:
        """Keep what the next daemon should know about the load."""
        self._journal.save_learned(state.facts.identity, msgspec.msgpack.encode(learned_of(state)))
