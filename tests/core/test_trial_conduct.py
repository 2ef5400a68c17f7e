"""How a trial goes on: both sides in turn, within the limits, and it yields to all else."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from policies.flushlaw import LEGACY
from policies.types import LoadContext
from tests.bench import Bench, FakeServer, next_daemon
from tests.core.loops import DENSITY, RATE, drain
from tests.core.referee import Referee
from tests.factory import ACTIVE, DEFAULT, A, command
from tuner.core.baseline.guard import Returned, Shown
from tuner.core.ownership.transitions import BASELINE_GUARD, begin_restore
from tuner.core.trials import proof
from tuner.core.trials.proof import MOST_PAIRS, Running
from tuner.records import (
    LONGEST_TTL,
    Capacity,
    Command,
    DecisionKind,
    Sample,
    TrialEnd,
    TrialSide,
)
from tuner.settings import Mode

TRIAL = command("trial", value=1, ttl=7200.0)


def fresh(originals: Capacity = DEFAULT, *, rate: float = RATE, density: float = DENSITY) -> Bench:
    """Return a loop that begins in active mode where its own values are in force, at rest."""
    wanted = round(rate * density * LEGACY.gain_over_demand(0.8) / 2.0)
    server = FakeServer(Capacity(wanted, 2 * wanted), redo_rate=rate)
    server.density = density
    server.oldest = server.lsn - 0.8 * A
    settings = replace(ACTIVE, set_point=0.8, max_changes_per_hour=3600)
    return Bench(settings, server, originals=originals, left=(server.capacity,))


def at_work(originals: Capacity = DEFAULT) -> Bench:
    """Return such a loop a minute later."""
    bench = fresh(originals)
    bench.turns(60)
    return bench


def under_way(seconds: int = 400, originals: Capacity = DEFAULT) -> Bench:
    """Return such a loop with a trial that is so old."""
    bench = at_work(originals)
    accepted, why = bench.answer(TRIAL)
    assert accepted, why
    bench.turns(seconds)
    return bench


def side(bench: Bench) -> TrialSide:
    """Return whose turn it is."""
    assert bench.state.proof.running is not None
    return bench.state.proof.running.side


def until(bench: Bench, wanted: TrialSide) -> None:
    """Tick until it is the turn of a side, with its values in force."""
    for _ in range(4000):
        bench.turn()
        running = bench.state.proof.running
        if running is not None and running.side is wanted and running.since is not None:
            return
    raise AssertionError(f"no turn of {wanted}")


def test_both_sides_come_in_turn_and_the_writes_are_no_part_of_the_budget() -> None:
    """Each pair has a block of the originals and one of ours, and no change of the budget is spent on it."""
    bench = at_work()
    before = bench.record.changes_last_hour
    bench.answer(TRIAL)
    until(bench, TrialSide.BASELINE)
    assert bench.server.capacity == DEFAULT
    until(bench, TrialSide.OURS)
    assert bench.m < DEFAULT.io_capacity_max
    assert bench.record.changes_last_hour == before


def test_advisory_mode_refuses_a_trial() -> None:
    """What writes nothing proves nothing, and says so."""
    bench = at_work()
    bench.turn(command("mode", value="advisory"))
    accepted, why = bench.answer(TRIAL)
    assert not accepted
    assert "advisory" in why


def test_a_time_too_short_is_refused_with_the_least() -> None:
    """Fewer than three pairs are no trial."""
    accepted, why = at_work().answer(replace(TRIAL, ttl=60.0))
    assert not accepted
    assert "at least" in why


def test_a_time_that_is_accepted_holds_three_pairs() -> None:
    """The least time counts the ways to the originals too, here as long as a block."""
    bench = fresh(rate=6e6, density=0.00005)
    bench.turns(60)
    assert any(bench.answer(replace(TRIAL, ttl=60.0 * minutes))[0] for minutes in range(1, 60))
    foretold = proof.progress(bench.state.proof)
    assert foretold is not None
    while bench.state.proof.running is not None:
        bench.turn()
    result = bench.state.proof.result
    assert result is not None
    assert result.end is TrialEnd.TIME
    assert 3 <= result.pairs <= foretold.room <= result.pairs + 1


def test_a_slow_way_to_the_originals_is_seen_in_how_many_pairs_a_time_holds() -> None:
    """Where the originals slow the writes, each step waits: fewer pairs are foretold after the first way."""
    bench = at_work()
    bench.server.write_seconds = 0.005
    bench.answer(TRIAL)
    rooms = []
    for _ in range(1500):
        bench.server.write_seconds = 0.005 if bench.m < 2000 else 0.0125
        bench.turn()
        shown = proof.progress(bench.state.proof)
        assert shown is not None
        rooms.append(shown.room)
    assert (rooms[0], rooms[-1]) == (7, 4)


@pytest.mark.parametrize(
    ("asked", "end", "why"),
    [
        (drain(), TrialEnd.DRAIN, "trial ended, a drain for ann took its place"),
        (command("override", value=900, ttl=60.0), TrialEnd.OVERRIDE, "trial ended, an override of ann"),
        (command("restore"), TrialEnd.RESTORE, "trial ended, the originals are being restored for ann"),
        (command("mode", value="advisory"), TrialEnd.ADVISORY, "the mode is advisory: ann said so"),
        (command("overlay", overlay={"max_io_capacity_max": 15_000}), TrialEnd.LIMITS, "of 100 to 15000"),
        (command("stop_trial"), TrialEnd.STOPPED, "trial stopped"),
    ],
    ids=lambda one: one.value if isinstance(one, TrialEnd) else "",
)
def test_a_person_who_asks_for_something_else_ends_it(asked: Command, end: TrialEnd, why: str) -> None:
    """A trial yields to all else: the answer says that it ends and what it came to, the log what ended it."""
    bench = under_way(1)
    accepted, answer = bench.answer(asked)
    assert accepted, answer
    assert "no verdict: no pairs of blocks counted" in answer
    bench.turn()
    assert bench.state.proof.running is None
    assert bench.state.proof.result is not None
    assert bench.state.proof.result.end is end
    assert why in bench.said("baseline_trial_ended")[-1]


def test_a_trial_waits_for_the_way_back_of_a_drain_and_says_how_long() -> None:
    """After a drain is cancelled the age is said to be on its way back, and until when no trial begins."""
    bench = at_work()
    assert "for 10 min more" in (bench.turn(drain()), bench.answer(TRIAL))[1][1]
    bench.turns(60)
    _, at_once = bench.answer(command("cancel_drain"), TRIAL)
    accepted, later = bench.answer(TRIAL)
    assert not accepted
    found = re.search(r"the drain is over, .* on its way back .*: ask again in (\d+) min", later)
    assert found, later
    assert "on its way back" in at_once
    bench.turns(60 * int(found[1]) + 60)
    accepted, why = bench.answer(TRIAL)
    assert accepted, why


def test_a_trial_of_hours_is_confirmed_in_hours() -> None:
    """What was asked for in hours is answered in hours."""
    assert "trial for 4 h:" in at_work().answer(replace(TRIAL, ttl=4 * 3600.0))[1]


def test_after_its_end_in_a_block_of_the_originals_ours_come_back() -> None:
    """A trial that ends where the originals are in force leaves the server as the loop had it before."""
    bench = under_way()
    until(bench, TrialSide.BASELINE)
    bench.turn(command("stop_trial"))
    bench.turns(3)
    assert bench.m < DEFAULT.io_capacity_max


def with_a_pair(bench: Bench, count: int = 1) -> Running:
    """Tick until so many pairs are counted."""
    for _ in range(4000):
        running = bench.state.proof.running
        if running is None or len(running.pairs) >= count:
            break
        bench.turn()
    assert running is not None
    assert len(running.pairs) == count
    return running


def test_a_pause_and_a_restart_of_the_daemon_discard_a_pair_and_no_more() -> None:
    """The trial goes on afterwards with the pairs that it has, and counts the next one."""
    bench = under_way()
    before = with_a_pair(bench)
    bench.turn(command("pause"))
    bench.turns(30)
    waiting = bench.state.proof.running
    assert waiting is not None
    assert waiting.waits
    bench.state = next_daemon(
        bench.state,
        settings=bench.state.settings,
        originals=DEFAULT,
        left=(bench.server.capacity,),
        now=bench.record.tick.now,
    )
    bench.turn(command("resume"))
    after = with_a_pair(bench, 2)
    assert (after.ends, after.seed, after.pairs[0]) == (before.ends, before.seed, before.pairs[0])
    assert after.discarded <= before.discarded + 1


def test_a_reading_that_is_missed_costs_a_trial_nothing() -> None:
    """Figures are differences of counters: with every tenth reading missing all pairs count."""
    bench = under_way(1)
    for _ in range(200):
        bench.turns(9)
        bench.silent(1)
    running = bench.state.proof.running
    assert running is not None
    assert (len(running.pairs), running.discarded) == (2, 0)


def test_an_emergency_ends_it_with_the_safer_side() -> None:
    """One in a block of ours brings the originals back, whose M is higher; the event says so."""
    bench = under_way(30)
    until(bench, TrialSide.OURS)
    bench.server.redo_rate = 30e6
    bench.until("emergency", limit=120)
    assert bench.state.proof.running is None
    assert bench.state.proof.result is not None
    assert bench.state.proof.result.end is TrialEnd.EMERGENCY
    assert bench.state.restoring


def seconds_beyond(bench: Bench, seconds: int) -> int:
    """Return for how many of the next seconds the age lies beyond the sync point."""
    readings = (bench.turn().tick.reading for _ in range(seconds))
    return sum(isinstance(one, Sample) and one.checkpoint_age >= one.sync_point for one in readings)


@pytest.mark.parametrize("rate", [6e6, 10e6, 30e6])
@pytest.mark.parametrize("who", ["", "ann", BASELINE_GUARD])
def test_a_way_back_to_a_higher_m_is_no_slower_in_an_emergency_than_the_loop(rate: float, who: str) -> None:
    """Whoever asked for the originals, a trial too, a surge costs no more seconds beyond the sync point."""
    bench = under_way(30)
    until(bench, TrialSide.OURS)
    bench.turns(60)
    plain = bench.fork()
    plain.turn(command("stop_trial"))
    bench.turn(*([command("stop_trial")] if who else []))
    if who:
        bench.state = begin_restore(bench.state, who, now=bench.record.tick.now)
    bench.server.redo_rate = plain.server.redo_rate = rate
    assert seconds_beyond(bench, 150) <= seconds_beyond(plain, 150)
    assert (bench.server.capacity, bench.record.mode) == (DEFAULT, Mode.ADVISORY)


def test_a_surge_that_needs_more_than_the_originals_leaves_the_loop_at_work() -> None:
    """The originals are not the safer side there: the loop raises M beyond them, and says so."""
    bench = under_way(30, originals=Capacity(1000, 2000))
    until(bench, TrialSide.OURS)
    bench.turns(60)
    bench.turn()
    bench.server.redo_rate = 10e6
    bench.turns(30)
    assert bench.m > 2000
    assert bench.record.mode is Mode.ACTIVE
    assert bench.codes("restore_cancelled")


def test_what_spoils_each_pair_does_not_have_the_values_go_to_and_fro() -> None:
    """A backup lock every two minutes has no more than one way begun in a block's time."""
    bench = under_way(1)
    running = bench.state.proof.running
    assert running is not None
    ways, before, seconds = 0, bench.state.proof.at_baseline, 3600
    for second in range(seconds):
        bench.server.shows = {"backup_locked": second % 120 < 5}
        bench.turn()
        after = bench.state.proof.at_baseline
        ways, before = ways + (after and not before), after
    assert 2 <= ways <= 1 + seconds / running.block_seconds


