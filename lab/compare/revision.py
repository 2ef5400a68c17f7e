"""What tells the code of one decision from that of another."""

from __future__ import annotations

import functools
import hashlib
from itertools import chain
from pathlib import Path

import policies
import tuner.core
import tuner.records
from tuner.outer import answer

ROOMS = (policies, tuner.core, tuner.records)
"""What a decision depends on, the settings aside; and the answers of the process that suggests."""


@functools.cache
def policies_revision() -> str:
    """Return the hash of all code that decides; a row of another one is not compared."""
    found = hashlib.sha256()
    rooms = (sorted(Path(str(room.__file__)).parent.glob("*.py")) for room in ROOMS)
    for path in (*chain.from_iterable(rooms), Path(answer.__file__)):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]
