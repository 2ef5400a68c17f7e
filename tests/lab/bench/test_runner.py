"""A bench does what was asked for once, in order, keeps every row, and goes on where it stopped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Self

import pytest

from lab.bench import runner as module
from lab.bench.plan import Contender, LoadPlan, Plan, Suite, Timing, parse_contender
from lab.bench.runner import Bench, chosen, turns
from lab.bench.store import Ledger, PlanError
from lab.servers.spec import LabServerError
from tuner.records import Capacity

EDGE = 400
"""The lowest M that the server in these tests runs on without sync flushing, pages/s."""


class Rig:
    """A rig without a server: it remembers what load it was told to offer."""

    default = Capacity(10_000, 20_000)
    offered = 0

    def __init__(self, *, in_memory: bool = False) -> None:
        self.in_memory = in_memory
        self.server = self

    def disk_in_memory(self) -> bool:
        return self.in_memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def conditions(self) -> dict[str, Any]:
        return {"load": {"rate": self.offered}, "disk": {"in_memory": True} if self.in_memory else {}}

    def flushing(self) -> float:
        return 800.0

    def offer(self, rate: int) -> None:
        self.offered = rate

    def start_load(self) -> None:
        pass


class Work:
    """Stands for the measuring of a row; knows what was measured, and carries benches out.

    Attributes:
        done: contender, how its row ends, and the age ratio that it was expected at, of each row.
        said: lines of progress.
        fails_at: the number of the row that fails.
        settled: whether rows settle.
        edge: the lowest M without sync flushing.
        in_memory: whether the server's disk is in memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: list[tuple[str, object, float | None]] = []
        self.said: list[str] = []
        self.fails_at = 0
        self.settled = True
        self.edge = EDGE
        self.in_memory = False

    def __call__(
        self, rig: Rig, contender: Contender, pair: Capacity | None, expected: float | None, **how: object
    ) -> dict[str, Any]:
        self.done.append((contender.name, how["ends_in"], expected))
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
        return {
            "settled": self.settled,
            "settle_seconds": 60.0,
            "figures": figures,
            "conditions": rig.conditions(),
        }

    def ledger(self, name: str = "rows") -> Ledger:
        """Return the rows of a file, as a bench that goes on reads them."""
        return Ledger(self.path / f"{name}.jsonl")

    def run(
        self, *plans: Plan, name: str = "rows", variants: tuple[str, ...] = (), seconds: float = 9e9
    ) -> Bench:
        """Carry a suite out, to its end unless the time is up; rows are kept under that name."""
        suite = Suite(name="mine", about="Mine.", plans=plans)
        bench = Bench(
            suite,
            self.ledger(name),
            lambda _plan, _say: Rig(in_memory=self.in_memory),  # type: ignore[arg-type, return-value] # all that is asked of one
            self.said.append,
            seed=5,
            seconds=seconds,
            variants=variants,
        )
        assert bench.run() == (seconds > 0.0)
        return bench

    def rows(self, stage: str, name: str = "rows") -> list[dict[str, Any]]:
        """Return the finished rows of a stage."""
        return [row for row in self.ledger(name).rows if row["stage"] == stage]

    def blocks(self, name: str = "rows") -> list[tuple[str, int, int, str]]:
        """Return variant, block, position and contender of each finished row of the blocks."""
        return [
            (row["variant"], row["block"], row["position"], row["contender"])
            for row in self.rows("block", name)
        ]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Work:
    """Put rig and measuring without a server in place of the real ones."""
    found = Work(tmp_path)
    monkeypatch.setattr(module, "measure", found)
    return found


def test_an_interrupted_bench_repeats_nothing_and_misses_nothing(work: Work) -> None:
    """After a server that went away the rows are those of a bench without interruption, in its order."""
    plan = Plan(contenders=("default", "2000/4000", "ours"), blocks=2)
    work.run(plan, name="whole")
    work.done.clear()
    work.fails_at = 4
    with pytest.raises(LabServerError):
        work.run(plan, name="cut")

    assert work.blocks("cut") == work.blocks("whole")[:3]
    work.run(plan, name="cut")
    assert work.blocks("cut") == work.blocks("whole")


@pytest.mark.parametrize(("first", "then"), [(True, "on a disk"), (False, "in memory")])
def test_rows_of_a_disk_and_of_one_in_memory_are_not_mixed(work: Work, *, first: bool, then: str) -> None:
    """What was begun on one kind of disk is not finished on the other, and its rows stay as they were."""
    plan = Plan(contenders=("default", "ours"), blocks=2)
    work.in_memory, work.fails_at = first, 2
    with pytest.raises(LabServerError, match="went away"):
        work.run(plan)
    work.in_memory, work.fails_at = not first, 0

    with pytest.raises(LabServerError, match=f"this server's data would be {then}.*set TMPDIR"):
        work.run(plan)
    assert len(work.blocks()) == 1

    work.in_memory = first
    work.run(plan)
    assert len(work.blocks()) == 4


def test_the_time_that_is_given_is_kept(work: Work) -> None:
    """No row begins after it, no server is started for none, and it says why."""
    work.run(Plan(), seconds=0.0)

    assert work.done == []
    assert "the time is up" in work.said[-1]


