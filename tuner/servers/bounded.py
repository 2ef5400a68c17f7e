"""The driver's connection with bounds on what a server may send, and on how long it may take.

The driver's own limits are for each ``recv``: a server that sends a byte now and then holds it up for ever,
and whatever it sends is kept. Here a statement, and all of connecting, has one deadline, and an answer has a
largest size.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

from tuner.printable import shortened

if TYPE_CHECKING:
    _Connection = Connection[Any]
else:
    _Connection = Connection

PACKET_BYTES = 2 * 1024 * 1024
"""Most of one packet, which is a row or less: the longest row that is asked for is SHOW ENGINE INNODB STATUS,
whose text mysqld cuts at 1 MiB."""

ANSWER_BYTES = 4 * 1024 * 1024
"""Most of one statement's answer: that row, or some hundreds of short ones."""

PACKETS = 10_000
"""Most packets of one statement's answer, columns and rows: the longest one that is asked for, all of
InnoDB's counters, has some 350 rows."""

VALUES = 50_000
"""Most values of one statement's answer, each of which costs some 60 bytes however short it is: MariaDB's
SHOW ALL SLAVES STATUS, the widest one that is asked for, has some 70 columns."""

SLACK = 0.02
"""The system's own limit on a wait is set anew where it is more than this beyond the deadline, seconds."""


class BoundedConnection(_Connection):
    """A connection on which each statement has one deadline, ``read_timeout`` from when it is sent.

    All of connecting has one as well, from ``allow`` on.
    """

    _sock: Any
    _rfile: Any
    _result: Any
    _current_timeout: float | None
    _force_close: Callable[[], None]

    def __init__(self, *, read_timeout: float, **given: Any) -> None:  # noqa: ANN401 - the driver's own arguments
        self._seconds_for_each = read_timeout
        self._connecting = False
        self._deadline = self._allowed = 0.0
        self._bytes = self._packets = self._columns = 0
        super().__init__(read_timeout=read_timeout, **given)

    def allow(self, seconds: float) -> None:
        """Begin what is to be over within so many seconds, with an answer that is as long as one may be."""
        self._deadline = time.monotonic() + seconds
        self._allowed = seconds
        self._bytes = self._packets = self._columns = 0

    def close(self) -> None:
        """Say goodbye, which has its own time; see the driver."""
        self.allow(self._seconds_for_each)
        super().close()

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if not self._connecting:
            self.allow(self._seconds_for_each)
        super()._execute_command(command, sql)  # type: ignore[misc] # the driver's own

    def _read_query_result(self, unbuffered: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - the driver's own
        """Read an answer whose rows have as many columns each as the server announced."""
        affected = super()._read_query_result(unbuffered)  # type: ignore[misc] # the driver's own
        for row in self._result.rows or ():
            if len(row) != self._result.field_count:
                found, said = len(row), self._result.field_count
                raise ValueError(f"a row of {found} columns where {said} were announced")
        return affected

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:  # noqa: ANN401 - the driver's own
        self._packets += 1
        if self._packets > PACKETS:
            self._refuse(f"an answer of more than {PACKETS} rows")
        self._columns += packet_type is FieldDescriptorPacket
        if self._packets * self._columns > VALUES:
            self._refuse(f"an answer of more than {VALUES} values")
        try:
            return super()._read_packet(packet_type)  # type: ignore[no-untyped-call] # the driver is untyped
        except pymysql.MySQLError as error:
            if len(error.args) > 1 and isinstance(error.args[1], str):
                error.args = (error.args[0], shortened(error.args[1]), *error.args[2:])
            raise

    def _read_bytes(self, num_bytes: int) -> bytes:
        """Return so many bytes, in time; see the driver."""
        self._bytes += num_bytes
        if num_bytes > PACKET_BYTES:
            self._refuse(f"a packet of {num_bytes} bytes, more than {PACKET_BYTES}")
        if self._bytes > ANSWER_BYTES:
            self._refuse(f"an answer of more than {ANSWER_BYTES} bytes")
        data = b""
        try:
            while len(data) < num_bytes:
                self._wait_no_longer()
                part = self._rfile.read1(num_bytes - len(data))
                if not part:
                    break
                data += part
        except TimeoutError as error:
            self._force_close()
            said = f"no whole answer within {self._allowed:g} s"
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, said) from error
        except OSError as error:
            self._force_close()
            said = f"Lost connection to MySQL server during query ({error})"
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, said) from error
        if len(data) < num_bytes:
            self._force_close()
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
        return data

    def _write_bytes(self, data: bytes) -> None:
        try:
            self._wait_no_longer()
        except TimeoutError as error:
            self._force_close()
            said = f"nothing could be sent within {self._allowed:g} s"
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, said) from error
        super()._write_bytes(data)  # type: ignore[misc] # the driver's own

    def _wait_no_longer(self) -> None:
        """Have the next wait end with the deadline.

        Raises:
            TimeoutError: it is over.
        """
        left = self._deadline - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("the time is over")
        now = self._current_timeout
        if now is None or not left <= now <= left + SLACK:
            self._read_timeout = self._write_timeout = self._current_timeout = min(left, self._allowed)
            self._sock.settimeout(self._current_timeout)

    def _refuse(self, what: str) -> NoReturn:
        self._force_close()
        raise pymysql.OperationalError(CR.CR_MALFORMED_PACKET, f"the server sent {what}: not read further")
