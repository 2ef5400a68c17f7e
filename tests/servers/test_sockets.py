"""A connection over real sockets, to a server of a few lines that can fail in every way it likes."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
import pytest

from tuner.servers.connect import Endpoint, Session
from tuner.servers.port import Unreachable

LIMIT = 0.3
"""Seconds that a connection or a statement may take in these tests."""

PATIENCE = 10.0
PASSWORD = "s3cret-never-shown"  # noqa: S105 - of these tests alone

OK = b"\x00\x00\x00\x02\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00"
CAPABILITIES = 0x0008A201
"""Protocol 4.1, long password, transactions, secure connection, plug-in authentication; no TLS."""

Rows = list[tuple[str, ...]]
Answer = Rows | tuple[int, str] | str
"""Rows; number and text of an error; ``hang`` or ``close``."""


class Mysqld:
    """A server that greets, lets in, and answers as it is told.

    Attributes:
        answers: called with each statement that is not a SET.
        greets: say hello; False accepts and stays silent.
        denies: number and text to refuse the login with.
        plugin: how it asks for the password.
        statements: all that was asked, SETs included.
        logins: what came as the answer to the greeting.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.answers: Callable[[str], Answer] = lambda _statement: [("1",)]
        self.greets = True
        self.denies: tuple[int, str] | None = None
        self.plugin = b"mysql_native_password"
        self.statements: list[str] = []
        self.logins: list[bytes] = []
        self.open = threading.Event()
        self._listener = listener
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def end(self) -> None:
        """Let go of everything."""
        self.open.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in (self._accepting, *self._threads):
            thread.join(PATIENCE)

    def _accept(self) -> None:
        number = 0
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                number += 1
                thread = threading.Thread(target=self._serve, args=(connection, number))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        connection.settimeout(PATIENCE)
        with connection, contextlib.suppress(OSError, EOFError):
            if not self.greets:
                self.open.wait(PATIENCE)
                return
            self._log_in(connection, number)
            while (packet := _receive(connection)[1])[:1] == b"\x03":
                if not self._answer(connection, packet[1:].decode()):
                    return

    def _log_in(self, connection: socket.socket, number: int) -> None:
        low, high = CAPABILITIES & 0xFFFF, CAPABILITIES >> 16
        _send(
            connection,
            0,
            b"\x0a9.7.4\x00"
            + struct.pack("<I", number)
            + b"abcdefgh\x00"
            + struct.pack("<HBHHB", low, 255, 2, high, 21)
            + bytes(10)
            + b"ijklmnopqrst\x00"
            + self.plugin
            + b"\x00",
        )
        at, login = _receive(connection)
        self.logins.append(login)
        if self.denies is not None:
            _send(connection, at + 1, _error(*self.denies))
            raise EOFError
        if self.plugin == b"caching_sha2_password":
            _send(connection, at + 1, b"\x01\x04")
            at, _request = _receive(connection)
            _send(connection, at + 1, b"\x01-----BEGIN PUBLIC KEY-----\n")
            _receive(connection)
        _send(connection, at + 1, OK)

    def _answer(self, connection: socket.socket, statement: str) -> bool:
        self.statements.append(statement)
        answer: Answer = [] if statement.startswith(("SET", "KILL")) else self.answers(statement)
        if answer == "hang":
            self.open.wait(PATIENCE)
            return False
        if isinstance(answer, str):
            return False
        if isinstance(answer, tuple):
            _send(connection, 1, _error(*answer))
        elif not answer:
            _send(connection, 1, OK)
        else:
            _send_rows(connection, answer)
        return True


