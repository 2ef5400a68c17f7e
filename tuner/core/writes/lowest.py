"""How low a policy takes M where settings and server would allow less, and why no lower, in words."""

from __future__ import annotations

from tuner.core.estimate.sawtooth import SURGE_SECONDS
from tuner.system.amounts import share

FLOOR = 200  # M that the policy does not go below before the load has shown to be calm, pages/s
CALM_SECONDS = 180.0  # How long it has to be watched for that, without a surge in the last hours
TOO_LOW_SECONDS = 300.0  # How long no policy goes below an M that an emergency found too low, and 15 %

HIGHEST = 0.93
"""Age ratio that an M below the floor leads to at most: it leaves a surge twice the time that 0.93 does."""


def why_no_lower(lowest: int) -> str:
    """Return in words why a policy takes M no lower than this just now, pages/s, where the limits would."""
    if lowest > FLOOR:
        least = TOO_LOW_SECONDS / 60.0
        return f"an emergency in the last {least:.0f} minutes showed that less is too low"
    if lowest == FLOOR:
        return (
            f"a value below {FLOOR} needs a load that was watched for {CALM_SECONDS / 60:.0f} minutes, had "
            f"no surge in {SURGE_SECONDS / 3600:.0f} hours, and has no bursts to be expected"
        )
    return f"a lower value would hold the age above {share(HIGHEST)} of the flush limit"
