"""A daemon whose journal lies on a disk that takes its time: every fsync waits as long as a file says.

Run as a program in place of ``innobrim``: ``python tests/faults/slow_disk.py FILE run …``. SQLite's own
interface for file systems (``sqlite3_vfs``) is what makes it wait, so its locks are held meanwhile as
they are on a disk that really is slow.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import sys
import time
from pathlib import Path

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
    """Puts itself between SQLite and its file system for the rest of this process."""

    def __init__(self, seconds: Path) -> None:
        """Wait at every fsync.

        Args:
            seconds: a file with how long; without it there is no wait.
        """
        self._seconds = seconds
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


if __name__ == "__main__":
    disk = SlowDisk(Path(sys.argv[1]))
    sys.argv[1:] = sys.argv[2:]
    from tuner.cli.main import main  # after the disk is slow

    main()
