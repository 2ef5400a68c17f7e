"""A drain: how it brings the checkpoint age down for a time, how far that is, and when it is over.

A person asks for a drain, or an active window does. A window's begins when it can be, goes as low as can
be and ends with the window. It is level-triggered as the windows are: a drain that a restart of mysqld,
a pause or an override ended begins again once that is over. A person's word comes first: their own drain
replaces the window's until it ends, and a drain that they call off stays so until the window's end.
"""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core.commands.context import CommandContext, cannot_write
from tuner.core.decide.trajectory import (
    AIM,
    WAY_SECONDS,
    aim_of,
    closing_seconds,
    lag_of,
    lowest_safe_target,
    lowest_target,
    seconds_left,
)
from tuner.core.decide.wishes import policy_of
from tuner.core.estimate.trends import MeanRates
from tuner.core.estimate.window import warm
from tuner.core.laws import why_m_moves_no_age
from tuner.core.state import Drain, Return, State
from tuner.records import Command, DrainProgress, Estimate, Event, Lifecycle, Sample, Window
from tuner.settings import Mode
from tuner.system.amounts import duration, size

RATE_MEMORY = 60.0  # Span of the mean of R that the checkpoint's lag is reckoned with, seconds
ANSWER_MEMORY = 15.0  # Span of the means of R and F that M is reckoned with, seconds
LONGEST_RETURN = 900.0  # The way back is over after so many seconds at the latest
PLAN_SECONDS = 30.0  # Soon after so many seconds the slope shows what the plan is worth
FLAT = 1000.0  # An age that falls by less than this many bytes a second does not fall

LOWER = 0.9
"""The target follows the load down once this share of it could be reached, and up as soon as it could not."""

NOT_YET = "rates need ten seconds of readings"
LOW_ALREADY = "the age is already as low as a drain would bring it"


def begun(
    state: State,
    sample: Sample,
    estimate: Estimate,
    target: int,
    *,
    who: str,
    now: float,
    ttl: float,
    lowest: bool,
) -> Drain:
    """Return a drain that begins now."""
    return Drain(
        target=target,
        begun=now,
        ends=now + ttl,
        who=who,
        start_age=sample.checkpoint_age,
        trends=state.estimator.trends,
        redo_rate=state.estimator.trends.rate_mean,
        rates=MeanRates(estimate.redo_rate, estimate.flush_rate),
        lowest=lowest,
    )


def way_of(drain: Drain, *, advisory: bool = False) -> str:
    """Return in words where a drain that begins takes the age, which may be below its target just then."""
    if drain.start_age > drain.target:
        words = "would drain" if advisory else "draining"
        return f"{words} the uncheckpointed bytes from {size(drain.start_age)} to {size(drain.target)}"
    words = "would keep" if advisory else "keeping"
    now = f"they are {size(drain.start_age)} now"
    return f"{words} the uncheckpointed bytes at {size(drain.target)} at most; {now}"


def unsteered(state: State) -> str:
    """Return why no M brings the age of this server down; empty where one does."""
    law = LAWS[state.facts.flush_law]
    return "" if law.m_moves_age else why_m_moves_no_age(law)


def refusal(state: State, sample: Sample, estimate: Estimate, target: int) -> str:
    """Return why the age cannot be brought to this target, with what is possible; empty where it can."""
    lag = lag_of(state)
    if why := unsteered(state):
        return f"{size(target)} cannot be reached: {why}"
    if state.set_point is not None and held_as_low(state, sample, target):
        held = state.set_point * sample.flush_limit / AIM + lag
        return f"{size(target)} is not below what is held anyway: ask for less than {size(held)}"
    lowest, why = lowest_target(state, sample, estimate)
    if target < lowest:
        least = size(lowest, up=True)
        return f"{size(target)} cannot be reached: {why}; the lowest at the present load is {least}"
    return ""


def held_as_low(state: State, sample: Sample, target: int) -> bool:
    """Tell whether the loop holds the age at its set-point no higher than a drain to this target would."""
    if state.set_point is None:
        return False
    return AIM * (target - lag_of(state)) >= state.set_point * sample.flush_limit


