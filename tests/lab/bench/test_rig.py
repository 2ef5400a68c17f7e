"""A rig watches its server and limits its disk; a row on it treats every contender alike."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from lab.bench import rig as module
from lab.bench import row
from lab.bench.plan import DiskPlan, LoadPlan, Plan, Timing, parse_contender
from lab.bench.rig import Sampler
from lab.bench.row import End, Row, measure
from lab.servers import disk, local
from lab.servers.local import LocalServer
from lab.servers.spec import LabServerError
from tests.factory import sample
from tests.lab.bench.fakes import Clock, FakeRig, Load, counted_disk, without_time
from tuner.records import Capacity, Sample

LIMIT = 20.0
JUMPS = DiskPlan(write_iops=2400, alternate_iops=800, alternate_seconds=50.0)


class Reader:
    """Stands for a connection: every reading is the same, every counter is seven."""

    made = 0

    def __init__(self, _server: object) -> None:
        Reader.made += 1

    def read(self) -> Sample:
        """Return a reading."""
        return sample()

    def ask(self, statement: str) -> list[tuple[str, int]]:
        """Answer for each name in a statement."""
        return [(part, 7) for part in statement.split("'")[1::2] if part.isidentifier()]

    def close(self) -> None:
        """End it."""


@pytest.mark.parametrize("device", ["7:0", "254:0", None])
def test_a_row_says_when_its_disk_is_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, device: str | None
) -> None:
    """Also where nobody may limit the disk, and before the server is there."""
    monkeypatch.setattr(disk, "block_device", lambda _path: device)
    monkeypatch.setattr(disk, "made_of_memory", lambda found: found == "7:0")
    monkeypatch.setattr(local, "block_device", lambda _path: "254:0")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    rig = FakeRig(Plan(disk=DiskPlan(write_iops=1200)), Clock())
    rig.server = LocalServer("/usr/sbin/mysqld")

    assert rig.server.data_place() == tmp_path
    assert rig.conditions()["disk"].get("in_memory", False) == (device == "7:0")


def test_a_disk_that_the_server_counts_is_asked_for_over_the_samplers_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No connection a second beside the load."""
    monkeypatch.setattr(module, "Reader", Reader)
    server = LocalServer("/usr/sbin/mysqld")
    monkeypatch.setattr(server, "_throttle", counted_disk())
    monkeypatch.setattr(server, "connect", None)
    with Sampler(server, interval=0.001) as watching:
        end = time.monotonic() + LIMIT
        while len(watching.readings()) < 5 and time.monotonic() < end:
            time.sleep(0.001)  # readings come from another thread, and nothing announces them
    device = watching.readings()[-1].device

    assert device is not None
    assert device.writes == 7
    assert Reader.made == 1


def test_a_time_with_too_few_readings_for_a_figure_says_why() -> None:
    """A server that answered nobody is no division by zero; what failed before does not count."""
    sampler = Sampler(LocalServer("/usr/sbin/mysqld"))
    sampler._missed = [(5.0, "OperationalError: Lost connection")]

    assert sampler.missed(5.0) == []
    with pytest.raises(LabServerError, match=r"0 readings .*Lost connection"):
        sampler.span(1.0, 9.0)


def rig_of(monkeypatch: pytest.MonkeyPatch, plan: Plan | None = None) -> FakeRig:
    """Return a rig without a server, where only those who wait move time on."""
    return FakeRig(plan or Plan(), without_time(monkeypatch))


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> FakeRig:
    """Return one with a plan as it is by default."""
    return rig_of(monkeypatch)


def test_nothing_is_at_rest_by_what_was_before_it(rig: FakeRig) -> None:
    """An age that rested under the contender before is not the rest of the one that has just begun."""
    assert rig.settle(10.0, 20.0) == (20.0, False)
    waited, rest = rig.settle(10.0, 100.0)
    assert rest
    assert 45.0 <= waited <= 48.0


def test_a_policy_that_never_moved_rests_where_it_says_that_it_holds(rig: FakeRig) -> None:
    """One whose first M was right is not waited for in vain; one that has not looked yet is."""
    assert rig.settle(60.0, 100.0, holds=lambda: False) == (100.0, False)
    assert rig.settle(60.0, 100.0, holds=lambda: True) == (60.0, True)


