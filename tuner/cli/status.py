"""``innobrim status``: what the loop does and why, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from api.models import OptimiserUnderWay, RestoreUnderWay, Status
from tuner.cli.answer import say, say_json
from tuner.cli.client import Daemon, NoDaemon, Where, daemon_options, require_unnamed
from tuner.cli.offline import status_from_journal
from tuner.cli.wording import (
    MIB,
    changes_text,
    decision_text,
    drain_text,
    duration,
    flush_law,
    gain_text,
    hold_text,
    law_text,
    low_water_text,
    mib,
    originals_text,
    overlay_text,
    override_text,
    pair_text,
    predicted_texts,
    restore_text,
    set_point_text,
    stamp,
    to_write,
    window_text,
    without_text,
)
from tuner.core.estimate.trends import HOURS
from tuner.core.memory import Known
from tuner.core.trials.evidence import said
from tuner.printable import printable
from tuner.records import Decision, HoldCode, OptimiserHealth, OptimiserPhase, OptimiserProgress
from tuner.remedies import ENABLE, who_changed

_WEAKER = "ages are the checkpoint's, sync flushing is not seen, the flush law is not checked"


@click.command()
@daemon_options
def status(where: Where, *, as_json: bool) -> None:
    """Show what the loop does and why; without a daemon, its last tick from the journal.

    Example: innobrim status --json
    """
    daemon = Daemon(where)
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
    ago = f"tick {status.tick}, {duration(status.seconds_old)} ago"
    yield "mode", f"{status.mode.value}; {status.lifecycle.value}; {ago}"
    if status.advisory is not None:
        yield "advisory", f"{status.advisory}; {to_write(status)} lets the daemon write"
    if not status.holds:
        yield "holds", "none"
    for hold in status.holds:
        yield "hold", hold_text(hold)
        if hold.code is HoldCode.FOREIGN_CHANGE:
            yield "who it was", who_changed(status.server)
    if status.occurrences:
        yield "going on", f"{', '.join(status.occurrences)}; nothing is learned meanwhile"
    if status.degraded:
        yield "degraded", f"InnoDB counters are off: {_WEAKER}; to turn them on: {ENABLE}"
    yield from _decided(status.decision)
    yield from _in_force(status)
    if status.missed is not None:
        yield "reading", f"failed: {status.missed}"
    yield from _measured(status)
    for window in status.schedule:
        yield "schedule", window_text(window)
    yield from _under_way(status)
    yield from _learning(status)
    yield "changes", changes_text(status)
    yield from _daemon(status)


def _decided(decision: Decision) -> Iterator[tuple[str, str]]:
    yield "decision", decision_text(decision)
    if decision.policy:
        yield "policy", f"{decision.policy}; innobrim policies says what it does"
    if decision.would is not None:
        yield "would set", pair_text(decision.would)


def _in_force(status: Status) -> Iterator[tuple[str, str]]:
    then = " at that tick" if status.since else ""
    yield "io_capacity", f"{pair_text(status.in_force)}{then}; {originals_text(status)}"
    if status.low_water is not None:
        yield "low water", low_water_text(status.low_water)
    if without := without_text(status):
        yield "without it", without


def _learning(status: Status) -> Iterator[tuple[str, str]]:
    if status.optimiser is not None:
        at = status.at + status.seconds_old
        for text in optimiser_texts(status.optimiser, at=at):
            yield "optimiser", text
    if status.learned is not None:
        yield "learned", learned_text(status.learned, in_use=_in_use(status))
    for text in status.forgotten:
        yield "forgotten", text


def _in_use(status: Status) -> bool:
    return status.optimiser is not None and status.optimiser.progress.in_use is not None


def _without_daemon(status: Status) -> Iterator[tuple[str, str]]:
    if status.source == "journal":
        yield "daemon", f"{_nobody(status)}, {stamp(status.at)}, {duration(status.seconds_old)} old"
    for done in status.since:
        yield "since then", f"{stamp(done.at)}: {done.message}"


def _nobody(status: Status) -> str:
    if status.alive:
        return "alive, but no API of it answers; this is its last tick on disk"
    return "none at work, so it is not reachable; all this is the last one's last tick on disk"


def _daemon(status: Status) -> Iterator[tuple[str, str]]:
    if status.journal is not None:
        yield "journal", f"cannot be written: {status.journal}; ticks wait in memory"
    if status.server is not None:
        server = status.server
        yield "server", f"{server.product} at {server.endpoint} ({server.identity})"
    if status.process is not None:
        process = status.process
        memory = f"{process.resident_bytes / MIB:.1f} MiB resident"
        share = f"{100 * process.core_share:.2f} % of a core at a tick every {process.interval:g} s"
        yield "daemon", f"InnoBrim {process.version}, {memory}, {share}"


def _under_way(status: Status) -> Iterator[tuple[str, str]]:
    drain, restore, now = status.drain, status.restore, status.in_force
    if status.override is not None and status.source == "daemon":
        yield "override", override_text(status.override)
    if status.overlay is not None and status.source == "daemon":
        yield "settings", overlay_text(status.overlay)
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
    if law := law_text(status):
        yield "flush law", law
    found, limits = status.estimate, status.limits
    if found is None or limits is None:
        return
    set_point = f"set-point {set_point_text(status)}"
    yield "age ratio", f"{found.age_ratio:.3f}; {set_point}; flush limit {mib(limits.flush_limit)}"
    age = f"{mib(found.checkpoint_age)} of {mib(limits.stall_point)} max checkpoint age"
    yield "uncheckpointed", f"{age}; redo capacity {mib(limits.redo_capacity)}"
    yield "redo", f"{mib(found.redo_rate)}/s; {found.row_rate:,.0f} row changes/s"
    capacity = "not reached" if found.sustained_capacity is None else f"{found.sustained_capacity:,.0f}"
    rates = f"demand {found.demand:,.0f}; flushed {found.flush_rate:,.0f}; sustained capacity {capacity}"
    yield "pages/s", rates if _unsteered(status) else f"{rates}; authority {found.authority:.2f}"
    sync, stall = _left(found.seconds_to_sync), _left(found.seconds_to_stall)
    yield "time to", f"sync flushing {sync}; stall {stall}; at this slope"
    for text in predicted_texts(status, found):
        yield "predicted", text
    for text in status.unkept:
        yield "budget", text


def _unsteered(status: Status) -> bool:
    """Tell whether no M moves the age of this server, whatever its device gives."""
    law = flush_law(status)
    return law is not None and not law.authority


def _left(seconds: float | None) -> str:
    return "not in sight" if seconds is None else duration(seconds)


def learned_text(known: Known, *, in_use: bool) -> str:
    """Return what was learned in one line.

    Args:
        known: the figures.
        in_use: what won a trial is in force.
    """
    return "; ".join(_learned_parts(known, in_use=in_use))


def _learned_parts(known: Known, *, in_use: bool) -> Iterator[str]:
    often = f", seen up to {known.visits} times" if known.visits > 1 else ""
    yield f"{known.hours} of {HOURS} hours of the week{often}"
    yield f"bursts up to {mib(known.burst_bytes)}" if known.burst_bytes else "no burst"
    if known.recovery_version is None:
        yield "no crash recovery measured"
    else:
        yield f"recovery factor {known.recovery_factor:.2f}, measured on {known.recovery_version}"
    if known.proven_version is not None:
        yield f"flush law verified on {known.proven_version}"
    if known.trials_since is not None:
        since = f"{datetime.fromtimestamp(known.trials_since, UTC):%-d %b %Y}"
        won = f", {known.wins} won" if known.wins else ""
        trials = "1 trial" if known.trials == 1 else f"{known.trials} trials"
        yield f"{trials} since {since}{won}{', one in use' if in_use else ''}"
    if known.aside:
        yield f"trials of {', '.join(known.aside)} set aside"


_OFFERS = {
    "off": "",
    "asleep": "",
    "thinking": "its process is thinking",
}


def optimiser_texts(optimiser: OptimiserUnderWay, *, at: float) -> Iterator[str]:
    """Yield what the outer loop does at a Unix time, and what is in use."""
    progress = optimiser.progress
    health = "" if optimiser.process is None else _health(optimiser.process, at=at)
    yield f"{_doing(progress)}; {progress.known} trials known" + (f"; {health}" if health else "")
    won = progress.in_use
    if won is not None:
        yield f"in use: {said(won.suggestion)}; it won {gain_text(won)} over the analytic set-point"


def _doing(progress: OptimiserProgress) -> str:
    if progress.phase is OptimiserPhase.TRIAL and progress.trying is not None:
        blocks = f"{progress.blocks} of at most {progress.most_blocks} blocks done"
        now = "a suggested" if progress.suggested else "an analytic"
        return f"trial {progress.number}: {said(progress.trying)}; {blocks}, now {now} one"
    if progress.phase is OptimiserPhase.ASKING:
        return f"asks for a suggestion for trial {progress.number}"
    if progress.phase is OptimiserPhase.BARRED:
        return f"no trial: {progress.why}"
    if progress.rest_seconds > 0.0:
        return f"idle, a trial in {duration(progress.rest_seconds)} at the earliest"
    return "idle until the load has been quiet for some minutes"


def _health(health: OptimiserHealth, *, at: float) -> str:
    why = " ".join(health.why.split())  # an exception has several lines at times
    text = _OFFERS.get(health.state, health.state)
    if health.state == "dead":
        left = max(0.0, (health.until or at) - at)
        text = f"its process is dead for {duration(left)} more: {why}"
    died = f"it died {health.deaths} times, last: {why}" if health.deaths and health.state != "dead" else ""
    return "; ".join(part for part in (text, died) if part)
