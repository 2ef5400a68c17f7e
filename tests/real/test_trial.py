"""A trial of an hour on a real server, to be read beside what blocks of the bench show of the same load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.servers.spec import ServerSpec
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.families import SHIPPED, named
from tests.real.installation import Innobrim
from tests.real.support import LOAD, WRITE_IOPS

pytestmark = [pytest.mark.real, pytest.mark.prove, pytest.mark.timeout(3600)]

MINUTES = 54
SETTLED = 180
"""Ticks with the load that the daemon has before, to come to its own values."""

RATIOS = ("commits", "row_changes", "pages_per_row", "page_writes", "latency")


def told_of(name: str, ratio: dict[str, Any] | None) -> str:
    """Return one figure of a trial with its bounds."""
    if ratio is None:
        return f"{name} not known"
    words = ", ".join(f"{key} {value:.3f}" for key, value in ratio.items() if isinstance(value, float))
    return f"{name}: {words}"


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-8.0.31"])
def test_a_trial_shows_what_the_values_bring(name: str, tmp_path: Path, figures: list[str]) -> None:
    """With a device that limits the load, a trial against 200/2000 ends in time and finds ours better."""
    spec = ServerSpec(io_capacity=SHIPPED.io_capacity, io_capacity_max=SHIPPED.io_capacity_max)
    with named(name, spec) as server:
        prepare(server, LOAD)
        assert server.limit_write_iops(WRITE_IOPS) is None
        with SysbenchRun(server, LOAD) as load, Innobrim(server, tmp_path) as daemon:
            load.wait_seconds(2, 60.0)
            daemon.start("--active")
            daemon.await_ticks(SETTLED)
            began = daemon.command("trial", "begin", "--minutes", str(MINUTES), "--seed", "1", "--json")
            assert began.returncode == 0, began.stdout + began.stderr
            daemon.await_status(
                lambda now: now["trial"] is not None and not now["trial"]["progress"]["running"],
                60.0 * MINUTES + 120.0,
                "the end of the trial",
            )
            shown = daemon.command("trial", "status", "--json")
    found = json.loads(shown.stdout)["result"]
    figures.append(
        f"{name}: {found['verdict']} by {found['by']}, {found['pairs']} pairs, {found['discarded']} not; "
        + "; ".join(told_of(one, found[one]) for one in RATIOS)
    )
    assert (found["end"], found["verdict"]) == ("time", "better"), shown.stdout
