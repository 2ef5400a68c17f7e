"""Who a throw-away server belongs to, so that what a crashed run left behind can be told and removed."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Literal

PREFIX = "innobrim-lab-"
"""What everything begins with that the next run may remove once its owner is gone."""

_OWNER_FILE = "owner"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_GROUP_NAME = re.compile(rf"{PREFIX}(\d+)-(\d+)-\d+")
_GROUPS = itertools.count(1)
_END_SECONDS = 10.0
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


def ending_with_us(number: Literal["KILL", "TERM"] = "KILL") -> list[str]:
    """Return what goes before a command to have it signalled when the thread that starts it ends, however.

    A command whose starter has ended before that was arranged does not begin. Nothing where there is no
    ``setpriv`` (util-linux).
    """
    begin = ending_with_parent(number)
    return [*begin, "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())] if begin else []


def ending_with_parent(number: Literal["KILL", "TERM"] = "KILL") -> list[str]:
    """Return the same for a script's own commands, without that check."""
    return ["setpriv", "--pdeathsig", number] if shutil.which("setpriv") else []


def bases() -> list[Path]:
    """Return the directories that throw-away data may be in."""
    return [Path(tempfile.gettempdir()), Path("/var/tmp")]  # noqa: S108 - mkdtemp makes a private one inside


def new_directory(base: Path) -> Path:
    """Make a directory of this process's own in ``base`` after removing those of crashed runs."""
    remove_directories(base)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    sign(directory)
    return directory


def sign(directory: Path) -> None:
    """Say in a directory whose name begins with ``PREFIX`` that it is this process's own."""
    (directory / _OWNER_FILE).write_text(mine(), encoding="utf-8")


def remove_directories(base: Path) -> int:
    """Remove the directories that crashed runs on this host left in ``base``; return how many.

    A mysqld that still runs in one of them, because nothing here could tie it to its run, is ended first. A
    daemon that still parks is left its directory, which goes with a later run.
    """
    removed = 0
    for directory in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if orphaned((directory / _OWNER_FILE).read_text(encoding="utf-8")):
                if _processes_with(f"{directory}/"):
                    continue
                _end(_processes_with(f"--datadir={directory}/"))
                shutil.rmtree(directory, ignore_errors=True)
                removed += 1
    return removed


def new_group(parent: Path) -> Path:
    """Make a control group of this process's own; its name says whose it is, as it holds no other file.

    Raises:
        OSError: there is no such controller, or it needs root.
    """
    pid = os.getpid()
    group = parent / f"{PREFIX}{pid}-{_born(pid)}-{next(_GROUPS)}"
    group.mkdir()
    return group


def remove_groups(parent: Path) -> int:
    """Remove the control groups that crashed runs left, with what still runs in them; return how many."""
    removed = 0
    for group in parent.glob(f"{PREFIX}*"):
        found = _GROUP_NAME.fullmatch(group.name)
        if found is None or _born(int(found[1])) == found[2]:
            continue
        with contextlib.suppress(OSError):
            _end(_members(group))
            group.rmdir()
            removed += 1
    return removed


def _members(group: Path) -> list[int]:
    """Return the processes of a control group; those of another namespace have the number 0 and are left."""
    with contextlib.suppress(FileNotFoundError):
        numbers = (group / "cgroup.procs").read_text(encoding="ascii").split()
        return [int(number) for number in numbers if int(number)]
    return []


def _processes_with(beginning: str) -> list[int]:
    """Return the processes that an argument was given to which begins so."""
    wanted = os.fsencode(beginning)
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if any(word.startswith(wanted) for word in line.read_bytes().split(b"\0")):
                found.append(int(line.parent.name))
    return found


def _end(pids: list[int]) -> None:
    """SIGKILL processes and return when they are gone, or after a while."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + _END_SECONDS
    while any(_born(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)  # they are no children of ours, so nothing announces their end
