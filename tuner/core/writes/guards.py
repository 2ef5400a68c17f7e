"""What every wish passes on its way to the server: one ordered table.

A guard takes the wish and returns it, changed or refused. Later guards see what earlier ones
left. Which guards a kind of decision is exempt from is part of the table, not of the guards.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.writes.lowest import why_no_lower
from tuner.core.writes.plan import near
from tuner.records import Capacity, DecisionKind, Reason
from tuner.settings import Settings

HOUR = 3600.0
DEVICE_MARGIN = 1.2
LOAD_MARGIN = 0.95
EMERGENCY_FACTOR = 2.0
"""Where the device gives all that is asked for, an emergency may ask for so many times what it was seen to
give."""
RETURN_MARGIN = 1.15
"""M that a way back from an emergency ends at, over the M that was too low then."""

ROUNDING = 0.05

DEAD_BAND = 0.01  # Relative change that is not worth a write
RESERVE = 0.05  # Share of the hourly budget that is kept for raises
EMERGENCY_SPACING = 2.0  # Seconds between two emergency raises: the server's own loop needs one to react


def leads_back(raised_from: int, current: Capacity, io_capacity_max: float) -> bool:
    """Tell whether an M is on the way back from an emergency.

    Args:
        raised_from: M before it, pages/s; 0 where none made the pair in force.
        io_capacity_max: M in question, pages/s.
    """
    return 0 < raised_from <= io_capacity_max < current.io_capacity_max


class GuardContext(Struct, frozen=True):
    """What guards may look at."""

    now: float  # the tick's monotonic time, seconds
    settings: Settings  # limits and paces
    current: Capacity  # the pair in force
    lowest: int  # smallest M allowed by settings and server, pages/s
    highest: int  # largest M allowed by settings and server, pages/s
    last_write: float | None  # time of the last write, None before the first
    changes: int  # writes within the last hour that count for the budget
    authority: float = 1.0  # pages flushed per page asked for
    sustained_capacity: float | None = None  # D, pages/s; None when the device was never the limit
    demand: float = 0.0  # P, pages/s
    coupling: float = 0.0  # pages that the load dirties less for each page flushed more
    home: int = 0  # C that the server was set to, which C stays near, pages/s
    floor: int = 0  # lowest M that this load lets the policy choose, part of ``lowest``, pages/s; 0 for any
    raised_from: int = 0  # M before the emergency that made the one in force, pages/s; 0 where none did
    reserved: int = 0  # changes of an hour that are kept for reliefs of the device
    sync_stalls: bool = False  # writers wait from the sync point on: no emergency asks for too little there

    def is_way_back(self, io_capacity_max: float) -> bool:
        """Tell whether an M is on the way back from an emergency, to no less than it was before."""
        return leads_back(self.raised_from, self.current, io_capacity_max)


class GuardedWish(Struct, frozen=True):
    """A wish on its way through the guards."""

    kind: DecisionKind  # what asks
    io_capacity_max: float  # wanted M, pages/s
    refused: Reason | None = None  # why a guard stopped it; None where none did
    detail: str = ""  # why, in words
    touched: tuple[str, ...] = ()  # codes of the guards that changed or stopped it
    pair: Capacity | None = None  # what it comes to as C and M; None before that is known

    def changed(self, code: str, io_capacity_max: float) -> GuardedWish:
        """Return the wish with another value."""
        return replace(self, io_capacity_max=io_capacity_max, touched=(*self.touched, code))

    def stopped(self, code: Reason, detail: str) -> GuardedWish:
        """Return the wish refused."""
        touched = self.touched if code in self.touched else (*self.touched, code)
        return replace(self, refused=code, detail=detail, touched=touched)


def limits(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Keep M inside the configured limits and the server's own."""
    bounded = min(float(context.highest), max(float(context.lowest), wish.io_capacity_max))
    return wish if bounded == wish.io_capacity_max else wish.changed("limits", bounded)


