"""Which file system and which device a directory of this machine is on."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

MOUNTS = Path("/proc/self/mountinfo")
DEVICES = Path("/sys/dev/block")

_VIRTUAL = re.compile(r"qemu|vmware|vbox|msft|virtual|google|amazon|xen", re.IGNORECASE)
"""What a hypervisor calls its disks; whether these rotate it says by its own choice."""

_ESCAPED = re.compile(r"\\([0-7]{3})")

BUSY = 9
"""Place in a device's ``stat`` of the milliseconds for which it had something to do."""


class Volume(Struct, frozen=True):
    """What a directory is on.

    Attributes:
        file_system: such as ext4, xfs, zfs; the kernel's name.
        device: such as vda or nvme0n1p2; empty where the file system has none of its own.
        disk: that the device is a part of, such as nvme0n1; itself where it is no partition.
        rotates: whether that is a disk that turns; None where it is not known.
        busy_ms: for how long it had something to do since the machine started, milliseconds; None: not known.
    """

    file_system: str
    device: str = ""
    rotates: bool | None = None
    busy_ms: int | None = None
    disk: str = ""


def volume_of(directory: str, *, mounts: Path = MOUNTS, devices: Path = DEVICES) -> Volume | None:
    """Return what a directory is on; None where it is not here, or the kernel does not say.

    Args:
        directory: an absolute path.
        mounts: as /proc/self/mountinfo has them.
        devices: as /sys/dev/block has them.
    """
    try:
        place = Path(directory).resolve(strict=True)
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except (OSError, RuntimeError):
        return None
    found: tuple[str, str, str] | None = None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:  # noqa: PLR2004 - number, parent, device, root, mount point
            continue
        point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
        if place.is_relative_to(point) and (found is None or len(point) >= len(found[0])):
            found = point, kind[0], fields[2]
    if found is None:
        return None
    _, file_system, number = found
    return _on_device(file_system, devices / number)


class Room(Struct, frozen=True):
    """Space on a directory's file system, bytes.

    Attributes:
        free: what an account without privileges may still write.
        total: of all.
    """

    free: int
    total: int


def room_of(directory: str) -> Room | None:
    """Return the space where a directory is; None where it is not here, or cannot be looked at."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return None
    return Room(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)


def _on_device(file_system: str, link: Path) -> Volume:
    try:
        device = Path(os.path.realpath(link, strict=True))
    except OSError:
        return Volume(file_system)
    disk = device if (device / "queue").is_dir() else device.parent  # a partition is below its disk
    said, busy = _line(disk / "queue" / "rotational"), _line(device / "stat").split()
    rotates = {"0": False, "1": None if _is_virtual(disk) else True}.get(said)
    counted = len(busy) > BUSY and busy[BUSY].isdigit()
    return Volume(file_system, device.name, rotates, int(busy[BUSY]) if counted else None, disk.name)


def _is_virtual(disk: Path) -> bool:
    named = disk.name.startswith(("vd", "xvd", "dm-", "md", "loop", "zram"))
    return named or any(_VIRTUAL.search(_line(disk / "device" / one)) for one in ("vendor", "model"))


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
