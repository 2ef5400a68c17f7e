"""The driver's connection: a limit on finding the host, cheap encryption, and a password that is kept."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.constants import CR
from pymysql.protocol import MysqlPacket

from tuner.servers.bounded import BoundedConnection
from tuner.servers.encryption import required
from tuner.servers.passwords import NATIVE, SCRAMBLED, Login, without_name
from tuner.servers.resolve import RESOLVER, Address, Resolver

if TYPE_CHECKING:

    class _Connection(BoundedConnection):
        """What the driver's stubs leave out."""

        salt: bytes
        _sock: socket.socket
        _auth_plugin_name: str

        def _process_auth(self, plugin_name: bytes, auth_packet: Any) -> Any: ...  # noqa: ANN401 - the driver's own
        def _get_server_information(self) -> None: ...
        def _request_authentication(self) -> None: ...

else:
    _Connection = BoundedConnection


class DriverConnection(_Connection):
    """A connection whose ``connect_timeout`` is for all of connecting, over TCP as over a socket.

    By itself the driver waits for the system's resolver as long as that takes, and then for each address of
    the host as long as for one.

    And where encryption is only preferred, it makes a context at every attempt, before it connects, and loads
    every certificate authority of the system into it: 0.8 MiB and 20 ms for a check that it then turns off.

    And it sends the password itself to whoever asks for it; here ``tuner.servers.passwords`` decides that.

    Connecting has up to eight waits, which share the one limit: reaching the host, greeting, encryption, four
    answers of the authentication (three with encryption), character set, autocommit. Each is announced.
    """

    def __init__(
        self,
        *,
        connect_timeout: float,
        resolver: Resolver = RESOLVER,
        beat: Callable[[float], None] = lambda _: None,
        preferred: ssl.SSLContext | None = None,
        **given: Any,  # noqa: ANN401 - the driver's own arguments
    ) -> None:
        """Prepare; see the driver.

        Args:
            connect_timeout: for finding the host and connecting, seconds.
            resolver: finds it.
            beat: told before each wait for the server while connecting how long that may take, seconds.
            preferred: for encryption where the server offers it; None is the one that checks nothing.
            given: the driver's further arguments.
        """
        self._resolver = resolver
        self._seconds = connect_timeout
        self._beat = beat
        self._preferred = preferred
        super().__init__(connect_timeout=connect_timeout, **given)

    def connect(self, sock: socket.socket | None = None) -> None:
        """Connect; see the driver.

        Raises:
            pymysql.MySQLError: there is no connection; what the system said is its ``__context__``.
        """
        self._connecting = True
        self.allow(self._seconds)
        try:
            self._connect(sock)
        finally:
            self._connecting = False

    def write_packet(self, payload: bytes) -> None:
        """Send a packet; while connecting an answer is waited for, to one of them the whole of encryption."""
        self._announce()
        super().write_packet(payload)

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:  # noqa: ANN401 - the driver's own
        self._announce()
        return super()._read_packet(packet_type)

    def _announce(self) -> None:
        """Say that a wait begins; where it is a statement's, whoever sends that has said so."""
        if self._connecting:
            self._beat(self._seconds)

    def _connect(self, sock: socket.socket | None) -> None:
        self._announce()
        if sock is None and not self.unix_socket:
            try:
                sock = self._reached()
            except OSError as error:
                said = f"Can't connect to MySQL server on {self.host!r} ({error})"
                raise pymysql.OperationalError(CR.CR_CONN_HOST_ERROR, said) from error
            self.host_info = f"socket {self.host}:{self.port}"
        super().connect(sock)

    def _reached(self) -> socket.socket:
        """Return a connection to the first address of the host that takes one, in time."""
        deadline = time.monotonic() + self._seconds
        found = self._resolver.addresses(self.host, self.port, self._seconds)
        return first_of(found, deadline)

    def _create_ssl_ctx(self, wanted: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        return wanted if isinstance(wanted, ssl.SSLContext) else self._preferred or required(None)

    @property
    def wire(self) -> socket.socket:
        """Return the socket in use, the encrypted one from encryption on."""
        return self._sock

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
            self._auth_plugin_name = (
                NATIVE  # a server that wants another method asks for it, and is judged then
            )

    def _request_authentication(self) -> None:
        try:
            super()._request_authentication()
        except pymysql.OperationalError as error:
            if error.args == ("received unknown auth switch request",):
                raise without_name() from error
            raise

    def _get_auth_plugin_handler(self, plugin_name: bytes) -> Login:
        return Login(self, plugin_name.decode("utf-8", "replace"))


def first_of(addresses: Sequence[Address], deadline: float) -> socket.socket:
    """Return a connection to the first of some addresses that takes one.

    Each is given its share of the time that is left, so that one that swallows everything leaves some for the
    next.

    Args:
        addresses: in the order in which they are tried.
        deadline: by ``time.monotonic``, seconds.

    Raises:
        OSError: none takes one; what the last one said.
    """
    failure = OSError("the host has no address")
    for number, (family, address) in enumerate(addresses):
        share = (deadline - time.monotonic()) / (len(addresses) - number)
        if share <= 0.0:
            raise failure if number else TimeoutError("finding the host took all of the time")
        try:
            return _connected(family, address, share)
        except OSError as error:
            failure = error
    raise failure


def _connected(family: int, address: Any, seconds: float) -> socket.socket:  # noqa: ANN401 - depends on the family
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.settimeout(seconds)
        found.connect(address)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except OSError:
        found.close()
        raise
    return found
