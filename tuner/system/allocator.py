"""The C library's memory allocator."""

from __future__ import annotations

import contextlib
import ctypes
import os

OPTIONS = {"MALLOC_ARENA_MAX": (-8, 1), "MALLOC_MMAP_THRESHOLD_": (-3, 128 * 1024)}
"""Of glibc's, by its variable of the environment: mallopt(3)'s number, and the value that we want.

One pool for all threads, and from how many bytes on a block is a mapping of its own.
"""


def hold_little() -> None:
    """Have all threads take memory from one pool, and large blocks go back to the system when they are freed.

    glibc gives each thread a pool of its own, and a daemon's memory rises for hours before all of them are as
    large as they get. It also takes large blocks out of that pool once it has freed one; what is put behind
    them then keeps their memory. Call it before the first thread begins. A variable of the environment wins,
    and another C library is left as it is.
    """
    with contextlib.suppress(OSError, AttributeError):
        for variable, (option, value) in OPTIONS.items():
            if variable not in os.environ:
                ctypes.CDLL(None).mallopt(option, value)