def outside(bench: Bench, limit: int = 5000) -> None:
    """Set a limit below the originals."""
    bench.turn(command("overlay", overlay={"max_io_capacity_max": limit}, reason="a noisy neighbour"))


def test_a_limit_that_leaves_the_originals_out_refuses_a_trial() -> None:
    """What a trial could not write it does not begin."""
    bench = at_work()
    outside(bench)
    accepted, why = bench.answer(TRIAL)
    assert not accepted
    assert "limits" in why


@pytest.mark.parametrize("ticks", range(13))
@pytest.mark.parametrize("limit", [5000, 700])
def test_originals_outside_the_limits_are_never_written_by_a_trial(limit: int, ticks: int) -> None:
    """A limit that leaves the originals out ends a trial under way, whenever it comes between two steps."""
    bench = under_way(ticks)
    before = len(bench.server.applied)
    outside(bench, limit)
    bench.turns(600)
    assert bench.state.proof.running is None
    assert all(pair.io_capacity_max <= limit for _, pair, _ in bench.server.applied[before:])


@pytest.mark.parametrize("ticks", range(8))
def test_no_step_towards_originals_inside_the_limits_is_outside_them(ticks: int) -> None:
    """A limit that leaves out what is in force counts at once, and the trial goes on with its originals."""
    bench = under_way(ticks, Capacity(150, 300))
    before = len(bench.server.applied)
    outside(bench, 400)
    bench.turns(60)
    assert bench.state.proof.running is not None
    assert bench.m == 300
    assert all(pair.io_capacity_max <= 400 for _, pair, _ in bench.server.applied[before:])


