"""What active mode would bring: page writes saved, and commits gained, from a time of watching.

Fewer pages are written for each byte of redo as the age grows: ``combining`` says how many, from the one age
that a server left alone shows. Where the device is the limit, commits and pages share it: what a page costs,
in commits, is what the commits of a second fall by with each page written in it, and then commits and pages,
at that cost, add up to the same in all seconds. Where they do not, the device is not known to be the limit,
and nothing is foretold of commits.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from policies.setpoint import highest_ratio
from tuner.core.estimate.window import all_flushed, list_flushed
from tuner.core.laws import law_of, why_m_moves_no_age
from tuner.core.setpoint.choose import headroom_of
from tuner.core.state import State
from tuner.findings.combining import TOUCH, even, touches_of
from tuner.findings.slope import line
from tuner.records import Estimate, HoldCode, Sample, TickRecord

LEAST_TOUCH = 200.0
"""Least redo that a touch of a page is taken to write, bytes; the likely is ``combining.TOUCH``."""

SKEWED, VERY_SKEWED = 0.5, 0.4
"""Exponent by which the redo for each page grows with the age where changes fall on few pages, and where load
or device moved as well."""

LOWER, MUCH_LOWER = 0.55, 0.4
"""Share of the set-point that the age may rest at instead, as bursts lower it; likewise."""

FARTHEST = 10.0
CERTAIN = 5.0
"""No age of more than the first times the one seen is certain to be reached; the second times is."""

BELOW, HIGHEST = 0.95, 1.05
"""Share of the set-point, and age ratio, that an age which was above the set-point rests between."""

LONGEST_GAP = 3.0
"""Two readings that are farther apart say nothing of the seconds between, seconds."""

SHOWN = 3.0
"""Standard errors that the cost of a page has to be away from nothing."""

FULL = 0.9
"""Mean over the 95th percentile of a second's commits and pages, at their cost, of a full device."""

FEWEST = 30
"""Seconds that tell what a page costs."""

BLOCK, UNEVEN = 10, 0.25
"""Seconds of a block, and the relative deviation of their redo from which load or device moved."""

WORTH_PAGES, WORTH_COMMITS = 0.05, 0.02
"""Share of the page writes, or of the commits, from which on a gain is one."""

Answer = Literal["gain", "nothing", "cannot"]
Sure = Literal["high", "medium", "low"]


class Span(Struct, frozen=True):
    """A figure with its range."""

    likely: Annotated[float, Meta(description="percent; below 0 for a loss")]
    least: Annotated[float, Meta(description="percent")]
    most: Annotated[float, Meta(description="percent")]


class Verdict(Struct, frozen=True):
    """What active mode would bring to this server under the load seen."""

    answer: Annotated[Answer, Meta(description="gain, nothing to gain, or cannot be controlled")]
    because: Annotated[str, Meta(description="why, in words")]
    page_writes_saved: Annotated[
        Span | None, Meta(description="percent of the pages written for the same work; null: not foretold")
    ] = None
    commits_gained: Annotated[
        Span | None, Meta(description="percent more commits/s; null where nothing is foretold of them")
    ] = None
    device_is_limit: Annotated[
        bool | None, Meta(description="commits wait for the device; null where the time did not show it")
    ] = None
    sure: Annotated[Sure, Meta(description="how sure the figures are: high, medium or low")] = "low"
    depends: Annotated[
        tuple[str, ...], Meta(description="what the figures depend on and the time seen cannot show")
    ] = ()


class PageCost(NamedTuple):
    """What a page costs the commits of its second."""

    commits: float  # that a page is worth; 0 where pages take none away
    error: float  # its standard error
    full: float  # mean over 95th percentile of what commits and pages come to in a second


