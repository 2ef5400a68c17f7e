"""The simulated server that is nearest to a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.parameters import ServerParameters

if TYPE_CHECKING:
    from tuner.records import Facts, Sample


def nearest_server(facts: Facts, first: Sample) -> ServerParameters:
    """Return the simulated server that is nearest to a real one, with the settings of its first reading.

    Raises:
        ValueError: that kind has no redo log of such a size.
    """
    flavour = flavour_of(facts)
    lacks = FLAVOURS[flavour].lacks
    low = None if FLAVOURS[flavour].law.name != "mariadb" else 0.0 if facts.flush_law != "mariadb" else 0.001
    server = ServerParameters(
        flavour=flavour,
        redo_capacity=first.redo_capacity,
        buffer_pool_pages=max(320, first.pages_total),
        io_capacity=first.io_capacity,
        io_capacity_max=first.io_capacity_max,
        adaptive_flushing_lwm=min(70.0, first.adaptive_flushing_lwm),
        max_dirty_pages_pct=min(99.99, max(first.dirty_limit, 0.0)),
        max_dirty_pages_pct_lwm=low,
        flush_sync=None if "flush_sync" in lacks else first.flush_sync,
    )
    server.kind.limits(server.redo_capacity)
    return server


def flavour_of(facts: Facts) -> FlavourName:
    """Return the kind of simulated server that is nearest to a real one."""
    for name, kind in FLAVOURS.items():
        if kind.version == facts.version:
            return name
    major = tuple(int(part) for part in facts.version.split("-")[0].split(".")[:3] if part.isdigit())
    text = f"{facts.family} {facts.version} {facts.version_comment}".lower()
    if "mariadb" in text:
        return "mariadb-11.8"
    if facts.flush_law.startswith("high_checkpoint"):
        return "percona-5.7" if major < (8,) else "percona-8.4"
    if major < (5, 7):
        return "mysql-5.6"
    if major < (8,):
        return "mysql-5.7"
    return "mysql-8.0.28" if major < (8, 0, 30) else "mysql-9.7"
