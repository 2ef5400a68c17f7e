"""Which servers of a group may be active, by ``[fleet]``; ``innobrim fleet`` counts the same way."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from tuner.config.schema import Config
from tuner.settings import Mode, Settings


def place(identity: str) -> float:
    """Return a server's place among all, from 0 to 100: the same wherever it is asked, and spread evenly."""
    digest = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).digest()
    return 100.0 * int.from_bytes(digest[:8]) / 2**64


def belongs(identity: str, percent: float) -> bool:
    """Tell whether a server is among so many percent of all; it is among any larger share then, too."""
    return place(identity) < percent


def in_force(config: Config, identity: str) -> Settings:
    """Return the settings of the loop beside a server: advisory where its turn has not come."""
    percent = config.fleet.active_percent
    if percent is None or belongs(identity, percent):
        return config.loop
    return replace(config.loop, mode=Mode.ADVISORY, outside_stage=config.loop.mode is Mode.ACTIVE)
