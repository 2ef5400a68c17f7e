"""The optimiser's process: reads one question, writes its answer, and ends.

Each is one JSON object on a line no longer than ``LONGEST``. A question is answered from the log that comes
with it: the same question gets the same answer.
"""

from __future__ import annotations

import contextlib
import os
import resource
import zlib
from collections.abc import Sequence
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import Struct

from policies.bayes import Bayes
from policies.suggestions import valid
from policies.types import LoadContext, Suggestion, Trial

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
    context: LoadContext
    log: tuple[Trial, ...] = ()


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The child's word.

    Attributes:
        number: of the trial; 0 where the child gives up.
        suggestion: what to try; None where nothing is worth it.
        error: why the child gives up; empty where it does not.
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


def answer(log: Sequence[Trial], context: LoadContext, *, seed: int) -> Suggestion | None:
    """Return what to try next; None where nothing is worth a trial.

    Args:
        log: the trials that are remembered, oldest first; one that is no evidence is left out.
        context: the load.
        seed: decides every random number.

    Raises:
        ImportError: the extra ``bayes`` is not installed.
    """
    law = Bayes(seed)
    for trial in log:
        if valid(trial):
            law.tell(trial)
    return law.ask(context)


def seed_of(server: str, number: int) -> int:
    """Return the seed of a question: another one for each trial and server, and always the same."""
    return zlib.crc32(f"{server} {number}".encode())


NICENESS = 19

DATA_BYTES = 512 * 1024 * 1024
"""Limit of the process's data; of address space BLAS reserves much more than it uses."""


def limit() -> None:
    """Step back behind everybody else, and bound the memory; where that is forbidden, go on without."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    for what, most in ((resource.RLIMIT_DATA, DATA_BYTES), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer the one question of the input."""
    try:
        asked = parse(questions.readline(LONGEST + 1), Question)
        reply = Answer(asked.number, answer(asked.log, asked.context, seed=asked.seed))
    except (ImportError, MemoryError, NonsenseError, ValueError) as error:
        reply = Answer(0, error=f"{type(error).__name__}: {error}"[:500])
    answers.write(line(reply))
    answers.flush()
