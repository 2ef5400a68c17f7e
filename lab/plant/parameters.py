"""Everything that decides how the simulated server behaves, and the hash that names it.

The defaults describe the measured machine: MySQL 9.7.4, 16 sysbench threads, uniform
``oltp_update_non_index`` over 4 tables of 400,000 rows. ``docs/simulate.md`` says how
each was found and what error is left.
"""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

from lab.plant.disk import Credits, DiskChange, DiskParameters
from lab.plant.flavour import RedoChange, ServerParameters
from lab.plant.load import LoadChange, LoadParameters

__all__ = [
    "Credits",
    "DiskChange",
    "DiskParameters",
    "LoadChange",
    "LoadParameters",
    "PlantParameters",
    "RedoChange",
    "ServerParameters",
]

REVISION = 6
"""Raised whenever the plant's code changes what the same parameters give."""


class PlantParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """One simulated server, its disk and its load."""

    server: ServerParameters = msgspec.field(default_factory=ServerParameters)
    disk: DiskParameters = msgspec.field(default_factory=DiskParameters)
    load: LoadParameters = msgspec.field(default_factory=LoadParameters)

    def fingerprint(self) -> str:
        """Return the hash that every result carries: the same hash and seed give the same trace."""
        encoded = msgspec.json.encode((REVISION, self), order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]
