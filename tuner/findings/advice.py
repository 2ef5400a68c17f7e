"""What a person could do now: the loop's own wish as SQL, and what else it noticed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from policies.flushlaw import LEGACY, FlushLaw
from policies.registry import LAWS
from tuner.core.commands.schedule import settings_of
from tuner.core.limits import allowed
from tuner.core.setpoint.budgets import KEYS, SHORT, WARN_SECONDS, Budget, Durations, Name, durations_of
from tuner.core.setpoint.resting import MOST_RATIO, resting_ratio
from tuner.core.writes.plan import Steps, near, plan
from tuner.findings.finding import Finding
from tuner.findings.m_moves_age import (
    for_load,
    m_moves_no_age,
    while_asleep,
    written_as_they_come,
)
from tuner.findings.providers import in_its_way, moved_by_provider
from tuner.findings.remedies import clears, report, sql_of
from tuner.records import (
    CAPACITY_MINIMUM,
    ENABLE_COUNTERS,
    Capacity,
    DecisionKind,
    Estimate,
    Facts,
    Sample,
    TickRecord,
)
from tuner.settings import Mode, Settings
from tuner.system.amounts import share, size

SMALL_REDO_SECONDS = 30.0
"""A redo log that the load fills faster than this leaves no room to tune in."""

NEAR = 1.1
"""Times the age of now up to which a higher one is about the same."""

ASK_REDO = "innobrim redo says which size is enough for this load, and how it is set"


def advise(
    record: TickRecord, facts: Facts, settings: Settings, *, dirtied: float | None = None
) -> list[Finding]:
    """Return what follows from one tick, the most useful first; ids are stable across ticks.

    Args:
        record: the tick.
        facts: of the server.
        settings: the loop's.
        dirtied: how many pages became dirty at the busiest of the time seen, pages/s; None: as in this tick.
    """
    findings: list[Finding] = []
    sample = record.tick.reading if isinstance(record.tick.reading, Sample) else None
    estimate = record.estimate
    if sample is not None and estimate is not None:
        wish = _wish(record, sample, estimate, facts, settings)
        if wish is not None:
            findings.append(wish)
        findings += _noticed(sample, estimate, settings, facts)
        times = durations(durations_of(estimate), settings_of(settings, record.schedule))
        findings += [times] if times.severity == "warning" else []
        dirtied = estimate.dirty_rate if dirtied is None else dirtied
        findings += written_as_they_come(sample, estimate, facts, dirtied=dirtied)
    findings += [
        Finding(
            id=f"hold-{hold.code.value.replace('_', '-')}",
            severity="warning",
            title=f"{_held(record.mode)}: {hold.code.value.replace('_', ' ')}",
            reason=hold.reason,
            effect="nothing is written while this lasts" if record.mode is Mode.ACTIVE else "",
            fix=f"cleared by {clears(hold, facts)}",
            sql=sql_of(hold.remedies) if facts.managed else (),
        )
        for hold in record.holds
    ]
    if facts.disabled_counters or facts.absent_counters:
        findings.append(counters_off(facts))
    unmoved = [*m_moves_no_age(facts), *while_asleep(facts)]
    if sample is not None and estimate is not None and dirtied is not None:
        unmoved = [for_load(one, sample, estimate, dirtied=dirtied) for one in unmoved]
    findings += unmoved
    return in_its_way([*moved_by_provider(facts), *findings], facts)


def counters_off(facts: Facts) -> Finding:
    """Return the finding for counters that the loop needs and that are off, or not there at all."""
    left = "the age of the checkpoint, no model gate, no ledger of dirty pages"
    writes = "active mode writes only where this version matched before"
    if facts.ages_need_counters:
        left = "an age every five seconds from SHOW ENGINE INNODB STATUS, no model gate"
        writes = "active mode writes nothing"
    elif not LAWS.get(facts.flush_law, LEGACY).m_moves_age:
        writes = "active mode writes all the same, because no innodb_io_capacity_max moves the age"
    elif facts.absent_counters:
        writes = "active mode writes nothing"
    if facts.absent_counters:
        return Finding(
            id="counters-off",
            severity="warning",
            title=f"{facts.without_counters}, which leaves a weaker estimator ({left}), and {writes}",
            fix=report(facts),
        )
    return Finding(
        id="counters-off",
        severity="warning",
        title=f"{len(facts.disabled_counters)} InnoDB counters are off, which leaves a weaker estimator "
        f"({left}), and {writes}",
        reason=", ".join(facts.disabled_counters),
        effect="the age that the flush law looks at becomes visible; costs next to nothing",
        fix="turn them on now, and in my.cnf for the next start: "
        "innodb_monitor_enable = module_log,module_buffer",
        sql=ENABLE_COUNTERS,
    )


def broken_budgets(standing: Mapping[str, Budget], *, set_point: float) -> Finding | None:
    """Return the finding for budgets that no set-point keeps, or none above the baseline's; else None.

    Args:
        standing: how each budget stands.
        set_point: the age ratio that is held in their place.
    """
    broken = {name: one for name, one in standing.items() if not one.kept}
    if not broken:
        return None
    return Finding(
        id="budget-out-of-reach",
        severity="warning",
        title=f"{' and '.join(KEYS[name] for name in broken)} cannot be kept",
        reason="; ".join(one.figures(name) for name, one in broken.items()),
        effect="a budget that is not kept lowers the set-point no further: page writes for nothing",
        fix="; ".join(one.right(name, set_point=set_point) for name, one in broken.items()),
    )


def durations(times: Mapping[Name, Durations], settings: Settings, *, seen: str = "") -> Finding:
    """Return the finding that says what both would take from the ages known; a warning where that is long.

    Args:
        times: what each would take, by name.
        settings: of the loop; a budget that is set has lines of its own.
        seen: by what, in words.
    """
    allowed = {name: getattr(settings, KEYS[name]) for name in times}
    long = [name for name, one in times.items() if one.long(allowed[name])]
    return Finding(
        id="recovery-and-shutdown",
        severity="warning" if long else "info",
        title=f"{' and '.join(SHORT[name] for name in long)} would take long, and no budget is set"
        if long
        else "what a crash recovery and a shutdown would take",
        reason="; ".join(f"{SHORT[name]} {one.describe()}" for name, one in times.items())
        + seen
        + (f"; longer than {WARN_SECONDS:g} s is called long" if long else ""),
        fix=f"where that is too long: {' and '.join(KEYS[name] for name in long)} "
        f"{'bounds' if len(long) == 1 else 'bound'} it where a lower "
        "set-point can, and less redo capacity shortens it; both cost page writes"
        if long
        else "",
    )


def statements(old: Capacity, new: Capacity) -> tuple[str, ...]:
    """Return the SETs between two pairs as SQL to paste, in the order that is safe."""
    steps: Steps = plan(old, new)
    return tuple(f"SET GLOBAL {name} = {value}" for name, value in steps)


def expected_effect(
    estimate: Estimate, set_point: float, *, facts: Facts | None = None, settings: Settings | None = None
) -> str:
    """Return what holding the set-point should bring, from the write combining measured.

    Args:
        estimate: of now.
        set_point: age ratio to hold.
        facts: of the server; with the settings they say how high the lowest M allowed lets the age come.
        settings: the loop's.
    """
    if estimate.age_ratio <= 0 or estimate.combining_exponent <= 0:
        return "no effect can be predicted yet: too little write combining was seen"
    if facts is not None and settings is not None:
        lowest, _ = allowed(settings, facts)
        highest = _held_by(lowest, estimate, LAWS.get(facts.flush_law, LEGACY))
        if highest < min(set_point, MOST_RATIO):
            bound = f"{lowest} is the lowest innodb_io_capacity_max allowed"
            if highest <= NEAR * estimate.age_ratio:
                return f"next to none, as the age cannot rise: {bound}"
            return f"{expected_effect(estimate, highest)}; the age would rise no higher, as {bound}"
    saved = 1.0 - (estimate.age_ratio / set_point) ** estimate.combining_exponent
    if abs(saved) < 0.01:  # noqa: PLR2004 - a percent is inside the noise of any server
        return "the age is at its set-point; the number of page writes stays the same"
    change = "fewer" if saved > 0 else "more, in exchange for room before sync flushing"
    return (
        f"about {abs(saved):.0%} {change} page writes per byte of redo "
        f"(age {share(estimate.age_ratio)} → {share(set_point)} of the flush limit, "
        f"combining exponent {estimate.combining_exponent:.2f})"
    )


def _held_by(io_capacity_max: int, estimate: Estimate, law: FlushLaw) -> float:
    """Return the age ratio at which the age rests with an M, pages/s, under the load of now."""
    at, exponent = math.log(estimate.age_ratio), estimate.combining_exponent
    return resting_ratio(
        law,
        lambda log_ratio: estimate.new_density * math.exp(exponent * (at - log_ratio)),
        pair=Capacity(max(1, io_capacity_max // 2), io_capacity_max),
        redo_rate=estimate.redo_rate,
        flush_rate=estimate.flush_rate,
        response=estimate.flush_response,
    )


def _held(mode: Mode) -> str:
    return "held" if mode is Mode.ACTIVE else "active mode would be held"


def _wish(
    record: TickRecord, sample: Sample, estimate: Estimate, facts: Facts, settings: Settings
) -> Finding | None:
    decision = record.decision
    wanted = decision.would
    if wanted is None and decision.kind is not DecisionKind.KEEP:
        wanted = decision.target
    if wanted is None or wanted == sample.capacity or decision.set_point is None:
        return None
    return Finding(
        id="set-io-capacity",
        severity="info",
        title=f"set {wanted.in_words}",
        reason=f"age {share(estimate.age_ratio)} of the flush limit; set-point {share(decision.set_point)}; "
        f"{estimate.demand:.0f} pages/s would hold the age",
        effect="one step of several; at the set-point: "
        f"{expected_effect(estimate, decision.set_point, facts=facts, settings=settings)}",
        fix="paste the statements in this order, or let active mode do it; "
        "the best value moves with the load",
        sql=statements(sample.capacity, wanted),
    )


def _noticed(sample: Sample, estimate: Estimate, settings: Settings, facts: Facts) -> list[Finding]:
    findings: list[Finding] = []
    if sample.io_capacity_max % sample.io_capacity:
        gain = sample.io_capacity * (sample.io_capacity_max // sample.io_capacity)
        whole = whole_pair(sample, facts, settings)
        findings.append(
            Finding(
                id="ratio-not-whole",
                severity="warning",
                title="innodb_io_capacity_max is no whole multiple of innodb_io_capacity",
                reason=f"{sample.io_capacity_max} / {sample.io_capacity} is cut to a whole number "
                f"by the server: "
                f"the flush law works with {gain}, not {sample.io_capacity_max}",
                effect="the flush law gets the gain that the setting says",
                fix=f"make the pair {whole}",
                sql=statements(sample.capacity, whole),
            )
        )
    small = small_redo(sample, redo_rate=estimate.redo_rate)
    return findings if small is None else [*findings, small]


def whole_pair(sample: Sample, facts: Facts, settings: Settings) -> Capacity:
    """Return the pair near the one in force that is whole, and that the server takes."""
    beyond = sample.io_capacity_max > facts.capacity_maximum  # as SET … = DEFAULT leaves it before MySQL 8.4
    highest = settings.max_io_capacity_max if beyond else facts.capacity_maximum
    return near(
        min(sample.io_capacity_max, highest),
        home=sample.io_capacity,
        ratio=settings.ratio,
        lowest=CAPACITY_MINIMUM,
        highest=min(2 * sample.io_capacity_max, highest),
    )


def small_redo(sample: Sample, *, redo_rate: float) -> Finding | None:
    """Return the finding for a redo log that a rate, bytes/s, fills too fast; None for a larger one."""
    if redo_rate <= 0 or sample.redo_capacity / redo_rate >= SMALL_REDO_SECONDS:
        return None
    seconds = sample.redo_capacity / redo_rate
    return Finding(
        id="redo-too-small",
        severity="warning",
        title="the redo log is too small for this load",
        reason=f"{size(sample.redo_capacity)} are filled in {seconds:.0f} s; "
        "a busy server writes a checkpoint every 7 s (MariaDB: every second)",
        effect="more write combining, fewer page writes, room for bursts; it costs disk space, and a "
        "crash recovery takes longer",
        fix=ASK_REDO,
    )
