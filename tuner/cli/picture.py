"""The picture of ``innobrim watch``: what is known of a daemon, for rich to show.

Pure: the same view is the same picture.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from rich.console import Group
from rich.styled import Styled
from rich.table import Table
from rich.text import Text

from api.models import NumberedEvent, Status
from tuner.cli.status import rows
from tuner.cli.wording import age_text, duration
from tuner.records import DecisionKind, Lifecycle
from tuner.settings import Mode
from tuner.system.amounts import share
from tuner.system.printable import printable

GOOD, CAREFUL, BAD, QUIET = "green", "yellow", "bold red", "dim"
SET_POINT = "cyan"
"""Style of the line across the chart where the set-point is; that of sync flushing is ``BAD``."""

LATE_TICKS, LATE_SECONDS = 3.0, 2.0
"""A loop does not tick whose last tick is so many intervals old, and so many seconds."""

HISTORY = ("modified_age", "stall_point", "sync_point", "flush_limit", "set_point")
"""Columns of the history that are drawn."""

LABEL_WIDTH = 15
CHART_LINES = 8
LEVELS = " ▁▂▃▄▅▆▇█"
"""A cell filled from its bottom, from nothing to full."""

SHOWN = {
    "advisory": "",
    "holds": "",
    "hold": CAREFUL,
    "going on": CAREFUL,
    "degraded": CAREFUL,
    "decision": "",
    "in force": "",
    "uncheckpointed": "",
    "untouched": "",
    "reading": BAD,
    "flush law": "",
    "override": CAREFUL,
    "settings": CAREFUL,
    "drain": CAREFUL,
    "trial": "",
    "restore": CAREFUL,
    "schedule": "",
    "predicted": "",
    "budget": CAREFUL,
    "changes": "",
    "optimiser": "",
    "journal": BAD,
}
"""Which lines of ``innobrim status`` are in the picture, and how they look."""

Values = Sequence[float | None]


class View(Struct, frozen=True):
    """All that is known of a daemon; what is drawn is made of nothing else.

    Attributes:
        status: its last answer.
        history: numbers of the last ``span`` seconds, by column.
        asked: monotonic time when the history was asked for.
        span: how far back the chart goes, seconds.
        events: the last ones, oldest first.
        gone: why it does not answer; empty while it does.
        gone_since: Unix time of the first question without an answer.
        refused: it answers, but does not take the token.
    """

    status: Status
    history: Mapping[str, Values]
    asked: float
    span: float
    events: tuple[NumberedEvent, ...] = ()
    gone: str = ""
    gone_since: float = 0.0
    refused: bool = False


def picture(view: View, *, width: int, hint: str = "") -> Group:
    """Return the picture, in so many columns; what a terminal has no lines for is cut off below.

    Args:
        view: what is known.
        width: columns.
        hint: what stands in the corner, about keys.
    """
    body = Group(_facts(view.status), *_chart(view, width), *_events(view))
    first = _first_line(view, hint)
    if not view.gone:
        return Group(first, body)
    return Group(first, _table({"why": view.gone}, {"why": BAD}), Styled(body, QUIET))


def verdict(view: View) -> tuple[str, str, str]:
    """Return whether it works in a word or two, the style of that, and what is to be added."""
    status = view.status
    late = max(LATE_SECONDS, LATE_TICKS * (1.0 if status.process is None else status.process.interval))
    server = "the server is not known"
    if status.server is not None:
        server = f"{status.server.product} at {status.server.endpoint}"
    since = f"since {_clock(view.gone_since)} UTC"
    held = ", ".join(hold.code.value.replace("_", " ") for hold in status.holds)
    old = f"its last tick is {duration(status.seconds_old)} old"
    ways = (
        (view.refused, "TOKEN REFUSED", BAD, since),
        (bool(view.gone), "NO ANSWER", BAD, since),
        (status.seconds_old > late, "NO TICKS", BAD, old),
        (status.missed is not None, "NO READING", BAD, server),
        (status.lifecycle is not Lifecycle.RUNNING, status.lifecycle.value.upper(), CAREFUL, server),
        (status.decision.kind is DecisionKind.EMERGENCY, "EMERGENCY", BAD, server),
        (bool(held), "HELD", CAREFUL, f"{held}; {server}"),
        (status.mode is Mode.ADVISORY, "ADVISORY", CAREFUL, f"nothing is written; {server}"),
        (True, "WORKING", GOOD, f"{status.mode.value}; {server}"),
    )
    return next((word, style, more) for so, word, style, more in ways if so)


def _first_line(view: View, hint: str) -> Table:
    """Return whether it works, where, and what time it is there."""
    word, style, more = verdict(view)
    made = Table.grid(expand=True, padding=(0, 1, 0, 0))
    made.add_column(ratio=1)
    made.add_column(no_wrap=True)
    said = Text.assemble((f" {word} ", f"{style} reverse"), " ", _text(more))
    made.add_row(said, Text(f"{_clock(view.status.at)} UTC{hint}", QUIET))
    return made


def _facts(status: Status) -> Table:
    """Return what ``innobrim status`` says, as far as it is of use beside a chart."""
    said: dict[str, str] = {}
    for label, words in rows(status):
        if label in SHOWN:
            said[label] = f"{said[label]}; {words}" if label in said else words
    said.pop("age", None)  # stands last, above its chart
    return _table({**said, "age": _age(status)}, SHOWN)


def _age(status: Status) -> str:
    limits = status.limits
    if limits is None:
        return age_text(status)
    return f"{age_text(status)}; sync flushing at {share(limits.sync_point / limits.flush_limit)}"


def _chart(view: View, width: int) -> Iterator[Text]:
    """Yield the lines of the age's chart, whose top is where writers block, and the line of time."""
    past = {name: _means(view.history[name], width) for name in HISTORY}
    top = max((one for one in past["stall_point"] if one is not None), default=1.0)
    wanted = [
        None if share is None or limit is None else share * limit
        for share, limit in zip(past["set_point"], past["flush_limit"], strict=True)
    ]
    steps = len(LEVELS) - 1
    for line in reversed(range(CHART_LINES)):
        made = Text(no_wrap=True)
        for age, sync, aim in zip(past["modified_age"], past["sync_point"], wanted, strict=True):
            full = 0 if age is None else round(steps * CHART_LINES * min(1.0, age / top))
            filled = min(steps, max(0, full - line * steps))
            style = next(
                (
                    style
                    for mark, style in ((aim, SET_POINT), (sync, BAD))
                    if mark is not None and min(CHART_LINES - 1, int(CHART_LINES * mark / top)) == line
                ),
                "",
            )
            if age is not None and style:
                made.append("┄", f"{style} on {GOOD}" if filled == steps else style)
            else:
                made.append(LEVELS[filled], GOOD)
        yield made
    ago = f"{duration(view.span)} ago "
    yield Text(f"{ago}{'─' * max(0, width - len(ago) - 4)} now", QUIET, no_wrap=True, overflow="crop")


