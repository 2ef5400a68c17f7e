"""Reads the schedule's tables of a configuration file, and time zones."""

from __future__ import annotations

import difflib
import functools
import os
import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import NODEFAULT
from tzlocal import reload_localzone

from tuner.config.crontab import CrontabError, read_crontab
from tuner.config.keys import (
    BRACKETS,
    SCHEDULE,
    SCHEDULE_KEYS,
    WITHOUT_EFFECT,
    Key,
    KeyValueError,
    nearest,
    toml,
)
from tuner.config.schema import ScheduleTable
from tuner.records.window import NOTHING, effects, said

NAME_ONE = "name one here, such as Europe/Berlin or UTC"
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
        values, wrong = values_of(here, present, SCHEDULE_KEYS, "a schedule")
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


def values_of(
    here: str, table: Mapping[str, object], keys: Mapping[str, Key], noun: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of one table, each inside its own bounds, and a line for everything that is wrong.

    Args:
        here: file and table, for the messages.
        table: what the file says.
        keys: what the table takes.
        noun: what such a table is, with its article.
    """
    values, problems = {}, []
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            near = nearest(name, keys)
            hint = f"did you mean {near}?" if near else f"{noun} has {', '.join(keys)}"
            problems.append(f"{here}.{name}: unknown key; {hint}")
            continue
        try:
            values[name] = key.read(value, from_text=False)
        except KeyValueError as error:
            problems.append(f"{here}.{name} = {toml(value)}: {error}")
    problems.extend(
        f"{here}.{name} is missing; it must be {key.accepts}"
        for name, key in keys.items()
        if key.default is NODEFAULT and name not in table
    )
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
