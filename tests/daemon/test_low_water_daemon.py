"""The low-water mark in a daemon's life: on disk before ours is written, and back when it stops."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.bench import Bench, FakeServer
from tests.core.low_water import OFF, OURS, beside, in_force
from tests.factory import EPOCH, IDENTITY, codes, command
from tuner.core.leaving.lowwater import NOT_BACK, may_be_written
from tuner.core.ownership.standing import Standing, standing_of
from tuner.core.state import State
from tuner.daemon.farewell import Farewell
from tuner.daemon.persistence import Persistence
from tuner.journal.reader import standing
from tuner.loop import drive
from tuner.records import Capacity, Command, DecisionKind, Lifecycle, Receipt, TickRecord

SOON = 10.0


class Stopped:
    """The end of a loop on a fake server's clock, whose inbox has a stop in it.

    Attributes:
        records: ticks from there to the end.
        told: receipts that no tick follows.
        farewell: what is said of the pair that is left.
    """

    def __init__(self, bench: Bench, value: str = "park", *, refused: DecisionKind | None = None) -> None:
        """Run to the end, on a server that refuses such a write and all after it."""
        self._server: FakeServer = bench.server
        self._refused = refused
        self._commands: tuple[Command, ...] = (command("stop", who="SIGTERM", value=value),)
        self.records: list[TickRecord] = []
        self.told: list[Receipt] = []
        self.farewell = Farewell()
        for record in bench.records:
            self.farewell.take(record)
        drive(
            bench.server,
            self,
            self,
            bench.state,
            interval=1.0,
            publish=self._publish,
            last=self._last,
            number=len(bench.records),
        )

    def monotonic(self) -> float:
        """Return the server's time on the loop's clock, seconds."""
        return 1000.0 + self._server.now

    def wall(self) -> float:
        """Return the same as Unix time."""
        return EPOCH + self._server.now

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Let the server live until then; return what has come."""
        self._server.live(max(0.0, until - self.monotonic()))
        found, self._commands = self._commands, ()
        return found

    def _publish(self, _: State, record: TickRecord) -> None:
        if record.decision.kind is self._refused:
            self._server.refusal = "read-only (error 1290)"
        self.records.append(record)
        self.farewell.take(record)

    def _last(self, receipt: Receipt) -> None:
        self.told.append(receipt)
        self.farewell.wrote(receipt)


def test_a_stop_ends_with_the_operators_mark() -> None:
    """C and M are parked, then the loop turns once more and puts the mark back; the park is told."""
    bench = in_force()
    stopped = Stopped(bench)

    assert bench.server.mark == 0
    assert [one.decision.kind for one in stopped.records[-2:]] == [DecisionKind.PARK, DecisionKind.LOW_WATER]
    assert [one.low_water_mark for one in stopped.told] == [0]
    assert str(stopped.farewell).endswith(": parked")


@pytest.mark.parametrize(
    ("value", "refused", "ticks"),
    [("leave", None, 1), ("park", DecisionKind.PARK, 1), ("park", DecisionKind.LOW_WATER, 2)],
)
def test_a_mark_that_stays_does_not_delay_a_stop(
    value: str, refused: DecisionKind | None, ticks: int
) -> None:
    """Where all is left as it is, or the server takes no write, nothing is tried twice; a refusal is told."""
    bench = in_force()
    stopped = Stopped(bench, value, refused=refused)
    ending = [one for one in stopped.records if one.lifecycle is Lifecycle.STOPPING]

    assert len(ending) == ticks
    assert bench.server.mark == OURS
    assert [one.error for one in stopped.told] == (["read-only (error 1290)"] if refused else [])
    assert (": parked" in str(stopped.farewell)) is (refused is DecisionKind.LOW_WATER)
    assert str(stopped.farewell).endswith(
        "; innodb_max_dirty_pages_pct_lwm = 0.001, set by InnoBrim; the original is 0"
    )


@pytest.mark.parametrize("why", ["foreign_change", "read_only", "another daemon", "silent"])
@pytest.mark.parametrize("value", ["park", "leave"])
def test_a_mark_that_may_not_go_back_at_a_stop_is_told(why: str, value: str) -> None:
    """Where nothing may be written, the end names the mark that is left, once; on purpose it is no event."""
    bench = in_force()
    server = bench.server
    if why == "foreign_change":
        server.capacity, server.ours = Capacity(777, 1554), False
    elif why == "read_only":
        server.shows = {"read_only": True}
    elif why == "another daemon":
        server.writer = False
    else:
        server.down = "did not answer"
    bench.turns(3)
    stopped = Stopped(bench, value)
    ending = [one for one in stopped.records if one.lifecycle is Lifecycle.STOPPING]

    assert server.mark == OURS
    assert len(ending) == 1
    assert [code for one in ending for code in codes(one)].count(NOT_BACK) == (value == "park")
    assert "innodb_max_dirty_pages_pct_lwm = 0.001, set by InnoBrim" in str(stopped.farewell)
    assert standing_of(bench.state).low_water == 0


def test_the_operators_mark_is_on_disk_before_another_is_written(tmp_path: Path) -> None:
    """The journal says when the mark found is on disk; the next daemon finds it there, until it is back."""
    bench, said = beside(), []
    kept = Persistence(tmp_path, keep_ticks=100)
    kept.open()
    for record in bench.records[-3:]:
        kept.record(bench.state, record, originals_saved=lambda _: None, mark_saved=said.append)
    kept.close(SOON)
    assert said == [f"{IDENTITY} 0"]
    note = msgspec.json.decode(standing(tmp_path)[IDENTITY], type=Standing)
    assert note.low_water == 0

    again = Persistence(tmp_path, keep_ticks=100)
    again.open()
    state = again.state_at_start(OFF, bench.server.facts(), now=0.0)
    again.close(SOON)
    assert state.low_water.original == 0
    assert state.low_water.left
    assert may_be_written(state)


def test_a_note_of_before_is_still_read() -> None:
    """What stands for a server as an older version wrote it has no mark in it, and is taken all the same."""
    text = msgspec.json.encode({"identity": IDENTITY, "started": 1.0, "paused": "paused by somebody"})

    assert msgspec.json.decode(text, type=Standing).low_water is None
