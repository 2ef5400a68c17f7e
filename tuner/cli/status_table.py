"""The status as a person reads it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from api.budgets import BudgetInForce
from api.under_way import DrainInForce, RestoreUnderWay
from api.views import Status
from api.windows import WindowInForce
from policies.registry import LAWS
from tuner.cli import optimiser_text
from tuner.core.ages import said
from tuner.core.degraded import ENABLE
from tuner.core.foreign import WHO_CHANGED, who_changed
from tuner.records import Capacity, HoldCode
from tuner.records.window import said as said_effect
from tuner.settings import Mode

_MIB = 1024 * 1024
_WEAKER = "ages are the checkpoint's, sync flushing is not seen, the flush law is not checked"


def table(status: Status) -> str:
    """Return the status as aligned lines."""
    rows = list(_rows(status))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def duration(seconds: float) -> str:
    """Return a time in the two units that matter."""
    whole = round(seconds)
    for size, unit, smaller, letter in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size}{unit}" + (f" {rest}{letter}" if rest else "")
    return f"{seconds:.1f} s" if seconds < 1 else f"{whole} s"


def restore_text(restore: RestoreUnderWay, now: Capacity | None, wanted: Capacity | None) -> str:
    """Return how far a restore is: the step, where it is, where it goes, and what is left at least."""
    at = "unknown" if now is None else str(now)
    aim = "the originals" if wanted is None else str(wanted)
    left = f"{restore.steps_left} left, {duration(restore.seconds_left)} at least"
    return f"step {restore.step}, at {at} of {aim}; {left}"


def drain_text(drain: DrainInForce) -> str:
    """Return how far a drain is: where the age is, what is left to go, and when it ends."""
    age = "unknown" if drain.age is None else said(drain.age)
    if drain.reached is not None:
        progress = "there"
    elif drain.seconds_left is None:
        progress = "not falling yet"
    else:
        progress = f"about {duration(drain.seconds_left)} to go"
    way = f"checkpoint age {age}, from {said(drain.start_age)} down to {said(drain.target)}"
    return f"{way}; {progress}; ends in {duration(drain.ends_in)}"


def window_text(window: WindowInForce) -> str:
    """Return what an active window asks for, what of that counts otherwise, and how long it lasts."""
    asked = ", ".join(said_effect(effect, value) for effect, value in window.effects.items())
    others = [f"{effect} as {who} has it" for effect, who in window.overruled.items() if effect != "drain"]
    if "drain" in window.overruled:
        others.append(f"its drain was {window.overruled['drain']}")
    if window.waits is not None:
        others.append(f"its drain waits: {window.waits}")
    left = f"until {_stamp(window.ends)}, {duration(window.seconds_left)} left"
    return "; ".join([f"{window.name}: {asked}", *others, left])


def _rows(status: Status) -> Iterator[tuple[str, str]]:
    yield from _without_daemon(status)
    ago = f"tick {status.tick}, {duration(status.seconds_old)} ago"
    yield "mode", f"{status.mode.value}; {status.lifecycle.value}; {ago}"
    if status.advisory is not None:
        yield "advisory", f"{status.advisory}; {to_write(status)} lets the daemon write"
    if not status.holds:
        yield "holds", "none"
    for hold in status.holds:
        yield "hold", f"{hold.code.value} for {duration(hold.seconds)}: {hold.reason}; ends by {hold.clears}"
        if hold.code is HoldCode.FOREIGN_CHANGE:
            yield "who it was", WHO_CHANGED if status.server is None else who_changed(status.server)
    if status.occurrences:
        yield "going on", f"{', '.join(status.occurrences)}; nothing is learned meanwhile"
    if status.degraded:
        yield "degraded", f"InnoDB counters are off: {_WEAKER}; to turn them on: {ENABLE}"
    decision = status.decision
    yield "decision", f"{decision.kind.value} ({decision.reason}): {decision.detail}"
    if decision.would is not None:
        yield "would set", _pair(decision.would)
    then = " at that tick" if status.since else ""
    yield "io_capacity", f"{_pair(status.in_force)}{then}; {_originals(status)}"
    if status.missed is not None:
        yield "reading", f"failed: {status.missed}"
    yield from _measured(status)
    for window in status.schedule:
        yield "schedule", window_text(window)
    yield from _under_way(status)
    yield from _optimiser(status)
    yield "changes", f"{status.changes_last_hour} in the last hour"
    yield from _daemon(status)


def _optimiser(status: Status) -> Iterator[tuple[str, str]]:
    if status.optimiser is not None:
        at = status.at + status.seconds_old
        for text in optimiser_text.lines(status.optimiser, at=at, duration=duration):
            yield "optimiser", text


def _without_daemon(status: Status) -> Iterator[tuple[str, str]]:
    if status.source == "journal":
        yield "daemon", f"{_nobody(status)}, {_stamp(status.at)}, {duration(status.seconds_old)} old"
    for done in status.since:
        yield "since then", f"{_stamp(done.at)}: {done.message}"


def _nobody(status: Status) -> str:
    if status.alive:
        return "alive, but no API of it answers; this is its last tick on disk"
    return "none at work, so it is not reachable; all this is the last one's last tick on disk"


def _stamp(wall: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))


def to_write(status: Status) -> str:
    """Return what to type for the daemon to write."""
    resume = any("innobrim resume" in hold.clears for hold in status.holds)
    return "innobrim mode active" + (" and innobrim resume" if resume else "")


def _originals(status: Status) -> str:
    """Return what is known of the originals; without any nothing in force is ours."""
    if status.originals is not None:
        return f"originals {_pair(status.originals)}"
    return "originals not noted yet" if status.mode is Mode.ACTIVE else "the server's own, not InnoBrim's"


def _daemon(status: Status) -> Iterator[tuple[str, str]]:
    if status.journal is not None:
        yield "journal", f"cannot be written: {status.journal}; ticks wait in memory"
    if status.server is not None:
        server = status.server
        yield "server", f"{server.product} at {server.endpoint} ({server.identity})"
    if status.process is not None:
        process = status.process
        memory = f"{process.resident_bytes / _MIB:.1f} MiB resident"
        share = f"{100 * process.core_share:.2f} % of a core at a tick every {process.interval:g} s"
        yield "daemon", f"InnoBrim {process.version}, {memory}, {share}"


def _under_way(status: Status) -> Iterator[tuple[str, str]]:
    drain, restore, now = status.drain, status.restore, status.in_force
    if status.override is not None and status.source == "daemon":
        value = (
            "held back" if status.override.io_capacity_max is None else f"M {status.override.io_capacity_max}"
        )
        yield "override", f"{value}, {duration(status.override.seconds_left)} left"
    if drain is not None and status.source == "daemon":
        yield "drain", f"{drain_text(drain)}; for {drain.who}"
    if status.drain_ended is not None:
        yield "drain", status.drain_ended
    if restore is not None:
        yield "restore", f"{restore_text(restore, now, status.originals)}; {_paced(restore)}"


def _paced(restore: RestoreUnderWay) -> str:
    if restore.latency_limit is None:
        return "the write latency is not known: a step every few seconds"
    latency = "unknown" if restore.latency is None else f"{restore.latency * 1000:.1f} ms"
    return f"writes take {latency}, {restore.latency_limit * 1000:.1f} ms allowed"


def _measured(status: Status) -> Iterator[tuple[str, str]]:
    found, limits = status.estimate, status.limits
    if found is None or limits is None:
        return
    set_point, source = "unknown", status.decision.set_point_source
    if status.set_point is not None:
        set_point = f"{status.set_point:.3f}" + (f" ({source})" if source else "")
    yield "age ratio", f"{found.age_ratio:.3f}; set-point {set_point}; flush limit {_mib(limits.flush_limit)}"
    age = f"{_mib(found.checkpoint_age)} of {_mib(limits.stall_point)} max checkpoint age"
    yield "uncheckpointed", f"{age}; redo capacity {_mib(limits.redo_capacity)}"
    yield "redo", f"{_mib(found.redo_rate)}/s; {found.row_rate:,.0f} row changes/s"
    capacity = "not reached" if found.sustained_capacity is None else f"{found.sustained_capacity:,.0f}"
    rates = f"demand {found.demand:,.0f}; flushed {found.flush_rate:,.0f}; sustained capacity {capacity}"
    yield "pages/s", rates if _unsteered(status) else f"{rates}; authority {found.authority:.2f}"
    sync, stall = _left(found.seconds_to_sync), _left(found.seconds_to_stall)
    yield "time to", f"sync flushing {sync}; stall {stall}; at this slope"
    budgets = status.budgets or {}
    recovery = _against(found.recovery_seconds, budgets.get("recovery"))
    shutdown = _against(found.shutdown_seconds, budgets.get("shutdown"))
    yield "predicted", f"crash recovery {recovery}; shutdown {shutdown}"


def _unsteered(status: Status) -> bool:
    """Tell whether no M moves the age of this server, whatever its device gives."""
    law = LAWS.get("" if status.server is None else status.server.flush_law)
    return law is not None and not law.authority


def _against(seconds: float, budget: BudgetInForce | None) -> str:
    """Return a prediction, the limit set for it, and whether it is beyond that."""
    if budget is None:
        return duration(seconds)
    beyond = ": EXCEEDED" if budget.exceeded else ""
    return f"{duration(seconds)} of at most {budget.allowed:g} s{beyond}"


def _left(seconds: float | None) -> str:
    return "not in sight" if seconds is None else duration(seconds)


def _mib(count: float) -> str:
    return f"{count / _MIB:,.1f} MiB"


def _pair(pair: Capacity | None) -> str:
    return "unknown" if pair is None else f"C {pair.io_capacity}, M {pair.io_capacity_max}"
