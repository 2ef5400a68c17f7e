"""What else goes on in a server: told from consecutive readings, said, and kept out of what is learned.

An occurrence is no hold. Rates, ages and the ledger go on, so that the loop goes on; what the load is
like, and what the device keeps up, is not learned from a server that is busy with something else.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimate.window import RATE_SECONDS
from tuner.records import Event, Sample

CALM_SECONDS = 30.0
"""A counter at rest for so long ends its occurrence; learning goes on so long after the last one's end."""

WARM_UP_SECONDS = 300.0  # Uptime below which a mysqld whose restart was seen is warming up

HABIT_SECONDS = 600.0
"""Statements that keep learning out for so long are the load's habit, until they rest for as long."""


class Occurrence(StrEnum):
    """What can go on beside the load."""

    BACKUP_LOCK = "backup_lock"
    READ_LOCK = "read_lock"
    CLONE = "clone"
    DDL = "ddl"
    DROP = "drop"
    UNDO_TRUNCATION = "undo_truncation"
    WARM_UP = "warm_up"
    RESIZING = "resizing"


MEANING = {
    Occurrence.BACKUP_LOCK: "somebody holds LOCK INSTANCE FOR BACKUP, so a backup is probably running",
    Occurrence.READ_LOCK: "somebody holds FLUSH TABLES WITH READ LOCK, so nobody can write",
    Occurrence.CLONE: "a clone is under way, which reads or writes all of the data",
    Occurrence.DDL: "tables are altered, indexed or optimised",
    Occurrence.DROP: "tables are dropped or truncated, whose dirty pages go unflushed",
    Occurrence.UNDO_TRUNCATION: "an undo tablespace is being truncated",
    Occurrence.WARM_UP: "mysqld has just been started, or loads the buffer pool's content of its last run",
    Occurrence.RESIZING: "a redo capacity change is under way",
}

FLAGS: dict[Occurrence, Callable[[Sample], bool]] = {
    Occurrence.BACKUP_LOCK: lambda sample: sample.backup_locked,
    Occurrence.READ_LOCK: lambda sample: sample.read_locked,
    Occurrence.CLONE: lambda sample: sample.cloning,
    Occurrence.UNDO_TRUNCATION: lambda sample: sample.undo_truncating,
    Occurrence.RESIZING: lambda sample: sample.resizing,
}
"""Shown by one reading; over at the first that does not show it."""

COUNTERS: dict[Occurrence, Callable[[Sample], int]] = {
    Occurrence.DDL: lambda sample: sample.ddl_statements,
    Occurrence.DROP: lambda sample: sample.drop_statements,
}
"""Shown by a counter that grew since the last reading; over when it has been at rest."""


class Underway(Struct, frozen=True):
    """One occurrence: its name, when it began and when it was shown last, monotonic seconds."""

    name: Occurrence
    began: float
    shown: float


class Habit(Struct, frozen=True):
    """Statements that are a part of the load: what they are, and when they were shown last."""

    name: Occurrence
    shown: float


class Occurrences(Struct, frozen=True):
    """What goes on now, and what it leaves behind; times are monotonic seconds."""

    underway: tuple[Underway, ...] = ()  # what has begun and not ended
    ended: float | None = None  # when the last one ended that nothing is learned from; None where none did
    unlocked: float | None = None  # when the last read lock ended
    busy: float | None = None  # since when statements alone have kept learning out; None where they do not
    habits: tuple[Habit, ...] = ()  # statements that do so no more
    restarted: bool = False  # a restart of mysqld was seen, and its uptime is still that of a warm-up

    @property
    def names(self) -> tuple[str, ...]:
        """Return what is under way, for the record."""
        return tuple(one.name.value for one in self.underway)

    def learns(self, at: float) -> bool:
        """Tell whether a reading at this time may be learned from."""
        return not self.underway and (self.ended is None or at - self.ended >= CALM_SECONDS)

    def silences(self, at: float) -> str:
        """Return why the rates of a reading at this time say nothing of the load; empty where they do."""
        if Occurrence.READ_LOCK in self.names:
            return MEANING[Occurrence.READ_LOCK]
        if self.unlocked is not None and at - self.unlocked < RATE_SECONDS:
            return "somebody held FLUSH TABLES WITH READ LOCK within the last ten seconds"
        return ""


