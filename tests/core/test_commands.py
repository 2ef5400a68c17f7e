"""What people ask: carried out, or refused with the reason, and never left unanswered."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, SAVED, codes, command, held
from tuner.core.commands.handlers import originals_name
from tuner.records import Bounds, Capacity, Command, DecisionKind
from tuner.settings import Mode, Settings

LOCKED = "another InnoBrim holds this server's writer lock; ended by the other one's end"
NEEDS = "needs io_capacity_max"


@pytest.fixture
def advisory() -> Bench:
    """Return a loop in advisory mode that has seen a dozen readings."""
    made = Bench(Settings())
    made.turns(12)
    return made


def test_every_command_is_answered_by_its_number(bench: Bench) -> None:
    """Several commands in one tick get one answer each, in their order; an unknown one is said back."""
    names = {7: "pause", 8: "dance", 9: "resume"}
    record = bench.turn(*(command(name, number=number) for number, name in names.items()))

    answers = [(one.number, one.accepted) for one in record.acknowledgements]
    assert answers == [(7, True), (8, False), (9, True)]
    assert "'dance'" in record.acknowledgements[1].message


def test_pause_and_resume(bench: Bench) -> None:
    """Pausing holds with who and why, also through a restart of mysqld; resuming ends it, once."""
    paused = bench.turn(command("pause", reason="deployment"))
    again = bench.answer(command("pause"))
    bench.server.restart(DEFAULT)
    bench.turns(30)

    assert paused.holds[0].reason == "paused by ann: deployment"
    assert [event.who for event in paused.events if event.code == "paused"] == ["ann"]
    assert again == (False, "already paused: paused by ann: deployment")
    assert "paused" in held(bench.record)
    assert bench.answer(command("resume")) == (True, "resumed; cleared paused")
    assert "paused" not in held(bench.record)
    assert not bench.answer(command("resume"))[0]


@pytest.mark.parametrize("under_way", ["override", "restore"])
def test_pausing_ends_what_was_under_way(bench: Bench, under_way: str) -> None:
    """A pause cancels an override and a restore: hands off means hands off."""
    bench.turn(command(under_way, value=600, ttl=600.0))
    bench.turn(command("pause"))
    bench.turn(command("resume"))

    assert (bench.state.override, bench.state.restoring) == (None, "")


def test_an_override_that_ends_a_restore_says_so(bench: Bench) -> None:
    """Whoever asked for the originals learns that they do not come."""
    bench.turn(command("restore"))

    assert bench.answer(command("override", value=600, ttl=20.0))[1].endswith("the restore under way ends")
    assert bench.state.restoring == ""


def test_an_override_says_from_what_to_what_and_until_when(bench: Bench) -> None:
    """The answer and the record do; cancelled it is over, once."""
    before = bench.m
    record = bench.turn(command("override", value=600, ttl=20.0))

    assert record.acknowledgements[0].message == f"override to 600 for 20 s, from {before}"
    assert record.decision.source == "person"
    assert record.override_ends == record.tick.now + 20.0
    assert bench.answer(command("cancel_override")) == (True, "override to 600 cancelled")
    assert not bench.answer(command("cancel_override"))[0]


def test_an_override_says_which_value_it_becomes(bench: Bench) -> None:
    """Where M is to be twice C, an odd one is rounded, and the answer says to which."""
    bench.state = replace(bench.state, settings=replace(bench.state.settings, ratio=2))

    assert bench.answer(command("override", value=601, ttl=30.0))[1].endswith("300/600")
    assert bench.m == 600


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"value": None, "ttl": 60.0}, NEEDS),
        ({"value": 600, "ttl": None}, NEEDS),
        ({"value": 600, "ttl": 0.0}, NEEDS),
        ({"value": 600, "ttl": float("nan")}, NEEDS),
        ({"value": "600", "ttl": 60.0}, NEEDS),
        ({"value": 99, "ttl": 60.0}, "outside the limits 100 to 20000"),
        ({"value": 20_001, "ttl": 60.0}, "outside the limits 100 to 20000"),
    ],
)
def test_an_override_that_makes_no_sense_is_refused(bench: Bench, values: dict[str, Any], said: str) -> None:
    """Value and time to live are both needed, and the limits hold for people too."""
    accepted, message = bench.answer(command("override", **values))

    assert not accepted
    assert said in message
    assert bench.record.decision.kind is not DecisionKind.OVERRIDE


@pytest.mark.parametrize(("wanted", "comes"), [(20_000, 5000), (100, 300)])
def test_an_override_stays_within_the_procedures_bounds(wanted: int, comes: int) -> None:
    """Who has a token asks for what the configuration allows, and gets no further than the procedure."""
    server = FakeServer(Capacity(1000, 2000))
    server.told = {"procedure": Bounds(300, 5000, 5000)}
    bench = Bench(ACTIVE, server).in_control()
    bench.turn(command("override", value=wanted, ttl=60.0))

    assert bench.m == comes


def test_an_emergency_ends_an_override() -> None:
    """No person's value is held into a stall: the emergency raises M and says that the override is over."""
    bench = Bench(replace(ACTIVE, set_point=0.7), originals=DEFAULT)
    bench.turns(300)
    bench.turn(command("override", value=200, ttl=600.0))
    bench.server.redo_rate = 4e6

    assert "override_cancelled" in codes(bench.until("emergency"))
    assert bench.m > 600


