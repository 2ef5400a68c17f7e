"""The servers that the plant can be: how their checkpointing differs, and their settings."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.servers.adapter import Points
from tuner.servers.families.log_files import log_group_limits, log_group_limits_5
from tuner.servers.families.mariadb import mariadb_limits
from tuner.servers.families.redo_capacity import FLUSH_ORDER_LAG, redo_limits

if TYPE_CHECKING:
    from collections.abc import Callable

FlavourName = Literal[
    "mysql-9.7",
    "mysql-8.0.28",
    "mysql-5.7",
    "mysql-5.6",
    "percona-8.4",
    "percona-5.7",
    "mariadb-11.8",
    "mariadb-10.5",
]

FILES = 2
"""``innodb_log_files_in_group`` of the servers that have it."""


class Sync(Enum):
    """What happens beyond the sync point."""

    ROUNDS = "rounds"
    """The page cleaner flushes rounds of C to 2 M pages without sleep; writers go on (from 8.0.19 on)."""

    BATCH = "batch"
    """All writers wait until the page cleaner has brought the age back; it goes on from there (5.7)."""

    WRITERS = "writers"
    """All writers wait while one of them flushes twice what is too much (5.6)."""

    FURIOUS = "furious"
    """From the stall point on writers wait, and the page cleaner flushes rounds of M pages (MariaDB)."""


class Law(Struct, frozen=True):
    """The server's flush percentage by age, and what its request is the mean of.

    Source: ``Adaptive_flush::get_pct_for_lsn`` of 9.7 and ``af_get_pct_for_lsn`` before and elsewhere
    (storage/innobase/buf/buf0flu.cc).

    Attributes:
        name: what the daemon calls it.
        exponent: power of the age, 1.5 or 2.5.
        divisor: what that is divided by.
        truncates_percentage: the age percentage is an integer.
        ignores_averages_at_limit: from the flush limit on nothing but this percentage counts.
    """

    name: str
    exponent: float = 1.5
    divisor: float = 7.5
    truncates_percentage: bool = False
    ignores_averages_at_limit: bool = False

    def percentage(self, age: float, flush_limit: float, io_capacity: int, io_capacity_max: int) -> int:
        """Return the percentage of C that an age asks for, in the server's integer arithmetic."""
        percent = age * 100.0 / flush_limit
        if self.truncates_percentage:
            percent = float(int(percent))
        power = percent * math.sqrt(percent)
        if self.exponent > 2.0:  # noqa: PLR2004 - the two exponents there are
            power *= percent
        return int(io_capacity_max // io_capacity * power / self.divisor)


class Flavour(Struct, frozen=True):
    """One kind of server.

    Attributes:
        name: how scenarios call it.
        version: what it says of itself.
        law: its flush law, where it has one that acts on age.
        sync: what it does beyond the sync point.
        limits: its limits for a redo capacity, bytes.
        order_lag: bytes by which its flush lists may be out of order.
        checkpoint_seconds: time between two checkpoints under load.
        resizes: the redo log can be given another size while it runs.
        flush_neighbors: a page is flushed with the dirty pages beside it by default.
        pool_instances: of a buffer pool from 1 GiB on, where a batch is shared out to them.
        raises_max: a C above M raises M to 2 C, where others lower C to M.
        heeds_age: the age decides whenever a MariaDB's page cleaner is awake, however few pages are dirty.
        asks_all: its commits ask for all that is dirty, not only for what lies beyond the flush limit.
        io_capacity: default of C, pages/s.
        least_max: smallest M, pages/s, that the server chooses by itself.
        max_dirty_pages_pct: default, percent.
        max_dirty_pages_pct_lwm: default, percent.
        capacity_maximum: largest C and M, pages/s.
        doublewrite_pages: pages that it writes to the doublewrite file, or buffer, in one batch by itself.
        lacks: settings of ``ServerParameters`` that it has no variable for.
    """

    name: FlavourName
    version: str
    law: Law
    sync: Sync
    limits: Callable[[int], Points]
    order_lag: int = 0
    checkpoint_seconds: float = 7.0
    resizes: bool = False
    flush_neighbors: bool = False
    pool_instances: int = 1
    raises_max: bool = False
    heeds_age: bool = False
    asks_all: bool = False
    io_capacity: int = 200
    least_max: int = 2000
    max_dirty_pages_pct: float = 90.0
    max_dirty_pages_pct_lwm: float = 10.0
    capacity_maximum: int = 2**63 - 1
    doublewrite_pages: int = 128
    lacks: tuple[str, ...] = ()

    def default_max(self, io_capacity: int) -> int:
        """Return the M that the server starts with where only C is set, pages/s.

        Source: handler/ha_innodb.cc, ``SRV_MAX_IO_CAPACITY_DUMMY_DEFAULT``.
        """
        return min(max(2 * io_capacity, self.least_max), self.capacity_maximum)


def _group_5(capacity: int) -> Points:
    return log_group_limits_5(capacity // FILES, FILES)


def _group_8(capacity: int) -> Points:
    return log_group_limits(capacity // FILES, FILES)


def _mariadb(capacity: int) -> Points:
    return mariadb_limits(capacity, release=(11, 8))


def _mariadb_10_5(capacity: int) -> Points:
    return mariadb_limits(capacity, release=(10, 5))


_MYSQL_97 = Flavour(
    name="mysql-9.7",
    version="9.7 (simulated)",
    law=Law("legacy"),
    sync=Sync.ROUNDS,
    limits=redo_limits,
    order_lag=FLUSH_ORDER_LAG,
    resizes=True,
    io_capacity=10_000,
    least_max=0,
    capacity_maximum=4_294_967_295,
)

_MYSQL_57 = Flavour(
    name="mysql-5.7",
    version="5.7 (simulated)",
    law=Law("legacy-whole", truncates_percentage=True),
    sync=Sync.BATCH,
    limits=_group_5,
    flush_neighbors=True,
    max_dirty_pages_pct=75.0,
    max_dirty_pages_pct_lwm=0.0,
    doublewrite_pages=120,
    lacks=("idle_flush_pct", "doublewrite_pages"),
)

_MARIADB_118 = Flavour(
    name="mariadb-11.8",
    version="11.8 (simulated)",
    law=Law("mariadb", truncates_percentage=True),
    sync=Sync.FURIOUS,
    limits=_mariadb,
    checkpoint_seconds=1.0,
    resizes=True,
    flush_neighbors=True,
    raises_max=True,
    max_dirty_pages_pct_lwm=0.0,
    capacity_maximum=4_294_967_295,
    lacks=_MYSQL_57.lacks,
)

_ALL = (
    _MYSQL_97,
    Flavour(
        name="mysql-8.0.28",
        version="8.0.28 (simulated)",
        law=Law("legacy-whole", truncates_percentage=True),
        sync=Sync.ROUNDS,
        limits=_group_8,
        order_lag=FLUSH_ORDER_LAG,
        doublewrite_pages=4,
    ),
    _MYSQL_57,
    replace(
        _MYSQL_57,
        name="mysql-5.6",
        version="5.6 (simulated)",
        law=Law("legacy-56", truncates_percentage=True),
        sync=Sync.WRITERS,
        pool_instances=8,
        lacks=("flush_sync", *_MYSQL_57.lacks),
    ),
    replace(
        _MYSQL_97,
        name="percona-8.4",
        version="8.4 (simulated)",
        law=Law("high_checkpoint", exponent=2.5, divisor=700.5),
    ),
    replace(
        _MYSQL_57,
        name="percona-5.7",
        version="5.7 (simulated)",
        law=Law(
            "high_checkpoint-57",
            exponent=2.5,
            divisor=700.5,
            truncates_percentage=True,
            ignores_averages_at_limit=True,
        ),
    ),
    _MARIADB_118,
    replace(
        _MARIADB_118,
        name="mariadb-10.5",
        version="10.5.23 (simulated)",
        limits=_mariadb_10_5,
        resizes=False,
        heeds_age=True,
        asks_all=True,
        capacity_maximum=2**63 - 1,
    ),
)

FLAVOURS = {flavour.name: flavour for flavour in _ALL}
"""All of them by name, default first."""


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
