"""The limits of the redo log that a server exports, beside those of our arithmetic: which of both are taken.

One rule for every family: the server's own, where they can be so by ours, and ours where it shows none.
docs/decisions/limits.md has the reasons.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from msgspec import Struct

from tuner.servers.endpoint import Endpoint

BLOCK = 512
"""``OS_FILE_LOG_BLOCK_SIZE``, bytes of a log block: releases differ in how they round to it, and no law feels
that."""

NEAR = 0.05
"""How far a limit may be from ours, as a share of the highest of them."""

Limits = Mapping[str, int]
"""Limits in bytes, by the counter or status variable that shows each."""


class Comparison(Struct, frozen=True):
    """What a server's own limits are beside ours, in words.

    Attributes:
        taken: of each that is not ours, and is taken from the server, both numbers.
        mismatch: why the server's cannot be taken; empty where they can.
    """

    taken: tuple[str, ...] = ()
    mismatch: str = ""


def in_force(ours: Limits, answers: Mapping[str, str]) -> Limits:
    """Return the server's own limits, ours where it shows none or where they cannot be so."""
    theirs = _exported(ours, answers)
    return theirs if _same_shape(ours, theirs) else ours


def moved(ours: int, theirs: int) -> int:
    """Return how far a limit is from ours, bytes, and so are those that no counter shows; 0 by rounding."""
    return theirs - ours if abs(theirs - ours) >= BLOCK else 0


def compared(ours: Limits, answers: Mapping[str, str], *, source: str, report: str) -> Comparison:
    """Return what is to be said of a server's own limits.

    Args:
        ours: by the name under which the server shows each.
        answers: what the server said, by name; a limit that is left out, or 0, is one that it does not show.
        source: whose arithmetic ours is, and what it goes by.
        report: the command that records what we need to know of such a server.
    """
    theirs = _exported(ours, answers)
    apart = {name: theirs[name] - value for name, value in ours.items()}
    if not _same_shape(ours, theirs):
        name = max(apart, key=lambda one: abs(apart[one]) / ours[one])
        return Comparison(
            mismatch=f"{name} is {theirs[name]} on the server and {ours[name]} by {source}, "
            f"{apart[name] / ours[name]:+.1%}: this build is not understood. "
            f"What helps us to understand it, at a busy time: {report}"
        )
    return Comparison(
        tuple(
            f"{name} is {theirs[name]} on the server and {ours[name]} by {source}"
            for name in ours
            if moved(ours[name], theirs[name])
        )
    )


def reporting(endpoint: Endpoint, build: str) -> str:
    """Return the command that records this server for us.

    Args:
        endpoint: where it is.
        build: product and release, which the file is named after.
    """
    words = ["innobrim", "record", "--fixture", f"{build}.json", "--for", "1m"]
    if endpoint.socket is not None:
        words += ["--socket", endpoint.socket]
    else:
        words += ["--host", endpoint.host, "--port", str(endpoint.port)]
    return shlex.join([*words, "--user", endpoint.user])


def _exported(ours: Limits, answers: Mapping[str, str]) -> Limits:
    """Return what the server says of each limit; ours where it says none, or 0, which no limit is."""
    return {name: int(answers.get(name, 0)) or value for name, value in ours.items()}


def _same_shape(ours: Limits, theirs: Limits) -> bool:
    """Tell whether limits are ours but for rounding and constants: none is far off or out of order."""
    most = NEAR * max(ours.values(), default=0)
    near = all(abs(theirs[name] - value) <= most for name, value in ours.items())
    return near and sorted(ours, key=ours.__getitem__) == sorted(theirs, key=theirs.__getitem__)
