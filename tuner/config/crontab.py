"""Reads the five fields of a crontab as cron does, and says what is wrong with them.

cron's own rules (``crontab(5)``): Sunday is 0 and 7; where day of month and day of week are both given,
either will do, but where one of them begins with ``*`` both must. APScheduler's reader takes 0 for Monday and
always wants both, so the fields are read here and handed to it as plain lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

EXAMPLE = "30 1 * * *"
FIELDS = ("minute", "hour", "day of month", "month", "day of week")

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = {name: at for at, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: at for at, name in enumerate(_DAY_NAMES)}
_SUNDAY, _WEEK = 0, 7
_LONGEST_MONTH = 31
_LONGEST = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
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

    @property
    def hourly(self) -> bool:
        """Tell whether every hour is meant, by whatever name the clock calls it."""
        return len(self.hours) == _HOURS

    @property
    def daily(self) -> bool:
        """Tell whether every day of the year is meant, so that one is like the other."""
        days, week = len(self.days) == _LONGEST_MONTH, len(self.weekdays) == _WEEK
        return len(self.months) == len(_MONTHS) and (days or week if self.either else days and week)


@dataclass(frozen=True, slots=True)
class _Field:
    """Bounds and names of one field."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int]


_HOURS = 24
_BOUNDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, _HOURS - 1, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _DAYS),
)


def read_crontab(text: str) -> Crontab:
    """Return what a crontab's five fields allow.

    Raises:
        CrontabError: they cannot be read, or name a day that no month has.
    """
    written = text.split()
    if text.strip().lower() in _ALIASES:
        raise CrontabError(f'must have five fields; write "{_ALIASES[text.strip().lower()]}"')
    if len(written) != len(FIELDS):
        raise CrontabError(
            f'must have five fields ({", ".join(FIELDS)}) such as "{EXAMPLE}"; there are {len(written)}'
        )
    minutes, hours, days, months, week = (
        _values(one, field) for one, field in zip(written, _BOUNDS, strict=True)
    )
    either = not written[2].startswith("*") and not written[4].startswith("*")
    if not either and not any(day <= _LONGEST.get(month, 31) for day in days for month in months):
        never = "the window would never begin"
        raise CrontabError(f"no month among {written[3]} has a day {written[2]}: {never}")
    return Crontab(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % _WEEK for day in week),
        either=either,
    )


def _values(text: str, field: _Field) -> frozenset[int]:
    """Return what one field allows.

    Raises:
        CrontabError: it cannot be read.
    """
    found: set[int] = set()
    for item in text.split(","):
        found |= _item(item, field)
    return frozenset(found)


def _item(item: str, field: _Field) -> set[int]:
    """Return what one item of a field's list allows: ``*``, a value or a range, perhaps with a step."""
    match = _ITEM.fullmatch(item)
    if match is None or (match["first"] == "*" and match["last"]):
        raise CrontabError(
            f"{field.name} {item!r} must be {_accepts(field)}, a range such as 1-5, or *; "
            "each may have a step such as */2"
        )
    step = 1 if match["step"] is None else _number(match["step"], field, item)
    if match["first"] == "*":
        first, last = field.lowest, min(field.highest, 6) if field.names is _DAYS else field.highest
    else:
        first = _number(match["first"], field, item)
        last = first if match["last"] is None else _number(match["last"], field, item)
        if match["last"] is None and match["step"] is not None:
            last = field.highest
        if last == _SUNDAY < first and field.names is _DAYS:
            last = _WEEK  # fri-sun
        for value in (first, last):
            if not field.lowest <= value <= field.highest:
                raise CrontabError(f"{field.name} {item!r} must be {_accepts(field)}, not {value}")
        if first > last:
            raise CrontabError(f"{field.name} {item!r} must be a range that goes up; else write two of them")
    if not 1 <= step <= field.highest - field.lowest + 1:
        most = field.highest - field.lowest + 1
        raise CrontabError(f"{field.name} {item!r} must have a step from 1 up to {most}, not {step}")
    return set(range(first, last + 1, step))


def _number(word: str, field: _Field, item: str) -> int:
    if word.isdigit():
        return int(word)
    if word.lower() in field.names:
        return field.names[word.lower()]
    raise CrontabError(f"{field.name} {item!r} must be {_accepts(field)}, not {word!r}")


def _accepts(field: _Field) -> str:
    names = list(field.names)
    words = f" or {names[0]} to {names[-1]}" if names else ""
    return f"{field.lowest} to {field.highest}{words}"
