"""Reads the schedule's tables of a configuration file, and the five fields of a crontab as cron does.

cron's own rules (``crontab(5)``): Sunday is 0 and 7; where day of month and day of week are both given,
either will do, but where one of them begins with ``*`` both must. APScheduler's reader takes 0 for Monday and
always wants both, so the fields are read here and handed to it as plain lists.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from tzlocal import reload_localzone

from tuner.config.keys import (
    BRACKETS,
    SCHEDULE,
    SCHEDULE_KEYS,
    WITHOUT_EFFECT,
    KeyValueError,
    nearest,
    toml,
)
from tuner.config.schema import ScheduleTable
from tuner.records.window import NOTHING, effects, said

NAME_ONE = "name one here, such as Europe/Berlin or UTC"
REQUIRED = ("name", "cron", "minutes")
NO_ZONES = frozenset({"Factory", "localtime"})
"""Files among those of the time zones that are no place's: for a machine without one, and this machine's."""

_EFFECTS = ", ".join(
    said(name, not value) if isinstance(value, bool) else name for name, value in NOTHING.items()
)


class ZoneError(ValueError):
    """A time zone that is not known here; the message says which would be right."""


def zone_of(name: str | None) -> ZoneInfo:
    """Return a time zone.

    Args:
        name: of the IANA; None for the machine's local one.

    Raises:
        ZoneError: there is none of that name, or it cannot be told which the machine's is.
    """
    if name is not None:
        if name not in _known():
            raise ZoneError(_unknown(name))
        return ZoneInfo(name)
    try:
        zone = reload_localzone()  # read anew, since a reload is to see another one
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        why = " ".join(str(error.args[0] if error.args else error).split())
        if given := os.environ.get("TZ"):
            why = f"the environment's TZ = {toml(given)} is no time zone of the IANA; set it to one, or"
            raise ZoneError(
                f"is not given, and the machine's own cannot be told: {why} {NAME_ONE}"
            ) from error
        raise ZoneError(f"is not given, and the machine's own cannot be told: {why}; {NAME_ONE}") from error
    if not isinstance(zone, ZoneInfo):
        raise ZoneError(f"is not given, and the machine's own cannot be told; {NAME_ONE}")
    return zone


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones() - NO_ZONES)


def _unknown(name: str) -> str:
    """Return what is wrong with a time zone that there is none of, and which would be right."""
    if not _known():
        return "this machine knows no time zones: install tzdata"
    lower = {one.lower(): one for one in sorted(_known()) if "/" in one or one == "UTC"}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)  # no EST, which CEST is like
    hint = f"did you mean {lower[close[0]]}?" if close else "such as Europe/Berlin or UTC"
    return f"must be a time zone of the IANA; {hint}"


def read_schedule(place: str, tables: object) -> tuple[tuple[ScheduleTable, ...], list[str], list[str]]:
    """Return the schedule's tables, a line for everything that is wrong, and one for each key of before.

    Args:
        place: file and array, for the messages.
        tables: what the file says.
    """
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        return (), [f"{place} must be an array of tables: write {BRACKETS[SCHEDULE]} before each"], []
    schedules: list[ScheduleTable] = []
    problems: list[str] = []
    notes: list[str] = []
    names: dict[object, int] = {}
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        called = f' "{name}"' if isinstance(name, str) else ""
        here = f"{place}[{number}]{called}"
        present = {name: value for name, value in table.items() if f"{SCHEDULE}.{name}" not in WITHOUT_EFFECT}
        notes.extend(
            f"{here}.{name}: {WITHOUT_EFFECT[f'{SCHEDULE}.{name}']}" for name in table.keys() - present.keys()
        )
        values, wrong = _values(here, present)
        if "name" in values and names.setdefault(name, number) != number:
            taken = f"{SCHEDULE}[{names[name]}] has this name; each needs one of its own"
            wrong.append(f"{here}.name = {toml(name)}: {taken}")
        wrong.extend(_beyond_bounds(here, values))
        if not wrong:
            made = ScheduleTable(**values)
            schedules.append(made)
            if not effects(made):
                wrong.append(f"{here}: has no effect; give at least one of {_EFFECTS}")
        problems.extend(wrong)
    return tuple(schedules), problems, notes


def _values(here: str, table: dict[str, object]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of one table, each inside its own bounds."""
    values, problems = {}, []
    for name, value in table.items():
        key = SCHEDULE_KEYS.get(name)
        if key is None:
            near = nearest(name, SCHEDULE_KEYS)
            hint = f"did you mean {near}?" if near else f"a schedule has {', '.join(SCHEDULE_KEYS)}"
            problems.append(f"{here}.{name}: unknown key; {hint}")
            continue
        try:
            values[name] = key.read(value, from_text=False)
        except KeyValueError as error:
            problems.append(f"{here}.{name} = {toml(value)}: {error}")
    missing = [name for name in REQUIRED if name not in table]
    problems.extend(f"{here}.{name} is missing; it must be {SCHEDULE_KEYS[name].accepts}" for name in missing)
    return values, problems


def _beyond_bounds(here: str, values: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a crontab and a time zone that are texts, as they should be."""
    if "cron" in values:
        try:
            read_crontab(values["cron"])
        except CrontabError as error:
            yield f"{here}.cron = {toml(values['cron'])}: {error}"
    zone = values.get("timezone")
    try:
        zone_of(zone)
    except ZoneError as error:
        yield f"{here}.timezone {error}" if zone is None else f"{here}.timezone = {toml(zone)}: {error}"


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
