"""What a person has to know beside the charts, in the words of ``innobrim status``."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from api.status import Status
from tuner.cli import optimiser_text
from tuner.cli.watch.follow import View
from tuner.cli.watch.look import BAD, CAREFUL, Look
from tuner.cli.wording import (
    changes_text,
    drain_text,
    duration,
    hold_text,
    law_text,
    low_water_text,
    overlay_text,
    override_text,
    predicted_texts,
    restore_text,
    to_write,
    window_text,
)

LINES = {"hold": 4, "advisory": 3, "predicted": 4, "budget": 2, "flush law": 2}
"""What may take more than one line, and how many: why nothing is written, and what ends that, is not cut."""

Fact = tuple[str, str, str]
"""Label, words, style."""


def facts(view: View, look: Look) -> Iterator[Text]:
    """Yield holds, what is under way, what would be, and how many changes are left."""
    for label, words, style in (*_held(view.status), *_under_way(view.status), *_figures(view.status)):
        yield from look.labelled(label, words, style, most=LINES.get(label, 1))


def _held(status: Status) -> Iterator[Fact]:
    if status.advisory is not None:
        yield "advisory", f"{status.advisory}; {to_write(status)} lets the daemon write", ""
    if not status.holds:
        yield "holds", "none", ""
    for hold in status.holds:
        yield "hold", hold_text(hold), CAREFUL
    if status.occurrences:
        yield "going on", f"{', '.join(status.occurrences)}; nothing is learned meanwhile", CAREFUL
    if law := law_text(status):
        yield "flush law", law, ""
    if status.degraded:
        yield "degraded", "InnoDB counters are off: innobrim status says more", CAREFUL
    if status.journal is not None:
        yield "journal", f"cannot be written: {status.journal}; ticks wait in memory", BAD


def _under_way(status: Status) -> Iterator[Fact]:
    if status.override is not None:
        yield "override", override_text(status.override), CAREFUL
    if status.overlay is not None:
        yield "settings", overlay_text(status.overlay), CAREFUL
    if status.drain is not None:
        yield "drain", f"{drain_text(status.drain)}; for {status.drain.who}", CAREFUL
    if status.restore is not None:
        yield "restore", restore_text(status.restore, status.in_force, status.originals), CAREFUL
    if status.low_water is not None:
        yield "low water", low_water_text(status.low_water), ""
    for window in status.schedule:
        yield "schedule", window_text(window), ""
    if status.optimiser is not None:
        at = status.at + status.seconds_old
        for words in optimiser_text.lines(status.optimiser, at=at, duration=duration):
            yield "optimiser", words, ""


def _figures(status: Status) -> Iterator[Fact]:
    if status.estimate is not None:
        budgets = (status.budgets or {}).values()
        style = (
            BAD
            if any(one.exceeded for one in budgets)
            else CAREFUL
            if any(one.long for one in budgets)
            else ""
        )
        yield "predicted", "; ".join(predicted_texts(status, status.estimate)), style
        for text in status.unkept:
            yield "budget", text, CAREFUL
    yield "changes", changes_text(status), ""
