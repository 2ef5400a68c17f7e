"""What decides the set-point, tick after tick, and what is said about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from policies.setpoint import LOWEST
from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, MEBIBYTE, command
from tuner.core.limits import allowed, contradiction
from tuner.records import Bounds, Capacity, Facts, HoldCode, Sample, TickRecord
from tuner.settings import Mode, Settings


def beside(server: FakeServer | None = None, *, combines: float = 0.5, **chosen: Any) -> Bench:  # noqa: ANN401 - any setting
    """Return a loop in control beside a server whose load gains by a higher age, with these settings."""
    server = FakeServer() if server is None else server
    server.combines = combines
    return Bench(Settings(mode=Mode.ACTIVE, **chosen), server).in_control()


def said(records: Iterable[TickRecord], *prefixes: str) -> list[str]:
    """Return the codes of all events that begin like this, in order."""
    return [event.code for record in records for event in record.events if event.code.startswith(prefixes)]


def source(bench: Bench) -> str:
    """Return who decided the set-point of the last tick."""
    return bench.record.decision.set_point_source


def set_point(bench: Bench) -> float:
    """Return the set-point of the last tick."""
    found = bench.record.decision.set_point
    assert found is not None
    return found


def test_what_the_procedure_lets_through_are_limits_too() -> None:
    """The loop aims at no M that the procedure would refuse; one that lets more through widens nothing."""
    settings = Settings(min_io_capacity_max=300, max_io_capacity_max=8000)

    assert allowed(settings, replace(FACTS, procedure=Bounds(400, 5000, 5000))) == (400, 5000)
    assert allowed(settings, replace(FACTS, procedure=Bounds(100, 20_000, 20_000))) == (300, 8000)
    assert allowed(settings, FACTS) == (300, 8000)


def test_limits_that_leave_no_m_hold_the_loop() -> None:
    """Beside a procedure that takes no M within the limits nothing is written, and both are named."""
    server = FakeServer(Capacity(500, 1000))
    server.told = {"procedure": Bounds(1000, 8000, 4000)}
    bench = Bench(Settings(mode=Mode.ACTIVE, max_io_capacity_max=600), server, originals=DEFAULT)
    bench.turns(60)
    (hold,) = bench.record.holds

    assert hold.code is HoldCode.NOT_WRITER
    assert hold.reason == "no M is allowed: the limits are 100 to 600, and the procedure takes 1000 to 8000"
    assert not server.applied
    assert allowed(bench.state.settings, bench.state.facts)[1] <= 600


def test_the_originals_come_back_also_where_the_limits_leave_no_m() -> None:
    """A file that contradicts the procedure holds the loop, and not the way back, which no limit binds."""
    server = FakeServer()
    server.told = {"procedure": Bounds(150, 20_000, 10_000)}
    bench = Bench(Settings(mode=Mode.ACTIVE), server).in_control()
    bench.turns(100)
    ours = server.capacity
    bench.turn(command("settings", settings=Settings(mode=Mode.ACTIVE, max_io_capacity_max=120)))
    bench.turns(10)
    held = server.capacity
    parked = bench.turn(command("park"))
    asked = bench.turn(command("restore"))
    bench.turns(300)

    assert held == ours
    assert not parked.acknowledgements[0].accepted
    assert "the limits are 100 to 120, and the procedure takes 150" in parked.acknowledgements[0].message
    assert asked.acknowledgements[0].accepted, asked.acknowledgements[0].message
    assert server.capacity == DEFAULT


@pytest.mark.parametrize(
    ("ratio", "procedure", "said"),
    [
        (10, None, "the limits are 100 to 600, and C is at least 100, so that M is at least 1000"),
        (
            10,
            Bounds(100, 20_000, 10_000),
            "the procedure takes 100 to 20000, and C is at least 100, so that M is at least 1000",
        ),
        (None, Bounds(1000, 8000, 4000), "the limits are 100 to 600, and the procedure takes 1000 to 8000"),
        (None, Bounds(100, 20_000, 10_000), ""),
    ],
)
def test_what_leaves_no_m_is_named(ratio: int | None, procedure: Bounds | None, said: str) -> None:
    """Of limits, procedure, ratio and the server's minimum those are named that contradict each other."""
    found = contradiction(Settings(max_io_capacity_max=600, ratio=ratio), replace(FACTS, procedure=procedure))

    assert found.endswith(said)
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("key", "gauge", "budget"),
    [
        ("max_recovery_seconds", "recovery_seconds", 26.0),
        ("max_shutdown_seconds", "shutdown_seconds", 16.0),
    ],
)
def test_a_budget_is_kept_and_named(key: str, gauge: str, budget: float) -> None:
    """With less time allowed than the headroom would take, the age comes to rest within the time allowed."""
    bench = beside(FakeServer(Capacity(5_000, 10_000)), combines=0.15, **{key: budget})
    bench.turns(900)
    took = [getattr(record.estimate, gauge) for record in bench.records[-300:]]

    name = key.split("_")[1]
    assert source(bench) == name
    assert 0.6 * budget < max(took) <= budget
    assert f"bound_{name}" in said(bench.records, "bound_")
    assert said(bench.records, "budget_") == []


