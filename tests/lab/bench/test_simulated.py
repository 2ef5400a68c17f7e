"""A suite runs on the simulated server as on a real one, and gives what the real one gave."""

from __future__ import annotations

import json
import statistics
import threading
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from lab.bench.plan import DiskPlan, LoadPlan, Plan, ServerPlan, Suite, Timing
from lab.bench.runner import Bench
from lab.bench.simulated import SimulatedRig, parameters
from lab.bench.store import Ledger, PlanError, Row
from lab.scenarios import Scenario
from lab.scenarios.load import parse_scenario
from lab.servers.spec import LabServerError
from tuner.core.step import start

if TYPE_CHECKING:
    from pathlib import Path

LIKE = parse_scenario(
    'name = "like"\ndescription = ""\nseconds = 60\nmeasured_from = 0\nfit = "mysql-9.7"', source="like"
)
PLAN = Plan(
    disk=DiskPlan(write_iops=1200),
    contenders=("default", "200/400", "ours"),
    blocks=1,
    timing=Timing(reset=30.0, settle_least=120.0, settle_most=200.0, counted=60.0),
)


def rows(path: Path, plan: Plan = PLAN, like: Scenario = LIKE) -> dict[str, Row]:
    """Return a plan's rows on the simulated server, by contender."""
    suite = Suite(name="mine", about="Mine.", plans=(plan,))
    ledger = Ledger(path / "rows.jsonl")
    bench = Bench(suite, ledger, lambda one, say: SimulatedRig(like, one, say), lambda _: None, seed=5)
    assert bench.run()
    return {row["contender"]: row for row in ledger.rows if row["stage"] == "block"}


def test_settings_give_what_a_real_server_gave(tmp_path: Path) -> None:
    """As docs/results/bench/contenders has them: throughput within 7 %, age ratio within 0.05."""
    found = rows(tmp_path)

    for contender, commits, age in (("default", 1224.0, 0.11), ("200/400", 2576.0, 0.89)):
        assert found[contender]["figures"]["commits_mean"] == pytest.approx(commits, rel=0.07)
        assert found[contender]["figures"]["age_ratio_mean"] == pytest.approx(age, abs=0.05)


def test_ours_moves_the_age_to_where_it_gains(tmp_path: Path) -> None:
    """The daemon's own loop turns beside the server, and is not there for the contender after it."""
    found = rows(tmp_path)

    assert found["ours"]["figures"]["commits_mean"] > 1.8 * found["default"]["figures"]["commits_mean"]
    assert found["ours"]["figures"]["sync_pages"] == 0
    assert found["200/400"]["figures"]["knob_changes"] == 0
    assert not [one for one in threading.enumerate() if one.name == "simulated daemon"]


def test_the_same_suite_is_predicted_the_same_again(tmp_path: Path) -> None:
    """Whatever the machine was doing: a prediction that is made again is no other one."""
    once, again = ({name: row["figures"] for name, row in rows(tmp_path / at).items()} for at in "ab")

    assert json.dumps(once) == json.dumps(again)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"disk": DiskPlan()}, "disk.write_iops"),
        ({"load": LoadPlan(kind="tpcc")}, "load.kind: tpcc"),
        ({"load": LoadPlan(distribution="zipf")}, "load.distribution: zipf"),
        ({"crash": True}, "crash: True"),
        ({"server": ServerPlan(set={"innodb_lru_scan_depth": 100})}, "server.set.innodb_lru_scan_depth"),
    ],
)
def test_what_the_simulated_server_has_not_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    """Rather than predicted as if it were not there."""
    with pytest.raises(PlanError, match=words):
        parameters(LIKE, replace(PLAN, **changes))


def test_sizes_and_pages_are_those_of_the_plan() -> None:
    """Twice the rows are twice the pages that change; the rest is the suite's."""
    plan = replace(
        PLAN,
        server=ServerPlan(
            redo_capacity=1024,
            buffer_pool=700,
            set={
                "innodb_doublewrite_pages": 4,
                "innodb_flush_neighbors": 1,
                "innodb_max_dirty_pages_pct_lwm": "0.001",
            },
        ),
        load=LoadPlan(rows=800_000, threads=8),
    )

    made = parameters(LIKE, plan)

    assert made.load.hot_pages == pytest.approx(2.0 * LIKE.load.hot_pages)
    assert made.load.timeline[0].threads == 8
    assert made.server.redo_capacity == 1024 * 1024**2
    assert made.server.buffer_pool_pages * 16_384 == 700 * 1024**2
    assert made.server.doublewrite_pages == 4
    assert made.server.flush_neighbors
    assert made.server.max_dirty_pages_pct_lwm == 0.001


def test_a_share_of_what_the_default_sustains_is_offered(tmp_path: Path) -> None:
    """A prediction of an open load has its commits/s, and fewer pages for them with ours."""
    plan = replace(PLAN, contenders=("default", "ours"), load=LoadPlan(knee_share=0.5))

    found = rows(tmp_path, plan)

    (offered,) = {row["conditions"]["load"]["rate"] for row in found.values()}
    for row in found.values():
        assert row["figures"]["commits_mean"] == pytest.approx(offered, rel=0.01)
    pages = {name: row["figures"]["pages_per_commit"] for name, row in found.items()}
    assert pages["ours"] < 0.6 * pages["default"]


def test_a_limit_moves_as_the_plan_says(tmp_path: Path) -> None:
    """Every contender settles on the faster disk, and is counted on the slower one first."""
    disk = DiskPlan(write_iops=2400, alternate_iops=600, alternate_seconds=60)
    timing = Timing(reset=30.0, settle_least=60.0, settle_most=60.0, counted=120.0)

    found = rows(tmp_path, replace(PLAN, disk=disk, contenders=("default", "200/400"), timing=timing))

    for row in found.values():
        moves = [words for _, words in row["events"] if words.startswith("disk limited")]
        assert moves == ["disk limited to 600 writes/s", "disk limited to 2400 writes/s"]
        kept = row["series"]
        pairs = zip(kept["at"], kept["commits"], strict=True)
        counted = [commits for at, commits in pairs if at >= kept["counted_from"]]
        assert statistics.fmean(counted[60:]) > 2.0 * statistics.fmean(counted[:60])


def test_a_binary_log_is_part_of_what_a_commit_costs() -> None:
    """Its variables ask nothing of the simulated server: the parameters say what its writes cost."""
    synced = ServerPlan(set={"log_bin": "binlog", "sync_binlog": 1})

    made = parameters(LIKE, replace(PLAN, server=synced, load=LoadPlan(kind="write_only")))

    assert made.load.group_operations == LIKE.load.group_operations


def test_a_loop_that_ends_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A row without its daemon would be one of a server that was left alone."""

    def failing(*given: Any) -> None:  # noqa: ANN401 - settings and facts
        start(*given)
        raise ZeroDivisionError("a defect of the loop")

    monkeypatch.setattr("lab.bench.simulated.start", failing)

    with pytest.raises(LabServerError, match="a defect of the loop"):
        rows(tmp_path, replace(PLAN, contenders=("ours",)))
