"""What decides the set-point, tick after tick, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from policies.setpoint import LOWEST
from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, MEBIBYTE, command
from tuner.core.limits import allowed, contradiction
from tuner.records import Bounds, Capacity, DecisionKind, HoldCode, Sample
from tuner.settings import Mode, Settings

WIDE = Bounds(100, 20_000, 10_000)


def beside(server: FakeServer | None = None, *, combines: float = 0.5, **chosen: Any) -> Bench:  # noqa: ANN401 - any setting
    """Return a loop in control beside a server whose load gains by a higher age, with these settings."""
    server = FakeServer() if server is None else server
    server.combines = combines
    return Bench(Settings(mode=Mode.ACTIVE, **chosen), server).in_control()


def requested(bench: Bench, set_point: float, seconds: int = 60) -> tuple[float, str]:
    """Return the set-point and its source once somebody asked the running daemon for one."""
    bench.turn(command("overlay", overlay={"set_point": set_point}))
    bench.turns(seconds)
    return bench.set_point, bench.source


# Limits.


@pytest.mark.parametrize(
    ("procedure", "limits"),
    [(Bounds(400, 5000, 5000), (400, 5000)), (Bounds(100, 20_000, 20_000), (300, 8000)), (None, (300, 8000))],
)
def test_what_the_procedure_lets_through_are_limits_too(
    procedure: Bounds | None, limits: tuple[int, int]
) -> None:
    """The loop aims at no M that the procedure would refuse; one that lets more through widens nothing."""
    settings = Settings(min_io_capacity_max=300, max_io_capacity_max=8000)

    assert allowed(settings, replace(FACTS, procedure=procedure)) == limits


TOO_LOW = "innodb_io_capacity is at least 100, so that innodb_io_capacity_max is at least 1000"


@pytest.mark.parametrize(
    ("ratio", "procedure", "said"),
    [
        (10, None, "the limits are 100 to 600, and " + TOO_LOW),
        (10, WIDE, "the procedure takes 100 to 20000, and " + TOO_LOW),
        (None, Bounds(1000, 8000, 4000), "the limits are 100 to 600, and the procedure takes 1000 to 8000"),
        (None, WIDE, ""),
    ],
)
def test_what_leaves_no_m_is_named(ratio: int | None, procedure: Bounds | None, said: str) -> None:
    """Of limits, procedure, ratio and the server's minimum those are named that contradict each other."""
    found = contradiction(Settings(max_io_capacity_max=600, ratio=ratio), replace(FACTS, procedure=procedure))

    assert found.endswith(said)
    assert bool(found) is bool(said)


def test_limits_that_leave_no_m_hold_the_loop_and_not_the_way_back() -> None:
    """Beside a procedure that takes no M within the limits nothing is written, and both are named.

    No limit binds the way back to the originals.
    """
    server = FakeServer()
    server.told = {"procedure": Bounds(150, 20_000, 10_000)}
    bench = Bench(Settings(mode=Mode.ACTIVE), server).in_control()
    bench.turns(100)
    begun = len(bench.records)
    bench.turn(command("settings", settings=Settings(mode=Mode.ACTIVE, max_io_capacity_max=120)))
    (hold,) = bench.turns(10).holds
    accepted, said = bench.answer(command("park"))

    assert hold.code is HoldCode.NOT_WRITER
    assert "the limits are 100 to 120, and the procedure takes 150" in hold.reason
    assert not accepted
    assert hold.reason in said
    assert bench.wrote(since=begun) == []
    assert bench.answer(command("restore"))[0]
    bench.turns(300)
    assert server.capacity == DEFAULT


# Budgets.


@pytest.mark.parametrize(("name", "budget"), [("recovery", 26.0), ("shutdown", 16.0)])
def test_a_budget_is_kept_and_named(name: str, budget: float) -> None:
    """With less time allowed than the headroom would take, the age comes to rest within the time allowed."""
    chosen = {f"max_{name}_seconds": budget}
    bench = beside(FakeServer(Capacity(5_000, 10_000)), combines=0.15, **chosen)
    bench.turns(900)
    took = [getattr(record.estimate, f"{name}_seconds") for record in bench.records[-300:]]

    assert bench.source == name
    assert 0.6 * budget < max(took) <= budget
    assert f"bound_{name}" in bench.codes("bound_")
    assert bench.codes("budget_") == []


def test_without_a_budget_no_recovery_is_too_long() -> None:
    """By default neither moves the set-point, as the longest budgets would not; all three ages are told."""
    bench, ample = beside(), beside(max_recovery_seconds=86_400.0, max_shutdown_seconds=86_400.0)
    bench.turns(600)
    ample.turns(600)
    found = bench.record.estimate

    assert bench.source in {"headroom", "alarm", "highest"}
    assert bench.codes("bound_", "budget_") == []
    assert bench.server.applied == ample.server.applied
    assert found is not None
    for now, at_set_point, at_baseline in (
        (found.recovery_seconds, found.recovery_at_set_point, found.recovery_at_baseline),
        (found.shutdown_seconds, found.shutdown_at_set_point, found.shutdown_at_baseline),
    ):
        assert at_set_point is not None
        assert at_baseline is not None
        assert at_baseline < now
        assert now == pytest.approx(at_set_point, rel=0.1)


