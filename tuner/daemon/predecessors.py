"""What earlier daemons left in the journal, and the state that the next one begins with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from tuner.core.memory import Learned, Remembered, remember
from tuner.core.ownership.standing import Standing, moved, take_up
from tuner.core.state import SAME_START_SECONDS, State
from tuner.core.step import start
from tuner.journal import reader
from tuner.journal.ending import Ending, Writes, ending, last_writes, left_by
from tuner.journal.reader import Unheard
from tuner.journal.readonly import settled
from tuner.journal.tables import JournalError, Originals
from tuner.records import Capacity, Facts
from tuner.settings import Settings
from tuner.system.logs import get_logger

T = TypeVar("T")
log = get_logger("innobrim")


class Predecessors(NamedTuple):
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

    def learned_of(self, identity: str) -> Learned | None:
        """Return what was learned of a server by this name; None where that is nothing, or unreadable."""
        blob = (self.learned or {}).get(identity)
        return None if blob is None else remember(blob).learned

    def _learned_about(self, facts: Facts) -> Remembered:
        blob = next((kept for one in facts.names if (kept := (self.learned or {}).get(one))), None)
        return Remembered() if blob is None else remember(blob)


def _address(endpoint: str) -> str:
    """Return an endpoint without the account, which may change beside the same server."""
    return endpoint.rpartition("@")[2]


def learned_from_journal(directory: Path, identity: str) -> Learned | None:
    """Return what a journal has that was learned of a server; None where that is nothing, or unreadable."""
    try:
        blob = reader.learned(directory).get(identity)
    except JournalError:
        return None
    return None if blob is None else remember(blob).learned


def look(directory: Path, *, quietly: bool) -> Predecessors:
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

    def everything() -> Predecessors:
        with settled(directory) as place:
            written = read(lambda: last_writes(place))
            return Predecessors(
                read(lambda: reader.originals(place)),
                written,
                read(lambda: reader.standing(place)),
                read(lambda: reader.learned(place)),
                read(lambda: tuple(one for one in (ending(place, written or {}),) if one is not None)),
                reader.unheard(place),
            )

    return read(everything) or Predecessors(unheard=reader.unheard(directory))
