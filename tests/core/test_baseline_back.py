"""The baseline guard in the loop: the baseline comes back in steps, and what lifts that."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer, next_daemon
from tests.factory import ACTIVE, DEFAULT, OTHER_IDENTITY, SAVED, codes, command
from tuner.core.snapshot import decode_state, encode_state
from tuner.records import Command, DecisionKind, TickRecord
from tuner.settings import Mode, Settings
from tuner.tally import Tally


class Worse(FakeServer):
    """A server on which fewer rows come through under values of ours.

    Attributes:
        factor: on the row changes, under a pair that was written over the port.
        slower: the same under whatever pair.
    """

    def __init__(self) -> None:
        super().__init__()
        self.write_seconds = 0.005
        self.factor = 0.9
        self.slower = 1.0

    def live(self, seconds: float) -> None:
        """Let time pass."""
        before = self.rows
        super().live(seconds)
        harmed = self.factor if self.ours and self.capacity != DEFAULT else 1.0
        self.rows = before + harmed * self.slower * (self.rows - before)


def minutes(bench: Bench, count: float, *, until: str = "") -> list[TickRecord]:
    """Turn for so long, or until an event of that code; return the records."""
    begun = len(bench.records)
    for _ in range(round(60 * count)):
        if until and until in codes(bench.turn()):
            break
        if not until:
            bench.turn()
    return bench.records[begun:]


def events(records: list[TickRecord]) -> list[str]:
    """Return what the guard said."""
    return [code for one in records for code in codes(one) if code.startswith("baseline_")]


def saved(bench: Bench) -> None:
    """Have the originals noted, and put on disk."""
    bench.turns(2)
    bench.turn(SAVED)


def begun(settings: Settings = ACTIVE, *, factor: float = 0.9) -> Bench:
    """Return a loop that looked on for twenty minutes, and is in control then."""
    server = Worse()
    server.factor = factor
    bench = Bench(settings, server)
    bench.turn(command("mode", value="advisory"))
    minutes(bench, 20)
    bench.turn(command("mode", value="active"))
    saved(bench)
    return bench


@pytest.fixture(scope="module")
def kept() -> Bench:
    """Return a loop whose baseline is back and advisory for it."""
    bench = begun()
    minutes(bench, 40, until="restored")
    assert bench.record.mode is Mode.ADVISORY
    return bench


@pytest.fixture
def back(kept: Bench) -> Bench:
    """Return the same for a test of its own."""
    server = Worse()
    vars(server).update(vars(kept.server))
    bench = Bench(ACTIVE, server)
    bench.state, bench.records = kept.state, list(kept.records)
    return bench


def test_a_worse_server_gets_its_own_values_back_in_steps(kept: Bench) -> None:
    """Where the server shows a loss the originals come back by restores in steps, and the loop says why."""
    begins = next(place for place, one in enumerate(kept.records) if "baseline_back" in codes(one))
    written = [one.decision for one in kept.records[begins:] if one.decision.steps]
    told = next(one.message for one in kept.records[begins].events if one.code == "baseline_back")

    assert {one.kind for one in written} == {DecisionKind.RESTORE}
    assert len(written) > 3
    assert kept.server.capacity == DEFAULT
    assert "3000 row changes/s in place of 3333" in told
    assert "10000/20000" in told
    assert "the server did worse under InnoBrim's values" in kept.record.advisory


def test_a_server_that_does_as_well_keeps_ours() -> None:
    """Without a loss nothing comes back in an hour."""
    bench = begun(factor=1.0)

    assert events(minutes(bench, 60)) == []
    assert bench.record.mode is Mode.ACTIVE
    assert bench.server.capacity != DEFAULT


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        (replace(ACTIVE, set_point=0.5), None),
        (replace(ACTIVE, policy="fixed", fixed_io_capacity_max=600), None),
        (ACTIVE, command("override", value=600, ttl=7200.0)),
    ],
)
def test_what_a_person_chose_is_not_judged(settings: Settings, asked: Command | None) -> None:
    """A set-point, a fixed M or an override stays in force, however the server does under it."""
    bench = begun(settings)
    minutes(bench, 3)
    if asked is not None:
        bench.turn(asked)

    assert events(minutes(bench, 60)) == []
    assert bench.record.mode is Mode.ACTIVE


@pytest.mark.parametrize("asked", [command("resume"), command("mode", value="active")])
def test_a_person_ends_it_at_once(back: Bench, asked: Command) -> None:
    """After resume, or mode active, the loop is active, and judges by what its values show from then on."""
    record = back.turn(asked)

    assert record.acknowledgements[0].accepted
    assert record.mode is Mode.ACTIVE
    assert "baseline_left" in codes(record)
    saved(back)
    assert events(minutes(back, 10)) == []
    assert events(minutes(back, 20, until="baseline_back")) == ["baseline_back"]


def test_resume_ends_it_on_its_way(back: Bench) -> None:
    """A resume while the originals are still coming back stops that, and the loop goes on from there."""
    back.turn(command("resume"))
    saved(back)
    minutes(back, 40, until="baseline_back")
    back.turn()
    record = back.turn(command("resume"))

    assert record.mode is Mode.ACTIVE
    assert record.restore is None
    assert "baseline_left" in codes(record)


def test_another_load_lifts_it(back: Bench) -> None:
    """Ten minutes of another kind of load make the loop active again by itself; the old one is remembered."""
    back.server.slower = 0.4
    records = minutes(back, 15, until="baseline_left")
    (said,) = (one.message for one in records[-1].events if one.code == "baseline_left")

    assert "the load is another one" in said
    assert len(records) >= 600
    assert back.record.mode is Mode.ACTIVE
    assert back.state.baseline_guard.kinds[0].ours.rows.count >= 10


def test_a_baseline_that_does_no_better_lifts_it(back: Bench) -> None:
    """Where the server does as badly under its own values the loop is active again by itself, and says so."""
    back.server.slower = 0.9
    records = minutes(back, 20, until="baseline_left")
    (said,) = (one.message for one in records[-1].events if one.code == "baseline_left")

    assert "no better under its own values" in said
    assert back.record.mode is Mode.ACTIVE


def test_a_persons_word_goes_before_it(back: Bench) -> None:
    """Once a person said advisory no other load makes the loop active again."""
    record = back.turn(command("mode", value="advisory", reason="mine"))
    assert "baseline_left" in codes(record)
    back.server.slower = 0.4

    assert events(minutes(back, 20)) == []
    assert back.record.mode is Mode.ADVISORY


def test_while_the_load_stays_it_stays(back: Bench) -> None:
    """Under the same load the loop is advisory for as long as it lasts."""
    assert events(minutes(back, 60)) == []
    assert back.record.mode is Mode.ADVISORY
    assert back.server.capacity == DEFAULT


def test_it_outlives_the_daemon(back: Bench) -> None:
    """The next daemon is advisory for the same reason, says so, and resume ends that there too."""
    later = next_daemon(back.state)
    back.state = later
    record = back.turn()
    assert record.mode is Mode.ADVISORY
    assert "baseline_back" in codes(record)
    assert "worse under InnoBrim's values" in record.advisory

    assert back.turn(command("resume")).mode is Mode.ACTIVE


def test_another_server_is_nothing_of_it(back: Bench) -> None:
    """Where another server answers at the address the guard's word is over, and nothing is known of it."""
    back.server.identity = OTHER_IDENTITY
    record = back.turn()

    assert "baseline_left" in codes(record)
    assert back.state.baseline_guard.kinds == ()
    assert back.record.mode is Mode.ADVISORY


def test_a_restart_of_mysqld_forgets_what_was_shown(back: Bench) -> None:
    """Other settings and an empty pool may make another server of it; the word stays, until it shows anew."""
    back.server.restart(DEFAULT)
    back.turns(3)

    assert back.state.baseline_guard.kinds == ()
    assert back.state.baseline_guard.returned is not None
    assert back.record.mode is Mode.ADVISORY


def test_the_tally_knows_whether_it_is_back(kept: Bench) -> None:
    """The metric follows the events: on once the guard spoke, off once its word is over."""
    tally = Tally()
    for one in kept.records:
        tally = tally.after(one)
    assert tally.baseline_back

    assert not tally.after(_left(kept)).baseline_back


def test_a_snapshot_keeps_it(kept: Bench) -> None:
    """A replay that begins in the middle knows what both sides showed."""
    state = decode_state(encode_state(kept.state))

    assert state.baseline_guard == kept.state.baseline_guard
    assert msgspec.msgpack.encode(state.baseline_guard)


def _left(kept: Bench) -> TickRecord:
    bench = Bench(ACTIVE, Worse())
    bench.state = kept.state
    vars(bench.server).update(vars(kept.server))
    return bench.turn(command("resume"))
