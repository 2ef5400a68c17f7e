"""The port: all that the loop can ask of a server."""

from __future__ import annotations

from typing import Protocol

from tuner.records import Capacity, Facts, Missed, Receipt, Sample
from tuner.system.printable import printable

MESSAGE_CHARACTERS = 16_384
"""Most of a message: some texts of a server's, and our own, which may have a line for each server known."""


class ServerError(Exception):
    """A server that cannot be used; the message names the thing, what it said and what would be right.

    Whoever raises it may have put a server's words in: whatever these are, it is of bounded length and steers
    no terminal.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_bounded(message))


class Unreachable(ServerError):  # noqa: N818 - reads as the state it names
    """Nothing answers, or not in time.

    Attributes:
        message: what was found.
        fix: what would be right; empty where that is not known.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        self.message, self.fix = _bounded(message), _bounded(fix)
        super().__init__(f"{self.message}; {self.fix}" if fix else self.message)


class Unsupported(ServerError):  # noqa: N818 - reads as the state it names
    """A server that answers but that this version does not support."""


def _bounded(words: str) -> str:
    """Return a message with its lines, of which each is printable, as far as its largest size."""
    end = "…" if len(words) > MESSAGE_CHARACTERS else ""
    return "\n".join(map(printable, words[:MESSAGE_CHARACTERS].split("\n"))) + end


class Server(Protocol):
    """One server, one connection, bounded time for every call."""

    def facts(self) -> Facts:
        """Return what does not change while the server runs.

        Raises:
            Unreachable: nothing answers in time.
            Unsupported: the server is not one that can be sampled.
        """
        ...

    def read(self) -> Sample | Missed:
        """Return one reading; never raises."""
        ...

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs in order, read both values back; never raises.

        Args:
            steps: variable name and value, in the order that keeps the pair legal; or the low-water mark
                alone, which is read back as well.
            wanted: the pair that the steps end at, for the receipt.
        """
        ...

    def close(self) -> None:
        """Give the connection back; never raises, safe to call twice."""
        ...
