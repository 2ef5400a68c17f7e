"""What is written to the block I/O controller, what it refuses, and what it has counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.servers.disk import (
    ControlGroup,
    DeviceCounters,
    DiskLimit,
    NoLimitError,
    Throttle,
    counters,
    enforce,
    group_of,
    hierarchy,
    made_of_memory,
)

DISK = "254:0"
V1_FILES = ("write_iops", "write_bps")
BOTH = DiskLimit(write_iops=1200, write_bytes=20_000_000)


def version_1(root: Path) -> ControlGroup:
    """Return a group of the old hierarchy, its files as the kernel has them before any limit."""
    directory = root / "blkio" / "docker" / "c0ffee"
    directory.mkdir(parents=True)
    for name in V1_FILES:
        (directory / f"blkio.throttle.{name}_device").touch()
    return ControlGroup(directory, unified=False)


def version_2(root: Path) -> ControlGroup:
    """Return a group of the unified hierarchy."""
    directory = root / "system.slice" / "docker-c0ffee.scope"
    directory.mkdir(parents=True)
    (directory / "io.max").touch()
    return ControlGroup(directory, unified=True)


def in_force(group: ControlGroup) -> dict[str, str]:
    """Return what each file of a group was last told."""
    return {path.name: path.read_text().strip() for path in sorted(group.directory.iterdir())}


def process_of(proc: Path, lines: str) -> int:
    """Make a process whose control groups are these, and return its number."""
    (proc / "7").mkdir(parents=True)
    (proc / "7" / "cgroup").write_text(lines)
    return 7


@pytest.mark.parametrize(
    ("make", "both", "one"),
    [
        (
            version_1,
            {
                "blkio.throttle.write_bps_device": "254:0 20000000",
                "blkio.throttle.write_iops_device": "254:0 1200",
            },
            {"blkio.throttle.write_bps_device": "254:0 0", "blkio.throttle.write_iops_device": "254:0 50"},
        ),
        (version_2, {"io.max": "254:0 wiops=1200 wbps=20000000"}, {"io.max": "254:0 wiops=50 wbps=max"}),
    ],
)
def test_a_limit_replaces_the_one_before(
    tmp_path: Path, make: Callable[[Path], ControlGroup], both: dict[str, str], one: dict[str, str]
) -> None:
    """Version 1 takes a line for each limit, version 2 one for all; nothing is left of the first limit."""
    group = make(tmp_path)
    assert enforce(group, DISK, BOTH) == ()
    assert in_force(group) == both
    assert enforce(group, DISK, DiskLimit(write_iops=50)) == ()
    assert in_force(group) == one


def test_what_the_kernel_does_not_have_is_said(tmp_path: Path) -> None:
    """Every limit that is not in force has its sentence; the others are."""
    group = version_1(tmp_path)
    (group.directory / "blkio.throttle.write_bps_device").unlink()
    (refusal,) = enforce(group, DISK, BOTH)
    assert refusal.startswith("write bytes not limited: blkio.throttle.write_bps_device is not there")
    assert in_force(group)["blkio.throttle.write_iops_device"] == "254:0 1200"


def test_a_refused_line_is_shown_with_the_reason(tmp_path: Path) -> None:
    """Who may not write is told so, and what would be needed."""

    def write(_file: Path, _line: str) -> None:
        raise PermissionError(13, "Permission denied")

    (refusal,) = enforce(version_2(tmp_path), DISK, DiskLimit(write_iops=5), write)
    assert "io.max refused '254:0 wiops=5 wbps=max'" in refusal
    assert refusal.endswith("Permission denied; it needs root")


@pytest.mark.parametrize(
    ("lines", "directory", "unified"),
    [
        ("7:blkio:/docker/c0ffee\n0::/docker/c0ffee\n", "blkio/docker/c0ffee", False),
        ("9:blkio,cpu:/lab\n", "blkio/lab", False),
        ("0::/system.slice/docker-c0ffee.scope\n", "system.slice/docker-c0ffee.scope", True),
        ("4:memory:/x\n0::/lab\n", "unified/lab", True),
    ],
)
def test_the_group_is_found_in_every_kind_of_hierarchy(
    tmp_path: Path, lines: str, directory: str, *, unified: bool
) -> None:
    """Old, unified, and both beside each other."""
    (tmp_path / "cg" / directory).mkdir(parents=True)
    pid = process_of(tmp_path / "proc", lines)
    found = group_of(pid, root=tmp_path / "cg", proc=tmp_path / "proc")
    assert found == ControlGroup(tmp_path / "cg" / directory, unified)


def test_a_group_out_of_sight_is_none(tmp_path: Path) -> None:
    """A group that is not under our own root is never mistaken for another one."""
    pid = process_of(tmp_path / "proc", "0::/../somewhere\n")
    (tmp_path / "cg").mkdir()
    assert group_of(pid, root=tmp_path / "cg", proc=tmp_path / "proc") is None
    assert hierarchy(tmp_path / "cg") == tmp_path / "cg"


def test_operations_and_bytes_of_that_disk_are_counted(tmp_path: Path) -> None:
    """Other disks of the machine are left out, in both versions."""
    old, new = version_1(tmp_path), version_2(tmp_path)
    for name, read, write in (("io_serviced", 12, 345), ("io_service_bytes", 4096, 81920)):
        lines = f"7:0 Read 9\n{DISK} Read {read}\n{DISK} Write {write}\n{DISK} Sync 1\nTotal 99\n"
        (old.directory / f"blkio.throttle.{name}").write_text(lines)
    (new.directory / "io.stat").write_text(
        "7:0 rbytes=9 wbytes=9 rios=9 wios=9\n254:0 rbytes=4096 wbytes=81920 rios=12 wios=345 dbytes=0\n"
    )
    assert counters(old, DISK) == counters(new, DISK) == DeviceCounters(12, 345, 4096, 81920, "control group")


def test_what_is_not_counted_is_none_and_an_idle_disk_is_zero(tmp_path: Path) -> None:
    """Zero writes are never made up."""
    group = version_2(tmp_path)
    assert counters(group, DISK) is None
    (group.directory / "io.stat").touch()
    assert counters(group, DISK) == DeviceCounters(0, 0, 0, 0, "control group")


def test_a_limit_outlives_a_restart(tmp_path: Path) -> None:
    """A server that is started again is in a new group with the limit of the old one."""
    groups = [version_2(tmp_path / "one"), version_2(tmp_path / "two")]
    throttle = Throttle(lambda: (groups[0], DISK))
    throttle.set(DiskLimit(write_iops=800))
    del groups[0]
    throttle.again()
    assert in_force(groups[0]) == {"io.max": "254:0 wiops=800 wbps=max"}


def test_counting_starts_by_itself_and_its_source_stays(tmp_path: Path) -> None:
    """Without any limit the old controller counts only after one was lifted; a late count changes nothing."""
    group = version_1(tmp_path)
    throttle = Throttle(lambda: (group, DISK))
    assert throttle.counters() is None
    assert in_force(group)["blkio.throttle.write_iops_device"] == "254:0 0"
    for name in ("io_serviced", "io_service_bytes"):
        (group.directory / f"blkio.throttle.{name}").write_text(f"{DISK} Write 5\n")
    assert throttle.counters() is None
    assert Throttle(lambda: (group, DISK)).counters() == DeviceCounters(0, 5, 0, 5, "control group")


def test_a_disk_that_cannot_be_limited_is_said_not_raised() -> None:
    """The bench goes on and tells its reader."""

    def find() -> tuple[ControlGroup, str]:
        raise NoLimitError("no block device is known behind /srv")

    throttle = Throttle(find)
    assert throttle.set(BOTH) == ("disk not limited: no block device is known behind /srv",)
    assert throttle.counters() is None


@pytest.mark.parametrize(("name", "value"), [("write_iops", 0), ("write_bytes", -1)])
def test_a_limit_of_nothing_is_refused(name: str, value: int) -> None:
    """To the kernel 0 means no limit, to a person it means no writes."""
    with pytest.raises(ValueError, match=f"{name} = .* must be above 0"):
        DiskLimit(**{name: value})


MOUNTS = """\
25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 25 0:26 / /dev/shm rw shared:2 - tmpfs tmpfs rw
31 25 0:40 / /layers rw shared:3 - overlay overlay rw
"""


def test_a_loop_device_over_a_file_in_memory_is_told_from_a_disk(tmp_path: Path) -> None:
    """A row says so when its disk is memory, which waits for no sync as a disk does, and at no other time."""
    files = {"7:0": "/dev/shm/lane", "7:1": "/var/lane", "7:2": "/layers/lane"}  # noqa: S108 - nothing is there
    for number, file in files.items():
        (tmp_path / number / "loop").mkdir(parents=True)
        (tmp_path / number / "loop" / "backing_file").write_text(f"{file}\n")
    (tmp_path / "254:0").mkdir()
    (tmp_path / "mounts").write_text(MOUNTS)

    devices = [*files, "254:0"]
    assert [one for one in devices if made_of_memory(one, tmp_path, tmp_path / "mounts")] == ["7:0"]
