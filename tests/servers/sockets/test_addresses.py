"""An address that leads nowhere, or to somebody else, is said as what it is."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.sockets.mysqld import LIMIT, PATIENCE, Local, Mysqld, endpoint, refused
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
    assert refused(session)[1] < 2 * LIMIT + 0.5


def test_nobody_listens(listener: socket.socket) -> None:
    """A port without a server is said at once, with the address."""
    there = endpoint(listener)
    listener.close()
    said, seconds = refused(Session(there))

    assert seconds < LIMIT
    assert f"innobrim@127.0.0.1:{there.port}" in said
    assert "(error 2003)" in said


def _bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind(str(path))


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # the driver closes no socket that failed
)
@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(Path, "no such socket; SELECT @@socket on the server says where it is", id="missing"),
        pytest.param(Path.mkdir, "is a directory, not a socket; SELECT @@socket", id="directory"),
        pytest.param(Path.touch, "is a file, not a socket; SELECT @@socket", id="file"),
        pytest.param(_bound, "nobody listens there; start the server", id="refused"),
    ],
)
def test_a_socket_that_cannot_be_used_says_why(
    tmp_path: Path, make: Callable[[Path], object], why: str
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
        pytest.param(b"", id="closes"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="ssh"),
        pytest.param(b"\x05\x00\x00\x00\x0b\x08\x05\x1a\x00", id="x-protocol"),
        pytest.param(b"\x00\x00\x00\x00", id="empty"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="http"),
    ],
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
    assert "'db..example' is no host name" in refused(Session(Endpoint(user="u", host="db..example")))[0]


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return two places where a socket is looked for."""
    places = tmp_path / "first" / "s", tmp_path / "second" / "s"
    for one in places:
        one.parent.mkdir(mode=0o755)
    monkeypatch.setattr("tuner.servers.endpoint.SOCKETS", tuple(map(str, places)))
    monkeypatch.delenv("MYSQL_UNIX_PORT", raising=False)
    return places


@pytest.fixture
def localhost(tmp_path: Path) -> Endpoint:
    """Return where an option file leads that says localhost and no more."""
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=innobrim\nhost=localhost\n")
    file.chmod(0o600)
    return where_from(Config(server=ServerSection(defaults_file=str(file), timeout=LIMIT)))


def test_a_socket_that_nothing_names_is_looked_for_at_each_connection(
    usual: tuple[Path, Path], localhost: Endpoint, local: Local
) -> None:
    """A daemon that was there before mysqld finds its socket once it is there, and where it comes to be."""
    session = Session(localhost)
    said, _ = refused(session)
    assert "no unix socket" in said
    assert "name its socket" in said

    for place in reversed(usual):
        server = local(place)
        assert session.query("SELECT 1") == (("1",),)
        assert str(place) in str(session.endpoint)
        session.close()
        server.end()


@pytest.mark.parametrize("linked", [False, True])
def test_a_socket_that_anybody_can_have_made_is_not_guessed(
    tmp_path: Path, usual: tuple[Path, Path], localhost: Endpoint, local: Local, *, linked: bool
) -> None:
    """Whoever makes a socket where all can write, as in /tmp, is not spoken to, nor by a link."""
    public = tmp_path / "public" / "s" if linked else usual[0]
    public.parent.mkdir(exist_ok=True)
    public.parent.chmod(0o1777)
    if linked:
        usual[0].symlink_to(public)
    local(public)

    assert "no unix socket" in refused(Session(localhost))[0]
    named = Session(Endpoint(user="innobrim", socket=str(public), timeout=LIMIT))
    assert named.query("SELECT 1") == (("1",),)
    named.close()


def test_a_unix_socket_is_preferred(tmp_path: Path, local: Local) -> None:
    """With a socket path, host and port are not even looked at."""
    local(tmp_path / "s")
    session = Session(Endpoint(user="innobrim", socket=str(tmp_path / "s"), host="192.0.2.1", timeout=LIMIT))

    assert session.query("SELECT 1") == (("1",),)
    session.close()
    session.close()
