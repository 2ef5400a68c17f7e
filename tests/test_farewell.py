"""What the log says of the values that a daemon leaves behind."""

from __future__ import annotations

from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import command
from tuner.daemon import Farewell
from tuner.records import DecisionKind, Lifecycle
from tuner.settings import Settings


def test_a_parked_end_names_the_parked_pair() -> None:
    """After a park at the end, the pair that was read back is named as parked."""
    bench, farewell = _lived()
    record = bench.turn(command("stop", who="SIGTERM", value="park"))
    farewell.take(record)
    assert record.lifecycle is Lifecycle.STOPPING
    assert record.decision.kind is DecisionKind.PARK
    assert bench.receipt is not None
    farewell.wrote(bench.receipt)

    pair = bench.server.capacity

    assert str(farewell) == f"{pair.io_capacity}/{pair.io_capacity_max}: parked"


def test_a_write_that_was_not_read_back_names_both_pairs() -> None:
    """Where the last write's outcome is unknown, both pairs that may be in force are named."""
    bench, farewell = _lived()
    before = bench.server.capacity
    farewell.take(bench.turn(command("stop", who="SIGTERM", value="park")))
    assert bench.receipt is not None
    lost = replace(bench.receipt, in_force=None, error="did not answer within 1 s")
    farewell.wrote(lost)

    said = str(farewell)

    assert said.startswith(f"{before.io_capacity}/{before.io_capacity_max} or ")
    assert f"{lost.requested.io_capacity}/{lost.requested.io_capacity_max}" in said
    assert "did not answer within 1 s" in said


def test_a_server_that_hangs_is_left_as_it_was_last_seen() -> None:
    """Where the server does not answer at the end, the pair seen last is named, and that it is not parked."""
    bench, farewell = _lived()
    pair = bench.server.capacity
    bench.server.down = "did not answer within 1 s"
    farewell.take(bench.turn())
    farewell.take(bench.turn(command("stop", who="SIGTERM", value="park")))

    said = str(farewell)

    assert said.startswith(f"{pair.io_capacity}/{pair.io_capacity_max} when last seen, not parked")


def test_an_end_without_an_estimate_is_not_parked() -> None:
    """Where the last reading gave no estimate, so that no park could be written, the line says so."""
    bench, farewell = _lived()
    pair = bench.server.capacity
    bench.server.lsn -= 50e6
    bench.server.oldest -= 50e6
    record = bench.turn(command("stop", who="SIGTERM", value="park"))
    farewell.take(record, owed=bench.state.park_owed is not None)

    said = str(farewell)

    assert bench.record.decision.steps == ()
    assert said.startswith(f"{pair.io_capacity}/{pair.io_capacity_max}, not parked: ")


def test_an_end_before_the_first_reading_is_unknown() -> None:
    """A daemon that never saw its server does not pretend to know what is in force."""
    assert str(Farewell()).startswith("unknown")


def test_an_advisory_end_says_that_nothing_was_written() -> None:
    """What an advisory daemon leaves is what it found, whatever it would have set."""
    bench, farewell = Bench(Settings()), Farewell()
    bench.turns(60)
    farewell.take(bench.turn())
    pair = bench.server.capacity
    bench.server.down = "did not answer within 1 s"
    for record in (bench.records[-1], bench.turn(command("stop", who="SIGTERM", value="park"))):
        farewell.take(record)

        assert str(farewell) == f"{pair}: not ours, advisory mode wrote nothing"


def _lived() -> tuple[Bench, Farewell]:
    """Return a loop that has written, and what followed its last tick."""
    bench, farewell = Bench().in_control(), Farewell()
    farewell.take(bench.record)
    return bench, farewell
