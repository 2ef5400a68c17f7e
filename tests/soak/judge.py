"""Whether what a daemon wrote kept the published invariants, judged from its journal alone.

Shares no rule with the loop that it judges: limits, whole ratios, paces and permits are written down a second
time here, from the text of the invariants.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tuner.core.snapshot import decode_state
from tuner.journal.tables import Run
from tuner.records import Capacity, Command, DecisionKind, Estimate, HoldCode, Lifecycle, Sample, TickRecord
from tuner.settings import Mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuner.journal.tables import Snapshot
    from tuner.records import Facts
    from tuner.settings import Settings


HOUR = 3600.0
C_NAME, M_NAME = "innodb_io_capacity", "innodb_io_capacity_max"
PACED = {DecisionKind.SET, DecisionKind.DRAIN}
COUNTED = PACED | {DecisionKind.EMERGENCY}
EMERGENCY_SPACING = 2.0
MOST_RATIO = 20


class Pace:
    """When was written so far in one run, and whether the next write keeps the pace."""

    def __init__(self) -> None:
        self._writes: list[tuple[float, DecisionKind]] = []

    def note(self, kind: DecisionKind, now: float) -> None:
        """Take a write in; ``now`` is monotonic seconds."""
        self._writes.append((now, kind))

    def faults(
        self, kind: DecisionKind, now: float, old: Capacity, new: Capacity, settings: Settings
    ) -> Iterator[str]:
        """Yield how a write at ``now`` breaks dwell, budget or step limit; parks and persons are exempt."""
        before = [at for at, other in self._writes if other is not DecisionKind.PARK]
        since = now - before[-1] if before else HOUR
        m_old, m_new = old.io_capacity_max, new.io_capacity_max
        if kind is DecisionKind.EMERGENCY:
            if m_new <= m_old:
                yield f"an emergency from M {m_old} to {m_new} is no raise"
            if since < EMERGENCY_SPACING:
                yield f"an emergency {since:.1f} s after the last write"
        if kind not in PACED:
            return
        if since < settings.dwell_seconds:
            yield f"{since:.1f} s after the last write; the dwell is {settings.dwell_seconds:.0f} s"
        lately = sum(1 for at, other in self._writes if other in COUNTED and now - at < HOUR)
        if lately >= settings.max_changes_per_hour:
            yield f"{lately + 1} changes within an hour; {settings.max_changes_per_hour} are allowed"
        ratio = settings.ratio or MOST_RATIO
        slack = ratio / 2.0  # rounding to a whole ratio
        low, high = m_old / settings.step_factor - slack, m_old * settings.step_factor + slack
        back = settings.max_io_capacity_max - ratio <= m_new < m_old
        back = back or m_old < m_new <= settings.min_io_capacity_max + ratio
        if not back and not low <= m_new <= high:
            yield f"M {m_old} → {m_new} is more than the step factor {settings.step_factor}"


def way_faults(old: Capacity, new: Capacity, steps: tuple[tuple[str, int], ...]) -> Iterator[tuple[int, str]]:
    """Yield which invariant each SET on the way from ``old`` to ``new`` breaks, with words."""
    low, high = sorted((_gain(old), _gain(new)))
    pair = old
    for name, value in steps:
        if name == C_NAME:
            pair = Capacity(value, pair.io_capacity_max)
        elif name == M_NAME:
            pair = Capacity(pair.io_capacity, value)
        else:
            yield 11, f"{name} is not on the list of what may be written"
            continue
        if pair.io_capacity > pair.io_capacity_max:
            yield 1, f"{name} = {value} puts C above M: the server would clamp it"
        elif pair != new and not low <= _gain(pair) <= high:
            yield 2, f"{name} = {value} takes the gain to {_gain(pair)}, outside {low} to {high}"
    if pair != new:
        yield 2, f"the SETs end at {pair}, not at the target"


def end_faults(new: Capacity, settings: Settings, facts: Facts) -> Iterator[tuple[int, str]]:
    """Yield which invariant a pair breaks that is not somebody's original."""
    ratio = settings.ratio or new.io_capacity_max // new.io_capacity
    if new.io_capacity_max != ratio * new.io_capacity:
        yield 2, f"{new} is not the whole ratio {ratio}"
    if ratio > MOST_RATIO:
        yield 2, f"{new} has C far below M, more than {MOST_RATIO} times"
    if not settings.min_io_capacity_max <= new.io_capacity_max <= settings.max_io_capacity_max:
        yield 1, f"M = {new.io_capacity_max} is outside the configured limits"
    if not facts.capacity_minimum <= new.io_capacity <= new.io_capacity_max <= facts.capacity_maximum:
        yield 1, f"{new} is outside the server's own limits"