def authority(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Leave the load its share of the device: an M that asks for all that it gives starves the commits.

    Who drains wants all that the device gives, and is bounded where more would move nothing.
    """
    if context.sustained_capacity is None:
        return wish
    share = DEVICE_MARGIN if wish.kind is DecisionKind.DRAIN else LOAD_MARGIN
    ceiling = max(float(context.current.io_capacity_max), share * context.sustained_capacity)
    return wish if wish.io_capacity_max <= ceiling else wish.changed("authority", ceiling)


def emergency_ceiling(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Bound an emergency by 1.2 times what the device was seen to give; by 2.4 where it is not the limit.

    Records name it ``authority``, as they do the guard above: the device is what bounds M in both.
    """
    if context.sustained_capacity is None or (context.sync_stalls and context.authority >= AUTHORITY_LOST):
        return wish
    known = max(float(context.current.io_capacity_max), DEVICE_MARGIN * context.sustained_capacity)
    ceiling = known if context.authority < AUTHORITY_LOST else EMERGENCY_FACTOR * known
    ceiling = max(ceiling, context.demand) if context.sync_stalls else ceiling
    return wish if wish.io_capacity_max <= ceiling else wish.changed("authority", ceiling)


def back_to(raised_from: int) -> float:
    """Return the M up to which a way back from an emergency is one, pages/s; whole ratios round it."""
    return RETURN_MARGIN * raised_from * (1.0 + ROUNDING)


def way_back(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Let a way back from an emergency end a little above where that began: there M was too low."""
    back = RETURN_MARGIN * context.raised_from
    if 0 < back < context.current.io_capacity_max and wish.io_capacity_max < back:
        return wish.changed("way_back", back)
    return wish


def step(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Move M by no more than the step factor in one write."""
    if context.is_way_back(wish.io_capacity_max):
        return wish
    factor, current = context.settings.step_factor, context.current.io_capacity_max
    bounded = min(current * factor, max(current / factor, wish.io_capacity_max))
    return wish if bounded == wish.io_capacity_max else wish.changed("step", bounded)


def ratio(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Make M a whole multiple of C; rounding is no news, so it is not counted as touched."""
    pair = near(
        wish.io_capacity_max,
        home=context.home or context.current.io_capacity,
        ratio=context.settings.ratio,
        lowest=context.lowest,
        highest=context.highest,
    )
    return replace(wish, io_capacity_max=float(pair.io_capacity_max), pair=pair)


def dead_band(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Refuse a change too small to be worth a write, both of M and of the gain in force.

    The two differ where a pair is no whole multiple, as a write that was left half-way may be. Where the load
    answers flushing, a small change of M moves the age far. An M that the configuration names is meant as it
    is.
    """
    in_force = (context.current.io_capacity_max, context.current.gain)
    change = max((wish.io_capacity_max / one - 1.0 for one in in_force), key=abs)
    least = 0.0 if context.settings.policy == "fixed" else DEAD_BAND / (1.0 + context.coupling)
    if abs(change) >= least and change != 0.0:
        return wish
    if "limits" in wish.touched:
        return wish.stopped(Reason.LIMITS, _at_limit(context))
    if "authority" in wish.touched:
        given = f"the device gives {context.sustained_capacity or 0.0:.0f} pages/s"
        asked = f"innodb_io_capacity_max {in_force[0]} already asks for more"
        return wish.stopped(Reason.AUTHORITY, f"{given}, and {asked}")
    return wish.stopped(Reason.DEAD_BAND, f"a change of {100.0 * change:+.1f} % is too small for a write")


def _at_limit(context: GuardContext) -> str:
    """Return which limit M is at, in words."""
    current, settings = context.current.io_capacity_max, context.settings
    if current - context.lowest <= context.highest - current:
        end, key, limit, own = "lowest", "min_io_capacity_max", context.lowest, settings.min_io_capacity_max
    else:
        end, key, limit, own = "highest", "max_io_capacity_max", context.highest, settings.max_io_capacity_max
    if end == "lowest" and limit == context.floor > own:
        return f"innodb_io_capacity_max is {current}, the lowest for now: {why_no_lower(limit)}"
    whose = f"{key} = {limit}" if limit == own else "the server, or the procedure that sets it,"
    return f"innodb_io_capacity_max is {current}, the {end} that {whose} allows"


def dwell(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Refuse a write too soon after the last one."""
    if context.last_write is None:
        return wish
    left = context.settings.dwell_seconds - (context.now - context.last_write)
    return (
        wish.stopped(Reason.DWELL, f"the last write is too recent; the next is possible in {left:.0f} s")
        if left > 0
        else wish
    )


def budget(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Refuse a write beyond the hourly budget, and one that lowers M where only the last of it is left.

    So a budget that runs out does so with an M that is too high for the load, which is dear, and not with one
    that is too low for what comes next.
    """
    if context.is_way_back(wish.io_capacity_max):
        return wish
    most, spent = context.settings.max_changes_per_hour, context.changes
    if spent >= most:
        return wish.stopped(Reason.BUDGET, f"{spent} changes in the last hour, which is the limit")
    if context.reserved and spent >= most - context.reserved:
        return wish.stopped(
            Reason.RESERVE, f"{spent} of {most} changes in the last hour: the rest is kept for a slow disk"
        )
    if spent >= most - int(RESERVE * most) and wish.io_capacity_max < context.current.io_capacity_max:
        return wish.stopped(
            Reason.RESERVE, f"{spent} of {most} changes in the last hour: the rest is kept for raises"
        )
    return wish


def raises(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Refuse an emergency that limits, device or a whole ratio have turned into a lowering.

    An odd pair has a gain below its M: a larger gain with a smaller M would lower what is flushed at most.
    """
    current = context.current
    if wish.io_capacity_max > current.gain and wish.io_capacity_max >= current.io_capacity_max:
        return wish
    return wish.stopped(
        Reason.NO_RAISE, "innodb_io_capacity_max is already as high as limits and device allow"
    )


def spacing(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Refuse an emergency raise before the server can have answered the last write."""
    if context.last_write is None or context.now - context.last_write >= EMERGENCY_SPACING:
        return wish
    return wish.stopped(Reason.SPACING, "the server has not had time to answer the last write")


Guard = Callable[[GuardedWish, GuardContext], GuardedWish]

TABLE: dict[DecisionKind, tuple[Guard, ...]] = {
    DecisionKind.SET: (limits, authority, way_back, step, ratio, dead_band, dwell, budget),
    DecisionKind.EMERGENCY: (limits, emergency_ceiling, ratio, raises, spacing),
    DecisionKind.RELIEF: (limits, ratio),
    DecisionKind.OVERRIDE: (limits, ratio),
}
TABLE[DecisionKind.DRAIN] = TABLE[DecisionKind.SET]
"""Restore is exempt from all of them: originals go back as they were. A park is made inside the limits."""


def guard(wish: GuardedWish, context: GuardContext) -> GuardedWish:
    """Pass a wish through its guards in order; stop at the first refusal."""
    for check in TABLE[wish.kind]:
        wish = check(wish, context)
        if wish.refused:
            break
    return wish
