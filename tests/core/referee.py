"""Books of its own about writes, permits and originals, kept beside the loop's: every breach is called."""

from __future__ import annotations

from tests.bench import FakeServer
from tests.core.audits import ClockAudit, OccurrenceAudit, PaceAudit, within_bounds
from tests.factory import FACTS
from tuner.core.ownership import foreign
from tuner.core.state import State
from tuner.core.writes.plan import MOST_RATIO
from tuner.records import (
    Capacity,
    Command,
    Decision,
    DecisionKind,
    HoldCode,
    Lifecycle,
    Sample,
    TickRecord,
    TrialEnd,
)
from tuner.settings import Mode, Settings

PACED = {
    DecisionKind.SET,
    DecisionKind.EMERGENCY,
    DecisionKind.RELIEF,
    DecisionKind.OVERRIDE,
    DecisionKind.DRAIN,
    DecisionKind.TRIAL,
}
"""What a hold, a stop or missing originals must keep from writing."""

NEVER_PARKED = {
    HoldCode.FOREIGN_CHANGE,
    HoldCode.RESTARTED,
    HoldCode.NOT_WRITER,
    HoldCode.PRIVILEGE_LOST,
}
PARKED = {HoldCode.PAUSED, HoldCode.INERT, HoldCode.RESIZING, HoldCode.MODEL_MISMATCH}

PERMITS = {"park": "asked", "stop": "stopping", "resume": ""}
"""Why a park may be written after a command."""


