"""What daemon and optimiser say to each other: one JSON object a line, each no longer than ``LONGEST``."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from policies.types import Context, Suggestion, Trial

LONGEST = 32_768
"""Bytes of a line; 48 trials are a third of it, and a pipe takes twice as much without a reader."""

T = TypeVar("T", bound=Struct)


class NonsenseError(ValueError):
    """A line that is no message."""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """What to try next, under which load, with all that is known.

    Attributes:
        number: of the trial.
        seed: decides every random number.
        context: the load.
        log: trials, oldest first.
    """

    number: int
    seed: int
    context: Context
    log: tuple[Trial, ...] = ()


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The child's word: ready with number 0, then an answer for each question.

    Attributes:
        number: of the trial; 0 for none.
        suggestion: what to try; None where nothing is worth it.
        error: why the child gives up; empty while it does not.
    """

    number: int
    suggestion: Suggestion | None = None
    error: str = ""


def line(message: Struct) -> bytes:
    """Return a message as a line.

    Raises:
        NonsenseError: it is too long.
    """
    encoded = msgspec.json.encode(message) + b"\n"
    if len(encoded) > LONGEST:
        raise NonsenseError(f"{len(encoded)} bytes, at most {LONGEST} are allowed")
    return encoded


def parse(text: bytes, kind: type[T]) -> T:
    """Return the message in a line; JSON knows no number that is not finite.

    Raises:
        NonsenseError: it is none of this kind.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NonsenseError(str(error)) from error
