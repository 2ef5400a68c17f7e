"""A server's own limits beside those of our arithmetic: which are taken, and what blocks."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.setpoint import Headroom, highest_ratio
from tests.servers.fixtured import MARGINS, Rows, good, opened
from tuner.cli.record import record
from tuner.records import Facts, Sample
from tuner.servers.adapter import MARGIN
from tuner.servers.endpoint import Endpoint
from tuner.servers.exported import BLOCK, reporting
from tuner.servers.families.redo_capacity import ASYNC, RESIZED, SYNC, RedoCapacityAdapter, redo_limits

Change = Callable[[int], int]
LIMITS = (ASYNC, SYNC, MARGIN)
FIVES = ("mysql-5.6.24", "mysql-5.7.22", "mysql-5.7.44", "percona-5.7.44")


def lower(limit: int) -> int:
    """Return 6/8 of a log by what is 7/8 of it."""
    return limit * 6 // 7


RAISED = 22_000_000


def higher(limit: int) -> int:
    """Return a limit of 512 MiB of log with 5 % more of it."""
    return limit + RAISED


def read(name: str, version: str = "", **counters: Change | None) -> tuple[Facts, Sample]:
    """Return what a server is, and a reading of it, whose counters are changed, or hidden where None."""
    server, _, fixture = opened(name, variables={"version": version} if version else {})
    for reading in fixture.readings:
        for counter, change in counters.items():
            state, count = reading.metrics.pop(counter)
            if change is not None:
                reading.metrics[counter] = (state, str(change(int(count))))
    return server.facts(), good(server)


@pytest.mark.parametrize("name", ["mysql-8.0.29", "mysql-8.4.8", "mysql-5.7.44"])
@pytest.mark.parametrize("rounded", [-511, -64, 511])
def test_a_release_that_rounds_otherwise_is_no_other_build(name: str, rounded: int) -> None:
    """Less than a log block is no news: the server's own values are gone by, and nothing is said."""
    _, usual = read(name)
    facts, found = read(name, **dict.fromkeys((ASYNC, SYNC), lambda limit: limit + rounded))

    assert facts.blockers == facts.own_limits == ()
    assert found.sync_point == usual.sync_point + rounded
    assert found.flush_limit == pytest.approx(usual.flush_limit + rounded, abs=BLOCK)
    assert found.stall_point == usual.stall_point


@pytest.mark.parametrize(
    ("name", "version"),
    [("mysql-8.4.8", ""), ("mysql-8.0.46", ""), ("percona-8.4.6", ""), ("mysql-8.0.29", "8.0.22")],
)
def test_limits_that_are_a_little_off_are_the_servers(name: str, version: str) -> None:
    """A log that a release sizes 0.5 % smaller is controlled by the server's limits, those not shown too."""
    _, usual = read(name, version)
    facts, found = read(name, version, **dict.fromkeys((ASYNC, SYNC), lambda limit: round(limit * 0.995)))

    assert facts.blockers == ()
    assert [one.partition(" is ")[0] for one in facts.own_limits] == [ASYNC, SYNC]
    for point in ("flush_limit", "sync_point", "stall_point"):
        assert getattr(found, point) == pytest.approx(0.995 * getattr(usual, point), rel=1e-3)


def test_one_limit_that_is_a_little_off_is_taken_alone() -> None:
    """An async age 0.5 % lower is what the flush law divides by; both numbers are said."""
    _, usual = read("mysql-8.4.8")
    facts, found = read("mysql-8.4.8", **{ASYNC: lambda limit: limit - 2_084_352})
    (said,) = facts.own_limits

    assert "414740480 on the server and 416824832 by Log_files_capacity of MySQL 9.7.2" in said
    assert usual.flush_limit - found.flush_limit == 2_084_352
    assert (found.sync_point, found.stall_point) == (usual.sync_point, usual.stall_point)


def test_a_margin_that_is_a_constant_off_is_the_servers() -> None:
    """An 8.0.22 that keeps four pages less is controlled by its own margin, and that is said."""
    margin = MARGINS["mysql-8.0.29"]
    _, usual = read("mysql-8.0.29", "8.0.22", **{MARGIN: lambda _: margin})
    facts, found = read("mysql-8.0.29", "8.0.22", **{MARGIN: lambda _: margin - 65_536})

    assert facts.blockers == ()
    assert [one.partition(" by ")[0] for one in facts.own_limits] == [
        f"{MARGIN} is {margin - 65_536} on the server and {margin}"
    ]
    for point in ("flush_limit", "sync_point", "stall_point"):
        assert getattr(found, point) - getattr(usual, point) == pytest.approx(65_536 * 512 / 496, abs=BLOCK)


