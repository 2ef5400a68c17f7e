"""Limits and percentages of servers, computed a second time from their sources, or as seen on live ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

MEBIBYTE = 1_048_576


@dataclass(frozen=True)
class Redo:
    """A redo log, bytes: the settings that make it, what is exported of it, what the flush law divides by.

    The margin is given where the server keeps it to itself.
    """

    variables: dict[str, int]
    flush_limit: int
    counters: dict[str, int]
    max_age: int
    physical: int
    margin: int = 0


def files_5(size: int, files: int) -> Redo:
    """Return a log of MySQL 5.7: log_calc_max_ages."""
    group = files * (size - 2048)
    capacity = group - group // 10
    margin = capacity - (4 * 10 + 8) * 16_384
    margin -= margin // 10
    ages = {
        "log_max_modified_age_async": margin - margin // 8,
        "log_max_modified_age_sync": margin - margin // 16,
    }
    settings = {"innodb_log_file_size": size, "innodb_log_files_in_group": files}
    return Redo(settings, ages["log_max_modified_age_async"], ages, margin, files * size)


def files_80(size: int, files: int) -> Redo:
    """Return a log of MySQL 8.0.27: log_calc_max_ages, log_calc_concurrency_margin; all in whole blocks.

    The margin is worked out in log_sys_init, before any counter is on, and so exported as 0.
    """
    real = files * (size - 2048)
    writer = _down(real - min(real // 10, 256 * 4 * 16_384))
    extra = _down(writer * 5 // 100)
    free_check = writer - extra
    margin = (4 * 10 + 8) * 16_384 + extra
    ages = {
        "log_max_modified_age_async": -_down(-(free_check - free_check // 8)),
        "log_max_modified_age_sync": -_down(-(free_check - free_check // 16)),
        "log_concurrency_margin": 0,
    }
    in_lsn = margin // 496 * 512 + margin % 496 + 12
    settings = {"innodb_log_file_size": size, "innodb_log_files_in_group": files}
    limit = _down(ages["log_max_modified_age_async"] - in_lsn)
    return Redo(settings, limit, ages, _down(free_check - in_lsn), files * size, margin)


EXPORTED = {
    100 * MEBIBYTE: (81_281_024, 87_086_592, 5_303_808, 87_417_344),
    512 * MEBIBYTE: (416_824_832, 446_598_144, 24_477_696, 451_103_744),
}
"""By innodb_redo_log_capacity: what live servers exported as log_max_modified_age_async, _sync and
log_concurrency_margin, and Percona Server as Innodb_checkpoint_max_age."""


def capacity(size: int) -> Redo:
    """Return a log of MySQL 8.0.30 and later, with figures that live servers exported."""
    raw_async, raw_sync, margin, max_age = EXPORTED[size]
    ages = dict(
        zip(
            ("log_max_modified_age_async", "log_max_modified_age_sync", "log_concurrency_margin"),
            (raw_async, raw_sync, margin),
            strict=True,
        )
    )
    limit = _down(raw_async - (margin // 496 * 512 + margin % 496 + 12))
    return Redo({"innodb_redo_log_capacity": size}, limit, ages, max_age, size)


def mariadb(size: int, header: int) -> Redo:
    """Return a log of MariaDB: log_set_capacity."""
    body = size - header
    usable = body - body // 10
    margin = usable - (4 * 10 + 8) * 16_384
    margin -= margin // 10
    ages = {"log_max_modified_age_async": margin - margin // 8}
    return Redo({"innodb_log_file_size": size}, margin - margin // 8, ages, margin, size)


def _down(value: int) -> int:
    return value // 512 * 512


def legacy(percent: float, gain: int) -> int:
    """Return pct_for_lsn by the law of MySQL."""
    return math.floor(gain * percent**1.5 / 7.5)


def high_checkpoint(percent: float, gain: int) -> int:
    """Return pct_for_lsn by Percona Server's law."""
    return math.floor(gain * percent**2.5 / 700.5)