def update(state: State, sample: Sample | None, *, now: float) -> tuple[State, list[Event]]:
    """End a drain whose time or ground is gone, and note when the age has come down."""
    drain = state.drain
    if drain is None:
        return _returning(state, sample, now=now), []
    advisory = "the mode is advisory now" if state.mode is not Mode.ACTIVE and not drain.scheduled else ""
    gone = ground_gone(state) or advisory
    why = drain.cancelled or ("its time is over" if now >= drain.ends else "") or gone
    if why:
        message = f"drain to {size(drain.target)} ended: {why}"
        steers = LAWS[state.facts.flush_law].m_moves_age
        follows = state.settings.policy != "fixed" and steers and not gone
        back = Return(begun=now, rates=drain.rates) if follows and state.mode is Mode.ACTIVE else None
        ended = Event(code="drain_ended", message=message)
        return replace(state, drain=None, returning=back), [ended]
    state = replace(state if drain.shown else _unlearned(state, drain), returning=None)
    if sample is None or state.estimate is None:
        return state, []
    estimate, events = state.estimate, []
    elapsed = _elapsed(state)
    redo_rate = drain.redo_rate + min(1.0, elapsed / RATE_MEMORY) * (estimate.redo_rate - drain.redo_rate)
    drain = replace(drain, redo_rate=redo_rate, rates=_averaged(drain.rates, estimate, elapsed))
    below = sample.modified_age <= drain.target - lag_of(state)
    if drain.reached is None and below and sample.checkpoint_age <= drain.target:
        drain = replace(drain, reached=now)
        message = (
            f"uncheckpointed {size(sample.checkpoint_age)}, at or below {size(drain.target)}"
            f"{', the lowest that is safe' if drain.lowest else ' as asked'}"
        )
        events.append(Event(code="drained", message=message, who=drain.who))
    return replace(state, drain=drain), events


def _returning(state: State, sample: Sample | None, *, now: float) -> State:
    """Follow the way back; it is over a residence time after its end, or where its ground is gone.

    What was dirtied at the low age is dearer to flush, and is at the tail so long. Then the policy lands.
    """
    back, estimate = state.returning, state.estimate
    if back is None:
        return state
    if state.mode is not Mode.ACTIVE or ground_gone(state) or state.set_point is None:
        return replace(state, returning=None)
    if sample is None or estimate is None:
        return state
    rates = _averaged(back.rates, estimate, _elapsed(state))
    aim = state.set_point * sample.flush_limit
    if now < back.begun + _way_back_seconds(rates.redo_rate, aim):
        return replace(state, returning=replace(back, rates=rates))
    memory = state.policy
    if memory is not None:
        memory = policy_of(state).wrote(memory, sample.io_capacity_max)
    return replace(state, returning=None, policy=memory)


def _way_back_seconds(redo_rate: float, aim: float) -> float:
    """Return how long a way back takes: at this redo rate, bytes/s, to this modified age, bytes."""
    return min(WAY_SECONDS + aim / max(redo_rate, 1.0), LONGEST_RETURN)


def going_on(state: State, sample: Sample, *, now: float) -> str:
    """Return in words that a drain or its way back is under way, and for how long; empty for neither."""
    drain = state.drain
    if drain is not None and not drain.cancelled:
        return f"a drain is under way, for {duration(drain.ends - now)} more unless it is cancelled"
    back = state.returning if drain is None else Return(begun=now, rates=drain.rates)
    if back is None:
        return ""
    way = _way_back_seconds(back.rates.redo_rate, state.set_point_now * sample.flush_limit)
    left = duration(max(1.0, back.begun + way - now))
    return f"the drain is over, and the age is on its way back to the set-point: ask again in {left}"


def progress(state: State, sample: Sample | None, *, now: float) -> DrainProgress | None:
    """Return how far the drain is, with the time left; None without one."""
    drain = state.drain
    if drain is None:
        return None
    left = None
    if drain.reached is None and sample is not None and state.estimate is not None:
        left = _left(state, drain, sample, state.estimate, now=now)
    return DrainProgress(
        target=drain.target,
        start_age=drain.start_age,
        ends=drain.ends,
        who=drain.who,
        reached=drain.reached,
        seconds_left=left,
        lowest=drain.lowest,
    )


def _left(state: State, drain: Drain, sample: Sample, estimate: Estimate, *, now: float) -> float | None:
    """Return the time left as planned or at the slope seen, whatever is less, and soon by the slope alone."""
    aim, lag = aim_of(state, drain, sample, estimate), lag_of(state)
    closing = closing_seconds(aim, estimate.redo_rate)
    passed = now - drain.begun
    falls = estimate.age_slope < -FLAT
    times = [
        seconds_left(
            age=max(estimate.modified_age, estimate.checkpoint_age - lag),
            aim=aim,
            goal=drain.target - lag,
            fall=fall,
            horizon=max(closing, WAY_SECONDS - passed),
            closing=closing,
        )
        for fall, counts in ((-estimate.age_slope, falls), (0.0, passed < PLAN_SECONDS))
        if counts
    ]
    return min(times, default=None)


def ground_gone(state: State) -> str:
    """Return why neither drain nor way back goes on; empty while it does. Other holds only suspend it.

    Nor does advisory mode let them, but for a window's drain: that is shown there.
    """
    latches = state.latches
    reasons = (
        ("the daemon is stopping", state.lifecycle is Lifecycle.STOPPING),
        ("mysqld was restarted", latches.restarted is not None),
        ("the originals are being restored", bool(state.restoring)),
        ("an override took its place", state.override is not None),
        *((hold.reason, True) for hold in (latches.paused, latches.foreign, latches.refused) if hold),
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
        bursts=trends.bursts.disowned(before.bursts),
    )
    return replace(state, estimator=replace(state.estimator, trends=kept))


