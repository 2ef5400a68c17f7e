"""What is written and what is not, by the server's own count of statements."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from tests.real.installation import Innobrim
from tests.real.support import DEFAULT, Work, global_sets, in_force, pair, under_load, until
from tuner.records import Capacity, DecisionKind, HoldCode, TickRecord

pytestmark = pytest.mark.real

QUIET_TICKS = 5
LOW = 300
FULL_RATIO = 0.3


@pytest.fixture(scope="module")
def daemon(server: LabServer, work: Work, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Innobrim]:
    """Yield a daemon under load that started advisory and has more than once seen what it would set."""
    under_load(server, work, DEFAULT)
    with Innobrim(server, tmp_path_factory.mktemp("advisory")) as found:
        found.start()
        found.await_status(lambda now: now["tick"] > 0, 60.0, "the first tick")
        yield found


@pytest.fixture
def active(daemon: Innobrim) -> Innobrim:
    """Return the daemon in active mode, held by nothing, after a write of its own."""
    now = until(daemon.status, 60.0, "a status")
    if now["mode"] != "active":
        daemon.change_mode("active")
    if any(hold["code"] == "paused" for hold in now["holds"]):
        assert daemon.command("resume").returncode == 0
    daemon.await_status(
        lambda now: now["mode"] == "active" and not now["holds"], 60.0, "active, without a hold"
    )
    return daemon


def test_advisory_writes_nothing(server: LabServer, daemon: Innobrim) -> None:
    """An advisory daemon issues no SET GLOBAL, by the server's own count, though it would and is asked to."""
    before = global_sets(server)
    would = daemon.await_status(
        lambda now: now["decision"]["would"] is not None and not now["holds"], 60.0, "something it would set"
    )
    assert would["decision"]["reason"] == "advisory"
    for command in (("park",), ("restore",), ("override", "--io-capacity-max", "900", "--ttl", "1m")):
        done = daemon.command(*command)
        assert done.returncode == 1, done.stdout + done.stderr
        assert "advisory" in done.stderr
    daemon.await_ticks(QUIET_TICKS)
    assert global_sets(server) == before
    assert in_force(server) == DEFAULT
    changed = server.query(
        "SELECT variable_source FROM performance_schema.variables_info"
        " WHERE variable_name LIKE 'innodb_io_capacity%' AND set_user = 'innobrim'"
    )
    assert not changed


@pytest.mark.parametrize("command", [("pause", "--reason", "test"), ("park", "--wait")], ids=" ".join)
def test_a_pause_or_a_park_writes_once(server: LabServer, active: Innobrim, command: tuple[str, ...]) -> None:
    """Either leads to exactly one write, the park, and to nothing after it, not even an override."""
    _brim(active)
    before = global_sets(server)
    done = active.command(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    now = active.await_ticks(2)
    assert [hold["code"] for hold in now["holds"]] == ["paused"]
    parked = in_force(server)
    statements = global_sets(server) - before
    refused = active.command("override", "--io-capacity-max", "900", "--ttl", "1m")
    assert refused.returncode == 1
    assert "a hold permits no override" in refused.stderr
    active.await_ticks(QUIET_TICKS)
    assert global_sets(server) - before == statements
    assert in_force(server) == parked
    written = _since_hold(active)
    assert [one.decision.kind for one in written] == [DecisionKind.PARK]
    assert written[0].decision.target == parked
    assert len(written[0].decision.steps) == statements
    assert parked.io_capacity_max > LOW


def test_restore(server: LabServer, active: Innobrim) -> None:
    """``innobrim restore --wait`` goes back to the originals in steps, even if paused, and ends advisory."""
    _override(active, 15_000)
    assert active.command("pause").returncode == 0
    active.await_ticks(2)
    start = in_force(server)
    asked = time.time()
    done = active.command("restore", "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_force(server) == DEFAULT
    before = global_sets(server)
    now = active.await_ticks(QUIET_TICKS)
    assert now["mode"] == "advisory"
    assert global_sets(server) == before
    assert in_force(server) == DEFAULT
    steps = [one.decision.target for one in active.records("restore") if one.tick.wall > asked]
    assert len(steps) > 1
    assert steps[-1] == DEFAULT
    for old, new in itertools.pairwise([start, *steps]):
        assert isinstance(new, Capacity)
        assert isinstance(old, Capacity)
        assert new.io_capacity_max <= 1.26 * old.io_capacity_max


def _override(daemon: Innobrim, io_capacity_max: int) -> None:
    """Have a known setting in force that the loop wrote, by a person's wish."""
    done = daemon.command("override", "--io-capacity-max", str(io_capacity_max), "--ttl", "10m")
    assert done.returncode == 0, done.stdout + done.stderr
    daemon.await_status(
        lambda now: pair(now["in_force"]).io_capacity_max == io_capacity_max,
        60.0,
        "the override",
    )


def _brim(daemon: Innobrim) -> None:
    """Have a setting in force under which the age grows, and an age at which a park has to raise it."""
    _override(daemon, LOW)
    daemon.await_status(
        lambda now: now["estimate"]["age_ratio"] >= FULL_RATIO, 60.0, f"an age ratio of {FULL_RATIO}"
    )


def _since_hold(daemon: Innobrim) -> list[TickRecord]:
    """Return the ticks that decided to write since the present pause began, once they are on disk."""

    def paused() -> list[TickRecord]:
        ticks = daemon.records()
        first = next(
            (at for at in range(len(ticks) - 1, 0, -1) if _paused(ticks[at]) and not _paused(ticks[at - 1])),
            None,
        )
        return ticks[first:] if first is not None and len(ticks) - first > QUIET_TICKS else []

    found = until(paused, 60.0, "the pause in the journal")
    return [one for one in found if one.decision.kind is not DecisionKind.KEEP]


def _paused(record: TickRecord) -> bool:
    return any(hold.code is HoldCode.PAUSED for hold in record.holds)
