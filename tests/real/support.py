"""What the tests on a real server share: its load, its counters, and waiting."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeVar

from lab.servers.base import LabServer
from lab.servers.reader import age_ratio
from lab.servers.spec import Account, LabServerError
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun
from tuner.records import Capacity

DEFAULT = Capacity(10_000, 20_000)
WRITE_IOPS = 1200
LOAD = Load()
LEAST_RATIO = 0.25

T = TypeVar("T")


def until(look: Callable[[], T | None], limit: float, what: Callable[[], str] | str) -> T:
    """Return what ``look`` finds, as soon as it is neither None nor False.

    Raises:
        AssertionError: not within so many seconds; ``what`` says what was awaited.
    """
    end = time.monotonic() + limit
    while not (found := look()):
        if time.monotonic() >= end:
            raise AssertionError(f"not within {limit:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.1)  # another process's state announces nothing that could be waited for
    return found


class Work:
    """The load on a server: at most one at a time on this machine, changed only when it has to be.

    Attributes:
        usual: the load that a test has at work unless it says otherwise.
    """

    _busy: ClassVar[Work | None] = None

    def __init__(self, server: LabServer, usual: Load = LOAD) -> None:
        self.usual = usual
        self._server = server
        self._load: Load | None = None
        self._run: SysbenchRun | None = None

    @classmethod
    def rest(cls) -> None:
        """End whatever load is at work."""
        if cls._busy is not None:
            cls._busy.at(None)

    def at(self, load: Load | None) -> None:
        """Have this load at work, or none, on a limited disk; without load the disk is not limited."""
        if load is not None and Work._busy not in {self, None}:
            Work._busy.at(None)
        Work._busy = self if load is not None else None
        if load == self._load and (self._run is None or self._run.running()):
            return
        if self._run is not None:
            self._run.stop()
        self._run, self._load = None, load
        refusal = self._server.limit_write_iops(None if load is None else WRITE_IOPS)
        if refusal is not None:
            raise LabServerError(refusal)
        if load is not None:
            self._run = SysbenchRun(self._server, load)
            self._run.start()
            self._run.wait_seconds(2, 30.0)


def under_load(server: LabServer, work: Work, setting: Capacity) -> None:
    """Have the load at work with this setting, and an age from which the server flushes by its law.

    For minutes after a burst such as the data load, the server's smoothed redo rate is far too high: it
    then flushes as fast as the disk takes pages, at next to no age and a percentage of 0.
    """
    work.at(work.usual)
    if age_ratio(server) < LEAST_RATIO:
        server.set_capacity(100, 200)
        until(lambda: age_ratio(server) >= LEAST_RATIO, 60.0, f"an age ratio of {LEAST_RATIO}")
    server.set_capacity(setting.io_capacity, setting.io_capacity_max)


def written(server: LabServer, load: SysbenchRun, seconds: int) -> tuple[float, float]:
    """Return writes and bytes written per second, as the server's disk is counted."""
    first, began = server.device(), time.monotonic()
    load.wait_seconds(len(load.seconds()) + seconds, 4.0 * seconds + 20.0)
    last, took = server.device(), time.monotonic() - began
    assert first is not None
    assert last is not None
    assert (first.source, last.source) == ("control group", "control group")
    return (last.writes - first.writes) / took, (last.write_bytes - first.write_bytes) / took


def in_force(server: LabServer) -> Capacity:
    """Return C and M as the server has them."""
    row = server.query("SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max")[0]
    return Capacity(int(row[0]), int(row[1]))


def global_sets(server: LabServer) -> int:
    """Return how many SET GLOBAL and SET PERSIST statements the server itself has counted since its start."""
    rows = server.query(
        "SELECT COALESCE(SUM(count_star), 0) FROM performance_schema.events_statements_summary_by_digest"
        " WHERE digest_text LIKE 'SET GLOBAL %' OR digest_text LIKE 'SET PERSIST%'"
        " OR digest_text LIKE 'SET @@%'"
    )
    return int(rows[0][0])


def new_account(server: LabServer, user: str, *privileges: str) -> Account:
    """Make an account that may look, and whatever else is given, and return its login."""
    account = Account(user)
    server.query(f"DROP USER IF EXISTS '{user}'@'%'")
    server.query(f"CREATE USER '{user}'@'%' IDENTIFIED BY '{account.password}'")
    server.query(f"GRANT {', '.join(('PROCESS', *privileges))} ON *.* TO '{user}'@'%'")
    server.query(f"GRANT SELECT ON performance_schema.* TO '{user}'@'%'")
    return account


@contextlib.contextmanager
def variables(server: LabServer, **values: str) -> Iterator[None]:
    """Have global variables at other values while inside."""
    names = list(values)
    before = server.query("SELECT " + ", ".join(f"@@GLOBAL.{name}" for name in names))[0]
    for name, value in values.items():
        server.query(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            server.query(f"SET GLOBAL {name} = {value}")


def remember(server: LabServer, account: Account) -> None:
    """Have the server remember an account's password: it needs neither TLS nor key exchange from here on.

    What passes through a proxy can be read then.
    """
    with contextlib.closing(server.connect(account)):
        pass


def pair(found: Mapping[str, int] | None) -> Capacity | None:
    """Return the pair in a JSON answer."""
    return None if found is None else Capacity(found["io_capacity"], found["io_capacity_max"])
