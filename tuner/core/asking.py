"""What a command is handed, what comes of it, and why it may be refused."""

from __future__ import annotations

from msgspec import Struct

from tuner.core.holds import not_writer
from tuner.core.state import State
from tuner.records import Command, Sample
from tuner.settings import Mode

ADVISORY = "the mode is advisory, which writes nothing; innobrim mode active changes that"
"""Why override, drain, park and restore are refused in advisory mode."""


class Outcome(Struct, frozen=True):
    """The state after a command, and what to say about it.

    Attributes:
        state: the next state.
        message: what happened or why it was refused.
        accepted: False leaves the state as it was.
        event: code of the event to record; empty for none.
    """

    state: State
    message: str
    accepted: bool = True
    event: str = ""


class Asked(Struct, frozen=True):
    """A command and what it may look at.

    Attributes:
        command: who asks what.
        sample: this tick's reading, None when it was missed.
        now: monotonic time, seconds.
    """

    command: Command
    sample: Sample | None
    now: float


def refused(state: State, why: str) -> Outcome:
    """Return the state as it was, with the reason."""
    return Outcome(state, why, accepted=False)


def cannot_write(state: State, asked: Asked) -> str:
    """Return why nothing may be written on a person's word now; empty where it may."""
    if state.mode is not Mode.ACTIVE:
        return ADVISORY
    if asked.sample is None:
        return "the server does not answer"
    bars = not_writer(state, asked.sample)
    if bars:
        return "; ".join(f"{reason}; cleared by {clears}" for reason, clears in bars)
    if state.latches.refused is not None:
        return f"{state.latches.refused.reason}; ended by {state.latches.refused.clears}"
    if state.originals is None or not state.originals.saved:
        return "the originals are not on disk yet, and nothing is written before they are"
    return ""