def _receive(connection: socket.socket) -> tuple[int, bytes]:
    head = _exactly(connection, 4)
    return head[3], _exactly(connection, int.from_bytes(head[:3], "little"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _send(connection: socket.socket, number: int, data: bytes) -> None:
    connection.sendall(len(data).to_bytes(3, "little") + bytes([number]) + data)


def _error(number: int, text: str) -> bytes:
    return b"\xff" + struct.pack("<H", number) + b"#HY000" + text.encode()


def _text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def _send_rows(connection: socket.socket, rows: Rows) -> None:
    columns = len(rows[0])
    one = (
        b"".join(map(_text, ("def", "", "", "", "c", "")))
        + b"\x0c"
        + struct.pack("<HIBHB2x", 255, 99, 253, 0, 0)
    )
    packets = [bytes([columns]), *([one] * columns), END]
    packets += [b"".join(map(_text, row)) for row in rows] + [END]
    for number, packet in enumerate(packets, start=1):
        _send(connection, number, packet)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a socket that listens on loopback and takes no connection by itself."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


@pytest.fixture
def mysqld(listener: socket.socket) -> Iterator[Mysqld]:
    """Return a server on that socket."""
    server = Mysqld(listener)
    yield server
    server.end()


@pytest.fixture
def session(listener: socket.socket) -> Iterator[Session]:
    """Return a session to that server, without TLS, with short limits."""
    made = Session(endpoint(listener))
    yield made
    made.drop()


def endpoint(listener: socket.socket, **changes: str) -> Endpoint:
    """Return the address of a listener."""
    values: dict[str, str] = {"tls": "off"} | changes
    return Endpoint(
        user="innobrim",
        password=PASSWORD,
        port=listener.getsockname()[1],
        connect_timeout=LIMIT,
        query_timeout=LIMIT,
        **values,
    )


def refused(session: Session, statement: str = "SELECT 1") -> tuple[str, float]:
    """Ask and expect no answer; return what is said and how many seconds it took."""
    began = time.monotonic()
    with pytest.raises(Unreachable) as caught:
        session.query(statement)
    return str(caught.value), time.monotonic() - began


def test_a_statement_gets_its_rows(mysqld: Mysqld, session: Session) -> None:
    """Rows come back as they are, over one connection that is kept."""
    mysqld.answers = lambda statement: [("Uptime", "77")] if "Uptime" in statement else [("1",)]

    assert session.query("SHOW GLOBAL STATUS LIKE 'Uptime'") == (("Uptime", "77"),)
    first = session.current
    session.query("SELECT 1")
    assert session.current is first
    assert len(mysqld.logins) == 1


def test_the_session_limits_itself_on_the_server(mysqld: Mysqld, session: Session) -> None:
    """A session that its client lost ends by itself there, and waits for no lock and no query for long."""
    session.query("SELECT 1")

    (said,) = [one for one in mysqld.statements if "wait_timeout" in one]
    assert "SESSION wait_timeout = 15" in said
    assert "lock_wait_timeout = 2" in said
    assert "max_execution_time = 300" in said


def test_a_listener_that_never_greets_is_given_up_in_time(mysqld: Mysqld, session: Session) -> None:
    """A server that accepts and says nothing costs the time-outs and no more."""
    mysqld.greets = False

    said, seconds = refused(session)

    assert seconds < 2 * LIMIT + 0.5
    assert said.startswith("innobrim@127.0.0.1:")
    assert "no greeting within 0.3 s" in said
    assert "hangs" in said


def test_a_full_backlog_is_given_up_in_time(session: Session) -> None:
    """A server that never accepts is given up in the same time."""
    _, seconds = refused(session)

    assert seconds < 2 * LIMIT + 0.5


def test_nobody_listens(listener: socket.socket) -> None:
    """A port without a server is said at once, with the address."""
    there = endpoint(listener)
    listener.close()

    said, seconds = refused(Session(there))

    assert seconds < LIMIT
    assert f"innobrim@127.0.0.1:{there.port}" in said
    assert "(error 2003)" in said


def _nothing(_path: Path) -> None:
    pass


def _bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind(str(path))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # the driver closes no socket that failed
)
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (_nothing, "no such socket; SELECT @@socket on the server says where it is"),
        (Path.mkdir, "is a directory, not a socket; SELECT @@socket"),
        (Path.touch, "is a file, not a socket; SELECT @@socket"),
        (_bound, "nobody listens there; start the server"),
    ],
    ids=["missing", "directory", "file", "refused"],
)
def test_a_socket_that_cannot_be_used_says_why(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    """What is wrong with a socket is said with its path and a remedy, and no TCP address is named."""
    path = tmp_path / "s"
    make(path)

    said, _ = refused(Session(Endpoint(user="innobrim", socket=str(path))))
    gc.collect()

    assert said.startswith(f"innobrim@{path}: {why}")
    assert "127.0.0.1" not in said


@pytest.mark.parametrize(
    "hello",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x05\x00\x00\x00\x0b\x08\x05\x1a\x00",
        b"\x00\x00\x00\x00",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
    ids=["closes", "ssh", "x-protocol", "empty", "http"],
)
def test_a_port_of_another_protocol_is_named_as_such(
    listener: socket.socket, session: Session, hello: bytes
) -> None:
    """Whoever is led to SSH, HTTP or MySQL's own X Protocol learns that this is no server for them."""

    def greet() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(hello)

    stranger = threading.Thread(target=greet)
    stranger.start()
    said, _ = refused(session)
    stranger.join(PATIENCE)

    assert "what listens there does not speak MySQL's protocol" in said
    assert said.endswith("; correct host and port")


def test_a_host_that_is_no_name_is_said() -> None:
    """A host name that cannot be one is an error with a remedy, not a traceback."""
    said, _ = refused(Session(Endpoint(user="innobrim", host="db..example")))

    assert "'db..example' is no host name" in said


def test_a_unix_socket_is_preferred(tmp_path: Path) -> None:
    """With a socket path, host and port are not even looked at."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        server = Mysqld(listener)
        session = Session(Endpoint(user="innobrim", socket=path, host="192.0.2.1", connect_timeout=LIMIT))
        found = session.query("SELECT 1")
        session.close()
        session.close()
        server.end()

    assert found == (("1",),)


def test_a_statement_that_hangs_is_given_up_and_its_session_ended(mysqld: Mysqld, session: Session) -> None:
    """A silent server costs one time-out; the next statement connects again and ends the lost session."""
    mysqld.answers = lambda statement: "hang" if "slow" in statement else [("1",)]
    session.query("SELECT 1")

    _, seconds = refused(session, "SELECT slow")

    assert seconds < LIMIT + 0.5
    assert session.current is None
    assert session.query("SELECT 1") == (("1",),)
    assert "KILL 1" in mysqld.statements
    assert len(mysqld.logins) == 2


def test_a_lost_connection_is_made_anew(mysqld: Mysqld, session: Session) -> None:
    """When the server closes the connection one statement is lost, and the next one works."""
    mysqld.answers = lambda statement: "close" if "bye" in statement else [("1",)]
    session.query("SELECT 1")

    refused(session, "SELECT bye")

    assert session.query("SELECT 1") == (("1",),)


def test_a_refused_statement_keeps_the_connection(mysqld: Mysqld, session: Session) -> None:
    """A missing privilege is the server's word, not a broken connection."""
    mysqld.answers = lambda statement: (1227, "Access denied; you need") if "x" in statement else [("1",)]
    session.query("SELECT 1")
    before = session.current

    with pytest.raises(pymysql.OperationalError, match="1227"):
        session.query("SELECT x")

    assert session.current is before
    session.query("SELECT 1")
    assert len(mysqld.logins) == 1


def test_a_refused_login_says_what_to_check(mysqld: Mysqld, session: Session) -> None:
    """A wrong password is named as such, without the password."""
    mysqld.denies = (1045, "Access denied for user 'innobrim'@'localhost' (using password: YES)")

    said, _ = refused(session)

    assert "(error 1045); check user and password" in said
    assert PASSWORD not in said


def test_a_login_that_needs_cryptography_names_the_ways_out(mysqld: Mysqld, session: Session) -> None:
    """Where a password would have to be encrypted without TLS, socket, TLS and the extra are named."""
    if importlib.util.find_spec("cryptography") is not None:
        pytest.skip("cryptography is installed: there is nothing to say")
    mysqld.plugin = b"caching_sha2_password"

    said, _ = refused(session)

    assert "unix socket" in said
    assert "TLS" in said
    assert "pip install 'innobrim[rsa]'" in said


def test_required_encryption_never_falls_back(mysqld: Mysqld, listener: socket.socket) -> None:
    """With tls = required a server without TLS is refused before anything is sent to it."""
    session = Session(endpoint(listener, tls="required"))

    refused(session)

    assert mysqld.logins == []


def test_preferred_encryption_falls_back(mysqld: Mysqld, listener: socket.socket) -> None:
    """With tls = preferred a server without TLS is still reached."""
    session = Session(endpoint(listener, tls="preferred"))

    assert session.query("SELECT 1") == (("1",),)
    assert len(mysqld.logins) == 1
    session.drop()


def test_the_password_is_never_shown(listener: socket.socket) -> None:
    """Neither the endpoint's text nor a container's text nor an error holds the password."""
    there = endpoint(listener)
    listener.close()
    said, _ = refused(Session(there))

    for text in (repr(there), str(there), f"{there}", repr([there]), repr({"server": there}), said):
        assert PASSWORD not in text
        assert "innobrim@" in text
