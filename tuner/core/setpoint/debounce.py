"""A condition that begins and ends only once it has lasted."""

from __future__ import annotations

from msgspec import Struct


class Debounced(Struct, frozen=True):
    """Whether something lasts."""

    on: bool = False  # it does
    # since when the opposite has been seen without a break, seconds; None while it is not
    turning: float | None = None

    def see(self, *, begins: bool, ends: bool, now: float, seconds: float) -> Debounced:
        """Return the condition after one look.

        Args:
            begins: what has to be seen for ``seconds`` before it is on.
            ends: what has to be seen for ``seconds`` before it is over.
        """
        if not (ends if self.on else begins):
            return self if self.turning is None else Debounced(on=self.on)
        since = now if self.turning is None else self.turning
        return Debounced(on=not self.on) if now - since >= seconds else Debounced(on=self.on, turning=since)
