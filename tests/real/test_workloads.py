"""Every kind of load on a real server: prepared, run, and read by seconds and latencies."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import pytest

from lab.servers.base import LabServer
from lab.workloads.load import MIXED, OLTP, Load
from lab.workloads.sysbench import SysbenchRun, discard, prepare
from tests.real.support import LOAD, Work

pytestmark = pytest.mark.real

LIMIT = 30.0
GENTLE = 100
"""Transactions per second: little enough to leave no burst for the tests that follow."""


@pytest.fixture(autouse=True)
def _alone(work: Work) -> None:
    work.at(None)


def ran(server: LabServer, load: Load) -> SysbenchRun:
    """Return a run of two seconds or more that has ended, and whose figures agree with each other."""
    with SysbenchRun(server, load) as run:
        run.wait_seconds(2, LIMIT)
    seconds, latency = run.seconds(), run.latency()
    assert all(one.commits > 0 and one.latency is not None for one in seconds)
    assert latency is not None
    assert latency.transactions == pytest.approx(sum(one.commits for one in seconds), rel=0.2)
    assert 0.0 < latency.percentile(50.0) <= latency.percentile(99.9)
    return run


@pytest.mark.parametrize("kind", [*OLTP, *MIXED])
def test_loads_on_sysbenchs_tables_run(server: LabServer, kind: str) -> None:
    """Each of sysbench's loads, and ours on its tables, commits on the server."""
    ran(server, replace(LOAD, kind=kind, threads=4, rate=GENTLE))


@pytest.mark.parametrize("distribution", ["zipf", "special"])
def test_rows_are_drawn_by_each_distribution(server: LabServer, distribution: str) -> None:
    """A load commits with the distributions that leave most rows alone, too."""
    ran(server, replace(LOAD, distribution=distribution, threads=4, rate=GENTLE))  # type: ignore[arg-type]  # its words


def test_a_closed_load_on_few_rows_goes_on_after_its_deadlocks(server: LabServer) -> None:
    """A closed load of 16 threads, most of whose transactions meet on few rows, does not end by itself."""
    ran(server, replace(LOAD, kind="write_only", distribution="zipf", tables=1, rows=100))


def test_inserts_into_many_indexes(server: LabServer) -> None:
    """One thread inserts into a table with six secondary indexes, a row a transaction."""
    load = Load(kind="many_indexes", rows=2000, rate=GENTLE)
    prepare(server, load)
    try:
        indexes = server.query(
            "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics"
            " WHERE table_schema = 'innobrim_lab' AND table_name = 'many_indexes'"
        )
        counted = sum(round(one.commits) for one in ran(server, load).seconds())
        rows = int(server.query("SELECT COUNT(*) FROM innobrim_lab.many_indexes")[0][0])
    finally:
        discard(server, load)
    assert indexes[0][0] == 7
    assert -1 <= rows - 2000 - counted <= 2 * GENTLE


def test_the_tpcc_mix_keeps_its_books(server: LabServer) -> None:
    """The TPC-C-like mix commits, and what its warehouses took in is what their districts took in."""
    load = Load(kind="tpcc", tables=2, rows=5000, threads=4, rate=GENTLE)
    prepare(server, load)
    try:
        ran(server, load)
        books = server.query(
            "SELECT w.ytd - SUM(d.ytd) FROM innobrim_lab.tpcc_warehouse AS w"
            " JOIN innobrim_lab.tpcc_district AS d ON d.w_id = w.id GROUP BY w.id, w.ytd"
        )
        orders = server.query(
            "SELECT d.next_o_id - 1 - MAX(o.id) FROM innobrim_lab.tpcc_district AS d"
            " JOIN innobrim_lab.tpcc_orders AS o ON o.w_id = d.w_id AND o.d_id = d.id"
            " GROUP BY d.w_id, d.id, d.next_o_id"
        )
        lines = server.query(
            "SELECT (SELECT SUM(line_count) FROM innobrim_lab.tpcc_orders)"
            " - (SELECT COUNT(*) FROM innobrim_lab.tpcc_order_line)"
        )
        new = server.query("SELECT COUNT(*) FROM innobrim_lab.tpcc_orders WHERE id > 30")
    finally:
        discard(server, load)
    assert [int(row[0]) for row in books] == [0, 0]
    assert {int(row[0]) for row in orders} == {0}
    assert int(lines[0][0]) == 0
    assert int(new[0][0]) > 0


def test_a_stall_is_in_the_latency_of_all_who_waited(server: LabServer) -> None:
    """An open load counts a stall for every transaction that was due in it, not for its one connection's."""
    with SysbenchRun(server, replace(LOAD, threads=1, rate=GENTLE)) as run:
        run.wait_seconds(1, LIMIT)
        with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("FLUSH TABLES WITH READ LOCK")
            locked = time.monotonic()
            run.wait_seconds(len(run.seconds()) + 2, LIMIT)
            cursor.execute("UNLOCK TABLES")
            held = time.monotonic() - locked
        run.wait_seconds(len(run.seconds()) + 2, LIMIT)
        queue, latency = run.longest_queue(locked), run.latency(locked)
    waited = sum(count for seconds, count in latency.counts.items() if seconds > 0.1) if latency else 0
    assert queue > GENTLE / 2
    assert waited > GENTLE * (held - 0.5) / 2
