"""What a bench compares: fixed settings, rules of thumb, the best static setting, and policies of ours."""

from __future__ import annotations

import re
from typing import Literal, get_args

from msgspec import Struct

from tuner.records import Capacity
from tuner.settings import PolicyName, Settings

ContenderKind = Literal["default", "static", "folk", "sync", "best static", "high_checkpoint", "policy"]

SYNC = Capacity(100, 100)
"""So low that sync flushing does the work."""

_PAIR = re.compile(r"(\d+)/(\d+)")
_LOWEST = 100
_RAISED = (8, 4)


class ContenderError(ValueError):
    """A word that names no contender."""


class Contender(Struct, frozen=True):
    """One of the things compared.

    Attributes:
        name: as it is called in rows and tables.
        kind: what is done with C and M.
        pair: what they are set to, None where that is found out while the bench runs.
        policy: which of our laws moves them, None where nothing moves them.
    """

    name: str
    kind: ContenderKind
    pair: Capacity | None = None
    policy: PolicyName | None = None


_NAMED = {
    "default": Contender("default", "default"),
    "folk": Contender("folk", "folk"),
    "sync": Contender("sync", "sync", SYNC),
    "best-static": Contender("best static", "best static"),
    "high-checkpoint": Contender("high_checkpoint", "high_checkpoint"),
    "ours": Contender("ours", "policy", policy=Settings().policy),
}
DEFAULT, BEST = _NAMED["default"], _NAMED["best-static"]


def parse_contender(word: str) -> Contender:
    """Return what a word means.

    Args:
        word: ``default``: what the server has by itself; ``2000/4000``: C and M, pages/s; ``folk``: C is the
            device's write operations/s and M twice that; ``sync``: 100/100; ``best-static``: searched for;
            ``high-checkpoint``: the other flush law of Percona Server; ``ours`` or the name of a policy.

    Raises:
        ContenderError: it means nothing, or a pair that no server takes.
    """
    found = _PAIR.fullmatch(word)
    if found is not None:
        pair = Capacity(int(found[1]), int(found[2]))
        if not _LOWEST <= pair.io_capacity <= pair.io_capacity_max:
            raise ContenderError(f"{word}: C must be at least {_LOWEST} and at most M, such as 2000/4000")
        return Contender(str(pair), "static", pair)
    if word in _NAMED:
        return _NAMED[word]
    for policy in get_args(PolicyName):
        if word == policy:
            return Contender(word, "policy", policy=policy)
    known = ", ".join((*_NAMED, *get_args(PolicyName)))
    raise ContenderError(f"{word}: no such contender; there are {known}, and any C/M such as 2000/4000")


def version_default(version: str) -> Capacity:
    """Return what a server has by itself: 10000/20000 from MySQL 8.4 on; 200/2000 before, and MariaDB.

    Args:
        version: what ``SELECT VERSION()`` says.
    """
    if "mariadb" in version.lower():
        return Capacity(200, 2000)
    major, minor = (int(part) for part in version.split(".")[:2])
    return Capacity(10_000, 20_000) if (major, minor) >= _RAISED else Capacity(200, 2000)


def folk(device_iops: int) -> Capacity:
    """Return what the manual's advice amounts to: C is what the device can do, M twice that.

    Source: MySQL reference manual, "Configuring InnoDB I/O Capacity"; M's default is twice C.
    """
    capacity = max(_LOWEST, device_iops)
    return Capacity(capacity, 2 * capacity)
