"""Settings that a person changes: inside the file's limits, said old → new, and cancelled."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, codes, command
from tuner.records import Bounds, TickRecord
from tuner.settings import Mode, Settings

FILE = replace(ACTIVE, max_io_capacity_max=20_000, min_io_capacity_max=200, max_recovery_seconds=200.0)


def answer(record: TickRecord) -> tuple[bool, str]:
    """Return whether the tick's first command was accepted, and what was said."""
    first = record.acknowledgements[0]
    return first.accepted, first.message


@pytest.fixture
def loop() -> Bench:
    """Return an active loop whose first write is in force."""
    return Bench(FILE).in_control()


def test_a_change_is_said_old_to_new_with_who_and_how_long(loop: Bench) -> None:
    """The answer says old, new and when it ends; the event says who; the record shows what is in force."""
    record = loop.turn(command("overlay", overlay={"max_io_capacity_max": 4000}, reason="noisy neighbour"))
    event = next(one for one in record.events if one.code == "overlay")

    accepted, message = answer(record)
    assert accepted
    assert message.startswith("max_io_capacity_max 20000 → 4000; until it is cancelled or the daemon ends")
    assert (event.who, event.message.endswith(": noisy neighbour")) == ("ann", True)
    assert record.overlay is not None
    assert record.overlay.values == {"max_io_capacity_max": 4000}
    assert loop.state.settings.max_io_capacity_max == 4000


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ({"max_io_capacity_max": 20_001}, "above the file's 20000, and may be lower only"),
        ({"min_io_capacity_max": 199}, "below the file's 200, and may be higher only"),
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

    accepted, message = answer(loop.turn(command("overlay", overlay=overlay)))

    assert not accepted
    assert said in message
    assert loop.state.settings == before
    assert loop.state.overlay is None


@pytest.mark.parametrize(
    ("file", "procedure", "said"),
    [
        (replace(FILE, ratio=10), None, "no M that is a multiple of ratio 10 is allowed"),
        (FILE, Bounds(1000, 8000, 4000), "the procedure takes 1000 to 8000"),
    ],
)
def test_a_limit_that_leaves_no_m_is_refused(file: Settings, procedure: Bounds | None, said: str) -> None:
    """A lowered limit below what C's minimum, the ratio or the procedure asks for changes nothing."""
    server = FakeServer()
    server.told = {"procedure": procedure}
    loop = Bench(file, server)
    loop.turn()

    accepted, message = answer(loop.turn(command("overlay", overlay={"max_io_capacity_max": 600})))

    assert not accepted
    assert said in message
    assert "the limits are 200 to 600" in message
    assert loop.state.settings == file


def test_one_value_goes_back_and_all_do(loop: Bench) -> None:
    """None takes one value out; cancelling takes them all out, and is refused where there are none."""
    loop.turn(command("overlay", overlay={"max_io_capacity_max": 4000, "set_point": 0.5}))
    one = loop.turn(command("overlay", overlay={"set_point": None}))
    rest = loop.turn(command("cancel_overlay"))

    assert "set_point 0.5 → derived" in answer(one)[1]
    assert answer(rest) == (True, "max_io_capacity_max 4000 → 20000; as the file has it")
    assert "overlay_cancelled" in codes(rest)
    assert loop.state.settings == FILE
    assert answer(loop.turn(command("cancel_overlay")))[0] is False


def test_a_budget_may_be_set_where_the_file_has_none(loop: Bench) -> None:
    """No budget is laxer than any: the overlay's counts until it goes, and the change is said in words."""
    put = loop.turn(command("overlay", overlay={"max_shutdown_seconds": 5000}))
    kept = loop.state.settings.max_shutdown_seconds
    gone = loop.turn(command("cancel_overlay"))

    assert answer(put)[1].startswith("max_shutdown_seconds none → 5000; until it is cancelled")
    assert kept == 5000.0
    assert answer(gone)[1].startswith("max_shutdown_seconds 5000 → none")
    assert loop.state.settings.max_shutdown_seconds is None


def test_a_reload_keeps_what_the_new_file_allows(loop: Bench) -> None:
    """A new file takes effect under the overlay; what it no longer allows is dropped and said."""
    loop.turn(command("overlay", overlay={"max_io_capacity_max": 4000, "max_recovery_seconds": 100}))
    record = loop.turn(command("settings", settings=replace(FILE, max_io_capacity_max=3000, step_factor=3.0)))

    assert "no longer in force" in answer(record)[1]
    assert loop.state.settings.max_io_capacity_max == 3000
    assert loop.state.settings.step_factor == 3.0
    assert loop.state.settings.max_recovery_seconds == 100
    assert loop.state.overlay is not None
    assert loop.state.overlay.values == {"max_recovery_seconds": 100}


def test_a_lowered_limit_binds_every_write(loop: Bench) -> None:
    """No M above the lowered limit is asked for from then on, by an override neither."""
    loop.turn(command("overlay", overlay={"max_io_capacity_max": 300}))
    refused = loop.turn(command("override", value=4000, ttl=60.0))
    decided = [loop.turn().decision.target for _ in range(200)]

    assert "outside the limits 200 to 300" in answer(refused)[1]
    assert all(target is not None and target.io_capacity_max <= 300 for target in decided[-30:])


def test_the_mode_is_no_matter_of_the_overlay(loop: Bench) -> None:
    """Changing settings leaves the mode that a person asked for."""
    loop.turn(command("mode", value="advisory"))
    loop.turn(command("overlay", overlay={"set_point": 0.5}))

    assert loop.state.mode is Mode.ADVISORY
    assert isinstance(loop.state.configured, Settings)
