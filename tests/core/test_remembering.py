"""What earlier daemons kept, read part by part: no part that cannot be read takes another one with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.bench import Bench
from tests.core.learned_document import FOLDER, full
from tests.factory import FACTS
from tuner.core.estimate.load import Curve, Regression
from tuner.core.estimate.trends import Late, Week
from tuner.core.memory import Learned, remember
from tuner.core.step import start
from tuner.core.trials.optimising import recalled
from tuner.settings import Settings

FIXTURES = sorted(FOLDER.glob("*.msgpack"), key=lambda path: int(path.name.partition("-")[0]))
"""What daemons kept, byte for byte, the newest last."""

NEWEST = FIXTURES[-1]


def document(path: Path = NEWEST) -> dict[str, Any]:
    """Return a document as plain values, to be spoilt."""
    found: dict[str, Any] = msgspec.msgpack.decode(path.read_bytes())
    return found


def read(raw: object) -> tuple[Learned, tuple[str, ...]]:
    """Return what is read of a document, and what is forgotten."""
    learned, lost = remember(msgspec.msgpack.encode(raw))
    assert learned is not None
    return learned, lost


WHOLE = read(document())[0]


def holds(read_now: object, kept: object) -> bool:
    """Tell whether all that was kept is in what was read; more may be."""
    if isinstance(kept, dict) and isinstance(read_now, dict):
        return all(name in read_now and holds(read_now[name], kept[name]) for name in kept)
    if isinstance(kept, list) and isinstance(read_now, list):
        return len(kept) == len(read_now) and all(map(holds, read_now, kept))
    return read_now == kept


def shape(value: object) -> object:
    """Return the names of all fields in plain values, lists by the first of their elements."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


def test_there_are_fixtures() -> None:
    """A folder that was moved does not make the next test pass with nothing read."""
    assert len(FIXTURES) >= 3


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_version_reads_what_each_version_kept(path: Path) -> None:
    """All that stands in a document of an older daemon is known to this one, trials and wins included."""
    learned, lost = remember(path.read_bytes())
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(learned))

    assert lost == ()
    assert learned is not None
    assert holds(again, document(path))
    assert recalled(learned.evidence, learned.evidence.server).evidence == learned.evidence


def test_what_is_kept_now_is_among_the_fixtures() -> None:
    """Whoever gives the document a field adds its bytes: the next version has to read them as well."""
    now = msgspec.msgpack.decode(msgspec.msgpack.encode(full()))

    assert shape(now) == shape(document()), "record it: python -m tests.core.learned_document WHAT"


def spoilt(part: str, value: object) -> dict[str, Any]:
    """Return the document with one value in it another one; None as a name takes it out."""
    raw: Any = document()
    whole, *names, last = [int(name) if name.isdigit() else name for name in f"raw.{part}".split(".")]
    at = raw
    for name in names:
        at = at[name]
    at[last] = value
    assert whole == "raw"
    found: dict[str, Any] = raw
    return found


PARTS: list[tuple[str, object, str, Callable[[Learned], object], object]] = [
    ("week.visits", "often", "bursts by hour of the week", lambda one: one.week, Week()),
    ("week.bytes", [1.0], "bursts by hour of the week: it cannot be true", lambda one: one.week, Week()),
    ("late.recent", -1.0, "bursts of the last hours: it cannot be true", lambda one: one.late, Late()),
    ("week.bytes.0", 1e18, "bursts by hour of the week: it cannot be true", lambda one: one.week, Week()),
    ("late.recent", 1e18, "bursts of the last hours: it cannot be true", lambda one: one.late, Late()),
    ("late.hours_burst", 1e18, "the last hours: it cannot be true", lambda one: one.late, Late()),
    ("late.at", "noon", "bursts of the last hours", lambda one: one.late, Late()),
    ("load.combining.variance", None, "write combining", lambda one: one.load.combining, Regression()),
    ("load.response", 7, "what a page flushed costs", lambda one: one.load.response, Regression()),
    ("load.curve.densities", {}, "write combining by age", lambda one: one.load.curve, Curve()),
    ("recovery_factor", "half", "factor of crash recoveries", lambda one: one.recovery_factor, 1.0),
    ("recovery_factor", math.nan, "factor of crash recoveries", lambda one: one.recovery_factor, 1.0),
    ("version", 9.7, "crash recoveries were measured on", lambda one: one.measured_on, ""),
    ("proven", [], "the flush law was verified", lambda one: one.proven, ""),
    ("law", 1, "the flush law that was verified", lambda one: one.law, ""),
    ("evidence.log", "none", "trials: no list", lambda one: one.evidence.log, ()),
    ("evidence.wins", None, "won suggestions: no list", lambda one: one.evidence.wins, ()),
]