def test_the_best_static_setting_is_searched_for_before_the_blocks_and_used_in_each(work: Work) -> None:
    """Every block's best static row has the M that the search found, near the edge."""
    work.run(Plan(contenders=("default", "best-static"), blocks=3))
    stages = [row["stage"] for row in work.ledger().rows]
    found = {row["io_capacity_max"] for row in work.rows("block") if row["contender"] == "best static"}

    assert stages == sorted(stages, key=["search", "block"].index)
    assert len(found) == 1
    assert EDGE <= found.pop() <= 1.05 * EDGE


def test_a_better_setting_that_was_found_later_does_not_mix_into_the_blocks(work: Work) -> None:
    """Blocks of two different settings would make one contender of them."""
    plan = Plan(contenders=("best-static",), blocks=2)
    work.run(plan, name="first")
    *rows, last = work.ledger("first").rows
    better = next(one for one in rows if one["stage"] == "search" and one["io_capacity_max"] > EDGE * 1.1)
    better["figures"]["commits_mean"] *= 10.0
    kept = work.ledger()
    for row in rows:
        kept.add(row)
    work.run(plan)

    assert work.ledger().rows[-1]["io_capacity_max"] == last["io_capacity_max"]


def test_recovery_and_shutdown_are_timed_in_turns(work: Work) -> None:
    """Odd blocks end in a crash, even ones in a shutdown, for every contender; a search ends in neither."""
    work.run(Plan(contenders=("default", "best-static"), blocks=2, crash=True))

    assert {how for name, how, _ in work.done if name.startswith("M = ")} == {None}
    ends = [how for name, how, _ in work.done if not name.startswith("M = ")]
    assert ends == ["crash", "crash", "shutdown", "shutdown"]


@pytest.mark.parametrize(("settled", "known"), [(True, 0.5), (False, None)])
def test_every_static_setting_is_expected_where_the_block_before_saw_it(
    work: Work, known: float | None, *, settled: bool
) -> None:
    """From the second block on, where it had settled; a policy finds its age by itself each time."""
    work.settled = settled
    work.run(Plan(contenders=("2000/4000", "100/100", "ours"), blocks=2))
    expected = [(name, ratio) for name, _, ratio in work.done]

    assert {ratio for _, ratio in expected[:3]} == {None}
    policy = parse_contender("ours").name
    assert dict(expected[3:]) == {"2000/4000": known, "100/100": known, policy: None}


def test_on_a_lifted_disk_ours_is_looked_for_where_it_was_seen(work: Work) -> None:
    """First where the search saw best static, then at its own age, settled or not."""
    work.settled = False
    work.run(Plan(contenders=("best-static", "ours"), blocks=2, timing=Timing(lifted=60.0)))

    assert [ratio for name, _, ratio in work.done if name == "ours"] == [0.5, 0.5]


def test_who_cannot_run_here_is_said_once_with_the_reason(work: Work) -> None:
    """Where no static setting keeps the rules there is none in the blocks, now and when it goes on."""
    work.edge = 10**9
    for _ in range(2):
        work.run(Plan(contenders=("default", "best-static"), blocks=2))

    assert [(row["contender"], row["why"]) for row in work.rows("left out")] == [
        ("best static", module.NO_STATIC)
    ]
    assert [one[-1] for one in work.blocks()] == ["default", "default"]


def test_an_offered_rate_is_a_share_of_what_the_default_sustained(work: Work) -> None:
    """The knee is measured once, and every row of the blocks runs at its share."""
    work.run(Plan(load=LoadPlan(knee_share=0.5), blocks=2))
    (knee,) = work.rows("knee")

    assert work.done[0][0] == knee["contender"] == "default"
    rates = {row["conditions"]["load"]["rate"] for row in work.rows("block")}
    assert rates == {round(0.5 * knee["figures"]["commits_mean"])}


def test_a_suite_run_variant_by_variant_is_the_suite_run_at_once(work: Work) -> None:
    """Rows of one variant are left alone by another's run, are of the same plan, and add up to the whole."""
    plans = (Plan(variant="a"), Plan(variant="b", blocks=1))
    work.run(*plans, name="whole")
    first = work.run(*plans, variants=("b",))

    assert {one[0] for one in work.blocks()} == {"b"}
    assert first.unfinished() == ["a"]
    assert first.progress.left() == "nothing"
    assert work.run(*plans, variants=("a",)).unfinished() == []
    assert sorted(work.blocks()) == sorted(work.blocks("whole"))
    assert len({row["plan_hash"] for row in work.ledger().rows}) == 1


def test_every_block_has_every_contender_once_in_an_order_of_its_own() -> None:
    """Nobody gains from a fixed place, nor loses his where another one cannot run."""
    plan = Plan(contenders=("default", "2000/4000", "ours", "100/100"), blocks=12)
    order = turns(plan, seed=3)
    counted = Counter((turn.block, turn.contender.name) for turn in order)

    assert set(counted.values()) == {1}
    assert len(counted) == 12 * len(plan.contenders)
    assert len({turn.contender.name for turn in order if turn.position == 1}) > 1
    without = turns(plan, seed=3, absent=["100/100"])
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