def update(
    state: Occurrences, last: Sample | None, sample: Sample, *, restarted: bool
) -> tuple[Occurrences, tuple[Event, ...]]:
    """Take one reading in.

    Args:
        last: that reading; None for the first of a server.
        restarted: mysqld was restarted between the two, so that its counters began anew.

    Returns:
        The next state, and an event for each occurrence that began or ended.
    """
    at = sample.monotonic
    warming = (state.restarted or restarted) and sample.uptime < WARM_UP_SECONDS
    shown = _shown(None if restarted else last, sample, warming=warming)
    habits = tuple(
        replace(one, shown=at) if one.name in shown else one
        for one in state.habits
        if one.name in shown or at - one.shown < HABIT_SECONDS
    )
    shown -= {one.name for one in habits}
    calm = not shown and not state.underway and state.busy is None and state.learns(at)
    if calm and habits == state.habits and warming == state.restarted:
        return state, ()
    known = {one.name: one for one in state.underway}
    begun = [name for name in Occurrence if name in shown and name not in known]
    over = [one for one in state.underway if one.name not in shown and _is_over(one, at)]
    underway = tuple(
        replace(known.get(name, Underway(name, at, at)), shown=at) if name in shown else known[name]
        for name in Occurrence
        if name in shown or (name in known and known[name] not in over)
    )
    state = replace(
        state,
        underway=underway,
        ended=at if over else state.ended,
        unlocked=at if Occurrence.READ_LOCK in {one.name for one in over} else state.unlocked,
        habits=habits,
        restarted=warming,
    )
    events = [
        *(Event(code=f"end_{one.name.value}", message=f"over after {at - one.began:.0f} s") for one in over),
        *(Event(code=f"begin_{name.value}", message=f"{MEANING[name]}; {_KEPT_OUT}") for name in begun),
    ]
    state, usual = _grow_used_to(state, sample)
    return state, (*events, *usual)


_KEPT_OUT = f"nothing is learned about load and device until {CALM_SECONDS:.0f} s after its end"


def _shown(last: Sample | None, sample: Sample, *, warming: bool) -> set[Occurrence]:
    shown = {name for name, flag in FLAGS.items() if flag(sample)}
    if warming or sample.pool_loading:
        shown.add(Occurrence.WARM_UP)
    if last is not None:
        shown |= {name for name, count in COUNTERS.items() if count(sample) > count(last)}
    return shown


def _is_over(one: Underway, at: float) -> bool:
    """Tell whether one that the reading does not show is over: a flag at once, a counter when at rest."""
    return one.name not in COUNTERS or at - one.shown >= CALM_SECONDS


def _grow_used_to(state: Occurrences, sample: Sample) -> tuple[Occurrences, list[Event]]:
    """Take statements that never rest for a part of the load, which would not be learned at all otherwise."""
    at = sample.monotonic
    statements = [one for one in state.underway if one.name in COUNTERS]
    if state.learns(at):
        return replace(state, busy=None), []
    if len(statements) < len(state.underway) or state.busy is None:
        return replace(state, busy=at), []
    if not statements or at - state.busy < HABIT_SECONDS:
        return state, []
    habits = (*state.habits, *(Habit(one.name, one.shown) for one in statements))
    usual = f"it went on for {HABIT_SECONDS / 60:.0f} minutes, so it counts as part of the load now"
    events = [Event(code=f"end_{one.name.value}", message=usual) for one in statements]
    return replace(state, underway=(), ended=None, busy=None, habits=habits), events
