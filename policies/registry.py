"""Flush laws and policies by name."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from policies.cascade import Cascade
from policies.fixed import Fixed
from policies.flushlaw import (
    AGE_BLIND,
    HIGH_CHECKPOINT,
    HIGH_CHECKPOINT_57,
    HIGH_CHECKPOINT_WHOLE,
    LEGACY,
    LEGACY_56,
    LEGACY_57,
    LEGACY_WHOLE,
    MARIADB,
    MARIADB_WAKES,
    SOFT_LIMIT,
    FlushLaw,
)
from policies.pace import Pace
from policies.pid import Pid
from policies.types import Policy

LAWS: dict[str, FlushLaw] = {
    law.name: law
    for law in (
        LEGACY,
        LEGACY_WHOLE,
        LEGACY_56,
        LEGACY_57,
        HIGH_CHECKPOINT,
        HIGH_CHECKPOINT_WHOLE,
        HIGH_CHECKPOINT_57,
        MARIADB,
        MARIADB_WAKES,
        SOFT_LIMIT,
        AGE_BLIND,
    )
}


def with_need(law: FlushLaw, need_share: float) -> FlushLaw:
    """Return the law as it is where p was seen to be this share of the pages flushed."""
    return law if need_share >= 1.0 else replace(law, need_share=need_share)


NAMES = ("cascade", "bayes", "pid", "fixed")  # What a person may ask for


@lru_cache(maxsize=8)  # a tick asks several times
def make_policy(
    name: str, *, flush_law: str, fixed_io_capacity_max: int, need_share: float = 1.0
) -> Policy[Any]:
    """Return the policy of that name.

    Where M does not move the age, that is the pacing policy, whichever that steers the age was asked for;
    and where the server sleeps at times, the one that knows where the age goes.

    Args:
        name: one of ``NAMES``.
        flush_law: the server's own law, by name.
        fixed_io_capacity_max: what ``fixed`` holds, pages/s.
        need_share: what the law's ``need_share`` was seen to be.

    Raises:
        ValueError: no flush law, or no policy, of that name.
    """
    if flush_law not in LAWS:
        raise ValueError(f"flush law {flush_law!r} is not known; known are: {', '.join(LAWS)}")
    if name not in NAMES:
        raise ValueError(f"policy {name!r} is not known; known are: {', '.join(NAMES)}")
    if name == "fixed":
        return Fixed(fixed_io_capacity_max)
    law = LAWS[flush_law]
    if not law.m_moves_age:
        return Pace()
    if name == "pid" and not law.sleeps:
        return Pid()
    return Cascade(with_need(law, need_share), "cascade" if name == "pid" else name)
