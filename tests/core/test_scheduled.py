"""What active windows of a schedule change, set-point and budgets, and who comes before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from api.views import status_of
from policies.setpoint import LOWEST
from tests.bench import Bench, FakeServer
from tests.core.loops import LATER, active, window
from tests.factory import ACTIVE, EPOCH, FACTS, OTHER_IDENTITY, codes, command
from tuner.cli.status import table
from tuner.core.commands.schedule import settings_of
from tuner.records import Capacity, Window, effects, winners
from tuner.settings import Mode, Settings

BUDGETS = ("max_recovery_seconds", "max_shutdown_seconds")


def status(bench: Bench) -> str:
    """Return what innobrim status prints."""
    wall, settings = bench.record.tick.wall, bench.state.settings
    return table(status_of(bench.record, facts=FACTS, settings=settings, wall=wall, process=None))


def in_force(bench: Bench, *windows: Window) -> tuple[float, str]:
    """Return the set-point and where it comes from, a few seconds after these windows are active."""
    bench.turn(active(*windows))
    bench.turns(3)
    return bench.set_point, bench.source


def test_a_windows_set_point_is_held_while_it_is_active(bench: Bench) -> None:
    """The set-point is the window's from its beginning to its end; both are said."""
    before = bench.set_point, bench.source
    inside = in_force(bench, window(set_point=0.5))
    assert bench.record.schedule == (window(set_point=0.5),)
    bench.server.identity, mine = OTHER_IDENTITY, bench.server.identity
    assert bench.turn().schedule == (window(set_point=0.5),), "the operator's word, whichever server answers"
    bench.server.identity = mine
    bench.turn()

    assert inside == (0.5, "schedule nightly")
    assert bench.said("schedule_begins")[0].endswith(": set_point = 0.5")
    assert in_force(bench) == before
    assert bench.said("schedule_ends") == ["schedule nightly ends: set_point = 0.5"]
    assert bench.record.schedule == ()


def test_persons_roles_and_overrides_come_before_a_window(bench: Bench) -> None:
    """A person's set-point or M, and a replica's limit, hold inside a window as anywhere; status says so."""
    theirs = Bench(replace(ACTIVE, set_point=0.7)).in_control()
    assert in_force(theirs, window(set_point=0.5)) == (0.7, "person")
    assert "nightly: set_point = 0.5; set_point as person has it" in status(theirs)

    bench.turn(active(window(set_point=0.9)))
    bench.turn(command("override", value=1_000, ttl=60.0))
    assert bench.turns(20).decision.reason == "override"
    assert bench.m == 1_000
    bench.server.shows = {"replica": True}
    bench.turns(3)
    assert (bench.set_point, bench.source) == (ACTIVE.max_replica_set_point, "role")


def test_a_windows_set_point_comes_before_the_configured_budgets(bench: Bench) -> None:
    """It stands where a budget of the configuration would want less, and that is said as for a person's."""
    bench.state = replace(bench.state, settings=replace(ACTIVE, max_recovery_seconds=2.1))
    found = in_force(bench, window(set_point=0.6))
    bench.turns(20)

    assert found == (0.6, "schedule nightly")
    (said,) = bench.said("budget_overruled")
    assert said.startswith("set_point = 0.6 of schedule nightly stands and max_recovery_seconds is not kept")


def test_a_windows_budget_stands_in_for_the_configured_one() -> None:
    """While it is active its budget bounds any window's set-point too; then the old one does again."""
    bench = Bench(replace(ACTIVE, max_recovery_seconds=300.0), FakeServer(Capacity(5_000, 10_000)))
    free = bench.in_control().set_point
    ratio, source = in_force(bench, window(max_recovery_seconds=20.0))
    assert source == "schedule nightly: recovery"
    assert LOWEST <= ratio < free
    assert "budget 20 s" in status(bench)
    ratio, other = in_force(bench, window("high", set_point=0.9), window(max_recovery_seconds=20.0))
    assert other == source
    assert ratio < 0.9

    assert in_force(bench)[1] != source
    assert "budget 300 s" in status(bench)


@given(
    st.lists(
        st.builds(
            Window,
            name=st.sampled_from("abcde"),
            began=st.just(EPOCH),
            ends=st.just(LATER),
            set_point=st.none() | st.floats(0.21, 1.0),
            drain=st.booleans(),
            max_recovery_seconds=st.none() | st.floats(1.0, 86_400.0),
            max_shutdown_seconds=st.none() | st.floats(1.0, 86_400.0),
        ),
        max_size=4,
    )
)
def test_of_windows_that_overlap_the_most_careful_counts(several: list[Window]) -> None:
    """Effect by effect nobody asks for a lower set-point or a smaller budget than what is in force."""
    found, chosen = winners(several), settings_of(Settings(), tuple(several))
    for effect in ("set_point", *BUDGETS):
        asked = [value for one in several if (value := getattr(one, effect)) is not None]
        assert (effect in found) == bool(asked)
        assert not asked or getattr(found[effect], effect) == min(asked)
        assert effect not in BUDGETS or getattr(chosen, effect) == min(asked, default=None)
    assert all(effect in effects(one) for effect, one in found.items())


def test_an_overlap_is_shown(bench: Bench) -> None:
    """The event and the status say which of two windows an effect is taken from."""
    in_force(bench, window("night", set_point=0.5))
    in_force(bench, window("night", set_point=0.5), window("late", set_point=0.6))

    assert bench.said("schedule_begins")[1].endswith("set_point counts as schedule night has it")
    assert "late: set_point = 0.6; set_point as schedule night has it; until " in status(bench)


def test_a_window_that_goes_on_is_not_said_again(bench: Bench) -> None:
    """A new beginning of the same schedule moves the end alone; other effects are another window."""
    bench.turn(active(window(set_point=0.5, ends=EPOCH + 600.0)))
    longer = bench.turn(active(window(set_point=0.5, ends=EPOCH + 1_200.0)))
    other = bench.turn(active(window(set_point=0.6, ends=EPOCH + 1_200.0)))

    assert longer.events == ()
    assert longer.schedule[0].ends == EPOCH + 1_200.0
    assert {"schedule_ends", "schedule_begins"} <= set(codes(other))


@pytest.mark.parametrize("effect", [{"set_point": 0.4}, {"drain": True}], ids=str)
def test_advisory_mode_shows_a_window_and_writes_nothing(effect: dict[str, float]) -> None:
    """The set-point is the window's, what would be set follows from it, and no statement is sent."""
    bench = Bench(Settings(mode=Mode.ADVISORY))
    bench.turns(60)
    found = in_force(bench, window(**effect))
    bench.turns(60)

    assert "drain" in effect or found == (0.4, "schedule nightly")
    assert bench.server.applied == []