class Seen(NamedTuple):
    """What a time of watching showed."""

    seconds: float
    redo_rate: float  # bytes/s
    commits: float  # per second
    rows: float  # changed per second
    pages: float  # flush-list pages/s written
    dirtied: float  # pages/s that became dirty
    age_ratio: float  # mean modified age over flush limit
    sync_share: float  # share of the pages that sync flushing wrote
    moved: bool  # load or device did
    page_cost: PageCost | None  # None where too few seconds tell

    @property
    def redo_per_page(self) -> float:
        """Return the redo written for each page that became dirty, bytes."""
        return self.redo_rate / self.dirtied if self.dirtied > 0.0 else math.inf


def seen_in(samples: Sequence[Sample]) -> Seen | None:
    """Return what readings of one server, a second apart and in order, show; None where they show no load."""
    pairs = [(a, b) for a, b in pairwise(samples) if _tells(a, b)]
    seconds = sum(b.monotonic - a.monotonic for a, b in pairs)

    def rate(count: Callable[[Sample], int]) -> float:
        return sum(count(b) - count(a) for a, b in pairs) / seconds

    if not pairs or rate(lambda one: one.lsn_current) <= 0.0:
        return None
    pages = rate(list_flushed)
    redo = [(b.lsn_current - a.lsn_current) / (b.monotonic - a.monotonic) for a, b in pairs]
    counted = _commits if rate(lambda one: one.commits) > 0.0 else _rows
    return Seen(
        seconds=seconds,
        redo_rate=rate(lambda one: one.lsn_current),
        commits=rate(counted),
        rows=rate(_rows),
        pages=pages,
        dirtied=rate(lambda one: all_flushed(one) + one.pages_dirty),
        age_ratio=statistics.fmean(one.age_ratio for one in samples),
        sync_share=rate(lambda one: one.pages_sync) / pages if pages > 0.0 else 0.0,
        moved=_uneven(redo),
        page_cost=_page_cost(pairs, counted),
    )


def _commits(sample: Sample) -> int:
    return sample.commits


def _rows(sample: Sample) -> int:
    return sample.row_changes


def _tells(old: Sample, new: Sample) -> bool:
    forward = 0.0 < new.monotonic - old.monotonic <= LONGEST_GAP
    counted = list_flushed(new) >= list_flushed(old) and new.commits >= old.commits
    counted = counted and new.row_changes >= old.row_changes
    return forward and counted and new.lsn_current >= old.lsn_current


def _uneven(rates: Sequence[float]) -> bool:
    blocks = [statistics.fmean(rates[i : i + BLOCK]) for i in range(0, len(rates) - BLOCK + 1, BLOCK)]
    return len(blocks) > 1 and statistics.pstdev(blocks) > UNEVEN * statistics.fmean(blocks)


def _page_cost(pairs: Sequence[tuple[Sample, Sample]], counted: Callable[[Sample], int]) -> PageCost | None:
    """Return what a page costs, by the seconds with more pages and those with fewer."""
    if len(pairs) < FEWEST:
        return None
    lasted = [b.monotonic - a.monotonic for a, b in pairs]
    commits = [(counted(b) - counted(a)) / time for (a, b), time in zip(pairs, lasted, strict=True)]
    pages = [(list_flushed(b) - list_flushed(a)) / time for (a, b), time in zip(pairs, lasted, strict=True)]
    found = line(pages, commits)
    if found is None:
        return None
    worth = max(0.0, -found.slope)
    sums = sorted(c + worth * p for c, p in zip(commits, pages, strict=True))
    highest = sums[int(0.95 * (len(sums) - 1))]
    return PageCost(worth, found.error, statistics.fmean(sums) / highest if highest > 0.0 else 0.0)


def page_writes_saved(seen: Seen, set_point: float) -> Span:
    """Return the page writes that an age at a set-point saves for the same work.

    Args:
        seen: the time of watching.
        set_point: age ratio that active mode would hold.
    """
    x, now = seen.age_ratio, seen.redo_per_page
    likely, highest = set_point, min(HIGHEST, 1.1 * set_point)
    if x > set_point:
        likely, highest = 0.5 * (set_point + min(x, HIGHEST)), min(x, HIGHEST)
        lowest = BELOW * set_point
    elif set_point > FARTHEST * x:
        lowest = min(MUCH_LOWER * set_point, CERTAIN * x)
    else:
        lowest = max(x, set_point * (MUCH_LOWER if seen.moved else LOWER))
    skew = VERY_SKEWED if seen.moved or set_point > FARTHEST * x else SKEWED
    bends = skew if x <= set_point else 1.0
    return _span(
        1.0 - now * _density(seen, likely),
        1.0 - math.pow(x / lowest, bends),
        1.0 - now * _density(seen, highest, LEAST_TOUCH),
    )


