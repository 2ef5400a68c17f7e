"""The picture: what is known of a daemon as lines of a terminal. Pure: the same view is the same picture."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tuner.cli.watch.agebar import age_bar
from tuner.cli.watch.charts import AXIS_WIDTH, FIGURES_WIDTH, axis, charts
from tuner.cli.watch.facts import facts
from tuner.cli.watch.follow import View
from tuner.cli.watch.look import BAD, CAREFUL, LABEL_WIDTH, NAME, QUIET, Look
from tuner.cli.watch.verdict import clock, verdict
from tuner.cli.wording import (
    decision_text,
    duration,
    originals_text,
    pair_text,
    without_text,
)
from tuner.records import DecisionKind

WIDE = 120
"""From so many columns on two charts stand side by side."""

TIMED = 40
"""With fewer columns there is no clock."""

CHARTS = 6
LOG_LINES = 4
HIGHEST_CHART = 9


def picture(view: View, look: Look, now: float) -> list[Text]:
    """Return the lines of the picture, no more and no longer than the terminal has room for.

    Args:
        view: what is known.
        look: how it is to look.
        now: monotonic, seconds.
    """
    first = _first(view, look, now)
    above = [*_head(view, look), *age_bar(view, look, full_words=look.width >= WIDE)]
    below = list(facts(view, look))
    last = [_keys(view, look)] if look.live else []
    room = look.height - len(first) - len(above) - len(below) - len(last)
    drawn = _charts(view, look, room - LOG_LINES) if room >= CHARTS + 1 else []
    log = _log(view, look, max(0, room - len(drawn)))
    body = [*above, *drawn, *below, *log]
    if view.gone is not None:
        body = [_greyed(line) for line in body]
    space = look.height - len(first) - len(last)
    body = body[: max(0, space)]
    if look.live:
        body += [Text()] * (space - len(body))
    return [look.cut(line) for line in [*first, *body, *last][: look.height]]


def _first(view: View, look: Look, now: float) -> list[Text]:
    """Return the top line: whether it works, where, and what time it is there."""
    word, style, more = verdict(view, now)
    time = f" {clock(view.status.at)} UTC" if look.width >= TIMED else ""
    paused = " PAUSED" if look.paused else ""
    room = look.width - len(time) - len(paused)
    whole = look.narrow and len(word) + 3 + len(more) > room
    line = look.cut(look.line((f" {word} ", f"{style} reverse"), "" if whole else f" {more}"), room)
    line.append(" " * (room - line.cell_len))
    line.append(paused, CAREFUL)
    line.append(time, QUIET)
    rest = look.labelled("", more) if whole else []
    why = [] if view.gone is None else look.labelled("why", view.gone.why, BAD, most=2)
    return [line, *rest, *why]


def _head(view: View, look: Look) -> Iterator[Text]:
    """Yield what it does, why, and what would be without it."""
    status = view.status
    style = BAD if status.decision.kind is DecisionKind.EMERGENCY else ""
    yield from look.labelled("decision", decision_text(status.decision), style, most=3)
    would = "" if status.decision.would is None else f"; would set {pair_text(status.decision.would)}"
    yield from look.labelled("io_capacity", f"{pair_text(status.in_force)}{would}; {originals_text(status)}")
    yield from look.labelled("without it", without_text(status) or "not known yet", most=2)


def _charts(view: View, look: Look, room: int) -> list[Text]:
    """Return the charts, as high as there is room for."""
    if look.width < WIDE:
        width = max(8, look.width - LABEL_WIDTH - (0 if look.narrow else FIGURES_WIDTH + 1))
        height = min(HIGHEST_CHART, max(1, (room - 1) // CHARTS))
        found = charts(view, width)
        lines = [row for chart in found for row in chart.rows(look, look.width, height)]
        if look.narrow and height == 1:
            return lines
        return [*lines, look.line(" " * LABEL_WIDTH).append_text(axis(view.span, width, look))]
    half = (look.width - 2) // 2
    width = half - AXIS_WIDTH
    height = min(HIGHEST_CHART, (room - 1 - CHARTS // 2) // (CHARTS // 2))
    if height < 1:
        return []
    found = charts(view, width)
    lines = []
    for left, right in zip(found[::2], found[1::2], strict=True):
        blocks = (left.block(look, half, height), right.block(look, half, height))
        lines += [_beside(one, other, half) for one, other in zip(*blocks, strict=True)]
    below = look.line(" " * AXIS_WIDTH).append_text(axis(view.span, width, look))
    return [*lines, _beside(below, below.copy(), half)]


def _beside(left: Text, right: Text, half: int) -> Text:
    """Return two half lines as one."""
    made = left.copy()
    made.append(" " * (half + 2 - made.cell_len))
    return made.append_text(right)


def _log(view: View, look: Look, room: int) -> list[Text]:
    """Return the last decisions and events in so many lines: side by side, or in the order of time."""
    events = [(one.wall, one.code, f"{one.message} ({one.who})") for one in view.events]
    decisions = [
        (one.wall, one.decision.kind.value, f"({one.decision.reason}): {one.decision.detail}")
        for one in view.decisions
        if look.width >= WIDE or not one.decision.steps  # what was written is an event as well
    ]
    if room <= 0:
        return []
    if look.width < WIDE:
        half = room - min(room // 2, len(decisions))
        shown = sorted([*events[-half:], *decisions[-(room - min(half, len(events))) :]])[-room:]
        return [_logged(one, look, look.width) for one in shown]
    half = (look.width - 2) // 2
    columns = []
    for name, logged in (("decisions", decisions), ("events", events)):
        rows = [_logged(one, look, half) for one in logged[1 - room :]] if room > 1 else []
        columns.append([look.line((name, NAME)), *rows, *[Text()] * (room - 1 - len(rows))])
    return [_beside(left, right, half) for left, right in zip(*columns, strict=True)]


def _logged(one: tuple[float, str, str], look: Look, width: int) -> Text:
    wall, code, message = one
    return look.cut(look.line((f"{clock(wall)} ", QUIET), (f"{code} ", NAME), message), width)


def _keys(view: View, look: Look) -> Text:
    """Return the bottom line."""
    keys = [" q quit", f"p {'go on' if look.paused else 'pause'}", "h help", f"+/- {duration(view.span)}"]
    if look.narrow:
        return look.line(("  ".join(keys), NAME))
    said = "   it only reads; h says how to steer"
    line = f"{'   '.join(keys)} shown"
    return look.line((line, NAME), (said if len(line) + len(said) <= look.width else "", QUIET))


def _greyed(line: Text) -> Text:
    """Return a line of what is old."""
    return Text(line.plain, style="dim", no_wrap=True)
