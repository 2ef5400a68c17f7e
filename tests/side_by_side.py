"""Which tests run beside which under ``pytest -n 4``: docs/decisions/tests.md.

A worker takes a whole unit at a time: a file, or what several files share a server or a package for.
"""

from __future__ import annotations

import re
from enum import Enum

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController


class Kind(Enum):
    """What a unit of tests needs of the machine."""

    SHARED = "the worker's own MySQL 9.7 under load, which is started once for all units of this kind"
    OWN = "servers, machines or packages that it starts itself"
    PLAIN = "a processor"
    ALONE = "a machine on which nothing else is at work, as it measures"


ALONE = {
    "tests/api/test_attacks.py": "probes in a flood, to a second",
    "tests/faults/test_configuration.py": "ticks in a flood, to a second",
    "tests/real/test_load.py": "clients and ticks to a tenth of a second",
    "tests/real/test_recording.py": "a processor's load",
    "tests/real/test_families.py": "holding",
}
"""Files whose units run when all others have ended, and what for; the same words are one unit."""

OWN = {
    "tests/real/test_ansible.py": "package",
    "tests/real/test_bench.py": "bench",
    "tests/real/test_commands.py": "commands",
    "tests/real/test_compose.py": "compose",
    "tests/real/test_disk.py": "disk",
    "tests/faults/test_families.py": "faults",
    "tests/real/test_flavours.py": "flavours",
    "tests/real/test_install.py": "package",
    "tests/real/test_release.py": "package",
    "tests/real/test_systemd_deb.py": "package",
    "tests/real/test_low_water.py": "low water",
    "tests/real/test_no_authority.py": "no authority",
    "tests/real/test_releases.py": "releases",
    "tests/real/test_stolen.py": "stolen",
}
"""Files that do without the shared server, and the name of their unit."""

BY_SERVER = re.compile(r"\[((?:mysql|mariadb)-[0-9.]+)")
"""What a test of one family's server has first between brackets: in those files each server's are a unit."""

ORDER = {
    Kind.SHARED: (Kind.SHARED, Kind.OWN, Kind.PLAIN),
    Kind.OWN: (Kind.OWN, Kind.SHARED, Kind.PLAIN),
    Kind.PLAIN: (Kind.PLAIN, Kind.OWN, Kind.SHARED),
}
"""What a worker takes first, and what once there is no more of that."""

FEW = 1
"""Tests that a worker still has when it is given more: it runs none before it knows which comes next."""


def unit_of(nodeid: str) -> str:
    """Return the name of the unit that a test belongs to."""
    file = nodeid.partition("::")[0]
    name = ALONE.get(file) or OWN.get(file) or file
    server = BY_SERVER.search(nodeid) if file in OWN.keys() | ALONE.keys() else None
    return f"{name} {server[1]}" if server else name


def kind_of(nodeid: str) -> Kind:
    """Return what a test needs."""
    file = nodeid.partition("::")[0]
    if file in ALONE:
        return Kind.ALONE
    if file in OWN:
        return Kind.OWN
    return Kind.SHARED if file.startswith(("tests/real/", "tests/faults/")) else Kind.PLAIN


def first_choice(number: int, workers: int) -> Kind:
    """Return what a worker takes first, of so many workers."""
    if number == workers - 1 and workers > 1:
        return Kind.PLAIN
    return Kind.OWN if number == workers - 2 and number > 0 else Kind.SHARED


def _number(node: WorkerController) -> int:
    return int(node.gateway.id.removeprefix("gw"))


class SideBySide(LoadScopeScheduling):
    """Gives each worker the largest unit of its kind next, and those that measure to the last worker."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        if node not in self.registered_collections:
            return  # it stands in for one that crashed, and has not begun yet
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) <= FEW:
            unit = self._next(node)
            if unit is not None:
                self.workqueue.move_to_end(unit, last=False)
                super()._assign_work_unit(node)
            elif self.workqueue and node is min(self.nodes, key=_number):
                return  # until it is the last one
            else:
                node.shutdown()

    def _assign_work_unit(self, node: WorkerController) -> None:
        self._reschedule(node)

    def _next(self, node: WorkerController) -> str | None:
        waiting: dict[Kind, str] = {}
        for unit, tests in self.workqueue.items():
            waiting.setdefault(kind_of(next(iter(tests))), unit)
        for kind in ORDER[first_choice(_number(node) % self.numnodes, self.numnodes)]:
            if kind in waiting:
                return waiting[kind]
        return waiting.get(Kind.ALONE) if self.nodes == [node] else None

    def remove_node(self, node: WorkerController) -> str | None:
        """Forget a worker that has ended; others get what a crashed one leaves but for the test it was at.

        Returns:
            That test; None where the worker had nothing left.
        """
        units = self.assigned_work.pop(node)
        crashed = next((test for tests in units.values() for test, done in tests.items() if not done), None)
        for unit, tests in units.items():
            left = {test: done for test, done in tests.items() if not done and test != crashed}
            if left:
                self.workqueue[unit] = left
        for one in self.nodes:
            self._reschedule(one)
        return crashed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SideBySide:
    """Have several workers share the tests like this, whatever ``--dist`` says."""
    return SideBySide(config, log)
