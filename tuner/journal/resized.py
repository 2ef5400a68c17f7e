"""What a resize of a redo log found, a person's or a daemon's, in a file of the state directory.

It is no part of the journal, which a running daemon alone writes. It is on disk before the server is told.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tuner.findings.redo_growth import Resize
from tuner.journal.store import FILE_MODE
from tuner.system.statedir import read_plain, write_private

NAME = "redo-resize.json"
MOST_BYTES = 65_536
LOOK_SECONDS = 0.2


class ResizeError(Exception):
    """The file cannot be read or written; the message names it and says why."""


class BusyError(ResizeError):
    """Somebody else resizes a redo log from this state directory."""


@contextlib.contextmanager
def alone(directory: Path, seconds: float = 0.0) -> Iterator[None]:
    """Keep every other resize from this state directory away, by a lock on the directory itself.

    Whoever sets a size holds it from reading what is kept until the server has answered, or one's note of
    what was found would replace another's. The journal's lock is no help: a daemon holds it all the time.

    Args:
        directory: the state directory; without one nothing can be kept, and nothing is locked.
        seconds: how long to wait for whoever holds it.

    Raises:
        BusyError: another process or thread holds it for longer.
        ResizeError: it cannot be locked.
    """
    until = time.monotonic() + seconds
    with contextlib.ExitStack() as held:
        try:
            place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.callback(os.close, place)
            while not _locked(place):
                if time.monotonic() >= until:
                    raise BusyError(
                        f"another resize is under way from {directory}, by innobrim redo or a daemon with "
                        "redo.grow_to: wait for its end"
                    )
                time.sleep(LOOK_SECONDS)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise ResizeError(f"{directory} cannot be locked: {error}") from error
        yield


def resize_of(directory: Path, names: tuple[str, ...]) -> Resize | None:
    """Return what is kept of a server, by any of its names; None where there is nothing.

    Raises:
        ResizeError: there is a file, and it cannot be read.
    """
    return next((one for one in _kept(directory) if one.identity in names), None)


def keep(directory: Path, resize: Resize) -> None:
    """Have it on disk, in place of what was kept of this server.

    Raises:
        ResizeError: it is not.
    """
    _write(directory, [*(one for one in _kept(directory) if one.identity != resize.identity), resize])


def forget(directory: Path, resize: Resize) -> None:
    """Keep nothing of this server any more.

    Raises:
        ResizeError: it is still kept.
    """
    _write(directory, [one for one in _kept(directory) if one.identity != resize.identity])


def set_back(directory: Path, resize: Resize) -> None:
    """Keep nothing of this server any more; of a daemon's resize that it was undone, so that none repeats it.

    Raises:
        ResizeError: it is still kept as it was.
    """
    now = next((one for one in _kept(directory) if one.identity == resize.identity), resize)
    if now.goal:  # a daemon's, which may have been noted since
        keep(directory, replace(now, undone=True))
    else:
        forget(directory, resize)


def _locked(place: int) -> bool:
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _kept(directory: Path) -> list[Resize]:
    path = directory / NAME
    try:
        return msgspec.json.decode(read_plain(path, MOST_BYTES)[1], type=list[Resize])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResizeError(f"{path} cannot be read: {error}") from error


def _write(directory: Path, kept: list[Resize]) -> None:
    path = directory / NAME
    try:
        write_private(path, msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n", FILE_MODE)
    except OSError as error:
        raise ResizeError(f"{path} cannot be written: {error}") from error
