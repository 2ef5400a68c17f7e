"""What active windows of a schedule change, set-point and budgets, and who comes before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from api.views import status_of
from policies.setpoint import LOWEST
from tests.bench import Bench, FakeServer
from tests.core.windows import LATER, active, window
from tests.factory import ACTIVE, EPOCH, FACTS, codes, command
from tuner.cli.status import table
from tuner.core.scheduled import settings_of
from tuner.records import Capacity, TickRecord, Window, effects, winners
from tuner.settings import Mode, Settings


def in_force(record: TickRecord) -> tuple[float | None, str]:
    """Return the set-point in force, and where it comes from."""
    return record.decision.set_point, record.decision.set_point_source


def messages(record: TickRecord, code: str) -> list[str]:
    """Return what the events with this code say."""
    return [event.message for event in record.events if event.code == code]


def status(bench: Bench) -> str:
    """Return what innobrim status prints."""
    return table(
        status_of(
            bench.record,
            facts=FACTS,
            settings=bench.state.settings,
            wall=bench.record.tick.wall,
            process=None,
        )
    )


def test_a_windows_set_point_is_held_while_it_is_active(bench: Bench) -> None:
    """The set-point is the window's from its beginning to its end, and status says whose."""
    before = in_force(bench.record)
    begun = bench.turn(active(window(set_point=0.5)))
    inside = bench.turns(5)
    over = bench.turn(active())

    assert in_force(begun) == in_force(inside) == (0.5, "schedule nightly")
    assert messages(begun, "schedule_begins")[0].endswith(": set_point = 0.5")
    assert messages(over, "schedule_ends") == ["schedule nightly ends: set_point = 0.5"]
    assert in_force(over) == before
    assert inside.schedule == (window(set_point=0.5),)
    assert over.schedule == ()


def test_a_persons_set_point_comes_before_a_windows() -> None:
    """With a set-point of a person's own the window's does not count, and status says so."""
    bench = Bench(replace(ACTIVE, set_point=0.7)).in_control()
    record = bench.turn(active(window(set_point=0.5)))

    assert in_force(record) == (0.7, "person")
    assert "nightly: set_point = 0.5; set_point as person has it" in status(bench)


def test_a_windows_set_point_comes_before_the_configured_budgets(bench: Bench) -> None:
    """It stands where a budget of the configuration would want less, and that is said as for a person's."""
    bench.state = replace(bench.state, settings=replace(ACTIVE, max_recovery_seconds=2.1))
    bench.turn(active(window(set_point=0.6)))
    records = [bench.turn() for _ in range(20)]

    assert in_force(bench.record) == (0.6, "schedule nightly")
    (said,) = [one for record in records for one in messages(record, "budget_overruled")]
    assert said.startswith("set_point = 0.6 of schedule nightly stands and max_recovery_seconds is not kept")


def test_a_windows_budget_stands_in_for_the_configured_one() -> None:
    """While it is active its budget bounds the set-point; then the old one does again."""
    bench = Bench(replace(ACTIVE, max_recovery_seconds=300.0), FakeServer(Capacity(5_000, 10_000)))
    bench.in_control()
    free = in_force(bench.record)[0]
    assert free is not None
    bench.turn(active(window(max_recovery_seconds=20.0)))
    bench.turns(3)
    ratio, source = in_force(bench.record)

    assert source == "schedule nightly: recovery"
    assert ratio is not None
    assert LOWEST <= ratio < free
    assert "budget 20 s" in status(bench)
    bench.turn(active())
    assert in_force(bench.turns(3))[1] != source
    assert "budget 300 s" in status(bench)


def test_a_windows_own_budget_bounds_a_windows_set_point() -> None:
    """Both are the schedule's: the more careful of the two counts, whichever window it is from."""
    bench = Bench(ACTIVE, FakeServer(Capacity(5_000, 10_000))).in_control()
    bench.turn(active(window("high", set_point=0.9), window("night", max_recovery_seconds=20.0)))
    bench.turns(3)
    ratio, source = in_force(bench.record)

    assert source == "schedule night: recovery"
    assert ratio is not None
    assert ratio < 0.9


def test_role_and_guards_come_after_the_schedule(bench: Bench) -> None:
    """A replica's limit holds for a window as for anybody else."""
    bench.server.shows = {"replica": True}
    bench.turn(active(window(set_point=0.9)))
    bench.turns(3)

    assert in_force(bench.record) == (ACTIVE.max_replica_set_point, "role")


