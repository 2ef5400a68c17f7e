"""The simulated server's own settings."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from lab.plant.flavour import FLAVOURS, Flavour, FlavourName

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
        most = self.io_capacity_max
        if most is None:
            most = kind.default_max(kind.io_capacity if self.io_capacity is None else self.io_capacity)
        dirty = kind.max_dirty_pages_pct if self.max_dirty_pages_pct is None else self.max_dirty_pages_pct
        low = self.max_dirty_pages_pct_lwm
        idle = None if "idle_flush_pct" in kind.lacks else self.idle_flush_pct
        sync = None if "flush_sync" in kind.lacks else self.flush_sync
        doublewrite = None if "doublewrite_pages" in kind.lacks else self.doublewrite_pages
        return InForce(
            io_capacity=min(kind.io_capacity, most) if self.io_capacity is None else self.io_capacity,
            io_capacity_max=most,
            max_dirty_pages_pct=dirty,
            max_dirty_pages_pct_lwm=min(kind.max_dirty_pages_pct_lwm, dirty) if low is None else low,
            idle_flush_pct=100 if idle is None else idle,
            flush_sync=True if sync is None else sync,
            doublewrite_pages=kind.doublewrite_pages if doublewrite is None else doublewrite,
            flush_neighbors=kind.flush_neighbors if self.flush_neighbors is None else self.flush_neighbors,
        )
