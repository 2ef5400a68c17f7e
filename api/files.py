"""Private files of the state directory: replaced whole or not at all, by one writer at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tuner.statedir import give_to_owner

LOCK_SECONDS = 5.0


def read_plain(path: Path, most: int) -> tuple[int, bytes]:
    """Return a plain file's mode and its first bytes, read through no link and waiting for nobody.

    Raises:
        OSError: it is not there, a link, no plain file, or not to be read.
    """
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, how), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        return mode, file.read(most)


def write_private(path: Path, content: bytes) -> None:
    """Put a file in place whole or not at all, mode 0600, owned like the directory that it is in."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            give_to_owner(file.fileno(), path.parent)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other writers out for as long as it takes; the lock is the directory's own and leaves no file.

    Raises:
        OSError: the directory cannot be opened.
        TimeoutError: another writer has held the lock for ``LOCK_SECONDS``.
    """
    place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        ends = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= ends:
                    raise TimeoutError(
                        errno.EBUSY,
                        f"another program holds the lock on {directory}, for {LOCK_SECONDS:.0f} s now",
                    ) from None
                time.sleep(0.05)  # flock cannot wait with a time limit, nor tell when it is free
        yield
    finally:
        os.close(place)