def test_without_a_budget_no_recovery_is_too_long() -> None:
    """By default neither moves the set-point, as the longest budgets would not; all three ages are told."""
    bench, ample = beside(), beside(max_recovery_seconds=86_400.0, max_shutdown_seconds=86_400.0)
    bench.turns(600)
    ample.turns(600)
    found = bench.record.estimate

    assert source(bench) in {"headroom", "alarm", "highest"}
    assert said(bench.records, "bound_", "budget_") == []
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


@pytest.mark.parametrize("settings", [{}, {"max_recovery_seconds": 2.5, "max_shutdown_seconds": 2.5}])
def test_a_budget_that_nothing_keeps_changes_nothing(settings: dict[str, float]) -> None:
    """Out of reach of the lowest set-point the same pairs are written as without any budget."""
    with_it, without = beside(**settings), beside()
    with_it.turns(600)
    without.turns(600)

    assert with_it.server.applied == without.server.applied
    assert set_point(with_it) == set_point(without)


def test_a_budget_out_of_reach_is_said_once_and_stays_in_the_record() -> None:
    """One event says it; every tick's record says what would keep it, and what that costs, while it lasts."""
    bench = Bench(Settings(mode=Mode.ACTIVE, max_recovery_seconds=2.5), originals=DEFAULT)
    bench.turns(600)

    assert source(bench) != "recovery"
    assert set_point(bench) > LOWEST
    assert said(bench.records, "budget_") == ["budget_out_of_reach"]
    (unkept,) = bench.record.unkept
    assert "the lowest set-point, 0.30, keeps max_recovery_seconds = " in unkept
    bench.turn(command("settings", settings=Settings(mode=Mode.ACTIVE)))
    assert bench.turn().unkept == ()


def test_a_budget_asks_for_no_less_than_the_baseline_settings_hold() -> None:
    """Where M as found holds the age at half, a budget for less lowers the set-point to there alone."""
    bench = beside(FakeServer(Capacity(600, 600)), combines=0.15, max_recovery_seconds=18.0)
    bench.turns(1200)
    found = bench.record.estimate
    assert found is not None
    rests = bench.state.announced.unkept

    assert source(bench) == "recovery"
    assert set_point(bench) > 0.5
    assert found.recovery_at_set_point == pytest.approx(found.recovery_at_baseline, rel=0.05)
    assert said(bench.records, "budget_") == ["budget_not_kept"]
    assert "the baseline settings rest at an age ratio of 0." in rests[0]


def test_a_persons_set_point_comes_before_the_budgets_and_that_is_said_once() -> None:
    """Who asks for a set-point gets it, and hears which budget that breaks."""
    bench = beside(set_point=0.85, max_recovery_seconds=10.0)
    bench.turns(600)

    assert (set_point(bench), source(bench)) == (0.85, "person")
    assert said(bench.records, "budget_", "bound_") == ["budget_overruled"]


@pytest.mark.parametrize(
    ("file", "source_of_it"),
    [
        ({"max_recovery_seconds": 14.0}, "recovery"),
        ({"max_shutdown_seconds": 13.0}, "shutdown"),
        ({"max_checkpoint_age_ratio": 0.5}, "alarm"),
    ],
)
def test_a_requested_set_point_stays_inside_what_the_file_bounds(
    file: dict[str, float], source_of_it: str
) -> None:
    """What is asked of a running daemon counts up to the budgets and the cap, and says which it is."""
    bench = beside(**file)
    bench.turns(600)
    derived = set_point(bench)
    bench.turn(command("overlay", overlay={"set_point": 1.0}))
    bench.turns(60)

    assert source(bench) == source_of_it
    assert set_point(bench) == pytest.approx(derived, abs=0.05)
    assert set_point(bench) < 0.9


