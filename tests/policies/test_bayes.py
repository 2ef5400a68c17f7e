"""The optimiser: what it may suggest, and every trap of the library behind it."""

from __future__ import annotations

import json
import math
import random
import warnings
from collections.abc import Callable
from dataclasses import astuple, replace
from types import SimpleNamespace
from typing import Any

import pytest
import skopt
from hypothesis import given
from hypothesis import strategies as st

from policies.bayes import MEMORY_SECONDS, SAME, WINDOW, Bayes, best_known, trust_region
from policies.suggestions import LIMITS, NEAR, allowed, distance, plausible
from policies.types import ANALYTIC, LoadContext, Suggestion, Trial

LOAD = LoadContext(redo_rate=1e6, row_bytes=300.0, lru_share=0.0, concurrency=0.0, flush_limit=8e7)
OTHER = replace(LOAD, redo_rate=5e6)
BEST = Suggestion(-0.02, 0.8, 1.2)


def trial(suggestion: Suggestion, gain: float, *, at: float = 0.0, load: LoadContext = LOAD) -> Trial:
    """Return a trial whose gain is known well."""
    return Trial(suggestion, load, gain, 0.0005, at)


def test_a_wrong_clock_makes_no_other_trial_old() -> None:
    """One trial stamped years ahead costs itself alone: what is told after it counts as ever."""
    law = Bayes(seed=1)
    for number in range(5):
        law.tell(trial(replace(BEST, offset=-0.01 * number), 0.01, at=1000.0 * number))
    law.tell(trial(ANALYTIC, 0.0, at=1e9))
    law.tell(trial(BEST, 0.01, at=6000.0))

    assert len(law._evidence(LOAD)) == 6


def hill(suggestion: Suggestion) -> float:
    """Return the gain of a suggestion over the analytic point, where the best one gains 0.7 percent."""

    def away(one: Suggestion) -> float:
        parts = zip(astuple(one), astuple(BEST), LIMITS.values(), strict=True)
        return sum(((a - b) / (high - low)) ** 2 for a, b, (low, high) in parts)

    return 0.05 * (away(ANALYTIC) - away(suggestion))


def explored(law: Bayes, count: int, value: Callable[[Suggestion], float] = hill) -> list[Suggestion]:
    """Ask and tell so many times; return what was suggested."""
    rng, found = random.Random(3), []  # noqa: S311 - no secret
    for number in range(count):
        suggestion = law.ask(LOAD)
        assert suggestion is not None
        found.append(suggestion)
        law.tell(trial(suggestion, value(suggestion) + rng.gauss(0.0, 0.0003), at=100.0 * number))
    return found


class _Spy:
    """Notes what the library is asked for, and does it."""

    def __init__(self, **wanted: Any) -> None:  # noqa: ANN401 - the library is untyped
        SPIED.append(SimpleNamespace(wanted=wanted, told=[]))
        self._real = REAL(**wanted)

    def tell(self, points: list[list[float]], losses: list[float]) -> None:
        SPIED[-1].told = list(zip(points, losses, strict=True))
        self._real.tell(points, losses)

    def ask(self) -> list[Any]:
        return self._real.ask()  # type: ignore[no-any-return] # the library is untyped


REAL = skopt.Optimizer
SPIED: list[SimpleNamespace] = []


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """Return what the library is asked for from here on."""
    SPIED.clear()
    monkeypatch.setattr(skopt, "Optimizer", _Spy)
    return SPIED


@pytest.fixture(scope="module")
def searched() -> list[Suggestion]:
    """Return what is suggested in twelve trials."""
    return explored(Bayes(seed=2), 12)


def test_it_finds_what_is_better(searched: list[Suggestion]) -> None:
    """With noise that it is told nothing of, it finds half of what there is to gain within 12 trials."""
    assert max(map(hill, searched)) > 0.5 * hill(BEST)


def test_no_first_point_is_far_from_what_is_known(spied: list[SimpleNamespace]) -> None:
    """Trap: the library's first ten points are anywhere; here the analytic point is told before the first."""
    first = Bayes(seed=5).ask(LOAD)

    assert spied[0].wanted["n_initial_points"] == 0
    assert spied[0].told == [(list(astuple(ANALYTIC)), 0.0)]
    assert first is not None
    box = trust_region([])
    assert all(low <= value <= high for value, (low, high) in zip(astuple(first), box, strict=True))
    assert all(
        high - low < 0.6 * (LIMITS[name][1] - LIMITS[name][0])
        for name, (low, high) in zip(LIMITS, box, strict=True)
    )


