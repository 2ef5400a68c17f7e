"""The device under the simulated server's data files and redo."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Rate = Annotated[float, Meta(ge=1, le=10_000_000)]
"""Operations or pages per second; no device takes more."""

Moment = Annotated[float, Meta(ge=0, le=2_678_400)]
Period = Annotated[float, Meta(ge=1, le=2_678_400)]
"""Seconds, up to the length of the longest run."""


class DiskChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The disk's limit from a moment on.

    Attributes:
        at: seconds after the start, or after the start of the repetition.
        write_iops: write operations per second that the disk takes.
    """

    at: Moment
    write_iops: Rate


class Credits(Struct, frozen=True, forbid_unknown_fields=True):
    """A disk that is faster for a while, as cloud disks are.

    Attributes:
        burst_iops: operations per second while there are credits; the timeline's limit is the baseline.
        most: operations above the baseline that can be saved up; what there is at the start as well.
    """

    burst_iops: Rate
    most: Annotated[float, Meta(ge=1, le=1_000_000_000_000)]


class DiskParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The device under data files and redo.

    Attributes:
        timeline: the limit over time; the first entry is at 0.
        repeat: seconds after which the timeline begins anew; None: never.
        operations_per_page: write operations for one flushed page, its share of a large doublewrite included.
        batch_operations: further ones for a doublewrite batch, whatever its pages.
        queued_pages: page writes that a flush batch keeps in flight, which is what commits
            have to share the device with; ``innodb_doublewrite_pages`` and the queue.
        pages_per_second: most pages that the server can write, whatever the device takes.
        megabytes_per_second: bandwidth; None: no limit. A page costs 32 KiB of it, for the doublewrite.
        latency: seconds that one write takes.
        fsync_seconds: seconds that the sync at the end of a group of commits takes beyond that.
        read_iops: pages that can be read a second; None: no limit.
        redo_apart: the redo log is on a device of its own, as fast as this one.
        credits: what a disk with burst credits has; None: no such disk.
    """

    timeline: Annotated[tuple[DiskChange, ...], Meta(min_length=1)] = (DiskChange(0.0, 1200.0),)
    repeat: Period | None = None
    operations_per_page: Annotated[float, Meta(gt=0, le=1000)] = 1.0625
    batch_operations: Annotated[float, Meta(ge=0, le=10_000)] = 6.848
    queued_pages: Annotated[float, Meta(ge=1, le=1_000_000)] = 120.0
    pages_per_second: Rate = 60_000.0
    megabytes_per_second: Annotated[float, Meta(ge=0.1, le=1_000_000)] | None = None
    latency: Annotated[float, Meta(ge=0, le=1)] = 0.0
    fsync_seconds: Annotated[float, Meta(ge=0, le=1)] = 0.0
    read_iops: Rate | None = None
    redo_apart: bool = False
    credits: Credits | None = None

    def page_operations(self, doublewrite_pages: int) -> float:
        """Return write operations for one flushed page with so many in a doublewrite batch."""
        return self.operations_per_page + self.batch_operations / doublewrite_pages
