"""What the log says of the values that a daemon leaves behind."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import command
from tuner.daemon.farewell import Farewell
from tuner.settings import Settings

STOP = command("stop", who="SIGTERM", value="park")


@pytest.fixture
def lived() -> tuple[Bench, Farewell]:
    """Return a loop that has written, and what followed its last tick."""
    bench, farewell = Bench().in_control(), Farewell()
    farewell.take(bench.record)
    return bench, farewell


@pytest.mark.parametrize("lost", [False, True])
def test_a_parked_end_names_the_pair_or_both_that_it_may_be(
    lived: tuple[Bench, Farewell], *, lost: bool
) -> None:
    """The pair that was read back; where the last write's outcome is unknown, both, and why."""
    bench, farewell = lived
    before = bench.server.capacity
    farewell.take(bench.turn(STOP))
    receipt = bench.receipt
    assert receipt is not None
    farewell.wrote(replace(receipt, in_force=None, error="did not answer within 1 s") if lost else receipt)

    parked = f"{bench.server.capacity}: parked"
    unknown = f"{before} or {receipt.requested}: the write was not read back (did not answer within 1 s)"
    assert str(farewell) == (unknown if lost else parked)


def test_a_server_that_hangs_is_left_as_it_was_last_seen(lived: tuple[Bench, Farewell]) -> None:
    """Where the server does not answer at the end, the pair seen last is named, and that it is not parked."""
    bench, farewell = lived
    bench.server.down = "did not answer within 1 s"
    farewell.take(bench.turn())
    farewell.take(bench.turn(STOP))

    assert str(farewell).startswith(f"{bench.server.capacity} when last seen, not parked")


def test_an_end_without_an_estimate_is_not_parked(lived: tuple[Bench, Farewell]) -> None:
    """Where the last reading gave no estimate, so that no park could be written, the line says so."""
    bench, farewell = lived
    bench.server.lsn -= 50e6
    bench.server.oldest -= 50e6
    farewell.take(bench.turn(STOP), owed=bench.state.park_owed is not None)

    assert bench.record.decision.steps == ()
    assert str(farewell).startswith(f"{bench.server.capacity}, not parked: ")


def test_an_advisory_end_says_that_nothing_was_written() -> None:
    """What it leaves is what it found, whatever it would have set; unknown where it never saw its server."""
    bench, farewell = Bench(Settings()), Farewell()
    assert str(farewell).startswith("unknown")
    bench.turns(60)
    farewell.take(bench.turn())
    bench.server.down = "did not answer within 1 s"
    for record in (bench.records[-1], bench.turn(STOP)):
        farewell.take(record)

        assert (
            str(farewell) == f"{bench.server.capacity}: not set by InnoBrim, as advisory mode wrote nothing"
        )