def test_a_request_does_not_pass_the_cap_where_the_loop_itself_holds_a_steady_load_beyond_it() -> None:
    """The cap is the configuration's word; that the baseline rests beyond it is no leave for a request."""
    bench = beside(FakeServer(Capacity(560, 560), redo_rate=2e6), combines=0.5)
    bench.turns(900)
    derived = set_point(bench)
    bench.turn(command("overlay", overlay={"set_point": 1.0}))
    bench.turns(60)
    found, reading = bench.record.estimate, bench.record.tick.reading
    assert found is not None
    assert isinstance(reading, Sample)
    cap = ACTIVE.max_checkpoint_age_ratio * reading.redo_capacity

    assert source(bench) == "alarm"
    assert set_point(bench) < derived
    assert set_point(bench) * reading.flush_limit + 7.0 * found.redo_rate < cap


def test_a_requested_set_point_goes_as_far_as_the_files_own() -> None:
    """Where the file has a set-point beyond its budgets, a request may ask for as much, and no more."""
    bench = beside(set_point=0.85, max_recovery_seconds=14.0)
    bench.turns(300)
    bench.turn(command("overlay", overlay={"set_point": 1.0}))
    bench.turns(60)
    most = set_point(bench)
    bench.turn(command("overlay", overlay={"set_point": 0.5}))
    bench.turns(60)

    assert most == 0.85
    assert (set_point(bench), source(bench)) == (0.5, "person")


def test_a_requested_set_point_inside_the_bounds_is_taken_as_it_is() -> None:
    """A set-point that the budgets and the cap leave room for is in force at once."""
    bench = beside(max_recovery_seconds=200.0)
    bench.turns(300)
    bench.turn(command("overlay", overlay={"set_point": 0.6}))
    bench.turns(3)

    assert (set_point(bench), source(bench)) == (0.6, "person")


@pytest.mark.parametrize(
    ("chosen", "code", "right"),
    [
        ({}, "budget_out_of_reach", "the lowest set-point, 0.30, keeps max_"),
        ({"set_point": 0.85}, "budget_overruled", "set_point = 0.85 stands"),
    ],
)
def test_a_budget_set_too_low_while_it_runs_is_said_within_a_minute(
    chosen: dict[str, float], code: str, right: str
) -> None:
    """Once a budget, with what is predicted, allowed and would be right; anew for another budget."""
    bench = Bench(Settings(mode=Mode.ACTIVE), originals=DEFAULT)
    bench.turns(30)
    for budget in (1.0, 1.5):
        settings = Settings(
            mode=Mode.ACTIVE, max_recovery_seconds=budget, max_shutdown_seconds=budget, **chosen
        )
        bench.turn(command("settings", settings=settings))
        records = [bench.turn() for _ in range(60)]
        messages = [
            event.message for record in records for event in record.events if event.code.startswith("budget_")
        ]

        assert said(records, "budget_") == [code] * 2
        assert all(right in message for message in messages)
        assert f"s now, and max_recovery_seconds is {budget:g}" in messages[0]
        assert f"s now, and max_shutdown_seconds is {budget:g}" in messages[1]


@pytest.mark.parametrize("wished", [None, 0.9])
def test_a_replica_is_held_lower_whoever_asks_for_more(wished: float | None) -> None:
    """The operator's limit for replicas comes first; it is over when the replica is made the primary."""
    bench = beside(set_point=wished, max_replica_set_point=0.6, allow_read_only_writes=True)
    before = set_point(bench)
    bench.server.shows = {"replica": True}
    bench.turns(60)
    as_replica = (set_point(bench), source(bench))
    bench.server.shows = {}
    bench.turns(60)

    assert as_replica == (0.6, "role")
    assert set_point(bench) == pytest.approx(before, abs=0.05)
    assert said(bench.records, "bound_", "unbound_") == ["bound_role", "unbound_role"]


def short_of_pages(bench: Bench, seconds: int) -> None:
    """Let so many seconds pass with 50 waits for a free page in each."""
    for _ in range(seconds):
        waited = bench.server.shows.get("free_page_waits", 0) + 50
        bench.server.shows = {"free_page_waits": waited}
        bench.turn()


def test_waits_for_a_free_page_lower_the_set_point_and_hold_nothing() -> None:
    """A buffer pool short of free pages is met with a lower age, announced once, while writes go on."""
    bench = beside()
    before = set_point(bench)
    short_of_pages(bench, 300)

    assert source(bench) == "free_pages"
    assert LOWEST <= set_point(bench) < before - 0.05
    assert bench.record.holds == ()
    assert said(bench.records, "bound_", "unbound_") == ["bound_free_pages"]