def test_a_margin_that_no_counter_shows_is_worked_out() -> None:
    """A Percona Server 8.0.28 without that counter has whole readings, with the limits of 8.0.28."""
    _, usual = read("percona-8.0.28")
    facts, found = read("percona-8.0.28", **{MARGIN: None})

    assert facts.blockers == facts.own_limits == facts.disabled_counters == ()
    assert not found.degraded
    assert (found.flush_limit, found.sync_point) == (usual.flush_limit, usual.sync_point)
    assert found.stall_point == usual.stall_point


def test_limits_of_8012_are_known_without_its_counters() -> None:
    """Its release tells it, so that the limits of one whose counters are off are those that it has."""
    _, usual = read("mysql-8.0.12")
    server, session, _ = opened("mysql-8.0.12")
    metrics = session.reading.metrics
    metrics |= dict.fromkeys((ASYNC, SYNC), ("disabled", "0"))
    server.facts()
    found = good(server)

    assert (found.flush_limit, found.sync_point) == (usual.flush_limit, usual.sync_point)
    assert found.flush_limit == 46_940_544


@pytest.mark.parametrize("name", FIVES)
def test_threads_set_since_mysqld_started_move_no_limit(name: str) -> None:
    """The limits of 5.6 and 5.7 stay those of the start: they are met exactly, and nothing is in the way."""
    _, usual = read(name)
    server, _, _ = opened(name, variables={"innodb_thread_concurrency": "64"})
    facts, found = server.facts(), good(server)

    assert facts.blockers == facts.own_limits == ()
    assert found.stall_point == usual.stall_point
    assert (found.flush_limit, found.sync_point) == (usual.flush_limit, usual.sync_point)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, {ASYNC: lower}) for name in ("mysql-8.4.8", "percona-8.0.28", *FIVES)),
        ("mysql-8.0.46", {SYNC: lambda limit: limit * 16 // 15}),
        ("mysql-8.0.46", {MARGIN: lambda margin: margin * 2}),
        ("mysql-8.0.29", {MARGIN: lambda _: 60_000_000}),
        ("mysql-9.7.4", {ASYNC: lambda limit: round(limit * 1.04), SYNC: lambda limit: round(limit * 0.96)}),
        ("mysql-8.4.8", {ASYNC: higher, MARGIN: lambda margin: margin - RAISED}),
        ("mysql-8.4.8", {ASYNC: higher, SYNC: higher, MARGIN: lambda margin: margin - RAISED}),
    ],
    ids=["8.4.8", "8.0.28", *FIVES, "sync", "margin", "more than grows", "order", "apart", "all higher"],
)
def test_limits_of_another_shape_are_read_and_not_controlled(name: str, changes: dict[str, Change]) -> None:
    """What is far from ours, if only less the margin, is no rounding and no constant: ours stand."""
    _, usual = read(name)
    facts, found = read(name, **changes)
    (blocker,) = facts.blockers

    assert "this build is not understood" in blocker
    assert facts.own_limits == ()
    assert (found.flush_limit, found.sync_point) == (usual.flush_limit, usual.sync_point)


def test_a_mismatch_says_what_is_wrong_and_what_helps() -> None:
    """The value, both numbers, what ours goes by, and a command that the command line takes as it stands."""
    facts, _ = read("mysql-8.4.8", **{ASYNC: lower})
    (blocker,) = facts.blockers
    said, words, _ = blocker.split('"')

    assert f"{ASYNC} is 357278427 on the server and 416824832 by " in said
    assert "Log_files_capacity of MySQL 9.7.2 for Innodb_redo_log_capacity_resized = 536870912" in said
    _, name, *arguments = shlex.split(words)
    given = record.make_context(name, arguments).params
    assert (given["host"], given["port"], given["user"]) == ("127.0.0.1", 3306, "innobrim")
    assert str(given["fixture"]) == "mysql-8.4.8.json"


