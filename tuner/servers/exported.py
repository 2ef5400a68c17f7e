"""The limits of the redo log that a server exports, beside those of our arithmetic: which of both are taken.

One rule for every family: the server's own, where what follows from them can be so by ours, and ours where it
shows none. docs/decisions/limits.md has the reasons.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from msgspec import Struct

BLOCK = 512
"""``OS_FILE_LOG_BLOCK_SIZE``, bytes of a log block: releases differ in how they round to it, and no law feels
that."""

NEAR = 0.01
"""How far the server's own values may move a limit that the loop goes by, as a share of our flush limit."""

Limits = Mapping[str, int]
"""Limits in bytes, by the counter or status variable that shows each."""


class Points(Struct, frozen=True, kw_only=True):
    """The limits of a redo log: ages at which something begins, bytes.

    Attributes:
        flush_limit: A, the age that the flush law divides by.
        sync_point: the modified age above which sync flushing starts.
        stall_point: the checkpoint age above which writers wait, "max checkpoint age".
        low_water_base: what ``innodb_adaptive_flushing_lwm`` is a percentage of.
    """

    flush_limit: int
    sync_point: int
    stall_point: int
    low_water_base: int


PointsOf = Callable[[Limits], Points]
"""What a family's limits come to, by the values that it shows."""


class Comparison(Struct, frozen=True):
    """What a server's own limits are beside ours, in words.

    Attributes:
        taken: of each that is not ours, and is taken from the server, both numbers.
        mismatch: why the server's cannot be taken; empty where they can.
    """

    taken: tuple[str, ...] = ()
    mismatch: str = ""


def in_force(ours: Limits, answers: Mapping[str, str], points_of: PointsOf) -> Points:
    """Return the limits by the server's own values, by ours where it shows none or they cannot be so."""
    expected, found = points_of(ours), points_of(_exported(ours, answers))
    return found if abs(_farthest(expected, found)[1]) <= NEAR else expected


def moved(ours: int, theirs: int) -> int:
    """Return how far a limit is from ours, bytes, and so are those that no counter shows; 0 by rounding."""
    return theirs - ours if abs(theirs - ours) >= BLOCK else 0


def compared(
    ours: Limits, answers: Mapping[str, str], points_of: PointsOf, *, source: str, report: str
) -> Comparison:
    """Return what is to be said of a server's own limits.

    Args:
        ours: by the name under which the server shows each.
        answers: what the server said, by name; a limit that is left out, or 0, is one that it does not show.
        points_of: what the loop goes by, by such limits.
        source: whose arithmetic ours is, and what it goes by.
        report: the command that records what we need to know of such a server.
    """
    theirs = _exported(ours, answers)
    apart = [
        f"{name} is {theirs[name]} on the server and {value}"
        for name, value in ours.items()
        if moved(value, theirs[name])
    ]
    point, share = _farthest(points_of(ours), points_of(theirs))
    if abs(share) > NEAR:
        return Comparison(
            mismatch=f"{', '.join(apart)} by {source}, which moves the {point} by {share:+.1%} of the flush "
            f'limit: this build is not understood. Send us the file that "{report}" writes at a busy time'
        )
    return Comparison(tuple(f"{one} by {source}" for one in apart))


def reporting(endpoint: str, build: str) -> str:
    """Return the command that records this server for us.

    Args:
        endpoint: user and address, as ``str`` of an ``Endpoint`` has them.
        build: product and release, which the file is named after.
    """
    words = ["innobrim", "record", "--fixture", f"{build}.json", "--for", "1m"]
    user, _, address = endpoint.rpartition("@")
    host, _, port = address.rpartition(":")
    words += ["--socket", address] if address.startswith("/") else ["--host", host, "--port", port]
    return shlex.join([*words, "--user", user])


def _exported(ours: Limits, answers: Mapping[str, str]) -> Limits:
    """Return what the server says of each limit; ours where it says none, or 0, which no limit is."""
    return {name: int(answers.get(name, 0)) or value for name, value in ours.items()}


def _farthest(ours: Points, theirs: Points) -> tuple[str, float]:
    """Return the limit that is farthest from ours, in words, and how far, as a share of our flush limit."""
    shares = {
        name: (getattr(theirs, name) - getattr(ours, name)) / ours.flush_limit
        for name in ("flush_limit", "sync_point", "stall_point")
    }
    name = max(shares, key=lambda one: abs(shares[one]))
    return name.replace("_", " "), shares[name]
