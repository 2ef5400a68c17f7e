"""The listeners, for real."""

from __future__ import annotations

import contextlib
import gc
import http.client
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.connections import CONNECTIONS
from api.server import ApiServer, ApiServerError
from tests.api.factory import AnsweringLoop, application, bearer, free_port, serving
from tuner.daemon.board import Board, PortTaken


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose path is short enough for a unix socket."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def server(loop: AnsweringLoop, folder: Path) -> Iterator[tuple[int, Path]]:
    """Serve over both listeners; return port and path."""
    path = folder / "api.sock"
    with serving(application(loop.board), socket_path=path) as served:
        yield served.port, path
    assert not path.exists()


def over_tcp(port: int, host: str = "127.0.0.1") -> httpx.Client:
    """Return a client over TCP."""
    return httpx.Client(base_url=f"http://{host}:{port}", trust_env=False, timeout=5.0)


def over_socket(path: Path) -> httpx.Client:
    """Return a client over the unix socket."""
    transport = httpx.HTTPTransport(uds=str(path))
    return httpx.Client(base_url="http://localhost", transport=transport, timeout=5.0)


def test_both_listeners_serve_and_only_one_needs_the_token(
    server: tuple[int, Path], loop: AnsweringLoop
) -> None:
    """Over TCP a change needs the token; over the unix socket it does not, and the caller's uid is noted."""
    port, path = server

    with over_tcp(port) as tcp, over_socket(path) as unix:
        assert tcp.get("/v1/status").status_code == 200
        assert tcp.post("/v1/pause").status_code == 401
        assert unix.post("/v1/pause").status_code == 200
        assert tcp.post("/v1/resume", headers=bearer()).status_code == 200

    assert [command.who for command in loop.commands] == [
        f"uid {os.getuid()} over the unix socket",
        "token oncall from 127.0.0.1",
    ]


def test_nothing_over_tcp_passes_for_the_unix_socket(server: tuple[int, Path], loop: AnsweringLoop) -> None:
    """Proxy headers, absolute targets and a peer that is gone already do not open what the token guards."""
    port, _ = server
    head = f"Host: 127.0.0.1:{port}\r\nX-Forwarded-For: unix\r\nX-Real-IP: unix\r\nContent-Length: 0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.sendall(f"POST /v1/pause HTTP/1.1\r\n{head}".encode())
        assert b" 401 " in plain.recv(4096)
    reset = socket.create_connection(("127.0.0.1", port))
    reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    reset.sendall(f"POST /v1/pause HTTP/1.1\r\n{head}".encode())
    reset.close()
    with over_tcp(port) as tcp:
        assert tcp.get("/livez").status_code == 200

    assert loop.commands == []


def test_answers_over_tcp_are_not_delayed(server: tuple[int, Path]) -> None:
    """Answers on one connection follow each other without the 40 ms of a delayed acknowledgement."""
    connection = http.client.HTTPConnection("127.0.0.1", server[0])
    taken = []
    for _ in range(10):
        begun = time.perf_counter()
        connection.request("GET", "/v1/status")
        connection.getresponse().read()
        taken.append(time.perf_counter() - begun)
    connection.close()

    assert min(taken[1:]) < 0.03


def test_foreign_host_is_refused_over_tcp(server: tuple[int, Path]) -> None:
    """A rebound name is refused by the real server as well, and by no other listener's rules."""
    port, path = server

    with over_tcp(port) as tcp, over_socket(path) as unix:
        assert tcp.get("/v1/status", headers={"Host": "evil.example"}).status_code == 421
        assert unix.get("/v1/status", headers={"Host": "anything"}).status_code == 200


def test_socket_is_for_owner_and_group(server: tuple[int, Path]) -> None:
    """Nobody but the daemon's user and group may use the unix socket."""
    assert stat.S_IMODE(server[1].stat().st_mode) == 0o660


def test_tcp_flood_leaves_the_socket_free(server: tuple[int, Path]) -> None:
    """With every TCP connection taken, the unix socket still answers."""
    port, path = server
    taken = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS + 5)]
    try:
        with over_socket(path) as unix:
            assert unix.get("/livez").status_code == 200
    finally:
        for connection in taken:
            connection.close()


def test_who_connects_while_it_stops_is_not_left_hanging(board: Board, folder: Path) -> None:
    """A connection that comes with the end is closed as well: nobody waits for an answer that never comes."""
    path = folder / "api.sock"
    for _ in range(3):
        server = ApiServer(application(board), "127.0.0.1", 0, path)
        server.start()
        callers = []
        for _ in range(CONNECTIONS // 2):
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            caller.settimeout(5.0)
            caller.connect(str(path))
            callers.append(caller)
        assert server.stop(timeout=5.0)
        for caller in callers:
            with caller, contextlib.suppress(ConnectionResetError):
                assert caller.recv(1) == b""
    gc.collect()  # a connection that nobody closed would warn here


def test_left_over_socket_is_replaced(board: Board, folder: Path) -> None:
    """A socket file that a killed daemon left behind does not keep the next one from starting."""
    path = folder / "api.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    with serving(application(board), port=0, socket_path=path) as server:
        with over_socket(path) as unix:
            assert unix.get("/livez").status_code == 200
        assert server.stop(timeout=2.0)  # and once more at the end


def test_second_daemon_does_not_take_the_socket(board: Board, server: tuple[int, Path]) -> None:
    """A socket that a daemon answers at is left to it, with a clear error."""
    with pytest.raises(ApiServerError, match="another daemon answers"):
        ApiServer(application(board), "127.0.0.1", 0, server[1]).start()

    with over_socket(server[1]) as unix:
        assert unix.get("/livez").status_code == 200


def test_taken_port_is_named_with_a_way_out(board: Board, server: tuple[int, Path], folder: Path) -> None:
    """A taken port is an error that names the port and what to do, and leaves no socket behind."""
    other = folder / "other.sock"

    with pytest.raises(PortTaken, match=rf"port {server[0]} .* api\.port"):
        ApiServer(application(board), "127.0.0.1", server[0], other).start()

    assert not other.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.com"])  # noqa: S104 - refused
def test_public_address_is_refused(board: Board, host: str) -> None:
    """An address that other machines reach is refused before anything listens."""
    with pytest.raises(ApiServerError, match="loopback"):
        ApiServer(application(board), host, free_port(), None).start()


def test_file_in_the_way_is_not_removed(board: Board, folder: Path) -> None:
    """A file that is no socket is never deleted for one."""
    path = folder / "api.sock"
    path.write_text("precious")

    with pytest.raises(ApiServerError, match="is no socket"):
        ApiServer(application(board), "127.0.0.1", 0, path).start()

    assert path.read_text() == "precious"


def test_long_path_and_nowhere_to_listen_are_clear(board: Board, folder: Path) -> None:
    """A path that is too long, and no listener at all, are errors that say so."""
    with pytest.raises(ApiServerError, match="too long"):
        ApiServer(application(board), "127.0.0.1", 0, folder / ("x" * 120)).start()
    with pytest.raises(ApiServerError, match="nowhere to listen"):
        ApiServer(application(board), "127.0.0.1", 0, None).start()
