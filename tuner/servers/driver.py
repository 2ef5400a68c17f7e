"""The driver's connection with bounds: on each wait, on what a server may send, and on whom it gets to know.

The driver's own limits are for each ``recv``: a server that sends a byte now and then holds it up for ever,
and whatever it sends is kept. Here a statement, and all of connecting, has one deadline, and an answer has a
largest size. Who is given the password is decided in ``tuner.servers.passwords``.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

from tuner.servers.endpoint import required
from tuner.servers.passwords import NATIVE, SCRAMBLED, Login, without_name
from tuner.servers.resolver import RESOLVER, Resolver, first_of
from tuner.system.printable import shortened

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


if TYPE_CHECKING:

    class _Connection(Connection[Any]):
        """What the driver's stubs leave out."""

        salt: bytes
        _sock: Any
        _rfile: Any
        _result: Any
        _current_timeout: float | None
        _auth_plugin_name: str
        _force_close: Callable[[], None]

        def _execute_command(self, command: int, sql: str | bytes) -> None: ...
        def _read_packet(self, packet_type: Any = ...) -> Any: ...  # noqa: ANN401 - the driver's own
        def _read_query_result(self, unbuffered: bool) -> Any: ...  # noqa: ANN401, FBT001 - the driver's own
        def _write_bytes(self, data: bytes) -> None: ...
        def _process_auth(self, plugin_name: bytes, auth_packet: Any) -> Any: ...  # noqa: ANN401 - the driver's own
        def _get_server_information(self) -> None: ...
        def _request_authentication(self) -> None: ...

else:
    _Connection = Connection


