"""Limiting a process's disk writes per second through the block I/O controller, cgroup v1 or v2."""

from __future__ import annotations

import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


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


def limit_file(pid: int) -> Path | None:
    """Return the controller file that limits the group of a process, None when there is none."""
    groups: dict[str, str] = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = group.lstrip("/")
    if "blkio" in groups:
        found = CGROUPS / "blkio" / groups["blkio"] / "blkio.throttle.write_iops_device"
    else:
        found = CGROUPS / groups.get("", "") / "io.max"
    return found if found.exists() else None


def limit_line(file: Path, device: str, writes: int | None) -> str:
    """Return what is written to the controller file for so many writes per second; None lifts it."""
    if file.name == "io.max":
        return f"{device} wiops={writes or 'max'}"
    return f"{device} {writes or 0}"