def _density(seen: Seen, ratio: float, touch: float = TOUCH) -> float:
    """Return the pages that become dirty for each redo byte at an age ratio."""
    now = 1.0 / seen.redo_per_page
    return even(touches_of(seen.rows / seen.redo_rate, now, touch), seen.age_ratio, now).at(ratio)


def saved_against(seen: Seen, baseline: float) -> Verdict:
    """Return what an age that active mode holds saves against the settings found.

    Args:
        seen: a time of active mode.
        baseline: age ratio at which the settings found come to rest.
    """
    x, now = seen.age_ratio, seen.redo_per_page
    held = f"active mode held an age of {x:.2f} of the flush limit; the settings found hold {baseline:.2f}"
    saved = _span(
        1.0 - 1.0 / (now * _density(seen, baseline)),
        1.0 - math.pow(baseline / x, SKEWED),
        1.0 - 1.0 / (now * _density(seen, baseline, LEAST_TOUCH)),
    )
    return Verdict("gain" if saved.likely >= 100.0 * WORTH_PAGES else "nothing", held, saved, sure="medium")


def commits_gained(seen: Seen, saved: Span) -> tuple[Span | None, bool | None]:
    """Return the commits that the page writes saved leave room for, and whether the device is the limit.

    Both are None where the seconds do not tell; commits may rise then all the same.
    """
    cost = seen.page_cost
    if cost is None or seen.commits <= 0.0 or seen.pages <= 0.0:
        return None, None
    if cost.error * seen.pages < WORTH_COMMITS * seen.commits and cost.commits < SHOWN * cost.error + 1e-9:
        return Span(0.0, 0.0, 0.0), False
    if cost.commits < SHOWN * cost.error or cost.full < FULL:
        return None, None
    likely, least, most = (
        pages * seen.pages / (pages * seen.pages + seen.commits)
        for pages in (
            cost.commits,
            max(0.0, cost.commits - 2.0 * cost.error),
            cost.commits + 2.0 * cost.error,
        )
    )

    def gained(share: float, part: float) -> float:
        return 1.0 / (1.0 - share * part / 100.0) - 1.0

    return _span(
        gained(likely, saved.likely),
        min(gained(one, saved.least) for one in (least, most)),
        max(gained(one, saved.most) for one in (least, most)),
    ), True


def _span(likely: float, least: float, most: float) -> Span:
    low, high = min(likely, least, most), max(likely, least, most)
    return Span(*(round(100.0 * one, 1) for one in (likely, low, high)))


UNCONTROLLED = frozenset({HoldCode.INERT, HoldCode.RESIZING})
"""Holds that last while the server is as it is; a mismatch is one once it is more than not yet verified."""


def judged(records: Sequence[TickRecord], state: State) -> Verdict:
    """Return what active mode would bring, by the ticks of a time of watching and the state after them."""
    lasting = UNCONTROLLED | {HoldCode.MODEL_MISMATCH} if state.gate.mismatched else UNCONTROLLED
    held = [hold.reason for hold in records[-1].holds if hold.code in lasting]
    if held:
        return Verdict("cannot", "; ".join(held), sure="high")
    samples = [one.tick.reading for one in records if isinstance(one.tick.reading, Sample)]
    estimate = next((one.estimate for one in reversed(records) if one.estimate is not None), None)
    if estimate is None:
        return verdict(None, set_point=1.0)
    seen, degraded = seen_in(samples), samples[-1].degraded
    unmoved = why_m_moves_no_age(law_of(state))

    def at(set_point: float) -> Verdict:
        return verdict(
            seen,
            set_point=set_point,
            moves_age=unmoved,
            sync_stalls=state.facts.sync_stalls,
            degraded=degraded,
            managed=state.facts.managed,
        )

    first = at(state.set_point_now)
    return first if unmoved else at(_set_point(state, samples[-1], estimate, first))


