"""What tells the code of one decision from that of another."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import policies
import tuner.core
import tuner.records

ROOMS = (policies, tuner.core, tuner.records)
"""What a decision depends on, the settings aside."""


@functools.cache
def policies_revision() -> str:
    """Return the hash of all code that decides; a row of another one is not compared."""
    found = hashlib.sha256()
    for room in ROOMS:
        for path in sorted(Path(str(room.__file__)).parent.glob("*.py")):
            found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]
