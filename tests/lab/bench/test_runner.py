"""A bench does what was asked for once, in order, keeps every row, and goes on where it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from lab.bench import runner as module
from lab.bench.plan import Contender, DiskPlan, LoadPlan, Plan, Suite, parse_contender
from lab.bench.runner import Bench, chosen, turns
from lab.bench.store import Ledger, PlanError
from lab.servers.spec import LabServerError
from tuner.records import Capacity

EDGE = 400
"""The lowest M that the server in these tests runs on without sync flushing, pages/s."""


class Site:
    """A site without a server: it has conditions, and remembers what load it was told to offer."""

    default = Capacity(10_000, 20_000)
    offered = 0
    looked = 0

    def __init__(self, _server: object, plan: Plan, _say: Callable[[str], None]) -> None:
        self.plan = plan
        self.server = self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def conditions(self) -> dict[str, Any]:
        return {"load": {"rate": self.offered}}

    def flushing(self) -> float:
        self.looked += 1
        assert self.looked == 1, "seconds of the load that nobody asked for"
        return 800.0

    def offer(self, rate: int) -> None:
        self.offered = rate

    def start_load(self) -> None:
        pass


class Work:
    """Stands for the measuring of a row: what was measured, and when it fails."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.fails_at = 0
        self.ends: list[tuple[str, object]] = []
        self.expected: list[tuple[str, float | None]] = []
        self.settled = True
        self.edge = EDGE

    def __call__(
        self, site: Site, contender: Contender, pair: Capacity | None, expected: float | None, **how: object
    ) -> dict[str, Any]:
        self.done.append(contender.name)
        self.ends.append((contender.name, how["ends_in"]))
        self.expected.append((contender.name, expected))
        if len(self.done) == self.fails_at:
            raise LabServerError("mysqld went away")
        fits = pair is None or pair.io_capacity_max >= self.edge
        commits = 3000.0 if pair is None else 3000.0 * (EDGE / pair.io_capacity_max) ** 0.3
        figures = {
            "commits_mean": commits,
            "commits_median": commits,
            "commits_p1": commits if fits else 0.0,
            "sync_pages": 0 if fits else 9,
            "pages_per_second": 800.0,
            "pages_per_commit": 0.3,
            "checkpoint_ratio_max": 0.5,
            "age_ratio_mean": 0.5,
            "age_ratio_max": 0.6,
        }
        conditions = site.conditions()
        return {"settled": self.settled, "settle_seconds": 60.0, "figures": figures, "conditions": conditions}


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Put the site and the measuring without a server in place of the real ones."""
    found = Work()
    monkeypatch.setattr(module, "Rig", Site)
    monkeypatch.setattr(module, "measure", found)
    return found


@pytest.fixture
def said() -> list[str]:
    """Return the lines of progress."""
    return []


def bench(plan: Plan, ledger: Ledger, said: list[str], **other: float) -> Bench:
    """Return a bench of one plan."""
    suite = Suite(name="mine", about="Mine.", plans=(plan,))
    return Bench(suite, ledger, lambda _plan: None, said.append, seed=5, **other)  # type: ignore[arg-type, return-value]  # the site in these tests has no server


def blocks(ledger: Ledger) -> list[tuple[int, str]]:
    """Return the finished rows of the blocks."""
    return [(row["block"], row["contender"]) for row in ledger.rows if row["stage"] == "block"]


def test_an_interrupted_bench_repeats_nothing_and_misses_nothing(
    tmp_path: Path, work: Work, said: list[str]
) -> None:
    """After a server that went away the rows are those of a bench without interruption, in its order."""
    plan = Plan(contenders=("default", "2000/4000", "ours"), blocks=2)
    whole = Ledger(tmp_path / "whole.jsonl")
    assert bench(plan, whole, said).run()
    work.done.clear()
    work.fails_at = 4
    cut = Ledger(tmp_path / "cut.jsonl")
    with pytest.raises(LabServerError):
        bench(plan, cut, said).run()
    assert blocks(cut) == blocks(whole)[:3]
    again = Ledger(tmp_path / "cut.jsonl")
    assert bench(plan, again, said).run()
    assert blocks(again) == blocks(whole)


def test_the_time_that_is_given_is_kept(tmp_path: Path, work: Work, said: list[str]) -> None:
    """No row begins after it, no server is started for none, and it says why."""
    ledger = Ledger(tmp_path / "rows.jsonl")
    assert not bench(Plan(), ledger, said, seconds=0.0).run()
    assert work.done == []
    assert "the time is up" in said[-1]


def test_the_best_static_setting_is_searched_for_before_the_blocks_and_used_in_each(
    tmp_path: Path, work: Work, said: list[str]
) -> None:
    """Every block's best static row has the M that the search found, near the edge."""
    assert work.done == []
    ledger = Ledger(tmp_path / "rows.jsonl")
    assert bench(Plan(contenders=("default", "best-static"), blocks=3), ledger, said).run()
    found = {row["io_capacity_max"] for row in ledger.rows if row["contender"] == "best static"}
    stages = [row["stage"] for row in ledger.rows]
    assert stages == sorted(stages, key=["search", "block"].index)
    assert len(found) == 1
    assert EDGE <= found.pop() <= 1.05 * EDGE