def _averaged(rates: MeanRates, estimate: Estimate, elapsed: float) -> MeanRates:
    return rates.updated(
        redo_rate=estimate.redo_rate, flush_rate=estimate.flush_rate, elapsed=elapsed, memory=ANSWER_MEMORY
    )


def _elapsed(state: State) -> float:
    """Return the seconds between the last two readings; 0 where there was one only."""
    window = state.estimator.window
    return window[-1].at - window[-2].at if len(window) > 1 else 0.0


def wanted(windows: tuple[Window, ...]) -> Window | None:
    """Return the active window whose drain counts: the first that was not called off."""
    return next((one for one in windows if one.drain and not one.drain_off), None)


def called_off(windows: tuple[Window, ...], why: str) -> tuple[Window, ...]:
    """Return the windows with no drain any more until their ends."""
    return tuple(replace(one, drain_off=why) if one.drain else one for one in windows)


def update_window(
    state: State, sample: Sample | None, *, now: float, wall: float
) -> tuple[State, list[Event]]:
    """Begin the drain that a window asks for, keep it in step with window and load, or let it end."""
    window, under_way = wanted(state.schedule), state.drain
    if under_way is not None and not under_way.scheduled:
        return _waiting(_aimed(state, sample), "a person's drain comes first" if window is not None else "")
    if window is None:
        if under_way is None:
            return state, []
        over = under_way.cancelled or f"{under_way.who} is over"
        return replace(state, drain=replace(under_way, cancelled=over)), []
    ends = now + window.ends - wall
    if under_way is not None and under_way.shown != (state.mode is Mode.ADVISORY):
        return replace(state, drain=None), []  # begun anew in the other mode, at the next tick
    if under_way is not None:
        moved = replace(under_way, ends=ends, who=window.who)
        return _aimed(replace(state, drain=moved), sample), []
    return _begun(state, window, sample, ends=ends, now=now)


def _begun(
    state: State, window: Window, sample: Sample | None, *, ends: float, now: float
) -> tuple[State, list[Event]]:
    estimate = state.estimate
    why = _bars(state, window, sample, now=now)
    if why or sample is None or estimate is None or not warm(state.estimator.window):
        return _waiting(state, why or NOT_YET)
    why, target = _reach(state, sample, estimate)
    if why:
        return _waiting(state, why)
    made = begun(state, sample, estimate, target, who=window.who, now=now, ttl=ends - now, lowest=True)
    advisory = state.mode is Mode.ADVISORY
    state, _ = _waiting(replace(state, drain=replace(made, scheduled=True, shown=advisory)), "")
    time = f"for {(ends - now) / 60.0:.0f} minutes; then back to the set-point"
    message = f"{way_of(made, advisory=advisory)}, {time}"
    return state, [Event(code="drain", message=message, who=window.who)]


def _bars(state: State, window: Window, sample: Sample | None, *, now: float) -> str:
    """Return why no drain can begin now; empty where it can. Advisory mode shows one."""
    why = ground_gone(state)
    if why:
        return why
    if state.holds:
        return f"held: {', '.join(hold.code.value for hold in state.holds)}"
    if state.mode is Mode.ADVISORY or sample is None:
        return ""
    command = Command(name="drain", who=window.who)
    bar = cannot_write(state, CommandContext(command=command, sample=sample, now=now))
    return "" if bar is None else bar.why


def _reach(state: State, sample: Sample, estimate: Estimate) -> tuple[str, int]:
    """Return why no age lower than now can be held at the present load, and the lowest that can."""
    if why := unsteered(state):
        return why, 0
    target, _ = lowest_safe_target(state, sample, estimate)
    return (LOW_ALREADY if held_as_low(state, sample, target) else ""), target


def _aimed(state: State, sample: Sample | None) -> State:
    """Keep the target of a drain to the lowest age in step with the load."""
    under_way, estimate = state.drain, state.estimate
    if under_way is None or sample is None or estimate is None or not warm(state.estimator.window):
        return state
    if not (under_way.lowest or under_way.scheduled):
        return state
    target, _ = lowest_safe_target(state, sample, estimate)
    if LOWER * under_way.target <= target <= under_way.target:
        return state
    return replace(state, drain=replace(under_way, target=target))


def _waiting(state: State, why: str) -> tuple[State, list[Event]]:
    """Note why the drain that is wanted is not under way, and say it once."""
    window = wanted(state.schedule)
    if window is None or window.drain_waits == why:
        return state, []
    windows = tuple(
        replace(one, drain_waits=why if one is window else "") if one.drain else one for one in state.schedule
    )
    state = replace(state, schedule=windows)
    if why in {"", NOT_YET}:
        return state, []
    message = f"the drain of {window.who} waits: {why}"
    return state, [Event(code="schedule_drain_waits", message=message, who=window.who)]
