"""What was learned of a server, in a few figures: worked out where somebody asks, never at a tick."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.core.learned import Learned, learn
from tuner.core.state import State


class Known(Struct, frozen=True):
    """What was learned of one server."""

    hours: Annotated[int, Meta(description="hours of the week, of 168, that were seen once at least")]
    visits: Annotated[int, Meta(description="how often the hour of the week was seen that was seen most")]
    burst_bytes: Annotated[float, Meta(description="the largest burst that is remembered, bytes")]
    recovery_factor: Annotated[float, Meta(description="crash recoveries, measured over predicted")]
    recovery_version: Annotated[
        str | None, Meta(description="server version that they were measured on; none before the first")
    ]
    proven_version: Annotated[
        str | None, Meta(description="server version whose flush law was verified; none before")
    ]
    trials: Annotated[int, Meta(description="the optimiser's trials that are remembered")]
    trials_since: Annotated[
        float | None, Meta(description="when the oldest of these ended, Unix time; none without one")
    ]
    wins: Annotated[int, Meta(description="suggestions that won their trials, for loads of any kind")]
    aside: Annotated[
        tuple[str, ...], Meta(description="versions, flush laws and roles whose trials are set aside")
    ]


def learned_of(state: State) -> Learned:
    """Return what the next daemon should know of the server."""
    return learn(
        state.estimator,
        proven=state.gate.proven,
        law=state.facts.flush_law,
        evidence=state.trials.evidence,
    )


def known_of(learned: Learned) -> Known:
    """Return the figures of what was learned."""
    week, late, evidence = learned.week, learned.late, learned.evidence
    return Known(
        hours=sum(visits > 0 for visits in week.visits),
        visits=max(week.visits, default=0),
        burst_bytes=max((*week.bytes, late.recent, late.hours_burst)),
        recovery_factor=learned.recovery_factor,
        recovery_version=learned.measured_on or None,
        proven_version=learned.proven or None,
        trials=len(evidence.log),
        trials_since=min((one.at for one in evidence.log), default=None),
        wins=len(evidence.wins),
        aside=tuple(one.server for one in evidence.aside),
    )
