"""The C library's memory allocator."""

from __future__ import annotations

import contextlib
import ctypes
import os

M_ARENA_MAX = -8
"""mallopt(3)'s number for how many pools there may be."""


def share_one_pool() -> None:
    """Have all threads take memory from one pool, so that one reuses what another freed.

    glibc gives each thread a pool of its own, and a daemon's memory rises for hours before all of them are as
    large as they get. Call it before the first thread begins. MALLOC_ARENA_MAX in the environment wins, and
    another C library is left as it is.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
