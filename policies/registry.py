"""Laws by name."""

from __future__ import annotations

from typing import Any

from policies.feedforward import Feedforward
from policies.fixed import Fixed
from policies.flushlaw import LEGACY, FlushLaw
from policies.pid import Pid
from policies.types import Policy

LAWS: dict[str, FlushLaw] = {LEGACY.name: LEGACY}


def make_policy(name: str, *, flush_law: str, fixed_io_capacity_max: int) -> Policy[Any]:
    """Return the decision law of that name.

    Args:
        name: feedforward, pid or fixed.
        flush_law: the server's own law, by name.
        fixed_io_capacity_max: what ``fixed`` holds, pages/s.

    Raises:
        ValueError: no law of that name.
    """
    if flush_law not in LAWS:
        raise ValueError(f"flush law {flush_law!r} is not known; known are: {', '.join(LAWS)}")
    if name == "feedforward":
        return Feedforward(LAWS[flush_law])
    if name == "pid":
        return Pid()
    if name == "fixed":
        return Fixed(fixed_io_capacity_max)
    raise ValueError(f"policy {name!r} is not known; known are: feedforward, pid, fixed")
