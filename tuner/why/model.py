"""What is told of a change or a moment: the sentences, and the numbers in them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.records import PastChange


class Seen(Struct, frozen=True):
    """What the server showed at one tick."""

    wall: Annotated[float, Meta(description="when, Unix time")]
    io_capacity: Annotated[int, Meta(description="C in force, pages/s")]
    io_capacity_max: Annotated[int, Meta(description="M in force, pages/s")]
    age_share: Annotated[
        float,
        Meta(
            description="checkpoint age where it peaks between two checkpoints, share of Max Checkpoint Age"
        ),
    ]
    flush_rate: Annotated[float, Meta(description="flush-list pages flushed, pages/s")]
    sync_rate: Annotated[float, Meta(description="of them by sync flushing, pages/s")]
    demand: Annotated[float, Meta(description="pages that would hold the age still, pages/s")]
    row_rate: Annotated[float, Meta(description="row changes, rows/s")]


class Story(Struct, frozen=True):
    """One change, or one moment, told."""

    wall: Annotated[float, Meta(description="when, Unix time")]
    headline: Annotated[str, Meta(description="what happened, a sentence that the time goes before")]
    sentences: Annotated[tuple[str, ...], Meta(description="why, and what came of it, in reading order")]
    brief: Annotated[str, Meta(description="why, in a few words, for a list")]
    change: Annotated[PastChange | None, Meta(description="the change told; none for a moment without one")]
    aim_share: Annotated[
        float | None,
        Meta(
            description="the aim, or that of the drain which decides, on the same scale as age_share; none "
            "where it is not known or no age was wanted"
        ),
    ] = None
    before: Annotated[Seen | None, Meta(description="what the server showed when it was decided")] = None
    after: Annotated[Seen | None, Meta(description="what it showed some seconds later")] = None


class Span(Struct, frozen=True):
    """A stretch of Unix time."""

    begins: float
    ends: float


class Why(Struct, frozen=True):
    """The answer to: why is it, or was it, as it is?"""

    source: Annotated[str, Meta(description="what was read: the journal's path, or memory")]
    known: Annotated[Span | None, Meta(description="from when to when every tick is kept; none without one")]
    found: Annotated[bool, Meta(description="there is something to tell of what was asked for")]
    remark: Annotated[str, Meta(description="what has to be known of the answer; empty where nothing has")]
    stories: Annotated[tuple[Story, ...], Meta(description="oldest first")]
    earlier: Annotated[
        float | None, Meta(description="for a moment without a tick: the nearest tick before it, Unix time")
    ] = None
    later: Annotated[float | None, Meta(description="likewise the nearest after it")] = None
