"""The daemon's account loses its password, or its privilege."""

from __future__ import annotations

import contextlib
from typing import Any

import pymysql
import pytest

from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.faults.catalogue import Group, fault
from tests.faults.sharing import Sharing
from tests.real.support import in_force, new_account, until

pytestmark = pytest.mark.real

PRIVILEGE = "SYSTEM_VARIABLES_ADMIN"


@pytest.fixture(scope="module")
def account(server: LabServer) -> Account:
    """Return a login that may be spoilt."""
    return new_account(server, "innobrim_fault", PRIVILEGE)


@pytest.fixture(scope="module")
def how(account: Account) -> dict[str, Any]:
    """Return what makes the shared daemon log in with it."""
    return {"account": account}


@fault(
    Group.ACCOUNT,
    what="Password changed and session killed; later changed back",
    left="the last values",
    back="by itself when the password fits again",
    invariants=(5, 9),
)
def test_the_password_is_changed(sharing: Sharing, account: Account) -> None:
    """While its password does not fit the loop is held and says why; it is back when the password is."""
    daemon = sharing.daemon
    _identify(sharing.server, account, "another-password")
    _end_sessions(sharing.server, account)
    hold = daemon.await_hold("stale")
    assert "Access denied" in hold["reason"]
    assert in_force(sharing.server) == daemon.wanted
    _identify(sharing.server, account, account.password)
    daemon.want(900)
    sharing.judged()


@fault(
    Group.ACCOUNT,
    what="SYSTEM_VARIABLES_ADMIN revoked and granted again",
    left="the last values; readings go on",
    back="hold `privilege_lost`; `innobrim resume` after the `GRANT`",
    invariants=(4, 11),
)
def test_the_privilege_is_revoked(sharing: Sharing, account: Account) -> None:
    """A daemon that loses its privilege stops trying, says which one is missing, and can be resumed."""
    daemon, began = sharing.daemon, sharing.now()
    daemon.await_resumed(
        lambda: sharing.server.query(f"REVOKE {PRIVILEGE} ON *.* FROM '{account.user}'@'%'"),
        lambda: sharing.server.query(f"GRANT {PRIVILEGE} ON *.* TO '{account.user}'@'%'"),
        missing=PRIVILEGE,
        remedy="innobrim resume",
    )
    said = [event.code for one in sharing.back() if one.tick.number > began for event in one.events]
    assert said.count("write_failed") == 1


def _identify(server: LabServer, account: Account, password: str) -> None:
    server.query(f"ALTER USER '{account.user}'@'%' IDENTIFIED BY '{password}'")


def _end_sessions(server: LabServer, account: Account) -> None:
    """Kill every session of an account, and return when they are gone."""
    query = f"SELECT id FROM information_schema.processlist WHERE user = '{account.user}'"
    for (session,) in server.query(query):
        with contextlib.suppress(pymysql.MySQLError):
            server.query(f"KILL {session}")
    until(lambda: not server.query(query), 60.0, "the sessions' end")
