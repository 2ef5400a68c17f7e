"""A server's disk: which one it is, what it may be limited to, and what it has done.

The block I/O controller of a process's control group limits and counts, version 1 or 2. Version 1 has a file
for each limit, version 2 one line in ``io.max`` for all of them
(Documentation/admin-guide/cgroup-v1/blkio-controller.rst and cgroup-v2.rst of Linux).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DiskLimit:
    """What a server may ask of its disk; None is no limit.

    Attributes:
        write_iops: writes per second.
        write_bytes: bytes written per second.

    Raises:
        ValueError: a limit that is not above 0.
    """

    write_iops: int | None = None
    write_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what would mean something else to the kernel: there 0 lifts a limit."""
        for name, value in (("write_iops", self.write_iops), ("write_bytes", self.write_bytes)):
            if value is not None and value <= 0:
                raise ValueError(f"disk limit {name} = {value}: must be above 0; leave it out for no limit")

    def __str__(self) -> str:
        rates = ((self.write_iops, "writes/s"), (self.write_bytes, "bytes/s written"))
        return ", ".join(f"{rate:,} {unit}" for rate, unit in rates if rate is not None) or "no limit"


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """What a server has had its disk do so far; counted from its start, or from its control group's.

    Attributes:
        reads: operations.
        writes: operations.
        read_bytes: bytes.
        write_bytes: bytes.
        source: who counted: the control group counts what reached the disk, the server what it asked for.
    """

    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    source: str


SYS = Path("/sys/dev/block")
MOUNTS = Path("/proc/self/mountinfo")


def block_device(path: Path) -> str | None:
    """Return ``major:minor`` of the whole disk that holds a path, None when it is no block device."""
    number = path.stat().st_dev
    major, minor = os.major(number), os.minor(number)
    if major == 0:
        found = _mount_source(path)
        if found is None:
            return None
        major, minor = found
    device = SYS / f"{major}:{minor}"
    if not device.exists():
        return None
    if (device / "partition").exists():
        return (device.resolve().parent / "dev").read_text().strip()
    return f"{major}:{minor}"


def in_memory(path: Path) -> bool:
    """Return whether a path is on a loop device over a file in memory, which waits for no sync."""
    try:
        device = block_device(path)
    except OSError:  # a container's data may be on another machine
        return False
    return device is not None and made_of_memory(device)


def made_of_memory(device: str, root: Path = SYS, mounts: Path = MOUNTS) -> bool:
    """Return whether a device ``major:minor`` is a loop device whose file is in a tmpfs or ramfs."""
    try:
        file = (root / device / "loop" / "backing_file").read_text(encoding="utf-8").rstrip("\n")
    except OSError:
        return False
    return _mount(Path(file), mounts)[0] in {"tmpfs", "ramfs"}


def _mount_source(path: Path) -> tuple[int, int] | None:
    """Return the device behind a file system without one of its own number, such as btrfs."""
    _, source = _mount(path, MOUNTS)
    if not source.startswith("/dev/"):
        return None
    number = Path(source).stat().st_rdev
    return os.major(number), os.minor(number)


def _mount(path: Path, mounts: Path) -> tuple[str, str]:
    """Return type and source of the file system that a path is in."""
    best, found = "", ("", "")
    real = str(path.resolve())
    for line in mounts.read_text(encoding="utf-8").splitlines():
        left, _, right = line.partition(" - ")
        mount = left.split()[4]
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            kind, source, *_ = right.split()
            best, found = mount, (kind, source)
    return found


CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")
COUNTED = "control group"

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
    if group.unified:
        words = f"wiops={limit.write_iops or 'max'} wbps={limit.write_bytes or 'max'}"
        orders = [("io.max", words, "disk")]
    else:
        orders = [
            ("blkio.throttle.write_iops_device", str(limit.write_iops or 0), "write iops"),
            ("blkio.throttle.write_bps_device", str(limit.write_bytes or 0), "write bytes"),
        ]
    refusals = []
    for name, value, what in orders:
        file, line = group.directory / name, f"{device} {value}"
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


Place = tuple[ControlGroup, str]
"""The server's control group and its disk, ``major:minor``."""


class NoLimitError(Exception):
    """A disk that no limit can be had for; the message says why."""


class Throttle:
    """Limits and counts.

    Attributes:
        limit: what was asked for last.
        counted: whether the control group counts; None until it was first asked.
    """

    def __init__(self, find: Callable[[], Place], write: Write = write_line) -> None:
        """Prepare, without touching anything.

        Args:
            find: returns group and disk of the server that runs now, or raises ``NoLimitError`` or OSError.
            write: how a line gets into a controller's file.
        """
        self.limit = DiskLimit()
        self._find = find
        self._write = write
        self._place: Place | None = None
        self._asked = False
        self._obeyed = False
        self.counted: bool | None = None

    def set(self, limit: DiskLimit) -> tuple[str, ...]:
        """Put a limit in force from now on.

        Returns:
            A sentence for everything that could not be limited; none when all is in force.
        """
        self._place = None
        try:
            refusals = enforce(*self._where(), limit, self._write)
        except (NoLimitError, OSError) as error:
            refusals = (f"disk not limited: {error}",)
        self.limit, self._asked, self._obeyed = limit, True, not refusals
        return refusals

    def again(self) -> None:
        """Have the limit in force for a server that was just started again."""
        self._place = None
        if self._asked:
            self.set(self.limit)

    def counters(self) -> DeviceCounters | None:
        """Return the control group's counts; None where there are none, and then always.

        A source that changed in between would make every difference wrong.
        """
        if not self._asked:
            self.set(self.limit)  # version 1 starts to count with this
        found = self._look()
        if self.counted is None:
            self.counted = found is not None and (self._obeyed or found.writes > 0)
        return found if self.counted else None

    def _where(self) -> Place:
        """Return the place; asked for once a start, as counts are read every second."""
        if self._place is None:
            self._place = self._find()
        return self._place

    def _look(self) -> DeviceCounters | None:
        try:
            return counters(*self._where())
        except (NoLimitError, OSError):
            return None
