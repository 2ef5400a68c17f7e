"""The low-water mark: set with the option alone, and the operator's comes back at the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer, replays
from tests.core.low_water import MARK_SAVED, OFF, ON, OURS, beside, in_force, marks
from tests.factory import DEFAULT, SAVED, A, command, held
from tuner.core.leaving.lowwater import LEAVING_SECONDS, may_be_written
from tuner.core.ownership.standing import standing_of, take_up
from tuner.core.setpoint.choose import headroom_of
from tuner.core.state import decode_state, encode_state
from tuner.records import (
    LOW_WATER_MARK,
    SET_LOW_WATER,
    Bounds,
    Capacity,
    Command,
    DecisionKind,
    LowWaterMark,
)
from tuner.settings import Mode, Settings


def shown(bench: Bench) -> LowWaterMark:
    """Return what a watcher sees of it."""
    found = bench.record.low_water
    assert found is not None
    return found


def owed(bench: Bench) -> int | None:
    """Return the mark that a later daemon would put back; None where nothing is owed."""
    return standing_of(bench.state).low_water


def lost() -> Bench:
    """Return a loop whose write of the mark nobody could read back."""
    bench = beside()
    bench.turn(MARK_SAVED)
    while bench.server.mark != OURS:
        bench.server.unread = True
        bench.turn()
    return bench


@pytest.mark.parametrize(
    ("mark", "settings"),
    [(0, OFF), (None, ON), (OURS, ON), (0, replace(ON, mode=Mode.ADVISORY))],
    ids=["without the option", "where it decides nothing", "where it is so already", "advisory"],
)
def test_nothing_is_written_where_nothing_is_to_be(mark: int | None, settings: Settings) -> None:
    """No option, no server that heeds the mark, the mark there already, no active mode: no write of it."""
    server = FakeServer()
    server.mark = mark
    bench = Bench(settings, server)
    bench.turn()
    bench.turn(command("originals_saved"), MARK_SAVED)
    bench.turns(60)

    assert marks(bench) == []
    assert bench.state.low_water.original is None
    assert (bench.record.low_water is None) is not settings.low_water_mark
    assert may_be_written(bench.state) is settings.low_water_mark


def test_the_mark_waits_for_the_operators_to_be_on_disk() -> None:
    """Ours is not written before the disk has the one found, of this very server; then it is."""
    bench = beside()
    bench.turns(30)
    bench.turn(command("low_water_saved", value="another server 0"))
    bench.turns(3)
    assert marks(bench) == []
    bench.turn(MARK_SAVED)
    bench.turns(15)

    assert marks(bench) == [OURS]
    assert shown(bench) == LowWaterMark(in_force=OURS, operator=0, ours=True)


@pytest.mark.parametrize("found", [0, 50_000_000])
def test_it_is_written_once_alone_and_as_one_change_of_the_hour(found: int) -> None:
    """0.001 in place of what was found; C and M stay at that tick, and for the dwell after it."""
    bench = in_force(found)
    bench.turns(300)
    (place,) = [n for n, one in enumerate(bench.records) if one.decision.kind is DecisionKind.LOW_WATER]
    written, before = bench.records[place], bench.records[place - 1]

    assert marks(bench) == [OURS]
    assert written.decision.steps == ((LOW_WATER_MARK, OURS),)
    assert written.changes_last_hour == before.changes_last_hour + 1
    assert not any(one.decision.steps for one in bench.records[place + 1 : place + 9])
    assert bench.state.low_water.original == found


# Back to what was found.


@pytest.mark.parametrize(
    "order",
    [command("park"), command("pause"), command("mode", value="advisory"), command("stop", value="park")],
    ids=["park", "pause", "advisory", "stop"],
)
@pytest.mark.parametrize("begin", [in_force, lost], ids=["", "a write that nobody could read back"])
def test_the_operators_is_back_whenever_active_mode_ends_in_order(
    order: Command, begin: Callable[[], Bench]
) -> None:
    """After C and M are parked the mark found is in force again, and nothing is owed."""
    bench = begin()
    begun = len(bench.records)
    bench.turn(order)
    bench.turns(5)

    assert marks(bench) == [OURS, 0]
    assert bench.wrote(since=begun) == [DecisionKind.PARK, DecisionKind.LOW_WATER]
    assert owed(bench) is None


@pytest.mark.parametrize(
    "order",
    [command("stop", value="leave"), command("override", value=600, ttl=60.0)],
    ids=["on_stop leave", "override"],
)
def test_it_stays_where_active_mode_goes_on_or_all_is_left(order: Command) -> None:
    """A person's M does not end active mode, and on_stop = "leave" leaves the mark as C and M."""
    bench = in_force()
    bench.turn(order)
    bench.turns(60)

    assert marks(bench) == [OURS]
    assert owed(bench) == 0


def test_a_reload_without_the_option_puts_the_operators_back() -> None:
    """The option turned off is the end of it: the mark found is in force again, and nothing is owed."""
    bench = in_force()
    bench.turn(command("settings", settings=OFF))
    assert may_be_written(bench.state)
    bench.turns(5)

    assert marks(bench) == [OURS, 0]
    assert "low_water_back" in bench.codes()
    assert (bench.record.low_water, owed(bench), may_be_written(bench.state)) == (None, None, False)