class Referee:
    """Books of its own about writes, permits and originals; ``judge`` calls every breach.

    Attributes:
        saved: the originals in force are on disk.
        permit: why a park may be written once; empty for no reason.
        restoring: a person asked for the originals.
        override_ends: until when a person's value holds.
        drain_ends: until when a person wants the age kept low.
        trial: a person's is under way; None before the first.
        pacing: audit of every write on this server, and what it uses up.
        kept: by server, whether its originals were on disk when another one answered.
        role_owed: the server's role changed, and no park was made for that yet.
        beside: audit of what goes on in the server beside its load.
        time: audit of the clocks.
        tampered: the pair that the loop should believe in force, after somebody else changed it.
    """

    def __init__(self, *, saved: bool) -> None:
        self.saved, self.taken = saved, saved
        self.permit = ""
        self.restoring = False
        self.override_ends = self.drain_ends = float("-inf")
        self.trial: bool | None = None
        self.pacing = PaceAudit()
        self.tampered: Capacity | None = None
        self.role_owed = False
        self.beside = OccurrenceAudit()
        self.time = ClockAudit()
        self.codes: set[HoldCode] = set()
        self.last: Sample | None = None
        self.kept: dict[str, bool] = {}

    def judge(self, before: State, record: TickRecord, after: State, *, ours: bool) -> None:
        """Compare one tick's decision with the invariants."""
        tick, decision = record.tick, record.decision
        reading = tick.reading if isinstance(tick.reading, Sample) else None
        assert [answer.number for answer in record.acknowledgements] == [one.number for one in tick.commands]
        assert decision.reason
        codes = {event.code for event in record.events}
        self._hear(before, record)
        self._trusted(record, reading)
        if codes & {"restarted", "other_server"}:
            self._call_off()
            self._call_off_drain()
            self.permit, self.tampered = "", None
            if "other_server" in codes and reading is not None:
                self._moved(reading, after)
                self.pacing = PaceAudit()
            else:
                self.saved = self.taken = False
        if "originals" in codes:
            self.taken, self.saved = True, False
        if "foreign_change" in codes:
            self.permit = ""
            self._call_off()
            self._call_off_drain()
        self.role_owed = self.role_owed or "role" in codes
        if reading is not None and record.estimate is not None:
            within_bounds(reading, record.estimate, after)
        self._follow_holds(before, record, codes)
        self._yielded(record, reading, codes)
        self.beside.judge(before, record, after)
        self.time.judge(record, after)
        if decision.steps:
            assert reading is not None, "5: a write without a reading"
            self._may(before, record, after, reading, ours=ours)
            self._where(decision, reading.capacity, after.settings)
            self.pacing.note(decision, reading, tick.now)
        else:
            assert decision.kind is DecisionKind.KEEP
        if decision.reason in {"park", "restored"} and not after.park_owed:
            self.permit = ""
        if decision.reason == "restored" or decision.kind is DecisionKind.EMERGENCY:
            self._call_off()
        if "baseline_trial_ended" in codes:
            self._trial_ended(after)
        self.last = reading or self.last

    def _trial_ended(self, after: State) -> None:
        """Note that a trial is over; an emergency may have it go to the originals, where they are safer."""
        self.trial, result = False, after.proof.result
        if result is not None and result.end is TrialEnd.EMERGENCY and after.restoring:
            self.restoring = True

    def _moved(self, reading: Sample, after: State) -> None:
        """Begin the books of another server; one that was here before may bring its originals along."""
        if self.last is not None:
            self.kept[self.last.identity] = self.saved
        again = after.originals is not None and after.originals.saved
        assert not again or self.kept.get(reading.identity), "7: originals of a server never seen"
        self.saved = self.taken = again

    def _trusted(self, record: TickRecord, reading: Sample | None) -> None:
        """See that nothing is estimated across a reading that went back or came from elsewhere."""
        last = self.last
        if reading is None or last is None:
            assert record.estimate is None, "5: an estimate from one reading"
        elif (
            reading.identity != last.identity
            or reading.lsn_current < last.lsn_current
            or reading.uptime < last.uptime
            or reading.degraded != last.degraded
        ):
            assert record.estimate is None, "5: an estimate across a reversed counter"

    def _call_off(self) -> None:
        """Note that an override and a restore are over."""
        self.restoring, self.override_ends = False, float("-inf")

    def _call_off_drain(self) -> None:
        """Note that a drain is over; an emergency ends none."""
        self.drain_ends = float("-inf")

    def _hear(self, before: State, record: TickRecord) -> None:
        """Note what the commands of this tick permit and what they end."""
        active = before.mode is Mode.ACTIVE
        for one, answer in zip(record.tick.commands, record.acknowledgements, strict=True):
            if one.name == "originals_saved":
                self.saved = self.taken
            if not answer.accepted:
                continue
            leaving = active and _asks_for(one, Mode.ADVISORY)
            if leaving or one.name in {"pause", "park", "stop", "override", "restore", "drain"}:
                self._call_off()
            if leaving or one.name in {"pause", "park", "stop", "override", "restore", "resume"}:
                self._call_off_drain()
            self.permit = "leaving" if leaving else PERMITS.get(one.name, self.permit)
            if not active and _asks_for(one, Mode.ACTIVE):
                self.tampered = None
            self._note(one, record.tick.now)
            active = not leaving and (active or _asks_for(one, Mode.ACTIVE))

    def _note(self, one: Command, now: float) -> None:
        """Note what a command that was accepted begins."""
        if one.name == "restore":
            self.restoring = True
        elif one.name == "override" and one.ttl is not None:
            self.override_ends = now + one.ttl
        elif one.name == "drain" and one.ttl is not None:
            self.drain_ends = now + one.ttl
        elif one.name in {"trial", "stop_trial"}:
            self.trial = one.name == "trial"
        elif one.name == "cancel_override":
            self.override_ends = float("-inf")
        elif one.name == "cancel_drain":
            self._call_off_drain()
        elif one.name == "resume":
            self.tampered = None
            self.codes -= {HoldCode.FOREIGN_CHANGE, HoldCode.PAUSED}

    def _follow_holds(self, before: State, record: TickRecord, codes: set[str]) -> None:
        """Note which holds were entered; a foreign change waits for a person, or a baseline for its time."""
        now = {hold.code for hold in record.holds}
        if "baseline" in codes:
            assert before.latches.foreign is not None
            assert record.tick.now - before.latches.foreign.since >= foreign.COOLDOWN_SECONDS
        elif not codes & {"restarted", "other_server"}:
            kept = self.codes & {HoldCode.FOREIGN_CHANGE}
            assert kept <= now, "6: a foreign change was forgotten without a person"
        entered = (now - self.codes) & PARKED
        if (entered or (HoldCode.STALE in self.codes - now)) and record.mode is Mode.ACTIVE:
            self.permit = self.permit or "entry"
        self.codes = now

    def _yielded(self, record: TickRecord, reading: Sample | None, codes: set[str]) -> None:
        """See that a change by somebody else was noticed at the first reading that shows it."""
        if reading is None or self.tampered is None:
            return
        if reading.capacity != self.tampered and record.mode is Mode.ACTIVE:
            assert "foreign_change" in codes, "6: a foreign change went unnoticed"
            assert HoldCode.FOREIGN_CHANGE in self.codes
        self.tampered = None

    def _may(self, before: State, record: TickRecord, after: State, reading: Sample, *, ours: bool) -> None:
        """See that this kind of write was permitted now."""
        kind, now = record.decision.kind, record.tick.now
        assert self.saved, "7: a write before the originals were on disk"
        raised = kind is DecisionKind.EMERGENCY and reading.stranger
        assert reading.writer or raised, "10: a write beside another writer"
        barred = reading.read_only or reading.super_read_only
        assert not barred or after.settings.allow_read_only_writes, "4: a read-only server, without consent"
        if kind in PACED:
            assert record.mode is Mode.ACTIVE, "4: a write in advisory mode"
            beside = {HoldCode.NOT_WRITER} if raised else set()
            assert {hold.code for hold in record.holds} <= beside, "4: a write under a hold"
            assert record.lifecycle is not Lifecycle.STOPPING, "8: a write that nobody will follow up"
            assert record.estimate is not None, "5: a decision without an estimate"
        if kind in {DecisionKind.SET, DecisionKind.DRAIN}:
            self.pacing.judge(record.decision, reading, after.settings, now)
            scheduled = any(one.drain and not one.drain_off for one in record.schedule)
            assert kind is DecisionKind.SET or scheduled or now < self.drain_ends, "a drain outlived its time"
        elif kind is DecisionKind.EMERGENCY:
            target = record.decision.target
            assert target is not None
            assert target.io_capacity_max >= reading.io_capacity_max, "an emergency never lowers M"
            assert target.gain > reading.capacity.gain, "an emergency raises"
        elif kind is DecisionKind.RELIEF:
            self.pacing.relieves(record.decision, reading, after.settings, now)
        elif kind is DecisionKind.OVERRIDE:
            assert now < self.override_ends, "an override outlived its time"
        elif kind in {DecisionKind.RESTORE, DecisionKind.TRIAL}:
            self._originals_may_come(record, after)
        elif kind is DecisionKind.PARK:
            self._permitted(record.decision)
            if self.permit != "asked":
                assert ours, "4: a park on values that are not our own"
                assert not self.codes & NEVER_PARKED, "4: a park on entering a hold that never parks"
            if record.mode is Mode.ADVISORY:
                assert self.permit in {"leaving", "stopping"}, "4: a write in advisory mode"
                assert before.mode is Mode.ACTIVE or before.park_owed

    def _originals_may_come(self, record: TickRecord, after: State) -> None:
        """See that somebody asked for the originals: by a restore, or by a trial, which is under way."""
        assert record.mode is Mode.ACTIVE
        if record.decision.kind is DecisionKind.RESTORE:
            assert self.restoring, "4: a restore that nobody asked for"
            return
        assert self.trial is not None, "4: a trial that nobody asked for"
        back = after.proof.result is None or record.decision.target != after.proof.result.baseline
        assert self.trial or back, "4: a trial that is over goes to the originals"

    def _permitted(self, decision: Decision) -> None:
        """See that something permits a park; a change of role does so once."""
        if decision.detail.startswith("role change "):
            assert self.role_owed, "a role change parks at most once"
            self.role_owed = False
        else:
            assert self.permit, "4: a park that nothing permits"

    def _where(self, decision: Decision, old: Capacity, chosen: Settings) -> None:
        """See that every SET keeps C and M legal, inside the limits, and the gain between old and new."""
        target = decision.target
        assert target is not None
        server = FakeServer(old)
        low, high = sorted((old.gain, target.gain))
        for name, value in decision.steps:
            server.apply(((name, value),), target)
            pair = server.capacity
            assert value in {pair.io_capacity, pair.io_capacity_max}, "1: the server would clamp it"
            assert low <= pair.gain <= high, "2: the gain leaves the way from old to new"
        assert server.capacity == target
        if decision.kind is DecisionKind.RESTORE:
            return
        assert chosen.min_io_capacity_max <= target.io_capacity_max <= chosen.max_io_capacity_max, "1: limits"
        if decision.kind is DecisionKind.TRIAL:
            return
        ratio = chosen.ratio or target.io_capacity_max // target.io_capacity
        assert target.io_capacity_max == ratio * target.io_capacity, "2: a whole ratio"
        assert ratio <= MOST_RATIO, "2: a ratio of twenty at most"
        assert target.io_capacity >= FACTS.capacity_minimum, "1: the server's minimum"


def _asks_for(one: Command, mode: Mode) -> bool:
    """Tell whether a command asks for this mode."""
    if one.name == "settings":
        return one.settings is not None and one.settings.mode is mode
    return one.name == "mode" and one.value == mode.value