def test_a_duplicate_is_vetoed_and_not_replaced_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap: a point tried before is replaced by a random one; here none is suggested where no other comes."""
    law = Bayes()
    tried = Suggestion(0.01, 0.9, 1.1)
    law.tell(trial(tried, 0.001))
    asked: list[dict[str, Any]] = []

    class Stubborn:
        def __init__(self, **wanted: Any) -> None:  # noqa: ANN401 - the library is untyped
            asked.append(wanted)

        def tell(self, *_: object) -> None: ...

        def ask(self) -> list[float]:
            return [value + 1e-4 for value in astuple(tried)]

    monkeypatch.setattr(skopt, "Optimizer", Stubborn)
    assert law.ask(LOAD) is None
    assert len(asked) > 1
    assert len({wanted["random_state"] for wanted in asked}) == len(asked)
    assert not any(wanted["avoid_duplicates"] for wanted in asked)


def test_nothing_is_suggested_twice(searched: list[Suggestion]) -> None:
    """All that is suggested differs from what was tried, and from the analytic point."""
    found = [ANALYTIC, *searched]
    widths = [high - low for low, high in LIMITS.values()]

    def apart(one: Suggestion, other: Suggestion) -> float:
        return math.hypot(
            *((a - b) / w for a, b, w in zip(astuple(one), astuple(other), widths, strict=True))
        )

    assert all(apart(a, b) > SAME for i, a in enumerate(found) for b in found[:i])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", ["gain", "error", "at", "offset", "redo_rate"])
def test_what_is_no_number_is_refused_and_leaves_no_trace(part: str, bad: float) -> None:
    """Trap: one NaN is stored before the fit, and every later one fails. Here it is refused before."""
    law = Bayes(seed=7)
    good = trial(Suggestion(0.01, 0.9, 1.0), 0.001)
    broken = {
        "offset": lambda: replace(good, suggestion=replace(good.suggestion, offset=bad)),
        "redo_rate": lambda: replace(good, context=replace(LOAD, redo_rate=bad)),
    }.get(part, lambda: replace(good, **{part: bad}))()
    law.tell(good)

    with pytest.raises(ValueError, match="not finite or outside the limits"):
        law.tell(broken)
    assert law._log == [good]


def test_a_load_that_is_none_is_refused() -> None:
    """A question with a context that is no number is an error, and not a guess."""
    with pytest.raises(ValueError, match="no load is like this"):
        Bayes().ask(replace(LOAD, row_bytes=math.nan))


def test_answers_are_plain_numbers() -> None:
    """Trap: the library returns numpy's numbers, which are no JSON."""
    found = Bayes(seed=4).ask(LOAD)

    assert found is not None
    assert {type(value) for value in astuple(found)} == {float}
    assert json.loads(json.dumps(astuple(found))) == list(astuple(found))


def test_history_outside_changed_bounds_is_dropped(spied: list[SimpleNamespace]) -> None:
    """Trap: history outside the bounds is an error. The box moves to what won, without the rest."""
    law = Bayes()
    law.tell(trial(Suggestion(-0.05, 1.5, 0.5), -0.02))
    for number in range(3):
        law.tell(trial(Suggestion(0.028 + number / 1e6, 0.52, 1.58), 0.02, at=1.0 + number))
        law.tell(trial(Suggestion(-0.049 + number / 1e6, 1.5, 0.5), -0.02, at=1.5 + number))

    assert law.ask(LOAD) is not None
    box = spied[0].wanted["dimensions"]
    points = [point for point, _ in spied[0].told]
    assert 0 < len(points) < 7
    assert all(
        low <= value <= high for point in points for value, (low, high) in zip(point, box, strict=True)
    )
    with pytest.raises(ValueError, match="outside the limits"):
        law.tell(trial(Suggestion(0.2, 1.0, 1.0), 0.0))


def test_old_evidence_is_forgotten(spied: list[SimpleNamespace]) -> None:
    """Trap: the library never forgets. The log has a window and an age; the model is made anew from it."""
    law = Bayes()
    for number in range(WINDOW + 12):
        law.tell(trial(Suggestion(0.00004 * (number % 50), 1.0, 1.0), -0.001, at=float(number)))
    law.ask(LOAD)
    assert len(spied[0].told) == 1 + WINDOW

    law.tell(trial(Suggestion(0.002, 1.1, 1.0), -0.001, at=MEMORY_SECONDS + WINDOW + 100.0))
    law.ask(LOAD)
    assert len(spied[-1].told) == 2


