"""The other low-water mark: tried with consent alone, kept where it wins, and the operator's comes back."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer, replays
from tests.factory import DEFAULT, command
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.standing import standing_of, take_up
from tuner.core.step import start
from tuner.records import LOW_WATER_MARK, SET_LOW_WATER, Bounds, Command, LowWaterProgress, TickRecord
from tuner.settings import Mode, Settings

CONSENT = Settings(mode=Mode.ACTIVE, policy="bayes-low-water", max_changes_per_hour=120)
"""More than the default: this server's law is the same with both marks, so that every block is an arrival."""

MARK_SAVED = command("low_water_saved", who="journal")
TRIED = 1_000


def beside(*, mark: int | None = 0, settings: Settings = CONSENT, **gains: float) -> Bench:
    """Return a loop in control of a server with that mark; ``gains`` are the rows with 0 and with 0.001."""
    server = FakeServer()
    server.combines, server.mark = 0.5, mark
    server.gains = {0: gains.get("zero", 1.0), TRIED: gains.get("above", 1.0)}
    return Bench(settings, server).in_control()


def marks(bench: Bench) -> list[int]:
    """Return the low-water marks written so far."""
    return [value for steps, _, _ in bench.server.applied for name, value in steps if name == LOW_WATER_MARK]


def codes(bench: Bench) -> list[str]:
    """Return the events so far."""
    return [event.code for record in bench.records for event in record.events]


def begun(bench: Bench) -> Bench:
    """Go on until a trial has begun."""
    for _ in range(4000):
        bench.turn()
        if bench.state.mark.running is not None:
            return bench
    raise AssertionError(f"no trial begins: {bench.state.mark.why}")


def at_rest(bench: Bench) -> Bench:
    """Let no small change of C and M come between: what follows is of the mark alone."""
    bench.state = replace(bench.state, settings=replace(bench.state.settings, dead_band=0.2))
    return bench


def trying(bench: Bench, *commands: Command) -> Bench:
    """Go on until the other mark is in force."""
    begun(bench).turn(MARK_SAVED, *commands)
    before = bench.server.mark
    for _ in range(3000):
        bench.turn()
        if bench.server.mark != before:
            bench.turn()
            return bench
    raise AssertionError(f"the other mark is never written: {bench.state.mark}")


def ended(bench: Bench) -> Bench:
    """Go on until the trial is over."""
    for _ in range(40_000):
        bench.turn()
        if bench.state.mark.running is None:
            return bench
    raise AssertionError("the trial does not end")


def shown(record: TickRecord) -> LowWaterProgress:
    """Return what a watcher sees of it."""
    assert record.optimiser is not None
    assert record.optimiser.low_water is not None
    return record.optimiser.low_water


@pytest.mark.parametrize("policy", ["bayes", "cascade"])
def test_without_consent_nothing_is_written_and_nothing_is_kept(policy: str) -> None:
    """Other policies leave the mark alone for good: no write, no state, no word of it."""
    bench = beside(settings=replace(CONSENT, policy=policy), above=1.5)
    bench.turns(2500)

    assert marks(bench) == []
    assert bench.state.mark == start(CONSENT, bench.server.facts()).mark
    assert bench.record.optimiser is None or bench.record.optimiser.low_water is None


def test_consent_changes_no_decision_where_no_mark_decides() -> None:
    """On a server on which the mark decides nothing the policy is bayes, decision by decision."""
    plain, consented = (
        beside(mark=None, settings=replace(CONSENT, policy=name)) for name in ("bayes", CONSENT.policy)
    )
    for bench in (plain, consented):
        bench.turns(1500)

    assert [replace(one.decision, policy="", detail="") for one in plain.records] == [
        replace(one.decision, policy="", detail="") for one in consented.records
    ]
    assert "does not decide whether the age counts" in shown(consented.record).why


def test_the_mark_waits_for_the_operators_to_be_on_disk() -> None:
    """No other mark is written before the disk has the one found; then it is."""
    bench = begun(beside())
    while bench.state.mark.running is not None and not bench.state.mark.running.suggested:
        bench.turn()
    bench.turns(30)
    assert marks(bench) == []

    bench.turn(command("low_water_saved", value="another server 0"))
    bench.turns(3)
    assert marks(bench) == []
    bench.turn(MARK_SAVED)
    bench.turns(60)
    assert marks(bench) == [TRIED]