def test_an_emergency_that_can_raise_nothing_ends_it_as_well() -> None:
    """Where M is as high already as the limits allow, the originals do not stay for their block."""
    bench = at_work()
    bench.turn(command("trial", value=1, ttl=7200.0))
    until(bench, TrialSide.BASELINE)
    bench.server.redo_rate = 100e6
    for _ in range(120):
        record = bench.turn()
        if record.decision.source == "emergency":
            break
    assert (record.decision.source, record.decision.steps) == ("emergency", ())
    assert bench.state.proof.running is None


def test_a_load_that_grew_during_the_originals_turn_does_not_get_the_old_pair_back() -> None:
    """What the loop had before is not written where the load of now needs far more."""
    bench = under_way(1)
    until(bench, TrialSide.BASELINE)
    running = bench.state.proof.running
    assert running is not None
    old = running.ours
    bench.server.redo_rate *= 4.0
    bench.turns(40)
    since = len(bench.records)
    bench.turn(command("stop_trial"))
    bench.turns(60)
    asked = [one.decision.target for one in bench.records[since:] if one.decision.target is not None]
    assert old is not None
    assert old not in asked
    assert not bench.codes("sync_flush", since=since)


def test_a_trial_is_told_to_be_over_where_another_server_answers() -> None:
    """After a failover nothing of it goes on, and the log says what it had come to."""
    bench = under_way(1)
    bench.server.identity = "another"
    bench.turns(3)
    assert bench.state.proof.running is None
    assert bench.state.proof.result is not None
    assert bench.state.proof.result.end is TrialEnd.OTHER_SERVER
    assert "another server" in bench.said("baseline_trial_ended")[-1]


