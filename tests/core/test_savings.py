"""The ledger of what was saved: what counts in it, and what does not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from lab.scenarios import load_scenario
from lab.simulate_loop import run_policy
from tests.bench import Bench, FakeServer
from tests.core.learned_document import full
from tests.factory import DEFAULT, FACTS, command
from tuner.core.memory import learned_of, remember
from tuner.core.savings.ledger import Savings, said
from tuner.core.savings.reckoning import WEEK
from tuner.core.step import start
from tuner.records import Capacity
from tuner.settings import Mode, Settings

MINUTES = 3


@functools.cache
def _begun() -> Bench:
    bench = Bench(server=FakeServer())
    bench.server.combines = 0.6
    bench.in_control()
    bench.turns(60 * MINUTES)
    return bench


def at_work() -> Bench:
    """Return a loop in control of a server whose load combines writes, past some minutes that count."""
    return _begun().fork()


def total(bench: Bench) -> Savings:
    """Return the ledger as it stands."""
    return bench.state.savings.total


def test_pages_that_write_combining_saved_are_counted_within_bounds() -> None:
    """A higher age than the settings found would hold is a saving, and the likeliest is within bounds."""
    found = total(at_work())

    assert found.likely > 0.0
    assert found.least < found.likely < found.most
    assert found.written > 0.0
    assert found.seconds == pytest.approx(60.0 * MINUTES, abs=130.0)


def test_the_ledger_counts_no_more_seconds_than_have_passed() -> None:
    """What is said to be saved in so many minutes began so long ago at least."""
    bench = at_work()

    assert total(bench).seconds <= bench.record.tick.wall - total(bench).since < 60.0 * MINUTES + 130.0


def test_a_lower_age_than_theirs_is_a_loss() -> None:
    """What a person has us write more counts against us, and is told as a cost, not as saved."""
    bench = Bench(server=FakeServer(Capacity(400, 400)))
    bench.server.combines = 0.6
    bench.ready()
    bench.turns(120)
    bench.turn(command("override", value=8000, ttl=7200.0))
    bench.turns(60 * MINUTES)

    found = total(bench)
    assert found.likely < 0.0
    assert said(found, page_size=16_384).startswith("cost ")


def advisory(bench: Bench) -> None:
    """Let a person leave active mode."""
    bench.turn(command("mode", value=Mode.ADVISORY.value))


def foreign(bench: Bench) -> None:
    """Let somebody else set C and M."""
    bench.server.capacity, bench.server.ours = Capacity(3000, 3000), False
    bench.turns(3)


def restored(bench: Bench) -> None:
    """Let a person put the values found back."""
    bench.turn(command("restore"))
    for _ in range(600):
        if bench.server.capacity == DEFAULT:
            break
        bench.turn()


@pytest.mark.parametrize("leave", [advisory, foreign, restored], ids=lambda one: one.__name__)
def test_what_is_not_ours_does_not_count(leave: Callable[[Bench], None]) -> None:
    """Advisory time, another's values and the values found move nothing."""
    bench = at_work()
    leave(bench)
    bench.turns(5)
    before = total(bench)
    bench.turns(60 * MINUTES)

    assert total(bench) == before


def test_an_advisory_loop_keeps_no_ledger() -> None:
    """Who only looks on has saved nothing."""
    bench = Bench(Settings())
    bench.turns(60 * MINUTES)

    assert total(bench) == Savings()


def test_a_park_and_an_unanswered_time_count() -> None:
    """A pause parks, and what the parked values write is ours as well; silence ends no minute."""
    bench = at_work()
    before = total(bench)
    bench.turn(command("pause"))
    bench.turns(90)
    bench.silent(30)
    bench.turns(90)

    assert total(bench).seconds >= before.seconds + 120.0
    assert total(bench).written > before.written


def test_counters_that_begin_anew_move_nothing() -> None:
    """A restart of mysqld costs the minute under way, and no page is made up from counters that fell."""
    bench = at_work()
    bench.turns(30)
    before = total(bench)
    bench.server.restart(DEFAULT)
    bench.turns(30)

    assert total(bench) == before


def test_the_next_daemon_goes_on_where_the_last_one_was() -> None:
    """The sums survive a restart of the daemon, and the time in between counts nothing."""
    bench = at_work()
    before = total(bench)
    remembered = remember(msgspec.msgpack.encode(learned_of(bench.state)))
    bench.server.live(7200.0)
    bench.state = start(
        bench.state.settings,
        bench.server.facts(),
        DEFAULT,
        left=(bench.server.capacity,),
        learned=remembered.learned,
    )
    bench.turns(120)

    assert remembered.lost == ()
    after = total(bench)
    assert before.seconds < after.seconds <= before.seconds + 120.0
    assert after.since == before.since


@pytest.mark.parametrize("broken", [b"torn", {"likely": 9.0}, {"least": float("nan")}])
def test_a_broken_ledger_is_told_and_lost_alone(broken: object) -> None:
    """What cannot be read or cannot be true begins afresh, by name, and all else that was learned stays."""
    document = msgspec.msgpack.decode(msgspec.msgpack.encode(full()))
    document["savings"] = broken
    learned, lost = remember(msgspec.msgpack.encode(document))

    assert learned is not None
    assert len(lost) == 1
    assert lost[0].startswith("the ledger of what was saved: ")
    assert replace(learned, savings=full().savings) == full()


def test_each_server_behind_an_address_has_its_own() -> None:
    """Where another server answers its ledger begins, and that of the first goes on when it is back."""
    bench = at_work()
    before = total(bench)
    bench.server.identity = "another"
    bench.turns(60)
    other = total(bench)
    bench.server.identity = FACTS.identity
    bench.turns(60)

    assert other == Savings()
    assert total(bench) == before


def test_the_log_has_a_line_once_a_week() -> None:
    """Seven days after the last line there is one, with the bounds, and not another a minute later."""
    bench = at_work()
    savings = bench.state.savings
    long_ago = replace(savings.total, since=savings.total.since - WEEK)
    bench.state = replace(bench.state, savings=replace(savings, total=long_ago))
    since = len(bench.records)
    bench.turns(60 * MINUTES)

    lines = bench.said("saved", since=since)
    assert len(lines) == 1
    assert " to " in lines[0]


def test_the_first_minutes_beside_an_age_that_no_value_lowered_save_next_to_nothing() -> None:
    """Below innodb_adaptive_flushing_lwm no settings hold an age down, so an age there saves nothing."""
    scenario = replace(load_scenario(str(Path(__file__).parents[1] / "cli/rising.toml")), seconds=910)
    found = run_policy(scenario, Settings(min_io_capacity_max=200), active_from=840.0).savings

    assert found.least <= 0.0 <= found.most
    assert abs(found.likely) < 0.05 * found.written
