"""Which file system and device a directory is on, as far as the kernel can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.system.storage import room_of, volume_of

STAT = "1 0 8 2 3 0 24 4 0 700 6\n"


@pytest.mark.parametrize(
    ("disk", "rotational", "model", "rotates"),
    [
        ("nvme0n1", "0", "Samsung", False),
        ("sda", "1", "ST4000NM", True),
        ("sda", "1", "QEMU HARDDISK", None),
        ("vda", "1", "", None),
        ("vda", "0", "", False),
    ],
)
def test_a_disk_turns_only_where_the_kernel_can_know(
    tmp_path: Path, disk: str, rotational: str, model: str, *, rotates: bool | None
) -> None:
    """A virtual disk says that it turns unless its host says otherwise, so that is not believed."""
    data = tmp_path / "my data" / "mysql"
    data.mkdir(parents=True)
    partition = tmp_path / "sys" / disk / f"{disk}p1"
    for folder in (partition, partition.parent / "queue", partition.parent / "device", tmp_path / "dev"):
        folder.mkdir(parents=True, exist_ok=True)
    (partition / "stat").write_text(STAT)
    (partition.parent / "queue" / "rotational").write_text(f"{rotational}\n")
    (partition.parent / "device" / "model").write_text(f"{model}\n")
    (tmp_path / "dev" / "8:1").symlink_to(partition)
    mounts = tmp_path / "mountinfo"
    point = str(data.parent.resolve()).replace(" ", "\\040")
    mounts.write_text(
        "1 0 0:1 / / rw - overlay overlay rw\n"
        f"2 1 8:1 / {point} rw,relatime shared:1 - xfs /dev/{disk}p1 rw\n"
    )

    found = volume_of(str(data), mounts=mounts, devices=tmp_path / "dev")

    assert found is not None
    assert (found.file_system, found.device, found.disk) == ("xfs", f"{disk}p1", disk)
    assert (found.rotates, found.busy_ms) == (rotates, 700)
    elsewhere = volume_of(str(tmp_path), mounts=mounts, devices=tmp_path / "dev")
    assert elsewhere is not None
    assert (elsewhere.file_system, elsewhere.device, elsewhere.rotates) == ("overlay", "", None)
    assert volume_of("/no/such/directory", mounts=mounts) is None


def test_the_room_of_a_directory_is_what_an_account_may_still_write(tmp_path: Path) -> None:
    """What is free is no more than the whole; of a directory that is not here nothing is said."""
    room = room_of(str(tmp_path))

    assert room is not None
    assert 0 <= room.free <= room.total
    assert room_of(str(tmp_path / "elsewhere")) is None
