"""What a person is told to do: the loop's own wish as SQL, and what else it noticed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import FACTS, estimate, sample, tick, would_set
from tests.findings.ids import ids_in
from tuner.daemon.board import Board
from tuner.findings.advice import advise, expected_effect, statements
from tuner.findings.finding import Finding
from tuner.records import Capacity, Decision, DecisionKind, Hold, HoldCode, Remedy
from tuner.settings import Mode, Settings

QUIET = {"new_density": 1e-4, "flush_rate": 100.0}
"""100 pages a second become dirty, and are flushed."""

MARK = "innodb_max_dirty_pages_pct_lwm"
ROOT = Path(__file__).parents[2]


def by_id(found: list[Finding]) -> dict[str, Finding]:
    """Return findings by their id, each of which comes once."""
    named = {one.id: one for one in found}
    assert len(named) == len(found)
    return named


def advice(
    mode: Mode = Mode.ADVISORY,
    facts: dict[str, Any] | None = None,
    **tick: Any,  # noqa: ANN401 - any field
) -> dict[str, Finding]:
    """Return what is advised at a tick, by id."""
    given = replace(FACTS, **facts or {})
    return by_id(advise(would_set(mode=mode, **tick), given, Settings(mode=mode)))


def test_the_loops_wish_comes_first_as_sql() -> None:
    """What an active loop would set: the pair, why, the effect, and SQL; none where it is content."""
    first = advise(would_set(), FACTS, Settings())[0]

    assert first.id == "set-io-capacity"
    assert "io_capacity_max 600" in first.title
    assert "set-point 80 %" in first.reason
    assert "fewer page writes" in first.effect
    assert sorted(first.sql) == [
        "SET GLOBAL innodb_io_capacity = 300",
        "SET GLOBAL innodb_io_capacity_max = 600",
    ]
    assert advice(decision=replace(would_set().decision, would=None)) == {}
    assert "set-io-capacity" not in advice(estimate=None)
    under_way = Decision(DecisionKind.SET, "raise", "up", target=Capacity(300, 600), set_point=0.8)
    assert advice(Mode.ACTIVE, decision=under_way)["set-io-capacity"].sql


def test_an_odd_ratio_and_a_small_redo_log_are_noticed() -> None:
    """M that is cut by integer division, and a redo log that fills within half a minute."""
    ratio = advice(tick=tick(sample(io_capacity=1500, io_capacity_max=2000)))["ratio-not-whole"]
    redo = advice(estimate=estimate(redo_rate=8e6))["redo-too-small"]

    assert (ratio.severity, "works with 1500" in ratio.reason, bool(ratio.sql)) == ("warning", True, True)
    assert "filled in 13 s" in redo.reason
    assert "innobrim redo" in redo.fix  # which knows how large; no size is guessed beside it
    assert redo.sql == ()
    assert "redo-too-small" not in advice()


def test_holds_and_counters_are_part_of_it() -> None:
    """Why nothing is written, or would not be, and what the loop cannot see, with their way out."""
    foreign = Hold(HoldCode.FOREIGN_CHANGE, 0.0, "C/M were 1/2 and are 3/4", (Remedy.RESUME,))
    doubt = Hold(HoldCode.MODEL_MISMATCH, 0.0, "not verified yet", (Remedy.MATCHING_UNDER_LOAD,))
    found = advice(Mode.ACTIVE, {"disabled_counters": ("log_lsn_current",)}, holds=(foreign,))

    assert found["hold-foreign-change"].fix == "cleared by innobrim resume"
    assert found["hold-foreign-change"].effect
    assert (found["counters-off"].severity, bool(found["counters-off"].sql)) == ("warning", True)
    would = advice(holds=(doubt,))["hold-model-mismatch"]
    assert would.title == "active mode would be held: model mismatch"


@pytest.mark.parametrize(
    ("ratio", "combining", "said"),
    [
        (0.4, 0.5, "about 29% fewer page writes"),
        (0.9, 0.5, "about 6% more"),
        (0.8, 0.5, "at its set-point"),
        (0.4, 0.0, "too little write combining"),
        (0.0, 0.5, "too little write combining"),
    ],
)
def test_the_expected_effect_is_honest(ratio: float, combining: float, said: str) -> None:
    """The effect follows from the write combining measured, in both directions, or is not promised."""
    assert said in expected_effect(estimate(age_ratio=ratio, combining_exponent=combining), 0.8)


def test_no_more_is_promised_than_the_lowest_value_allows() -> None:
    """An age that the lowest value allowed keeps where it is saves nothing, whatever the set-point."""
    now, settings = estimate(age_ratio=0.4, combining_exponent=0.5), Settings(min_io_capacity_max=20_000)

    assert "20000 is the lowest" in expected_effect(now, 0.8, facts=FACTS, settings=settings)
    assert "fewer" not in expected_effect(now, 0.8, facts=FACTS, settings=settings)


@given(
    old=st.builds(lambda c, more: Capacity(c, c + more), st.integers(100, 9_000), st.integers(0, 20_000)),
    new=st.builds(lambda c, k: Capacity(c, k * c), st.integers(100, 9_000), st.integers(1, 10)),
)
def test_pasted_one_by_one_the_statements_are_safe(old: Capacity, new: Capacity) -> None:
    """Whoever stops between two of the statements leaves a legal pair with a gain between old and new."""
    server = FakeServer(old)
    low, high = sorted((old.gain, new.gain))
    for statement in statements(old, new):
        name, value = statement.removeprefix("SET GLOBAL ").split(" = ")
        server.apply(((name, int(value)),), new)
        assert low <= server.capacity.gain <= high

    assert server.capacity == new


def test_the_board_gives_the_newest_advice() -> None:
    """Before the first tick there is none; after some seconds of an advisory loop there is its wish."""
    board, bench = Board(), Bench(Settings())
    assert board.advice() == []
    for _ in range(20):
        board.publish(bench.turn(), bench.state.settings, bench.state.facts)

    assert board.advice()[0].id == "set-io-capacity"


@pytest.mark.parametrize(
    ("law", "name"), [("soft-limit", "no-authority"), ("mariadb-wakes", "page-cleaner-sleeps")]
)
def test_under_a_light_load_no_low_water_mark_is_advised(law: str, name: str) -> None:
    """Where fewer than C pages become dirty it costs page writes; writers that wait make no light load."""
    facts = {"family": "mariadb", "flush_law": law}
    light = advice(facts=facts, estimate=estimate(**QUIET))[name]

    assert (light.severity, light.sql) == ("info", ())
    assert (
        light.fix == "not for the load seen: 100 pages a second become dirty, and innodb_io_capacity is 225"
    )
    for load in ({"new_density": 1e-3}, {"flush_rate": 500.0}, {"age_ratio": 1.13, "demand": 0.0}):
        assert advice(facts=facts, estimate=estimate(**QUIET | load))[name].sql == (
            f"SET GLOBAL {MARK} = 0.001",
        )
    lull = advise(would_set(estimate=estimate(**QUIET)), replace(FACTS, **facts), Settings(), dirtied=500.0)
    assert by_id(lull)[name].sql, "of the time seen the busiest counts"


@pytest.mark.parametrize(
    ("density", "age", "advised"), [(1e-4, 0.02, True), (1e-3, 0.02, False), (1e-4, 0.6, False)]
)
def test_a_low_water_mark_that_costs_page_writes_is_named(density: float, age: float, advised: bool) -> None:  # noqa: FBT001 - a case
    """MariaDB above 0, a light load and next to no age: setting it back is advised, and otherwise is not."""
    seen = sample()
    seen = replace(seen, lsn_oldest=seen.lsn_current - int(age * seen.flush_limit))
    load = estimate(**QUIET | {"new_density": density})
    found = advice(facts={"family": "mariadb", "flush_law": "mariadb"}, tick=tick(seen), estimate=load)

    assert ("written-as-they-come" in found) == advised
    assert not advised or found["written-as-they-come"].sql == (f"SET GLOBAL {MARK} = 0",)


def test_each_id_is_explained() -> None:
    """Who goes by an id finds it in the page of the API, and none there that no finding has but doctor's."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("### Advice")[2]
    section = page.partition("\n### ")[0]
    explained = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", section)) | {"hold-"}

    rooms = (path for path in (ROOT / "tuner").rglob("*.py") if not path.stem.startswith("rules_"))
    assert explained == set().union(*map(ids_in, rooms))
