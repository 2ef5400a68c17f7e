"""A daemon that is another one in one way, which a fault needs.

Run in place of ``innobrim``: ``python tests/faults/altered.py WAY VALUE run …``. The machine stays as it is.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

NANOSECONDS = 1_000_000_000


def cool_down(seconds: str) -> None:
    """Take a declared baseline over again after so many seconds."""
    from tuner.core.ownership import foreign  # noqa: PLC0415 - the other ways come before anything of the daemon

    foreign.COOLDOWN_SECONDS = float(seconds)


def jumping_clock(file: str) -> None:
    """Have the wall clock off by as many seconds as a file says, as when a clock is set."""
    wall = jumping(time.time, Path(file))
    time.time = wall
    time.time_ns = lambda: int(wall() * NANOSECONDS)


def jumping(now: Callable[[], float], seconds: Path) -> Callable[[], float]:
    """Return a clock that is off by what a file says; without the file it is right."""

    def read() -> float:
        try:
            return now() + float(seconds.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return now()

    return read


def standing_clock(file: str) -> None:
    """Have the monotonic clock stand still while a file is there, as on a machine that is suspended."""
    clock = standing(time.monotonic, Path(file))
    time.monotonic = clock
    time.clock_gettime = lambda _: clock()


def standing(now: Callable[[], float], still: Path) -> Callable[[], float]:
    """Return a clock that stands still while a file is there, and goes on from there without it."""
    lost = 0.0
    stood: float | None = None
    alone = threading.RLock()  # each thread of the daemon looks at the clock, signal handlers in between

    def read() -> float:
        nonlocal lost, stood
        with alone:
            counted = now()
            if still.exists():
                stood = counted if stood is None else stood
                return stood - lost
            if stood is not None:
                lost, stood = lost + counted - stood, None
            return counted - lost

    return read


Pointer = ctypes.c_void_p
Sync = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.c_int)
Open = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Pointer, Pointer, ctypes.c_int, ctypes.POINTER(ctypes.c_int))


class Methods(ctypes.Structure):
    """``sqlite3_io_methods``, as far as version 3 goes."""

    _fields_ = (
        ("version", ctypes.c_int),
        *((name, Pointer) for name in ("close", "read", "write", "truncate")),
        ("sync", Pointer),
        *((f"other{number}", Pointer) for number in range(13)),
    )


class FileSystem(ctypes.Structure):
    """The beginning of ``sqlite3_vfs``."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("following", Pointer),
        ("name", ctypes.c_char_p),
        ("data", Pointer),
        ("open", Pointer),
    )


class SlowDisk:
    """A disk of the journal's that takes its time: every fsync waits as long as a file says.

    It puts itself between SQLite and its file system (``sqlite3_vfs``) for the rest of this process, so that
    SQLite's locks are held meanwhile as they are on a disk that really is slow.
    """

    def __init__(self, file: str) -> None:
        """Begin; without the file there is no wait."""
        self._seconds = Path(file)
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(FileSystem)
        self._system = library.sqlite3_vfs_find(None).contents
        self._open = Open(self._system.open)
        self._slow: dict[int, tuple[Methods, object]] = {}
        self._opener = Open(self._opened)
        self._system.open = ctypes.cast(self._opener, Pointer)

    def _opened(
        self, system: int, name: int, file: int, flags: int, out: ctypes._Pointer[ctypes.c_int]
    ) -> int:
        result = self._open(system, name, file, flags, out)
        place = ctypes.cast(file, ctypes.POINTER(Pointer))
        methods = place[0]
        if result == 0 and methods:
            if methods not in self._slow:
                self._slow[methods] = self._slowed(methods)
            place[0] = ctypes.addressof(self._slow[methods][0])
        return int(result)

    def _slowed(self, methods: int) -> tuple[Methods, object]:
        slow = Methods.from_buffer_copy(ctypes.string_at(methods, ctypes.sizeof(Methods)))
        sync = Sync(slow.sync)

        def waiting(file: int, flags: int) -> int:
            time.sleep(self._wait())
            return int(sync(file, flags))

        kept = Sync(waiting)
        slow.sync = ctypes.cast(kept, Pointer)
        return slow, (kept, sync)

    def _wait(self) -> float:
        try:
            return float(self._seconds.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0.0


WAYS: dict[str, Callable[[str], object]] = {
    "cool-down": cool_down,
    "jumping-clock": jumping_clock,
    "slow-disk": SlowDisk,
    "standing-clock": standing_clock,
}

if __name__ == "__main__":
    kept = WAYS[sys.argv[1]](sys.argv[2])  # SQLite calls a slow disk's functions until the end
    sys.argv[1:] = sys.argv[3:]
    from tuner.cli.main import main  # after the clock or the disk is another one

    main()
