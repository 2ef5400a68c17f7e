"""Everything that decides how the simulated server behaves, and the hash that names it.

The defaults describe the measured machine: MySQL 9.7.4, 16 sysbench threads, uniform
``oltp_update_non_index`` over 4 tables of 400,000 rows. ``docs/simulate.md`` says how
each was found and what error is left.
"""

from __future__ import annotations

import hashlib
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

REVISION = 1
"""Raised whenever the plant's code changes what the same parameters give."""

Positive = Annotated[float, Meta(gt=0)]
Capacity = Annotated[int, Meta(ge=100, le=4_294_967_295)]


class ServerParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The server's own settings.

    Attributes:
        redo_capacity: ``innodb_redo_log_capacity``, bytes.
        buffer_pool_pages: pages in the buffer pool.
        io_capacity: ``innodb_io_capacity`` at the start, pages/s.
        io_capacity_max: ``innodb_io_capacity_max`` at the start, pages/s.
        adaptive_flushing_lwm: ``innodb_adaptive_flushing_lwm``, percent.
        max_dirty_pages_pct: ``innodb_max_dirty_pages_pct``, percent.
        max_dirty_pages_pct_lwm: ``innodb_max_dirty_pages_pct_lwm``, percent.
        flushing_avg_loops: ``innodb_flushing_avg_loops``.
        idle_flush_pct: ``innodb_idle_flush_pct``, percent of C.
        flush_sync: ``innodb_flush_sync``.
    """

    redo_capacity: Annotated[int, Meta(ge=8_388_608, le=549_755_813_888)] = 104_857_600
    buffer_pool_pages: Annotated[int, Meta(ge=320)] = 131_072
    io_capacity: Capacity = 10_000
    io_capacity_max: Capacity = 20_000
    adaptive_flushing_lwm: Annotated[float, Meta(ge=0, le=70)] = 10.0
    max_dirty_pages_pct: Annotated[float, Meta(ge=0, le=99.999)] = 90.0
    max_dirty_pages_pct_lwm: Annotated[float, Meta(ge=0, le=99.999)] = 10.0
    flushing_avg_loops: Annotated[int, Meta(ge=1, le=1000)] = 30
    idle_flush_pct: Annotated[int, Meta(ge=0, le=100)] = 100
    flush_sync: bool = True


class DiskChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The disk's limit from a moment on.

    Attributes:
        at: seconds after the start.
        write_iops: write operations per second that the disk takes.
    """

    at: Annotated[float, Meta(ge=0)]
    write_iops: Positive


class DiskParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The device under data files and redo.

    Attributes:
        timeline: the limit over time; the first entry is at 0.
        operations_per_page: write operations for one flushed page, doublewrite included.
        queued_pages: page writes that a flush batch keeps in flight, which is what commits
            have to share the device with; ``innodb_doublewrite_pages`` and the queue.
        pages_per_second: most pages that the server can write, whatever the device takes.
    """

    timeline: Annotated[tuple[DiskChange, ...], Meta(min_length=1)] = (DiskChange(0.0, 1200.0),)
    operations_per_page: Positive = 1.116
    queued_pages: Positive = 120.0
    pages_per_second: Positive = 60_000.0


class LoadChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The load from a moment on.

    Attributes:
        at: seconds after the start.
        threads: clients that commit one after the other without a pause.
    """

    at: Annotated[float, Meta(ge=0)]
    threads: Annotated[int, Meta(ge=0, le=10_000)]


class LoadParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """A closed load of single-row updates, spread evenly over the hot pages.

    Attributes:
        timeline: the number of threads over time; the first entry is at 0.
        hot_pages: pages that the updates fall on.
        redo_bytes_per_commit: LSN bytes that one commit adds.
        group_operations: write operations for one group of commits; the group is as large
            as the number of threads, so that one commit costs ``group_operations / threads``.
        group_limit: largest group of commits.
        commit_seconds: shortest time of one commit on a device that costs nothing.
        noise: standard deviation, over its mean, of the device cost of commits from second to second.
    """

    timeline: Annotated[tuple[LoadChange, ...], Meta(min_length=1)] = (LoadChange(0.0, 16),)
    hot_pages: Positive = 23_000.0
    redo_bytes_per_commit: Positive = 546.0
    group_operations: Positive = 3.872
    group_limit: Annotated[int, Meta(ge=1)] = 64
    commit_seconds: Positive = 0.0011
    noise: Annotated[float, Meta(ge=0, le=0.5)] = 0.08


class PlantParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """One simulated server, its disk and its load."""

    server: ServerParameters = msgspec.field(default_factory=ServerParameters)
    disk: DiskParameters = msgspec.field(default_factory=DiskParameters)
    load: LoadParameters = msgspec.field(default_factory=LoadParameters)

    def fingerprint(self) -> str:
        """Return the hash that every result carries: the same hash and seed give the same trace."""
        encoded = msgspec.json.encode((REVISION, self), order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]
