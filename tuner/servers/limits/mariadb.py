"""Redo limits of MariaDB 10.5 and later.

Source: log/log0log.cc, ``log_set_capacity`` of 10.5.23, ``log_t::set_capacity`` of 10.11.18 and 11.8.6; what
happens beyond which age is in mtr/mtr0mtr.cc, ``log_close``. The ages there are those of the checkpoint, not
of the oldest page.
"""

from __future__ import annotations

from tuner.servers.limits.loggroup import THREADS, LogGroupLimits, kept_for, margins_of_5

ONE_FILE = (10, 8)
"""The release from which on the log has one header of its own size."""

HEADER_BEFORE = 2048
HEADER = 12_288
"""``LOG_FILE_HDR_SIZE`` before, ``log_t::START_OFFSET`` since, bytes."""


class MariaDBLimits(LogGroupLimits, frozen=True):
    """All the limits that one ``innodb_log_file_size`` implies, bytes.

    The flush limit is the soft limit: beyond it M pages/s are flushed. ``max_checkpoint_age`` is
    ``Innodb_checkpoint_max_age`` as exported.
    """

    @property
    def sync_point(self) -> int:
        """Return the checkpoint age from which flushing is furious, and writers wait."""
        return self.max_checkpoint_age


def mariadb_limits(file_size: int, *, release: tuple[int, ...], page_size: int = 16_384) -> MariaDBLimits:
    """Return the limits for a log size in force; from 10.9 on it changes at run time.

    Args:
        file_size: ``innodb_log_file_size``, bytes.
        release: of the server, such as (10, 11).
        page_size: ``innodb_page_size``, bytes.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    header = HEADER if release >= ONE_FILE else HEADER_BEFORE
    reserve = kept_for(THREADS, page_size=page_size)
    capacity, oldest = margins_of_5(file_size - header, reserve, f"innodb_log_file_size is {file_size}")
    return MariaDBLimits(capacity=capacity, max_checkpoint_age=oldest)
