"""A password in a file of its own, as container runtimes hand secrets over."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from tuner.config.errors import ConfigError
from tuner.config.keys import PASSWORD_FILE_VARIABLE

SECRETS = Path("/run/secrets")
"""Where Docker, Podman and Compose mount secrets, readable for every account of the container."""

MOUNTS = Path("/proc/self/mountinfo")
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
LONGEST = 4096
"""Bytes of a line that can be a password."""

_WANTED = "it must be a file whose first line is the password, readable by the account that runs this command"
_OCTAL = re.compile(r"\\([0-7]{3})")


def password_in(path: Path) -> str:
    """Return the first line of a file, without its end; bytes that are no UTF-8 stay what they are.

    Others may read it only where it is a mounted secret: below ``/run/secrets``, or on a read-only file
    system in memory, as Kubernetes mounts one. Nobody else sees that, and its mode is not the operator's.

    Raises:
        ConfigError: it cannot be read, is empty, no regular file, or one that others may read or change.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for whoever writes to it
    except OSError as error:
        raise _refused(path, f"{(error.strerror or str(error)).lower()}; {_WANTED}") from error
    try:
        _must_be_ours(path, os.fstat(handle).st_mode)
        line = os.read(handle, LONGEST + 2).partition(b"\n")[0].removesuffix(b"\r")
    finally:
        os.close(handle)
    if not line:
        raise _refused(path, "its first line is empty; it must be the password")
    if len(line) > LONGEST:
        raise _refused(path, f"its first line is longer than {LONGEST} bytes; it must be the password")
    return line.decode("utf-8", "surrogateescape")


def _must_be_ours(path: Path, mode: int) -> None:
    shown = f"(mode {stat.S_IMODE(mode):04o}); chmod 0640 or less"
    if not stat.S_ISREG(mode):
        raise _refused(path, f"no regular file; {_WANTED}")
    if mode & stat.S_IWOTH:
        raise _refused(path, f"other accounts can change it {shown}")
    if mode & stat.S_IROTH and not is_mounted_secret(path):
        raise _refused(path, f"other accounts can read it {shown}")


def is_mounted_secret(path: Path) -> bool:
    """Tell whether a file is one that a container runtime mounted as a secret."""
    real = Path(os.path.realpath(path))
    if SECRETS in real.parents:
        return True
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    return on_read_only_memory(real, mounts)


def on_read_only_memory(path: Path, mounts: str) -> bool:
    """Tell whether a file lies on a file system in memory that is mounted read-only.

    Args:
        path: without symbolic links.
        mounts: as /proc/self/mountinfo has them.
    """
    found, longest = False, -1
    for line in mounts.split("\n"):
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if not dash or len(fields) < 6:  # noqa: PLR2004 - see proc_pid_mountinfo(5)
            continue
        point = Path(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        if (point == path or point in path.parents) and len(point.parts) >= longest:
            longest = len(point.parts)
            found = after.split(" ")[0] in IN_MEMORY and "ro" in fields[5].split(",")
    return found


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError([f"{PASSWORD_FILE_VARIABLE} = {path}: {why}"])
