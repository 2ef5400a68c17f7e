"""The judge of a soak: a sound run passes, and each way to break an invariant is named by its number."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, C_NAME, FACTS, M_NAME, SAVED, command, missed
from tests.soak.judge import judge
from tuner.core.ownership.foreign import COOLDOWN_SECONDS
from tuner.core.snapshot import encode_state
from tuner.core.step import start
from tuner.journal.tables import Run
from tuner.records import Capacity, DecisionKind, Hold, HoldCode, Sample, TickRecord
from tuner.settings import Mode, Settings


def run(settings: Settings = ACTIVE) -> Run:
    return Run(
        number=1,
        wall=0.0,
        tick=0,
        program="0",
        fingerprint="",
        settings=settings,
        facts=FACTS,
        state=encode_state(start(settings, FACTS)),
    )


@pytest.fixture(scope="module")
def sound() -> list[TickRecord]:
    """Return a run that takes control, is paused and resumed, yields to somebody else, and stops."""
    bench = Bench(replace(ACTIVE, baseline="1000/2000"))
    bench.in_control()
    bench.turns(20)
    bench.turn(command("pause"))
    bench.turns(5)
    bench.turn(command("resume"))
    bench.turns(20)
    bench.server.capacity = Capacity(1000, 2000)
    bench.turns(round(COOLDOWN_SECONDS) + 35)
    bench.server.down = "did not answer within 1 s"
    bench.turns(8)
    bench.server.down = ""
    bench.turns(20)
    bench.turn(command("stop"))
    bench.turns(2)
    return bench.records


def numbers(records: list[TickRecord], settings: Settings = ACTIVE) -> set[int]:
    return {breach.invariant for breach in judge([run(settings), *records])}


def first_set(records: list[TickRecord]) -> int:
    return next(at for at, one in enumerate(records) if one.decision.kind is DecisionKind.SET)


def test_a_sound_run_has_no_breach(sound: list[TickRecord]) -> None:
    """Whatever the loop does by its rules is not called a breach."""
    kinds = {one.decision.kind for one in sound}
    assert {DecisionKind.SET, DecisionKind.PARK} <= kinds
    assert {"foreign_change", "baseline"} <= {event.code for one in sound for event in one.events}
    assert judge([run(), *sound]) == []


def test_a_run_cut_by_a_crash_has_no_breach(sound: list[TickRecord]) -> None:
    """Ticks that were lost on the way to the disk are no breach of their own."""
    for lost in range(5, len(sound) - 10, 7):
        assert judge([run(), *sound[:lost], *sound[lost + 6 :]]) == []


def retarget(one: TickRecord, *, c: int, m: int) -> TickRecord:
    decision = replace(one.decision, target=Capacity(c, m), steps=((C_NAME, c), (M_NAME, m)))
    return replace(one, decision=decision)


def held(one: TickRecord, code: HoldCode) -> TickRecord:
    return replace(one, holds=(Hold(code=code, since=0.0, reason="because"),))


def sample(one: TickRecord) -> Sample:
    assert isinstance(one.tick.reading, Sample)
    return one.tick.reading


@pytest.mark.parametrize(
    ("invariant", "spoil"),
    [
        (1, lambda one: retarget(one, c=50, m=100)),
        (2, lambda one: retarget(one, c=5001, m=10_000)),
        (3, lambda one: retarget(one, c=200, m=400)),
        (4, lambda one: replace(one, mode=Mode.ADVISORY)),
        (4, lambda one: held(one, HoldCode.PAUSED)),
        (5, lambda one: held(one, HoldCode.STALE)),
        (5, lambda one: replace(one, tick=replace(one.tick, reading=missed(5.0)))),
        (5, lambda one: replace(one, estimate=None)),
        (
            10,
            lambda one: replace(one, tick=replace(one.tick, reading=replace(sample(one), writer=False))),
        ),
        (11, lambda one: replace(one, decision=replace(one.decision, steps=(("innodb_flush_sync", 0),)))),
    ],
)
def test_a_spoilt_write_is_called(
    sound: list[TickRecord], invariant: int, spoil: Callable[[TickRecord], TickRecord]
) -> None:
    """One write changed against an invariant is reported under that invariant's number."""
    at = first_set(sound)
    assert invariant in numbers([*sound[:at], spoil(sound[at])])


def test_a_write_before_the_originals_are_saved_is_called(sound: list[TickRecord]) -> None:
    """A first write without originals on disk breaks invariant 7."""
    silent = [
        replace(one, tick=replace(one.tick, commands=()), acknowledgements=())
        if SAVED.name in {asked.name for asked in one.tick.commands}
        else one
        for one in sound
    ]
    assert 7 in numbers(silent)


def test_a_change_that_nobody_yields_to_is_called(sound: list[TickRecord]) -> None:
    """Somebody else's values that raise no hold break invariant 6."""
    at = next(i for i, one in enumerate(sound) if "foreign_change" in {event.code for event in one.events})
    blind = replace(sound[at], holds=(), events=())
    assert 6 in numbers([*sound[:at], blind])


def test_a_hold_that_is_forgotten_is_called(sound: list[TickRecord]) -> None:
    """A foreign change that is over without a baseline or a person breaks invariant 6."""
    at = next(i for i, one in enumerate(sound) if "baseline" in {event.code for event in one.events})
    assert 6 in numbers([*sound[:at], replace(sound[at], events=())])


def test_two_writes_within_the_dwell_are_called(sound: list[TickRecord]) -> None:
    """The same write a second later breaks invariant 3."""
    at = first_set(sound)
    again = replace(
        sound[at], tick=replace(sound[at].tick, number=sound[at].tick.number + 1, now=sound[at].tick.now + 1)
    )
    assert 3 in numbers([*sound[: at + 1], again])


def test_an_hourly_budget_is_counted(sound: list[TickRecord]) -> None:
    """One write more than the settings allow breaks invariant 3."""
    sets = [one for one in sound if one.decision.kind is DecisionKind.SET]
    assert len(sets) > 1
    assert 3 in numbers(sound, replace(ACTIVE, max_changes_per_hour=1))


def test_a_park_that_nothing_asks_for_is_called(sound: list[TickRecord]) -> None:
    """A second park under one hold, and one under a foreign change, break invariant 4."""
    at = next(i for i, one in enumerate(sound) if one.decision.kind is DecisionKind.PARK)
    park = sound[at]
    again = replace(
        park, tick=replace(park.tick, number=park.tick.number + 1, commands=()), acknowledgements=()
    )
    assert 4 in numbers([*sound[: at + 1], again])
    assert 4 in numbers([*sound[:at], held(park, HoldCode.FOREIGN_CHANGE)])
