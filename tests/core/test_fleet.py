"""What the table of a group makes of a loop: its stage, its kill switch, and the servers that it follows."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, DEFAULT, FACTS, IDENTITY, OTHER_IDENTITY, codes, command
from tuner.core.holds import BY_GROUP
from tuner.core.ownership.standing import Standing, moved
from tuner.core.step import start
from tuner.records import HoldCode, Remedy
from tuner.settings import Mode


def stage(bench: Bench, mode: Mode) -> None:
    """Let a stage of the group begin or end."""
    settings = replace(bench.state.settings, mode=mode, outside_stage=mode is Mode.ADVISORY)
    bench.answer(command("settings", settings=settings))


def paused(bench: Bench, *, on: bool) -> None:
    """Have the kill switch on or off."""
    bench.answer(command("fleet", who=BY_GROUP, value=int(on)))


def test_a_stage_makes_a_server_active_and_takes_it_back(bench: Bench) -> None:
    """A server that is no more in its stage parks and is advisory, and goes on when it is again."""
    bench.turns(120)
    stage(bench, Mode.ADVISORY)
    bench.turns(5)
    assert (bench.state.mode, bench.state.advisory_until_said) == (Mode.ADVISORY, False)

    stage(bench, Mode.ACTIVE)
    assert bench.state.mode is Mode.ACTIVE


def test_a_stage_changes_nothing_that_a_person_said(bench: Bench) -> None:
    """Where a person made one server advisory, a larger stage leaves it so."""
    stage(bench, Mode.ADVISORY)
    bench.answer(command("mode", value="advisory"))
    stage(bench, Mode.ACTIVE)

    assert bench.state.mode is Mode.ADVISORY


@pytest.mark.parametrize("inside", [True, False])
def test_a_smaller_stage_takes_back_no_active_that_a_person_said(bench: Bench, *, inside: bool) -> None:
    """A person's word for active mode lasts, whether the server was in its stage then or not."""
    stage(bench, Mode.ACTIVE if inside else Mode.ADVISORY)
    bench.answer(command("mode", value="active"))
    for mode in (Mode.ADVISORY, Mode.ACTIVE, Mode.ADVISORY):
        stage(bench, mode)
        assert bench.turn().mode is Mode.ACTIVE

    bench.answer(command("mode", value="advisory"))
    stage(bench, Mode.ACTIVE)
    assert bench.turn().mode is Mode.ADVISORY


def test_a_reload_makes_nothing_active_that_a_person_said_advisory(bench: Bench) -> None:
    """An active mode in the configuration leaves it so, as at a restart; without a word it counts."""
    active, advisory = bench.state.settings, replace(bench.state.settings, mode=Mode.ADVISORY)
    assert bench.turn(command("settings", settings=advisory)).mode is Mode.ADVISORY
    assert bench.turn(command("settings", settings=active)).mode is Mode.ACTIVE

    bench.answer(command("mode", value="advisory"))
    for settings in (advisory, active):
        assert bench.turn(command("settings", settings=settings)).mode is Mode.ADVISORY


def test_a_smaller_stage_ends_no_restore(bench: Bench) -> None:
    """The originals that a person wants back come back, and a larger stage does not make it active again."""
    bench.in_control()
    bench.turn(command("restore"))
    stage(bench, Mode.ADVISORY)
    bench.turns(300)
    assert bench.codes("restored")
    stage(bench, Mode.ACTIVE)
    bench.turns(30)

    assert (bench.record.mode, bench.server.capacity) == (Mode.ADVISORY, DEFAULT)


def test_outside_its_stage_a_server_is_not_active_by_a_resume(bench: Bench) -> None:
    """Where a pause ends a restore during which the stage became smaller, a resume leaves it advisory."""
    bench.in_control()
    bench.turn(command("restore"))
    stage(bench, Mode.ADVISORY)
    bench.turns(2)
    bench.answer(command("pause"))
    bench.turns(30)
    accepted, said = bench.answer(command("resume"))

    assert accepted
    assert "outside the stage" in said
    assert bench.turns(30).mode is Mode.ADVISORY


def test_the_kill_switch_pauses_until_it_is_off(bench: Bench) -> None:
    """A daemon of a paused group parks and holds, also where a person made it active, and then goes on."""
    bench.turns(120)
    paused(bench, on=True)
    record = bench.turn()
    assert HoldCode.PAUSED in {hold.code for hold in record.holds}
    written = len(bench.server.applied)
    bench.turns(30)
    assert len(bench.server.applied) <= written + 1

    paused(bench, on=False)
    assert not bench.turn().holds


