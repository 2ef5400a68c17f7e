"""What the table of a group makes of a loop: its stage, its kill switch, and the servers that it follows."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, DEFAULT, FACTS, IDENTITY, OTHER_IDENTITY, codes, command
from tuner.core.commands.handlers import BY_FLEET, STAGE
from tuner.core.ownership.standing import Standing, moved
from tuner.core.step import start
from tuner.records import HoldCode
from tuner.settings import Mode


def stage(bench: Bench, mode: Mode) -> None:
    """Let a stage of the group begin or end."""
    settings = replace(bench.state.settings, mode=mode)
    bench.answer(command("settings", value=STAGE, settings=settings))


def paused(bench: Bench, *, on: bool) -> None:
    """Have the kill switch on or off."""
    bench.answer(command("fleet", who=BY_FLEET, value=int(on)))


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
