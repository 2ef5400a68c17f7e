"""What the outer loop's trials came to, and what won: the part of it that lasts."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import allowed, plausible
from policies.types import LoadContext, Suggestion, Trial

REMEMBERED = 48
WINS = 8
"""Trials and won suggestions that are kept, of one server."""

ASIDE = 3
"""Other versions and flush laws of which as much is kept: an upgrade and the way back, each with two laws."""


class Win(Struct, frozen=True):
    """A suggestion that beat the analytic set-point: under which load, by how much, when last (Unix time)."""

    suggestion: Suggestion
    context: LoadContext
    gain: float
    low: float
    high: float
    checked: float

    @property
    def valid(self) -> bool:
        """Tell whether it may be believed in: it is made of numbers, under a load that can be."""
        numbers = (self.gain, self.low, self.high, self.checked)
        return all(map(math.isfinite, numbers)) and allowed(self.suggestion) and plausible(self.context)


class Aside(Struct, frozen=True):
    """The same of what the server was before, until it is that again."""

    server: str = ""
    log: tuple[Trial, ...] = ()
    wins: tuple[Win, ...] = ()

    def __str__(self) -> str:
        trials = f"{len(self.log)} trial{'' if len(self.log) == 1 else 's'}"
        wins = f"{len(self.wins)} won suggestion{'' if len(self.wins) == 1 else 's'}"
        return f"{trials} and {wins} of {self.server}"


class Evidence(Struct, frozen=True):
    """What lasts: of which server, what trials came to, what won, and what is set aside, the newest last."""

    server: str = ""
    log: tuple[Trial, ...] = ()
    wins: tuple[Win, ...] = ()
    aside: tuple[Aside, ...] = ()

    def with_trial(self, trial: Trial) -> Evidence:
        """Return it with a trial more."""
        return replace(self, log=(*self.log, trial)[-REMEMBERED:])

    def with_win(self, win: Win, *, others: tuple[Win, ...]) -> Evidence:
        """Return it with a win more, and of the others only these."""
        return replace(self, wins=(*others, win)[-WINS:])

    def without(self, suggestion: Suggestion) -> Evidence:
        """Return it as if a suggestion had never won."""
        return replace(self, wins=tuple(one for one in self.wins if one.suggestion != suggestion))

    def for_server(self, server: str) -> Evidence:
        """Return it for what the server is now; what it was before is set aside, and found again.

        Args:
            server: version and flush law; evidence of another one says nothing about it.
        """
        if server == self.server:
            return self
        again = next((one for one in self.aside if one.server == server), Aside(server))
        aside = tuple(one for one in self.aside if one.server not in {server, self.server})
        if self.server and (self.log or self.wins):
            aside = (*aside, Aside(self.server, self.log, self.wins))
        return Evidence(server, again.log, again.wins, aside[-ASIDE:])


def describe_switch(before: Evidence, after: Evidence) -> str:
    """Return what ``for_server`` set aside and found again, in words; empty where it did neither."""
    words = []
    if before.server != after.server and before.server and (before.log or before.wins):
        kept = Aside(before.server, before.log, before.wins)
        words.append(f"{kept} are set aside until it is that again")
    if before.server != after.server and (after.log or after.wins):
        words.append(f"{Aside(after.server, after.log, after.wins)} are known again")
    return "; ".join(words)


def describe(suggestion: Suggestion) -> str:
    """Return a suggestion in words."""
    return (
        f"set-point {suggestion.offset:+.3f}, margin × {suggestion.margin_share:.2f}, "
        f"hold gain × {suggestion.hold_gain:.2f}"
    )
