"""Fault tests: one named test function for each thing that can happen to the loop.

A fault test looks like this, and needs nothing else::

    pytestmark = pytest.mark.real

    @fault(
        Group.WRITERS,
        what="Another session sets innodb_io_capacity_max once",
        left="that session's values",
        back="`innobrim resume`",
        invariants=(4, 6),
    )
    def test_somebody_else_changes_m_once(rig: Rig) -> None:
        \"\"\"One sentence: the promise.\"\"\"
        daemon = rig.active()            # load on, START in force, daemon runs, its first write is in force
        rig.server.set_capacity(350, 700)
        hold = daemon.await_hold("foreign_change")
        ...
        daemon.want(900)                # proof that the loop is back: another own write gets through
        rig.finish()                     # SIGTERM, exit code 0 in time, invariants judged

``rig`` begins with the load at work and ``START`` in force; ``rig.server`` is the shared server,
``rig.daemon(port=…, account=…)`` makes an installation that is not started yet, ``configure(key=value)``
changes keys of ``[loop]``, ``rig.restart_server(once=…)`` kills and starts mysqld, and ``rig.finish()``
replays every journal with the referee, compares it with the statements that the server saw, and returns
a ``Verdict`` with the ticks, their events and holds. A test puts back on the server whatever it changed.

Where each fault is over at the end of its test, a module's tests take ``sharing`` instead, all of them: one
daemon that they do things to one after the other, which spares each the half minute of a start and an end.

What is done to the other families' servers too is a function that takes rig and daemon, or ``sharing``: the
test, whose fault is ``on=EVERY``, calls it, and so does ``test_families.py`` with a server of each family.

The decorator's words become a row of ``docs/safety.md``: ``python -m tools safety.md``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.servers.base import LabServer
from lab.servers.choose import choose
from lab.servers.spec import MEBIBYTE
from tests.faults.harness import Rig
from tests.faults.sharing import Sharing, share
from tests.real.support import Work


@pytest.fixture
def rig(server: LabServer, work: Work, tmp_path: Path) -> Iterator[Rig]:
    """Yield the server under load at ``START``, and what makes daemons beside it."""
    found = Rig(server, work, tmp_path)
    found.begin()
    yield found
    found.close()


@pytest.fixture(scope="module")
def how() -> dict[str, Any]:
    """Return how a module's shared daemon is made; one that wants another has a fixture of this name."""
    return {}


@pytest.fixture(scope="module")
def sharing(
    server: LabServer, work: Work, how: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sharing]:
    """Yield an active daemon for all tests of a module."""
    yield from share(server, work, tmp_path_factory.mktemp("sharing"), **how)


@pytest.fixture(scope="session")
def other_server(server: LabServer) -> Iterator[LabServer]:
    """Yield a second, small server with the accounts of the first."""
    with contextlib.ExitStack() as stack:
        spec = replace(server.spec, redo_capacity=16 * MEBIBYTE, buffer_pool=128 * MEBIBYTE)
        found = choose().server(spec)
        found.admin, found.daemon = server.admin, server.daemon
        yield stack.enter_context(found)