def test_a_limit_that_is_refused_while_a_row_runs_is_said_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row's conditions and events have it, and no event claims a limit that is not there."""
    rig = rig_of(monkeypatch, Plan(disk=JUMPS))
    rig.limit_as_planned()
    assert (rig.said, rig.not_limited) == ([], ())
    rig.clock.now += 60.0
    rig.alternate(1000.0)
    (refusal,) = rig.not_limited
    assert "refused" in refusal
    assert rig.said == [refusal]
    assert [words for _, words in rig.events] == ["disk limited to 2400 writes/s", refusal]


def test_every_contender_is_reset_on_the_same_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that alternated is back at its first value before the age is brought down, not after."""
    rig = rig_of(monkeypatch, Plan(disk=JUMPS))
    rig.alternate(rig.clock.now - 60.0)
    rig.reset(1.0, 0.25)
    assert [words for _, words in rig.events][-1] == "disk limited to 2400 writes/s"


def test_a_reset_that_fell_short_says_where_it_came_to(rig: FakeRig) -> None:
    """The age of this server stays at 0.5 of its limit."""
    assert rig.reset(5.0, 0.25) == 0.5
    assert rig.clock.now == 1005.0
    assert rig.reset(5.0, 0.6) == 0.5
    assert rig.clock.now == 1006.0


def test_the_first_row_is_not_flushed_as_the_filling_was(rig: FakeRig) -> None:
    """Before the first row the server's mean rates become the load's."""
    rig.forget_filling()
    assert rig.server.loops == [30, 1, 30]  # type: ignore[attr-defined] # the fake's
    assert rig.clock.now == 1012.0


def measured(rig: FakeRig, word: str = "2000/4000", ends_in: End | None = None) -> Row:
    """Return what a contender did on a rig."""
    contender = parse_contender(word)
    return measure(rig, contender, contender.pair, ends_in=ends_in)


def test_a_reading_that_failed_before_a_row_is_not_the_rows(rig: FakeRig) -> None:
    """What was missed while the server came back for the contender before is not counted again."""
    rig.sampler._missed = [(999.0, "mysqld was restarted")]
    found = measured(rig)

    assert found["figures"]["missed_readings"] == 0
    assert found["figures"]["commits_mean"] == 1000.0
    assert found["conditions"]["server"] == "MySQL 9.7.4"


@pytest.mark.parametrize(("iops", "limited"), [(2000, True), (200, False)])
def test_a_limit_that_was_refused_makes_no_shutdown_longer(
    monkeypatch: pytest.MonkeyPatch, iops: int, *, limited: bool
) -> None:
    """The best static setting is not judged by a disk that it did not have."""
    disks: list[DiskPlan] = []
    rig = rig_of(monkeypatch, Plan(disk=DiskPlan(write_iops=iops)))
    rig.limit_as_planned()
    monkeypatch.setattr(row, "predicted", lambda _readings, disk, _flushed: disks.append(disk) or {})
    measured(rig)

    assert disks == [rig.plan.disk if limited else DiskPlan()]


@pytest.mark.parametrize(
    ("m", "expected", "pairs"), [(4000, 0.9, [(1200, 2400)]), (4000, 0.51, []), (100, 0.9, [])]
)
def test_an_age_is_brought_near_by_a_setting_beyond(
    rig: FakeRig, m: int, expected: float, pairs: list[tuple[int, int]]
) -> None:
    """And not at all where it is near already, or where there is no setting beyond."""
    rig.clock.now += 60.0
    row.approach(rig, Capacity(m // 2, m), expected, 1.0)

    assert rig.server.pairs == pairs  # type: ignore[attr-defined] # the fake's


@pytest.mark.parametrize(
    ("word", "expected", "pairs"),
    [
        ("2000/4000", 0.9, [(100, 100), (2000, 4000)]),
        ("2000/4000", 0.1, [(10_000, 20_000), (2000, 4000)]),
        ("ours", None, []),
        ("ours", 0.9, []),
    ],
)
def test_on_a_lifted_disk_settings_are_brought_near_and_ours_goes_by_itself(
    monkeypatch: pytest.MonkeyPatch, word: str, expected: float | None, pairs: list[tuple[int, int]]
) -> None:
    """For so long as the plan says, and the limit is back before anybody settles."""
    timing = Timing(lifted=30.0, settle_least=60.0, counted=10.0)
    rig = rig_of(monkeypatch, Plan(disk=DiskPlan(write_iops=1200), timing=timing))
    limits: list[tuple[float, int | None]] = []
    monkeypatch.setattr(
        rig.server, "limit_disk", lambda limit: limits.append((rig.now(), limit.write_iops)) or ()
    )
    contender = parse_contender(word)
    found = measure(rig, contender, contender.pair, expected)

    (lifted, none), (back, limited) = limits
    assert (none, limited) == (None, 1200)
    assert back - lifted == pytest.approx(30.0)
    assert found["settle_seconds"] == pytest.approx(60.0, abs=2)
    used = itertools.groupby(rig.server.pairs)  # type: ignore[attr-defined] # the fake's
    assert [pair for pair, _ in used] == [pair for pair, _ in itertools.groupby([(10_000, 20_000), *pairs])]


def looks(ratio: float, grows: float) -> row.Look:
    """Return what a look sees of an age that grows by so much of the redo that is written."""
    limit = sample().flush_limit
    return row.look([sample(at, age=ratio * limit + grows * 1e6 * (at - 4)) for at in range(5)])


def test_the_age_where_a_setting_rests_is_found_in_a_few_looks() -> None:
    """From either side, however steep the flushing goes with the age, and never past an age seen too high."""
    for power, rests, start in itertools.product((0.4, 1.0, 2.0), (0.3, 0.8), (0.15, 0.95)):
        at, looked = start, list[row.Look]()
        for _ in range(row.LOOKS):
            looked.append(looks(at, 1.0 - (at / rests) ** power))
            at = row.rests_at(looked)
        assert at == pytest.approx(rests, abs=0.05), (power, rests, start)


def test_the_default_is_not_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The highest C and M would take the age lower than where it rests, and make it look worse than it is."""
    plan = Plan(disk=DiskPlan(write_iops=1200), timing=Timing(lifted=30.0, counted=10.0))
    rig = rig_of(monkeypatch, plan)
    measure(rig, parse_contender("default"), rig.default, 0.1)

    assert set(rig.server.pairs) == {(10_000, 20_000)}  # type: ignore[attr-defined] # the fake's
    assert rig.events == []