def test_the_kill_switch_ends_no_pause_of_a_person(bench: Bench) -> None:
    """What a person paused waits for a person, whatever the group's file says."""
    bench.answer(command("pause", who="ann"))
    paused(bench, on=True)
    paused(bench, on=False)

    assert HoldCode.PAUSED in {hold.code for hold in bench.turn().holds}


@pytest.mark.parametrize("person", [False, True])
def test_no_resume_ends_the_kill_switch(bench: Bench, *, person: bool) -> None:
    """It says so, and where to end it; a pause that a person began is over then, and the group's goes on."""
    bench.in_control()
    if person:
        bench.answer(command("pause", who="ann"))
    paused(bench, on=True)
    accepted, said = bench.answer(command("resume"))
    assert accepted is person
    assert "paused = false in [fleet]" in said
    written = len(bench.server.applied)
    record = bench.turns(60)
    assert [hold.remedies for hold in record.holds] == [(Remedy.GROUP_GOES_ON,)]
    assert len(bench.server.applied) == written

    paused(bench, on=False)
    assert not bench.turn().holds


def test_a_resume_beside_the_kill_switch_ends_the_other_holds(bench: Bench) -> None:
    """What else waited for a person is over, and the kill switch stays."""
    bench.in_control()
    bench.server.capacity = DEFAULT
    bench.turns(2)
    paused(bench, on=True)
    accepted, said = bench.answer(command("resume"))

    assert accepted
    assert "cleared foreign_change; still paused by [fleet]" in said
    assert [hold.code for hold in bench.turn().holds] == [HoldCode.PAUSED]


def test_the_kill_switch_outlasts_a_failover(bench: Bench) -> None:
    """Another server of the list is paused as well, and no resume ends that."""
    settings = replace(bench.state.settings, servers=(bench.server.identity, OTHER_IDENTITY))
    bench.answer(command("settings", settings=settings))
    paused(bench, on=True)
    bench.server.identity = OTHER_IDENTITY
    bench.turns(20)

    assert not bench.answer(command("resume"))[0]
    assert HoldCode.PAUSED in {hold.code for hold in bench.turn().holds}


def test_a_pause_of_a_person_outlasts_the_kill_switch(bench: Bench) -> None:
    """Who pauses a daemon that its group has paused already wants it paused, whatever the file says then."""
    paused(bench, on=True)
    bench.answer(command("pause", who="ann", reason="disk"))
    paused(bench, on=False)

    assert [hold.reason for hold in bench.turn().holds] == ["paused by ann: disk"]


@pytest.mark.parametrize("named", [True, False])
def test_a_failover_is_followed_to_a_server_that_is_named(bench: Bench, *, named: bool) -> None:
    """The daemon goes on with a server of its list, and takes its originals first."""
    mine = bench.server.identity
    servers = (mine, OTHER_IDENTITY) if named else (mine,)
    settings = replace(bench.state.settings, servers=servers)
    bench.answer(command("settings", settings=settings))
    bench.turns(60)
    bench.server.identity, bench.server.capacity = OTHER_IDENTITY, DEFAULT
    record = bench.turn()

    assert "other_server" in codes(record)
    assert (record.mode is Mode.ACTIVE) is named
    assert bench.turns(60).originals == (DEFAULT if named else None)


def test_a_failover_is_not_followed_where_a_person_said_advisory(bench: Bench) -> None:
    """Hands off was said: another server of the list is no reason to write."""
    settings = replace(bench.state.settings, servers=(bench.server.identity, OTHER_IDENTITY))
    bench.answer(command("settings", settings=settings))
    bench.answer(command("mode", value="advisory"))
    bench.server.identity = OTHER_IDENTITY
    bench.turns(30)

    assert bench.state.mode is Mode.ADVISORY


@pytest.mark.parametrize("advisory", [True, False])
def test_a_failover_while_no_daemon_ran_is_followed_too(*, advisory: bool) -> None:
    """A daemon that starts beside another server of its list is active, unless a person had said advisory."""
    settings = replace(ACTIVE, servers=(IDENTITY, OTHER_IDENTITY))
    before = Standing(OTHER_IDENTITY, 0.0, advisory=advisory)
    state = moved(start(settings, FACTS), before, now=5.0)

    assert state.mode is (Mode.ADVISORY if advisory else Mode.ACTIVE)
    assert bool(state.previous_server) is advisory
