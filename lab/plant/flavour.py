"""The servers that the plant can be, and how they differ."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from lab.plant.flush_law import Law
from tuner.servers.exported import Points
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