@pytest.mark.parametrize(
    ("name", "helps"),
    [
        ("park", "ended by innobrim mode active"),
        ("restore", "innobrim restore, once the daemon is stopped"),
    ],
)
def test_nothing_is_parked_or_restored_where_nothing_may_be_written(
    bench: Bench, advisory: Bench, name: str, helps: str
) -> None:
    """In advisory mode, without an answer, beside another writer, or before the originals are on disk.

    Each refusal has the reason, and in advisory mode what would help.
    """
    early = Bench()
    early.turns(5)
    refused = [advisory.answer(command(name)), early.answer(command(name))]
    bench.server.down = "did not answer"
    refused.append(bench.answer(command(name)))
    bench.server.down, bench.server.writer = "", False
    refused.append(bench.answer(command(name)))

    assert [accepted for accepted, _ in refused] == [False] * 4
    assert refused[0][1].endswith(helps)
    assert "originals are not on disk yet" in refused[1][1]
    assert [said for _, said in refused[2:]] == ["the server does not answer", LOCKED]
    assert early.server.applied == advisory.server.applied == []


def test_an_override_is_refused_in_advisory_mode_and_under_a_hold(bench: Bench, advisory: Bench) -> None:
    """Advisory writes nothing, and a hold permits no override, one entered in this very tick neither."""
    asked = command("override", value=600, ttl=60.0, number=2)
    for orders in ((command("pause", number=1), asked), (asked,)):
        accepted, said = bench.answer(*orders)

        assert not accepted
        assert "paused by ann" in said
    assert "advisory" in advisory.answer(asked)[1]


def test_park_and_restore_say_where_to(bench: Bench) -> None:
    """Parking names the pair and keeps hands off from the same tick; restoring names the originals."""
    accepted, said = bench.answer(command("park"))

    assert accepted
    assert bench.server.capacity.in_words in said
    assert bench.record.decision.kind is DecisionKind.PARK
    assert held(bench.turn()) == {"paused"}
    accepted, said = bench.answer(command("restore"))
    assert accepted
    assert "io_capacity_max 20000" in said
    assert "the restore goes on" in bench.answer(command("mode", value="active"))[1]


def test_park_needs_an_estimate() -> None:
    """Before the second reading no parked setting is known."""
    accepted, said = Bench(originals=DEFAULT).answer(command("park"))

    assert not accepted
    assert "no estimate yet" in said