@pytest.mark.usefixtures("work")
def test_a_better_setting_that_was_found_later_does_not_mix_into_the_blocks(
    tmp_path: Path, said: list[str]
) -> None:
    """Blocks of two different settings would make one contender of them."""
    plan = Plan(contenders=("best-static",), blocks=2)
    ledger = Ledger(tmp_path / "rows.jsonl")
    assert bench(plan, ledger, said).run()
    first = ledger.rows[-1]["io_capacity_max"]
    del ledger.rows[-1]
    other = next(row for row in ledger.rows if row["stage"] == "search" and row["io_capacity_max"] > first)
    other["figures"]["commits_mean"] *= 10.0
    assert bench(plan, ledger, said).run()
    assert ledger.rows[-1]["io_capacity_max"] == first


def test_recovery_and_shutdown_are_timed_in_turns(tmp_path: Path, work: Work, said: list[str]) -> None:
    """Odd blocks end in a crash, even ones in a shutdown, for every contender; a search ends in neither."""
    plan = Plan(contenders=("default", "best-static"), blocks=2, crash=True)
    assert bench(plan, Ledger(tmp_path / "rows.jsonl"), said).run()
    assert {how for name, how in work.ends if name.startswith("M = ")} == {None}
    blocks = [how for name, how in work.ends if not name.startswith("M = ")]
    assert blocks == ["crash", "crash", "shutdown", "shutdown"]


@pytest.mark.parametrize(("settled", "known"), [(True, 0.5), (False, None)])
def test_every_static_setting_is_expected_where_the_block_before_saw_it(
    tmp_path: Path, work: Work, said: list[str], known: float | None, *, settled: bool
) -> None:
    """From the second block on, where it had settled; a policy finds its age by itself each time."""
    work.settled = settled
    plan = Plan(contenders=("2000/4000", "100/100", "ours"), blocks=2)
    assert bench(plan, Ledger(tmp_path / "rows.jsonl"), said).run()
    assert {expected for _, expected in work.expected[:3]} == {None}
    policy = parse_contender("ours").name
    assert dict(work.expected[3:]) == {"2000/4000": known, "100/100": known, policy: None}


def test_who_cannot_run_here_is_said_once_with_the_reason(
    tmp_path: Path, work: Work, said: list[str]
) -> None:
    """Where no static setting keeps the rules there is none in the blocks, now and when it goes on."""
    work.edge = 10**9
    plan = Plan(contenders=("default", "best-static"), blocks=2)
    for _ in range(2):
        ledger = Ledger(tmp_path / "rows.jsonl")
        assert bench(plan, ledger, said).run()
        out = {row["contender"]: row["why"] for row in ledger.rows if row["stage"] == "left out"}
        assert out == {"best static": module.NO_STATIC}
        assert work.done[-2:] == ["default", "default"]
    assert work.done.count("default") == 2