def test_a_restore_puts_the_mark_back_first() -> None:
    """Before the way back of C and M begins the mark is the operator's; then they follow."""
    bench = in_force()
    begun = len(bench.server.applied)
    bench.turn(command("restore"))
    bench.turns(300)

    assert [steps[0][0] for steps, _, _ in bench.server.applied[begun:]].index(LOW_WATER_MARK) == 0
    assert bench.state.mode is Mode.ADVISORY
    assert marks(bench) == [OURS, 0]
    assert bench.server.capacity == DEFAULT
    assert bench.state.low_water.original is None


@pytest.mark.parametrize("fault", ["down", "refusal"])
def test_an_advisory_daemon_writes_no_mark_after_its_minute(fault: str) -> None:
    """What could not be put back is said, stays on disk as owed, and is not tried when nobody expects it."""
    bench = in_force()
    bench.turn(command("mode", value="advisory"))
    setattr(bench.server, fault, "did not answer, or refused")
    bench.turns(round(LEAVING_SECONDS) + 1)
    setattr(bench.server, fault, "")
    bench.turns(100)

    assert bench.server.mark == OURS
    assert marks(bench) == ([OURS] if fault == "down" else [OURS, 0])
    assert bench.codes().count("write_failed") == len(marks(bench)) - 1
    assert owed(bench) == 0


@pytest.mark.parametrize(
    ("settings", "left"), [(OFF, 0), (ON, OURS), (replace(OFF, mode=Mode.ADVISORY), OURS)]
)
def test_the_next_daemon_finds_what_a_dead_one_left(settings: Settings, left: int) -> None:
    """An active one without the option puts it back, one with it goes on, an advisory one waits."""
    dead = in_force()
    note = standing_of(dead.state)
    bench = Bench(settings, dead.server, originals=DEFAULT)
    bench.state = take_up(bench.state, note, now=1000.0 + dead.server.now)
    bench.turns(30)

    assert note.low_water == 0
    assert bench.server.mark == left
    assert owed(bench) == (None if left == 0 else 0)
    assert bench.state.low_water.ours is (left == OURS)


# Emergencies, holds and other hands.


def surge(bench: Bench) -> None:
    """Let the load grow twelvefold while the age is high: M has to be raised at the next tick."""
    bench.server.redo_rate *= 12.0
    bench.server.oldest = bench.server.lsn - 0.7 * A


def test_an_emergency_comes_before_it_and_keeps_it_from_nothing() -> None:
    """While M has to be raised no tick is spent on the mark; in advisory mode it goes back all the same."""
    bench = beside()
    bench.turns(30)
    calm = bench.fork()
    calm.turn(MARK_SAVED)
    assert marks(calm) == [OURS]
    surge(bench)
    assert bench.turn(MARK_SAVED).decision.kind is DecisionKind.EMERGENCY
    assert marks(bench) == []

    bench = in_force()
    surge(bench)
    bench.until("emergency", limit=5)
    bench.turn(command("mode", value="advisory"))
    bench.turns(5)
    assert bench.server.mark == 0


@pytest.mark.parametrize(
    ("begin", "order", "written"),
    [(beside, MARK_SAVED, []), (in_force, command("settings", settings=OFF), [OURS, 0])],
    ids=["ours", "the operator's"],
)
def test_without_rates_the_mark_only_goes_back(
    begin: Callable[[], Bench], order: Command, written: list[int]
) -> None:
    """Where the LSN went back, as after a clone, no rates are known: ours is not set, the operator's is."""
    bench = begin()
    bench.turns(30)
    bench.server.lsn -= 1e9
    bench.server.oldest -= 1e9
    assert bench.turn(order).estimate is None

    assert marks(bench) == written


@pytest.mark.parametrize("change", [{"resizing": True}, {"adaptive_flushing": False}], ids=str)
def test_nothing_is_set_under_a_hold(change: dict[str, bool]) -> None:
    """Where the loop is held the mark waits until it is free."""
    bench = beside()
    before = {name: getattr(bench.server, name) for name in change}
    vars(bench.server).update(change)
    bench.turn(MARK_SAVED)
    bench.turns(30)
    assert marks(bench) == []
    vars(bench.server).update(before)
    bench.turns(60)

    assert marks(bench) == [OURS]


@pytest.mark.parametrize("written", [True, False], ids=["after ours", "before ours"])
def test_somebody_elses_mark(*, written: bool) -> None:
    """In place of ours it is a foreign change: held, and left as it is. Before, it is what comes back."""
    bench = in_force() if written else beside()
    bench.server.mark = 5_000_000
    bench.turns(400 if written else 3)

    assert held(bench.record) == ({"foreign_change"} if written else set())
    assert bench.server.mark == 5_000_000
    assert marks(bench) == [OURS] * written
    assert bench.state.low_water.original == (None if written else 5_000_000)
    assert not bench.state.low_water.saved