def test_a_mismatch_names_the_limit_that_blocks() -> None:
    """Beside a margin that is farther from ours as a share of itself, the flush limit is what is too far."""
    facts, _ = read("mysql-8.4.8", **{ASYNC: lambda one: one * 24 // 25, MARGIN: lambda one: one * 19 // 20})
    (blocker,) = facts.blockers

    assert "flush limit by -3.9%" in blocker
    assert "sync point" not in blocker


@given(
    capacity=st.integers(64 * 1024 * 1024, 512 * 1024**3),
    shares=st.tuples(*[st.floats(-0.03, 0.03)] * 3),
    filled=st.floats(60.0, 86_400.0),
)
def test_no_set_point_by_a_servers_limits_is_beyond_the_sync_point(
    capacity: int, shares: tuple[float, float, float], filled: float
) -> None:
    """Whatever it shows: under a steady load that fills the log within a day, the age stays below ours."""
    ours = redo_limits(capacity)
    shown = {
        name: one + round(share * ours.flush_limit)
        for (name, one), share in zip(ours.shown().items(), shares, strict=True)
    }
    answers = {RESIZED: str(capacity), "innodb_thread_concurrency": "0"}
    found = RedoCapacityAdapter().limits(answers | {name: str(one) for name, one in shown.items()})
    headroom = Headroom(
        flush_limit=found.flush_limit,
        sync_point=found.sync_point,
        redo_capacity=capacity,
        checkpoint_lag=0.0,
        redo_rate=capacity / filled,
        burst_bytes=0.0,
        max_checkpoint_age_ratio=1.0,
        steady=True,
    )
    ratio, _ = highest_ratio(headroom, {})

    assert ratio * found.flush_limit < ours.sync_point
    assert found.flush_limit < found.sync_point < found.stall_point


@pytest.mark.parametrize(
    ("name", "version"), [("mysql-8.0.29", "8.0.22"), ("mysql-8.4.8", ""), ("mysql-8.0.46", "")]
)
def test_a_margin_that_was_set_again_after_a_reset_is_not_twice_as_large(name: str, version: str) -> None:
    """SET GLOBAL innodb_monitor_reset on the server moves no limit, and is no other build."""
    margin = MARGINS.get(name)
    server, session, _ = opened(
        name, variables={"version": version} if version else {}, metrics={MARGIN: margin} if margin else {}
    )
    server.facts()
    usual = good(server)
    session.before_reset[MARGIN] = int(session.reading.metrics[MARGIN][1])
    facts, found = server.facts(), good(server)

    assert facts.blockers == facts.own_limits == ()
    assert (found.flush_limit, found.sync_point) == (usual.flush_limit, usual.sync_point)
    assert found.stall_point == usual.stall_point


def test_a_resize_that_ends_while_the_server_is_looked_at_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counters of the new size beside the old size are no other build: a second look settles it."""
    server, session, _ = opened("mysql-8.4.8")
    honest, before = session.query, [str(268_435_456)]

    def query(statement: str) -> Rows:
        rows = honest(statement)
        if "'Innodb_redo_log_%'" in statement and before:
            return [(name, before.pop() if name == RESIZED else said) for name, said in rows]
        return rows

    monkeypatch.setattr(session, "query", query)

    assert server.facts().blockers == ()
    assert not before


def test_a_socket_with_a_blank_is_one_word_of_the_command() -> None:
    """What is pasted goes to the server that was looked at, whatever its socket is called."""
    command = reporting(str(Endpoint(user="innobrim", socket="/run/my sql/s.sock")), "mysql-8.4.8")

    assert shlex.split(command)[-4:] == ["--socket", "/run/my sql/s.sock", "--user", "innobrim"]


def test_limits_that_a_resize_moves_are_ours() -> None:
    """While a log shrinks its counters follow the age: they are neither taken nor held against the server."""
    _, usual = read("mysql-8.4.8")
    server, session, _ = opened("mysql-8.4.8", status={"Innodb_redo_log_resize_status": "Resizing down"})
    for name in (ASYNC, SYNC):
        state, count = session.reading.metrics[name]
        session.reading.metrics[name] = (state, str(round(int(count) * 0.98)))
    facts, found = server.facts(), good(server)

    assert facts.blockers == facts.own_limits == ()
    assert found.flush_limit == usual.flush_limit


def test_mariadb_is_taken_at_its_word_too() -> None:
    """An Innodb_checkpoint_max_age that is 0.5 % off is taken, and one that is a tenth off blocks."""
    name, age = "Innodb_checkpoint_max_age", 53_640_439
    for share, taken in ((0.995, True), (0.9, False)):
        said = str(round(age * share))
        server, _, _ = opened("mariadb-10.11.18", status={name: said})
        facts = server.facts()

        assert (len(facts.own_limits), len(facts.blockers)) == ((1, 0) if taken else (0, 1))
        assert good(server).stall_point == (int(said) if taken else age)
