"""What a status says, in the words that every command has for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from api.models import (
    BudgetInForce,
    DrainInForce,
    HoldInForce,
    OverlayInForce,
    OverrideInForce,
    RestoreUnderWay,
    Status,
    WindowInForce,
)
from api.outlook import Burst
from policies.flushlaw import FlushLaw
from policies.registry import LAWS
from tuner.advice import expected_effect
from tuner.core.ages import said
from tuner.core.laws import without_authority
from tuner.core.setpoint.budgets import SHORT, Durations, durations_of
from tuner.records import Capacity, Decision, Estimate, InUse, LowWaterMark, percent
from tuner.records.window import said as said_effect
from tuner.settings import Mode

MIB = 1024 * 1024


def duration(seconds: float) -> str:
    """Return a time in the two units that matter."""
    whole = round(seconds)
    for size, unit, smaller, letter in ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size}{unit}" + (f" {rest}{letter}" if rest else "")
    return f"{seconds:.1f} s" if seconds < 1 else f"{whole} s"


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number of things, as ``1 run`` and ``2 runs``.

    Args:
        number: of them.
        one: the word for one.
        more: the word for several, where it is not that with an s.
    """
    return f"{number} {one if number == 1 else more or f'{one}s'}"


def columns(rows: Sequence[Sequence[str]], *, indent: str = "  ") -> list[str]:
    """Return a table's rows as lines, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def gain_text(won: InUse) -> str:
    """Return what a suggestion won, in percent with its bounds."""
    return f"{100 * won.gain:+.2f} % ({100 * won.low:+.2f} to {100 * won.high:+.2f})"


def low_water_text(mark: LowWaterMark) -> str:
    """Return whose low-water mark is in force, and what comes back."""
    if mark.in_force is None or mark.operator is None:
        return mark.why
    if mark.ours:
        return f"{percent(mark.in_force)}, InnoBrim's; a restore puts {percent(mark.operator)} back"
    return f"{percent(mark.in_force)}, the server's own" + (f": {mark.why}" if mark.why else "")


def restore_text(restore: RestoreUnderWay, now: Capacity | None, wanted: Capacity | None) -> str:
    """Return how far a restore is: the step, where it is, where it goes, and what is left at least."""
    at = "unknown" if now is None else str(now)
    aim = "the originals" if wanted is None else str(wanted)
    left = f"{restore.steps_left} left, {duration(restore.seconds_left)} at least"
    return f"step {restore.step}, at {at} of {aim}; {left}"


def decision_text(decision: Decision) -> str:
    """Return what is done, and why."""
    return f"{decision.kind.value} ({decision.reason}): {decision.detail}"


def set_point_text(status: Status) -> str:
    """Return the age ratio that is held, and what it comes from."""
    if status.set_point is None:
        return "unknown"
    source = status.decision.set_point_source
    return f"{status.set_point:.3f}" + (f" ({source})" if source else "")


def hold_text(hold: HoldInForce) -> str:
    """Return why nothing is written, since when, and what ends that."""
    return f"{hold.code.value} for {duration(hold.seconds)}: {hold.reason}; ends by {hold.clears}"


def override_text(override: OverrideInForce) -> str:
    """Return the value that a person asked for, and how long it lasts."""
    value = "held back" if override.io_capacity_max is None else f"M {override.io_capacity_max}"
    return f"{value}, {duration(override.seconds_left)} left"


def overlay_text(overlay: OverlayInForce) -> str:
    """Return which settings a person changed, who it was, and how long that counts."""
    changed = ", ".join(f"{name} {value:.10g}" for name, value in sorted(overlay.values.items()))
    return f"{changed}; by {overlay.who}, until the daemon ends"


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
    left = f"until {stamp(window.ends)}, {duration(window.seconds_left)} left"
    return "; ".join([f"{window.name}: {asked}", *others, left])


def without_text(status: Status) -> str:
    """Return what would be without the daemon, or with it where nothing is written; empty: not known."""
    if status.without is not None:
        return status.without.text
    law = flush_law(status)
    if status.mode is not Mode.ADVISORY or law is None or not law.authority or law.sleeps:
        return ""
    if status.estimate is None or status.set_point is None:
        return "as it is now"
    return f"as it is now; at the set-point {expected_effect(status.estimate, status.set_point)}"


def flush_law(status: Status) -> FlushLaw | None:
    """Return the server's own flush law; None where it is not known."""
    return None if status.server is None else LAWS.get(status.server.flush_law)


def law_text(status: Status) -> str:
    """Return what is particular about the flush law, and what would help; empty where nothing is."""
    law = flush_law(status)
    remark = "" if law is None else without_authority(law) or law.sleeps
    if status.server is not None and status.server.managed:
        remark = remark.replace("SET GLOBAL ", "")  # whose value is right, and which the provider refuses
    return f"{law.name}: {remark}" if law is not None and remark else ""


def changes_text(status: Status) -> str:
    """Return how many writes there were, and how many there may be."""
    if status.changes_allowed is None:
        return f"{status.changes_last_hour} in the last hour"
    left = max(0, status.changes_allowed - status.changes_last_hour)
    return f"{status.changes_last_hour} in the last hour; {left} of {status.changes_allowed} left"


def predicted_texts(status: Status, found: Estimate) -> Iterator[str]:
    """Yield what a crash recovery and a shutdown would take from three ages, and may; then a burst."""
    budgets = status.budgets or {}
    for name, one in durations_of(found).items():
        yield f"{SHORT[name]} {_against(one, budgets.get(name))}"
    if status.burst is not None:
        yield burst_text(status.burst)


def burst_text(burst: Burst) -> str:
    """Return how long a burst may last before sync flushing."""
    if burst.seconds is None:
        return f"{burst.load:g} times the load is flushed as it comes"
    return f"{burst.load:g} times the load absorbed for {duration(burst.seconds)}"


def stamp(wall: float) -> str:
    """Return a Unix time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))


def to_write(status: Status) -> str:
    """Return what to type for the daemon to write."""
    resume = any(hold.resume for hold in status.holds)
    return "innobrim mode active" + (" and innobrim resume" if resume else "")


def originals_text(status: Status) -> str:
    """Return what is known of the originals; without any nothing in force is ours."""
    if status.originals is not None:
        return f"originals {pair_text(status.originals)}"
    return "originals not noted yet" if status.mode is Mode.ACTIVE else "the server's own, not InnoBrim's"


def _against(one: Durations, budget: BudgetInForce | None) -> str:
    """Return predictions from three ages, the limit set, and whether the one of now is beyond that."""
    text = one.said(duration)
    if budget is None:
        return text
    if budget.allowed is not None:
        return f"{text}; budget {budget.allowed:g} s{': EXCEEDED' if budget.exceeded else ''}"
    return f"{text}: LONG, and no budget is set" if budget.long else text


def mib(count: float) -> str:
    """Return bytes as MiB."""
    return f"{count / MIB:,.1f} MiB"


def pair_text(pair: Capacity | None) -> str:
    """Return C and M with their names."""
    return "unknown" if pair is None else f"C {pair.io_capacity}, M {pair.io_capacity_max}"
