"""Memory that threads share, and that goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

THREADS = """
import ctypes, sys, threading
from tuner.system.allocator import hold_little
if sys.argv[1] == "shared":
    hold_little()
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

BLOCKS = """
import pathlib, resource, sys
from tuner.system.allocator import hold_little
if sys.argv[1] == "ours":
    hold_little()
def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
bytearray(2**20)
before = resident()
blocks = [bytearray(2**19) for _ in range(20)]
last = blocks.pop()
blocks.clear()
print(resident() - before)
"""

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries have other allocators"
)


def test_threads_hold_little_of_memory() -> None:
    """A daemon that is started by hand holds no more memory than the service."""
    pools = {}
    for how in ("shared", "as it is"):
        program = [sys.executable, "-c", THREADS, how]
        done = subprocess.run(program, capture_output=True, text=True, check=True, env={"PYTHONPATH": "."})  # noqa: S603 - our own
        pools[how] = done.stderr.count("Arena ")

    assert pools["shared"] == 1
    assert pools["as it is"] > 1


def test_memory_of_a_large_answer_goes_back() -> None:
    """What an answer of megabytes took is the system's again, also where something newer stays behind it."""
    kept = {}
    for how in ("ours", "as it is"):
        program = [sys.executable, "-c", BLOCKS, how]
        done = subprocess.run(program, capture_output=True, text=True, check=True, env={"PYTHONPATH": "."})  # noqa: S603 - our own
        kept[how] = int(done.stdout)

    assert kept["ours"] < 2**20
    assert kept["as it is"] > 8 * 2**20
