"""A daemon that writes through the procedure of ``innobrim setup-sql`` is killed, or loses it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.faults.boundaries import BETWEEN, Request, ask, kill_at_boundaries
from tests.faults.catalogue import Group, fault
from tests.faults.harness import LEAN, START, Rig
from tests.real.guarded import guard, unguard
from tests.real.killer import Killer
from tests.real.proxy import Proxy
from tuner.cli.setup_sql import drawn
from tuner.records import SET_GLOBAL

pytestmark = pytest.mark.real

LOWER: Request = ("PUT", "/v1/override", {"io_capacity_max": LEAN, "ttl": 60})
"""Another direction than that of ``OVERRIDE``, and so another order of the two."""


@pytest.fixture(scope="module")
def account(server: LabServer) -> Iterator[Account]:
    """Yield a login that may set nothing but through the procedure."""
    found = guard(server, Account("innobrim_guarded", drawn()))
    yield found
    unguard(server, found)


@fault(
    Group.DAEMON,
    what="`kill -9` between two calls of the procedure",
    left="a legal pair: half-way",
    back="by itself when started, with the originals",
    invariants=(1, 2, 7, 8),
)
def test_killed_between_two_calls_of_the_procedure(rig: Rig, account: Account) -> None:
    """A kill between two calls that lower M leaves a legal pair too, and the next daemon knows it."""
    killer = Killer()
    with Proxy(rig.server.port, killer) as proxy:
        daemon = rig.daemon(port=proxy.port, account=account)
        kill_at_boundaries(
            rig, daemon, killer, old=START, provoke=ask(LOWER), known=START, boundaries=(BETWEEN,)
        )
        assert all(one.startswith(f"CALL {SET_GLOBAL}(") for one in killer.seen), killer.seen
        daemon.active()
        rig.finish()


@fault(
    Group.ACCOUNT,
    what="The procedure is dropped and made again",
    left="the last values; readings go on",
    back="hold `privilege_lost`; `innobrim resume` after what `setup-sql` prints",
    invariants=(4, 11),
)
def test_the_procedure_is_dropped(rig: Rig, account: Account) -> None:
    """A daemon that loses its procedure stops trying, says what makes it anew, and can be resumed."""
    daemon = rig.active(account=account)
    daemon.await_resumed(
        lambda: rig.server.query(f"DROP PROCEDURE {SET_GLOBAL}"),
        lambda: guard(rig.server, account),
        missing=SET_GLOBAL,
        remedy="innobrim setup-sql",
    )
    said = [event.code for one in rig.finish().records for event in one.events]
    assert said.count("write_failed") == 1
