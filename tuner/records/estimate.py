"""What the samples so far say about load and device."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from tuner.records.field import field


class Estimate(Struct, frozen=True):
    """What the samples so far say about load and device."""

    modified_age: Annotated[float, field("modified age", "bytes", "gauge")]
    checkpoint_age: Annotated[float, field("uncheckpointed bytes", "bytes", "gauge", "Uncheckpointed Bytes")]
    age_ratio: Annotated[float, field("modified age over flush limit", "ratio", "gauge")]
    age_slope: Annotated[float, field("growth of the modified age", "bytes/s", "gauge")]
    redo_rate: Annotated[float, field("redo written", "bytes/s", "gauge", "Redo Generation Rate")]
    redo_rate_now: Annotated[float, field("redo written within the last three seconds", "bytes/s", "gauge")]
    row_rate: Annotated[float, field("row changes", "rows/s", "gauge")]
    flush_rate: Annotated[float, field("flush-list pages flushed", "pages/s", "gauge")]
    sync_rate: Annotated[float, field("pages flushed by sync flushing", "pages/s", "gauge")]
    lru_rate: Annotated[float, field("pages flushed from the LRU tail", "pages/s", "gauge")]
    demand: Annotated[float, field("demand: pages to flush for the age to stay", "pages/s", "gauge")]
    demand_ahead: Annotated[
        float,
        field("the same over the next half residence time of a page, from the ledger", "pages/s", "gauge"),
    ]
    demand_density: Annotated[float, field("dirty pages per redo byte at the tail", "pages/byte", "gauge")]
    ledger: Annotated[bool, field("the ledger of dirty pages covers the whole age")]
    combining_exponent: Annotated[float, field("write combining: 0 none, 1 full", "ratio", "gauge")]
    new_density: Annotated[float, field("pages newly dirtied per redo byte", "pages/byte", "gauge")]
    flush_response: Annotated[
        float, field("redo that the load writes less for each page flushed", "bytes/page", "gauge")
    ]
    sustained_capacity: Annotated[
        float | None,
        field("pages that the device can flush for long; none until it was the limit", "pages/s", "gauge"),
    ]
    authority: Annotated[float, field("pages flushed per page asked for", "ratio", "gauge")]
    burstiness: Annotated[float, field("standard deviation of the redo rate over its mean", "ratio", "gauge")]
    burst_bytes: Annotated[
        float,
        field(
            "redo to keep free for bursts, by the last hours and the hour of the week",
            "bytes",
            "gauge",
        ),
    ]
    checkpoint_lag: Annotated[
        float, field("largest recent difference of checkpoint age and modified age", "bytes", "gauge")
    ]
    seconds_to_sync: Annotated[
        float | None, field("time to the sync point at this slope", "seconds", "gauge")
    ]
    seconds_to_stall: Annotated[
        float | None, field("time to the stall point at this slope", "seconds", "gauge")
    ]
    recovery_seconds: Annotated[
        float, field("crash recovery of InnoDB if mysqld crashed now", "seconds", "gauge")
    ] = 0.0
    shutdown_seconds: Annotated[
        float, field("flushing of all dirty pages if mysqld shut down now", "seconds", "gauge")
    ] = 0.0
    recovery_at_set_point: Annotated[
        float | None, field("longest crash recovery with the age at the set-point", "seconds", "gauge")
    ] = None
    baseline_ratio: Annotated[
        float | None,
        field("age ratio at which the originals hold the age", "ratio", "gauge"),
    ] = None
    recovery_at_baseline: Annotated[
        float | None,
        field(
            "longest crash recovery with the age at which the originals hold it",
            "seconds",
            "gauge",
        ),
    ] = None
    shutdown_at_set_point: Annotated[
        float | None, field("flushing at shutdown with the age at the set-point", "seconds", "gauge")
    ] = None
    shutdown_at_baseline: Annotated[
        float | None,
        field(
            "flushing at shutdown with the age at which the originals hold it",
            "seconds",
            "gauge",
        ),
    ] = None

    @property
    def dirty_rate(self) -> float:
        """Return the pages newly dirtied, pages/s; unlike the demand they do not swing with the tail."""
        return self.redo_rate * self.new_density

    @property
    def coupling(self) -> float:
        """Return the pages that the load dirties less for each page flushed more; 0 for an open load."""
        return self.flush_response * self.demand_density
