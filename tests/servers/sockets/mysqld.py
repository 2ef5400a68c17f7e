"""A server of a few lines over real sockets, which can fail in every way it likes."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers.packets import OK, answer, greeting, receive, refusal, send
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unreachable
from tuner.servers.session import Session

LIMIT = 0.3
"""Seconds that a connection or a statement may take in these tests."""

PATIENCE = 10.0
PASSWORD = "s3cret-never-shown"  # noqa: S105 - of these tests alone

ENCRYPTS = 0x00000800
"""The capability of TLS."""

CERTIFICATES = Path(__file__).parents[2] / "fixtures" / "mysqld"
PUBLIC_KEY = b"-----BEGIN PUBLIC KEY-----\n"
SALT = b"abcdefghijklmnopqrst"

Rows = list[tuple[str, ...]]
Answer = Rows | tuple[int, str] | str
"""Rows; number and text of an error; ``hang`` or ``close``."""


class Mysqld:
    """A server that greets, lets in, and answers as it is told.

    Attributes:
        answers: called with each statement that is not a SET.
        greets: say hello; False accepts and stays silent.
        denies: number and text to refuse the login with.
        plugin: how it asks for the password in its greeting.
        wants: how it asks for the password after the login; None asks for all of it where the greeting
            named caching_sha2_password.
        answers_login: packets that it says after the login, one for each answer, in place of any method.
        version: what the greeting says.
        tls: for encryption, which is not offered without.
        statements: all that was asked, SETs included.
        logins: what came as the answer to the greeting.
        heard: every packet of every login.
        noticed: called with each statement before it is answered.
        refuses: called with each SET of limits; number and text of an error, or None.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.answers: Callable[[str], Answer] = lambda _statement: [("1",)]
        self.greets = True
        self.denies: tuple[int, str] | None = None
        self.plugin = b"mysql_native_password"
        self.wants: bytes | None = None
        self.answers_login: list[bytes] = []
        self.version = b"9.7.4"
        self.tls: ssl.SSLContext | None = None
        self.statements: list[str] = []
        self.logins: list[bytes] = []
        self.heard: list[bytes] = []
        self.noticed: Callable[[str], None] = lambda _statement: None
        self.refuses: Callable[[str], tuple[int, str] | None] = lambda _statement: None
        self.listener = listener
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def end(self) -> None:
        """Let go of everything."""
        self._ended.set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._accepting.join(PATIENCE)
        for one in tuple(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)

    def _accept(self) -> None:
        number = 0
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                if connection.family != socket.AF_UNIX:  # no packet waits for the one before to be confirmed
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                number += 1
                thread = threading.Thread(target=self._serve, args=(connection, number), daemon=True)
                self._threads = [one for one in self._threads if one.is_alive()] + [thread]
                thread.start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        connection.settimeout(PATIENCE)
        self._open.add(connection)
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError, EOFError):
            opened.enter_context(connection)
            opened.callback(self._open.discard, connection)
            connection = self._log_in(connection, number, opened)
            while (packet := receive(connection)[1])[:1] == b"\x03":
                self._answer(connection, packet[1:].decode())

    def _log_in(self, connection: socket.socket, number: int, opened: contextlib.ExitStack) -> socket.socket:
        """Greet and let in; return the connection as it is from then on, encrypted or not."""
        if not self.greets:
            self._ended.wait(PATIENCE)
            raise EOFError
        more = ENCRYPTS if self.tls is not None else 0
        hello = greeting(self.version, number, salt=SALT, plugin=self.plugin, more=more)
        send(connection.sendall, 0, hello)
        at, login = self._hear(connection)
        if self.tls is not None and int.from_bytes(login[:4], "little") & ENCRYPTS:
            connection = opened.enter_context(self.tls.wrap_socket(connection, server_side=True))
            at, login = self._hear(connection)
        self.logins.append(login)
        if self.denies is not None:
            send(connection.sendall, at + 1, refusal(self.denies[0], self.denies[1].encode()))
            raise EOFError
        for said in self.answers_login:
            send(connection.sendall, at + 1, said)
            at, _ = self._hear(connection)
        caching = self.plugin if self.plugin == b"caching_sha2_password" else None
        if (wants := self.wants or caching) is not None:
            at = self._ask(connection, at, wants)
        send(connection.sendall, at + 1, OK)
        return connection

    def _ask(self, connection: socket.socket, at: int, method: bytes) -> int:
        """Ask for the password by a method, as long as it is answered; return the last packet's number."""
        reply = b""
        if method != self.plugin or method == b"sha256_password":
            said = b"" if method == b"dialog" else SALT + b"\x00"  # as MariaDB's PAM
            old = method == b"mysql_old_password"
            send(connection.sendall, at + 1, b"\xfe" if old else b"\xfe" + method + b"\x00" + said)
            at, reply = self._hear(connection)
        if method == b"caching_sha2_password":
            send(connection.sendall, at + 1, b"\x01\x04")
            at, reply = self._hear(connection)
        if reply in {b"\x01", b"\x02"}:
            send(connection.sendall, at + 1, b"\x01" + PUBLIC_KEY)
            at, reply = self._hear(connection)
        return at

    def _hear(self, connection: socket.socket) -> tuple[int, bytes]:
        at, packet = receive(connection)
        self.heard.append(packet)
        return at, packet

    def _answer(self, connection: socket.socket, statement: str) -> None:
        self.statements.append(statement)
        self.noticed(statement)
        said: Answer = [] if statement.startswith(("SET", "KILL")) else self.answers(statement)
        if "wait_timeout" in statement:
            said = self.refuses(statement) or []
        if said == "hang":
            self._ended.wait(PATIENCE)
        if said in ("hang", "close"):
            raise EOFError
        packets = [refusal(said[0], said[1].encode())] if isinstance(said, tuple) else answer(said)
        for number, packet in enumerate(packets, start=1):
            send(connection.sendall, number, packet)


Reach = Callable[..., Session]
"""Returns a session to a server; it takes changes of the endpoint."""

Local = Callable[[Path], Mysqld]
"""Starts a server on a unix socket."""


def server_context(name: str = "named", **changes: Any) -> ssl.SSLContext:  # noqa: ANN401 - its attributes
    """Return a server's TLS with one of the certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{name}.crt", CERTIFICATES / f"{name}.key")
    for attribute, value in changes.items():
        setattr(context, attribute, value)
    return context


def endpoint(listener: socket.socket, **changes: Any) -> Endpoint:  # noqa: ANN401 - its fields
    """Return the address of a listener: without TLS, and with short limits."""
    usual = {"tls": "off", "password": PASSWORD, "port": listener.getsockname()[1], "timeout": LIMIT}
    return Endpoint(user="innobrim", **(usual | changes))


def refused(session: Session, statement: str = "SELECT 1") -> tuple[str, float]:
    """Ask and expect no answer; return what is said and how many seconds it took."""
    began = time.monotonic()
    with pytest.raises(Unreachable) as caught:
        session.query(statement)
    return str(caught.value), time.monotonic() - began
