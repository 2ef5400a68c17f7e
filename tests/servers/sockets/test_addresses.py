"""An address that leads nowhere, or to somebody else, is said as what it is."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.sockets.mysqld import LIMIT, PATIENCE, Mysqld, endpoint, refused
from tuner.cli.options import endpoint as where_from
from tuner.config.schema import Config, ServerSection
from tuner.servers.endpoint import Endpoint
from tuner.servers.session import Session


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


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return two places where a socket is looked for."""
    places = tmp_path / "first" / "s", tmp_path / "second" / "s"
    for one in places:
        one.parent.mkdir(mode=0o755)
    monkeypatch.setattr("tuner.servers.endpoint.SOCKETS", tuple(map(str, places)))
    monkeypatch.delenv("MYSQL_UNIX_PORT", raising=False)
    return places


def test_a_socket_that_nothing_names_is_looked_for_at_each_connection(
    tmp_path: Path, usual: tuple[Path, Path]
) -> None:
    """A daemon that was there before mysqld finds its socket once it is there, and where it comes to be."""
    session = Session(endpoint_of(tmp_path))
    said, _ = refused(session)
    assert "no unix socket" in said
    assert "name its socket" in said

    for place in reversed(usual):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(place))
            listener.listen()
            server = Mysqld(listener)
            assert session.query("SELECT 1") == (("1",),)
            assert str(place) in str(session.endpoint)
            session.close()
            server.end()


@pytest.mark.parametrize("linked", [False, True])
def test_a_socket_that_anybody_can_have_made_is_not_guessed(
    tmp_path: Path, usual: tuple[Path, Path], *, linked: bool
) -> None:
    """Whoever makes a socket where all can write, as in /tmp, is not spoken to, nor by a link."""
    there = endpoint_of(tmp_path)
    public = tmp_path / "public" / "s" if linked else usual[0]
    public.parent.mkdir(exist_ok=True)
    public.parent.chmod(0o1777)
    if linked:
        usual[0].symlink_to(public)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(public))
        listener.listen()
        server = Mysqld(listener)
        assert "no unix socket" in refused(Session(there))[0]
        assert "no unix socket" in refused(Session(endpoint_of(tmp_path)))[0]
        named = Session(Endpoint(user="innobrim", socket=str(public), timeout=LIMIT))
        assert named.query("SELECT 1") == (("1",),)
        named.close()
        server.end()


def endpoint_of(tmp_path: Path) -> Endpoint:
    """Return where an option file leads that says localhost and no more."""
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=innobrim\nhost=localhost\n")
    file.chmod(0o600)
    return where_from(Config(server=ServerSection(defaults_file=str(file), timeout=LIMIT)))


def test_a_unix_socket_is_preferred(tmp_path: Path) -> None:
    """With a socket path, host and port are not even looked at."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        server = Mysqld(listener)
        session = Session(Endpoint(user="innobrim", socket=path, host="192.0.2.1", timeout=LIMIT))
        found = session.query("SELECT 1")
        session.close()
        session.close()
        server.end()

    assert found == (("1",),)