def test_after_a_restart_of_mysqld_its_own_mark_is_the_operators() -> None:
    """What mysqld started with is the new original, and is noted anew before ours is written."""
    bench = in_force()
    bench.server.restart(DEFAULT)
    bench.server.mark = 0
    bench.turns(30)
    assert marks(bench) == [OURS]
    bench.turn(command("originals_saved"), MARK_SAVED)
    bench.turns(60)

    assert marks(bench) == [OURS, OURS]


# Writes that fail.


@pytest.mark.parametrize("silence", [0, 3])
def test_a_write_that_nobody_could_read_back_is_ours_all_the_same(silence: int) -> None:
    """Whether only the read-back was lost or the server fell silent, the next reading tells."""
    bench = lost()
    bench.silent(silence)
    bench.turns(5)
    assert (bench.state.low_water.own, bench.state.low_water.asked) == (OURS, None)
    bench.turn(command("settings", settings=OFF))
    bench.turns(100)

    assert bench.server.mark == 0


@pytest.mark.parametrize(
    "word", [command("resume"), command("settings", settings=ON)], ids=["resume", "reload"]
)
def test_a_refusal_is_said_once_and_tried_again_at_a_persons_word(word: Command) -> None:
    """A server that does not take the mark is asked once; why is in the status, and nothing is held."""
    bench = beside()
    bench.turns(15)
    bench.server.refusal = "Access denied; you need SUPER (error 1227)"
    bench.turn(MARK_SAVED)
    while not marks(bench):
        bench.turn()
    bench.server.refusal = ""
    bench.turns(400)
    assert len(marks(bench)) == bench.codes().count("write_failed") == 1
    assert "Access denied" in shown(bench).why
    assert not bench.record.holds
    bench.turn(word)
    bench.turns(30)

    assert shown(bench) == LowWaterMark(in_force=OURS, operator=0, ours=True)


def test_a_failure_to_put_the_operators_back_keeps_ours_from_nothing() -> None:
    """What failed was no write of ours: in active mode again, ours is set as before."""
    bench = in_force()
    bench.turn(command("pause"))
    bench.server.refusal = "Lock wait timeout exceeded (error 1205)"
    bench.turns(3)
    bench.server.refusal = ""
    bench.turns(80)
    assert (bench.server.mark, shown(bench).why) == (0, "")
    bench.turn(command("resume"))
    bench.turn(MARK_SAVED)
    bench.turns(60)

    assert bench.server.mark == OURS


@pytest.mark.parametrize(("mark", "rests"), [(0, 1.0), (50_000_000, None)])
def test_the_baseline_is_reckoned_with_the_mark_found(mark: int, rests: float | None) -> None:
    """With 0 the server left alone goes to the flush limit, where no set-point follows it."""
    bench = in_force(mark)
    sample, found = bench.state.estimator.last, bench.state.estimate
    assert sample is not None
    assert found is not None

    assert rests in {None, found.baseline_ratio}
    assert (headroom_of(bench.state, sample, found).baseline == 0.0) is (mark == 0)


@pytest.mark.parametrize("mode", [Mode.ACTIVE, Mode.ADVISORY])
def test_what_is_seen_under_our_mark_is_no_baseline(mode: Mode) -> None:
    """C and M as they were found are the baseline only with the mark as it was found."""
    found = Capacity(400, 400)
    server = FakeServer()
    server.mark, server.capacity = 0, found
    bench = Bench(replace(ON, mode=mode, dwell_seconds=3600.0, max_changes_per_hour=1), server)
    bench.turn()
    bench.turn(SAVED, MARK_SAVED)
    bench.turns(900)
    blocks = sum(kind.baseline.rows.count for kind in bench.state.baseline_guard.kinds)

    assert server.capacity == found
    assert (server.mark, blocks > 0) == ((OURS, False) if mode is Mode.ACTIVE else (0, True))


@pytest.mark.parametrize(
    ("found", "sets", "why"),
    [(0, False, SET_LOW_WATER), (50_000, True, "could not put 0.05 back"), (0, True, "")],
)
def test_procedures_have_to_set_both_marks(found: int, *, sets: bool, why: str) -> None:
    """An account that writes through procedures needs the one for the mark, which knows two values alone."""
    bench = beside(mark=found, settings=OFF)
    bounds = Bounds(100, 20_000, 20_000)
    bench.state = replace(
        bench.state, facts=replace(bench.state.facts, procedure=bounds, sets_low_water=sets)
    )
    bench.turn(command("settings", settings=ON))
    bench.turn(MARK_SAVED)
    bench.turns(15)

    assert why in shown(bench).why
    assert marks(bench) == ([] if why else [OURS])


def test_a_run_with_a_mark_replays_to_the_same() -> None:
    """The journal's bytes give every record again, from a snapshot in the middle as well."""
    bench = beside()
    seen, state = len(bench.records), decode_state(encode_state(bench.state))
    bench.turn(MARK_SAVED)
    bench.turns(200)
    bench.turn(command("settings", settings=OFF))
    bench.turns(20)
    assert marks(bench) == [OURS, 0]

    assert replays(state, bench.records[seen:], restart=150) == bench.state
