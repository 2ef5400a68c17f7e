"""Whom the password is given to: what a server may ask for, and over which connection.

A method that proves knowledge of the password by a number of the server's (mysql_native_password,
client_ed25519, caching_sha2_password while the server has it in its cache) gives nothing away and is always
followed. One that wants the password itself is followed only where whoever answers is known to be the server.
"""

from __future__ import annotations

import socket
import ssl
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql import _auth  # its functions are the driver's own, and there are no public ones

from tuner.system.printable import printable

if TYPE_CHECKING:
    from tuner.servers.driver import DriverConnection

NATIVE = "mysql_native_password"
CACHING = "caching_sha2_password"
SHA256 = "sha256_password"
OLD = "mysql_old_password"
SCRAMBLED = frozenset({NATIVE, CACHING})
"""Methods whose first answer, which goes out with the login, is a scramble."""

PROVING = frozenset({NATIVE, "client_ed25519"})
"""Methods that only ever prove knowledge of the password."""

CLEAR = frozenset({"mysql_clear_password", "dialog"})
"""Methods that send the password as it is."""

SEND_KEY = b"\x01"
"""Asks sha256_password for the server's public key."""

CACHED, WANTED = 3, 4
"""What caching_sha2_password says: the proof was enough; the password itself is wanted."""

SALT_BYTES = 20
LONGEST_NAME = 64
MOST_PACKETS = 8
"""Packets of one method, at most; the longest that is known has three."""

CHECKED_TLS = (
    'TLS that is checked (tls = "verify_identity", or "verify_ca" for a certificate without the host name, '
    "and tls_ca in [server]; ssl-mode and ssl-ca in an option file)"
)
EXTRA = "pip install '.[rsa]'"
ANOTHER = f"give the account another method: {CACHING}, or {NATIVE} where there is no other"


class Channel(StrEnum):
    """What is known of whoever answers; the value says it in words."""

    SOCKET = "over the unix socket"
    CHECKED = "over TLS with a certificate that was checked"
    UNCHECKED = "over TLS without a certificate authority to check the server against"
    PLAIN = "over TCP without TLS"


KNOWN = frozenset({Channel.SOCKET, Channel.CHECKED})
"""Nobody but the server, or who rules this machine, can be at the other end."""


class PasswordKeptError(pymysql.OperationalError):
    """The server asked for the password in a way that it is not given in.

    Attributes:
        found: what it asked for, over what.
        fix: what would help.
    """

    def __init__(self, found: str, fix: str) -> None:
        super().__init__(0, f"{found}; {fix}")
        self.found = found
        self.fix = fix


def channel_of(sock: socket.socket) -> Channel:
    """Return what is known of the other end of a connection.

    A loopback address says nothing: while mysqld is down, any account of the machine can listen there.
    """
    if sock.family == socket.AF_UNIX:
        return Channel.SOCKET
    if not isinstance(sock, ssl.SSLSocket):
        return Channel.PLAIN
    return Channel.CHECKED if sock.context.verify_mode is ssl.CERT_REQUIRED else Channel.UNCHECKED


