"""The clients of the simulated server and the pages that they touch."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lab.plant.parameters.disk import Moment, Period

RedoBytes = Annotated[float, Meta(ge=1, le=1_000_000_000)]
NewPages = Annotated[float, Meta(ge=0, le=1_000_000)]
Share = Annotated[float, Meta(gt=0, lt=1)]

Distribution = Literal["uniform", "zipf", "hot_set"]


class LoadChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The load from a moment on.

    Attributes:
        at: seconds after the start, or after the start of the repetition.
        threads: clients; in an open load the most that are at work at once.
        rate: transactions offered per second, an open load; None: each client commits without a pause.
        appended_pages: new pages that one commit fills; None: as the load says.
        redo_bytes_per_commit: LSN bytes that one commit adds; None: as the load says.
    """

    at: Moment
    threads: Annotated[int, Meta(ge=0, le=10_000)]
    rate: Annotated[float, Meta(ge=0, le=10_000_000)] | None = None
    appended_pages: NewPages | None = None
    redo_bytes_per_commit: RedoBytes | None = None


class LoadParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Writing transactions.

    Attributes:
        timeline: threads or rate over time; the first entry is at 0.
        repeat: seconds after which the timeline begins anew; None: never.
        hot_pages: pages that the changes fall on.
        distribution: how they fall: evenly, by Zipf's law, or mostly on a hot set.
        zipf_exponent: of the probability by rank.
        hot_share: share of the pages that is the hot set.
        hot_touches: share of the changes that fall on it.
        pages_per_commit: changes of such pages in one commit.
        appended_pages: new pages that one commit fills, such as 0.01 where a hundred rows fill one.
        redo_bytes_per_commit: LSN bytes that one commit adds.
        group_operations: write operations for one group of commits; the group is as large
            as the number of threads, so that one commit costs ``group_operations / threads``.
        group_limit: largest group of commits.
        commit_bytes: bytes that one commit writes to the device, the redo blocks written again included.
        commit_seconds: shortest time of one commit on a device that costs nothing.
        noise: standard deviation, over its mean, of the device cost of commits from second to second.
    """

    timeline: Annotated[tuple[LoadChange, ...], Meta(min_length=1)] = (LoadChange(0.0, 16),)
    repeat: Period | None = None
    hot_pages: Annotated[float, Meta(ge=1, le=10_000_000_000)] = 23_000.0
    distribution: Distribution = "uniform"
    zipf_exponent: Annotated[float, Meta(gt=0, le=3)] = 0.99
    hot_share: Share = 0.1
    hot_touches: Share = 0.9
    pages_per_commit: Annotated[float, Meta(ge=0, le=1_000_000)] = 1.0
    appended_pages: NewPages = 0.0
    redo_bytes_per_commit: RedoBytes = 546.0
    group_operations: Annotated[float, Meta(gt=0, le=10_000)] = 3.872
    group_limit: Annotated[int, Meta(ge=1, le=10_000)] = 64
    commit_bytes: Annotated[float, Meta(ge=1, le=1_000_000_000)] = 1000.0
    commit_seconds: Annotated[float, Meta(ge=0.000_001, le=60)] = 0.0011
    noise: Annotated[float, Meta(ge=0, le=0.5)] = 0.08
