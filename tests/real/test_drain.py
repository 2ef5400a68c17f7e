"""A drain on a real server: the age comes down while the load goes on, and says how far it is."""

from __future__ import annotations

import json

import pytest

from lab.servers.base import LabServer
from tests.real.installation import Install
from tests.real.support import Work, under_load
from tuner.records import Capacity, DecisionKind, Sample

pytestmark = pytest.mark.real

SET_POINT = 0.6
SETTING = Capacity(300, 600)
BELOW = 0.8
"""The target, share of the checkpoint age at the start."""

LIMIT = 150.0
"""A drain plans two minutes until the age is at its aim, which lies below the target."""


def test_a_drain_under_load(server: LabServer, work: Work, install: Install, figures: list[str]) -> None:
    """The age comes down to the target within the time said, without sync flushing, and stays there."""
    under_load(server, work, SETTING)
    one = install()
    one.configure(mode="active", set_point=SET_POINT)
    one.start()
    full = one.await_status(
        lambda now: not now["holds"] and now["estimate"] and now["estimate"]["age_ratio"] > SET_POINT - 0.1,
        90.0,
        f"an age ratio near {SET_POINT}",
    )
    start = min(full["estimate"]["checkpoint_age"], SET_POINT * full["limits"]["flush_limit"])
    one.await_ticks(12)  # a drain is planned by the rates of ten seconds
    refused = one.command("drain", "--to-age", "1%")
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert "the lowest at the present load is" in refused.stderr
    begun = one.command("drain", "--to-age", f"{BELOW * start:.0f}", "--ttl", "10m")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    there = one.await_status(lambda now: now["drain"]["reached"] is not None, LIMIT, "the age at its target")
    drain = there["drain"]
    assert drain["age"] <= drain["target"]
    figures.append(
        f"drained from {start / 2**20:.0f} to {drain['target'] / 2**20:.0f} MiB "
        f"in {600.0 - drain['ends_in']:.0f} s"
    )
    waited = one.command("drain", "--to-age", str(drain["target"]), "--ttl", "5m", "--wait", "--json")
    assert waited.returncode == 0, waited.stderr
    assert json.loads(waited.stdout)["command"] == "drain"
    assert one.command("drain", "--cancel").returncode == 0
    after = one.await_ticks(2)
    assert after["drain"] is None
    ticks = [record for record in one.records() if record.drain is not None]
    assert {record.decision.kind for record in ticks} <= {DecisionKind.KEEP, DecisionKind.DRAIN}
    readings = [record.tick.reading for record in ticks if isinstance(record.tick.reading, Sample)]
    assert readings[-1].pages_sync == readings[0].pages_sync
    assert any(record.drain and record.drain.seconds_left for record in ticks)