def _set_point(state: State, sample: Sample, estimate: Estimate, first: Verdict) -> float:
    """Return the set-point that the redo leaves which more commits write."""
    more = first.commits_gained.likely / 100.0 if first.commits_gained is not None else 0.0
    headroom = headroom_of(state, sample, estimate)
    grown = headroom._replace(redo_rate=headroom.redo_rate * (1.0 + max(0.0, more)), baseline=0.0)
    return min(state.set_point_now, highest_ratio(grown, {})[0])


def verdict(
    seen: Seen | None,
    *,
    set_point: float,
    moves_age: str = "",
    sync_stalls: bool = False,
    degraded: bool = False,
    managed: str = "",
) -> Verdict:
    """Return what active mode would bring.

    Args:
        seen: the time of watching; None where there was no load.
        set_point: age ratio that active mode would hold under the load that it comes to.
        moves_age: why no M moves the age; empty where one does.
        sync_stalls: a sync flush stalls all writers on this server.
        degraded: InnoDB's counters are off.
        managed: the service that it is, which lets no account write C and M; empty elsewhere.
    """
    if moves_age:
        return Verdict("nothing", moves_age, sure="high")
    if seen is None or seen.dirtied <= 0.0 or seen.age_ratio <= 0.0:
        return Verdict("nothing", "no load that writes was seen; ask again at a busy hour", sure="low")
    saved = page_writes_saved(seen, set_point)
    commits, limited = commits_gained(seen, saved)
    depends = _depends(seen, set_point, commits, degraded=degraded)
    if managed:
        depends = (
            f"{managed} lets no loop write: the one pair below keeps the gain while the load stays",
            *depends,
        )
    sure: Sure = "low" if seen.moved or degraded or set_point > FARTHEST * seen.age_ratio else "medium"
    if sure == "medium" and limited is not None:
        sure = "high"
    at = f"the age is {seen.age_ratio:.2f} of the flush limit, and active mode would hold {set_point:.2f}"
    if seen.age_ratio > set_point and seen.sync_share > WORTH_PAGES and sync_stalls:
        why = f"{seen.sync_share:.0%} of the pages are sync-flushed, and writers wait meanwhile; {at}"
        stalls = Span(
            round(50.0 * seen.sync_share, 1), 0.0, round(100.0 / max(0.01, 1.0 - seen.sync_share), 1)
        )
        return Verdict("gain", why, saved, stalls, None, "low", depends)
    if seen.age_ratio > set_point:
        why = "the age is above what active mode would hold: it would write more pages, for steadier commits"
        return Verdict("nothing", f"{why}; {at}", saved, commits, limited, sure, depends)
    gains = saved.likely >= 100.0 * WORTH_PAGES
    gains = gains or (commits is not None and commits.likely >= 100.0 * WORTH_COMMITS)
    if not gains:
        return Verdict("nothing", f"{at}: little is left to save", saved, commits, limited, sure, depends)
    return Verdict("gain", at, saved, commits, limited, sure, depends)


def _depends(seen: Seen, set_point: float, commits: Span | None, *, degraded: bool) -> tuple[str, ...]:
    said = []
    if seen.moved:
        said.append("load or device moved while it was watched: watch longer, or record a day")
    if set_point > FARTHEST * seen.age_ratio:
        times = set_point / seen.age_ratio
        said.append(
            f"the age would be {times:.0f} times as high: a buffer pool too small for it holds it lower"
        )
    if commits is None:
        said.append("whether commits wait for the device did not show: where they do, commits/s rise as well")
    if degraded:
        said.append("InnoDB's counters are off: the age is the checkpoint's, and no sync flushing is seen")
    return tuple(said)