def test_mode_changes_and_what_is_no_mode(advisory: Bench) -> None:
    """The mode is changed by name; the same mode again is no event, and another word is refused."""
    assert advisory.answer(command("mode", value="active")) == (True, "mode advisory → active")
    assert advisory.record.mode is Mode.ACTIVE
    assert advisory.answer(command("mode", value="active"))[0]
    assert advisory.codes("mode") == ["mode"]
    assert advisory.answer(command("mode", value="turbo")) == (
        False,
        "mode 'turbo' is not one of: advisory, active",
    )


@pytest.mark.parametrize(
    "asked",
    [command("mode", value="advisory"), command("settings", who="SIGHUP", settings=Settings())],
    ids=["a person", "a reload"],
)
def test_leaving_active_parks_once_and_is_quiet_after(bench: Bench, asked: Command) -> None:
    """On the way to advisory a safe setting is left behind, where one of ours was in force; then nothing."""
    begun = len(bench.records)
    bench.turn(asked)
    bench.turns(60)
    fresh = Bench()
    fresh.turns(3)
    fresh.turn(asked)
    fresh.turns(5)

    assert bench.record.mode is Mode.ADVISORY
    assert bench.wrote(since=begun) == [DecisionKind.PARK]
    assert fresh.server.applied == []


def test_settings_take_effect_and_are_said(bench: Bench) -> None:
    """New settings are in force in the same tick; the answer names what changed, from and to."""
    chosen = replace(ACTIVE, set_point=0.6, dwell_seconds=30.0, policy="pid")
    accepted, said = bench.answer(command("settings", settings=chosen))

    assert accepted
    assert "set_point None → 0.6" in said
    assert "dwell_seconds 10.0 → 30.0" in said
    assert bench.set_point == 0.6
    assert bench.record.decision.policy == "pid"
    assert type(bench.state.policy).__name__ == "PidState"
    assert bench.answer(command("settings", settings=chosen)) == (True, "settings unchanged")
    assert bench.record.events == ()
    assert not bench.answer(command("settings"))[0]


def test_only_news_of_these_originals_permits_a_write() -> None:
    """That another server's pair is on disk permits none; that this one's is, does, and is an event once."""
    bench = Bench()
    bench.turn()
    name = originals_name(bench.server.identity, bench.server.capacity)
    accepted, said = bench.answer(command("originals_saved", value="another server 200/2000"))
    assert not accepted
    assert said == f"another server 200/2000 is on disk, but {name} was expected"

    assert bench.state.originals is not None
    assert not bench.state.originals.saved
    assert bench.answer(command("originals_saved", value=name))[0]
    assert bench.state.originals.saved
    assert bench.answer(SAVED)[0]
    assert bench.codes("originals_saved") == ["originals_saved"]


# Settings that a person changes: inside the file's limits, said old → new, and cancelled.

FILE = replace(ACTIVE, max_io_capacity_max=20_000, min_io_capacity_max=200, max_recovery_seconds=200.0)
BACK = command("cancel_overlay")


@pytest.fixture
def loop() -> Bench:
    """Return an active loop whose first write is in force."""
    return Bench(FILE).in_control()


def put(**values: float | None) -> Command:
    """Return what a person asks."""
    return command("overlay", overlay=values, reason="noisy neighbour")