def test_an_offered_rate_is_a_share_of_what_the_default_sustained(
    tmp_path: Path, work: Work, said: list[str]
) -> None:
    """The knee is measured once, and every row of the blocks runs at its share."""
    plan = Plan(load=LoadPlan(knee_share=0.5), disk=DiskPlan(write_iops=1200), blocks=2)
    ledger = Ledger(tmp_path / "rows.jsonl")
    assert bench(plan, ledger, said).run()
    knee = [row for row in ledger.rows if row["stage"] == "knee"]
    assert len(knee) == 1
    rate = round(0.5 * knee[0]["figures"]["commits_mean"])
    assert {row["conditions"]["load"]["rate"] for row in ledger.rows if row["stage"] == "block"} == {rate}
    assert work.done[0] == "default"


@pytest.mark.usefixtures("work")
def test_a_suite_run_variant_by_variant_is_the_suite_run_at_once(tmp_path: Path, said: list[str]) -> None:
    """Rows of one variant are left alone by another's run, are of the same plan, and add up to the whole."""
    suite = Suite(name="mine", about="Mine.", plans=(Plan(variant="a"), Plan(variant="b", blocks=1)))

    def run(ledger: Ledger, *variants: str) -> Bench:
        found = Bench(suite, ledger, lambda _plan: None, said.append, seed=5, variants=variants)  # type: ignore[arg-type, return-value]  # the site in these tests has no server
        assert found.run()
        return found

    whole, parts = (Ledger(tmp_path / f"{name}.jsonl") for name in ("whole", "parts"))
    run(whole)
    first = run(parts, "b")
    assert {row["variant"] for row in parts.rows} == {"b"}
    assert first.unfinished() == ["a"]
    assert first.progress.left() == "nothing"
    assert run(parts, "a").unfinished() == []
    assert sorted(map(_place, parts.rows)) == sorted(map(_place, whole.rows))
    assert {row["plan_hash"] for row in parts.rows} == {suite.digest}


def _place(row: dict[str, Any]) -> tuple[str, int, int, str]:
    return row["variant"], row["block"], row["position"], row["contender"]


FIELD = ("default", "2000/4000", "ours", "100/100")


def test_every_block_has_every_contender_once_in_an_order_of_its_own() -> None:
    """Nobody gains from a fixed place, nor loses his where another one cannot run."""
    order = turns(Plan(contenders=FIELD, blocks=12), seed=3)
    counted = Counter((turn.block, turn.contender.name) for turn in order)
    assert set(counted.values()) == {1}
    assert len(counted) == 12 * len(FIELD)
    first = {turn.contender.name for turn in order if turn.position == 1}
    assert len(first) > 1
    without = turns(Plan(contenders=FIELD, blocks=12), seed=3, absent=["100/100"])
    assert without == [one for one in order if one.contender.name != "100/100"]


def test_a_variant_that_a_suite_lacks_is_refused_with_those_it_has() -> None:
    """Nobody runs the wrong plan for hours because of a misspelt name."""
    suite = Suite(name="mine", about="Mine.", plans=(Plan(variant="slow disk"), Plan(variant="fast disk")))
    assert chosen(suite, ["fast disk", "slow disk"]) == chosen(suite, []) == suite.plans
    assert chosen(suite, ["fast disk"]) == suite.plans[1:]
    with pytest.raises(PlanError, match=r"--variant fast: .* there are 'slow disk', 'fast disk'"):
        chosen(suite, ["fast"])
    with pytest.raises(PlanError, match="it has none, so leave --variant out"):
        chosen(Suite(name="quick", about="", plans=(Plan(),)), ["fast"])
