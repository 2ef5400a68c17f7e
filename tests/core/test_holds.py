"""Reasons not to write, each from what the reading shows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.factory import ACTIVE, FACTS, sample
from tuner.core.gate import GateState
from tuner.core.holds import current_holds, inert
from tuner.core.state import Latches, State
from tuner.core.step import start
from tuner.records import Hold, HoldCode, Remedy

READY = replace(start(ACTIVE, FACTS), gate=GateState(verified=True), last_good=1000.0)
LATCHED = Hold(code=HoldCode.PAUSED, since=900.0, reason="paused by ann")


def codes(state: State, reading: Any, now: float = 1000.0) -> list[str]:  # noqa: ANN401 - a reading or None
    """Return the codes of the holds in force."""
    return [hold.code.value for hold in current_holds(state, reading, now=now)]


def test_nothing_holds_a_healthy_server() -> None:
    """With a good reading and a verified law there is no hold."""
    assert codes(READY, sample()) == []


@pytest.mark.parametrize(
    ("change", "code", "said", "ends"),
    [
        ({"resizing": True}, "resizing", "redo capacity change", Remedy.RESIZE_DONE),
        ({"writer": False}, "not_writer", "another InnoBrim", Remedy.OTHER_DAEMON_GONE),
        (
            {"redo_enabled": False},
            "inert",
            "redo logging is disabled",
            Remedy.ENABLE_REDO_LOG,
        ),
        (
            {"adaptive_flushing": False},
            "inert",
            "innodb_adaptive_flushing is OFF",
            Remedy.ADAPTIVE_FLUSHING,
        ),
    ],
)
def test_what_a_reading_shows(change: dict[str, Any], code: str, said: str, ends: Remedy) -> None:
    """Each of these readings holds the loop, with the reason in words and what clears it."""
    (hold,) = current_holds(READY, sample(**change), now=1000.0)

    assert hold.code.value == code
    assert said in hold.reason
    assert hold.remedies == (ends,)


def test_stale_after_too_long_without_a_good_reading() -> None:
    """A missed reading alone is no hold, silence for longer than stale_seconds is; the cause is said."""
    state = replace(READY, missed="did not answer within 1 s")

    assert codes(state, None, 1004.9) == []
    (hold,) = current_holds(state, None, now=1006.0)
    assert hold.code is HoldCode.STALE
    assert "6 s ago" in hold.reason
    assert "did not answer within 1 s" in hold.reason
    assert codes(replace(READY, last_good=None), None) == ["stale"]


def test_a_hold_keeps_its_beginning() -> None:
    """Since when it lasts is the tick that entered it, however often it is worked out again."""
    first = current_holds(READY, sample(resizing=True), now=1000.0)
    second = current_holds(replace(READY, holds=first), sample(1.0, resizing=True), now=1001.0)

    assert [hold.since for hold in second] == [1000.0]


def test_what_the_server_showed_last_outlasts_a_missed_reading() -> None:
    """A resize is not over because one reading failed."""
    held = replace(READY, holds=current_holds(READY, sample(resizing=True), now=1000.0))

    assert codes(held, None, 1001.0) == ["resizing"]


def test_latched_holds_stay() -> None:
    """What waits for a person is in force at every tick, whatever the reading."""
    state = replace(READY, latches=Latches(paused=LATCHED))

    assert codes(state, sample()) == ["paused"]
    assert codes(state, None) == ["paused"]


def test_an_unverified_law_holds_with_its_progress() -> None:
    """Before the gate is passed the hold says how many readings it has."""
    (hold,) = current_holds(replace(READY, gate=GateState(telling=2)), sample(), now=1000.0)

    assert hold.code is HoldCode.MODEL_MISMATCH
    assert "2 of 3 readings" in hold.reason


def test_a_mismatch_holds_with_what_was_predicted() -> None:
    """A law that does not fit is named by what it predicted."""
    gate = GateState(verified=True, mismatched=True, expected=(110, 130))
    (hold,) = current_holds(replace(READY, gate=gate), sample(), now=1000.0)

    assert "110 to 130" in hold.reason


def test_a_blocker_of_the_server_holds_for_good() -> None:
    """What makes a server uncontrollable is said in its own words."""
    blocked = replace(READY, facts=replace(FACTS, blockers=("innodb_read_only is ON", "odd limits")))

    assert inert(blocked, sample()) == ("innodb_read_only is ON; odd limits", (Remedy.SERVER_ITSELF,))
