"""Reads the schedule's tables of a configuration file, and time zones."""

from __future__ import annotations

import difflib
import functools
import os
import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from tzlocal import reload_localzone

from tuner.config.crontab import CrontabError, read_crontab
from tuner.config.keys import SCHEDULE, toml
from tuner.config.schema import ScheduleTable
from tuner.config.tables import read_tables
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
    """Return the schedule's tables as ``read_tables`` does."""
    return read_tables(
        place,
        tables,
        ScheduleTable,
        array=SCHEDULE,
        values_wrong=_beyond_bounds,
        table_wrong=_without_effect,
    )


def _without_effect(here: str, table: ScheduleTable) -> Iterator[str]:
    if not effects(table):
        yield f"{here}: has no effect; give at least one of {_EFFECTS}"


def _beyond_bounds(here: str, values: Mapping[str, Any]) -> Iterator[str]:
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
