"""When the operator's low-water mark comes back, and when the other one is not written at all."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.suggestions import distance
from tests.bench import Bench
from tests.core.test_low_water import MARK_SAVED, TRIED, at_rest, begun, beside, codes, ended, marks, trying
from tests.factory import EPOCH, command
from tuner.core.mark import owed
from tuner.records import Command, Window
from tuner.settings import Mode

BUSINESS_DAY = command(
    "schedule",
    who="schedule",
    windows=(Window(name="day", began=EPOCH, ends=EPOCH + 1e6, learn=False),),
)


def in_use() -> Bench:
    """Return a loop on a server with the other mark in force, which won its trial."""
    bench = ended(trying(beside(above=1.05)))
    bench.turns(30)
    assert bench.server.mark == TRIED
    return bench


@pytest.mark.parametrize("what", ["role", "resizing", "inert"])
def test_what_won_does_not_outlast_a_park_of_the_loops_own(what: str) -> None:
    """Another role, a redo log that is resized, adaptive flushing off: the operator's mark is back."""
    bench = in_use()
    if what == "role":
        bench.server.shows["replica"] = True
    elif what == "resizing":
        bench.server.resizing = True
    else:
        bench.server.adaptive_flushing = False
    bench.turns(60)

    assert bench.server.mark == 0
    assert marks(bench)[-1] == 0


def test_what_won_as_a_primary_says_nothing_about_a_replica() -> None:
    """After a change of role what won is forgotten, and not in use again under the other role's load."""
    bench = in_use()
    bench.server.shows["replica"] = True
    bench.turns(600)

    assert bench.server.mark == 0
    assert bench.state.mark.used is None
    assert bench.state.mark.wins == ()


def test_what_won_goes_with_its_load_even_where_no_trial_may_begin() -> None:
    """In a window in which nothing is learned another load still brings the operator's mark back."""
    bench = in_use()
    bench.turn(BUSINESS_DAY)
    assert bench.server.mark == TRIED
    bench.server.redo_rate *= 3.0
    bench.turns(2000)

    assert bench.server.mark == 0
    assert bench.state.mark.used is None


@pytest.mark.parametrize(
    "order",
    [command("mode", value="advisory"), command("park"), command("pause"), command("stop")],
    ids=["advisory", "park", "pause", "stop"],
)
def test_a_write_that_nobody_could_read_back_is_undone_too(order: Command) -> None:
    """The server falls silent right after the other mark was written: the order holds all the same."""
    bench = at_rest(begun(beside()))
    bench.turn(MARK_SAVED)
    for _ in range(4000):
        bench.server.unread = True
        bench.turn()
        if bench.server.mark == TRIED:
            break
    assert bench.server.mark == TRIED
    bench.server.down = "did not answer"
    bench.turn(order)
    assert owed(bench.state)
    bench.turns(3)
    bench.server.down = ""
    bench.turns(100)

    assert bench.server.mark == 0


@pytest.mark.parametrize(
    "order",
    [
        BUSINESS_DAY,
        command("override", value=900, ttl=600.0),
        command("drain", value="60%", ttl=60.0),
        None,
    ],
    ids=["window", "override", "drain", "ddl"],
)
def test_no_other_mark_at_the_tick_that_bars_it(order: Command | None) -> None:
    """Whatever bars a trial keeps the other mark from being written already at the tick at which it comes."""
    bench = begun(beside())
    bench.turn(MARK_SAVED)
    while bench.state.mark.running is not None and not bench.state.mark.running.suggested:
        bench.turn()
    assert bench.state.mark.running is not None
    if order is None:
        bench.server.shows["ddl_statements"] = 5
        bench.turn()
    else:
        bench.turn(order)
    bench.turns(5)

    assert marks(bench) == []


def test_a_trial_ends_with_a_load_that_drifts_away() -> None:
    """A load that is no longer like the one that the trial began with ends it, however slowly it went."""
    bench = trying(beside(above=1.05))
    running = bench.state.mark.running
    assert running is not None
    for _ in range(40_000):
        bench.server.redo_rate *= 0.9999
        bench.turn()
        if bench.state.mark.running is None:
            break
    context = bench.state.mark.context
    assert context is not None

    assert distance(running.context, context) == pytest.approx(1.0, abs=0.05)
    assert "trial_abandoned" in codes(bench)
    assert "the load is another one than it began with" in [
        event.message.rpartition(": ")[2] for record in bench.records for event in record.events
    ]


def test_an_advisory_daemon_writes_no_mark_after_its_minute() -> None:
    """What could not be put back within a minute of leaving active mode stays: nobody expects a write."""
    bench = in_use()
    bench.server.down = "did not answer"
    bench.turn(command("mode", value="advisory"))
    bench.turns(120)
    bench.server.down = ""
    bench.turns(100)

    assert bench.state.mode is Mode.ADVISORY
    assert bench.server.mark == TRIED
    assert replace(bench.state.mark, leaving=None).original == 0