@pytest.mark.parametrize(("part", "value", "said", "got", "fresh"), PARTS, ids=[part for part, *_ in PARTS])
def test_a_part_that_cannot_be_read_is_forgotten_alone(
    part: str, value: object, said: str, got: Callable[[Learned], object], fresh: object
) -> None:
    """It begins afresh and is named with the reason; every other part is what it was."""
    learned, lost = read(spoilt(part, value))

    (why,) = lost
    assert said in why
    assert got(learned) == fresh
    kept = [other for _, _, _, other, _ in PARTS if other(WHOLE) != got(WHOLE)]
    assert all(other(learned) == other(WHOLE) for other in kept)


@pytest.mark.parametrize("part", ["load", "evidence"])
def test_a_part_of_parts_that_is_none_is_forgotten_alone(part: str) -> None:
    """Where a number stands for all that the load answers with, or for all trials, the rest is kept."""
    learned, lost = read(spoilt(part, 3))

    assert lost == (f"{part}: no fields",)
    assert learned.week == WHOLE.week
    assert learned.recovery_factor == WHOLE.recovery_factor


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("evidence.log.1.gain", None),
        ("evidence.log.1.gain", math.nan),
        ("evidence.log.1.error", -1.0),
        ("evidence.log.1.context.redo_rate", "fast"),
        ("evidence.log.1.suggestion.offset", 0.5),
        ("evidence.log.1", 5),
    ],
)
def test_a_trial_that_cannot_be_read_is_forgotten_alone(part: str, value: object) -> None:
    """The other trials and what won go on; how many were forgotten, and why the first, is said."""
    learned, lost = read(spoilt(part, value))

    (why,) = lost
    assert why.startswith("1 of 3 trials: ")
    assert learned.evidence.log == (WHOLE.evidence.log[0], WHOLE.evidence.log[2])
    assert learned.evidence.wins == WHOLE.evidence.wins
    assert learned.load == WHOLE.load


@pytest.mark.parametrize(("where", "field"), [("", "error"), ("context", "concurrency")])
def test_a_trial_that_lacks_a_field_is_forgotten_alone(where: str, field: str) -> None:
    """A field without an "unknown" of its own costs that one trial, and the field is named."""
    raw = document()
    trial = raw["evidence"]["log"][2]
    del (trial[where] if where else trial)[field]
    learned, lost = read(raw)

    assert "1 of 3 trials" in lost[0]
    assert field in lost[0]
    assert learned.evidence.log == WHOLE.evidence.log[:2]


def test_a_win_that_cannot_be_true_is_forgotten_alone() -> None:
    """A win under a load that nobody can have is not compared with any; the trials stay."""
    learned, lost = read(spoilt("evidence.wins.0.context.redo_rate", 0.0))

    assert lost == ("1 of 1 won suggestions: it cannot be true",)
    assert learned.evidence.wins == ()
    assert learned.evidence.log == WHOLE.evidence.log


@pytest.mark.parametrize("blob", [b"", b"\xa1\xff", b"\x91" * 100_000, msgspec.msgpack.encode([1, 2])])
def test_bytes_that_are_none_begin_afresh_and_say_so(blob: bytes) -> None:
    """Rubbish is no reason not to start, and none to be silent."""
    learned, lost = remember(blob)

    assert learned is None
    assert lost[0].startswith("all of it: ")


def test_fields_of_a_newer_version_are_passed_over() -> None:
    """After the way back to an older program what both know goes on, and nothing is complained of."""
    raw = document()
    raw["moon"] = raw["evidence"]["moon"] = raw["evidence"]["log"][0]["context"]["moon"] = 0.5

    assert read(raw) == (WHOLE, ())


def test_what_is_forgotten_is_said_once_at_the_first_tick() -> None:
    """One event names all parts with their reasons; the log has the same words, as of every event."""
    bench = Bench()
    bench.state = start(Settings(), FACTS, learned=WHOLE, lost=("1 of 3 trials: why", "trend: because"))
    first, second = bench.turn(), bench.turn()

    (event,) = [one for one in first.events if one.code == "learned_lost"]
    assert event.message.endswith("begins afresh: 1 of 3 trials: why; trend: because")
    assert not [one for one in second.events if one.code == "learned_lost"]
