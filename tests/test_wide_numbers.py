"""C and M go up to 2^64 − 1, where DEFAULT leaves M before MySQL 8.4, and are held exactly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api import factory
from tests.bench import FakeServer
from tests.daemon.life import Life
from tuner.core.leaving.restore import restore_step
from tuner.core.writes.plan import plan
from tuner.daemon.board import Board
from tuner.findings.advice import advise
from tuner.journal.ending import last_writes
from tuner.journal.reader import originals, trace
from tuner.journal.tables import loaded, stored
from tuner.records import Capacity, TickRecord
from tuner.settings import Mode, Settings
from tuner.without_daemon import restore_offline

TOP = 2**64 - 1
SIGNED = 2**63 - 1
WIDE = [Capacity(200, TOP), Capacity(TOP, TOP), Capacity(SIGNED, SIGNED + 1), Capacity(12_345, TOP - 1)]


class Unbounded(FakeServer):
    """A server whose two variables have all of 64 bits, as before MySQL 8.4."""

    def _set(self, name: str, value: int) -> None:
        self.capacity = replace(self.capacity, **{name.removeprefix("innodb_"): value})


@pytest.mark.parametrize("number", [0, 1, 100, 2**31, 2**53 + 1, SIGNED, SIGNED + 1, TOP - 1, TOP])
def test_a_column_of_the_journal_holds_every_number(number: int) -> None:
    """SQLite's integers are signed, and none of a server's is lost in one."""
    assert -(2**63) <= stored(number) <= SIGNED
    assert loaded(stored(number)) == number


@pytest.mark.parametrize("pair", WIDE[1:3], ids=str)
def test_the_loop_writes_beside_such_a_server_and_knows_its_originals(pair: Capacity, tmp_path: Path) -> None:
    """Active mode takes the originals, writes, and finds both in the journal as they were."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE))
    life.server.capacity = pair
    life.live(life.wait_for_write)

    assert [one.capacity for one in originals(tmp_path)] == [pair]
    (writes,) = last_writes(tmp_path).values()
    assert writes[-1].before in {pair, life.server.applied[0][1]}
    assert all(wanted.io_capacity_max <= 20_000 for _, wanted, _ in life.server.applied)
    assert any(isinstance(one, TickRecord) and one.originals == pair for one in trace(tmp_path)), (
        "ticks hold it exactly as well"
    )


@pytest.mark.parametrize("pair", WIDE, ids=str)
def test_the_way_back_ends_at_exactly_such_a_pair(pair: Capacity) -> None:
    """A restore ends at the originals to the last digit, and no statement on the way leaves 64 bits."""
    server = Unbounded(Capacity(225, 450))
    restore_offline(server, pair, say=lambda _: None, hidden=True, wait=server.live)

    assert server.capacity == pair
    assert all(100 <= value <= TOP for steps, *_ in server.applied for _, value in steps)
    current = pair
    while current != Capacity(225, 450):
        following = restore_step(current, Capacity(225, 450))
        assert all(100 <= value <= TOP for _, value in plan(current, following))
        current = following


@pytest.mark.parametrize("pair", WIDE, ids=str)
@pytest.mark.parametrize("most", [2**32 - 1, SIGNED, TOP])
def test_advice_names_no_number_that_no_server_takes(pair: Capacity, most: int) -> None:
    """Neither in words that a person would type, nor in SQL."""
    reading = replace(factory.sample(1), io_capacity=pair.io_capacity, io_capacity_max=pair.io_capacity_max)
    facts = replace(factory.FACTS, capacity_maximum=most)
    for one in advise(factory.record(1, reading=reading), facts, Settings()):
        said = " ".join([one.fix, *one.sql])

        assert all(int(number) <= TOP for number in re.findall(r"\d+", said)), said
        if one.id == "ratio-not-whole":
            assert all(int(number) <= most for number in re.findall(r"\d{6,}", one.sql[-1])), said


@pytest.mark.parametrize("pair", WIDE, ids=str)
def test_metrics_and_status_have_every_digit(pair: Capacity) -> None:
    """Both show the number that is in force, not the float beside it."""
    reading = replace(factory.sample(1), io_capacity=pair.io_capacity, io_capacity_max=pair.io_capacity_max)
    board = Board()
    board.publish(replace(factory.record(1, reading=reading), originals=pair), Settings(), factory.FACTS)
    app = factory.application(board)
    text = factory.get(app, "/metrics").text.replace(".0\n", "\n")
    status = factory.get(app, "/v1/status").json()

    for name in ("io_capacity", "io_capacity_max"):
        for of in ("", "original_"):
            assert f"innobrim_{of}{name}_pages_per_second {getattr(pair, name)}\n" in text
        assert status["in_force"][name] == status["originals"][name] == getattr(pair, name)
