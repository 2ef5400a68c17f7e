"""What the outer loop's trials came to, and what won: the part of it that lasts."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import allowed, plausible
from policies.types import Context, Suggestion, Trial

REMEMBERED = 48
WINS = 8
"""Trials and won suggestions that are kept."""


class Win(Struct, frozen=True):
    """A suggestion that beat the analytic set-point: under which load, by how much, when last (Unix time)."""

    suggestion: Suggestion
    context: Context
    gain: float
    low: float
    high: float
    checked: float


class Evidence(Struct, frozen=True):
    """What lasts: of which server, what trials came to, and what won."""

    server: str = ""
    log: tuple[Trial, ...] = ()
    wins: tuple[Win, ...] = ()

    def told(self, trial: Trial) -> Evidence:
        """Return it with a trial more."""
        return replace(self, log=(*self.log, trial)[-REMEMBERED:])

    def won(self, win: Win, *, beside: tuple[Win, ...]) -> Evidence:
        """Return it with a win more, and of the others only these."""
        return replace(self, wins=(*beside, win)[-WINS:])

    def without(self, suggestion: Suggestion) -> Evidence:
        """Return it as if a suggestion had never won."""
        return replace(self, wins=tuple(one for one in self.wins if one.suggestion != suggestion))


def said(suggestion: Suggestion) -> str:
    """Return a suggestion in words."""
    return (
        f"set-point {suggestion.offset:+.3f}, margin × {suggestion.margin_share:.2f}, "
        f"hold gain × {suggestion.hold_gain:.2f}"
    )


def sound(win: Win) -> bool:
    """Tell whether a win may be believed in: it is made of numbers, under a load that can be."""
    numbers = (win.gain, win.low, win.high, win.checked)
    return all(map(math.isfinite, numbers)) and allowed(win.suggestion) and plausible(win.context)
