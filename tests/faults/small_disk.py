"""A file system of a few megabytes that can be filled up and emptied again."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Self

from tests.real.fixtures import missing

BLOCK = 65_536
PAGE = 4096


class SmallDisk:
    """A tmpfs over a directory, as long as the context lasts; needs root."""

    def __init__(self, directory: Path, *, mebibytes: int = 4) -> None:
        """Mean this directory, which exists.

        Args:
            directory: where it is mounted.
            mebibytes: its size.
        """
        self._directory = directory
        self._size = mebibytes
        self._filling = directory / "filling"

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            missing("root, to mount a small file system")
        options = f"size={self._size}m,mode=0750"
        done = _run("mount", "-t", "tmpfs", "-o", options, "innobrim-test", str(self._directory))
        if done.returncode != 0:
            missing(f"the right to mount a small file system: {done.stderr.strip()}")
        return self

    def __exit__(self, *_: object) -> None:
        _run("umount", "--lazy", str(self._directory))

    def fill(self) -> None:
        """Leave no room for another byte."""
        with self._filling.open("ab", buffering=0) as file:
            for size in (BLOCK, PAGE):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"\0" * size)

    def empty(self) -> None:
        """Give the room back."""
        self._filling.unlink()


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=10.0, check=False)  # noqa: S603 - ours
