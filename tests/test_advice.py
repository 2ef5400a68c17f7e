"""What a person is told to do: the loop's own wish as SQL, and what else it noticed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import FACTS, estimate, sample, tick, would_set
from tuner.advice import advise, advise_now, expected_effect, statements
from tuner.board import Board
from tuner.findings import Finding
from tuner.records import Capacity, Decision, DecisionKind, Hold, HoldCode, Remedy
from tuner.settings import Mode, Settings

QUIET = {"new_density": 1e-4, "flush_rate": 100.0}
"""100 pages a second become dirty, and are flushed."""


ROOT = Path(__file__).parents[1]


def ids_in(path: Path) -> set[str]:
    """Return the ids of the findings that a module makes; one that is made of a value ends before it."""
    found, text = set(), path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "Finding(" in text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            (said,) = [one.value for one in node.keywords if one.arg == "id"]
            begins = said.values[0] if isinstance(said, ast.JoinedStr) else said
            assert isinstance(begins, ast.Constant)
            found.add(str(begins.value))
    return found


def by_id(found: list[Finding]) -> dict[str, Finding]:
    """Return findings by their id, each of which comes once."""
    named = {one.id: one for one in found}
    assert len(named) == len(found)
    return named


def test_the_loops_wish_comes_first_as_sql() -> None:
    """What an active loop would set is the first advice: the pair, why, the effect, and SQL to paste."""
    first = advise(would_set(), FACTS, Settings())[0]

    assert first.id == "set-io-capacity"
    assert "300/600" in first.title
    assert "set-point 0.800" in first.reason
    assert "fewer page writes" in first.effect
    assert sorted(first.sql) == [
        "SET GLOBAL innodb_io_capacity = 300",
        "SET GLOBAL innodb_io_capacity_max = 600",
    ]


def test_nothing_to_wish_is_no_advice() -> None:
    """A loop that is content gives no advice at all."""
    content = would_set(decision=replace(would_set().decision, would=None))

    assert advise(content, FACTS, Settings()) == []


def test_an_active_write_is_advice_as_well() -> None:
    """In active mode the write under way is what is advised."""
    decision = Decision(
        kind=DecisionKind.SET, reason="raise", detail="up", target=Capacity(300, 600), set_point=0.8
    )

    assert by_id(advise(would_set(decision=decision, mode=Mode.ACTIVE), FACTS, Settings()))[
        "set-io-capacity"
    ].sql


def test_a_missed_reading_advises_nothing_about_values() -> None:
    """Without a reading there is nothing to say about C and M."""
    silent = would_set(estimate=None)

    assert "set-io-capacity" not in by_id(advise(silent, FACTS, Settings()))


def test_an_odd_ratio_is_noticed() -> None:
    """M that is cut by the server's integer division is a warning with statements that mend it."""
    odd = sample(io_capacity=1500, io_capacity_max=2000)
    found = by_id(advise(would_set(tick=tick(odd)), FACTS, Settings()))["ratio-not-whole"]

    assert found.severity == "warning"
    assert "works with 1500" in found.reason
    assert found.sql


def test_a_redo_log_that_is_too_small_is_noticed() -> None:
    """A redo log that the load fills within half a minute comes with a larger one, in whole MiB."""
    busy = would_set(estimate=estimate(redo_rate=8e6))
    found = by_id(advise(busy, FACTS, Settings()))["redo-too-small"]

    assert "filled in 13 s" in found.reason
    assert found.sql == ("SET GLOBAL innodb_redo_log_capacity = 419430400",)
    assert "redo-too-small" not in by_id(advise(would_set(), FACTS, Settings()))


def test_holds_and_counters_are_part_of_it() -> None:
    """Why nothing is written, and what the loop cannot see, are findings with their way out."""
    hold = Hold(HoldCode.FOREIGN_CHANGE, 0.0, "C/M were 1/2 and are 3/4", (Remedy.RESUME,))
    blind = replace(FACTS, disabled_counters=("log_lsn_current",))
    found = by_id(advise(would_set(holds=(hold,), mode=Mode.ACTIVE), blind, Settings(mode=Mode.ACTIVE)))

    assert found["hold-foreign-change"].fix == "cleared by innobrim resume"
    assert found["hold-foreign-change"].effect
    assert found["counters-off"].severity == "warning"
    assert found["counters-off"].sql


