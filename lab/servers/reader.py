"""A server's readings on a connection of their own, and bringing one to where it flushes by its law."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pymysql
from msgspec.structs import replace

from lab.servers.base import LabServer
from lab.servers.spec import LabServerError
from tuner.records import Capacity
from tuner.servers.adapter import Adapter
from tuner.servers.detect import detect
from tuner.servers.port import ServerError
from tuner.servers.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuner.records import Facts, Sample

SECONDS = 3.0
"""For connecting, and for each statement."""


class Reader:
    """Reads a server that may end and start again in between.

    It connects with the first reading; nothing but ``close`` ends its connection.
    """

    def __init__(self, server: LabServer) -> None:
        self._endpoint = replace(server.admin_endpoint(), timeout=SECONDS)
        self._session = Session(self._endpoint)
        self._known: tuple[Facts, Adapter] | None = None

    def facts(self) -> Facts:
        """Return what the server is, as found at the first reading.

        Raises:
            LabServerError: nothing answers, or no server that can be read.
        """
        return self._recognised()[0]

    def read(self) -> Sample:
        """Return one reading; the surroundings are not looked at.

        Raises:
            LabServerError: no reading could be had; it says why.
        """
        adapter = self._recognised()[1]
        began = time.monotonic()
        try:
            answers = self._session.pairs(adapter.counter_query)
            now, wall = time.monotonic(), time.time()
            answers |= self._session.pairs(adapter.status_query)
            off = adapter.missing_counters(answers)
            if off:
                raise LabServerError(f"InnoDB counters are off: {', '.join(off)}")
            return adapter.sample(answers, monotonic=now, wall=wall, read_seconds=time.monotonic() - began)
        except (ServerError, pymysql.MySQLError) as error:
            self._forget()
            raise LabServerError(str(error)) from error
        except (KeyError, ValueError) as error:
            raise LabServerError(f"unexpected answer: {error}") from error

    def ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Run another statement over the same connection; raises what the session raises."""
        return self._session.query(statement)

    def close(self) -> None:
        """Close the connection; never raises."""
        self._session.close()

    def _recognised(self) -> tuple[Facts, Adapter]:
        if self._known is None:
            try:
                self._known = detect(self._session)
            except ServerError as error:
                self._forget()
                raise LabServerError(str(error)) from error
        return self._known

    def _forget(self) -> None:
        """Begin anew with the next reading.

        A session that went on would end the connection it lost, by its number; after a restart of the server
        that is one of the load's, which has the same account.
        """
        self._session.close()
        self._session = Session(self._endpoint)


WARM_RATIO = 0.25
WARM_SECONDS = 45.0
LOW = (100, 200)


LOOPS = "innodb_flushing_avg_loops"
FORGET_SECONDS = 12.0
"""Time in which mean rates that are renewed every second forget all but a thousandth of what was."""


@contextlib.contextmanager
def forgetting(server: LabServer) -> Iterator[None]:
    """Have a server renew its mean rates every second, under the load that they are to be of.

    Its flush law goes by the mean redo and page rate, which it renews by half every
    ``innodb_flushing_avg_loops`` seconds: for minutes after filling it flushes at the pace of that.
    """
    before = int(server.query(f"SELECT @@GLOBAL.{LOOPS}")[0][0])
    server.query(f"SET GLOBAL {LOOPS} = 1")
    try:
        yield
    finally:
        server.query(f"SET GLOBAL {LOOPS} = {before}")


def age_ratio(server: LabServer) -> float:
    """Return the modified age over the flush limit, as the server's counters have it.

    Raises:
        LabServerError: no reading could be had.
    """
    with contextlib.closing(Reader(server)) as reader:
        return reader.read().age_ratio


def warm(server: LabServer, to: Capacity) -> bool:
    """Raise the age of a server under load, then set C and M to these; tell whether it got there.

    Below the low-water mark its percentage is 0, and shows nobody which law it flushes by.

    Raises:
        LabServerError: no reading could be had.
    """
    end = time.monotonic() + WARM_SECONDS
    server.set_capacity(*LOW)
    try:
        with contextlib.closing(Reader(server)) as reader:
            while reader.read().age_ratio < WARM_RATIO:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.5)  # the server announces no age
        return True
    finally:
        server.set_capacity(to.io_capacity, to.io_capacity_max)
