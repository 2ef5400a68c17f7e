"""What ``innobrim hosted`` found and wrote, in a file of the state directory: the way back.

It is on disk before the provider is told. It is kept by instance and not by the server's identity, as the
provider keeps the values over restarts, failovers and replacements of the server.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from tuner.journal.store import FILE_MODE
from tuner.records import Capacity
from tuner.system.statedir import as_owner, read_plain, write_private

NAME = "hosted.json"
MOST_BYTES = 1_048_576


class KeptError(Exception):
    """The file cannot be read or written; the message names it and says why."""


class Kept(Struct, frozen=True):
    """What was found at the provider before the first write, and what was written since.

    Attributes:
        key: of the store that keeps the variables.
        found: the pair that was in force.
        values: what the provider kept of each variable; None for its own default.
        wrote: all values that were written of each.
        begun: when each change began, Unix time, seconds.
        wanted: the pair that the last change was to bring; None before any.
        restored: what was found is in force again, so that only the times of the changes still count.
    """

    key: str
    found: Capacity
    values: dict[str, str | None]
    wrote: dict[str, list[str]] = {}
    begun: list[float] = []
    wanted: Capacity | None = None
    restored: bool = False

    def knows(self, name: str) -> str:
        """Return in words which values of a variable are nobody else's."""
        wrote = self.wrote.get(name)
        return f"wrote {' and '.join(wrote)}" if wrote else f"found {self.values.get(name) or 'the default'}"

    def foreign(self, name: str, value: str | None) -> bool:
        """Tell whether somebody else gave a variable this value."""
        return value != self.values.get(name) and value not in self.wrote.get(name, [])


def kept_of(directory: Path, key: str) -> Kept | None:
    """Return what is kept of a store; None where nothing is; raises ``KeptError``."""
    return next((one for one in _read(directory) if one.key == key), None)


def keep(directory: Path, key: str, kept: Kept | None) -> None:
    """Have it on disk instead of what was kept of this store; None keeps nothing; raises ``KeptError``."""
    others = [one for one in _read(directory) if one.key != key]
    path = directory / NAME
    content = msgspec.json.encode([*others, *([] if kept is None else [kept])])
    try:
        with as_owner(directory):
            write_private(path, msgspec.json.format(content, indent=1) + b"\n", FILE_MODE)
    except OSError as error:
        raise KeptError(f"{path} cannot be written: {error}") from error


def _read(directory: Path) -> list[Kept]:
    path = directory / NAME
    try:
        with as_owner(directory):
            return msgspec.json.decode(read_plain(path, MOST_BYTES)[1], type=list[Kept])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise KeptError(f"{path} cannot be read: {error}") from error
