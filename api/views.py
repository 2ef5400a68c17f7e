"""What the routes answer, made from a tick's record. No web framework here: the command line uses it too."""

from __future__ import annotations

from typing import Literal

import msgspec

from api.ledger import ledger_of
from api.models import (
    STREAMED,
    BudgetInForce,
    DrainInForce,
    HoldInForce,
    Limits,
    NumberedEvent,
    OptimiserUnderWay,
    OverlayInForce,
    OverrideInForce,
    Policies,
    Process,
    RestoreUnderWay,
    State,
    Status,
    StreamTick,
    TrialShown,
    WindowInForce,
)
from api.outlook import burst_of, without_of
from policies.catalogue import CATALOGUE
from policies.registry import LAWS, NAMES, make_policy
from tuner.core.commands.schedule import settings_of
from tuner.core.leaving.park import parked
from tuner.core.limits import allowed
from tuner.core.memory import Learned, known_of
from tuner.core.setpoint.budgets import KEYS, Durations, Name, durations_of
from tuner.core.trials.paired import verdict_text
from tuner.core.trials.proof import ENDED
from tuner.findings.advice import expected_effect
from tuner.findings.redo_growth import Growing
from tuner.findings.remedies import clears, needs_resume, told
from tuner.records import (
    Capacity,
    Decision,
    Event,
    Facts,
    Hold,
    Missed,
    OptimiserHealth,
    Sample,
    TickRecord,
    TrialProgress,
    Window,
    effects,
    winners,
)
from tuner.records.fields import BY_NAME
from tuner.records.hook import HookHealth
from tuner.settings import Mode, Settings


def status_of(
    record: TickRecord,
    *,
    facts: Facts | None,
    settings: Settings | None = None,
    wall: float,
    process: Process | None,
    source: Literal["daemon", "journal"] = "daemon",
    journal: str = "",
    drain_ended: str = "",
    forgotten: tuple[str, ...] = (),
    optimiser: OptimiserHealth | None = None,
    growth: Growing | None = None,
    trial: TrialProgress | None = None,
    learned: Learned | None = None,
    price: str | None = None,
    hooks: tuple[HookHealth, ...] = (),
) -> Status:
    """Return one look at the loop by its newest tick, at a Unix time in seconds.

    None is what is unknown, or not there without a daemon; the rest is as ``Status`` has it.
    """
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    return Status(
        source=source,
        at=record.tick.wall,
        seconds_old=max(0.0, round(wall - record.tick.wall, 3)),
        tick=record.tick.number,
        lifecycle=record.lifecycle,
        mode=record.mode,
        advisory=(record.advisory or None) if record.mode is Mode.ADVISORY else None,
        holds=tuple(_hold(record, hold, facts) for hold in record.holds),
        occurrences=record.occurrences,
        degraded=sample is not None and sample.degraded,
        decision=_decision(record, facts),
        set_point=record.decision.set_point,
        in_force=sample.capacity if sample else None,
        originals=record.originals,
        missed=reading.reason if isinstance(reading, Missed) else None,
        estimate=record.estimate,
        limits=msgspec.convert(sample, Limits, from_attributes=True) if sample else None,
        budgets=_budgets(record, settings),
        override=_override(record),
        drain=_drain(record),
        drain_ended=drain_ended or None,
        forgotten=forgotten,
        growth=growth,
        trial=None if trial is None else _trial(trial),
        learned=None if learned is None else known_of(learned),
        ledger=ledger_of(learned, facts, price=price),
        restore=_restore(record),
        schedule=_windows(record, settings),
        changes_last_hour=record.changes_last_hour,
        server=facts,
        process=process,
        journal=journal or None,
        optimiser=OptimiserUnderWay(record.optimiser, optimiser) if record.optimiser else None,
        hooks=hooks,
        changes_allowed=settings.max_changes_per_hour if settings else None,
        burst=burst_of(record, settings),
        without=without_of(record, facts),
        effect=_effect(record, facts, settings),
        park=parked_of(record, facts, settings),
        overlay=_overlay(record),
        unkept=record.unkept,
        low_water=record.low_water,
    )


def _effect(record: TickRecord, facts: Facts | None, settings: Settings | None) -> str | None:
    """Return what an advisory loop expects of its set-point, in words; None in active mode, or unknown."""
    estimate, set_point = record.estimate, record.decision.set_point
    if record.mode is not Mode.ADVISORY or estimate is None or set_point is None:
        return None
    return expected_effect(estimate, set_point, facts=facts, settings=settings)


def state_of(record: TickRecord) -> State:
    """Return the part of a tick that a command may change."""
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    return State(
        mode=record.mode,
        holds=tuple(hold.code for hold in record.holds),
        io_capacity=sample.io_capacity if sample else None,
        io_capacity_max=sample.io_capacity_max if sample else None,
        target=record.decision.target,
        override_seconds_left=_override_left(record),
        drain_target=record.drain.target if record.drain else None,
        overlay=record.overlay.values if record.overlay else None,
    )


def tick_of(record: TickRecord) -> StreamTick:
    """Return a tick's numbers; none of the server's where the reading failed."""
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    estimate = record.estimate if sample else None
    values = {name: BY_NAME[name].value(sample=sample, estimate=estimate) for name in STREAMED}
    return StreamTick(
        number=record.tick.number,
        wall=record.tick.wall,
        lifecycle=record.lifecycle,
        mode=record.mode,
        holds=tuple(hold.code for hold in record.holds),
        missed=reading.reason if isinstance(reading, Missed) else None,
        override_seconds_left=_override_left(record),
        values={**values, "set_point": record.decision.set_point},
    )


def event_of(number: int, event: Event) -> NumberedEvent:
    """Return an event with its number in this run."""
    return NumberedEvent(number, event.wall, event.code, told(event), event.who)


