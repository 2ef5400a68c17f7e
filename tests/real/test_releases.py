"""Each release: its limits to the byte, and a loop that outlives a restart and a redo log of another size."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MEBIBYTE
from tests.faults.harness import Rig
from tests.faults.witness import Witness
from tests.real.families import EACH, RELEASES, SPEC, Family, named
from tests.real.support import Work, until
from tuner.servers.adapter import MARGIN
from tuner.servers.detect import detect
from tuner.servers.session import Session

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

SIZES = (16, 98, 512)
"""Of the redo log, MiB."""

ROUNDED = {"mysql-8.0.15": 511}
"""Bytes that a release may round otherwise than the later ones whose source was read: less than a block."""

RESIZED_BY = {
    "mysql-8.0.31": "innodb_redo_log_capacity",
    "mariadb-10.11": "innodb_log_file_size",
    "mariadb-11.4.5": "innodb_log_file_size",
    "mariadb-11.8": "innodb_log_file_size",
}
"""Variable by which a release resizes the log of a server that runs; the others do at a restart."""

BACK = 180.0
GROWN = 1.5
"""Times the limits before that those of a log of twice the size are at least."""

OTHER, ANOTHER = 700, 900
"""M that the daemon is told to hold after a resize, and after a restart."""


@pytest.mark.parametrize("mebibytes", SIZES)
@pytest.mark.parametrize("name", EACH)
def test_computed_limits_are_the_servers_own(name: str, mebibytes: int) -> None:
    """Whatever the size of the log, the limits that the daemon works out are those of the server.

    8.0 before 8.0.30 works its margin out before its counters are on, and shows 0 until it is another.
    """
    spec = replace(
        SPEC, redo_capacity=mebibytes * MEBIBYTE, buffer_pool=128 * MEBIBYTE, extra=RELEASES[name].extra
    )
    with named(name, spec) as server, contextlib.closing(Session(server.admin_endpoint())) as session:
        facts, adapter = detect(session)
        sizes = session.pairs("SHOW GLOBAL VARIABLES LIKE 'innodb%'")
        counters = ", ".join(f"'{one}'" for one in ("", *adapter.limit_counters))
        said = session.pairs(
            f"SELECT name, count FROM information_schema.innodb_metrics WHERE name IN ({counters})"
        )
        if adapter.limit_status:
            sizes |= session.pairs(adapter.limit_status)
    ours = adapter.expected_limits(sizes)  # without the counters, by which families find threads and margin
    said = sizes | said
    known = {one: int(said[one]) for one in ours if one != MARGIN or said[one] != "0"}
    apart = {one: value - ours[one] for one, value in known.items()}
    assert known
    assert not facts.blockers
    assert all(abs(one) <= ROUNDED.get(name, 0) for one in apart.values()), apart


@pytest.mark.prove
@pytest.mark.parametrize("family", RELEASES, indirect=True, scope="session")
def test_a_restart_and_another_log_are_survived(
    family: Family, member: LabServer, member_work: Work, tmp_path: Path
) -> None:
    """With a log of twice the size, as soon as the release can, and after a restart the daemon writes again.

    A release that resizes while it runs is started with the size of before.
    """
    with contextlib.closing(Rig(member, member_work, tmp_path)) as rig:
        rig.begin()
        daemon = rig.active()
        before = stall_point(daemon.await_no_hold())
        larger = 2 * SPEC.redo_capacity
        if (variable := RESIZED_BY.get(family.name)) is not None:
            member.query(f"SET GLOBAL {variable} = {larger}", timeout=BACK)  # MariaDB answers once it is done
            until(lambda: stall_point(daemon.await_no_hold(BACK)) > GROWN * before, BACK, "its limits")
            assert daemon.want(OTHER, BACK)
        if variable is None:
            member.spec = replace(member.spec, redo_capacity=larger)
        member_work.at(None)
        member.restart()
        Witness(member).watch()
        member_work.at(member_work.usual)

        daemon.want(ANOTHER, BACK)

        after = stall_point(daemon.await_no_hold(BACK))
        assert after > GROWN * before if variable is None else after == before
        rig.finish()


def stall_point(status: dict[str, object]) -> int:
    """Return the maximum checkpoint age that a daemon goes by, bytes."""
    limits = status["limits"]
    assert isinstance(limits, dict)
    return int(limits["stall_point"])
