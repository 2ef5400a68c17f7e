"""What the API knows about the daemon besides the board."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tuner.config.schema import Config

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return this process's resident memory, bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


@dataclass(frozen=True, slots=True)
class About:
    """The daemon as the API describes it.

    Attributes:
        version: of InnoBrim.
        interval: seconds between two ticks.
        started: when the daemon started, Unix time.
        configuration: returns the configuration in force; it holds no secret.
        resident_bytes: returns the daemon's resident memory, bytes.
        cpu_seconds: returns the processor time spent so far, seconds.
        monotonic: the clock that liveness is measured on, seconds.
    """

    version: str
    interval: float
    started: float
    configuration: Callable[[], Config]
    resident_bytes: Callable[[], int] = resident_bytes
    cpu_seconds: Callable[[], float] = time.process_time
    monotonic: Callable[[], float] = time.monotonic

    @property
    def run(self) -> str:
        """Return this run's name, hexadecimal: ticks and events are numbered anew in each."""
        return f"{int(self.started * 1000):x}"
