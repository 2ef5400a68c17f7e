"""The five fields of a crontab, as cron reads them.

cron's own rules (``crontab(5)``): Sunday is 0 and 7; where day of month and day of week are both given,
either will do, but where one of them begins with ``*`` both must. APScheduler's reader takes 0 for Monday and
always wants both, so the fields are read here and handed to it as plain lists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

EXAMPLE = "30 1 * * *"
_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
"""By cron's numbers: Sunday is 0."""

_LONGEST = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
"""Days of the months that have fewer than 31."""

_ITEM = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\w+))?", re.ASCII)


class CrontabError(ValueError):
    """A crontab that cannot be read; the message says which field, and what would be right there."""


@dataclass(frozen=True, slots=True)
class Crontab:
    """What the five fields allow.

    Attributes:
        minutes: 0 to 59.
        hours: 0 to 23.
        days: of the month, 1 to 31.
        months: 1 to 12.
        weekdays: 0, Sunday, to 6.
        either: a day of the month or a day of the week is enough.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool


@dataclass(frozen=True, slots=True)
class _Field:
    """Bounds of one field; ``names`` stand for its numbers from ``first_named`` on."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()
    first_named: int = 0

    @property
    def accepts(self) -> str:
        words = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"{self.lowest} to {self.highest}{words}"

    def number(self, word: str, item: str) -> int:
        """Return the number that a word stands for, inside the bounds."""
        number = int(word) if word.isdigit() else None
        if word.lower() in self.names:
            number = self.first_named + self.names.index(word.lower())
        if number is None or not self.lowest <= number <= self.highest:
            shown = repr(word) if number is None else number
            raise CrontabError(f"{self.name} {item!r} must be {self.accepts}, not {shown}")
        return number


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS, 1),
    _Field("day of week", 0, 7, WEEKDAYS),
)


def read_crontab(text: str) -> Crontab:
    """Return what a crontab's five fields allow.

    Raises:
        CrontabError: they cannot be read, or name a day that no month has.
    """
    written = text.split()
    if alias := _ALIASES.get(text.strip().lower()):
        raise CrontabError(f'must have five fields; write "{alias}"')
    if len(written) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        raise CrontabError(f'must have five fields ({names}) such as "{EXAMPLE}"; there are {len(written)}')
    minutes, hours, days, months, week = (
        frozenset(number for item in one.split(",") for number in _numbers(item, field))
        for one, field in zip(written, _FIELDS, strict=True)
    )
    either = not written[2].startswith("*") and not written[4].startswith("*")
    if not either and not any(day <= _LONGEST.get(month, 31) for day in days for month in months):
        raise CrontabError(
            f"no month among {written[3]} has a day {written[2]}: the window would never begin"
        )
    return Crontab(minutes, hours, days, months, frozenset(day % 7 for day in week), either)


def _numbers(item: str, field: _Field) -> range:
    """Return what one item of a field's list allows: ``*``, a value or a range, perhaps with a step."""
    match = _ITEM.fullmatch(item)
    if match is None or (match["first"] == "*" and match["last"]):
        raise CrontabError(
            f"{field.name} {item!r} must be {field.accepts}, a range such as 1-5, or *; "
            "each may have a step such as */2"
        )
    first, last = field.lowest, field.highest
    if match["first"] != "*":
        first = field.number(match["first"], item)
        if match["last"] is not None:
            last = field.number(match["last"], item)
            if last == 0 < first and field.names is WEEKDAYS:
                last = 7  # fri-sun
        elif match["step"] is None:
            last = first
    if first > last:
        raise CrontabError(f"{field.name} {item!r} must be a range that goes up; else write two of them")
    step, most = match["step"] or "1", field.highest - field.lowest + 1
    if not step.isdigit() or not 1 <= int(step) <= most:
        raise CrontabError(f"{field.name} {item!r} must have a step from 1 up to {most}, not {step}")
    return range(first, last + 1, int(step))
