"""What people ask: carried out, or refused with the reason, and never left unanswered."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, SAVED, command, held
from tuner.core.commands import originals_name
from tuner.records import Bounds, Capacity, HoldCode, Remedy, TickRecord
from tuner.settings import Mode, Settings


def answer(record: TickRecord) -> tuple[bool, str]:
    """Return whether the tick's first command was accepted, and what was said."""
    first = record.acknowledgements[0]
    return first.accepted, first.message


@pytest.fixture
def advisory() -> Bench:
    """Return a loop in advisory mode that has seen a dozen readings."""
    made = Bench(Settings())
    made.turns(12)
    return made


def test_every_command_is_answered_by_its_number(bench: Bench) -> None:
    """Several commands in one tick get one answer each, in their order."""
    record = bench.turn(
        command("pause", number=7), command("nonsense", number=8), command("resume", number=9)
    )

    assert [(one.number, one.accepted) for one in record.acknowledgements] == [
        (7, True),
        (8, False),
        (9, True),
    ]


def test_an_unknown_command_is_refused(bench: Bench) -> None:
    """A name that nothing answers to is said back."""
    assert answer(bench.turn(command("dance"))) == (False, "no command is called 'dance'")


def test_pause_and_resume(bench: Bench) -> None:
    """Pausing holds with who and why; a second pause is refused; resuming ends it."""
    paused = bench.turn(command("pause", reason="deployment"))
    again = bench.turn(command("pause"))
    resumed = bench.turn(command("resume"))

    assert answer(paused)[1].endswith("; hands off until resumed")
    assert paused.holds[0].reason == "paused by ann: deployment"
    assert answer(again) == (False, "already paused: paused by ann: deployment")
    assert answer(resumed) == (True, "resumed; cleared paused")
    assert held(resumed) == set()
    assert [event.who for event in paused.events if event.code == "paused"] == ["ann"]


def test_resume_with_nothing_to_resume(bench: Bench) -> None:
    """Resuming what is not held is refused."""
    accepted, said = answer(bench.turn(command("resume")))

    assert not accepted
    assert "nothing to resume" in said


def test_override_takes_effect_at_once(bench: Bench) -> None:
    """A person's M is written in the same tick, without step limit or dwell, and is named as theirs."""
    before = bench.server.capacity.io_capacity_max
    record = bench.turn(command("override", value=600, ttl=30.0))

    assert answer(record) == (True, f"override to 600 for 30 s, from {before}")
    assert record.decision.kind.value == "override"
    assert record.decision.source == "person"
    assert bench.server.capacity == Capacity(600, 600)
    assert record.override_ends == record.tick.now + 30.0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"value": None, "ttl": 60.0}, "needs io_capacity_max"),
        ({"value": 600, "ttl": None}, "needs io_capacity_max"),
        ({"value": 600, "ttl": 0.0}, "needs io_capacity_max"),
        ({"value": 600, "ttl": float("nan")}, "needs io_capacity_max"),
        ({"value": "600", "ttl": 60.0}, "needs io_capacity_max"),
        ({"value": 99, "ttl": 60.0}, "outside the limits 100 to 20000"),
        ({"value": 20_001, "ttl": 60.0}, "outside the limits 100 to 20000"),
    ],
)
def test_an_override_that_makes_no_sense_is_refused(bench: Bench, values: dict[str, Any], said: str) -> None:
    """Value and time to live are both needed, and the limits hold for people too."""
    record = bench.turn(command("override", **values))

    assert not answer(record)[0]
    assert said in answer(record)[1]
    assert record.decision.kind.value != "override"


def test_an_override_is_refused_in_advisory_mode_and_under_a_hold(bench: Bench, advisory: Bench) -> None:
    """Advisory writes nothing, and a hold permits no override; both say so."""
    bench.turn(command("pause"))

    assert "advisory" in answer(advisory.turn(command("override", value=600, ttl=60.0)))[1]
    accepted, said = answer(bench.turn(command("override", value=600, ttl=60.0)))
    assert not accepted
    assert "paused by ann" in said
    assert "no override" in said


