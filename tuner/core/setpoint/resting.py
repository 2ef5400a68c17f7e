"""What the server would do with the settings that it was found with: the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable

from policies.equilibrium import rate_at_rest
from policies.flushlaw import FlushLaw

LEAST_RATIO, MOST_RATIO = 0.02, 1.2
"""Age ratios between which a resting place is looked for."""

HALVINGS = 16
"""Of that range, which leaves less than a thousandth of it."""


def resting_ratio(
    law: FlushLaw,
    density_at: Callable[[float], float],
    *,
    gain: float,
    redo_rate: float,
    flush_rate: float,
    response: float,
    device: float = math.inf,
) -> float:
    """Return the age ratio at which the age rests with a fixed M, by the law and by write combining.

    At rest as many pages are flushed as become dirty: ``gain / law.resting_gain(x) = rho(x) * R(x)``, of
    which the left side rises with x and the right one falls.

    Args:
        law: the server's.
        density_at: rho, pages newly dirtied per redo byte, at an age ratio.
        gain: M as the law has it, C * (M // C), pages/s.
        redo_rate: R, mean of minutes, bytes/s.
        flush_rate: F, likewise, pages/s.
        response: redo that the load gives up for each page flushed, bytes.
        device: pages/s that the device gives at most.

    Returns:
        At least ``LEAST_RATIO``, and ``MOST_RATIO`` where M or the device is too small to hold any age.
    """
    low, high = math.log(LEAST_RATIO), math.log(MOST_RATIO)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        ratio = math.exp(middle)
        density = density_at(ratio)
        rate = rate_at_rest(redo_rate=redo_rate, flush_rate=flush_rate, density=density, response=response)
        pages = density * rate
        if gain < law.resting_gain(ratio) * pages or device < pages:
            low = middle
        else:
            high = middle
    return math.exp(high)
