"""What active mode would bring: page writes saved, and commits gained, from a time of watching.

It is the row of today's redo log in the table of ``sizing``, and whether that is a gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.core.laws import NOT_MOVED, law_of
from tuner.core.state import State
from tuner.findings.advice import SMALL_REDO_SECONDS
from tuner.findings.combining import Figure
from tuner.findings.devicewrites import DeviceWrites
from tuner.findings.load import LEAST_PAGES, SHORT_SECONDS, Load, load_of
from tuner.findings.providers import kept_by
from tuner.findings.sizing import FARTHEST, Size, Sure, Table, last_seen, set_point_of
from tuner.records import HoldCode, Sample, TickRecord
from tuner.system.amounts import share

WORTH_PAGES, WORTH_COMMITS = 0.05, 0.02
"""Share of the page writes, or of the commits, from which on a gain is one."""

TELLING_SECONDS = 300
"""A time of watching that mostly shows whether commits wait for the device, seconds."""

TOLD = 0.005
"""A smaller share is none once it is rounded."""

IN_FULL = 0.9
"""Share of M, or of C, that is flushed from which on it, and not the device, holds flushing back."""

SOONEST, LATEST = 5, 60
"""Minutes after which a rising age is looked at again, at least and at most."""

Answer = Literal["gain", "nothing", "rising", "no-load", "cannot"]


class Verdict(Struct, frozen=True):
    """What active mode would bring to this server under the load seen."""

    answer: Annotated[
        Answer,
        Meta(description="gain, nothing to gain, the age still rises, no load seen, or cannot be controlled"),
    ]
    because: Annotated[str, Meta(description="why, in words")]
    page_writes_saved: Annotated[
        Figure | None,
        Meta(description="share of the pages written for the same work; below 0: more; null: not foretold"),
    ] = None
    commits_gained: Annotated[
        Figure | None,
        Meta(description="share of today's commits/s gained; null where nothing is foretold of them"),
    ] = None
    device_is_limit: Annotated[
        bool | None, Meta(description="commits wait for the device; null where the time did not show it")
    ] = None
    sure: Annotated[Sure, Meta(description="how sure the figures are: high, medium or low")] = "low"
    depends: Annotated[
        tuple[str, ...], Meta(description="what the figures depend on and the time seen cannot show")
    ] = ()
    brought: Annotated[
        bool, Meta(description="the loop was active: the figures are what it did bring, and not foretold")
    ] = False


NO_LOAD = Verdict("no-load", f"fewer than {LEAST_PAGES:g} pages a second became dirty")


def saved_against(load: Load, baseline: float) -> Verdict:
    """Return what an age that active mode holds saves against the settings found.

    Args:
        load: a time of active mode.
        baseline: age ratio at which the settings found come to rest.
    """
    ours = f"active mode held an age of {share(load.age_ratio)} of the flush limit"
    held = f"{ours}; the originals hold {share(baseline)}"
    there = load.combining.at(baseline * load.flush_limit)
    saved = Figure(
        *(1.0 - load.density / (one + load.fixed_density) for one in (there.low, there.likeliest, there.high))
    )
    return Verdict(
        "gain" if saved.likeliest >= WORTH_PAGES else "nothing", held, saved, sure="medium", brought=True
    )


UNCONTROLLED = frozenset({HoldCode.INERT, HoldCode.RESIZING})
"""Holds that last while the server is as it is; a mismatch is one once it is more than not yet verified."""


def judged(records: Sequence[TickRecord], state: State, writes: DeviceWrites | None = None) -> Verdict:
    """Return what active mode would bring, by the ticks of a time of watching and the state after them.

    Args:
        records: of the time watched.
        state: after it.
        writes: what was written to the device meanwhile; None where that was not counted.
    """
    lasting = UNCONTROLLED | {HoldCode.MODEL_MISMATCH} if state.gate.mismatched else UNCONTROLLED
    held = [hold.reason for hold in records[-1].holds if hold.code in lasting]
    if held:
        return Verdict("cannot", "; ".join(held), sure="high")
    load, last = load_of(records, writes), last_seen(records)
    if load is None or last is None:
        return verdict(load, state, None, set_point=1.0)
    return verdict(load, state, last[0], set_point=set_point_of(load, state, *last))


def verdict(load: Load | None, state: State, last: Sample | None, *, set_point: float) -> Verdict:
    """Return what active mode would bring.

    Args:
        load: the time of watching; None where there was none.
        state: of which facts, law and settings count.
        last: the newest reading; None without one.
        set_point: age ratio that active mode would hold under the load that it comes to.
    """
    found = _verdict(load, state, last, set_point)
    kept = kept_by(state.facts.managed) if found.answer == "gain" else ""
    return replace(found, depends=(kept, *found.depends)) if kept else found


def _verdict(load: Load | None, state: State, last: Sample | None, set_point: float) -> Verdict:
    if load is None or last is None:
        return NO_LOAD
    limit = _limited_by_m(load, last, state)
    if not law_of(state).m_moves_age:
        if limit:
            return Verdict("gain", limit, sure="low", depends=(BEYOND_M,))
        return Verdict("nothing", f"{NOT_MOVED} below the flush limit here", sure="high")
    size, limited = Table(load, state, last, set_point=set_point).size(1.0), load.page_cost.device_is_limit
    commits = size.commits_gained if limited else None if limited is None else Figure(0.0, 0.0, 0.0)
    held = min(set_point, size.age_ratio)
    at = f"the age is {share(load.age_ratio)} of the flush limit, and active mode would hold {share(held)}"
    found = Verdict(
        "nothing",
        f"{at}: there is little to save",
        size.page_writes_saved,
        commits,
        limited,
        size.sure,
        _depends(load, size, last, state),
    )
    if load.age_ratio > held:
        return _from_above(found, load, state, last, at)
    if not worth_it(found.page_writes_saved, commits):
        return found
    return _from_below(found, load, state, at)


def _from_below(found: Verdict, load: Load, state: State, at: str) -> Verdict:
    """Return the gain where the age is below what active mode would hold; no figure while it still rises."""
    if load.rising is None:
        written = f"{load.flush_rate + load.lru_rate:,.0f} pages/s were written while it was watched"
        return replace(found, answer="gain", because=f"{at}; {written}")
    why = _rises(*load.rising, load, state)
    return replace(
        found, answer="rising", because=why, page_writes_saved=None, commits_gained=None, sure="low"
    )


def _rises(first: float, last: float, load: Load, state: State) -> str:
    """Return why an age that still rises tells no gain, and when it may have come to rest."""
    rests = None if state.estimate is None else state.estimate.baseline_ratio
    way = max(0.0, (rests or 1.0) - last) / (last - first) * 2.0 / 3.0 * load.seconds
    minutes = min(LATEST, max(SOONEST, math.ceil(2.0 * way / 60.0)))
    return (
        f"the age still rises, from {share(first)} to {share(last)} of the flush limit while it was watched: "
        f"{load.dirty_rate:.0f} pages/s became dirty and {load.flush_rate + load.lru_rate:.0f} were "
        f"written, so that any figure would be too high; ask again in {minutes} minutes"
    )


def _from_above(found: Verdict, load: Load, state: State, last: Sample, at: str) -> Verdict:
    """Return what is gained where the age is above what active mode would hold: nothing but waits."""
    if load.sync_share > WORTH_PAGES and state.facts.sync_stalls:
        why = f"{share(load.sync_share)} of the pages are sync-flushed, and writers wait for that; {at}"
        stalls = Figure(0.0, 0.5 * load.sync_share, 1.0 / max(0.01, 1.0 - load.sync_share))
        return replace(
            found, answer="gain", because=why, commits_gained=stalls, device_is_limit=None, sure="low"
        )
    if limit := _limited_by_m(load, last, state):
        return replace(found, answer="gain", because=f"{limit}; {at}", commits_gained=None, sure="low")
    if last.redo_capacity < SMALL_REDO_SECONDS * load.redo_rate:
        why = "the redo log is too small for this load, and no innodb_io_capacity_max changes that"
        return replace(found, because=f"{why}; {at}")
    if last.degraded and load.age_ratio * last.flush_limit >= _writers_wait_from(state, last):
        return replace(found, answer="gain", because=f"writers wait for redo space; {at}", sure="low")
    saved = found.page_writes_saved
    pages = "about as many pages"
    if saved is not None and saved.likeliest <= -TOLD:
        pages = f"about {-saved.likeliest:.0%} more pages"
    why = f"the age is above what active mode would hold: it would write {pages}, for steadier commits"
    return replace(found, because=f"{why}; {at}")


def _limited_by_m(load: Load, last: Sample, state: State) -> str:
    """Return in words that writers wait because nothing flushes faster than set; empty where that is not so.

    While all writers wait, MySQL 5.7 counts as idle and flushes C pages a second (``buf_flush_page_cleaner_
    coordinator``, ``srv_check_activity``); MariaDB flushes M beyond its flush limit, whoever waits.
    """
    idle = state.facts.sync_stalls and not law_of(state).lists_written
    name = "innodb_io_capacity" if idle else "innodb_io_capacity_max"
    most = last.io_capacity if idle else last.io_capacity_max
    if last.flush_sync or load.space_waits <= 0.0 or load.flush_rate < IN_FULL * most:
        return ""
    return (
        f"{load.space_waits:.1f} writers/s wait for redo space: with innodb_flush_sync = OFF nothing flushes "
        f"faster than {name} = {most}{' while all of them wait' if idle else ''}, and all of that is flushed"
    )


BEYOND_M = (
    "how many more commits/s: that depends on what the device can write beyond these settings, which is "
    "not known"
)


def _writers_wait_from(state: State, last: Sample) -> float:
    """Return the age from which on writers wait, bytes: without counters nothing else shows that they do."""
    stalls = state.facts.sync_stalls and last.sync_point > last.flush_limit
    return last.sync_point if stalls else last.stall_point


def worth_it(saved: Figure | None, gained: Figure | None) -> bool:
    """Tell whether page writes saved, or commits gained, are a gain."""
    return (saved is not None and saved.likeliest >= WORTH_PAGES) or (
        gained is not None and gained.likeliest >= WORTH_COMMITS
    )


def _depends(load: Load, size: Size, last: Sample, state: State) -> tuple[str, ...]:
    said = []
    if load.seconds < SHORT_SECONDS:
        said.append("less than a minute is a short time to watch: watch for two minutes or longer")
    if load.moved:
        said.append("load or device moved while it was watched: watch longer, or record a day")
    if size.age_ratio > FARTHEST * load.age_ratio:
        times = size.age_ratio / load.age_ratio
        said.append(
            f"the age would be {times:.0f} times as high; a small buffer pool can keep it lower than that"
        )
    if load.below_low_water:
        said.append(
            "the age is below innodb_adaptive_flushing_lwm, where the server does not flush by "
            "age: other causes "
            "of flushing, such as reads that need free pages, may go on"
        )
    if size.bound_by:
        said.append(f"the age is held no higher: {size.bound_by}")
    if _limited_by_m(load, last, state):
        said.append(BEYOND_M)
    elif load.page_cost.device_is_limit is None:
        longer = load.seconds < TELLING_SECONDS
        where = f"watch for five minutes, --seconds {TELLING_SECONDS}" if longer else "ask at a busier hour"
        said.append(
            "commits/s: not known, because it did not show whether commits wait for the device: "
            f"{where}; where "
            "they wait, commits/s rise as well"
        )
    if last.degraded:
        said.append(
            "InnoDB's counters are off: the age shown is the checkpoint age, and sync flushing is not seen"
        )
    return tuple(said)