class Login:
    """One method of logging in, as the server names it; the driver hands each of its packets over."""

    def __init__(self, connection: DriverConnection, method: str) -> None:
        """Serve one connection; ``method`` is whatever the server called it."""
        self._connection = connection
        self._method = method
        self._packets = 0

    def authenticate(self, packet: Any) -> Any:  # noqa: ANN401 - the driver's packets have no type
        """Answer a packet of the server's and return its next one.

        Raises:
            PasswordKeptError: it asks for what it is not given.
            pymysql.MySQLError: the server's refusal, or an answer that belongs to no method.
        """
        self._packets += 1
        if self._packets > MOST_PACKETS:
            raise pymysql.OperationalError(0, f"the login does not end: {MOST_PACKETS} packets and no answer")
        if self._method == CACHING:
            return self._caching(packet)
        if self._method == SHA256:
            return self._sha256(packet)
        if self._method not in PROVING | CLEAR:
            raise _unknown(self._method)
        if not packet.is_auth_switch_request():
            raise pymysql.OperationalError(0, f"the server goes on where {self._method} has an end")
        if self._method in CLEAR and self._secret and self._channel not in KNOWN:
            raise PasswordKeptError(
                f"the server asks for the password in clear text ({self._method}) {self._channel}; "
                "it was not sent, as whoever answers could read it",
                f"use the unix socket, or {CHECKED_TLS}; or {ANOTHER}",
            )
        if self._method in CLEAR:  # PAM on MariaDB puts its question only to who has not answered it yet
            return self._exchange(self._secret + b"\0")
        return self._connection.by_the_driver(self._method, packet)

    @property
    def _secret(self) -> bytes:
        password: bytes = self._connection.password
        return password

    @property
    def _channel(self) -> Channel:
        return channel_of(self._connection.wire)

    def _caching(self, packet: Any) -> Any:  # noqa: ANN401 - the driver's packets have no type
        if packet.is_auth_switch_request():
            self._take_salt(packet)
            return self._exchange(_auth.scramble_caching_sha2(self._secret, self._connection.salt))
        said = packet.get_all_data()[1:2]
        if said == bytes([CACHED]):
            return self._connection.next_packet()
        if said != bytes([WANTED]):
            raise pymysql.OperationalError(0, f"{CACHING}: the server says {said!r}, which has no meaning")
        return self._exchange(self._password_itself("the password itself, as it is not in its cache"))

    def _sha256(self, packet: Any) -> Any:  # noqa: ANN401 - the driver's packets have no type
        if packet.is_auth_switch_request():
            self._take_salt(packet)
        if self._channel is not Channel.SOCKET or not self._secret:
            return self._exchange(self._password_itself("the password itself"))
        key = self._connection.server_public_key or self._exchange(SEND_KEY).get_all_data()[1:]
        return self._exchange(self._encrypted(key))  # without TLS it takes nothing else, by socket either

    def _take_salt(self, packet: Any) -> None:  # noqa: ANN401 - the driver's packets have no type
        self._connection.salt = packet.read_all().removesuffix(b"\0")

    def _password_itself(self, wanted: str) -> bytes:
        """Return the password for the server's eyes alone."""
        channel, key = self._channel, self._connection.server_public_key
        plain = self._secret + b"\0"
        if not self._secret or channel in KNOWN:
            return plain
        if channel is not Channel.UNCHECKED and key:
            return self._encrypted(key)
        by_key = f"; {_BY_KEY}" if channel is Channel.PLAIN else ""
        found = (
            f"the server asks for {wanted} ({self._method}) {channel}; it was not sent, "
            "as whoever answers could read it"
        )
        raise PasswordKeptError(found, f"use the unix socket, or {CHECKED_TLS}{by_key}")

    def _encrypted(self, key: bytes) -> bytes:
        salt = self._connection.salt
        if len(salt) < SALT_BYTES:
            raise pymysql.OperationalError(0, f"{self._method}: {len(salt)} bytes of salt, not {SALT_BYTES}")
        encrypted: bytes = _auth.sha2_rsa_encrypt(self._secret, salt, key)
        return encrypted

    def _exchange(self, answer: bytes) -> Any:  # noqa: ANN401 - the driver's packets have no type
        self._connection.write_packet(answer)
        return self._connection.next_packet()


_BY_KEY = f"or name the server's public key, server-public-key-path in the option file, with {EXTRA}"


def without_name() -> PasswordKeptError:
    """Return the error for a server that wants what was sent before there were methods with names."""
    return _unknown(OLD)


def _unknown(method: str) -> PasswordKeptError:
    name = printable(method)[:LONGEST_NAME]
    if method == OLD:
        found = f"the server asks for the password as MySQL 4.0 did ({OLD}), which would give it away"
        return PasswordKeptError(f"{found}; it was not sent", "SET PASSWORD anew, with old_passwords = 0")
    return PasswordKeptError(
        f"the server asks for the login by {name!r}, which InnoBrim does not know; nothing was sent",
        ANOTHER,
    )