class DriverConnection(_Connection):
    """A connection on which all of connecting, and each statement, has one deadline.

    By itself the driver waits for the system's resolver as long as that takes, and then for each address of
    the host as long as for one. Where encryption is only preferred, it makes a context at every attempt,
    before it connects, and loads every certificate authority of the system into it: 0.8 MiB and 20 ms for a
    check that it then turns off. And it sends the password itself to whoever asks for it.

    Connecting has up to eight waits, which share the one limit: reaching the host, greeting, encryption, four
    answers of the authentication (three with encryption), character set, autocommit. Each is announced.

    Attributes:
        method: of logging in, the last one that the server has asked by.
    """

    def __init__(
        self,
        *,
        connect_timeout: float,
        read_timeout: float,
        resolver: Resolver = RESOLVER,
        beat: Callable[[float], None] = lambda _: None,
        preferred: ssl.SSLContext | None = None,
        **given: Any,  # noqa: ANN401 - the driver's own arguments
    ) -> None:
        """Prepare; see the driver.

        Args:
            connect_timeout: for finding the host and connecting, seconds.
            read_timeout: for each statement from when it is sent, seconds.
            resolver: finds the host.
            beat: told before each wait for the server while connecting how long that may take, seconds.
            preferred: for encryption where the server offers it; None is the one that checks nothing.
            given: the driver's further arguments.
        """
        self._resolver = resolver
        self._seconds, self._seconds_for_each = connect_timeout, read_timeout
        self._beat = beat
        self._preferred = preferred
        self._connecting = False
        self._deadline = self._allowed = 0.0
        self._bytes = self._packets = self._columns = 0
        self.method = ""
        super().__init__(connect_timeout=connect_timeout, read_timeout=read_timeout, **given)

    def _allow(self, seconds: float) -> None:
        """Begin what is to be over within so many seconds, with an answer that is as long as one may be."""
        self._deadline = time.monotonic() + seconds
        self._allowed = seconds
        self._bytes = self._packets = self._columns = 0

    def connect(self, sock: socket.socket | None = None) -> None:
        """Connect; see the driver.

        Raises:
            pymysql.MySQLError: there is no connection; what the system said is its ``__context__``.
        """
        self._connecting = True
        self._allow(self._seconds)
        try:
            self._connect(sock)
        finally:
            self._connecting = False

    def write_packet(self, payload: bytes) -> None:
        """Send a packet; while connecting an answer is waited for, to one of them the whole of encryption."""
        self._announce()
        super().write_packet(payload)

    def _announce(self) -> None:
        """Say that a wait begins; where it is a statement's, whoever sends that has said so."""
        if self._connecting:
            self._beat(self._seconds)

    def _connect(self, sock: socket.socket | None) -> None:
        self._announce()
        if sock is None and not self.unix_socket:
            deadline = time.monotonic() + self._seconds
            try:
                sock = first_of(self._resolver.addresses(self.host, self.port, self._seconds), deadline)
            except OSError as error:
                said = f"Can't connect to MySQL server on {self.host!r} ({error})"
                raise pymysql.OperationalError(CR.CR_CONN_HOST_ERROR, said) from error
            self.host_info = f"socket {self.host}:{self.port}"
        super().connect(sock)

    def _create_ssl_ctx(self, wanted: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        return wanted if isinstance(wanted, ssl.SSLContext) else self._preferred or required(None)

    @property
    def wire(self) -> socket.socket:
        """Return the socket in use, the encrypted one from encryption on."""
        wire: socket.socket = self._sock
        return wire

    def next_packet(self) -> Any:  # noqa: ANN401 - the driver's own
        """Return the server's next packet.

        Raises:
            pymysql.MySQLError: it is an error, or there is none.
        """
        packet = self._read_packet()
        packet.check_error()
        return packet

    def by_the_driver(self, method: str, packet: Any) -> Any:  # noqa: ANN401 - the driver's own
        """Log in by the driver's own code for a method; return the server's next packet."""
        return super()._process_auth(method.encode(), packet)

    def _get_server_information(self) -> None:
        super()._get_server_information()
        if self._auth_plugin_name and self._auth_plugin_name not in SCRAMBLED:
            # a server that wants another method asks for it, and is judged then
            self._auth_plugin_name = NATIVE

    def _request_authentication(self) -> None:
        try:
            super()._request_authentication()
        except pymysql.OperationalError as error:
            if error.args == ("received unknown auth switch request",):
                raise without_name() from error
            raise

    def _get_auth_plugin_handler(self, plugin_name: bytes) -> Login:
        self.method = plugin_name.decode("utf-8", "replace")
        return Login(self, self.method)

    def close(self) -> None:
        """Say goodbye, which has its own time; see the driver."""
        self._allow(self._seconds_for_each)
        super().close()

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if not self._connecting:
            self._allow(self._seconds_for_each)
        super()._execute_command(command, sql)

    def _read_query_result(self, unbuffered: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - the driver's own
        """Read an answer whose rows have as many columns each as the server announced."""
        affected = super()._read_query_result(unbuffered)
        for row in self._result.rows or ():
            if len(row) != self._result.field_count:
                found, said = len(row), self._result.field_count
                raise ValueError(f"a row of {found} columns where {said} were announced")
        return affected

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:  # noqa: ANN401 - the driver's own
        self._announce()
        self._packets += 1
        if self._packets > PACKETS:
            self._refuse(f"an answer of more than {PACKETS} rows")
        self._columns += packet_type is FieldDescriptorPacket
        if self._packets * self._columns > VALUES:
            self._refuse(f"an answer of more than {VALUES} values")
        try:
            return super()._read_packet(packet_type)
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
            raise self._lost(f"no whole answer within {self._allowed:g} s") from error
        except OSError as error:
            raise self._lost(f"Lost connection to MySQL server during query ({error})") from error
        if len(data) < num_bytes:
            raise self._lost("Lost connection to MySQL server during query")
        return data

    def _write_bytes(self, data: bytes) -> None:
        try:
            self._wait_no_longer()
        except TimeoutError as error:
            raise self._lost(f"nothing could be sent within {self._allowed:g} s") from error
        super()._write_bytes(data)

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

    def _lost(self, why: str, number: int = CR.CR_SERVER_LOST) -> pymysql.OperationalError:
        """End the connection; return the error that says why."""
        self._force_close()
        return pymysql.OperationalError(number, why)

    def _refuse(self, what: str) -> NoReturn:
        raise self._lost(f"the server sent {what}: not read further", CR.CR_MALFORMED_PACKET)
