"""How far a simulation is, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Progress(Struct, frozen=True):
    """How far one stage of a simulation is.

    Attributes:
        stage: what goes on.
        share: of the stage, 0 to 1.
        detail: further words; empty where there is nothing more to say.
        at_least: the share may be larger, because the stage may turn out shorter.
    """

    stage: str
    share: float
    detail: str = ""
    at_least: bool = False


OnProgress = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Hear of progress and say nothing."""
