"""What was said to stand until somebody says otherwise outlives the daemon that was told."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, FACTS, OTHER_IDENTITY, command
from tuner.core.ownership.standing import Standing, standing_of, take_up, why_advisory
from tuner.core.state import State
from tuner.core.step import start
from tuner.records import Capacity, HoldCode
from tuner.settings import Mode


def again(state: State, *, later: float = 0.0, identity: str = FACTS.identity) -> State:
    """Return what the next daemon begins with, by way of the text that the journal keeps."""
    kept = msgspec.json.decode(msgspec.json.encode(standing_of(state)), type=Standing)
    facts = replace(state.facts, started=state.facts.started + later, identity=identity)
    return take_up(start(ACTIVE, facts), kept, now=50.0)


def held(state: State) -> set[HoldCode]:
    """Return the codes that are latched."""
    latches = (state.latches.paused, state.latches.foreign)
    return {hold.code for hold in latches if hold is not None}


def test_a_pause_outlives_the_daemon(bench: Bench) -> None:
    """A crash or an upgrade of the daemon does not end a person's pause, nor does a restart of mysqld."""
    bench.turn(command("pause", reason="restoring a backup"))

    assert held(again(bench.state)) == {HoldCode.PAUSED}
    assert held(again(bench.state, later=600.0)) == {HoldCode.PAUSED}
    paused = again(bench.state).latches.paused
    assert paused is not None
    assert "restoring a backup" in paused.reason


def test_a_resumed_pause_is_over(bench: Bench) -> None:
    """What was ended does not come back."""
    bench.turn(command("pause"))
    bench.turn(command("resume"))

    assert held(again(bench.state)) == set()


def test_a_change_by_somebody_else_still_waits_for_a_person(bench: Bench) -> None:
    """The next daemon yields to the same change; after a restart of mysqld the values are its own anew."""
    bench.server.capacity, bench.server.ours = Capacity(300, 3_000), False
    bench.turn()

    assert held(again(bench.state)) == {HoldCode.FOREIGN_CHANGE}
    assert held(again(bench.state, later=600.0)) == set()


@pytest.mark.parametrize("asked", ["restore", "mode"])
def test_advisory_by_a_persons_word_stays_advisory(bench: Bench, asked: str) -> None:
    """After a restore, or mode advisory, a restart of the service does not write again by itself."""
    bench.turn(command(asked, value="advisory" if asked == "mode" else None))
    bench.turns(200)

    assert bench.state.mode is Mode.ADVISORY
    assert again(bench.state).mode is Mode.ADVISORY
    bench.turn(command("mode", value="active"))
    assert again(bench.state).mode is Mode.ACTIVE


def test_active_by_a_persons_word_ends_with_the_daemon() -> None:
    """Where the configuration says advisory, a trial in active mode lasts no longer than the daemon."""
    configured = replace(ACTIVE, mode=Mode.ADVISORY)
    bench = Bench(configured)
    bench.turn(command("mode", value="active"))
    kept = msgspec.json.decode(msgspec.json.encode(standing_of(bench.state)), type=Standing)

    assert bench.state.mode is Mode.ACTIVE
    assert take_up(start(configured, FACTS), kept, now=50.0).mode is Mode.ADVISORY


def test_a_restore_cut_short_is_not_undone(bench: Bench) -> None:
    """A daemon that dies half-way back to the originals is followed by one that writes nothing."""
    bench.turn(command("restore"))

    assert bench.state.restoring
    assert again(bench.state).mode is Mode.ADVISORY


def test_a_restore_that_a_stop_cut_short_is_not_undone(bench: Bench) -> None:
    """A stop half-way back to the originals parks nothing, and the next daemon stays advisory."""
    bench.turn(command("restore"))
    before = bench.server.capacity
    bench.turn(command("stop", value="park"))

    assert bench.server.capacity == before
    assert again(bench.state).mode is Mode.ADVISORY


def test_a_standing_pause_is_no_new_one(bench: Bench) -> None:
    """The park of a pause is written once, not again by every daemon that finds the pause standing."""
    bench.turn(command("pause"))
    state = again(bench.state)

    assert {hold.code for hold in state.holds} == {HoldCode.PAUSED}


def test_another_server_is_not_bound_by_it(bench: Bench) -> None:
    """What was said about one server says nothing about the next one at that address."""
    bench.turn(command("pause"))

    assert held(again(bench.state, identity="another server")) == set()


def test_why_it_is_advisory_is_said_and_outlives_the_daemon(bench: Bench) -> None:
    """A restore, a person with a reason, another server and the configuration are told apart."""
    bench.turn(command("restore"))
    cut_short = why_advisory(again(bench.state))
    bench.turns(200)
    restored = bench.record.advisory
    bench.turn(command("mode", value="active"))
    active = bench.record.advisory
    bench.turn(command("mode", value="advisory", reason="upgrade"))
    said = why_advisory(again(bench.state))
    bench.server.identity = OTHER_IDENTITY
    bench.turn()

    assert cut_short == "a restore by ann was cut short"
    assert restored == "the originals were restored for ann"
    assert active == ""
    assert said == "ann said so: upgrade"
    assert bench.record.advisory == f"another server, {OTHER_IDENTITY}, answers at this address"
    assert why_advisory(start(replace(ACTIVE, mode=Mode.ADVISORY), FACTS)) == "the configuration says so"


def test_resume_says_when_it_is_the_mode_that_is_in_the_way(bench: Bench) -> None:
    """Beside advisory mode a resume is not enough, nor is mode active beside a pause: both say so."""
    bench.turn(command("mode", value="advisory"))
    refused = bench.turn(command("resume")).acknowledgements[-1]
    bench.turn(command("pause"))
    entered = bench.turn(command("mode", value="active")).acknowledgements[-1]

    assert not refused.accepted
    assert refused.message.endswith(
        "; the mode is advisory (ann said so): innobrim mode active lets the daemon write"
    )
    assert entered.message == "mode advisory → active; still held (paused): innobrim resume ends that"