@pytest.mark.parametrize(
    ("ratio", "combining", "said"),
    [
        (0.4, 0.5, "about 29% fewer page writes"),
        (0.9, 0.5, "about 6% more"),
        (0.8, 0.5, "where it should be"),
        (0.4, 0.0, "too little write combining"),
        (0.0, 0.5, "too little write combining"),
    ],
)
def test_the_expected_effect_is_honest(ratio: float, combining: float, said: str) -> None:
    """The effect follows from the write combining measured, in both directions, or is not promised."""
    assert said in expected_effect(estimate(age_ratio=ratio, combining_exponent=combining), 0.8)


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
    assert advise_now(board) == []
    for _ in range(20):
        board.publish(bench.turn(), bench.state.settings, bench.state.facts)

    assert advise_now(board)[0].id == "set-io-capacity"


@pytest.mark.parametrize("law", ["soft-limit", "mariadb-wakes"])
def test_under_a_light_load_no_low_water_mark_is_advised(law: str) -> None:
    """Where fewer than C pages become dirty a setting above 0 costs page writes: named, and not offered."""
    facts, name = replace(FACTS, family="mariadb", flush_law=law), "innodb_max_dirty_pages_pct_lwm"
    ids = {"no-authority", "page-cleaner-sleeps"}
    busy, light = (
        next(one for one in advise(would_set(estimate=estimate(**load)), facts, Settings()) if one.id in ids)
        for load in (QUIET | {"new_density": 1e-3}, QUIET)
    )

    assert busy.sql == (f"SET GLOBAL {name} = 0.001",)
    assert (light.severity, light.sql) == ("info", ())
    assert light.fix == "not for the load seen: 100 pages a second become dirty, and C is 225"
    assert name in light.title


@pytest.mark.parametrize("load", [{"flush_rate": 500.0}, {"age_ratio": 1.13}])
def test_a_load_whose_writers_wait_is_not_taken_for_a_light_one(load: dict[str, float]) -> None:
    """Few pages become dirty while writers wait for an M far too small: the low-water mark is advised."""
    facts = replace(FACTS, family="mariadb", flush_law="soft-limit")
    found = by_id(advise(would_set(estimate=estimate(**QUIET | {"demand": 0.0} | load)), facts, Settings()))

    assert found["no-authority"].sql == ("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001",)


def test_a_lull_at_the_end_of_the_watching_is_not_taken_for_a_light_load() -> None:
    """Of the time seen the busiest counts: a server that sleeps just now writes nothing."""
    facts = replace(FACTS, family="mariadb", flush_law="soft-limit")
    found = by_id(advise(would_set(estimate=estimate(**QUIET)), facts, Settings(), dirtied=500.0))

    assert found["no-authority"].sql == ("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001",)


@pytest.mark.parametrize(
    ("density", "age", "advised"), [(1e-4, 0.02, True), (1e-3, 0.02, False), (1e-4, 0.6, False)]
)
def test_a_low_water_mark_that_costs_page_writes_is_named(density: float, age: float, advised: bool) -> None:  # noqa: FBT001 - a case
    """MariaDB above 0, a light load and next to no age: setting it back is advised, and otherwise is not."""
    facts, seen = replace(FACTS, family="mariadb", flush_law="mariadb"), sample()
    seen = replace(seen, lsn_oldest=seen.lsn_current - int(age * seen.flush_limit))
    load = estimate(**QUIET | {"new_density": density})
    found = by_id(advise(would_set(tick=tick(seen), estimate=load), facts, Settings()))

    assert ("written-as-they-come" in found) == advised
    if advised:
        assert found["written-as-they-come"].sql == ("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",)


def test_what_holds_only_active_mode_is_not_said_to_hold() -> None:
    """In advisory mode a hold keeps nothing from being done: it says what active mode would meet."""
    hold = Hold(HoldCode.MODEL_MISMATCH, 0.0, "not verified yet", (Remedy.MATCHING_UNDER_LOAD,))
    found = by_id(advise(would_set(holds=(hold,)), FACTS, Settings()))

    assert found["hold-model-mismatch"].title == "active mode would be held: model mismatch"


def test_each_id_is_explained() -> None:
    """Who goes by an id finds it in the page of the API, and none there that no finding has."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("### Advice")[2]
    section = page.partition("\n### ")[0]
    explained = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", section)) | {"hold-"}

    assert explained == set().union(*map(ids_in, (ROOT / "tuner").rglob("*.py")))
