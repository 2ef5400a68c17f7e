"""What the server would do with the settings that it was found with: the baseline."""

from __future__ import annotations

import math

from policies.equilibrium import rate_at_rest
from policies.flushlaw import FlushLaw
from tuner.core.estimate.load import Load

LEAST_RATIO, MOST_RATIO = 0.02, 1.2
"""Age ratios between which a resting place is looked for."""

HALVINGS = 16
"""Of that range, which leaves less than a thousandth of it."""


def resting_ratio(
    law: FlushLaw, load: Load, *, gain: float, redo_rate: float, flush_rate: float, response: float
) -> float:
    """Return the age ratio at which the age rests with a fixed M, by the law and by write combining.

    At rest as many pages are flushed as become dirty: ``gain / law.resting_gain(x) = rho(x) * R(x)``, of
    which the left side rises with x and the right one falls.

    Args:
        law: the server's.
        load: what is known of its write combining.
        gain: M as the law has it, C * (M // C), pages/s.
        redo_rate: R, mean of minutes, bytes/s.
        flush_rate: F, likewise, pages/s.
        response: redo that the load gives up for each page flushed, bytes.

    Returns:
        At least ``LEAST_RATIO``, and ``MOST_RATIO`` where M is too small to hold any age.
    """
    exponent = load.combining_exponent
    low, high = math.log(LEAST_RATIO), math.log(MOST_RATIO)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        ratio = math.exp(middle)
        density = load.density_at(ratio, exponent)
        rate = rate_at_rest(redo_rate=redo_rate, flush_rate=flush_rate, density=density, response=response)
        if gain < law.resting_gain(ratio) * density * rate:
            low = middle
        else:
            high = middle
    return math.exp(high)
