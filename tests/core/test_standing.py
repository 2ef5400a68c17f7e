"""What was said to stand until somebody says otherwise outlives the daemon that was told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.types import LoadContext
from tests.bench import Bench, next_daemon
from tests.factory import ACTIVE, FACTS, IDENTITY, OTHER_IDENTITY, command
from tuner.core.baseline.guard import Mean, Returned, Shown
from tuner.core.ownership.standing import (
    Standing,
    moved,
    standing_of,
    take_up,
    unknown,
    why_advisory,
    why_not_active,
)
from tuner.core.state import LowWater, State
from tuner.core.step import start
from tuner.records import Capacity, HoldCode, Remedy
from tuner.settings import Mode, Settings

ADVISORY = replace(ACTIVE, mode=Mode.ADVISORY)


def held(state: State) -> set[HoldCode]:
    """Return the codes that are latched."""
    latches = (state.latches.paused, state.latches.foreign)
    return {hold.code for hold in latches if hold is not None}


def test_a_pause_outlives_the_daemon_and_is_no_new_one(bench: Bench) -> None:
    """Neither a crash of the daemon nor a restart of mysqld ends a person's pause, but another server."""
    bench.turn(command("pause", reason="restoring a backup"))
    later = next_daemon(bench.state)

    assert held(later) == held(next_daemon(bench.state, later=600.0)) == {HoldCode.PAUSED}
    assert {hold.code for hold in later.holds} == {HoldCode.PAUSED}, "or it would be parked again"
    assert later.latches.paused is not None
    assert "restoring a backup" in later.latches.paused.reason
    assert held(next_daemon(bench.state, identity="another server")) == set()
    bench.turn(command("resume"))
    assert held(next_daemon(bench.state)) == set()


def test_a_change_by_somebody_else_still_waits_for_a_person(bench: Bench) -> None:
    """The next daemon yields to the same change; after a restart of mysqld the values are its own anew."""
    bench.server.capacity, bench.server.ours = Capacity(300, 3_000), False
    bench.turn()

    assert held(next_daemon(bench.state)) == {HoldCode.FOREIGN_CHANGE}
    assert held(next_daemon(bench.state, later=600.0)) == set()


@pytest.mark.parametrize("asked", [command("restore"), command("mode", value="advisory")], ids=str)
def test_advisory_by_a_persons_word_stays_advisory(bench: Bench, asked: object) -> None:
    """After a restore, or mode advisory, a restart of the service does not write again by itself."""
    bench.turn(asked)  # type: ignore[arg-type] # a command
    bench.turns(200)

    assert bench.state.mode is next_daemon(bench.state).mode is Mode.ADVISORY
    bench.turn(command("mode", value="active"))
    assert next_daemon(bench.state).mode is Mode.ACTIVE


def test_active_by_a_persons_word_ends_with_the_daemon() -> None:
    """Where the configuration says advisory, a trial in active mode lasts no longer than the daemon."""
    bench = Bench(ADVISORY)
    bench.turn(command("mode", value="active"))

    assert bench.state.mode is Mode.ACTIVE
    assert next_daemon(bench.state, settings=ADVISORY).mode is Mode.ADVISORY


@pytest.mark.parametrize("stopped", [False, True], ids=["a crash", "a stop"])
def test_a_restore_cut_short_is_not_undone(bench: Bench, *, stopped: bool) -> None:
    """A daemon that ends half-way back to the originals parks nothing, and the next one writes nothing."""
    bench.turn(command("restore"))
    before = bench.server.capacity
    if stopped:
        bench.turn(command("stop", value="park"))

    assert bench.server.capacity == before
    assert bench.state.restoring or stopped
    assert next_daemon(bench.state).mode is Mode.ADVISORY


def test_why_it_is_advisory_is_said_and_outlives_the_daemon(bench: Bench) -> None:
    """A restore, a person with a reason, another server and the configuration are told apart."""
    bench.turn(command("restore"))
    said = [why_advisory(next_daemon(bench.state))]
    said.append(bench.turns(200).advisory)
    said.append(bench.turn(command("mode", value="active")).advisory)
    bench.turn(command("mode", value="advisory", reason="upgrade"))
    said.append(why_advisory(next_daemon(bench.state)))
    bench.server.identity = OTHER_IDENTITY
    said.append(bench.turn().advisory)
    said.append(why_advisory(start(ADVISORY, FACTS)))

    assert said == [
        "a restore by ann was cut short",
        "the originals were restored for ann",
        "",
        "ann said so: upgrade",
        f"another server, {OTHER_IDENTITY}, answers at this address",
        "the configuration says so",
    ]


def test_resume_says_when_it_is_the_mode_that_is_in_the_way(bench: Bench) -> None:
    """Beside advisory mode a resume is not enough, nor is mode active beside a pause: both say so."""
    bench.turn(command("mode", value="advisory"))
    accepted, said = bench.answer(command("resume"))
    bench.turn(command("pause"))
    entered = bench.answer(command("mode", value="active"))[1]

    assert not accepted
    assert "innobrim mode active" in said
    assert "still held (paused); ended by innobrim resume" in entered


# What a daemon takes up from the one before, written by hand.

