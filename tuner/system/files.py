"""Files that an operator names: whatever lies there, reading it takes bounded time and memory."""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from pathlib import Path

MOST_BYTES = 1024 * 1024
PIPE_SECONDS = 2.0
"""What is no regular file must have come to its end after so long."""

LOOK_SECONDS = 0.02


def read_whole(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return all of a file, or of a pipe that somebody writes to, such as a shell's ``<(…)``.

    Args:
        path: of the file.
        most: bytes that it may have.

    Raises:
        OSError: it cannot be read, is larger, or is a pipe that nobody writes to or whose end does not come.
        ValueError: the path has a zero byte.
    """
    ends = time.monotonic() + PIPE_SECONDS
    found = bytearray()
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        pipe = stat.S_ISFIFO(os.fstat(handle).st_mode)
        ready = select.poll()
        ready.register(handle, select.POLLIN)
        while (left := ends - time.monotonic()) > 0.0 and ready.poll(left * 1000.0):
            part = os.read(handle, 65_536)
            found += part
            if len(found) > most:
                raise OSError(errno.EFBIG, f"larger than {most} bytes", str(path))
            if not part and (found or not pipe):
                return bytes(found)
            if not part:
                time.sleep(LOOK_SECONDS)  # who wrote to the pipe is gone; somebody else may come
        raise OSError(errno.ETIMEDOUT, f"its end did not come within {PIPE_SECONDS:g} s", str(path))
    finally:
        os.close(handle)


def require_plain(path: str | Path) -> os.stat_result:
    """Return what a path leads to, a file or directory; OpenSSL would wait for a pipe for ever.

    Raises:
        OSError: it is not there, or is something else.
    """
    found = os.stat(path)  # noqa: PTH116 - a text is as good as a path
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return found


def changeable(path: str | Path) -> str:
    """Return why other accounts than its owner and its group can change a file; empty where they cannot.

    So they can where its mode says so, and where they may put another file in its place: in a directory that
    everybody may write to, without the sticky bit, and not on a read-only file system, as a Kubernetes
    ConfigMap is. What is no regular file, as a shell's ``<(…)``, passes.

    Raises:
        OSError: it cannot be looked at.
    """
    real = Path(os.path.realpath(path))
    mode = real.stat().st_mode
    if not stat.S_ISREG(mode):
        return ""
    if mode & stat.S_IWOTH:
        return f"other accounts can change it (mode {stat.S_IMODE(mode):04o}); chmod o-w {path}"
    for directory in {Path(os.path.abspath(path)).parent, real.parent}:  # noqa: PTH100 - a link stays one
        mode = directory.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX and not _read_only(directory):
            where = f"other accounts can put another file in its place (mode {stat.S_IMODE(mode):04o} of"
            return f"{where} {directory}); chmod o-w {directory}"
    return ""


def _read_only(path: Path) -> bool:
    """Tell whether nobody can write to a file system where this process sees it."""
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