@pytest.mark.parametrize(("disk", "seconds"), [(DiskPlan(), 180), (JUMPS, 200)])
def test_every_contender_counts_whole_turns_of_what_moves(
    monkeypatch: pytest.MonkeyPatch, disk: DiskPlan, seconds: int
) -> None:
    """One that settles later counts no other part of a disk that alternates."""
    rig = rig_of(monkeypatch, Plan(disk=disk, timing=Timing(counted=180.0)))

    assert measured(rig)["figures"]["seconds"] == pytest.approx(seconds, abs=1)


@pytest.mark.parametrize("queue", [500, 0])
def test_nobody_inherits_the_queue_of_the_contender_before(
    monkeypatch: pytest.MonkeyPatch, queue: int
) -> None:
    """An open load that others, or the way to its age, let queue up begins anew; one served goes on."""
    rig = rig_of(monkeypatch, Plan(load=LoadPlan(rate=500)))
    monkeypatch.setattr(Load, "queue", queue)
    measured(rig)

    assert rig.done.count("load begun") == (2 if queue else 0)


@pytest.mark.parametrize(("how", "recovery", "shutdown"), [("crash", 3.0, None), ("shutdown", None, 2.0)])
def test_a_server_ends_at_the_age_that_our_daemon_held(
    rig: FakeRig, how: End, recovery: float | None, shutdown: float | None
) -> None:
    """The daemon is not asked to end before, upon which it would park, and the load is at work until then."""
    found = measured(rig, "ours", how)["figures"]

    assert rig.done == ["daemon killed", how, "load ended", "daemon asked to end"]
    assert (found["recovery_seconds"], found["shutdown_seconds"]) == (recovery, shutdown)


@pytest.mark.parametrize("how", ["crash", "shutdown"])
def test_a_server_that_does_not_come_back_costs_no_finished_row(
    rig: FakeRig, monkeypatch: pytest.MonkeyPatch, how: End
) -> None:
    """The row is kept without the time, with the reason, and with the disk that it was measured on."""

    def lost() -> float:
        raise LabServerError("mysqld ended while starting: no space left")

    for name in ("crash", "restart"):
        monkeypatch.setattr(rig.server, name, lost)
    monkeypatch.setattr(rig, "limit_as_planned", lost)
    found = measured(rig, ends_in=how)

    assert (found["figures"]["recovery_seconds"], found["figures"]["shutdown_seconds"]) == (None, None)
    assert found["figures"]["commits_mean"] == 1000.0
    assert "no space left" in found["events"][0][1]
    assert found["conditions"]["not_limited"] == []
    assert rig.not_limited, "what comes next is not taken for measured on a limited disk"