@pytest.mark.parametrize(("wanted", "comes"), [(20_000, 5000), (100, 300)])
def test_an_override_stays_within_the_procedures_bounds(wanted: int, comes: int) -> None:
    """Who has a token asks for what the configuration allows, and gets no further than the procedure."""
    server = FakeServer(Capacity(1000, 2000))
    server.told = {"procedure": Bounds(300, 5000, 5000)}
    record = Bench(ACTIVE, server).in_control().turn(command("override", value=wanted, ttl=60.0))

    assert record.decision.target is not None
    assert record.decision.target.io_capacity_max == comes


def test_cancelling_an_override(bench: Bench) -> None:
    """An override can be ended early, once."""
    bench.turn(command("override", value=600, ttl=60.0))

    assert answer(bench.turn(command("cancel_override"))) == (True, "override to 600 cancelled")
    assert answer(bench.turn(command("cancel_override"))) == (False, "no override is in force")


def test_park_says_where_and_stays_off(bench: Bench) -> None:
    """Parking names the pair, writes it in the same tick and then keeps hands off until resumed."""
    record = bench.turn(command("park"))

    pair = bench.server.capacity
    assert answer(record) == (
        True,
        f"parking at {pair.io_capacity}/{pair.io_capacity_max}; hands off until resumed",
    )
    assert record.decision.kind.value == "park"
    assert held(bench.turn()) == {"paused"}


def test_restore_says_where_to(bench: Bench) -> None:
    """Restoring names the originals."""
    accepted, said = answer(bench.turn(command("restore")))

    assert accepted
    assert said == "restoring 10000/20000 in steps; advisory when done, until a person says otherwise"


@pytest.mark.parametrize("name", ["park", "restore"])
def test_nothing_is_parked_or_restored_where_nothing_may_be_written(
    bench: Bench, advisory: Bench, name: str
) -> None:
    """In advisory mode, without an answer, or beside another writer, both are refused with the reason."""
    assert "advisory" in answer(advisory.turn(command(name)))[1]
    bench.server.down = "did not answer"
    assert answer(bench.turn(command(name))) == (False, "the server does not answer")
    bench.server.down, bench.server.writer = "", False
    said = "another InnoBrim holds this server's writer lock"
    assert answer(bench.turn(command(name))) == (False, said)


def test_what_helps_in_advisory_mode_is_said(advisory: Bench) -> None:
    """Active mode lets a park or a restore through; only who wants the originals is told to restore."""
    parked, restored = (
        advisory.turn(command(name)).acknowledgements[-1].remedies for name in ("park", "restore")
    )

    assert parked == (Remedy.MODE_ACTIVE,)
    assert restored == (Remedy.MODE_ACTIVE, Remedy.RESTORE_OFFLINE)


@pytest.mark.parametrize("name", ["park", "restore"])
def test_nothing_is_parked_or_restored_before_the_originals_are_on_disk(name: str) -> None:
    """However early a person asks, the first write comes after the originals are safe."""
    bench = Bench()
    bench.turns(5)

    accepted, said = answer(bench.turn(command(name)))

    assert not accepted
    assert "originals are not on disk yet" in said
    assert bench.server.applied == []


def test_park_needs_an_estimate() -> None:
    """Before the second reading no parked setting is known."""
    bench = Bench(originals=Capacity(10_000, 20_000))

    assert answer(bench.turn(command("park"))) == (False, "no estimate yet, so no parked setting is known")


def test_mode_changes_and_what_is_no_mode(advisory: Bench) -> None:
    """The mode is changed by name; the same mode again is no event, and another word is refused."""
    active = advisory.turn(command("mode", value="active"))
    same = advisory.turn(command("mode", value="active"))
    wrong = advisory.turn(command("mode", value="turbo"))

    assert answer(active) == (True, "mode advisory → active")
    assert active.mode is Mode.ACTIVE
    assert [event.code for event in active.events if event.code == "mode"] == ["mode"]
    assert [event for event in same.events if event.code == "mode"] == []
    assert answer(wrong) == (False, "mode 'turbo' is not one of: advisory, active")


