"""The picture of ``innobrim watch``: what is known of a daemon as lines of a terminal.

Pure: the same view is the same picture.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from api.models import HistoryAnswer, NumberedEvent, Status
from tuner.cli.status import rows
from tuner.cli.wording import duration, mib, set_point_text
from tuner.records import CAPACITY_MINIMUM, DecisionKind, Lifecycle
from tuner.settings import Mode
from tuner.system.printable import printable

GOOD, CAREFUL, BAD = "green", "yellow", "bold red"
LATE_TICKS, LATE_SECONDS = 3.0, 2.0
"""A loop does not tick whose last tick is so many intervals old, and so many seconds."""

HISTORY = (
    "checkpoint_age",
    "stall_point",
    "sync_point",
    "flush_limit",
    "set_point",
    "io_capacity",
    "io_capacity_max",
    "redo_rate",
    "flush_rate",
    "sync_rate",
    "lru_rate",
    "row_rate",
)
"""Columns of the history that are drawn."""

LABEL_WIDTH, FIGURES_WIDTH = 15, 28
NARROW = 70
"""With fewer columns nothing is drawn."""

TIMED = 40
"""With fewer columns there is no clock."""

OURS, QUIET = "cyan", "dim"
"""What the loop sets and holds; what is there to go by."""

LEVELS = "▁▁▂▃▄▅▆▇█"
"""A cell filled from its bottom, from nothing but a base line to full."""

LEAST_WITH_LINES = 3
LOG_LINES = 3
CHARTS = {"age": (3, 8), "C and M": (1, 4), "redo": (1, 2), "pages/s": (1, 2), "row changes/s": (1, 2)}
"""Lines of each chart, at least and at most."""

SHOWN = {
    "advisory": "",
    "holds": "",
    "hold": CAREFUL,
    "going on": CAREFUL,
    "degraded": CAREFUL,
    "decision": "",
    "io_capacity": "",
    "without it": "",
    "reading": BAD,
    "flush law": "",
    "override": CAREFUL,
    "settings": CAREFUL,
    "drain": CAREFUL,
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
Lines = list[list[Segment]]


class View(Struct, frozen=True):
    """All that is known of a daemon; what is drawn is made of nothing else.

    Attributes:
        status: its last answer.
        answered: monotonic time of that.
        history: numbers of the last ``span`` seconds.
        asked: monotonic time when the history was asked for.
        span: how far back charts go, seconds.
        events: the last ones, oldest first.
        gone: why it does not answer; empty while it does.
        gone_since: Unix time of the first question without an answer.
        refused: it answers, but does not take the token.
    """

    status: Status
    answered: float
    history: HistoryAnswer
    asked: float
    span: float
    events: tuple[NumberedEvent, ...] = ()
    gone: str = ""
    gone_since: float = 0.0
    refused: bool = False


def verdict(view: View) -> tuple[str, str, str]:
    """Return whether it works in a word or two, the style of that, and what is to be added."""
    status = view.status
    late = max(LATE_SECONDS, LATE_TICKS * (1.0 if status.process is None else status.process.interval))
    server = "the server is not known"
    if status.server is not None:
        server = f"{status.server.product} at {status.server.endpoint}"
    since = f"since {clock(view.gone_since)} UTC"
    held = ", ".join(hold.code.value for hold in status.holds)
    old = f"its last tick is {duration(status.seconds_old)} old"
    ways = (
        (view.refused, "TOKEN REFUSED", BAD, since),
        (bool(view.gone), "NO ANSWER", BAD, since),
        (status.seconds_old > late, "LOOP STANDS", BAD, old),
        (status.missed is not None, "NO READING", BAD, status.missed or ""),
        (status.lifecycle is not Lifecycle.RUNNING, status.lifecycle.value.upper(), CAREFUL, server),
        (status.decision.kind is DecisionKind.EMERGENCY, "EMERGENCY", BAD, server),
        (bool(held), "HELD", CAREFUL, f"{held}; {server}"),
        (status.mode is Mode.ADVISORY, "ADVISORY", CAREFUL, f"nothing is written; {server}"),
        (True, "WORKING", GOOD, f"{status.mode.value}; {server}"),
    )
    return next((word, style, more) for so, word, style, more in ways if so)


def clock(wall: float) -> str:
    """Return the time of day of a Unix time, UTC as everywhere."""
    return time.strftime("%H:%M:%S", time.gmtime(wall))


class Picture(Struct, frozen=True):
    """A picture for rich to show; on a terminal with keys it fills the height.

    Attributes:
        view: what is known.
        live: somebody looks at it who can press a key.
    """

    view: View
    live: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines, no more and no longer than there is room for."""

        def lined(made: Table | Text) -> Lines:
            return console.render_lines(made, options.update(height=None), pad=False)

        height = (options.height or console.height) if self.live else 2 * console.height
        first, facts = lined(self._first(options.max_width)), lined(self._facts())
        why = lined(self._table([("why", self.view.gone, BAD)])) if self.view.gone else []
        last = lined(self._keys()) if self.live else []
        room = height - len(first) - len(why) - len(last)
        least = sum(low for low, _ in CHARTS.values())
        charts: Lines = []
        if options.max_width >= NARROW and room - len(facts) >= least:
            charts = [
                line
                for made in self._charts(options.max_width, room - len(facts) - least - LOG_LINES)
                for line in lined(made)
            ]
        log = lined(self._log())[: max(0, room - len(facts) - len(charts))] if self.view.events else []
        body = [*facts, *charts, *log][:room]
        if self.view.gone:
            body = [list(Segment.apply_style(line, Style(dim=True))) for line in body]
        empty: Lines = [[]] * (room - len(body) if self.live else 0)
        for index, line in enumerate([*first, *why, *body, *empty, *last]):
            yield from [*([Segment.line()] if index else []), *line]

    def _text(self, words: str, style: str = "") -> Text:
        """Return words as this terminal can show them, and nothing that would steer it."""
        return Text(printable(words), style, overflow="ellipsis")

    def _first(self, width: int) -> Table:
        """Return whether it works, where, and what time it is there."""
        word, style, more = verdict(self.view)
        said = Text.assemble((f" {word} ", f"{style} reverse"), " ", self._text(more))
        made = Table.grid(expand=True, padding=(0, 1, 0, 0))
        made.add_column(ratio=1)
        made.add_column(no_wrap=True)
        time = f"{clock(self.view.status.at)} UTC" if width >= TIMED else ""
        made.add_row(said, Text(time, QUIET))
        return made

    def _table(self, found: Iterable[tuple[str, str, str]]) -> Table:
        """Return labels and words beside them, on more lines where there is no room for them in one."""
        made = Table.grid(padding=(0, 1, 0, 0))
        made.add_column(min_width=LABEL_WIDTH - 1, style="bold", no_wrap=True)
        made.add_column(overflow="fold")
        for label, words, style in found:
            made.add_row(label, self._text(words, style))
        return made

    def _facts(self) -> Table:
        """Return what ``innobrim status`` says, as far as it is of use beside charts."""
        status, said = self.view.status, dict[str, str]()
        for label, words in rows(status):
            if label in SHOWN:
                joined = f"{said[label]}; {words}" if label in said else words
                said[label] = joined
        return self._table((label, words, _style(label, status)) for label, words in said.items())

    def _charts(self, width: int, more: int) -> Iterator[Text]:
        """Yield the charts, with so many lines more than each needs at least, and the line of time."""
        columns = width - LABEL_WIDTH - FIGURES_WIDTH - 1
        heights = {name: low for name, (low, _) in CHARTS.items()}
        more -= 1
        for name, (low, high) in CHARTS.items():
            taken = max(0, min(high - low, more))
            heights[name] += taken
            more -= taken
        charts = _drawn(self.view, columns)
        for name, (figures, values, top, style, marks) in charts.items():
            drawn = _bars(values, top, heights[name], style, marks)
            label = Text(f"{name:<{LABEL_WIDTH}}", "bold", no_wrap=True)
            for index, line in enumerate(drawn):
                beside = "; ".join(figures) if len(drawn) == 1 else "".join(figures[index : index + 1])
                made = (label if index == 0 else Text(" " * LABEL_WIDTH, no_wrap=True)) + line
                made.append_text(self._text(f" {beside}"))
                made.truncate(width, overflow="ellipsis")
                yield made
        ago = f"{duration(self.view.span)} ago "
        yield Text(" " * LABEL_WIDTH + ago + "─" * max(0, columns - len(ago) - 4) + " now", QUIET)

    def _log(self) -> Text:
        """Return the last events, the newest first."""
        made = Text(no_wrap=True, overflow="ellipsis")
        for one in reversed(self.view.events):
            made.append("\n" if made else "")
            made.append(f"{clock(one.wall)} ", QUIET)
            made.append_text(self._text(f"{one.code} {one.message} ({one.who})"))
        return made

    def _keys(self) -> Text:
        return Text.assemble(
            (" q quit", "bold"),
            ("   it only reads: innobrim --help", QUIET),
            no_wrap=True,
            overflow="crop",
        )


