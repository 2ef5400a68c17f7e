"""One question to the outer law, answered from the log alone: the same question gets the same answer."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from policies.bayes import Bayes
from policies.suggestions import sound
from policies.types import Context, Suggestion, Trial


def answer(log: Sequence[Trial], context: Context, *, seed: int) -> Suggestion | None:
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
        if sound(trial):
            law.tell(trial)
    return law.ask(context)


def seed_of(server: str, number: int) -> int:
    """Return the seed of a question: another one for each trial and server, and always the same."""
    return zlib.crc32(f"{server} {number}".encode())