def test_leaving_active_parks_once_and_is_quiet_after(bench: Bench) -> None:
    """On the way to advisory a safe setting is left behind; from then on nothing is written."""
    record = bench.turn(command("mode", value="advisory"))
    written = len(bench.server.applied)
    bench.turns(60)

    assert record.decision.kind.value == "park"
    assert record.decision.detail == "leaving active mode"
    assert len(bench.server.applied) == written


def test_active_that_never_wrote_leaves_without_a_word() -> None:
    """Where nothing of ours is in force there is nothing to park."""
    bench = Bench()
    bench.turns(3)
    bench.turn(command("mode", value="advisory"))
    bench.turns(5)

    assert bench.server.applied == []


def test_settings_take_effect_and_are_said(bench: Bench) -> None:
    """New settings are in force in the same tick; the answer names what changed, from and to."""
    record = bench.turn(command("settings", settings=replace(ACTIVE, set_point=0.6, dwell_seconds=30.0)))

    accepted, said = answer(record)
    assert accepted
    assert "set_point None → 0.6" in said
    assert "dwell_seconds 10.0 → 30.0" in said
    assert record.decision.set_point == 0.6


def test_settings_that_are_the_same_or_missing(bench: Bench) -> None:
    """Unchanged settings are accepted without an event, none at all are refused."""
    same = bench.turn(command("settings", settings=ACTIVE))

    assert answer(same) == (True, "settings unchanged")
    assert same.events == ()
    assert answer(bench.turn(command("settings"))) == (False, "no settings were given")


def test_another_policy_starts_afresh(bench: Bench) -> None:
    """A new decision law takes over without the old one's memory."""
    record = bench.turn(command("settings", settings=replace(ACTIVE, policy="pid")))

    assert record.decision.policy == "pid"
    assert type(bench.state.policy).__name__ == "PidState"


def test_a_reload_can_change_the_mode(bench: Bench) -> None:
    """A configuration that says advisory leaves active mode, parked like any other way out."""
    record = bench.turn(command("settings", who="SIGHUP", settings=Settings()))

    assert record.mode is Mode.ADVISORY
    assert record.decision.kind.value == "park"


def test_originals_saved_is_said_once() -> None:
    """The journal's word is an event the first time and nothing after."""
    bench = Bench()
    bench.turn()

    first, second = bench.turn(SAVED), bench.turn(SAVED)

    assert [event.code for event in first.events] == ["originals_saved"]
    assert answer(second) == (True, "no originals were waiting")


def test_news_of_other_originals_is_not_taken_for_these() -> None:
    """That another server's pair is on disk permits no write here; that this one's is, does."""
    bench = Bench()
    bench.turn()
    name = originals_name(bench.server.identity, bench.server.capacity)

    accepted, said = answer(bench.turn(command("originals_saved", value="another server 200/2000")))
    assert not accepted
    assert said == f"another server 200/2000 is on disk, and {name} is waited for"
    assert bench.state.originals is not None
    assert not bench.state.originals.saved

    bench.turn(command("originals_saved", value=name))
    assert bench.state.originals.saved


def test_pausing_ends_what_was_under_way(bench: Bench) -> None:
    """A pause cancels an override and a restore: hands off means hands off."""
    bench.turn(command("override", value=600, ttl=600.0))
    bench.turn(command("pause"))
    bench.turn(command("resume"))
    assert bench.state.override is None

    bench.turn(command("restore"))
    bench.turn(command("pause"))
    assert bench.state.restoring == ""


def test_a_pause_lasts_through_a_restart_of_the_server(bench: Bench) -> None:
    """What a person paused is resumed by a person, whatever mysqld does meanwhile."""
    bench.turn(command("pause"))
    bench.server.restart(Capacity(10_000, 20_000))
    bench.turns(30)

    assert HoldCode.PAUSED in {hold.code for hold in bench.record.holds}
