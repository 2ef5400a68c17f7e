"""Which fault comes in which minute of a soak: drawn from a seed, the same again for the same seed."""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

SIGSTOP = "daemon stopped (SIGSTOP)"
KILL = "daemon killed (kill -9)"
TERMINATE = "daemon ended (SIGTERM)"
SESSION = "daemon's session killed"
BLACK_HOLE = "packets dropped"
FOREIGN = "C and M set to the declared baseline by somebody else"
RESIZE = "redo capacity changed"
READ_LOCK = "FLUSH TABLES WITH READ LOCK"
BACKUP_LOCK = "LOCK INSTANCE FOR BACKUP"
READ_ONLY = "super_read_only set"
COUNTERS = "counters off"
RUBBISH = "configuration reloaded with rubbish (SIGHUP)"
LOAD_OFF = "load off"
DISK = "disk's write limit halved"
FLOOD = "API flooded"
WRITER_LOCK = "writer lock taken by another session"

SECONDS: dict[str, tuple[int, int]] = {
    SIGSTOP: (5, 30),
    KILL: (3, 10),
    TERMINATE: (3, 10),
    SESSION: (0, 0),
    BLACK_HOLE: (5, 25),
    FOREIGN: (0, 0),
    RESIZE: (0, 0),
    READ_LOCK: (20, 20),
    BACKUP_LOCK: (20, 20),
    READ_ONLY: (20, 20),
    COUNTERS: (20, 20),
    RUBBISH: (5, 10),
    LOAD_OFF: (30, 30),
    DISK: (45, 45),
    FLOOD: (10, 10),
    WRITER_LOCK: (20, 20),
}
"""Every kind with the shortest and longest time that it lasts, seconds; 0 is over at once."""

RESTARTS = (KILL, TERMINATE)
RESTART_SHARE = 0.4
PIECE = 45


class Planned(NamedTuple):
    """One fault: minute of the soak from 1, kind, and how long it lasts, seconds."""

    minute: int
    kind: str
    seconds: int


def pieces(minutes: int) -> list[range]:
    """Return the minutes of each part of a soak: of equal length, none longer than 45 minutes."""
    count = max(1, -(-minutes // PIECE))
    bounds = [1 + round(minutes * at / count) for at in range(count + 1)]
    return [range(first, last) for first, last in itertools.pairwise(bounds)]


def plan(seed: int, minutes: int) -> list[Planned]:
    """Return the fault of every minute.

    Each part goes through shuffled decks with every kind once. The daemon's ends come only in the first two
    fifths of a part, and twice in a deck there, so that its last life is long enough to show a leak.
    """
    dice = random.Random(seed)  # noqa: S311 - an order that must be repeatable is no secret
    planned: list[Planned] = []
    for piece in pieces(minutes):
        restarts_until = piece.start + RESTART_SHARE * len(piece)
        deck: list[str] = []
        for minute in piece:
            if minute >= restarts_until:
                deck = [kind for kind in deck if kind not in RESTARTS]
            if not deck:
                more = RESTARTS if minute < restarts_until else ()
                kinds = [kind for kind in SECONDS if minute < restarts_until or kind not in RESTARTS]
                deck = [*kinds, *more]
                dice.shuffle(deck)
            kind = deck.pop()
            planned.append(Planned(minute, kind, dice.randint(*SECONDS[kind])))
    return planned
