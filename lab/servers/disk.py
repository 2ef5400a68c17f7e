"""What a disk may be limited to, what it has done, and which disk holds a path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

RATES = ("write_iops", "write_bytes", "read_iops", "read_bytes")
_WORDS = {"write_iops": "writes/s", "write_bytes": "bytes/s written"}
_WORDS |= {"read_iops": "reads/s", "read_bytes": "bytes/s read"}


@dataclass(frozen=True, slots=True)
class DiskLimit:
    """What a server may ask of its disk; None is no limit.

    Attributes:
        write_iops: writes per second.
        write_bytes: bytes written per second.
        read_iops: reads per second.
        read_bytes: bytes read per second.
        latency: seconds added to every operation. Nothing here can add them: a server says so.

    Raises:
        ValueError: a limit that is not above 0.
    """

    write_iops: int | None = None
    write_bytes: int | None = None
    read_iops: int | None = None
    read_bytes: int | None = None
    latency: float | None = None

    def __post_init__(self) -> None:
        """Refuse what would mean something else to the kernel: there 0 lifts a limit."""
        for name in (*RATES, "latency"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"disk limit {name} = {value}: must be above 0; leave it out for no limit")

    def __str__(self) -> str:
        """Return it in words, as "1,200 writes/s, 20,000,000 bytes/s written"."""
        given = [f"{self.rate(name):,} {_WORDS[name]}" for name in RATES if self.rate(name) is not None]
        if self.latency is not None:
            given.append(f"{self.latency * 1000:g} ms more for each operation")
        return ", ".join(given) or "no limit"

    def rate(self, name: str) -> int | None:
        """Return one of the four rates by its name."""
        value: int | None = getattr(self, name)
        return value


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


def block_device(path: Path) -> str | None:
    """Return ``major:minor`` of the whole disk that holds a path, None when it is no block device."""
    number = path.stat().st_dev
    major, minor = os.major(number), os.minor(number)
    if major == 0:
        found = _mount_source(path)
        if found is None:
            return None
        major, minor = found
    device = Path(f"/sys/dev/block/{major}:{minor}")
    if not device.exists():
        return None
    if (device / "partition").exists():
        return (device.resolve().parent / "dev").read_text().strip()
    return f"{major}:{minor}"


def _mount_source(path: Path) -> tuple[int, int] | None:
    """Return the device behind a file system without one of its own number, such as btrfs."""
    best, source = "", ""
    real = str(path.resolve())
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        mount = left.split()[4]
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, source = mount, right.split()[1]
    if not source.startswith("/dev/"):
        return None
    number = Path(source).stat().st_rdev
    return os.major(number), os.minor(number)
