"""Redo limits of MySQL 8.0.30 and later, with the margins taken off.

Source: log/log0files_capacity.cc, include/log0constants.h and log_calc_concurrency_margin,
the same arithmetic in 8.0.44, 8.4.8 and 9.7.2. The exported counters
``log_max_modified_age_async`` and ``_sync`` are the raw values: what the flush law and the
sync trigger really use is smaller by the margin.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

FILES = 32
FILE_HEADER = 2048
FLUSH_ORDER_LAG = 2 * 1024 * 1024
BLOCK = 512
BLOCK_PAYLOAD = 496
WRITER_SAFETY = 131_072
EXTRA_WRITER_PERCENT = 5
MARGIN_CAP_PERCENT = 50


class RedoLimits(Struct, frozen=True):
    """All the limits that one redo capacity implies, bytes.

    Attributes:
        soft: logical capacity left to users and margins.
        raw_async: ``log_max_modified_age_async`` as exported.
        raw_sync: ``log_max_modified_age_sync`` as exported.
        concurrency_margin: ``log_concurrency_margin`` as exported (payload bytes).
        margin: the same in LSN bytes.
    """

    soft: int
    raw_async: int
    raw_sync: int
    concurrency_margin: int
    margin: int

    def grown(self, margin: int) -> RedoLimits:
        """Return the limits with a larger margin, payload bytes, where the server has come to one."""
        if margin <= self.concurrency_margin:
            return self
        return replace(self, concurrency_margin=margin, margin=payload_to_lsn(margin))

    @property
    def flush_limit(self) -> int:
        """Return A, the age that the flush law divides by."""
        return aligned(self.raw_async - self.margin)

    @property
    def sync_point(self) -> int:
        """Return the modified age above which sync flushing starts.

        ``log_sync_flush_lsn`` compares the LSN available for a checkpoint, which stays the flush
        order lag behind the oldest modification.
        """
        return self.raw_sync - self.margin - FLUSH_ORDER_LAG

    @property
    def stall_point(self) -> int:
        """Return the checkpoint age above which writers wait (the free-check capacity)."""
        return aligned(self.soft - self.margin)

    @property
    def low_water_base(self) -> int:
        """Return what ``innodb_adaptive_flushing_lwm`` is a percentage of: the free-check capacity."""
        return self.stall_point


def aligned(value: int) -> int:
    """Return the value rounded down to whole log blocks."""
    return value - value % BLOCK


def payload_to_lsn(payload: int) -> int:
    """Return the LSN bytes that so many payload bytes take up (log_translate_sn_to_lsn)."""
    return payload // BLOCK_PAYLOAD * BLOCK + payload % BLOCK_PAYLOAD + (BLOCK - BLOCK_PAYLOAD - 4)


def lsn_to_payload(lsn: int) -> int:
    """Return the payload bytes of so many LSN bytes in whole blocks (log_translate_lsn_to_sn)."""
    return lsn // BLOCK * BLOCK_PAYLOAD


def redo_limits(capacity: int, *, page_size: int = 16_384, thread_concurrency: int = 0) -> RedoLimits:
    """Return the limits for a redo capacity in force.

    Args:
        capacity: ``Innodb_redo_log_capacity_resized``, bytes.
        page_size: ``innodb_page_size``, bytes.
        thread_concurrency: ``innodb_thread_concurrency``.

    Raises:
        ValueError: a capacity that no server accepts.
    """
    return logical_limits(
        logical_capacity(capacity), page_size=page_size, thread_concurrency=thread_concurrency
    )


def logical_capacity(capacity: int) -> int:
    """Return the bytes of log that a redo capacity leaves the log writer, its hard logical capacity.

    Raises:
        ValueError: a capacity that no server accepts.
    """
    if capacity < 8 * 1024 * 1024:
        raise ValueError(f"redo capacity is {capacity} bytes; the server's minimum is 8388608")
    file = capacity // FILES
    return aligned(file * (FILES - 2) - (FILES - 1) * FILE_HEADER - WRITER_SAFETY - file // 10)


def logical_limits(hard: int, *, page_size: int = 16_384, thread_concurrency: int = 0) -> RedoLimits:
    """Return the limits for a hard logical capacity, bytes; while a log shrinks that is no capacity's."""
    soft = aligned(hard * (100 - EXTRA_WRITER_PERCENT) // 100)
    concurrency_margin = min(
        aligned(4 * page_size * (thread_concurrency + 10) + 4096 + soft * EXTRA_WRITER_PERCENT // 100),
        lsn_to_payload(aligned(soft * (MARGIN_CAP_PERCENT + EXTRA_WRITER_PERCENT) // 100)),
    )
    return RedoLimits(
        soft=soft,
        raw_async=aligned(soft - soft // 8),
        raw_sync=aligned(soft - soft // 16),
        concurrency_margin=concurrency_margin,
        margin=payload_to_lsn(concurrency_margin),
    )
