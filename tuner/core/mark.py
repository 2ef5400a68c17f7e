"""MariaDB's low-water mark of dirty pages: whose is in force, what is owed, and who else changed it.

Only two marks are ever tried against each other: 0, with which the age does not count below the flush limit,
and 0.001, with which it counts at all times. The operator's own is noted before anything is tried, and comes
back whenever the loop is not free to choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from policies.types import Context
from tuner.core.context import Averages
from tuner.core.markpace import Pace
from tuner.core.switchback import Running
from tuner.records import LOW_WATER_MARK, LOWEST_ABOVE_ZERO, Event, Hold, HoldCode, Lifecycle, Sample, percent
from tuner.settings import LOW_WATER_POLICY, Mode

if TYPE_CHECKING:
    from tuner.core.state import State
    from tuner.records import Receipt

RETRY_SECONDS, LONGEST_RETRY = 60.0, 3600.0
"""A mark that could not be put back is tried again so long after; doubled with each failure."""

LEAVING_SECONDS = 60.0
"""After leaving active mode the mark may be put back for so long; later nobody expects a write."""

SETTLES_SECONDS = 180.0
"""So long after a mark of ours went into force its flush law may be not verified yet."""

ARRIVES_AT = 0.75
"""Age ratio that is aimed at first after such a change: pages that 0 left dirty in spurts leave in spurts."""

PARKS = frozenset({HoldCode.INERT, HoldCode.RESIZING})
"""Holds that park, and under which the operator's mark is in force; an unverified law is a trial's affair."""

VALUES = frozenset({0, LOWEST_ABOVE_ZERO})
"""The marks that are tried, in millionths of a percent, and the only ones that a procedure sets."""


class MarkWin(Struct, frozen=True):
    """A mark that beat the operator's: under which load, by how much in ln, when last (Unix time)."""

    mark: int
    context: Context
    gain: float
    low: float
    high: float
    checked: float


class Mark(Struct, frozen=True):
    """The slice of state; marks in millionths of a percent, times monotonic seconds.

    Attributes:
        original: the operator's, while another may be in force by our doing; None otherwise.
        saved: that is durably on disk.
        own: the one in force where our last write made it; None otherwise.
        asked: that of a write whose outcome is not known yet.
        left: the original is an earlier run's: the next reading shows whose mark is in force.
        changed: when one of ours went into force last.
        below: the checkpoint age was within what is allowed since then.
        leaving: until when it may be put back although the mode is advisory; None where it may not.
        failures: writes of it that failed in a row.
        retry_at: none is tried before.
        refused: why the server does not take it; empty where it does, or was not asked.
        foreign: the hold ``foreign_change`` is for this variable.
        running: the trial under way, in which the suggested blocks are those of the other mark.
        tried: the other mark, of that trial.
        pace: how evenly the load goes with each of the two.
        used: what won and is in force where no trial runs.
        wins: what won, by load.
        role: in which it did; another one's load is another one, whatever it looks like.
        number: of the last trial.
        averages: the load.
        context: the same as it is compared; None until it is known.
        at: time of the last tick.
        quiet_since: since when nothing bars a trial.
        rest_until: none is begun before.
        lost: trials lost in a row.
        why: what bars one.
    """

    original: int | None = None
    saved: bool = False
    own: int | None = None
    asked: int | None = None
    left: bool = False
    changed: float | None = None
    below: bool = False
    leaving: float | None = None
    failures: int = 0
    retry_at: float = 0.0
    refused: str = ""
    foreign: bool = False
    running: Running | None = None
    tried: int = 0
    pace: Pace = Pace()
    used: MarkWin | None = None
    wins: tuple[MarkWin, ...] = ()
    role: str = ""
    number: int = 0
    averages: Averages = Averages()
    context: Context | None = None
    at: float | None = None
    quiet_since: float | None = None
    rest_until: float = 0.0
    lost: int = 0
    why: str = ""

    @property
    def chosen(self) -> int | None:
        """Return the mark that a trial or what won wants in force; None where the operator's is."""
        if self.running is not None:
            return self.tried if self.running.suggested else None
        return None if self.used is None else self.used.mark


def consented(state: State) -> bool:
    """Tell whether the operator lets the loop try another mark."""
    return state.settings.policy == LOW_WATER_POLICY


def may_be_written(state: State) -> bool:
    """Tell whether the mark is on the list of what may be written: with consent, or to be put back."""
    return consented(state) or state.mark.original is not None


def wanted(state: State) -> int | None:
    """Return the mark that should be in force; None where nothing of ours can be.

    Whenever the loop is not free to choose, that is the operator's.
    """
    mark = state.mark
    free = (
        consented(state)
        and state.mode is Mode.ACTIVE
        and state.lifecycle is not Lifecycle.STOPPING
        and not state.restoring
        and state.latches.paused is None
        and state.park_owed is None
        and not {hold.code for hold in state.holds} & PARKS
    )
    return mark.chosen if free and mark.original is not None and mark.chosen is not None else mark.original


def owed(state: State) -> bool:
    """Tell whether a mark of ours is or may be in force, the operator's is due, and the server takes it."""
    mark = state.mark
    ours = any(one not in {None, mark.original} for one in (mark.own, mark.asked))
    refused = mark.failures > 0 and mark.asked is None
    return ours and wanted(state) == mark.original and not refused


def other(mark: int) -> int:
    """Return what is tried where this one is the operator's."""
    return 0 if mark > 0 else LOWEST_ABOVE_ZERO