def policies_of(record: TickRecord | None = None) -> Policies:
    """Return what there is, and which of them decided the newest record."""
    in_force = "" if record is None else record.decision.policy
    return Policies(default=Settings().policy, policies=CATALOGUE, in_force=in_force)


def parked_of(record: TickRecord, facts: Facts | None, settings: Settings | None) -> Capacity | None:
    """Return about the pair that a park would write; the loop works it out anew when it is asked.

    None without a reading, an estimate, facts, settings, or a flush law that is known.
    """
    sample, estimate = record.tick.reading, record.estimate
    if not isinstance(sample, Sample) or estimate is None or facts is None or settings is None:
        return None
    law = LAWS.get(facts.flush_law)
    if law is None:
        return None
    lowest, highest = allowed(settings, facts)
    ours = record.mode is Mode.ACTIVE and record.originals != sample.capacity
    return parked(
        estimate,
        law,
        settings,
        current=sample.io_capacity_max if ours else lowest,
        lowest=lowest,
        highest=highest,
        home=(record.originals or sample.capacity).io_capacity,
    )


def _trial(trial: TrialProgress) -> TrialShown:
    end = trial.result.end
    return TrialShown(trial, verdict_text(trial.result), "" if end is None else ENDED[end])


def _decision(record: TickRecord, facts: Facts | None) -> Decision:
    """Return the decision with the policy that rules here; one without an estimate has the one asked."""
    decision = record.decision
    if facts is None or decision.policy not in NAMES or facts.flush_law not in LAWS:
        return decision
    rules = make_policy(decision.policy, flush_law=facts.flush_law, fixed_io_capacity_max=0)
    return msgspec.structs.replace(decision, policy=rules.name)


def _hold(record: TickRecord, hold: Hold, facts: Facts | None) -> HoldInForce:
    seconds = max(0.0, record.tick.now - hold.since)
    return HoldInForce(
        code=hold.code,
        since=record.tick.wall - seconds,
        seconds=round(seconds, 3),
        reason=hold.reason,
        clears=clears(hold, facts),
        resume=needs_resume(hold),
    )


def _overlay(record: TickRecord) -> OverlayInForce | None:
    overlay = record.overlay
    if overlay is None:
        return None
    since = record.tick.wall - max(0.0, record.tick.now - overlay.since)
    return OverlayInForce(values=overlay.values, since=since, who=overlay.who)


def _override_left(record: TickRecord) -> float | None:
    """Return the seconds that an override has left; None without one."""
    ends = record.override_ends
    return None if ends is None else round(max(0.0, ends - record.tick.now), 3)


def _override(record: TickRecord) -> OverrideInForce | None:
    left = _override_left(record)
    if left is None:
        return None
    target = record.decision.target if record.decision.source == "person" else None
    return OverrideInForce(
        io_capacity_max=target.io_capacity_max if target else None,
        ends=record.tick.wall + left,
        seconds_left=left,
    )


def _budgets(record: TickRecord, settings: Settings | None) -> dict[Name, BudgetInForce] | None:
    """Return how both stand against the budgets in force, the schedule's too; None without an estimate."""
    if record.estimate is None or settings is None:
        return None
    settings, both = settings_of(settings, record.schedule), durations_of(record.estimate)
    return {name: _against(one, getattr(settings, KEYS[name])) for name, one in both.items()}


def _against(one: Durations, allowed: float | None) -> BudgetInForce:
    return BudgetInForce(
        predicted=one.now,
        at_set_point=one.set_point,
        at_baseline=one.baseline,
        allowed=allowed,
        exceeded=allowed is not None and one.now > allowed,
        long=one.long(allowed),
    )


def _drain(record: TickRecord) -> DrainInForce | None:
    """Return the drain in force, with the loop's times as people know them."""
    drain, tick = record.drain, record.tick
    if drain is None:
        return None
    left = max(0.0, drain.ends - tick.now)
    return DrainInForce(
        target=drain.target,
        start_age=drain.start_age,
        age=tick.reading.checkpoint_age if isinstance(tick.reading, Sample) else None,
        seconds_left=None if drain.seconds_left is None else round(drain.seconds_left, 1),
        reached=None if drain.reached is None else tick.wall - (tick.now - drain.reached),
        ends=tick.wall + left,
        ends_in=round(left, 3),
        who=drain.who,
        lowest=drain.lowest,
    )


def _restore(record: TickRecord) -> RestoreUnderWay | None:
    restore = record.restore
    if restore is None:
        return None
    return RestoreUnderWay(
        step=restore.step,
        steps_left=restore.steps_left,
        seconds_left=round(restore.seconds_left, 1),
        latency=restore.latency,
        latency_limit=restore.latency_limit,
        who=restore.who,
    )


def _windows(record: TickRecord, settings: Settings | None) -> tuple[WindowInForce, ...]:
    """Return the active windows, in the file's order."""
    deciding = winners(record.schedule)
    return tuple(
        WindowInForce(
            name=one.name,
            began=one.began,
            ends=one.ends,
            seconds_left=round(max(0.0, one.ends - record.tick.wall), 3),
            effects={name: value for name, value in effects(one).items() if isinstance(value, float | bool)},
            overruled=_overruled(one, deciding, settings),
            waits=one.drain_waits or None,
        )
        for one in record.schedule
    )


def _overruled(window: Window, deciding: dict[str, Window], settings: Settings | None) -> dict[str, str]:
    overruled = {
        effect: deciding[effect].who
        for effect, value in effects(window).items()
        if getattr(deciding[effect], effect) != value
    }
    if window.set_point is not None and settings is not None and settings.set_point is not None:
        overruled["set_point"] = "person"
    if window.drain_off:
        overruled["drain"] = window.drain_off
    return overruled
