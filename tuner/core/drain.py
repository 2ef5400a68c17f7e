"""To drain: bring the checkpoint age down for a time, and know how far that is and when it is over."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.ages import at_least, said
from tuner.core.draincourse import AIM, ARRIVED, LEFT, aim_of, lag_of, lowest_target
from tuner.core.state import Drain, State
from tuner.records import DrainProgress, Estimate, Event, Lifecycle, Sample
from tuner.settings import Mode

RATE_MEMORY = 60.0
"""Span of the mean of R while draining, seconds."""

FLAT = 1000.0
"""An age that falls by less than this many bytes a second does not fall."""


def begun(state: State, sample: Sample, target: int, *, who: str, now: float, ttl: float) -> Drain:
    """Return a drain that begins now."""
    return Drain(
        target=target,
        begun=now,
        ends=now + ttl,
        who=who,
        start_age=sample.checkpoint_age,
        trends=state.estimator.trends,
        redo_rate=state.estimator.trends.rate_mean,
    )


def refusal(state: State, sample: Sample, found: Estimate, target: int) -> str:
    """Return why the age cannot be brought to this target, with what is possible; empty where it can."""
    lag = lag_of(state)
    if state.set_point is not None and AIM * (target - lag) >= state.set_point * sample.flush_limit:
        held = state.set_point * sample.flush_limit / AIM + lag
        return f"{said(target)} is no less than the loop holds anyway: ask for less than {said(held)}"
    lowest, why = lowest_target(state, sample, found)
    if target < lowest:
        return (
            f"{said(target)} cannot be reached: {why}; the lowest at the present load is {at_least(lowest)}"
        )
    return ""


def follow(state: State, sample: Sample | None, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """End a drain whose time or ground is gone, and note when the age has come down."""
    drain = state.drain
    if drain is None:
        return state, []
    why = _over(state, drain, now=now)
    if why:
        message = f"drain to {said(drain.target)} ended: {why}"
        return replace(state, drain=None), [Event(wall=wall, code="drain_ended", message=message)]
    state = _unlearned(state, drain)
    if sample is None or state.estimate is None:
        return state, []
    found, events = state.estimate, []
    drain = replace(drain, redo_rate=_rate(drain, state, found))
    share = found.modified_age / aim_of(state, drain, sample, found)
    if drain.arrived is None and share <= ARRIVED:
        drain = replace(drain, arrived=now)
    elif drain.arrived is not None and share > LEFT:
        drain = replace(drain, arrived=None)
    below = sample.modified_age <= drain.target - lag_of(state)
    if drain.reached is None and below and sample.checkpoint_age <= drain.target:
        drain = replace(drain, reached=now)
        message = f"checkpoint age {said(sample.checkpoint_age)}, down to {said(drain.target)} as asked"
        events.append(Event(wall=wall, code="drained", message=message, who=drain.who))
    return replace(state, drain=drain), events


def progress(state: State, sample: Sample | None) -> DrainProgress | None:
    """Return how far the drain is, with the time left at the slope measured; None without one."""
    drain = state.drain
    if drain is None:
        return None
    found, left = state.estimate, None
    if drain.reached is None and sample is not None and found is not None and found.age_slope < -FLAT:
        over = max(
            found.modified_age + lag_of(state) - drain.target,
            found.checkpoint_age - drain.target,
        )
        left = max(0.0, over) / -found.age_slope
    return DrainProgress(
        target=drain.target,
        start_age=drain.start_age,
        ends=drain.ends,
        who=drain.who,
        reached=drain.reached,
        seconds_left=left,
    )


def _over(state: State, drain: Drain, *, now: float) -> str:
    """Return why a drain is over; empty while it goes on. A hold that ends by itself only suspends it."""
    latches = state.latches
    reasons = (
        (drain.cancelled, bool(drain.cancelled)),
        ("its time is over", now >= drain.ends),
        ("the daemon is stopping", state.lifecycle is Lifecycle.STOPPING),
        ("mysqld was restarted", latches.restarted is not None),
        ("the originals are being restored", bool(state.restoring)),
        ("an override took its place", state.override is not None),
        *((hold.reason, True) for hold in (latches.paused, latches.foreign, latches.refused) if hold),
        ("the mode is advisory now", state.mode is not Mode.ACTIVE),
    )
    return next((reason for reason, true in reasons if true), "")


def _unlearned(state: State, drain: Drain) -> State:
    """Keep what a drain makes of load and device from being taken for how they are."""
    before, trends = drain.trends, state.estimator.trends
    kept = replace(
        trends,
        rate_seconds=before.rate_seconds,
        rate_mean=before.rate_mean,
        rate_square=before.rate_square,
        excess=0.0,
        burst_bytes=min(trends.burst_bytes, before.burst_bytes),
    )
    return replace(state, estimator=replace(state.estimator, trends=kept))


def _rate(drain: Drain, state: State, found: Estimate) -> float:
    """Return R, averaged while the drain goes on, bytes/s."""
    window = state.estimator.window
    elapsed = window[-1].at - window[-2].at if len(window) > 1 else 0.0
    return drain.redo_rate + min(1.0, elapsed / RATE_MEMORY) * (found.redo_rate - drain.redo_rate)
