"""The demand: what the pages in the log's tail cost, and which of them are dirty still."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.setpoint import FLUSH_ORDER_LAG
from tests.core.readings import RATE, follow
from tests.factory import sample
from tuner.core.estimate.estimator import EstimatorState, update
from tuner.records import Sample


class Fifo:
    """A flush list: pages enter at the current LSN and leave in that order; density may change.

    Attributes:
        readings: one a second.
    """

    def __init__(self, seconds: int, *, density_at: dict[int, float], residence: int) -> None:
        lsn = oldest = 1e10
        entered: list[float] = []
        flushed, density = 0.0, 0.0
        self.densities: list[float] = []
        self.readings: list[Sample] = []
        for second in range(seconds):
            density = density_at.get(second, density)
            entered.append(density * RATE)
            self.densities.append(density)
            lsn += RATE
            if second >= residence:
                flushed += entered[second - residence]
                oldest += RATE
            self.readings.append(
                sample(
                    float(second),
                    lsn_current=round(lsn),
                    lsn_oldest=round(oldest),
                    lsn_checkpoint=round(oldest) - FLUSH_ORDER_LAG,
                    pages_adaptive=round(flushed),
                    pages_dirty=round(sum(entered) - flushed),
                )
            )


def test_demand_is_the_tails_own_and_known_ahead() -> None:
    """When a load gets denser, the demand rises when the dense pages reach the tail, and is seen coming."""
    fifo = Fifo(200, density_at={0: 0.0002, 100: 0.0006}, residence=50)
    state = EstimatorState()
    demand, ahead = {}, {}
    for second, reading in enumerate(fifo.readings):
        state, found, _ = update(state, reading)
        if found is not None and second >= 60:
            demand[second], ahead[second] = found.demand, found.demand_ahead

    assert all(demand[second] == pytest.approx(200.0, rel=0.05) for second in range(60, 140))
    assert all(demand[second] == pytest.approx(600.0, rel=0.05) for second in range(160, 200))
    assert ahead[124] == pytest.approx(200.0, rel=0.05)
    assert ahead[140] > 350.0


def test_pages_in_the_oldest_bytes_are_counted() -> None:
    """The ledger says how many pages the next bytes of the tail cost, and where flushing them leads."""
    fifo = Fifo(120, density_at={0: 0.0002, 100: 0.0006}, residence=60)
    state, found = follow(fifo.readings)
    last = fifo.readings[-1]

    assert state.tail.pages_ahead(last, 30e6) == pytest.approx(30 * 200.0, rel=0.03)
    assert state.tail.pages_ahead(last, 60e6) == pytest.approx(40 * 200.0 + 20 * 600.0, rel=0.03)
    assert state.tail.pages_ahead(last, -1.0) == 0.0
    flushing = replace(found, flush_rate=400.0, authority=1.0)
    assert state.tail.age_ahead(last, flushing, 10.0) == pytest.approx(60e6 + 10e6 - 20e6, rel=0.03)


def test_what_batches_leave_undone_is_reckoned_with() -> None:
    """On MySQL 5.6 with M in full use the age goes where two thirds of M take it, not all of it."""
    fifo = Fifo(120, density_at={0: 0.0002}, residence=60)
    state, found = follow(fifo.readings)
    last = replace(fifo.readings[-1], io_capacity_max=600, flush_requested=600)
    flushing = replace(found, flush_rate=400.0, authority=1.0)

    ages = [state.tail.age_ahead(last, flushing, 10.0, flushed_share=share) for share in (1.0, 2.0 / 3.0)]
    assert ages == pytest.approx([60e6 + 10e6 - 30e6, 60e6 + 10e6 - 20e6], rel=0.03)


def test_pages_that_went_before_their_turn_cost_nothing() -> None:
    """Where three quarters of the ledger's pages are flushed already, the tail costs a quarter of them."""
    fifo = Fifo(120, density_at={0: 0.0008}, residence=60)
    readings = [replace(one, pages_dirty=one.pages_dirty // 4) for one in fifo.readings]
    bulk = [*fifo.readings[:100], *readings[100:]]
    state, found = follow(bulk)

    assert found.demand == pytest.approx(200.0, rel=0.03)
    assert state.tail.pages_ahead(bulk[-1], 30e6) == pytest.approx(30 * 200.0, rel=0.03)
    flushing = replace(found, flush_rate=400.0, authority=1.0)
    assert state.tail.age_ahead(bulk[-1], flushing, 10.0) == pytest.approx(60e6 + 10e6 - 20e6, rel=0.03)


def test_neighbours_that_go_with_every_page_save_nothing() -> None:
    """Where each page takes another one with it all the time, the demand is still all pages dirtied."""
    fifo = Fifo(120, density_at={0: 0.0008}, residence=60)
    readings = [
        replace(one, pages_dirty=one.pages_dirty * 3 // 4, pages_neighbour=one.pages_adaptive // 2)
        for one in fifo.readings
    ]
    _, found = follow(readings)

    assert found.demand == pytest.approx(800.0, rel=0.03)


@pytest.mark.parametrize(
    ("neighbours", "by_age", "share"), [(0.9, 160, 0.2), (0.9, 0, 1.0), (0.02, 160, 1.0), (0.9, 1600, 1.0)]
)
def test_what_the_server_needs_is_told_from_what_goes_beside_it(
    neighbours: float, by_age: int, share: float
) -> None:
    """The need is a share of the flushing only where neighbours go, and where the server says what it is."""
    fifo = Fifo(800, density_at={0: 0.0008}, residence=60)
    readings = [
        replace(one, pages_neighbour=round(neighbours * one.pages_adaptive), flush_by_age=by_age)
        for one in fifo.readings
    ]
    state, _ = follow(readings)

    assert state.trends.need_share == pytest.approx(share, abs=0.02)


def wave(*, dirty_at_the_end: int) -> list[Sample]:
    """Return a minute of 10 new pages a second, and 20 s of 1,000 flushed ones that stay in the list.

    All but one in 100 are neighbours. In the second after that the list is as long as given.
    """
    readings = [
        sample(float(second), age=RATE * (second + 1), pages_dirty=20_000 + 10 * second, pages_adaptive=0)
        for second in range(60)
    ]
    for second in range(20):
        written = 1_000 * (second + 1)
        readings.append(
            replace(
                sample(60.0 + second, age=RATE * (second + 61), pages_dirty=20_600, pages_adaptive=written),
                pages_neighbour=written * 99 // 100,
            )
        )
    last = replace(readings[-1], pages_dirty=dirty_at_the_end)
    one = sample(80.0, age=RATE * 81, pages_dirty=dirty_at_the_end, pages_adaptive=last.pages_adaptive)
    return [*readings, replace(one, pages_neighbour=last.pages_neighbour)]


@pytest.mark.parametrize(("lists", "known"), [(True, 1_600.0), (False, 20_600.0)], ids=["MariaDB", "others"])
def test_pages_that_were_written_in_the_list_are_not_dirtied_twice(*, lists: bool, known: float) -> None:
    """What looked new while it was written is taken back when the server takes it off its list."""
    readings = wave(dirty_at_the_end=1_600)
    state = EstimatorState()
    for reading in readings:
        state, _, _ = update(state, reading, lists_written=lists)
    end = float(readings[-1].lsn_current)

    assert state.tail.ledger.between(state.tail.ledger.lsns[0], end) == pytest.approx(known, rel=0.02)


def test_a_dropped_table_takes_back_no_more_than_neighbours() -> None:
    """A list that shrinks by more than was written in it is short of other pages, which the ledger keeps."""
    state = EstimatorState()
    for reading in wave(dirty_at_the_end=0):
        state, _, _ = update(state, reading, lists_written=True)
    end = float(wave(dirty_at_the_end=0)[-1].lsn_current)

    assert state.tail.ledger.between(state.tail.ledger.lsns[0], end) == pytest.approx(800.0, rel=0.02)
