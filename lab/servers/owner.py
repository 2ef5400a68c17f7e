"""Who a throw-away server belongs to, so that what a crashed run left behind can be told and removed."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
from pathlib import Path

_PREFIX = "innobrim-lab-"
_OWNER_FILE = "owner"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19  # of /proc/PID/stat after the command's name: start time, ticks since boot


def mine() -> str:
    """Return this process's identity: host, boot, id and start, so that a reused id is another."""
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
    return "|".join((platform.node(), boot, str(os.getpid()), _born(os.getpid())))


def orphaned(owner: str) -> bool:
    """Return whether the process of an identity lived on this host and is gone; False when unsure."""
    theirs, ours = owner.split("|"), mine().split("|")
    if len(theirs) != len(ours) or theirs[0] != ours[0] or not theirs[3]:
        return False
    return theirs[1] != ours[1] or _born(int(theirs[2])) != theirs[3]


def _born(pid: int) -> str:
    """Return a process's start time in ticks since boot, empty when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[_START_FIELD]


def new_directory(base: Path) -> Path:
    """Make a directory of this process's own in ``base`` after removing those of crashed runs."""
    remove_directories(base)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    (directory / _OWNER_FILE).write_text(mine(), encoding="utf-8")
    return directory


def remove_directories(base: Path) -> int:
    """Remove the directories that crashed runs on this host left in ``base``; return how many."""
    removed = 0
    for directory in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if orphaned((directory / _OWNER_FILE).read_text(encoding="utf-8")):
                shutil.rmtree(directory, ignore_errors=True)
                removed += 1
    return removed
