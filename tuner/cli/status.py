"""``innobrim status``: what the loop does and why, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from api.models import (
    BudgetInForce,
    Limits,
    OptimiserUnderWay,
    OverlayInForce,
    OverrideInForce,
    RestoreUnderWay,
    Status,
    TrialShown,
    WindowInForce,
)
from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from tuner.cli.answer import say, say_json
from tuner.cli.client import DaemonClient, NoDaemon, Where, daemon_options, require_unnamed
from tuner.cli.offline import status_from_journal
from tuner.cli.wording import (
    age_text,
    counted,
    drain_text,
    duration,
    gain_text,
    pair_text,
    restore_text,
    stamp,
    to_write,
)
from tuner.core.decide.wishes import ON_COURSE
from tuner.core.estimate.trends import HOURS
from tuner.core.laws import why_m_moves_no_age
from tuner.core.memory import Known
from tuner.core.setpoint.budgets import SHORT, Durations, durations_of
from tuner.core.trials.evidence import describe
from tuner.core.trials.paired import side_text
from tuner.findings.remedies import ENABLE, report, who_changed
from tuner.records import (
    Decision,
    Estimate,
    Facts,
    HoldCode,
    LowWaterMark,
    OptimiserHealth,
    OptimiserPhase,
    OptimiserProgress,
    percent,
)
from tuner.records.hook import HookHealth
from tuner.records.window import said as said_effect
from tuner.servers.known import NEWEST_READ, law_and_level
from tuner.settings import Mode
from tuner.system.amounts import share, size
from tuner.system.printable import printable

_WEAKER = "the age shown is the checkpoint age, sync flushing is not seen, the flush law is not checked"


@click.command()
@daemon_options
def status(where: Where, *, as_json: bool) -> None:
    """Show what the loop does and why; without a daemon, its last tick from the journal.

    Example: innobrim status --json
    """
    daemon = DaemonClient(where)
    try:
        found = daemon.get("/v1/status", Status)
    except NoDaemon as nobody:
        require_unnamed(where, nobody)
        found = status_from_journal(daemon.config, nobody)
        say(f"warning: {nobody.message}", err=True)
    if as_json:
        say_json(found)
    else:
        print(table(found))


def table(status: Status) -> str:
    """Return the status as aligned lines; words that others chose end none of them."""
    found = list(rows(status))
    width = max(len(name) for name, _ in found)
    return "\n".join(f"{name:<{width}}  {printable(text)}" for name, text in found)


def rows(status: Status) -> Iterator[tuple[str, str]]:
    """Yield label and words of each line."""
    yield from _without_daemon(status)
    if status.process is not None and status.process.speed != 1.0:
        yield "time", f"runs {status.process.speed:g} times as fast: this is a demo, not your server"
    ago = f"last tick {duration(status.seconds_old)} ago, number {status.tick}"
    yield "mode", f"{status.mode.value}; {status.lifecycle.value}; {ago}"
    if status.advisory is not None:
        yield "advisory", f"the reason: {status.advisory}; to let it write: {to_write(status)}"
    if not status.holds:
        yield "holds", "none"
    for hold in status.holds:
        lasts = f"{hold.code.value.replace('_', ' ')} for {duration(hold.seconds)}"
        yield "hold", f"{lasts}: {hold.reason}; what ends it: {hold.clears}"
        if hold.code is HoldCode.FOREIGN_CHANGE:
            yield "who did it", who_changed(status.server)
    if status.occurrences:
        yield "going on", f"{', '.join(status.occurrences)}; until that is over, nothing is learned"
    if status.degraded:
        yield "degraded", _degraded(status.server)
    yield from _decided(status.decision)
    yield from _in_force(status)
    if status.missed is not None and not any(hold.code is HoldCode.STALE for hold in status.holds):
        yield "reading", f"failed: {status.missed}"  # a stale hold's reason has it already
    yield from _measured(status)
    for window in status.schedule:
        yield "schedule", _window(window)
    yield from _under_way(status)
    yield from _learning(status)
    yield "changes", _changes(status)
    yield from _daemon(status)


def _degraded(facts: Facts | None) -> str:
    if facts is not None and facts.absent_counters:
        return f"{facts.without_counters}: {_WEAKER}; {report(facts)}"
    return f"InnoDB's counters are off: {_WEAKER}; to turn them on: {ENABLE}"


def _decided(decision: Decision) -> Iterator[tuple[str, str]]:
    yield "decision", f"{decision.kind.in_words}: {decision.detail}"
    if decision.policy:
        yield "policy", f"{decision.policy}; innobrim policies explains it"
    if decision.would is not None:
        yield "would set", pair_text(decision.would)


def _in_force(status: Status) -> Iterator[tuple[str, str]]:
    then = " at that tick" if status.since else ""
    yield "in force", f"{pair_text(status.in_force)}{then}; {_originals(status)}"
    if status.low_water is not None:
        yield "low water", _low_water(status.low_water)
    if (growth := status.growth) is not None:
        there = "" if growth.in_force is None else f"{size(growth.in_force)}; "
        found = "" if growth.found is None else f", from {size(growth.found)} found"
        again = "" if growth.next_try is None else f"; next try {stamp(growth.next_try)}"
        yield "redo log", f"{there}grow_to {size(growth.grow_to)}{found}: {growth.text}{again}"
    if without := _without(status):
        yield "untouched", without


def _learning(status: Status) -> Iterator[tuple[str, str]]:
    if status.optimiser is not None:
        at = status.at + status.seconds_old
        for text in optimiser_texts(status.optimiser, at=at):
            yield "optimiser", text
    if status.ledger is not None:
        yield "page writes", f"{status.ledger.text}; since {stamp(status.ledger.since)}"
    if status.learned is not None:
        optimiser = status.optimiser
        used = optimiser is not None and optimiser.progress.in_use is not None
        yield "learned", learned_text(status.learned, in_use=used)
    for text in status.forgotten:
        yield "forgotten", text


def _without_daemon(status: Status) -> Iterator[tuple[str, str]]:
    if status.source == "journal":
        nobody = "none is running; this is the last tick that one wrote to disk"
        if status.alive:
            nobody = "running, but its API does not answer; this is its last tick on disk"
        yield "daemon", f"{nobody}, {stamp(status.at)}, {duration(status.seconds_old)} old"
    for done in status.since:
        yield "since then", f"{stamp(done.at)}: {done.message}"


def _daemon(status: Status) -> Iterator[tuple[str, str]]:
    if status.journal is not None:
        yield "journal", f"cannot be written: {status.journal}; the newest ticks are kept in memory"
    for hook in status.hooks:
        if hook.failing_since is not None:
            yield "hook", _hook(hook)
    if status.server is not None:
        server = status.server
        yield "server", f"{server.product} at {server.endpoint} ({server.identity})"
        if server.family in NEWEST_READ:  # a simulated one is none that could have been seen
            yield "support", law_and_level(server)
        if server.own_limits:
            yield "limits", f"taken from the server itself: {'; '.join(server.own_limits)}"
    if status.process is not None:
        process = status.process
        memory = f"{size(process.resident_bytes)} resident"
        share = f"{100 * process.core_share:.2f} % of a core at a tick every {process.interval:g} s"
        yield "daemon", f"InnoBrim {process.version}, {memory}, {share}"


def _hook(hook: HookHealth) -> str:
    left = f"{counted(hook.waiting, 'event')} waiting, {hook.dropped} dropped"
    return f"{hook.name} has failed since {stamp(hook.failing_since or 0.0)}: {hook.error}; {left}"


def _under_way(status: Status) -> Iterator[tuple[str, str]]:
    drain, restore, now = status.drain, status.restore, status.in_force
    if status.override is not None and status.source == "daemon":
        yield "override", _override(status.override)
    if status.overlay is not None and status.source == "daemon":
        yield "settings", _overlay(status.overlay)
    if drain is not None and status.source == "daemon":
        yield "drain", f"{drain_text(drain)}; for {drain.who}"
    if status.drain_ended is not None:
        yield "drain", status.drain_ended
    if status.trial is not None:
        yield "trial", _trial(status.trial)
    if restore is not None:
        yield "restore", f"{restore_text(restore, now, status.originals)}; {_paced(restore)}"


def _trial(shown: TrialShown) -> str:
    progress = shown.progress
    if not progress.running:
        why = f"; {shown.ended}" if shown.ended else ""
        return f"ended {stamp(progress.result.ended or 0.0)}: {shown.verdict}{why}"
    now = f"waits: {progress.waits}" if progress.waits else f"now a block of {side_text(progress.side)}"
    return f"{now}; ends {stamp(progress.ends or 0.0)}; so far: {shown.verdict}"


def _paced(restore: RestoreUnderWay) -> str:
    if restore.latency_limit is None:
        return "the write latency is not known, so a step follows every few seconds"
    latency = "unknown" if restore.latency is None else f"{restore.latency * 1000:.1f} ms"
    return f"writes take {latency}, {restore.latency_limit * 1000:.1f} ms allowed"


def _measured(status: Status) -> Iterator[tuple[str, str]]:
    if remark := _law(status):
        yield "flush law", remark
    estimate, limits = status.estimate, status.limits
    if estimate is None or limits is None:
        return
    yield "age", age_text(status)
    yield "uncheckpointed", _uncheckpointed(estimate, limits)
    yield "redo", f"{size(estimate.redo_rate)}/s; {estimate.row_rate:,.0f} row changes/s"
    most = "not reached yet" if estimate.sustained_capacity is None else f"{estimate.sustained_capacity:,.0f}"
    flushed = f"{estimate.flush_rate:,.0f} flushed"
    law = _flush_law(status)
    unsteered = law is not None and not law.m_moves_age  # no M moves the age, whatever the device gives
    if not unsteered:
        flushed = f"{flushed}, {share(estimate.authority)} of what the flush law asks for"
    yield "pages/s", f"{flushed}; {estimate.demand:,.0f} would hold the age; limit of the device {most}"
    yield "time left", _time_left(status, estimate)
    for text in _predicted(status, estimate):
        yield "predicted", text
    for text in status.unkept:
        yield "budget", text


def _uncheckpointed(estimate: Estimate, limits: Limits) -> str:
    most = f"max checkpoint age {size(limits.stall_point)}; redo capacity {size(limits.redo_capacity)}"
    return f"{size(estimate.checkpoint_age)}; {most}"


NEAR_SECONDS = 60.0
"""Trouble that the slope has so near is said, wherever the age is heading."""


def _time_left(status: Status, estimate: Estimate) -> str:
    """Return when trouble begins at this slope; where the loop has the age come to rest before, that."""
    ahead, sync = status.decision.terms.get("error_ahead"), estimate.seconds_to_sync
    steers, aim = status.mode is Mode.ACTIVE and not status.holds, status.set_point
    rises = sync is not None and sync > NEAR_SECONDS
    if rises and steers and ahead is not None and ahead <= ON_COURSE and aim is not None:
        rests = share(max(0.0, aim + ahead))
        return f"no sync flushing and no stall in sight: the age is heading for {rests} of the flush limit"
    if sync is None and estimate.seconds_to_stall is None:
        return "no sync flushing and no stall in sight"
    stall = _left(estimate.seconds_to_stall)
    return f"until sync flushing {_left(sync)}; until a stall {stall}; if the age goes on like this"


def _left(seconds: float | None) -> str:
    return "not in sight" if seconds is None else duration(seconds)


def learned_text(known: Known, *, in_use: bool) -> str:
    """Return what was learned in one line; ``in_use``: what won a trial is in force."""
    often = f" (each seen up to {known.visits} times)" if known.visits > 1 else ""
    found = [
        f"load of {known.hours} of the {HOURS} hours of a week{often}",
        f"bursts up to {size(known.burst_bytes)}" if known.burst_bytes else "no burst",
        "no crash recovery measured"
        if known.recovery_version is None
        else f"a crash recovery takes {known.recovery_factor:.2f} of the predicted time, measured on "
        f"{known.recovery_version}",
    ]
    if known.proven_version is not None:
        found.append(f"flush law verified on {known.proven_version}")
    if known.trials_since is not None:
        since = f"{datetime.fromtimestamp(known.trials_since, UTC):%-d %b %Y}"
        won = f", {known.wins} won" if known.wins else ""
        used = ", one in use" if in_use else ""
        found.append(f"{counted(known.trials, 'trial')} since {since}{won}{used}")
    if known.aside:
        found.append(f"trials of {', '.join(known.aside)} set aside")
    return "; ".join(found)


_OFFERS = {
    "off": "",
    "asleep": "",
    "thinking": "its process is working",
}


def optimiser_texts(optimiser: OptimiserUnderWay, *, at: float) -> Iterator[str]:
    """Yield what the outer loop does at a Unix time, and what is in use."""
    progress = optimiser.progress
    health = "" if optimiser.process is None else _health(optimiser.process, at=at)
    yield f"{_doing(progress)}; {progress.known} trials known" + (f"; {health}" if health else "")
    won = progress.in_use
    if won is not None:
        yield f"in use: {describe(won.suggestion)}; it won {gain_text(won)} over the analytic set-point"


def _doing(progress: OptimiserProgress) -> str:
    if progress.phase is OptimiserPhase.TRIAL and progress.trying is not None:
        blocks = f"{progress.blocks} of at most {progress.most_blocks} blocks done"
        now = "a suggested" if progress.suggested else "an analytic"
        return f"trial {progress.number}: {describe(progress.trying)}; {blocks}, now {now} one"
    if progress.phase is OptimiserPhase.ASKING:
        return f"asks for a suggestion for trial {progress.number}"
    if progress.phase is OptimiserPhase.BARRED:
        return f"no trial: {progress.why}"
    if progress.rest_seconds > 0.0:
        return f"waits; the next trial begins in {duration(progress.rest_seconds)} at the earliest"
    return "waits until the load has been steady for some minutes"


def _health(health: OptimiserHealth, *, at: float) -> str:
    why = " ".join(health.why.split())  # an exception has several lines at times
    text = _OFFERS.get(health.state, health.state)
    if health.state == "dead":
        left = max(0.0, (health.until or at) - at)
        text = f"its process is dead for {duration(left)} more: {why}"
    died = f"it died {health.deaths} times, last: {why}" if health.deaths and health.state != "dead" else ""
    return "; ".join(part for part in (text, died) if part)


def _low_water(mark: LowWaterMark) -> str:
    if mark.in_force is None or mark.operator is None:
        return mark.why
    if mark.ours:
        return f"{percent(mark.in_force)}, set by InnoBrim; a restore sets {percent(mark.operator)} again"
    return f"{percent(mark.in_force)}, the server's own" + (f": {mark.why}" if mark.why else "")


def _override(override: OverrideInForce) -> str:
    value = "held back" if override.io_capacity_max is None else f"io_capacity_max {override.io_capacity_max}"
    return f"{value}, {duration(override.seconds_left)} left"


def _overlay(overlay: OverlayInForce) -> str:
    changed = ", ".join(f"{name} {value:.10g}" for name, value in sorted(overlay.values.items()))
    return f"{changed}; by {overlay.who}, until the daemon ends"


def _window(window: WindowInForce) -> str:
    asked = ", ".join(said_effect(effect, value) for effect, value in window.effects.items())
    others = [f"{effect} comes from {who}" for effect, who in window.overruled.items() if effect != "drain"]
    if "drain" in window.overruled:
        others.append(f"its drain was {window.overruled['drain']}")
    if window.waits is not None:
        others.append(f"its drain waits: {window.waits}")
    left = f"until {stamp(window.ends)}, {duration(window.seconds_left)} left"
    return "; ".join([f"{window.name}: {asked}", *others, left])


def _without(status: Status) -> str:
    if status.without is not None:
        return status.without.text
    law = _flush_law(status)
    if status.mode is not Mode.ADVISORY or law is None or not law.m_moves_age or law.sleeps:
        return ""
    expected = f". At the set-point: {status.effect}" if status.effect else ""
    return f"as now: nothing is written{expected}"


def _flush_law(status: Status) -> FlushLaw | None:
    return None if status.server is None else LAWS.get(status.server.flush_law)


def _law(status: Status) -> str:
    law = _flush_law(status)
    remark = "" if law is None else why_m_moves_no_age(law) or law.sleeps
    if status.server is not None and status.server.managed:
        remark = remark.replace("SET GLOBAL ", "")  # whose value is right, and which the provider refuses
    return f"{law.name}: {remark}" if law is not None and remark else ""


def _changes(status: Status) -> str:
    made = f"{status.changes_last_hour} in the last hour"
    if status.changes_allowed is None:
        return made
    left = max(0, status.changes_allowed - status.changes_last_hour)
    others = "not counted: emergencies and the way back, trials, overrides, parks, restores"
    return f"{made}; {left} of {status.changes_allowed} left; {others}"


def _predicted(status: Status, estimate: Estimate) -> Iterator[str]:
    budgets = status.budgets or {}
    for name, one in durations_of(estimate).items():
        yield f"{SHORT[name]} {_against(one, budgets.get(name))}"
    if (burst := status.burst) is not None:
        burst_of = f"a burst of {burst.load:g} times the load"
        if burst.seconds is None:
            yield f"{burst_of} never leads to sync flushing"
        else:
            yield f"{burst_of} leads to sync flushing in {duration(burst.seconds)}"


def _against(one: Durations, budget: BudgetInForce | None) -> str:
    text = one.describe(duration)
    if budget is None:
        return text
    if budget.allowed is not None:
        return f"{text}; budget {budget.allowed:g} s{': EXCEEDED' if budget.exceeded else ''}"
    return f"{text}: LONG, and no budget is set" if budget.long else text


def _originals(status: Status) -> str:
    if status.originals is not None:
        return f"originals: {pair_text(status.originals)}"
    return "originals not noted yet" if status.mode is Mode.ACTIVE else "not set by InnoBrim"
