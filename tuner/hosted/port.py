"""The port to a provider: where it keeps a server's two variables, and all that is asked of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from tuner.core.writes.plan import CAPACITY, CAPACITY_MAX
from tuner.servers.port import MESSAGE_CHARACTERS
from tuner.system.printable import printable

NAMES = (CAPACITY, CAPACITY_MAX)

CONNECT_SECONDS, ANSWER_SECONDS, TRIES = 5, 20, 3
"""Time limits of every call to a provider, and how often it is tried in all."""


class HostedError(Exception):
    """The provider does not answer, or refuses; the message says what was asked, and what it said."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message[:MESSAGE_CHARACTERS]))


class NotInTimeError(HostedError):
    """The server does not show what was written within the time given."""


class Parameter(Struct, frozen=True):
    """One variable as the provider keeps it.

    Attributes:
        value: as it was set there, a number or a formula; None for the provider's own default.
        lowest: that the provider takes.
        highest: that the provider takes; None where it does not say.
        barred: why it cannot be changed while the server runs; empty where it can.
    """

    value: str | None = None
    lowest: int = 0
    highest: int | None = None
    barred: str = ""

    def __str__(self) -> str:
        """Return the value in words."""
        return "the provider's default" if self.value is None else self.value


def bounds_of(text: str | None) -> tuple[int, int | None]:
    """Return the lowest and highest value of a range as providers write it, such as 100-20000."""
    bounds = re.fullmatch(r"(\d+)-(\d+)", text or "")
    return (int(bounds[1]), int(bounds[2])) if bounds else (0, None)


class Look(Struct, frozen=True):
    """What the provider shows of one instance.

    Attributes:
        place: what keeps the variables, in words.
        addresses: hosts by which the instance is reached.
        parameters: both variables, by name.
        barred: why nothing may be changed there as things are; empty where it may.
        pending: why nothing new may be begun, while the way back is open; empty where it may.
        beside: other instances that get the same values.
        along: what each change sends with it, as it was found, since the provider takes all or nothing.
    """

    place: str
    addresses: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = {}
    barred: str = ""
    pending: str = ""
    beside: tuple[str, ...] = ()
    along: tuple[str, ...] = ()


class Store(Protocol):
    """Where a provider keeps the variables of one instance; each call ends in bounded time."""

    service: str
    """The instance's service begins with this, as ``Facts.managed`` has it."""

    key: str
    """What tells this store from all others, for good."""

    def look(self) -> Look:
        """Return what the provider shows now; raises ``HostedError``."""
        ...

    def write(self, name: str, value: str | None) -> None:
        """Set a variable in the running server; None is the provider's default; raises ``HostedError``."""
        ...

    def settled(self) -> bool:
        """Tell whether the provider has done what was written; raises ``HostedError`` where it failed."""
        ...
