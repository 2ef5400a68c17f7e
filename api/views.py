"""What the other routes answer. No web framework here: the command line uses it too."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from policies.catalogue import CATALOGUE, About
from tuner.findings import Finding
from tuner.records import Decision, TickRecord
from tuner.settings import Settings


class NumberedEvent(Struct, frozen=True):
    """One change of state worth keeping."""

    number: Annotated[int, Meta(description="from 1 in each run, and one more for each event")]
    wall: Annotated[float, Meta(description="when, Unix time")]
    code: Annotated[str, Meta(description="stable name")]
    message: str
    who: Annotated[str, Meta(description="person or part that caused it")]


class Events(Struct, frozen=True):
    """Events, oldest first; ``run`` and the last one's number ask for those that follow."""

    events: tuple[NumberedEvent, ...]
    run: Annotated[str, Meta(description="this run of the daemon, as in the ids of /v1/stream")]
    gap: Annotated[
        bool,
        Meta(
            description="some events after the number asked for are gone: too many came, or the run is over"
        ),
    ]


class DecisionAt(Struct, frozen=True):
    """A decision and when it was made."""

    tick: int
    wall: Annotated[float, Meta(description="Unix time")]
    decision: Decision


class Decisions(Struct, frozen=True):
    """Decisions that differ from the one before, oldest first."""

    decisions: tuple[DecisionAt, ...]


class HistoryAnswer(Struct, frozen=True):
    """Numbers over time, one list a column; none where nothing was read."""

    start: Annotated[float, Meta(description="Unix time of the first point")]
    end: Annotated[float, Meta(description="Unix time after the last point")]
    step: Annotated[float, Meta(description="seconds per point")]
    columns: dict[str, list[float | None]]
    units: dict[str, str]
    oldest: Annotated[
        float | None, Meta(description="where memory begins, Unix time: before it nothing is known here")
    ]


class Advice(Struct, frozen=True):
    """What a person could do now."""

    findings: tuple[Finding, ...]


class Policies(Struct, frozen=True):
    """The decision laws that there are."""

    default: Annotated[str, Meta(description="the one where the configuration names none")]
    policies: tuple[About, ...]
    in_force: Annotated[str, Meta(description="the one that decided last; empty without a tick")] = ""


def policies_of(record: TickRecord | None = None) -> Policies:
    """Return what there is, and which of them decided the newest record."""
    in_force = "" if record is None else record.decision.policy
    return Policies(default=Settings().policy, policies=CATALOGUE, in_force=in_force)
