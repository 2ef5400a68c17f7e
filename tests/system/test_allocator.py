"""Memory that threads share."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

THREADS = """
import ctypes, sys, threading
from tuner.system.allocator import share_one_pool
if sys.argv[1] == "shared":
    share_one_pool()
together = threading.Barrier(4)
def work():
    together.wait()
    bytearray(2000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such pools")
def test_threads_share_one_pool_of_memory() -> None:
    """A daemon that is started by hand holds no more memory than the service."""
    pools = {}
    for how in ("shared", "as it is"):
        program = [sys.executable, "-c", THREADS, how]
        done = subprocess.run(program, capture_output=True, text=True, check=True, env={"PYTHONPATH": "."})  # noqa: S603 - our own
        pools[how] = done.stderr.count("Arena ")

    assert pools["shared"] == 1
    assert pools["as it is"] > 1
