"""Everything that decides how the simulated server behaves, and the hash that names it.

The defaults describe the measured machine: MySQL 9.7.4, 16 sysbench threads, uniform
``oltp_update_non_index`` over 4 tables of 400,000 rows. ``docs/lab/simulate.md`` says how
each was found and what error is left.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from lab.plant.disk import Credits, DiskChange, DiskParameters
from lab.plant.flavour import FLAVOURS, Flavour, FlavourName
from lab.plant.load import LoadChange, LoadParameters

__all__ = [
    "Credits",
    "DiskChange",
    "DiskParameters",
    "LoadChange",
    "LoadParameters",
    "PlantParameters",
    "RedoChange",
    "ServerParameters",
]

Capacity = Annotated[int, Meta(ge=100, le=4_294_967_295)]
Redo = Annotated[int, Meta(ge=8_388_608, le=549_755_813_888)]
MANY_PAGES = 65_536
"""A buffer pool of 1 GiB, from which on MySQL 5.6 has eight instances (handler/ha_innodb.cc)."""

Percent = Annotated[float, Meta(ge=0, le=99.999)]


class RedoChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Another size of the redo log from a moment on.

    Attributes:
        at: seconds after the start.
        redo_capacity: bytes.
    """

    at: Annotated[float, Meta(gt=0)]
    redo_capacity: Redo


class InForce(NamedTuple):
    """The settings that a flavour has defaults of its own for, as they are when the server has started.

    Attributes:
        io_capacity: C, pages/s.
        io_capacity_max: M, pages/s.
        max_dirty_pages_pct: percent.
        max_dirty_pages_pct_lwm: percent.
        idle_flush_pct: percent of C.
        flush_sync: M is no limit beyond the sync point.
        doublewrite_pages: pages of one doublewrite batch.
        flush_neighbors: a page is flushed with the dirty pages beside it.
    """

    io_capacity: int
    io_capacity_max: int
    max_dirty_pages_pct: float
    max_dirty_pages_pct_lwm: float
    idle_flush_pct: int
    flush_sync: bool
    doublewrite_pages: int
    flush_neighbors: bool


class ServerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The server's own settings; None is the flavour's default.

    Attributes:
        flavour: which server.
        redo_capacity: size of the redo log at the start, bytes.
        resizes: later sizes of it.
        buffer_pool_pages: pages in the buffer pool.
        io_capacity: ``innodb_io_capacity`` at the start, pages/s.
        io_capacity_max: ``innodb_io_capacity_max`` at the start, pages/s; None: 2 C, in older
            flavours at least 2000.
        adaptive_flushing_lwm: ``innodb_adaptive_flushing_lwm``, percent.
        max_dirty_pages_pct: ``innodb_max_dirty_pages_pct``, percent.
        max_dirty_pages_pct_lwm: ``innodb_max_dirty_pages_pct_lwm``, percent.
        flushing_avg_loops: ``innodb_flushing_avg_loops``.
        idle_flush_pct: ``innodb_idle_flush_pct``, percent of C; MySQL from 8.0 on; None: 100.
        flush_sync: ``innodb_flush_sync``; not in 5.6; None: true.
        lru_scan_depth: ``innodb_lru_scan_depth`` over all buffer-pool instances, pages.
        doublewrite_pages: ``innodb_doublewrite_pages``, pages that go to the doublewrite file in one batch;
            MySQL from 8.0 on.
        flush_neighbors: ``innodb_flush_neighbors``, 0 or 1; None: true in MariaDB and in MySQL before 8.0.
    """

    flavour: FlavourName = "mysql-9.7"
    redo_capacity: Redo = 104_857_600
    resizes: tuple[RedoChange, ...] = ()
    buffer_pool_pages: Annotated[int, Meta(ge=320, le=4_294_967_296)] = 131_072
    io_capacity: Capacity | None = None
    io_capacity_max: Capacity | None = None
    adaptive_flushing_lwm: Annotated[float, Meta(ge=0, le=70)] = 10.0
    max_dirty_pages_pct: Percent | None = None
    max_dirty_pages_pct_lwm: Percent | None = None
    flushing_avg_loops: Annotated[int, Meta(ge=1, le=1000)] = 30
    idle_flush_pct: Annotated[int, Meta(ge=0, le=100)] | None = None
    flush_sync: bool | None = None
    lru_scan_depth: Annotated[int, Meta(ge=100, le=4_294_967_295)] = 1024
    doublewrite_pages: Annotated[int, Meta(ge=1, le=512)] | None = None
    flush_neighbors: bool | None = None

    @property
    def kind(self) -> Flavour:
        """Return what kind of server it is."""
        return FLAVOURS[self.flavour]

    @property
    def pool_instances(self) -> int:
        """Return how many instances of the buffer pool a batch of flushing is shared out to."""
        return self.kind.pool_instances if self.buffer_pool_pages >= MANY_PAGES else 1

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the settings among these that this flavour has not; it would not start with them."""
        return tuple(name for name in self.kind.lacks if getattr(self, name) is not None)

    @property
    def in_force(self) -> InForce:
        """Return what is in force where these say nothing; a setting that it has not counts for nothing.

        Without C and M each is the server's default. Without M it follows C, as at a server's start, and
        without C it is the default as far as M allows.
        """
        kind = self.kind

        def or_default(name: str, default: float) -> Any:  # noqa: ANN401 - of several types
            value = None if name in kind.lacks else getattr(self, name)
            return default if value is None else value

        most = self.io_capacity_max
        if most is None:
            most = kind.default_max(kind.io_capacity if self.io_capacity is None else self.io_capacity)
        dirty = or_default("max_dirty_pages_pct", kind.max_dirty_pages_pct)
        low = min(kind.max_dirty_pages_pct_lwm, dirty)
        return InForce(
            io_capacity=or_default("io_capacity", min(kind.io_capacity, most)),
            io_capacity_max=most,
            max_dirty_pages_pct=dirty,
            max_dirty_pages_pct_lwm=or_default("max_dirty_pages_pct_lwm", low),
            idle_flush_pct=or_default("idle_flush_pct", 100),
            flush_sync=or_default("flush_sync", default=True),
            doublewrite_pages=or_default("doublewrite_pages", kind.doublewrite_pages),
            flush_neighbors=or_default("flush_neighbors", kind.flush_neighbors),
        )


REVISION = 6
"""Raised whenever the plant's code changes what the same parameters give."""


class PlantParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """One simulated server, its disk and its load."""

    server: ServerParameters = msgspec.field(default_factory=ServerParameters)
    disk: DiskParameters = msgspec.field(default_factory=DiskParameters)
    load: LoadParameters = msgspec.field(default_factory=LoadParameters)

    def fingerprint(self) -> str:
        """Return the hash that every result carries: the same hash and seed give the same trace."""
        encoded = msgspec.json.encode((REVISION, self), order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]
