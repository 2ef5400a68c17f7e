"""The baseline guard in the loop: the baseline comes back in steps, and what lifts that."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, Worse, next_daemon
from tests.factory import ACTIVE, DEFAULT, OTHER_IDENTITY, codes, command
from tuner.core.state import decode_state, encode_state
from tuner.daemon.tally import Tally
from tuner.records import Command, DecisionKind
from tuner.settings import Mode, Settings


def minutes(bench: Bench, count: float, *, until: str = "") -> int:
    """Turn for so long, or until an event of that code; return at which record that began."""
    begun = len(bench.records)
    for _ in range(round(60 * count)):
        if until in codes(bench.turn()):
            break
    return begun


def guard(bench: Bench, count: float, *, until: str = "") -> list[str]:
    """Turn for so long, or until an event of that code; return what the guard said."""
    return bench.codes("baseline_", since=minutes(bench, count, until=until))


def begun(settings: Settings = ACTIVE, *, factor: float = 0.9) -> Bench:
    """Return a loop that looked on for twenty minutes, and is in control then."""
    server = Worse()
    server.factor = factor
    bench = Bench(replace(settings, mode=Mode.ADVISORY), server)
    minutes(bench, 20)
    bench.turn(command("settings", settings=settings))
    bench.turn()
    return bench.ready()


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
    return kept.fork()


def test_a_worse_server_gets_its_own_values_back_in_steps(kept: Bench) -> None:
    """Where the server shows a loss the originals come back by restores in steps, and the loop says why."""
    begins = next(place for place, one in enumerate(kept.records) if "baseline_back" in codes(one))
    (told,) = kept.said("baseline_back")

    assert set(kept.wrote(since=begins)) == {DecisionKind.RESTORE}
    assert len(kept.wrote(since=begins)) > 3
    assert kept.server.capacity == DEFAULT
    assert "3000 row changes/s instead of 3333" in told
    assert "10000/20000" in told
    assert "the server did worse with InnoBrim's values" in kept.record.advisory
    assert decode_state(encode_state(kept.state)).baseline_guard == kept.state.baseline_guard


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "asked", "factor"),
    [
        (ACTIVE, None, 1.0),
        (replace(ACTIVE, set_point=0.5), None, 0.9),
        (replace(ACTIVE, policy="fixed", fixed_io_capacity_max=600), None, 0.9),
        (ACTIVE, command("override", value=600, ttl=7200.0), 0.9),
    ],
    ids=["as good", "a set-point", "a fixed M", "an override"],
)
def test_a_server_that_does_as_well_or_what_a_person_chose_keeps_ours(
    settings: Settings, asked: Command | None, factor: float
) -> None:
    """Without a loss nothing comes back in an hour; what a person chose is not judged."""
    bench = begun(settings, factor=factor)
    minutes(bench, 3)
    bench.turn(*([asked] if asked else []))

    assert guard(bench, 60) == []
    assert bench.record.mode is Mode.ACTIVE
    assert bench.server.capacity != DEFAULT


@pytest.mark.parametrize("asked", [command("resume"), command("mode", value="active")])
def test_a_person_ends_it_at_once(back: Bench, asked: Command) -> None:
    """After resume, or mode active, the loop is active, and judges by what its values show from then on.

    A resume while the originals are still coming back stops that, and the loop goes on from there.
    """
    tally = Tally()
    for one in back.records:
        tally = tally.after(one)
    assert tally.baseline_back
    assert back.answer(asked)[0]
    assert back.record.mode is Mode.ACTIVE
    assert "baseline_left" in codes(back.record)
    assert not tally.after(back.record).baseline_back
    back.turn()
    back.ready()
    assert guard(back, 10) == []
    assert guard(back, 30, until="baseline_back") == ["baseline_back"]
    back.turn()
    record = back.turn(command("resume"))

    assert (record.mode, record.restore) == (Mode.ACTIVE, None)
    assert "baseline_left" in codes(record)


@pytest.mark.parametrize(
    ("slower", "said", "least"),
    [(0.4, "the load has changed", 600), (0.9, "no better with the originals", 0)],
    ids=["another load", "no better"],
)
def test_another_load_or_a_baseline_that_does_no_better_lifts_it(
    back: Bench, slower: float, said: str, least: int
) -> None:
    """Ten minutes of either make the loop active again; it says why, and remembers the other load."""
    back.server.slower = slower  # type: ignore[attr-defined] # a Worse
    since = minutes(back, 20, until="baseline_left")

    assert said in back.said("baseline_left", since=since)[0]
    assert len(back.records) - since >= least
    assert back.record.mode is Mode.ACTIVE
    assert (back.state.baseline_guard.kinds[0].ours.rows.count >= 10) is (least > 0)


def test_a_persons_word_goes_before_it(back: Bench) -> None:
    """Once a person said advisory no other load makes the loop active again."""
    record = back.turn(command("mode", value="advisory", reason="mine"))
    assert "baseline_left" in codes(record)
    back.server.slower = 0.4  # type: ignore[attr-defined] # a Worse

    assert guard(back, 20) == []
    assert back.record.mode is Mode.ADVISORY


@pytest.mark.long
def test_while_the_load_stays_it_stays_and_outlives_the_daemon(back: Bench) -> None:
    """Under the same load the loop is advisory, and so is the next daemon, until a person resumes."""
    assert guard(back, 60) == []
    assert back.record.mode is Mode.ADVISORY
    assert back.server.capacity == DEFAULT
    back.state = next_daemon(back.state)
    record = back.turn()
    assert record.mode is Mode.ADVISORY
    assert "baseline_back" in codes(record)
    assert "worse with InnoBrim's values" in record.advisory

    assert back.turn(command("resume")).mode is Mode.ACTIVE


@pytest.mark.parametrize("over", ["resumed", "another load", "the next daemon"])
def test_outside_its_stage_it_stays_advisory_until_the_stage_has_it(back: Bench, over: str) -> None:
    """Neither a resume nor another load makes such a server active, and both say why; a larger stage does."""
    outside = replace(ACTIVE, mode=Mode.ADVISORY, outside_stage=True)
    back.turn(command("settings", settings=outside))
    if over == "another load":
        back.server.slower = 0.4  # type: ignore[attr-defined] # a Worse
        since = minutes(back, 20, until="baseline_left")
        said = back.said("baseline_left", since=since)[0]
    else:
        if over == "the next daemon":
            back.state = next_daemon(back.state, settings=outside)
            back.turn()
        accepted, said = back.answer(command("resume"))
        assert accepted
    assert "outside the stage" in said
    assert (back.record.mode, back.state.baseline_guard.returned) == (Mode.ADVISORY, None)

    assert back.turn(command("settings", settings=ACTIVE)).mode is Mode.ACTIVE


@pytest.mark.parametrize("what", ["another server", "a restart of mysqld"])
def test_what_was_shown_is_of_one_server_and_one_start(back: Bench, what: str) -> None:
    """Another server is nothing of it; after a restart the word stays, until it shows anew."""
    if what == "another server":
        back.server.identity = OTHER_IDENTITY
    else:
        back.server.restart(DEFAULT)
    since = len(back.records)
    back.turns(3)

    assert back.state.baseline_guard.kinds == ()
    assert back.record.mode is Mode.ADVISORY
    if what == "another server":
        assert "baseline_left" in back.codes(since=since)
    else:
        assert back.state.baseline_guard.returned is not None
