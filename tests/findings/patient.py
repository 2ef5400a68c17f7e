"""A loaded server on which nothing costs, and what a change of it makes doctor say."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.factory import FACTS, sample
from tuner.findings.evidence import Evidence
from tuner.servers.survey import Survey
from tuner.system.storage import Volume

SECONDS = 10.0
DISK = Volume("ext4", "nvme0n1", rotates=False, busy_ms=500)

VARIABLES = {
    "innodb_doublewrite": "ON",
    "innodb_doublewrite_pages": "128",
    "innodb_doublewrite_files": "2",
    "innodb_flush_neighbors": "0",
    "innodb_flush_method": "O_DIRECT",
    "innodb_lru_scan_depth": "1024",
    "innodb_buffer_pool_instances": "1",
    "innodb_page_cleaners": "1",
    "innodb_max_dirty_pages_pct": "90.000000",
    "innodb_max_dirty_pages_pct_lwm": "10.000000",
    "innodb_change_buffering": "none",
    "innodb_adaptive_hash_index": "OFF",
    "innodb_log_buffer_size": "16777216",
    "innodb_flush_log_at_trx_commit": "1",
    "log_bin": "ON",
    "sync_binlog": "1",
}
RATES = {
    "Innodb_dblwr_pages_written": 400,
    "Innodb_dblwr_writes": 10,
    "Innodb_pages_read": 50,
    "Innodb_log_waits": 0,
    "adaptive_hash_searches": 3000,
    "adaptive_hash_searches_btree": 1000,
    "ibuf_size": 0,
    "writes:data": 400,
    "writes:redo": 200,
    "writes:binlog": 200,
    "syncs:redo": 100,
    "syncs:binlog": 100,
}


def patient(
    *,
    facts: dict[str, Any] | None = None,
    reading: dict[str, Any] | None = None,
    grown: dict[str, float] | None = None,
    variables: dict[str, str | None] | None = None,
    rates: dict[str, int] | None = None,
    volumes: dict[str, Volume] | None = None,
) -> Evidence:
    """Return what was seen of it in ten seconds.

    Args:
        facts: fields of the facts.
        reading: fields of both readings.
        grown: counters of the readings that grow by so much a second.
        variables: values in place of the usual ones; None: the server has none.
        rates: what counters of the survey grow by a second.
        volumes: in place of one solid-state device for everything, busy for a twentieth of the time.
    """
    first = sample(0.0, **(reading or {}))
    last = sample(SECONDS, **(reading or {}))
    last = replace(
        last, **{name: round(getattr(first, name) + each * SECONDS) for name, each in (grown or {}).items()}
    )
    shown = VARIABLES | (variables or {})
    counters = {name: round(each * SECONDS) for name, each in (RATES | (rates or {})).items()}
    here = {"data": DISK, "redo": DISK, "binlog": DISK} if volumes is None else volumes
    return Evidence(
        facts=replace(FACTS, **(facts or {})),
        first=first,
        last=last,
        peak_age=last.age_ratio,
        before=Survey(first.monotonic, counters=dict.fromkeys(counters, 0)),
        after=Survey(
            last.monotonic, {name: said for name, said in shown.items() if said is not None}, counters
        ),
        volumes=here,
        volumes_before={what: replace(one, busy_ms=0) for what, one in here.items()},
    )
