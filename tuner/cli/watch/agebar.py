"""The checkpoint age as a bar that lies, up to where writers block."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from api.models import Limits, Status
from tuner.cli.watch.follow import View
from tuner.cli.watch.look import BAD, CAREFUL, GOOD, LABEL_WIDTH, NAME, OURS, QUIET, Look
from tuner.cli.wording import mib, set_point_text
from tuner.records import Estimate

OFF = 0.05
"""An age ratio that is farther above its set-point is not where it should be."""


def age_bar(view: View, look: Look, *, full_words: bool) -> Iterator[Text]:
    """Yield the ages as a bar up to max checkpoint age, and the marks of set-point and sync flushing.

    First the modified age, which the set-point is about, then what the checkpoint lags behind it.
    """
    found, limits = view.status.estimate, view.status.limits
    if found is None or limits is None:
        yield look.line((f"{'age':<{LABEL_WIDTH}}", NAME), "unknown")
        yield Text()
        return
    highest = mib(limits.stall_point)
    words = f"of {highest} max checkpoint age" if full_words else f"of max {highest}"
    figures = f"{found.checkpoint_age / limits.stall_point:>4.0%} {words}"
    width = look.width - LABEL_WIDTH - (0 if look.narrow else len(figures) + 1)
    width = max(8, width)

    def place(age: float) -> int:
        return min(width - 1, max(0, round(width * age / limits.stall_point)))

    marks = {place(limits.sync_point): BAD}
    wanted = None
    if view.status.set_point is not None:
        wanted = place(view.status.set_point * limits.flush_limit)
        marks[wanted] = OURS
    ends = place(found.modified_age), place(found.checkpoint_age)
    style = _judged(view.status, found, limits)
    line = look.line((f"{'age':<{LABEL_WIDTH}}", NAME))
    for cell in range(width):
        char = look.glyphs.bar[sum(cell >= end for end in ends)]
        if cell in marks:
            char = "|" if look.glyphs.ascii else "┃"
        line.append(char, marks.get(cell, style if cell < max(ends) else QUIET))
    said = f"set-point {set_point_text(view.status)}"
    if look.narrow:
        yield look.cut(line)
        yield _signs(look, {place(limits.sync_point): BAD} | ({} if wanted is None else {wanted: OURS}))
        yield from look.labelled("", f"{figures.strip()}; {said}")
        return
    line.append(f" {figures}")
    yield look.cut(line)
    yield _marks(look, place(limits.sync_point), wanted, said)


def _judged(status: Status, found: Estimate, limits: Limits) -> str:
    """Return the colour of the bar: whether the age that is held is where it should be."""
    if found.modified_age >= limits.sync_point:
        return BAD
    beyond = status.set_point is not None and found.age_ratio > status.set_point + OFF
    return CAREFUL if beyond else GOOD


def _signs(look: Look, places: dict[int, str]) -> Text:
    """Return the line below the bar with the signs alone, where words have no room."""
    line = look.line(" " * LABEL_WIDTH)
    for place in sorted(places):
        line.append(" " * (LABEL_WIDTH + place - line.cell_len))
        line.append(look.glyphs.up, places[place])
    return look.cut(line)


def _marks(look: Look, sync: int, wanted: int | None, said: str) -> Text:
    """Return the line below the bar, with a sign below each mark."""
    up, line = look.glyphs.up, look.line(" " * LABEL_WIDTH)
    if wanted is not None:
        before = f"{said} {up}"
        if len(before) <= wanted + 1:
            line.append(" " * (wanted + 1 - len(before)) + before, OURS)
        else:
            line.append(" " * wanted + f"{up} {said}", OURS)
    room = LABEL_WIDTH + sync - line.cell_len
    line.append((" " * room + up if room >= 0 else "") + " sync flushing", BAD if look.colour else "")
    return look.cut(line)
