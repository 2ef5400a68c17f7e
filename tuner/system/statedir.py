"""A state directory that a command of root's uses: as the account that owns it, and through nobody's links.

The directory is the service's to write, so whatever lies in it may have been put there to lead root astray.
What the kernel lets the owner do is all that is done there, and a file that is made is the owner's by that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_LINKS = 40
MOST_BYTES = 4096
_PROGRAM = (os.__file__, msgspec.__file__, __file__)
"""A file of each place that this program's modules come from."""

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@contextlib.contextmanager
def as_owner(directory: str | Path, *, shared: bool = False) -> Iterator[None]:
    """Do what is done in a state directory as the account that owns it, every thread of this process.

    Only where root runs it; any other account is what it is. An owner that cannot get to its own directory,
    or to this program, runs no service with it there: then root goes on as root, and what it has made is the
    owner's afterwards.

    Args:
        directory: the state directory; where there is none, nothing is changed.
        shared: others may write to a directory of root's, as they may beside a daemon that runs as root.

    Raises:
        OSError: somebody but root made a link on the way, or others may write to a directory of root's.
    """
    if os.geteuid() != 0:
        yield
        return
    try:
        place = _opened(Path(directory))
    except (FileNotFoundError, NotADirectoryError):
        yield
        return
    try:
        owner = os.fstat(place)
        if owner.st_uid == 0:
            if owner.st_mode & _OTHERS and not shared:
                raise PermissionError(
                    errno.EPERM,
                    "it is root's and others may write to it; chown it to the daemon's account",
                    directory,
                )
            yield
        elif _reaches(owner, directory):
            with _account(owner):
                yield
        else:
            try:
                yield
            finally:
                _hand_over(place, owner)
    finally:
        os.close(place)


@contextlib.contextmanager
def as_caller() -> Iterator[None]:
    """Do something inside of ``as_owner`` as whoever runs this: a server may let in by who that is."""
    account = os.geteuid()
    if account == os.getuid():
        yield
        return
    os.seteuid(os.getuid())
    try:
        yield
    finally:
        os.seteuid(account)


def give_to_owner(descriptor: int, directory: Path) -> None:
    """Give a file that root has just made in a state directory to that directory's owner."""
    if os.geteuid() == 0:
        owner = directory.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def write_private(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put a file in place whole or not at all, by default for its owner alone: that of the directory."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            give_to_owner(file.fileno(), path.parent)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_names(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _sync_names(directory: Path) -> None:
    """Have the names in a directory outlast a power failure, where its file system can do that."""
    with contextlib.suppress(OSError):
        place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(place)
        finally:
            os.close(place)


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return what is in a small file of a state directory, as the owner reads it, through no link.

    Raises:
        OSError: it is not there, no plain file, or not to be read.
        UnicodeDecodeError: it is no ASCII.
    """
    with as_owner(path.parent):
        return read_plain(path, most)[1].decode("ascii")


def read_plain(path: Path, most: int) -> tuple[int, bytes]:
    """Return a plain file's mode and its first bytes, read through no link and waiting for nobody.

    Raises:
        OSError: it is not there, a link, no plain file, or not to be read.
    """
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        return mode, file.read(most)


def _opened(directory: Path) -> int:
    """Return the directory, opened part by part; links on the way are root's, or are not followed."""
    left = list(directory.absolute().parts[1:])
    place, links = os.open("/", os.O_RDONLY | os.O_DIRECTORY), 0
    try:
        while left:
            name = left.pop(0)
            found = os.stat(name, dir_fd=place, follow_symlinks=False)
            if not stat.S_ISLNK(found.st_mode):
                place = _moved(place, name)
                continue
            links += 1
            target = _target(place, name, found, links)
            left = [*target.parts, *left]
            if target.is_absolute():
                place, left = _moved(place, "/"), left[1:]
    except BaseException:
        os.close(place)
        raise
    return place


def _target(place: int, name: str, link: os.stat_result, count: int) -> Path:
    """Return where a link leads that may be followed."""
    if link.st_uid != 0 or count > _MOST_LINKS:
        raise OSError(errno.ELOOP, f"{name} is a symbolic link that is not root's", name)
    return Path(os.readlink(name, dir_fd=place))


def _moved(place: int, name: str) -> int:
    """Return what lies below an open directory, in its place."""
    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    os.close(place)
    return below


@contextlib.contextmanager
def _account(owner: os.stat_result) -> Iterator[None]:
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([owner.st_gid])
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _reaches(owner: os.stat_result, directory: str | Path) -> bool:
    """Tell whether the owner gets to its directory by this path, and to this very program.

    Python looks for most of its modules when they are wanted first, which may be later.
    """
    with _account(owner):
        try:
            for found in _PROGRAM:
                Path(found).read_bytes()
            return os.path.samestat(Path(directory).stat(), owner)
        except OSError:
            return False


def _hand_over(place: int, owner: os.stat_result) -> None:
    """Give the owner the plain files that are root's in a directory that it does not get to itself."""
    for name in os.listdir(place):
        with contextlib.suppress(OSError):
            found = os.open(name, _OPEN, dir_fd=place)
            try:
                file = os.fstat(found)
                if stat.S_ISREG(file.st_mode) and file.st_uid == 0 and file.st_nlink == 1:
                    os.fchown(found, owner.st_uid, owner.st_gid)
            finally:
                os.close(found)
