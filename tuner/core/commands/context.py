"""What a command is handed, what comes of it, and why it may be refused."""

from __future__ import annotations

from msgspec import Struct

from tuner.core.holds import Obstacle, not_writer, remedies_of, together
from tuner.core.state import State
from tuner.records import Command, Remedy, Sample
from tuner.settings import Mode

ADVISORY = "the mode is advisory, which writes nothing"
"""Why override, drain, park and restore are refused in advisory mode."""


class Outcome(Struct, frozen=True):
    """The state after a command, and what to say about it."""

    state: State  # the next state
    message: str  # what happened or why it was refused
    accepted: bool = True  # False leaves the state as it was
    event: str = ""  # code of the event to record; empty for none
    remedies: tuple[Remedy, ...] = ()  # what ends what is said


class CommandContext(Struct, frozen=True):
    """A command and what it may look at."""

    command: Command  # who asks what
    sample: Sample | None  # this tick's reading, None when it was missed
    now: float  # monotonic time, seconds


def refused(state: State, why: str, *remedies: Remedy) -> Outcome:
    """Return the state as it was, with the reason and what ends it."""
    return Outcome(state, why, accepted=False, remedies=remedies)


def cannot_write(state: State, context: CommandContext) -> Obstacle | None:
    """Return why nothing may be written on a person's word now; None where it may."""
    if state.mode is not Mode.ACTIVE:
        return Obstacle(ADVISORY, (Remedy.MODE_ACTIVE,))
    if context.sample is None:
        return Obstacle("the server does not answer")
    elsewhere = together(not_writer(state, context.sample))
    if elsewhere is not None:
        return elsewhere
    refused_before = state.latches.refused
    if refused_before is not None:
        return Obstacle(refused_before.reason, remedies_of(state, refused_before, now=context.now)[0])
    if state.originals is None or not state.originals.saved:
        return Obstacle("the originals are not on disk yet, and nothing is written before they are")
    return None
