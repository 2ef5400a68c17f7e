"""One line a tick, for a log or a terminal that cannot do more."""

from __future__ import annotations

from api.models import Status
from tuner.cli.watch.follow import View
from tuner.cli.watch.glyphs import Glyphs
from tuner.cli.watch.verdict import clock, verdict
from tuner.cli.wording import decision_text, duration, mib, pair_text


def line_of(view: View, now: float, glyphs: Glyphs) -> str:
    """Return one look at the daemon as a line."""
    word, _, more = verdict(view, now)
    if view.gone is not None:
        return glyphs.text(f"{clock(view.gone.since)} {word} {more}: {view.gone.why}")
    parts = [f"{clock(view.status.at)} {word}", pair_text(view.status.in_force), *_measured(view.status)]
    return glyphs.text("; ".join([*parts, _why(view.status)]))


def _measured(status: Status) -> list[str]:
    found, limits = status.estimate, status.limits
    if found is None or limits is None:
        return []
    set_point = "unknown" if status.set_point is None else f"{status.set_point:.3f}"
    return [
        f"age {mib(found.checkpoint_age)} of {mib(limits.stall_point)}",
        f"age ratio {found.age_ratio:.3f}, set-point {set_point}",
        f"redo {mib(found.redo_rate)}/s",
        f"pages/s {found.flush_rate:,.0f}, sync {found.sync_rate:,.0f}, LRU {found.lru_rate:,.0f}",
        f"row changes/s {found.row_rate:,.0f}",
    ]


def _why(status: Status) -> str:
    if status.missed is not None:
        return status.missed
    if status.holds:
        hold = status.holds[0]
        return f"{hold.code.value} for {duration(hold.seconds)}: {hold.reason}"
    return decision_text(status.decision)