def test_a_budget_out_of_reach_changes_nothing_and_is_said_once() -> None:
    """The same pairs are written as without any; the record says all the while what would keep it."""
    with_it, without = beside(max_recovery_seconds=2.5), beside()
    with_it.turns(600)
    without.turns(600)

    assert with_it.server.applied == without.server.applied
    assert with_it.set_point == without.set_point > LOWEST
    assert with_it.codes("budget_") == ["budget_out_of_reach"]
    (unkept,) = with_it.record.unkept
    assert "the lowest set-point, 30 %, keeps max_recovery_seconds = " in unkept
    with_it.turn(command("settings", settings=Settings(mode=Mode.ACTIVE)))
    assert with_it.turn().unkept == ()


def test_a_budget_asks_for_no_less_than_the_baseline_settings_hold() -> None:
    """Where M as found holds the age at half, a budget for less lowers the set-point to there alone."""
    bench = beside(FakeServer(Capacity(600, 600)), combines=0.15, max_recovery_seconds=18.0)
    found = bench.turns(1200).estimate

    assert bench.source == "recovery"
    assert bench.set_point > 0.5
    assert found is not None
    assert found.recovery_at_set_point == pytest.approx(found.recovery_at_baseline, rel=0.05)
    assert bench.codes("budget_") == ["budget_not_kept"]
    assert "the originals hold the age at " in bench.state.announced.unkept[0]


def test_a_persons_set_point_comes_before_the_budgets_and_that_is_said_once() -> None:
    """Who asks for a set-point gets it, and hears which budget that breaks."""
    bench = beside(set_point=0.85, max_recovery_seconds=10.0)
    bench.turns(600)

    assert (bench.set_point, bench.source) == (0.85, "person")
    assert bench.codes("budget_", "bound_") == ["budget_overruled"]


@pytest.mark.parametrize(
    ("chosen", "code"), [({}, "budget_out_of_reach"), ({"set_point": 0.85}, "budget_overruled")]
)
def test_a_budget_set_too_low_while_it_runs_is_said_within_a_minute(
    chosen: dict[str, float], code: str
) -> None:
    """Once a budget, with what is predicted and allowed; anew for another budget."""
    bench = Bench(Settings(mode=Mode.ACTIVE), originals=DEFAULT)
    bench.turns(30)
    for budget in (1.0, 1.5):
        both = {"max_recovery_seconds": budget, "max_shutdown_seconds": budget}
        begun = len(bench.records)
        bench.turn(command("settings", settings=Settings(mode=Mode.ACTIVE, **both, **chosen)))
        bench.turns(60)
        messages = bench.said(code, since=begun)

        assert bench.codes("budget_", since=begun) == [code] * 2
        for name, message in zip(both, messages, strict=True):
            assert f"s now, and {name} is {budget:g}" in message


# What is asked of a running daemon.


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ({"max_recovery_seconds": 14.0}, "recovery"),
        ({"max_shutdown_seconds": 13.0}, "shutdown"),
        ({"max_checkpoint_age_ratio": 0.5}, "alarm"),
    ],
)
def test_a_requested_set_point_stays_inside_what_the_file_bounds(file: dict[str, float], source: str) -> None:
    """What is asked of a running daemon counts up to the budgets and the cap, and says which it is."""
    bench = beside(**file)
    bench.turns(600)
    derived = bench.set_point

    assert requested(bench, 1.0) == (pytest.approx(derived, abs=0.05), source)
    assert bench.set_point < 0.9


TIGHT = 92_000_000
"""Redo capacity whose share for the checkpoint age ends well before the sync point, bytes."""


def test_a_request_does_not_pass_the_cap_where_the_loop_itself_holds_a_steady_load_beyond_it() -> None:
    """The cap is the configuration's word; that the baseline rests beyond it is no leave for a request."""
    server = FakeServer(Capacity(280, 280), redo_rate=1e6)
    server.shows = {"redo_capacity": TIGHT}
    bench = beside(server)
    bench.turns(900)
    derived = bench.set_point
    found_set_point, source = requested(bench, 1.0)
    found, reading = bench.record.estimate, bench.record.tick.reading
    assert found is not None
    assert isinstance(reading, Sample)
    cap = ACTIVE.max_checkpoint_age_ratio * reading.redo_capacity

    assert source == "alarm"
    assert found_set_point < derived
    assert found_set_point * reading.flush_limit + 7.0 * found.redo_rate < cap


def test_a_requested_set_point_goes_as_far_as_the_files_own() -> None:
    """Where the file has a set-point beyond its budgets, a request may ask for as much, and no more.

    One that the budgets and the cap leave room for is in force at once.
    """
    bench = beside(set_point=0.85, max_recovery_seconds=14.0)
    bench.turns(300)
    assert requested(bench, 1.0)[0] == 0.85
    assert requested(bench, 0.5) == (0.5, "person")

    ample = beside(max_recovery_seconds=200.0)
    ample.turns(300)
    assert requested(ample, 0.6, seconds=3) == (0.6, "person")


