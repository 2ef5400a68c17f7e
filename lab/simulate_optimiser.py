"""What the optimiser did in a simulated run, from the records that the loop gives anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tuner.records import InUse, OptimiserPhase

if TYPE_CHECKING:
    from tuner.records import OptimiserProgress, TickRecord

WON = "; won"
"""How the event of a trial ends whose suggestion is the better one."""


class Optimised(Struct, frozen=True):
    """What came of the trials of a run.

    Attributes:
        questions: suggestions asked for.
        begun: trials; each was won, not used or abandoned, or is under way.
        won: trials that showed something better, and those in which it did so again.
        not_used: trials that did not.
        abandoned: trials that something else ended, unsafe ones among them.
        unsafe: suggestions under which a guard fired, in a trial or in use.
        under_way: trials at the end.
        in_use: the suggestion at the end, and what it won; None for the analytic set-point.
    """

    questions: int = 0
    begun: int = 0
    won: int = 0
    not_used: int = 0
    abandoned: int = 0
    unsafe: int = 0
    under_way: int = 0
    in_use: InUse | None = None


class Trials:
    """Counts a run's trials, tick by tick."""

    def __init__(self) -> None:
        """Begin before the first tick."""
        self._counted = dict.fromkeys(("questions", "begun", "won", "not_used", "unsafe"), 0)
        self._number = 0
        self._last: OptimiserProgress | None = None

    def add(self, record: TickRecord) -> None:
        """Take one tick in."""
        codes = [(event.code, event.message) for event in record.events]
        begun = sum(code == "trial_begun" for code, _ in codes)
        now = record.optimiser
        if now is not None:
            self._count("questions", now.phase is OptimiserPhase.ASKING)
            # what is in use is tried again without an event
            if now.phase is OptimiserPhase.TRIAL and now.number != self._number:
                self._number, begun = now.number, max(begun, 1)
        self._count("begun", begun)
        for code, message in codes:
            self._count("won", code == "trial_ended" and message.endswith(WON))
            self._count("not_used", code == "trial_ended" and not message.endswith(WON))
            self._count("unsafe", code == "suggestion_unsafe")
        self._last = now

    def _count(self, name: str, more: int) -> None:
        self._counted[name] += more

    def found(self) -> Optimised | None:
        """Return what came of them so far; None where the policy has no optimiser."""
        last = self._last
        if last is None:
            return None
        counted, under_way = self._counted, int(last.phase is OptimiserPhase.TRIAL)
        return Optimised(
            **counted,
            abandoned=counted["begun"] - counted["won"] - counted["not_used"] - under_way,
            under_way=under_way,
            in_use=last.in_use,
        )
