"""Settings that a person changes: inside the file's limits, said old → new, and cancelled."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, codes, command
from tuner.records import Bounds, Command
from tuner.settings import Mode, Settings

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
    accepted, message = loop.answer(put(**overlay))

    assert not accepted
    assert said in message
    assert (loop.state.settings, loop.state.overlay) == (before, None)


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

    assert "no longer in force" in said
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
