"""Where the present M leads to, also where it flushes more than is dirty by now."""

from __future__ import annotations

import pytest

from tests.bench import Bench, FakeServer
from tests.factory import SAVED


@pytest.mark.parametrize("rate", [2e6, 4e6, 1e7])
def test_a_small_redo_log_under_a_high_rate_is_filled_too(rate: float) -> None:
    """From the default, where all that is dirty is flushed within seconds, the age gets to its place."""
    bench = Bench(server=FakeServer(redo_rate=rate))
    bench.turn()
    bench.turn(SAVED)
    bench.turns(900)
    found, wanted = bench.record.estimate, bench.record.decision.set_point

    assert found is not None
    assert found.age_ratio == pytest.approx(wanted, abs=0.1)