def test_a_change_is_said_old_to_new_with_who_and_how_long(loop: Bench) -> None:
    """The answer says old, new and when it ends; the event says who and why; the record shows it in force."""
    accepted, message = loop.answer(put(max_io_capacity_max=4000))
    (event,) = [one for one in loop.record.events if one.code == "overlay"]

    assert accepted
    assert message.startswith("max_io_capacity_max 20000 → 4000; until it is cancelled or the daemon ends")
    assert (event.who, event.message.endswith(": noisy neighbour")) == ("ann", True)
    assert loop.record.overlay is not None
    assert loop.record.overlay.values == {"max_io_capacity_max": 4000}
    assert loop.state.settings.max_io_capacity_max == 4000


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ({"max_io_capacity_max": 20_001}, "above the file's 20000; it may only be lowered"),
        ({"min_io_capacity_max": 199}, "below the file's 200; it may only be raised"),
        ({"max_recovery_seconds": 201}, "above the file's 200"),
        ({"dwell_seconds": 9}, "below the file's 10"),
        ({"max_changes_per_hour": 61}, "above the file's 60"),
        ({"set_point": 1.5}, "set_point"),
        ({"max_io_capacity_max": 300, "min_io_capacity_max": 400}, "would be above max_io_capacity_max"),
        ({"mode": 1}, "mode cannot be changed while the daemon runs"),
    ],
)
def test_nothing_laxer_than_the_file_is_taken(loop: Bench, overlay: dict[str, float], said: str) -> None:
    """A value that the file does not allow is refused with the file's, and changes nothing."""
    before = loop.state.settings
    accepted, message = loop.answer(put(**overlay))

    assert not accepted
    assert said in message
    assert (loop.state.settings, loop.state.overlay) == (before, None)


@pytest.mark.parametrize(
    ("file", "procedure", "said"),
    [
        (
            replace(FILE, ratio=10),
            None,
            "that is a multiple of ratio 10 is allowed",
        ),
        (FILE, Bounds(1000, 8000, 4000), "the procedure takes 1000 to 8000"),
    ],
)
def test_a_limit_that_leaves_no_m_is_refused(file: Settings, procedure: Bounds | None, said: str) -> None:
    """A lowered limit below what C's minimum, the ratio or the procedure asks for changes nothing."""
    server = FakeServer()
    server.told = {"procedure": procedure}
    loop = Bench(file, server)
    loop.turn()
    accepted, message = loop.answer(put(max_io_capacity_max=600))

    assert not accepted
    assert said in message
    assert "the limits are 200 to 600" in message
    assert loop.state.settings == file


def test_one_value_goes_back_and_all_do(loop: Bench) -> None:
    """None takes one value out; cancelling takes them all out, and is refused where there are none.

    A budget may be set where the file has none, as no budget is laxer than any.
    """
    loop.turn(put(max_io_capacity_max=4000, set_point=0.5, max_shutdown_seconds=5000))
    assert loop.state.settings.max_shutdown_seconds == 5000.0
    assert "set_point 0.5 → derived" in loop.answer(put(set_point=None))[1]
    said = loop.answer(BACK)[1]

    assert "max_io_capacity_max 4000 → 20000" in said
    assert "max_shutdown_seconds 5000 → none" in said
    assert "overlay_cancelled" in codes(loop.record)
    assert loop.state.settings == FILE
    assert loop.answer(BACK)[0] is False


def test_a_reload_keeps_what_the_new_file_allows(loop: Bench) -> None:
    """A new file takes effect under the overlay; what it no longer allows is dropped and said."""
    loop.turn(put(max_io_capacity_max=4000, max_recovery_seconds=100))
    file = replace(FILE, max_io_capacity_max=3000, step_factor=3.0)
    said = loop.answer(command("settings", settings=file))[1]

    assert "these changes end" in said
    assert loop.state.settings == replace(file, max_recovery_seconds=100.0)
    assert loop.state.overlay is not None
    assert loop.state.overlay.values == {"max_recovery_seconds": 100}


def test_a_lowered_limit_binds_every_write(loop: Bench) -> None:
    """No M above the lowered limit is asked for from then on, by an override neither; the mode stays."""
    loop.turn(put(max_io_capacity_max=300))
    refused = loop.answer(command("override", value=4000, ttl=60.0))[1]
    loop.turns(200)
    decided = [record.decision.target for record in loop.records[-30:]]

    assert "outside the limits 200 to 300" in refused
    assert all(target is not None and target.io_capacity_max <= 300 for target in decided)
    loop.turn(command("mode", value="advisory"))
    loop.turn(put(set_point=0.5))
    assert loop.state.mode is Mode.ADVISORY