@pytest.mark.parametrize("found", [0, TRIED, 50_000_000])
def test_only_two_marks_are_ever_tried(found: int) -> None:
    """0.001 where the operator has 0, and 0 where there is more; C and M are not written with it."""
    bench = trying(beside(mark=found))

    assert marks(bench) == [0 if found else TRIED]
    written = [record.decision for record in bench.records if record.decision.kind.value == "low_water"]
    assert [one.steps for one in written] == [((LOW_WATER_MARK, 0 if found else TRIED),)]
    assert written[0].target == bench.server.capacity
    ours = bench.state.mark
    assert (ours.original, ours.own) == (found, 0 if found else TRIED)


def test_what_wins_is_kept_and_what_loses_goes_back() -> None:
    """A mark with which five percent more rows change stays in force; one with fewer does not."""
    won, lost = (ended(trying(beside(above=above))) for above in (1.05, 0.95))
    won.turns(30)
    lost.turns(30)

    assert won.server.mark == TRIED
    assert shown(won.record).used == TRIED
    assert shown(won.record).operator == 0
    assert {"trial_ended", "suggestion_used"} <= set(codes(won))
    assert lost.server.mark == 0
    assert lost.state.mark.original is None
    assert "low_water_back" in codes(lost)
    assert lost.state.mark.rest_until > 1000.0 + lost.server.now


def test_it_counts_among_the_changes_of_the_hour() -> None:
    """A write of the mark is a change like any other, and no write of C or M follows within the dwell."""
    bench = trying(beside())

    assert bench.record.changes_last_hour >= 1
    assert bench.state.writes.last is not None
    assert bench.state.writes.last >= 1000.0 + bench.server.now - 3.0


@pytest.mark.parametrize(
    "order",
    [
        command("park"),
        command("pause"),
        command("mode", value="advisory"),
        command("settings", settings=replace(CONSENT, policy="bayes")),
        command("settings", settings=replace(CONSENT, mode=Mode.ADVISORY)),
        command("override", value=600, ttl=60.0),
    ],
    ids=["park", "pause", "advisory", "no consent", "configured advisory", "override"],
)
def test_the_operators_mark_is_back_within_seconds(order: Command) -> None:
    """Park, pause, advisory mode, a reload without consent, a person: it goes back, beside no other write."""
    bench = trying(beside())
    bench.turn(order)
    bench.turns(15)

    assert bench.server.mark == 0
    assert marks(bench) == [TRIED, 0]
    assert bench.state.mark.original is None
    for record in bench.records:
        names = {name for name, _ in record.decision.steps}
        assert len(names) == 1 or LOW_WATER_MARK not in names


def test_a_stop_parks_and_then_puts_the_mark_back() -> None:
    """The stop parks C and M; the tick after it, which the loop turns for that alone, writes the mark."""
    bench = trying(beside())
    bench.turn(command("stop"))
    parked = bench.record.decision
    bench.turn()

    assert parked.kind.value in {"park", "low_water"}
    assert bench.server.mark == 0


def test_a_restore_puts_the_mark_back_first() -> None:
    """Before the way back of C and M begins the mark is the operator's; then they follow."""
    bench = trying(beside())
    bench.turn(command("restore"))
    for _ in range(2000):
        if bench.state.mode is Mode.ADVISORY:
            break
        bench.turn()
    written = [steps[0][0] for steps, _, _ in bench.server.applied]

    assert bench.server.mark == 0
    assert bench.server.capacity == DEFAULT
    assert written.index(LOW_WATER_MARK) < len(written) - 2
    assert marks(bench)[-1] == 0


def test_an_emergency_in_a_tried_block_ends_the_trial_at_once() -> None:
    """The raise comes first; the tick after it puts the mark back, and the rest is a long one."""
    bench = trying(beside())
    bench.server.density *= 4.0
    bench.server.redo_rate *= 3.0
    for _ in range(120):
        bench.turn()
        if bench.record.decision.kind.value == "emergency":
            break
    bench.turns(3)

    assert bench.server.mark == 0
    assert "suggestion_unsafe" in codes(bench)
    assert bench.state.mark.rest_until > 1000.0 + bench.server.now + 3000.0


def test_what_a_suggestion_moved_is_followed_once_also_beside_a_trial() -> None:
    """A set-point that was moved just before a trial begins is not followed anew at every tick of it."""
    bench = begun(beside())
    moved = replace(bench.state.trials, moved_from=0.8)
    bench.state = replace(bench.state, trials=moved)

    bench.turn()

    assert bench.state.mark.running is not None
    assert bench.state.trials.moved_from == 0.0


