"""What check says of a real server, how a daemon ends beside one, and the way back without a daemon."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer, free_port
from tests.real.installation import Innobrim, Install
from tests.real.support import (
    Work,
    global_sets,
    in_force,
    new_account,
    under_load,
)
from tuner.journal.reader import originals
from tuner.records import Capacity, DecisionKind

pytestmark = pytest.mark.real

STOP_LIMIT = 2.0
CHANGED = Capacity(6000, 12_000)


def test_check_says_yes(server: LabServer, work: Work, install: Install) -> None:
    """``innobrim check`` exits 0 on a server that can be controlled, and wrote nothing."""
    work.at(None)
    before = global_sets(server)
    done = install().command("check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "this server can be controlled" in done.stdout
    assert global_sets(server) == before


def test_check_active_proves_the_privilege(server: LabServer, work: Work, install: Install) -> None:
    """``innobrim check --active`` writes back what is there, and nothing else."""
    work.at(None)
    before = in_force(server)
    done = install().command("check", "--active")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"wrote innodb_io_capacity = {before.io_capacity} back" in done.stdout
    assert in_force(server) == before


def test_check_names_the_missing_privilege(server: LabServer, work: Work, install: Install) -> None:
    """An account that may look but not write is told which GRANT it lacks, and the exit code is 1."""
    work.at(None)
    one = install(account=new_account(server, "innobrim_reader"))
    assert one.command("check").returncode == 0
    done = one.command("check", "--active")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "GRANT SYSTEM_VARIABLES_ADMIN" in done.stdout


def test_check_names_the_statement_for_counters(server: LabServer, work: Work, install: Install) -> None:
    """With counters off, check warns and prints the statements that turn them on."""
    work.at(None)
    one = install()
    server.query("SET GLOBAL innodb_monitor_disable = 'module_log'")
    try:
        done = one.command("check")
        assert "warning  counters" in done.stdout, done.stdout + done.stderr
        found = [line.strip() for line in done.stdout.splitlines() if "SET GLOBAL innodb_monitor" in line]
        assert found
    finally:
        server.query("SET GLOBAL innodb_monitor_enable = 'module_log'")
    server.query("SET GLOBAL innodb_monitor_disable = 'module_buffer'")
    for statement in found:
        server.query(statement)
    assert "ok       counters" in one.command("check").stdout


@pytest.mark.parametrize(
    ("spoil", "mend"),
    [
        ("SET GLOBAL innodb_adaptive_flushing = OFF", "SET GLOBAL innodb_adaptive_flushing = ON"),
        ("ALTER INSTANCE DISABLE INNODB REDO_LOG", "ALTER INSTANCE ENABLE INNODB REDO_LOG"),
    ],
    ids=["adaptive flushing", "redo"],
)
def test_check_names_the_statement_that_gives_m_a_say(
    server: LabServer, work: Work, install: Install, spoil: str, mend: str
) -> None:
    """Where M has no say, or there is no age to hold, check exits 1 and prints what mends it."""
    work.at(None)
    one = install()
    server.query(spoil)
    try:
        done = one.command("check")
    finally:
        server.query(mend)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{mend};" in done.stdout


def test_check_where_nothing_answers(install: Install) -> None:
    """Where nothing answers, check says so with the address and exits 3."""
    port = free_port()
    done = install(port=port).command("check")
    assert done.returncode == 3, done.stdout + done.stderr
    assert str(port) in done.stdout


@pytest.fixture(scope="module")
def daemon(server: LabServer, work: Work, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Innobrim]:
    """Yield a daemon in active mode beside a server under load."""
    under_load(server, work, CHANGED)
    with Innobrim(server, tmp_path_factory.mktemp("life")) as found:
        found.configure(mode="active")
        found.start()
        yield found


def test_stop(server: LabServer, daemon: Innobrim) -> None:
    """SIGTERM leaves a parked setting; the daemon is gone within two seconds with exit code 0."""
    daemon.await_status(lambda now: not now["holds"], 60.0, "no hold")
    daemon.await_own_write()
    before = in_force(server)
    ended = daemon.terminate()
    assert ended.code == 0, daemon.log()
    assert ended.seconds <= STOP_LIMIT
    last = daemon.records()[-1]
    assert last.lifecycle.value == "stopping"
    parked = last.decision.target
    assert parked is not None
    assert in_force(server) == parked
    assert parked.io_capacity_max >= before.io_capacity_max
    assert last.decision.kind is DecisionKind.PARK or parked == before


def test_restore_without_a_daemon(server: LabServer, daemon: Innobrim) -> None:
    """Without a daemon, restore goes back to the originals in steps, from the journal."""
    known = originals(daemon.state)[0].capacity
    server.set_capacity(known.io_capacity * 7 // 10, known.io_capacity_max * 7 // 10)
    done = daemon.command("restore")
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_force(server) == known
    steps = [line for line in done.stderr.splitlines() if re.match(r"step \d+, at \d+/\d+ of ", line)]
    assert len(steps) == 2
    assert steps[-1] == f"step 2, at {known} of {known}"
