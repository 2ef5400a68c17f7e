"""Which simulated server stands for the real one of a row: its settings, disk and load, read from the row."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lab.bench.contenders import version_default
from lab.plant.parameters import (
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    PlantParameters,
    ServerParameters,
)
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lab.plant.fits import Fit
    from lab.plant.flavour import FlavourName
    from lab.report.rows import Row

PAGE_BYTES = 16_384

SERVERS: tuple[tuple[str, tuple[int, ...], FlavourName], ...] = (
    ("MySQL", (8, 0, 30), "mysql-9.7"),
    ("MySQL", (8, 0, 19), "mysql-8.0.28"),
    ("MySQL", (5, 7), "mysql-5.7"),
    ("MySQL", (5, 6), "mysql-5.6"),
    ("MariaDB", (10, 11), "mariadb-11.8"),
)
"""Maker, first version, and which simulated server stands for those from there on."""

SETTINGS: dict[str, tuple[str, type[int | float]]] = {
    "innodb_adaptive_flushing_lwm": ("adaptive_flushing_lwm", float),
    "innodb_max_dirty_pages_pct": ("max_dirty_pages_pct", float),
    "innodb_max_dirty_pages_pct_lwm": ("max_dirty_pages_pct_lwm", float),
    "innodb_flushing_avg_loops": ("flushing_avg_loops", int),
    "innodb_idle_flush_pct": ("idle_flush_pct", int),
    "innodb_doublewrite_pages": ("doublewrite_pages", int),
}
"""Variables of mysqld that the plant has as well."""

KIND, DISTRIBUTION = "update_non_index", "uniform"
"""The load whose parameters are known."""

_SERVER = re.compile(r"(.+?) (\d+(?:\.\d+)+)")


class ConditionsError(ValueError):
    """Conditions that no simulated server has; the message says which."""


def flavour_of(server: str) -> FlavourName:
    """Return which simulated server stands for a real one, such as ``MySQL 9.7.4``.

    Raises:
        ConditionsError: none does.
    """
    maker, numbers = _maker_and_numbers(server)
    for name, first, flavour in SERVERS:
        if name == maker and numbers >= first:
            return flavour
    raise ConditionsError(f"{server}: the plant has no such server")


def default_of(server: str) -> Capacity:
    """Return C and M that a real server has by itself, which is where the bench resets it to, pages/s."""
    maker, numbers = _maker_and_numbers(server)
    return version_default("mariadb" if maker == "MariaDB" else ".".join(map(str, numbers)))


def fit_for(row: Row, fits: Iterable[Fit]) -> Fit | None:
    """Return the fit of the simulated server that stands for a row's, or None."""
    with contextlib.suppress(ConditionsError):
        flavour = flavour_of(str(row.conditions.get("server", "")))
        return next((fit for fit in fits if fit.name == flavour), None)
    return None


def parameters_of(row: Row, fit: Fit | None = None) -> PlantParameters:
    """Return the simulated server that stands for the one that a row was measured on.

    Args:
        row: of a bench.
        fit: fitted parameters of load and disk; None for the plant's own.

    Raises:
        ConditionsError: the row was measured under something that the plant has not.
    """
    given = row.conditions
    disk, load = dict(given.get("disk") or {}), dict(given.get("load") or {})
    if problems := [*_disk_problems(given, disk), *_load_problems(load)]:
        raise ConditionsError("; ".join(problems))
    server = ServerParameters(
        flavour=flavour_of(str(given.get("server", ""))),
        redo_capacity=int(given["redo_capacity"]),
        buffer_pool_pages=int(given["buffer_pool"]) // PAGE_BYTES,
        **_settings(dict(given.get("set") or {})),
    )
    rate = load.get("rate")
    return PlantParameters(
        server=server,
        disk=replace(
            DiskParameters() if fit is None else fit.disk_over(DiskParameters()),
            timeline=(DiskChange(0.0, float(disk["write_iops"])),),
        ),
        load=replace(
            LoadParameters() if fit is None else fit.load_over(LoadParameters()),
            timeline=(LoadChange(0.0, int(load["threads"]), rate=float(rate) if rate else None),),
        ),
    )


def _maker_and_numbers(server: str) -> tuple[str, tuple[int, ...]]:
    found = _SERVER.match(server)
    if found is None:
        raise ConditionsError(f"{server or 'a server that is not named'}: the plant has no such server")
    return found[1], tuple(int(one) for one in found[2].split("."))


def _disk_problems(given: dict[str, Any], disk: dict[str, Any]) -> Iterator[str]:
    """Yield what of a disk the plant cannot be given, or what the real one was not."""
    if given.get("not_limited"):
        yield "the disk was not limited as planned"
    if not disk.get("write_iops"):
        yield "what the disk takes is not known without a limit on its writes"
    if disk.get("write_mib"):
        yield "a limit on the bytes written has no fitted costs"
    if disk.get("alternate_iops"):
        yield "a disk whose limit moves comes to no equilibrium"


def _load_problems(load: dict[str, Any]) -> Iterator[str]:
    """Yield what of a load the plant has no parameters for."""
    for name, known in (("kind", KIND), ("distribution", DISTRIBUTION), ("course", "steady")):
        if (found := load.get(name, known)) != known:
            yield f"a load of {name} {found} has no fitted parameters"
    if not load.get("threads"):
        yield "the load's threads are not known"


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return variables of mysqld as the plant calls them.

    Raises:
        ConditionsError: it has no such setting.
    """
    if unknown := sorted(given.keys() - SETTINGS.keys()):
        raise ConditionsError(f"the plant has no {', '.join(unknown)}")
    return {name: kind(given[variable]) for variable, (name, kind) in SETTINGS.items() if variable in given}