@pytest.mark.parametrize(
    ("effect", "first", "second"),
    [
        ("set_point", 0.5, 0.6),
        ("max_recovery_seconds", 60.0, 90.0),
        ("max_shutdown_seconds", 60.0, 90.0),
    ],
)
def test_of_windows_that_overlap_the_most_careful_counts(effect: str, first: float, second: float) -> None:
    """Effect by effect, wherever it stands in the file, until it ends."""
    careful, other = window("careful", **{effect: first}), window("other", **{effect: second})

    assert winners((careful, other))[effect] is careful
    assert winners((other, careful))[effect] is careful
    assert winners((other,))[effect] is other


windows = st.lists(
    st.builds(
        Window,
        name=st.sampled_from("abcde"),
        began=st.just(EPOCH),
        ends=st.just(LATER),
        set_point=st.one_of(st.none(), st.floats(0.21, 1.0)),
        drain=st.booleans(),
        max_recovery_seconds=st.one_of(st.none(), st.floats(1.0, 86_400.0)),
        max_shutdown_seconds=st.one_of(st.none(), st.floats(1.0, 86_400.0)),
    ),
    max_size=4,
)


@given(windows)
def test_no_window_is_less_careful_than_what_counts(several: list[Window]) -> None:
    """Of all that overlap, nobody asks for a lower set-point or a smaller budget than what is in force."""
    found, chosen = winners(several), settings_of(Settings(), tuple(several))
    for effect in ("set_point", "max_recovery_seconds", "max_shutdown_seconds"):
        asked = [getattr(one, effect) for one in several if getattr(one, effect) is not None]
        assert (effect in found) == bool(asked)
        if asked:
            assert getattr(found[effect], effect) == min(asked)
    for name in ("max_recovery_seconds", "max_shutdown_seconds"):
        asked = [getattr(one, name) for one in several if getattr(one, name) is not None]
        assert getattr(chosen, name) == min(asked, default=None)
    assert all(effect in effects(one) for effect, one in found.items())


def test_an_overlap_is_shown(bench: Bench) -> None:
    """The event and the status say which of two windows an effect is taken from."""
    bench.turn(active(window("night", set_point=0.5)))
    record = bench.turn(active(window("night", set_point=0.5), window("late", set_point=0.6)))

    (said,) = messages(record, "schedule_begins")
    assert said.endswith("set_point = 0.6; set_point counts as schedule night has it")
    assert "late: set_point = 0.6; set_point as schedule night has it; until " in status(bench)


def test_a_window_that_goes_on_is_not_said_again(bench: Bench) -> None:
    """A new beginning of the same schedule moves the end alone; other effects are another window."""
    bench.turn(active(window(set_point=0.5, ends=EPOCH + 600.0)))
    longer = bench.turn(active(window(set_point=0.5, ends=EPOCH + 1_200.0)))
    other = bench.turn(active(window(set_point=0.6, ends=EPOCH + 1_200.0)))

    assert longer.events == ()
    assert longer.schedule[0].ends == EPOCH + 1_200.0
    assert {"schedule_ends", "schedule_begins"} <= set(codes(other))


def test_advisory_mode_shows_a_window_and_writes_nothing() -> None:
    """The set-point is the window's, what would be set follows from it, and no statement is sent."""
    bench = Bench(Settings(mode=Mode.ADVISORY))
    bench.turns(60)
    bench.turn(active(window(set_point=0.4)))
    bench.turns(60)

    assert in_force(bench.record) == (0.4, "schedule nightly")
    assert bench.server.applied == []


def test_another_server_keeps_the_schedule(bench: Bench) -> None:
    """The windows are the operator's word, whichever server answers."""
    bench.turn(active(window(set_point=0.5)))
    bench.server.identity = "99999999-8888-7777-6666-555555555555"
    bench.turns(15)

    assert [one.name for one in bench.record.schedule] == ["nightly"]


def test_an_override_comes_before_a_window(bench: Bench) -> None:
    """A person's M is held inside a window until its time is over."""
    bench.turn(active(window(set_point=0.3)))
    bench.turn(command("override", value=1_000, ttl=60.0))
    bench.turns(20)

    assert bench.record.decision.reason == "override"
    assert bench.server.capacity.io_capacity_max == 1_000
