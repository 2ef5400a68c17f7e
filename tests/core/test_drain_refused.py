"""A drain that cannot be: refused with the reason, and with what is possible."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.core.draining import HIGH, age_of, drain
from tests.factory import REDO, SAVED, command, held
from tuner.core.ages import bytes_of
from tuner.records import Command, TickRecord
from tuner.settings import Settings


def refused(record: TickRecord) -> str:
    """Return why the tick's command was refused."""
    assert not record.acknowledgements[0].accepted, record.acknowledgements[0].message
    assert record.drain is None
    return record.acknowledgements[0].message


def test_an_age_below_where_the_server_flushes_by_age_is_refused(full: Bench) -> None:
    """The refusal names the reason and the lowest age that works, and that one works."""
    said = refused(full.turn(drain("5%")))

    assert "below innodb_adaptive_flushing_lwm (10 %) the server does not flush by age" in said
    lowest = re.search(r"the lowest at the present load is (\S+)$", said)
    assert lowest is not None
    accepted = full.turn(drain(lowest[1]))
    assert accepted.acknowledgements[0].accepted
    full.turns(300)
    assert age_of(full.record) <= bytes_of(lowest[1], redo_capacity=REDO)


def test_an_age_that_the_limits_cannot_reach_is_refused(full: Bench) -> None:
    """Where max_io_capacity_max is too low for the target, it is named with the lowest age that works."""
    full.turn(command("settings", settings=replace(HIGH, max_io_capacity_max=800)))

    said = refused(full.turn(drain("25MiB")))

    assert "more than the max_io_capacity_max of 800 pages/s" in said
    lowest = re.search(r"the lowest at the present load is (\S+)$", said)
    assert lowest is not None
    full.turn(drain(lowest[1]))
    full.turns(400)
    assert age_of(full.record) <= bytes_of(lowest[1], redo_capacity=REDO)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (drain("90%"), "is no less than the loop holds anyway"),
        (drain("a lot"), "'a lot' is no age"),
        (drain(ttl=0.0), "needs a checkpoint age"),
        (drain(ttl=float("nan")), "needs a checkpoint age"),
        (command("drain", value=None, ttl=60.0), "needs a checkpoint age"),
        (command("cancel_drain"), "no drain is in force"),
    ],
)
def test_a_drain_that_makes_no_sense_is_refused(full: Bench, asked: Command, said: str) -> None:
    """What cannot be done is refused with the reason, and nothing is written for it."""
    before = len(full.server.applied)

    assert said in refused(full.turn(asked))
    assert len(full.server.applied) == before


def test_a_drain_is_refused_where_nothing_may_be_written(full: Bench) -> None:
    """In advisory mode and under a hold, entered in this very tick even, a drain is refused."""
    advisory = Bench(Settings())
    advisory.turns(20)
    assert "advisory" in refused(advisory.turn(drain()))

    record = full.turn(command("pause", number=1), drain(number=2))
    assert not record.acknowledgements[1].accepted
    assert "a hold permits no drain" in record.acknowledgements[1].message


def test_a_drain_needs_rates() -> None:
    """A daemon that has just started asks for ten seconds before it can say what is possible."""
    bench = Bench(HIGH)
    bench.turn()
    bench.turn(SAVED)
    bench.turns(5)
    while held(bench.record):
        bench.turn()

    said = refused(bench.turn(drain()))

    assert "ten seconds" in said