def test_the_noise_is_learned(spied: list[SimpleNamespace]) -> None:
    """Trap: without a noise level the model goes through every point. It is a part of the fit."""
    explored(Bayes(), 1)
    model = spied[-1].wanted["base_estimator"]

    assert model == "GP"
    fitted = REAL(dimensions=[(0.0, 1.0)], base_estimator=model, n_initial_points=0)
    assert fitted.base_estimator_.noise == "gaussian"


def test_evidence_of_another_load_counts_for_nothing() -> None:
    """What was won under five times the redo rate is not known here."""
    law, fresh = Bayes(seed=9), Bayes(seed=9)
    law.tell(trial(Suggestion(-0.03, 0.7, 1.3), 0.05, load=OTHER))
    fresh.tell(trial(Suggestion(0.01, 1.3, 0.8), -0.01, load=OTHER))

    assert distance(LOAD, OTHER) > NEAR
    assert law.ask(LOAD) == fresh.ask(LOAD)
    assert law.ask(OTHER) != law.ask(LOAD)


def test_concurrency_counts_where_both_loads_show_it() -> None:
    """A server that times no statements can still be compared."""
    busy, calm = replace(LOAD, concurrency=16.0), replace(LOAD, concurrency=2.0)

    assert distance(busy, calm) > NEAR
    assert distance(busy, LOAD) == 0.0


def test_the_share_of_reads_counts_where_both_loads_show_it() -> None:
    """What was won among writes is not known among reads; where it is unknown, it keeps no load apart."""
    reading, writing = replace(LOAD, read_share=0.9), replace(LOAD, read_share=0.0)
    law, fresh = Bayes(seed=9), Bayes(seed=9)
    law.tell(trial(Suggestion(-0.03, 0.7, 1.3), 0.05, load=writing))
    fresh.tell(trial(Suggestion(-0.03, 0.7, 1.3), 0.05, load=OTHER))

    assert distance(reading, writing) > NEAR
    assert distance(reading, replace(reading, read_share=0.85)) < NEAR
    assert distance(reading, LOAD) == distance(LOAD, writing) == 0.0
    assert law.ask(reading) == fresh.ask(reading)
    assert law.ask(LOAD) == law.ask(writing) != fresh.ask(writing)


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan, math.inf])
def test_a_share_of_reads_is_between_none_and_all(share: float) -> None:
    """What is no share is no load's; unknown is."""
    assert not plausible(replace(LOAD, read_share=share))
    assert all(plausible(replace(LOAD, read_share=one)) for one in (None, 0.0, 0.5, 1.0))


def test_the_trust_region_grows_with_success_and_shrinks_with_failure() -> None:
    """Only what surely gained is success; it is centred on that, and bounded by the limits."""
    won = [trial(Suggestion(0.01, 0.8, 1.2), 0.01)]
    lost = [trial(Suggestion(0.01, 0.8, 1.2), -0.01)]
    unsure = [replace(won[0], error=0.02)]
    fresh, grown, shrunk, doubted = (
        high - low for low, high in (trust_region(e)[0] for e in ([], won, lost, unsure))
    )

    assert doubted == shrunk < fresh
    assert grown > shrunk
    assert best_known(won) == won[0].suggestion
    assert best_known(lost) == ANALYTIC
    assert best_known(unsure) == ANALYTIC
    many = trust_region(won * 30)
    assert all(
        LIMITS[name][0] <= low < high <= LIMITS[name][1]
        for name, (low, high) in zip(LIMITS, many, strict=True)
    )


def test_the_trust_region_leaves_a_point_that_turned_out_unsafe() -> None:
    """What won once and lost since is not what is searched around; what won again is."""
    point, elsewhere = Suggestion(0.01, 0.8, 1.2), Suggestion(-0.02, 1.0, 1.0)
    won, unsafe = trial(point, 0.01), trial(point, -0.05)

    assert best_known([won, unsafe]) == ANALYTIC
    assert best_known([won, trial(elsewhere, 0.004), unsafe]) == elsewhere
    assert best_known([won, unsafe, won]) == point


def test_the_same_log_and_seed_give_the_same_answer() -> None:
    """A question asked again is answered again, with no warning on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert explored(Bayes(seed=11), 2) == explored(Bayes(seed=11), 2)
    assert Bayes(seed=11).ask(LOAD) != Bayes(seed=12).ask(LOAD)


@given(parts=st.tuples(*(st.floats(allow_nan=True) for _ in range(3))))
def test_only_what_is_inside_the_limits_is_allowed(parts: tuple[float, float, float]) -> None:
    """Whatever numbers come, those allowed are finite and inside."""
    suggestion = Suggestion(*parts)
    inside = all(low <= value <= high for value, (low, high) in zip(parts, LIMITS.values(), strict=True))

    assert allowed(suggestion) == inside