def test_what_stands_is_not_repeated_when_mysqld_restarts_and_ends_with_it() -> None:
    """After a restart of mysqld the bounds begin anew, with nothing left over from before."""
    bench = beside()
    short_of_pages(bench, 300)
    bench.server.shows = {}
    bench.server.restart(bench.server.capacity)
    bench.turns(30)

    assert source(bench) != "free_pages"
    assert said(bench.records[-30:], "bound_", "unbound_") == []


def test_lru_flushing_lowers_no_set_point() -> None:
    """Pages that the LRU writes as well are none that a lower age would spare."""
    bench = beside()
    bench.server.lru_rate = 300.0
    bench.turns(900)

    assert source(bench) in {"headroom", "alarm", "highest"}
    assert bench.record.holds == ()


def test_dirty_pages_near_the_servers_limit_lower_no_set_point() -> None:
    """Near innodb_max_dirty_pages_pct the server flushes by itself; a lower set-point would write more."""
    bench = beside(set_point=0.9)
    bench.server.shows = {"dirty_limit": 30.0}
    bench.turns(900)

    assert (set_point(bench), source(bench)) == (0.9, "person")


def test_redo_that_another_consumer_holds_is_no_reason_to_raise() -> None:
    """However near the stall point another consumer brings the redo, no emergency and no raise follows."""
    bench = beside(combines=0.3)
    bench.turns(600)
    settled = bench.server.capacity
    bench.server.held_redo = 60 * MEBIBYTE
    records = [bench.turn() for _ in range(300)]

    assert said(records, "redo_", "bound_") == ["redo_held"]
    assert said(records, "emergency", "set") == []
    assert bench.server.capacity == settled
    assert "another consumer holds redo" in bench.record.decision.detail


def crash(bench: Bench, seconds: float | None, *, version: str = "9.7.4") -> list[str]:
    """Crash mysqld under the loop, let it say how long it recovered, and return what is said of that."""
    bench.server.restart(bench.server.capacity)
    bench.server.told = {"recovery_seconds": seconds, "version": version}
    records = [bench.turn() for _ in range(20)]
    return [
        event.message for record in records for event in record.events if event.code == "recovery_measured"
    ]


def test_a_recovery_is_measured_against_what_was_predicted_before_the_crash() -> None:
    """The event has both figures; what is predicted afterwards, and allowed by the budget, follows."""
    bench = beside()
    bench.turns(300)
    assert bench.record.estimate is not None
    predicted = bench.record.estimate.recovery_seconds
    (message,) = crash(bench, predicted / 4.0)

    assert f"took {predicted / 4.0:.1f} s where {predicted:.1f} s were predicted" in message
    assert 0.25 < bench.state.estimator.recovery.factor < 0.75


def test_an_earlier_recovery_is_not_taken_for_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server gives no answer of any use its recovery is waited for, and measured once it does."""
    bench = beside()
    bench.turns(60)
    assert len(crash(bench, 1.0)) == 1
    bench.turns(60)
    known = bench.state.facts

    def unusable() -> Facts:
        return replace(bench.state.facts, blockers=("innodb_read_only is ON",))

    monkeypatch.setattr(bench.server, "facts", unusable)
    assert crash(bench, 7.0) == []
    assert bench.state.facts.recovery_seconds == known.recovery_seconds
    assert bench.state.estimator.recovery.awaited is not None
    bench.state = replace(bench.state, facts_due=True)
    monkeypatch.undo()

    (event,) = [one for one in bench.turn().events if one.code == "recovery_measured"]
    assert "took 7.0 s" in event.message


def test_a_clean_start_measures_nothing_and_the_next_crash_does() -> None:
    """A shutdown in order leaves no recovery to compare; a later crash is not compared with before it."""
    bench = beside()
    bench.turns(60)

    assert crash(bench, None) == []
    assert bench.state.estimator.recovery.awaited is None
    assert len(crash(bench, 1.0)) == 1


def test_another_version_forgets_what_was_measured() -> None:
    """Recoveries of another server version say nothing: the prior counts again."""
    bench = beside()
    bench.turns(60)
    crash(bench, 1.0)
    assert bench.state.estimator.recovery.factor < 1.0

    assert crash(bench, 1.0, version="9.8.0") == []
    assert bench.state.estimator.recovery.factor == 1.0