@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_restart_of_mysqld_ends_a_trial_with_its_own_result(daemon: str) -> None:
    """A daemon that sees it, or begins after it, keeps its pairs and why it ended, and journals them."""
    bench = under_way(1)
    pairs = with_a_pair(bench).pairs
    if daemon == "down":
        settings, now = bench.state.settings, bench.record.tick.now
        bench.state = next_daemon(bench.state, settings=settings, later=4000.0, now=now)
    bench.server.restart(DEFAULT)
    bench.turns(3)
    result = next(one.trial for one in reversed(bench.records) if one.trial is not None)
    assert (result.end, result.pairs) == (TrialEnd.RESTARTED, len(pairs))
    assert bench.state.proof.result == result
    assert "mysqld was restarted" in bench.said("baseline_trial_ended")[-1]


def test_the_baseline_guard_says_that_it_ended_a_trial_and_why() -> None:
    """A trial that the guard cuts short is no person's doing: the log says what the server showed."""
    bench = under_way(1)
    returned = Returned("fewer row changes", LoadContext(1e6, 300.0, 0.0, 0.0, float(A)), Shown())
    guard = replace(bench.state.baseline_guard, returned=returned)
    bench.state = begin_restore(
        replace(bench.state, baseline_guard=guard), BASELINE_GUARD, now=bench.record.tick.now
    )
    bench.turn()
    assert bench.state.proof.result is not None
    assert bench.state.proof.result.end is TrialEnd.BASELINE_GUARD
    assert "fewer row changes" in bench.said("baseline_trial_ended")[-1]


def test_a_week_has_longer_blocks_and_not_ever_more_of_them() -> None:
    """However long a trial is asked for, what is kept of it, and the ways that it costs, are bounded."""
    bench = at_work()
    assert bench.answer(replace(TRIAL, ttl=float(LONGEST_TTL)))[0]
    running = bench.state.proof.running
    assert running is not None
    assert LONGEST_TTL / (2.0 * running.block_seconds) <= MOST_PAIRS


def test_a_trial_keeps_to_the_invariants() -> None:
    """An independent referee finds each write as the design says, a pause and a new limit between."""
    bench, referee = fresh(), Referee(saved=True)
    bench.server.ours = True

    def turn(*asked: Command) -> None:
        before, ours = bench.state, bench.server.ours
        referee.judge(before, bench.turn(*asked), bench.state, ours=ours)

    for _ in range(60):
        turn()
    turn(TRIAL)
    for _ in range(1500):
        turn()
    turn(command("pause"))
    for _ in range(30):
        turn()
    turn(command("resume"))
    for _ in range(900):
        turn()
    turn(command("overlay", overlay={"max_io_capacity_max": 5000}))
    for _ in range(120):
        turn()
    assert DecisionKind.TRIAL in bench.wrote()