Chart = tuple[Sequence[str], Values, float, str, Sequence[tuple[Values, str]]]
"""Figures of now, what is drawn, value of the upper edge, style, and lines across with theirs."""


def _style(label: str, status: Status) -> str:
    if label == "decision" and status.decision.kind is DecisionKind.EMERGENCY:
        return BAD
    if label == "predicted":
        budgets = (status.budgets or {}).values()
        return (
            BAD
            if any(one.exceeded for one in budgets)
            else CAREFUL
            if any(one.long for one in budgets)
            else ""
        )
    return SHOWN[label]


def _drawn(view: View, columns: int) -> dict[str, Chart]:
    """Return what each chart shows, in so many columns."""
    status, found, limits = view.status, view.status.estimate, view.status.limits
    past = {name: _means(view.history.columns[name], columns) for name in HISTORY}
    age, capacity, pages = ["unknown"], ["unknown"], ["unknown"]
    top = _peak(past["stall_point"]) or 1.0
    if found is not None and limits is not None:
        age = [
            f"{found.checkpoint_age / limits.stall_point:.0%} of max checkpoint age",
            f"{mib(found.checkpoint_age)} of {mib(limits.stall_point)}",
            f"set-point {set_point_text(status)}",
            f"sync flushing at {limits.sync_point / limits.stall_point:.0%}",
        ]
        top = max(top, limits.stall_point)
    if status.in_force is not None:
        capacity = [
            f"C {status.in_force.io_capacity}, M {status.in_force.io_capacity_max}",
            f"M at most {_peak(past['io_capacity_max']):,.0f}, log scale",
        ]
    if found is not None:
        pages = [f"{found.flush_rate:,.0f}, sync {found.sync_rate:,.0f}, LRU {found.lru_rate:,.0f}"]
    if (synced := _peak(past["sync_rate"])) > 0.0:
        pages.insert(0, f"max sync {synced:,.0f}")
    wanted = [
        None if one is None or limit is None else one * limit
        for one, limit in zip(past["set_point"], past["flush_limit"], strict=True)
    ]
    log = {
        name: [None if one is None else math.log(max(1.0, one / CAPACITY_MINIMUM)) for one in past[name]]
        for name in ("io_capacity", "io_capacity_max")
    }
    redo = "unknown" if found is None else f"{mib(found.redo_rate)}/s"
    changes = "unknown" if found is None else f"{found.row_rate:,.0f}"
    highest = {name: _peak(past[name]) for name in ("redo_rate", "flush_rate", "row_rate")}
    return {
        "age": (age, past["checkpoint_age"], top, GOOD, ((past["sync_point"], BAD), (wanted, OURS))),
        "C and M": (
            capacity,
            log["io_capacity_max"],
            _peak(log["io_capacity_max"]) + 0.5,
            OURS,
            ((log["io_capacity"], CAREFUL),),
        ),
        "redo": (
            [redo, f"max {mib(highest['redo_rate'])}/s"],
            past["redo_rate"],
            highest["redo_rate"],
            GOOD,
            (),
        ),
        "pages/s": (pages, past["flush_rate"], highest["flush_rate"], BAD if synced else GOOD, ()),
        "row changes/s": (
            [changes, f"max {highest['row_rate']:,.0f}"],
            past["row_rate"],
            highest["row_rate"],
            GOOD,
            (),
        ),
    }