def test_somebody_elses_mark_makes_the_loop_yield() -> None:
    """A mark that is not what we wrote last is a foreign change: held, left as it is, and theirs."""
    bench = trying(beside())
    bench.server.mark = 5_000_000
    bench.turn()
    held = {hold.code.value for hold in bench.record.holds}
    bench.turns(400)
    assert held == {hold.code.value for hold in bench.record.holds} == {"foreign_change"}
    bench.turn(command("resume"))
    bench.turns(5)

    assert bench.server.mark == 5_000_000
    assert marks(bench) == [TRIED]
    assert bench.state.mark.original is None
    assert not bench.record.holds


def test_before_our_first_write_another_mark_only_ends_the_trial() -> None:
    """While nothing of ours was in force a change of the mark is the operator's, and no hold."""
    bench = begun(beside())
    bench.server.mark = 5_000_000
    bench.turns(3)

    assert not bench.record.holds
    assert bench.state.mark.running is None
    assert bench.state.mark.original is None


def test_after_a_restart_of_mysqld_its_own_mark_is_the_operators() -> None:
    """What mysqld started with is the new original: nothing is put back."""
    bench = trying(beside())
    bench.server.restart(DEFAULT)
    bench.server.mark = 0
    bench.turns(30)

    assert bench.state.mark.original is None
    assert marks(bench) == [TRIED]


def test_the_next_daemon_puts_back_what_a_dead_one_left() -> None:
    """A daemon that died with the other mark in force left a note: the next active one puts the mark back."""
    dead = trying(beside())
    note = standing_of(dead.state)
    bench = Bench(replace(CONSENT, policy="cascade"), dead.server, originals=DEFAULT)
    bench.state = take_up(bench.state, note, now=1000.0 + dead.server.now)
    bench.turns(30)

    assert note.low_water == 0
    assert bench.server.mark == 0
    assert standing_of(bench.state).low_water is None


def test_an_advisory_daemon_leaves_it_and_says_so() -> None:
    """Advisory mode writes nothing, this neither; what is owed stays on disk and is shown."""
    dead = trying(beside())
    bench = Bench(replace(CONSENT, mode=Mode.ADVISORY), dead.server, originals=DEFAULT)
    bench.state = take_up(bench.state, standing_of(dead.state), now=1000.0 + dead.server.now)
    bench.turns(30)

    assert marks(bench) == [TRIED]
    assert standing_of(bench.state).low_water == 0
    assert shown(bench.record).owed


def test_a_refusal_is_said_once_and_bars_further_trials() -> None:
    """A server that does not take the mark is asked once; the reason is the status's from then on."""
    bench = at_rest(begun(beside()))
    bench.server.refusal = "Access denied; you need SUPER (error 1227)"
    bench.server.denied = True
    bench.turn(MARK_SAVED)
    for _ in range(3000):
        bench.turn()
        if marks(bench):
            break
    bench.server.refusal = ""
    bench.turns(4000)

    assert len(marks(bench)) == 1
    assert codes(bench).count("write_failed") == 1
    assert "Access denied" in shown(bench.record).why
    assert not bench.record.holds


@pytest.mark.parametrize(
    ("found", "sets", "why"),
    [(0, False, "setup-sql --low-water-mark"), (50_000, True, "could not put 0.05 back"), (TRIED, True, "")],
)
def test_procedures_have_to_set_both_marks(found: int, *, sets: bool, why: str) -> None:
    """An account that writes through procedures needs the one for the mark, which knows two values alone."""
    bench = beside(mark=found)
    bounds = Bounds(100, 20_000, 20_000)
    bench.state = replace(
        bench.state, facts=replace(bench.state.facts, procedure=bounds, sets_low_water=sets)
    )
    bench.turns(5)

    assert why in shown(bench.record).why
    assert (SET_LOW_WATER in shown(bench.record).why) == bool(why)


def test_a_mark_with_which_the_load_goes_in_waves_is_not_used() -> None:
    """Five percent more rows in the mean are no gain where writers all but wait every minute."""
    bench = trying(beside(above=1.05))
    for turn in range(40_000):
        wave = bench.server.mark == TRIED and turn % 20 == 0
        bench.server.gains[TRIED] = 0.3 if wave else 1.09
        bench.turn()
        if bench.state.mark.running is None:
            break
    (said,) = [e.message for e in bench.record.events if e.code == "trial_ended"]
    bench.turns(30)

    assert "slow" in said
    assert bench.server.mark == 0


def test_a_run_with_a_trial_replays_to_the_same() -> None:
    """The journal's bytes give every record again, from a snapshot in the middle of a tried block too."""
    bench = begun(beside())
    seen, state = len(bench.records), decode_state(encode_state(bench.state))
    bench.turn(MARK_SAVED)
    bench.turns(2500)
    assert marks(bench)

    assert replays(state, bench.records[seen:], restart=1500) == bench.state