STANDS = Standing(IDENTITY, FACTS.started)
UNHEARD = "it is not known what stood before, such as a pause: the disk was full"
RETURNED = Returned(
    "it committed less", LoadContext(1e6, 300.0, 0.0, 0.0, 1e8), Shown(), again=Shown(rows=Mean(3)), apart=9.0
)


def begun(standing: Standing, settings: Settings = ACTIVE) -> State:
    """Return the state of a daemon that takes this up."""
    return take_up(start(settings, FACTS), standing, now=5.0)


@pytest.mark.parametrize("identity", ["0", "z"])
def test_what_stands_for_another_server_is_not_taken_up(identity: str) -> None:
    """A pause of one server holds no other one."""
    standing = replace(STANDS, identity=identity, paused="by ann", advisory=True)

    assert begun(standing) == take_up(start(ACTIVE, FACTS), None, now=5.0) == start(ACTIVE, FACTS)


@pytest.mark.parametrize(
    ("later", "same"), [(0.0, True), (-5.0, True), (5.0, True), (5.1, False), (-5.1, False)]
)
def test_what_mysqld_was_left_with_ends_with_its_start(later: float, *, same: bool) -> None:
    """A foreign change and a low-water mark of ours end with a restart; a pause and advisory do not."""
    left = Standing(IDENTITY, FACTS.started + later, "by ann", "theirs", advisory=True, why="so", low_water=0)
    state = begun(left)

    assert held(state) == {HoldCode.PAUSED} | ({HoldCode.FOREIGN_CHANGE} if same else set())
    assert state.low_water == (LowWater(original=0, saved=True, left=True) if same else LowWater())
    assert (state.mode, state.why_advisory, state.advisory_until_said) == (Mode.ADVISORY, "so", True)
    assert standing_of(state) == replace(
        left, started=FACTS.started, foreign="theirs" if same else "", low_water=0 if same else None
    )


@pytest.mark.parametrize(
    ("standing", "paused", "why"),
    [
        (STANDS, UNHEARD, UNHEARD),
        (replace(STANDS, paused="by ann"), f"by ann; {UNHEARD}", UNHEARD),
        (replace(STANDS, paused=UNHEARD), UNHEARD, UNHEARD),
        (replace(STANDS, advisory=True, why="ann said so"), UNHEARD, "ann said so"),
    ],
    ids=["alone", "beside a pause", "for the second time", "beside a person's word"],
)
def test_what_is_not_known_holds(standing: Standing, paused: str, why: str) -> None:
    """A daemon that does not know what stood before is paused and advisory, says so once, and why."""
    state = begun(replace(standing, unheard="the disk was full"))
    assert state.latches.paused is not None

    assert (state.latches.paused.reason, state.mode, state.why_advisory) == (paused, Mode.ADVISORY, why)
    assert state.pending_events == (("unheard", UNHEARD),)
    said, remedies = why_not_active(state)
    assert said == (f"{paused}; advisory: {why}" if standing.advisory else paused)
    assert remedies == ((Remedy.MODE_ACTIVE,) if standing.advisory else ())
    assert take_up(state, standing_of(state), now=6.0).pending_events == state.pending_events
    assert unknown("") == ""


@pytest.mark.parametrize("advisory", [True, False])
@pytest.mark.parametrize("settings", [ACTIVE, ADVISORY], ids=["active", "advisory"])
def test_a_baseline_that_came_back_is_told_again(settings: Settings, *, advisory: bool) -> None:
    """Where the baseline guard keeps a loop advisory that is to be active, the next daemon says so."""
    state = begun(replace(STANDS, advisory=advisory, returned=RETURNED), settings)
    told = advisory and settings is ACTIVE

    assert (
        state.pending_events == (("baseline_back", f"still so from an earlier run: {RETURNED.why}"),) * told
    )
    assert standing_of(state).returned == (replace(RETURNED, again=Shown(), apart=0.0) if told else None)


@pytest.mark.parametrize(("here", "there"), [("", "by bob"), ("by ann", "by bob"), ("by ann", ""), ("", "")])
def test_another_server_at_the_address_makes_it_advisory(here: str, there: str) -> None:
    """Hands off was said, whichever server it is; a person says what becomes of this one."""
    before = Standing(OTHER_IDENTITY, 0.0, paused=there)
    state = moved(begun(replace(STANDS, paused=here)), before, now=5.0)
    said, remedies = why_not_active(state)

    assert (state.mode, state.previous_server) == (Mode.ADVISORY, OTHER_IDENTITY)
    assert state.why_advisory == f"another server, {IDENTITY}, answers at this address"
    answers = f"advisory: {IDENTITY} answers, but the last run was with the server {OTHER_IDENTITY}"
    assert said == "; ".join(filter(None, (here or there, answers)))
    assert remedies == (Remedy.MODE_ACTIVE,)


@pytest.mark.parametrize("mode", [Mode.ACTIVE, Mode.ADVISORY])
@pytest.mark.parametrize("settings", [ACTIVE, ADVISORY], ids=["active", "advisory"])
def test_what_keeps_it_from_writing_is_what_differs_from_the_configuration(
    settings: Settings, mode: Mode
) -> None:
    """Nothing of earlier is in the way where the mode is the configured one."""
    said, remedies = why_not_active(replace(start(settings, FACTS), mode=mode))

    assert bool(said) is bool(remedies) is (mode is not settings.mode)
