"""The block I/O controller of a process's control group, version 1 or 2: its limits and its counts.

Version 1 has a file for each limit, version 2 one line in ``io.max`` for all of them
(Documentation/admin-guide/cgroup-v1/blkio-controller.rst and cgroup-v2.rst of Linux). Both limit rates only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.servers.disk import RATES, DeviceCounters, DiskLimit

CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")
COUNTED = "control group"

_FILES = {
    "write_iops": "blkio.throttle.write_iops_device",
    "write_bytes": "blkio.throttle.write_bps_device",
    "read_iops": "blkio.throttle.read_iops_device",
    "read_bytes": "blkio.throttle.read_bps_device",
}
_KEYS = {"write_iops": "wiops", "write_bytes": "wbps", "read_iops": "riops", "read_bytes": "rbps"}
_COUNTS = ("rios", "wios", "rbytes", "wbytes")

Write = Callable[[Path, str], None]
"""Writes a line to a file; OSError where that is refused."""


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A control group that the block I/O controller may be at work for.

    Attributes:
        directory: where its files are.
        unified: version 2.
    """

    directory: Path
    unified: bool


def group_of(pid: int, *, root: Path = CGROUPS, proc: Path = PROC) -> ControlGroup | None:
    """Return the group of a process that block I/O is controlled by, None when it cannot be seen from here.

    Raises:
        OSError: there is no such process.
    """
    groups: dict[str, str] = {}
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = group.lstrip("/")
    unified = "blkio" not in groups
    if unified and "" not in groups:
        return None
    directory = hierarchy(root) / groups["" if unified else "blkio"]
    return ControlGroup(directory, unified) if directory.is_dir() else None


def hierarchy(root: Path = CGROUPS) -> Path:
    """Return the directory of the top control group that block I/O is controlled by."""
    if (root / "blkio").is_dir():
        return root / "blkio"
    beside = root / "unified"
    return beside if beside.is_dir() else root


def orders(group: ControlGroup, device: str, limit: DiskLimit) -> tuple[tuple[Path, str, str], ...]:
    """Return what has to be written to have a limit, and nothing else, in force.

    Args:
        group: whose limit.
        device: ``major:minor``.
        limit: the limit; where it is None the group's is lifted.

    Returns:
        File, line, and what it limits, in words.
    """
    if group.unified:
        words = " ".join(f"{_KEYS[name]}={limit.rate(name) or 'max'}" for name in RATES)
        return ((group.directory / "io.max", f"{device} {words}", "disk"),)
    return tuple(
        (group.directory / _FILES[name], f"{device} {limit.rate(name) or 0}", name.replace("_", " "))
        for name in RATES
    )


def write_line(file: Path, line: str) -> None:
    """Write one line to a controller's file, which reads it at once.

    Raises:
        OSError: the kernel, or the file's mode, refuses it.
    """
    number = os.open(file, os.O_WRONLY | os.O_TRUNC)  # never created: the kernel has it or has it not
    try:
        os.write(number, f"{line}\n".encode("ascii"))
    finally:
        os.close(number)


def enforce(group: ControlGroup, device: str, limit: DiskLimit, write: Write = write_line) -> tuple[str, ...]:
    """Put a limit in force from now on, and lift what it does not name.

    Returns:
        A sentence for everything that could not be limited, or not be lifted; none when all is in force.
    """
    refusals = []
    for file, line, what in orders(group, device, limit):
        if not file.exists():
            why = f"{file.name} is not there, so the block I/O controller is not at work in {file.parent}"
            refusals.append(f"{what} not limited: {why}")
            continue
        try:
            write(file, line)
        except OSError as error:
            hint = "; it needs root" if isinstance(error, PermissionError) else ""
            refusals.append(f"{what} not limited: {file} refused '{line}': {error.strerror or error}{hint}")
    return tuple(refusals)


def counters(group: ControlGroup, device: str) -> DeviceCounters | None:
    """Return what a group had a disk do since it was made, None where it is not counted.

    Version 1 counts from the moment on at which any limit, or the lifting of one, was first written for
    the disk; zeros where the disk has done nothing yet.
    """
    try:
        if group.unified:
            found = _pairs((group.directory / "io.stat").read_text(encoding="ascii"), device)
            reads, writes, read, written = (found.get(name, 0) for name in _COUNTS)
            return DeviceCounters(reads, writes, read, written, COUNTED)
        operations, size = (
            _rows((group.directory / f"blkio.throttle.{name}").read_text(encoding="ascii"), device)
            for name in ("io_serviced", "io_service_bytes")
        )
    except (OSError, ValueError):
        return None
    return DeviceCounters(
        reads=operations.get("Read", 0),
        writes=operations.get("Write", 0),
        read_bytes=size.get("Read", 0),
        write_bytes=size.get("Write", 0),
        source=COUNTED,
    )


def _pairs(text: str, device: str) -> dict[str, int]:
    """Return the values of a device's line ``254:0 rbytes=1 wbytes=2``."""
    for line in text.splitlines():
        name, *words = line.split()
        if name == device:
            return {key: int(value) for key, _, value in (word.partition("=") for word in words)}
    return {}


def _rows(text: str, device: str) -> dict[str, int]:
    """Return the values of a device's lines ``254:0 Read 1``."""
    rows = (line.split() for line in text.splitlines())
    return {row[1]: int(row[2]) for row in rows if len(row) == 3 and row[0] == device}  # noqa: PLR2004 - see above