# Roles and what else goes on in the server.


@pytest.mark.parametrize("wished", [None, 0.9])
def test_a_replica_is_held_lower_whoever_asks_for_more(wished: float | None) -> None:
    """The operator's limit for replicas comes first; it is over when the replica is made the primary."""
    bench = beside(set_point=wished, max_replica_set_point=0.6, allow_read_only_writes=True)
    before = bench.set_point
    bench.server.shows = {"replica": True}
    bench.turns(60)
    assert (bench.set_point, bench.source) == (0.6, "role")
    bench.server.shows = {}
    bench.turns(60)

    assert bench.set_point == pytest.approx(before, abs=0.05)
    assert bench.codes("bound_", "unbound_") == ["bound_role", "unbound_role"]


def test_waits_for_a_free_page_lower_the_set_point_and_hold_nothing() -> None:
    """A buffer pool short of free pages is met with a lower age, announced once, while writes go on.

    After a restart of mysqld the bounds begin anew, with nothing left over from before.
    """
    bench = beside()
    before = bench.set_point
    for second in range(300):
        bench.server.shows = {"free_page_waits": 50 * second}
        bench.turn()
    assert bench.source == "free_pages"
    assert LOWEST <= bench.set_point < before - 0.05
    assert bench.record.holds == ()
    assert bench.codes("bound_", "unbound_") == ["bound_free_pages"]
    bench.server.shows = {}
    bench.server.restart(bench.server.capacity)
    bench.turns(30)

    assert bench.source != "free_pages"
    assert bench.codes("bound_", "unbound_", since=-30) == []


@pytest.mark.parametrize(
    ("chosen", "change"),
    [({}, {"lru_rate": 300.0}), ({"set_point": 0.9}, {"shows": {"dirty_limit": 30.0}})],
    ids=["LRU flushing", "dirty pages near the server's limit"],
)
def test_what_lowers_no_set_point(chosen: dict[str, float], change: dict[str, Any]) -> None:
    """A lower age spares neither what the LRU writes as well, nor a server that flushes by itself."""
    bench = beside(**chosen)
    vars(bench.server).update(change)
    bench.turns(900)

    assert bench.source in ({"person"} if chosen else {"headroom", "alarm", "highest"})
    assert bench.set_point == chosen.get("set_point", bench.set_point)
    assert bench.record.holds == ()


def test_redo_that_another_consumer_holds_is_no_reason_to_raise() -> None:
    """However near the stall point another consumer brings the redo, no emergency and no raise follows."""
    bench = beside(combines=0.3)
    bench.turns(600)
    begun = len(bench.records)
    bench.server.held_redo = 60 * MEBIBYTE
    bench.turns(300)

    assert bench.codes("redo_", "bound_", since=begun) == ["redo_held"]
    assert not {DecisionKind.EMERGENCY, DecisionKind.SET} & set(bench.wrote(since=begun))


# Recoveries.


def crash(bench: Bench, seconds: float | None, *, version: str = "9.7.4") -> list[str]:
    """Crash mysqld under the loop, let it say how long it recovered, and return what is said of that."""
    begun = len(bench.records)
    bench.server.restart(bench.server.capacity)
    bench.server.told = {"recovery_seconds": seconds, "version": version}
    bench.turns(20)
    return bench.said("recovery_measured", since=begun)


def test_a_recovery_is_measured_against_what_was_predicted_before_the_crash() -> None:
    """The event has both figures, and predictions follow; another version forgets what was measured."""
    bench = beside()
    found = bench.turns(300).estimate
    assert found is not None
    predicted = found.recovery_seconds
    (message,) = crash(bench, predicted / 4.0)

    assert f"took {predicted / 4.0:.1f} s where {predicted:.1f} s were predicted" in message
    assert 0.25 < bench.state.estimator.recovery.factor < 0.75
    assert crash(bench, 1.0, version="9.8.0") == []
    assert bench.state.estimator.recovery.factor == 1.0


def test_an_earlier_recovery_is_not_taken_for_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server gives no answer of any use its recovery is waited for, and measured once it does."""
    bench = beside()
    bench.turns(60)
    assert len(crash(bench, 1.0)) == 1
    bench.turns(60)
    known = bench.state.facts
    useless = ("innodb_read_only is ON",)
    monkeypatch.setattr(bench.server, "facts", lambda: replace(bench.state.facts, blockers=useless))
    assert crash(bench, 7.0) == []
    assert bench.state.facts.recovery_seconds == known.recovery_seconds
    assert bench.state.estimator.recovery.awaited is not None
    bench.state = replace(bench.state, facts_due=True)
    monkeypatch.undo()
    bench.turn()

    assert "took 7.0 s" in bench.said("recovery_measured", since=-1)[0]


def test_a_clean_start_measures_nothing_and_the_next_crash_does() -> None:
    """A shutdown in order leaves no recovery to compare; a later crash is not compared with before it."""
    bench = beside()
    bench.turns(60)

    assert crash(bench, None) == []
    assert bench.state.estimator.recovery.awaited is None
    assert len(crash(bench, 1.0)) == 1