def saved_name(identity: str, mark: int) -> str:
    """Return how ``low_water_saved`` names a mark: news of one server's must not pass for another's."""
    return f"{identity} {percent(mark)}"


def settles(state: State, *, now: float) -> bool:
    """Tell whether a mark of ours went into force lately, so that its flush law may be unverified."""
    changed = state.mark.changed
    return changed is not None and now - changed < SETTLES_SECONDS


def arrival(state: State, *, now: float) -> float | None:
    """Return the highest set-point while the age comes from where another mark left it; None afterwards.

    It stays for a third of what a block settles for, or of the time that the law is given to be verified, and
    rises evenly for the rest of it.
    """
    changed, running = state.mark.changed, state.mark.running
    if changed is None:
        return None
    lasts = SETTLES_SECONDS if running is None else running.settling_seconds * running.longer
    part = (now - changed) / max(1.0, lasts)
    return None if part >= 1.0 else ARRIVES_AT + (1.0 - ARRIVES_AT) * max(0.0, 1.5 * part - 0.5)


def take_receipt(state: State, receipt: Receipt, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """Note what became of a write of the mark."""
    mark, found = state.mark, receipt.low_water_mark
    failed = receipt.error or ("" if found in {None, receipt.low_water_asked} else _made(receipt))
    if not failed:
        known = found is not None
        mark = replace(mark, own=found, asked=None, failures=0, changed=now, below=False) if known else mark
        return replace(state, mark=mark), []
    failures = mark.failures + 1
    wait = min(LONGEST_RETRY, RETRY_SECONDS * 2.0 ** min(10, failures - 1))
    if found is not None:
        ours = receipt.done > 0 or mark.own == found
        mark = replace(mark, asked=None, own=found if ours else None, refused=failed)
    mark = replace(mark, failures=failures, retry_at=now + wait)
    said = f"{LOW_WATER_MARK} = {percent(receipt.low_water_asked or 0)} failed: {failed}"
    events = [Event(wall=wall, code="write_failed", message=said)] if failures == 1 else []
    return replace(state, mark=mark), events


def _made(receipt: Receipt) -> str:
    return f"the server made it {percent(receipt.low_water_mark or 0)}"


def compare(state: State, sample: Sample, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """See whether somebody else changed the mark while one of ours was, or could have been, in force."""
    mark, found = state.mark, sample.low_water_mark
    if mark.original is None:
        return state, []
    if found is None:
        return _given_up(state, "it decides nothing on this server now", wall=wall)
    if mark.left:
        return _whose(state, mark.original, found, wall=wall)
    if mark.asked is not None:
        ours = found in {mark.asked, mark.own, mark.original}
        mark = replace(mark, asked=None)
        if found == state.mark.asked:
            mark = replace(mark, own=found, changed=now, below=False, failures=0, retry_at=0.0)
        state = replace(state, mark=mark)
        return (state, []) if ours else _yielded(state, found, now=now, wall=wall)
    if mark.own is None and found != mark.original:
        return _given_up(state, f"somebody else made it {percent(found)}", wall=wall)
    same = found == (mark.original if mark.own is None else mark.own)
    return (state, []) if same else _yielded(state, found, now=now, wall=wall)


def _whose(state: State, original: int, found: int, *, wall: float) -> tuple[State, list[Event]]:
    """See by the first reading of a run whose mark is in force that an earlier one may have left."""
    state = replace(
        state, mark=replace(state.mark, left=False, own=found if found == other(original) else None)
    )
    if found in {original, other(original)}:
        return state, []
    return _given_up(state, f"it is {percent(found)}, which is not ours, and stays", wall=wall)


def _yielded(state: State, found: int, *, now: float, wall: float) -> tuple[State, list[Event]]:
    """Yield as where C or M was changed: the mark is now that of whoever changed it."""
    own = state.mark.own
    was = "as it was found" if own is None else percent(own)
    message = f"{LOW_WATER_MARK} was {was} and is {percent(found)}, and it was not us"
    state = replace(state, mark=forgotten(state.mark), park_owed=None, restoring="")
    if state.mode is Mode.ACTIVE and state.latches.foreign is None:
        hold = Hold(code=HoldCode.FOREIGN_CHANGE, since=now, reason=message, clears="innobrim resume")
        state = replace(
            state,
            latches=replace(state.latches, foreign=hold),
            override=None,
            mark=replace(state.mark, foreign=True),
        )
    return state, [Event(wall=wall, code="foreign_change", message=message, who="somebody else")]


def _given_up(state: State, why: str, *, wall: float) -> tuple[State, list[Event]]:
    """Forget an operator's mark that there is nothing to go back to any more."""
    mark = state.mark
    assert mark.original is not None  # noqa: S101 - the caller has looked
    message = f"{LOW_WATER_MARK} was {percent(mark.original)} before us: {why}"
    return replace(state, mark=forgotten(mark)), [Event(wall=wall, code="low_water_left", message=message)]


def recalled(original: int | None) -> Mark:
    """Return the slice at a start; an earlier run may not have put this mark of the operator's back."""
    return Mark() if original is None else Mark(original=original, saved=True, left=True)


def forgotten(mark: Mark) -> Mark:
    """Return the slice without a trial, and with nothing of ours in force."""
    return Mark(
        refused=mark.refused,
        number=mark.number,
        rest_until=mark.rest_until,
        lost=mark.lost,
        foreign=mark.foreign,
    )
