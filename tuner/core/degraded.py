"""Readings without InnoDB's counters: a weaker estimate, more distance, and a word about it.

The age is then the checkpoint's, which is never lower than the modified age, grows by all redo that is
written and jumps down with every checkpoint. Just after one it is near the modified age: what steers by an
age takes the lowest of the time between two, what sees an emergency takes it as it is. The server's own
flush percentage and what sync flushing does are not seen.
"""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core.state import State
from tuner.records import Event, Remedy, Sample

MARGIN = 0.10
"""The set-point is so much lower: the age that is seen is only as good as the last checkpoint."""


def tell(last: Sample | None, sample: Sample, *, wall: float) -> list[Event]:
    """Return an event where the counters went off or came back."""
    before = last is not None and last.degraded
    if sample.degraded == before:
        return []
    if before:
        said = "InnoDB's counters are on again; estimates start afresh"
        return [Event(wall=wall, code="counters_back", message=said)]
    said = (
        "InnoDB's counters are off: ages are the checkpoint's, pages flushed by sync flushing are unknown, "
        f"write combining is not learned, and a derived set-point is {MARGIN:.2f} lower"
    )
    return [Event(wall=wall, code="degraded", message=said, remedies=(Remedy.ENABLE_COUNTERS,))]


def settled(state: State, sample: Sample) -> Sample:
    """Return the reading with its tail where the lowest age since the last checkpoint puts it."""
    if not sample.degraded:
        return sample
    since = sample.monotonic - state.facts.sawtooth_seconds
    recent = (one.checkpoint_age for one in state.estimator.window if one.at > since)
    age = min(recent, default=sample.checkpoint_age)
    return replace(sample, lsn_oldest=sample.lsn_current - min(age, sample.checkpoint_age))


def unproven(state: State) -> str:
    """Return that this version's flush law was never verified, which it cannot be now; empty where it was."""
    if state.gate.proven == state.facts.version or not LAWS[state.facts.flush_law].authority:
        return ""
    return f"InnoDB's counters are off, and the flush law of {state.facts.version} has never been verified"