def _means(values: Values, count: int) -> Values:
    """Return so many values, each the mean of what falls on it; None in a gap."""
    found: list[float | None] = []
    for column in range(count):
        first = column * len(values) // count
        part = values[first : max(first + 1, (column + 1) * len(values) // count)]
        seen = [one for one in part if one is not None]
        found.append(math.fsum(seen) / len(seen) if seen else None)
    return found


def _events(view: View) -> Iterator[Text]:
    """Yield the last events, the newest first, a line each."""
    for one in reversed(view.events):
        made = Text(f"{_clock(one.wall)} ", QUIET, no_wrap=True, overflow="ellipsis")
        yield made.append_text(_text(f"{one.code} {one.message} ({one.who})"))


def _table(said: Mapping[str, str], styles: Mapping[str, str]) -> Table:
    """Return labels and words beside them, on more lines where there is no room for them in one."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(min_width=LABEL_WIDTH - 1, style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for label, words in said.items():
        made.add_row(label, _text(words, styles.get(label, "")))
    return made


def _text(words: str, style: str = "") -> Text:
    """Return words as a terminal can show them, and nothing that would steer it."""
    return Text(printable(words), style, overflow="ellipsis")


def _clock(wall: float) -> str:
    """Return the time of day of a Unix time, UTC as everywhere."""
    return time.strftime("%H:%M:%S", time.gmtime(wall))
