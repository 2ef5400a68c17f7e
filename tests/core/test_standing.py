"""What was said to stand until somebody says otherwise outlives the daemon that was told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, next_daemon
from tests.factory import ACTIVE, FACTS, OTHER_IDENTITY, command
from tuner.core.ownership.standing import why_advisory
from tuner.core.state import State
from tuner.core.step import start
from tuner.records import Capacity, HoldCode
from tuner.settings import Mode

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
