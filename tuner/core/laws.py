"""Which flush law is in force, and what is known by it without InnoDB's counters.

It can change while the server runs, and not every law lets M move the age. Without the counters the age is
the checkpoint's, which is never lower than the modified age, grows by all redo that is written and jumps down
with every checkpoint. Just after one it is near the modified age: what steers by an age takes the lowest of
the time between two, what sees an emergency takes it as it is. The server's own flush percentage and what
sync flushing does are not seen.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from policies.flushlaw import FlushLaw
from policies.registry import LAWS, with_need
from tuner.core.estimate import window as readings
from tuner.core.estimate.window import Window
from tuner.core.fallback.relief import Relief
from tuner.core.fallback.unanswered import Unanswered
from tuner.core.gate import forget
from tuner.core.state import State
from tuner.records import Event, EventCode, Facts, Remedy, Sample

ASLEEP_SECONDS = 3.0
"""A page cleaner that is awake flushes once a second; one that the device holds up may take longer."""

MARGIN = 0.10  # The set-point is so much lower: the age that is seen is only as good as the last checkpoint


NOT_MOVED = "no innodb_io_capacity_max moves the age"


def law_of(state: State) -> FlushLaw:
    """Return the law in force, with what is flushed beyond its need as it was seen of late."""
    return with_need(LAWS[state.facts.flush_law], state.estimator.trends.need_share)


def why_m_moves_no_age(law: FlushLaw) -> str:
    """Return that M does not move the age, and what would let it; empty where it does."""
    return "" if law.m_moves_age else f"{NOT_MOVED} below the flush limit here: {law.remedy}"


def decide_afresh(state: State) -> State:
    """Return the state in which the policy, and what it learned of device and answers, begins afresh."""
    relief = Relief(moments=state.relief.moments)
    return replace(state, policy=None, relief=relief, unanswered=Unanswered())


def take_law(state: State, name: str) -> tuple[State, list[Event]]:
    """Go by the law that was seen; another one passes the model gate anew, and the policy begins afresh.

    Args:
        name: what was seen; empty where a reading does not say.
    """
    before = state.facts.flush_law
    if name == before or name not in LAWS:
        return state, []
    remark = why_m_moves_no_age(LAWS[name])
    drain = state.drain if not remark or state.drain is None else replace(state.drain, cancelled=remark)
    message = f"the flush law is {name} now and was {before}" + (f"; {remark}" if remark else "")
    state = replace(
        decide_afresh(state),
        facts=replace(state.facts, flush_law=name),
        gate=replace(forget(state.gate), proven=""),
        set_point=None,
        drain=drain,
        returning=None,
    )
    return state, [Event(code="flush_law", message=message)]


def settled(state: State, sample: Sample) -> Sample:
    """Return the reading without what the page cleaner asked for, where it did so long ago.

    Where no M moves the age the server mostly flushes by its soft limit, and where its page cleaner sleeps
    not at all. The counters of adaptive flushing stay as its last round left them: a device that gives none
    of that has not failed.
    """
    law = LAWS[state.facts.flush_law]
    if law.m_moves_age and not _sleeps(law, state.estimator.window, sample):
        return sample
    return replace(sample, flush_requested=0, flush_by_age=0)


def asleep(state: State) -> str:
    """Return that the page cleaner sleeps, and until when; empty where it is awake, or never sleeps."""
    law, last = LAWS[state.facts.flush_law], state.estimator.last
    return law.sleeps if last is not None and _sleeps(law, state.estimator.window[:-1], last) else ""


def catches_up(state: State) -> bool:
    """Tell whether the server flushes all that was dirty when it woke, up to M pages a second.

    Its law has no turn before it is through, so that the age on the way says nothing about M.
    """
    return bool(LAWS[state.facts.flush_law].sleeps) and readings.idled(state.estimator.window)


def slept(state: State) -> bool:
    """Tell whether it slept within the last seconds; not known without counters."""
    law, last = LAWS[state.facts.flush_law], state.estimator.last
    if not law.sleeps or last is None or last.degraded:
        return False
    return any(
        new.requested == 0 and new.flushed == old.flushed for old, new in pairwise(state.estimator.window)
    )


def _sleeps(law: FlushLaw, window: Window, sample: Sample) -> bool:
    """Tell whether the page cleaner sleeps, which the server does not say.

    It falls asleep below the low-water mark, where a reading shows that nothing is asked for, and sleeps
    until something is flushed from the flush lists. A daemon that comes later sees that nothing is, for some
    seconds.
    """
    if not law.sleeps or not window:
        return False
    flushed = readings.list_flushed(sample)
    if flushed != window[-1].flushed:
        return False
    known = window[-1].requested == 0 and not sample.degraded
    before = [point for point in window if sample.monotonic - point.at >= ASLEEP_SECONDS]
    return known or flushed == (before[-1] if before else window[0]).flushed


def tell_counters(last: Sample | None, sample: Sample, facts: Facts) -> list[Event]:
    """Return an event where the counters went off or came back."""
    before = last is not None and last.degraded
    if sample.degraded == before:
        return []
    if before:
        said = "InnoDB's counters are on again; estimates start again"
        return [Event(code=EventCode.COUNTERS_BACK, message=said)]
    said = (
        f"{facts.without_counters}: the age shown is the checkpoint age, sync flushing is not seen, "
        f"write combining is not learned, and a derived set-point is {MARGIN:.2f} lower"
    )
    return [Event(code="degraded", message=said, remedies=counters_again(facts))]


def counters_again(facts: Facts) -> tuple[Remedy, ...]:
    """Return what ends readings without InnoDB's counters: nothing here does where the server has none."""
    return (Remedy.REPORT if facts.absent_counters else Remedy.ENABLE_COUNTERS,)


def without_counters(state: State, sample: Sample) -> Sample:
    """Return the reading with its tail where the lowest age since the last checkpoint puts it."""
    if not sample.degraded:
        return sample
    since = sample.monotonic - state.facts.sawtooth_seconds
    recent = (one.checkpoint_age for one in state.estimator.window if one.at > since)
    age = min(recent, default=sample.checkpoint_age)
    return replace(sample, lsn_oldest=sample.lsn_current - min(age, sample.checkpoint_age))


def unproven(state: State) -> str:
    """Return that this version's flush law was never verified, which it cannot be now; empty where it was."""
    facts = state.facts
    if state.gate.proven == facts.version or not LAWS[facts.flush_law].m_moves_age:
        return ""
    return f"{facts.without_counters}, and the flush law of {facts.version} has never been verified"