def _means(values: Values, count: int) -> Values:
    """Return so many values, each the mean of what falls on it; None in a gap."""
    found: list[float | None] = []
    for column in range(count):
        first = column * len(values) // count
        part = values[first : max(first + 1, (column + 1) * len(values) // count)]
        seen = [one for one in part if one is not None]
        found.append(math.fsum(seen) / len(seen) if seen else None)
    return found


def _bars(
    values: Values,
    top: float,
    height: int,
    style: str,
    marks: Sequence[tuple[Values, str]],
) -> list[Text]:
    """Return columns filled from the bottom, and lines across where there is room; gaps stay empty."""
    steps = len(LEVELS) - 1
    lines = [Text(no_wrap=True) for _ in range(height)]
    for column, value in enumerate(values):
        full = 0 if value is None or top <= 0.0 else round(steps * height * min(1.0, value / top))
        crossed = {
            min(height - 1, int(height * found / top)): mark
            for others, mark in marks
            if height >= LEAST_WITH_LINES and (found := others[column]) is not None and 0.0 <= found <= top
        }
        for cell, line in enumerate(reversed(lines)):
            filled = min(steps, max(0, full - cell * steps))
            if value is not None and cell in crossed:
                line.append("┄", crossed[cell] if filled < steps else f"{crossed[cell]} on {style}")
            else:
                line.append(" " if value is None or (cell and not filled) else LEVELS[filled], style)
    return lines


def _peak(values: Values) -> float:
    """Return the largest value; 0 without any."""
    return max((one for one in values if one is not None), default=0.0)
