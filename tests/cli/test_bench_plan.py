"""What a plan says of mysqld reaches it, and nothing that would make the figures wrong."""

from __future__ import annotations

import re

import pytest

from lab.bench.plan import Plan, ServerPlan, load_suite
from lab.bench.store import PlanError
from tuner.cli.bench_plan import changed, specification


def test_variables_of_mysqld_reach_it() -> None:
    """Written with dashes or underscores, as numbers or words."""
    plan = Plan(server=ServerPlan(set={"innodb_doublewrite_pages": 128, "innodb-adaptive-hash-index": "ON"}))
    given = specification(plan).arguments()
    assert "--innodb-doublewrite-pages=128" in given
    assert "--innodb-adaptive-hash-index=ON" in given


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("innodb_redo_log_capacity", "server.redo_capacity"),
        ("innodb-buffer-pool-size", "server.buffer_pool"),
        ("innodb_io_capacity_max", "a contender"),
        ("datadir", "leave it out"),
    ],
)
def test_what_the_bench_works_with_is_not_set_behind_its_back(name: str, said: str) -> None:
    """A redo log of another size than the plan's would make every age ratio of its rows wrong."""
    with pytest.raises(PlanError, match=said):
        specification(Plan(server=ServerPlan(set={name: 200})))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("write_iops", 0, "--write-iops = 0: must be a whole number from 10"),
        ("redo", 1, "--redo = 1: must be a whole number from 8 up to 524,288"),
        ("blocks", 0, "--blocks = 0: must be a whole number from 1 up to 20"),
    ],
)
def test_a_value_that_no_plan_takes_is_said_with_its_option(name: str, value: int, said: str) -> None:
    """Who typed an option is not told of a key in a file that he has not got."""
    with pytest.raises(PlanError, match=re.escape(said)):
        changed(load_suite("quick"), {name: value})
