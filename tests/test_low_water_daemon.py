"""The other low-water mark in a daemon's life: on disk before it is written, and put back when it stops."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.core.test_low_water import CONSENT, MARK_SAVED, TRIED, begun, beside, trying
from tests.factory import DEFAULT, EPOCH, IDENTITY, command
from tuner.core.mark import may_be_written
from tuner.core.standing import Standing
from tuner.core.state import State
from tuner.journal.reader import standing
from tuner.loop import drive
from tuner.memory import Memory
from tuner.records import Command, Receipt, TickRecord

SOON = 10.0


class Beside:
    """Clock and inbox of a fake server: time passes as the loop waits; commands come with the first wait."""

    def __init__(self, server: FakeServer, *commands: Command) -> None:
        self._server = server
        self._commands = commands

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


def stopped(bench: Bench, value: str) -> tuple[list[TickRecord], list[Receipt]]:
    """Return the ticks from here to the end of a loop that is told to stop, and its last receipts."""
    records: list[TickRecord] = []
    told: list[Receipt] = []
    beside_it = Beside(bench.server, command("stop", who="SIGTERM", value=value))

    def publish(_state: State, record: TickRecord) -> None:
        records.append(record)

    drive(
        bench.server,
        beside_it,
        beside_it,
        bench.state,
        interval=1.0,
        publish=publish,
        last=told.append,
        number=len(bench.records),
    )
    return records, told


@pytest.mark.parametrize("value", ["park", "leave"])
def test_a_stop_ends_with_the_operators_mark(value: str) -> None:
    """C and M are parked, or left, and then the mark is put back; the loop turns once more for that."""
    bench = trying(beside())
    records, told = stopped(bench, value)

    assert bench.server.mark == 0
    assert records[-1].decision.kind.value == "low_water"
    assert [one.low_water_mark for one in told] == [0]
    assert len(records) <= 3


def test_a_mark_that_cannot_be_put_back_does_not_delay_a_stop() -> None:
    """A server that refuses it is asked once; the note on disk stays for the next daemon."""
    bench = trying(beside())
    bench.server.refusal = "The MariaDB server is running with the --read-only option (error 1290)"
    records, _ = stopped(bench, "park")

    assert bench.server.mark == TRIED
    assert len(records) <= 3


def test_the_operators_mark_is_on_disk_before_another_is_written(tmp_path: Path) -> None:
    """The journal says when the mark found is on disk; the next daemon finds it there, until it is back."""
    bench, said = begun(beside()), []
    kept = Memory(tmp_path, keep_ticks=100)
    kept.open()
    for record in bench.records[-3:]:
        kept.record(bench.state, record, originals_saved=lambda _: None, mark_saved=said.append)
    kept.close(SOON)
    assert said == [f"{IDENTITY} 0"]
    note = msgspec.json.decode(standing(tmp_path)[IDENTITY], type=Standing)
    assert note.low_water == 0

    again = Memory(tmp_path, keep_ticks=100)
    again.open()
    state = again.state_at_start(replace(CONSENT, policy="cascade"), bench.server.facts(), now=0.0)
    again.close(SOON)
    assert state.mark.original == 0
    assert state.mark.left
    assert may_be_written(state)


def test_a_note_of_before_is_still_read() -> None:
    """What stands for a server as an older version wrote it has no mark in it, and is taken all the same."""
    text = msgspec.json.encode({"identity": IDENTITY, "started": 1.0, "paused": "paused by somebody"})

    assert msgspec.json.decode(text, type=Standing).low_water is None


def test_without_consent_the_mark_is_on_no_list() -> None:
    """The mark may be written with consent, and while one is to be put back; else it is on no list."""
    plain = Bench(replace(CONSENT, policy="bayes"), originals=DEFAULT)
    consented = Bench(CONSENT, originals=DEFAULT)
    revoked = trying(beside())
    revoked.turn(MARK_SAVED, command("settings", settings=replace(CONSENT, policy="bayes")))

    assert not may_be_written(plain.state)
    assert may_be_written(consented.state)
    assert may_be_written(revoked.state)
    revoked.turns(5)
    assert not may_be_written(revoked.state)
