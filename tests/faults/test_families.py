"""What happens to the loop beside every other family's server, one daemon for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import MARIADB
from tests.faults.boundaries import BETWEEN, ask, kill_at_boundaries
from tests.faults.deeds import black_holed, changed_once, clamped, mysqld_killed
from tests.faults.sharing import Sharing, share
from tests.faults.witness import Witness
from tests.real.families import Family
from tests.real.killer import Killer
from tests.real.meddler import Meddler
from tests.real.proxy import Proxy
from tests.real.support import Work, in_force
from tuner.journal.reader import originals
from tuner.records import Capacity

pytestmark = pytest.mark.real

FIRST_FLUSHED = 120.0
"""Seconds after a start of mysqld: until MySQL 5.6 has a mean redo rate it flushes nothing by age."""


@dataclass(frozen=True, slots=True)
class Line:
    """What stands between the daemon and its server.

    Attributes:
        proxy: passes the packets on.
        killer: may end the daemon instead of a statement.
        meddler: may say something to the server before one.
    """

    proxy: Proxy
    killer: Killer
    meddler: Meddler


@pytest.fixture(scope="module")
def line(member: LabServer) -> Iterator[Line]:
    """Yield the line between daemon and server."""
    killer, meddler = Killer(), Meddler(member)
    with Proxy(member.port, lambda said: meddler(said) and killer(said)) as proxy:
        yield Line(proxy, killer, meddler)


@pytest.fixture(scope="module")
def sharing(
    member: LabServer, member_work: Work, line: Line, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sharing]:
    """Yield an active daemon for all faults of a family; judge at the end what they left."""
    yield from share(member, member_work, tmp_path_factory.mktemp("family"), port=line.proxy.port)


def test_the_line_goes_dead(sharing: Sharing, line: Line) -> None:
    """A daemon whose packets vanish is held, and is back as soon as a new connection gets through."""
    black_holed(sharing, line.proxy)
    sharing.back()


def test_somebody_else_sets_m(sharing: Sharing) -> None:
    """A value that somebody else set stays until a person lets the loop go on; the server's books agree."""
    assert Witness(sharing.server).writes(), "the server keeps no books"
    changed_once(sharing.rig, sharing.daemon)
    sharing.back()


def test_killed_between_the_two_sets(sharing: Sharing, line: Line) -> None:
    """Killed between its two SETs, the daemon leaves a legal pair between old and new, and starts again."""
    kill_at_boundaries(
        sharing.rig,
        sharing.daemon,
        line.killer,
        old=in_force(sharing.server),
        provoke=ask(("PUT", "/v1/override", {"io_capacity_max": 1000, "ttl": 60})),
        known=originals(sharing.daemon.state)[0].capacity,
        boundaries=(BETWEEN,),
    )
    sharing.daemon.active()
    sharing.back()


def test_the_server_makes_another_pair(family: Family, sharing: Sharing, line: Line) -> None:
    """What the server makes of a SET is read back, said where it is not what was meant, and gone on from."""
    if family.kind is MARIADB:
        _mended(sharing, line.meddler)
    else:
        clamped(sharing.daemon, line.meddler)
    sharing.back()


def _mended(sharing: Sharing, meddler: Meddler) -> None:
    """Bring C above M, and M below C, between a daemon's two SETs: MariaDB changes the one that was not set.

    A C above M raises M to 2·C, which is the pair that was meant; an M below C lowers C to M.
    """
    daemon, seen = sharing.daemon, sharing.daemon.events().count("adjusted")
    meddler.meddle(
        before="SET GLOBAL innodb_io_capacity = 2000", say="SET GLOBAL innodb_io_capacity_max = 1500"
    )
    assert daemon.want(4000) == Capacity(2000, 4000)
    assert not meddler.waiting
    daemon.await_ticks(3)
    assert daemon.events().count("adjusted") == seen
    meddler.meddle(
        before="SET GLOBAL innodb_io_capacity_max = 600", say="SET GLOBAL innodb_io_capacity = 1500"
    )
    daemon.configure(fixed_io_capacity_max=600)
    daemon.hang_up()
    daemon.await_event("adjusted", count=seen + 1)
    assert not meddler.waiting
    assert in_force(sharing.server) == Capacity(600, 600)


def test_its_mysqld_is_killed(sharing: Sharing) -> None:
    """After a crash of mysqld the loop takes its new values for originals, not for a change, and goes on."""
    changes = sharing.daemon.events().count("foreign_change")
    mysqld_killed(sharing.rig, sharing.daemon, unlimited=False, within=FIRST_FLUSHED)
    assert sharing.daemon.events().count("foreign_change") == changes
    sharing.back()
