"""Which flush law is in force: it can change while the server runs, and not every law lets M move the age."""

from __future__ import annotations

from msgspec.structs import replace

from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from tuner.core.gate import forget
from tuner.core.state import State
from tuner.records import Event, Sample


def without_authority(law: FlushLaw) -> str:
    """Return that M does not move the age, and what would let it; empty where it does."""
    return "" if law.authority else f"no M moves the age below the flush limit here: {law.remedy}"


def take_law(state: State, name: str, *, wall: float) -> tuple[State, list[Event]]:
    """Go by the law that was seen; another one passes the model gate anew, and the policy begins afresh.

    Args:
        state: with the law of before in its facts.
        name: what was seen; empty where a reading does not say.
        wall: Unix time, seconds.
    """
    before = state.facts.flush_law
    if name == before or name not in LAWS:
        return state, []
    remark = without_authority(LAWS[name])
    drain = state.drain if not remark or state.drain is None else replace(state.drain, cancelled=remark)
    message = f"the flush law is {name} now and was {before}" + (f"; {remark}" if remark else "")
    state = replace(
        state,
        facts=replace(state.facts, flush_law=name),
        gate=replace(forget(state.gate), proven=""),
        policy=None,
        set_point=None,
        drain=drain,
        returning=None,
    )
    return state, [Event(wall=wall, code="flush_law", message=message)]


def settled(state: State, sample: Sample) -> Sample:
    """Return the reading without what the page cleaner asked for, where it did so long ago.

    Where no M moves the age the server mostly flushes by its soft limit, and the counters of adaptive
    flushing stay as its last round left them: a device that gives none of that has not failed.
    """
    if LAWS[state.facts.flush_law].authority:
        return sample
    return replace(sample, flush_requested=0, flush_by_age=0)