def _gain(pair: Capacity) -> int:
    """Return K = C * floor(M / C), what the server's flush law multiplies by."""
    return pair.io_capacity * (pair.io_capacity_max // max(1, pair.io_capacity))


ASKED_FOR = {DecisionKind.PARK, DecisionKind.RESTORE}
"""Kinds that a hold does not forbid by itself."""

NOT_PARKED = {
    HoldCode.FOREIGN_CHANGE,
    HoldCode.RESTARTED,
    HoldCode.PRIVILEGE_LOST,
    HoldCode.NOT_WRITER,
}
"""Holds under which nothing but a person's word lets a park through."""

ANEW = {"restarted", "other_server"}
"""Events after which what was believed before says nothing."""


class Breach(NamedTuple):
    """One invariant broken.

    Attributes:
        invariant: its number on the published list.
        run: number of the daemon's run in its journal.
        tick: number of the tick.
        wall: when, Unix time.
        what: in words.
    """

    invariant: int
    run: int
    tick: int
    wall: float
    what: str


def judge(items: Iterable[Run | Snapshot | TickRecord]) -> list[Breach]:
    """Return every breach in one run's trace: its start, then its ticks; gaps are what a crash lost."""
    books: _Books | None = None
    found: list[Breach] = []
    for item in items:
        if isinstance(item, Run):
            books = _Books(item)
        elif isinstance(item, TickRecord) and books is not None:
            found += [
                Breach(number, books.run.number, item.tick.number, item.tick.wall, what)
                for number, what in books.judge(item)
            ]
    return found


Fault = tuple[int, str]


class _Books:
    """What one run has shown so far."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.settings = run.settings
        self.saved = _saved(run)
        self.pace = Pace()
        self.believed: Capacity | None = None
        self.last: Sample | None = None
        self.codes: frozenset[HoldCode] = frozenset()
        self.asked: set[str] = set()
        self.parked_in: frozenset[HoldCode] | None = None
        self.number = run.tick

    def judge(self, record: TickRecord) -> Iterator[Fault]:
        """Yield what one tick broke, then take it in."""
        tick, decision = record.tick, record.decision
        if tick.number != self.number + 1:
            self.believed, self.last, self.parked_in = None, None, None
            self.codes = frozenset(hold.code for hold in record.holds)
        self.number = tick.number
        self._hear(record)
        events = {event.code for event in record.events}
        codes = frozenset(hold.code for hold in record.holds)
        sample = tick.reading if isinstance(tick.reading, Sample) else None
        if events & ANEW:
            self.believed, self.last = None, None
            self.saved = None if "other_server" in events else False
        if "originals" in events:
            self.saved = False
        if any(one.name == "originals_saved" for one in _accepted(record)):
            self.saved = True
        if tick.receipt is not None:
            self.believed = tick.receipt.in_force
        yield from self._trusted(record, sample)
        yield from self._yielded(record, sample, events, codes)
        if codes != self.codes:
            self.parked_in = None
        if decision.steps:
            yield from self._written(record, sample, codes)
        self.codes = codes
        self.last = sample or self.last
        if sample is not None:
            self.believed = None if decision.steps else sample.capacity

    def _hear(self, record: TickRecord) -> None:
        """Note what a person or a signal asked for."""
        for command in _accepted(record):
            self.asked.add(command.name)
            self.parked_in = None
            if command.name == "resume":
                self.asked.discard("park")
            if command.settings is not None:
                self.settings = command.settings
                if command.settings.mode is Mode.ADVISORY:
                    self.asked.add("leave")
            if command.name == "mode" and command.value == Mode.ADVISORY.value:
                self.asked.add("leave")

    def _trusted(self, record: TickRecord, sample: Sample | None) -> Iterator[Fault]:
        """See that nothing is decided on a reading that is missing, not finite, or went back."""
        estimate = record.estimate
        if estimate is not None and sample is not None:
            if not _finite(estimate):
                yield 5, "an estimate that is not finite"
            last = self.last
            if last is not None and (sample.lsn_current < last.lsn_current or sample.uptime < last.uptime):
                yield 5, "an estimate across a counter that went back"
        if record.decision.steps and sample is None:
            yield 5, "a write without a reading"
        if record.decision.steps and HoldCode.STALE in {hold.code for hold in record.holds}:
            yield 5, "a write on a stale reading"

    def _yielded(
        self, record: TickRecord, sample: Sample | None, events: set[str], codes: frozenset[HoldCode]
    ) -> Iterator[Fault]:
        """See that somebody else's change is noticed at once, and forgotten only for a reason."""
        if sample is not None and self.believed is not None and record.mode is Mode.ACTIVE:
            changed = sample.capacity != self.believed
            if changed and HoldCode.FOREIGN_CHANGE not in codes:
                yield 6, f"C/M were {self.believed}, are {sample.capacity}, and nobody yielded"
        gone = HoldCode.FOREIGN_CHANGE in self.codes - codes
        resumed = any(command.name == "resume" for command in _accepted(record))
        if gone and not resumed and not events & (ANEW | {"baseline"}):
            yield 6, "a foreign change was forgotten without a person or a declared baseline"

    def _written(
        self, record: TickRecord, sample: Sample | None, codes: frozenset[HoldCode]
    ) -> Iterator[Fault]:
        """See that this write was permitted, and where it led."""
        decision, now = record.decision, record.tick.now
        kind, target = decision.kind, decision.target
        if sample is None or target is None:
            yield 5, "a write that leads nowhere"
            return
        if self.saved is False:
            yield 7, "a write before the originals were on disk"
        if not sample.writer:
            yield 10, "a write beside another writer"
        yield from self._permitted(record, codes)
        yield from self._left(record, codes)
        yield from way_faults(sample.capacity, target, decision.steps)
        if kind is not DecisionKind.RESTORE:
            yield from end_faults(target, self.settings, self.run.facts)
        for what in self.pace.faults(kind, now, sample.capacity, target, self.settings):
            yield 3, what
        self.pace.note(kind, now)

    def _permitted(self, record: TickRecord, codes: frozenset[HoldCode]) -> Iterator[Fault]:
        """See that the loop decides by itself only in active mode, without a hold, and while it goes on."""
        kind = record.decision.kind
        if kind in ASKED_FOR:
            return
        if record.mode is not Mode.ACTIVE:
            yield 4, f"{kind.value} in advisory mode"
        if codes:
            yield 4, f"{kind.value} under {', '.join(sorted(codes))}"
        if record.estimate is None:
            yield 5, f"{kind.value} without an estimate"
        if record.lifecycle is Lifecycle.STOPPING:
            yield 8, f"{kind.value} while stopping, which nobody will follow up"

    def _left(self, record: TickRecord, codes: frozenset[HoldCode]) -> Iterator[Fault]:
        """See that a park or a restore was due."""
        kind = record.decision.kind
        if kind is DecisionKind.RESTORE and "restore" not in self.asked:
            yield 4, "a restore that nobody asked for"
        if kind is not DecisionKind.PARK:
            return
        if record.mode is Mode.ADVISORY and not self.asked & {"leave", "stop"}:
            yield 4, "a park in advisory mode"
        if codes & NOT_PARKED and not self.asked & {"park"}:
            yield 4, f"a park under {', '.join(sorted(codes & NOT_PARKED))}"
        if self.parked_in == codes and codes:
            yield 4, "a second park under the same hold"
        self.parked_in = codes
        self.asked.discard("park")


def _accepted(record: TickRecord) -> Iterator[Command]:
    """Yield the commands that were accepted in a tick."""
    for command, answer in zip(record.tick.commands, record.acknowledgements, strict=False):
        if answer.accepted:
            yield command


def _saved(run: Run) -> bool | None:
    """Return whether the originals were on disk when a run began; None where its state was lost."""
    if not run.state:
        return None
    try:
        originals = decode_state(run.state).originals
    except msgspec.MsgspecError:
        return None
    return False if originals is None else originals.saved


def _finite(estimate: Estimate) -> bool:
    values = (getattr(estimate, name) for name in estimate.__struct_fields__)
    return all(math.isfinite(value) for value in values if isinstance(value, float))
