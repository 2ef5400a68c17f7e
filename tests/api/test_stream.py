"""The stream, over real connections: what comes, in which order, to whom, and who is cut off."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import api.stream
from api import connections
from api.access import Access
from api.problems import ApiError, Refusals
from api.server import ApiServer
from api.stream import Streams
from api.tokens import Role, Tokens, let_anonymous_read, make, prepare, revoke
from tests.api.factory import FACTS, START, application, bearer, missed, record, serving
from tuner.daemon.board import RING_TICKS, Board
from tuner.records import Capacity, Decision, DecisionKind, Event
from tuner.settings import Settings

Message = tuple[str, Any, str]
"""Name, data, and id where it has one; a comment has only a name."""


class Site:
    """A board that is served over TCP, and the ticks put on it."""

    def __init__(self, board: Board, server: ApiServer) -> None:
        self.board = board
        self.port = server.port
        self.server = server
        self.number = 0

    def tick(self, count: int = 1, **changes: Any) -> None:  # noqa: ANN401 - any field
        """Publish so many further ticks."""
        for _ in range(count):
            self.number += 1
            self.board.publish(record(self.number, **changes), Settings(), FACTS)

    @contextlib.contextmanager
    def stream(self, last_id: str | None = None, token: str | None = None) -> Iterator[Iterator[Message]]:
        """Open a stream; yield its messages."""
        headers = ({"Last-Event-ID": last_id} if last_id else {}) | (bearer(token) if token else {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10.0)
        try:
            connection.request("GET", "/v1/stream", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert (answer.getheader("Content-Type") or "").startswith("text/event-stream")
            yield messages(line.decode().rstrip("\n") for line in answer)
        finally:
            connection.close()

    def status(self, path: str = "/v1/stream") -> httpx.Response:
        """Return what a stream is refused with."""
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", trust_env=False, timeout=5.0)


def messages(lines: Iterator[str]) -> Iterator[Message]:
    """Yield a stream's messages and comments."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            yield line[1:].strip(), None, ""
        elif line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields["event"], json.loads(fields["data"]), fields.get("id", "")
            fields = {}
        else:
            fields = {}


def until(found: Iterator[Message], number: int) -> list[Message]:
    """Return the messages up to the tick with that number."""
    taken: list[Message] = []
    for message in found:
        taken.append(message)
        if message[0] == "tick" and message[1]["number"] == number:
            return taken
    raise AssertionError(f"the stream ended before tick {number}: {taken[-3:]}")


def drain(connection: socket.socket) -> None:
    """Read until the peer ends the connection in good order."""
    while connection.recv(65_536):
        pass


@contextlib.contextmanager
def served(board: Board, **changes: Any) -> Iterator[Site]:  # noqa: ANN401 - any part of an application
    """Serve a board with one tick on it."""
    with serving(application(board, **changes)) as server:
        found = Site(board, server)
        found.tick()
        yield found


@pytest.fixture
def site(board: Board) -> Iterator[Site]:
    """Serve a board with one tick on it, to anybody on this machine."""
    with served(board) as found:
        yield found


def test_begins_with_the_newest_tick_and_goes_on(site: Site) -> None:
    """A new client has the newest tick and its decision at once, and each further one as it happens."""
    with site.stream() as stream:
        first = until(stream, 1)
        site.tick(2)
        rest = until(stream, 3)

    assert [name for name, _, _ in first] == ["decision", "tick"]
    assert [(name, data["number"]) for name, data, _ in rest] == [("tick", 2), ("tick", 3)]


def test_a_tick_has_what_the_charts_need(site: Site) -> None:
    """A tick has the numbers of the history under the same names, and null where nothing was read."""
    columns = set(site.status("/v1/history").json()["columns"]) - {"time"}
    with site.stream() as stream:
        read = until(stream, 1)[-1][1]
        site.tick(reading=missed(2))
        unread = until(stream, 2)[-1][1]

    assert columns <= set(read["values"])
    assert read["wall"] == START + 1
    assert read["values"]["age_ratio"] == pytest.approx(60 / 85)
    assert read["values"]["io_capacity_max"] == record().tick.reading.io_capacity_max  # type: ignore[union-attr] # a good reading
    assert {name for name, value in unread["values"].items() if value is not None} == {"set_point"}
    assert "did not answer" in unread["missed"]


def test_events_and_new_decisions_come_before_their_tick(site: Site) -> None:
    """An event has the number of /v1/events, and a decision comes only where it is news."""
    new = Decision(kind=DecisionKind.SET, reason="raise", detail="up", target=Capacity(250, 500))
    with site.stream() as stream:
        until(stream, 1)
        site.tick(events=(Event(code="hold", message="paused", who="a person", wall=START),))
        site.tick(decision=new)
        found = until(stream, 3)

    assert [name for name, _, _ in found] == ["event", "tick", "decision", "tick"]
    assert found[0][1] == site.status("/v1/events").json()["events"][-1]
    assert found[2][1]["decision"]["target"] == {"io_capacity": 250, "io_capacity_max": 500}


def test_a_client_that_comes_back_misses_nothing(site: Site) -> None:
    """With the id of its last message a client gets every tick and event that came meanwhile."""
    with site.stream() as stream:
        last_id = until(stream, 1)[-1][2]
    site.tick(events=(Event(code="mode", message="active", who="a person", wall=START),))
    site.tick(120)

    with site.stream(last_id) as stream:
        found = until(stream, 122)

    assert [data["number"] for name, data, _ in found if name == "tick"] == list(range(2, 123))
    assert [data["code"] for name, data, _ in found if name == "event"] == ["mode"]


def test_what_is_gone_is_said_to_be(site: Site) -> None:
    """A client that was away for too long, or before a restart, is told that it has missed something."""
    with site.stream() as stream:
        last_id = until(stream, 1)[-1][2]
    site.tick(RING_TICKS + 5)

    with site.stream(last_id) as stream:
        late = next(stream)
    with site.stream("1234-77") as stream:
        other = next(stream)

    assert late == ("gap", {"after": 1, "first": 7}, "")
    assert other == ("gap", {"after": None, "first": 7}, "")


def test_fifty_streams_have_the_same_and_one_more_is_refused(site: Site) -> None:
    """Fifty clients get every tick; the next one is told to come later, and may once one has left."""
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(site.stream()) for _ in range(50)]
        site.tick(3)
        found = [until(stream, 4) for stream in streams]
        refused = site.status()
    end = time.monotonic() + 5.0
    again = False
    while not again and time.monotonic() < end:  # a server sees that a client has left soon after
        with contextlib.suppress(AssertionError), site.stream() as stream:
            again = bool(until(stream, 4))

    assert all(one[1:] == found[0][1:] for one in found)
    assert refused.status_code == 503
    assert "50 streams" in refused.json()["detail"]
    assert again


def test_silence_is_filled_with_comments(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the loop does not tick a client still sees that the daemon is there."""
    monkeypatch.setattr(api.stream, "HEARTBEAT_SECONDS", 0.05)
    with site.stream() as stream:
        until(stream, 1)

        assert next(stream) == ("heartbeat", None, "")


def test_a_client_that_does_not_read_is_cut_off(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes nothing loses its connection, and no other client waits for it."""
    monkeypatch.setattr(connections, "STALLED_SECONDS", 0.2)
    monkeypatch.setattr(connections, "LOOK_SECONDS", 0.05)
    large = (Event(code="note", message="x" * 200_000, who="test", wall=START),)
    with socket.socket() as deaf, site.stream() as other:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(5.0)
        deaf.connect(("127.0.0.1", site.port))
        deaf.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode())
        until(other, 1)
        for _ in range(40):
            site.tick(events=large)
            until(other, site.number)
        (listener,) = (server.listener for server in site.server._servers)
        end = time.monotonic() + 10.0
        while len(listener.open) > 1 and time.monotonic() < end:
            time.sleep(0.02)
        with contextlib.suppress(ConnectionResetError):
            drain(deaf)  # what the system had taken for it, and then the end


def test_the_loop_is_never_made_to_wait(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the API's thread stuck for good, publishing goes on, and what was dropped is said to be."""
    stuck, released = threading.Event(), threading.Event()

    def block(_: object) -> None:
        stuck.set()
        released.wait(20.0)
        raise RuntimeError

    with site.stream() as stream:
        until(stream, 1)
        with monkeypatch.context() as patched:
            patched.setattr(api.stream, "tick_of", block)
            site.tick()
            assert stuck.wait(5.0)
            began = time.monotonic()
            site.tick(2000)
            taken = time.monotonic() - began
        released.set()
        site.tick()
        found = until(stream, site.number)

    assert taken < 10.0
    assert found[0][0] == "gap"


def test_the_end_of_the_daemon_ends_every_stream(site: Site) -> None:
    """A stop sends what is there, closes the streams in good order and takes no time-out."""
    with site.stream() as stream:
        until(stream, 1)
        site.tick()
        began = time.monotonic()
        assert site.server.stop(timeout=5.0)
        taken = time.monotonic() - began
        rest = list(stream)

    assert [data["number"] for name, data, _ in rest if name == "tick"] == [2]
    assert taken < 1.0


def test_a_tick_right_before_the_end_is_sent(board: Board) -> None:
    """A stop that follows a tick at once, before that is made bytes, loses nothing that has happened."""

    async def stopped_at_once() -> list[bytes]:
        streams = Streams(board, "1", Refusals())
        board.publish(record(1), Settings(), FACTS)
        place, gap = streams.place(None)
        sent = streams.messages(place, gap)
        found = [await anext(sent), await anext(sent)]
        board.publish(record(2), Settings(), FACTS)
        streams.end()
        return [*found, *[one async for one in sent]]

    found = asyncio.run(stopped_at_once())
    assert [b"id: 1-2" in one for one in found] == [False, False, True]


def test_no_peer_takes_every_stream(board: Board) -> None:
    """Another machine gets its share, this machine most, and there is room for somebody else then."""
    refusals = Refusals()
    streams = Streams(board, "a", refusals)

    def opened(peer: str) -> int:
        count = 0
        with contextlib.suppress(ApiError):
            while True:
                streams.enter(api.stream.EventStream(streams, streams.messages(0, None)), peer)
                count += 1
        return count

    assert opened("127.0.0.1") == api.stream.STREAMS_OF_THIS_MACHINE
    assert opened("10.0.0.1") == api.stream.STREAMS_OF_A_PEER
    assert 0 < opened("uid 1000") < api.stream.STREAMS_OF_THIS_MACHINE
    assert refusals.counts["streams"] == 3


def heard(stream: Iterator[Message]) -> list[int]:
    """Return the ticks that come before a stream ends."""
    found: list[int] = []
    with contextlib.suppress(ConnectionResetError):
        for name, data, _ in stream:
            if name == "tick":
                found.append(data["number"])
    return found


class Guarded:
    """A register of tokens in a directory.

    Attributes:
        wall: what time it is for the tokens, Unix time.
    """

    def __init__(self, directory: Path) -> None:
        self.wall = START
        self.directory = directory
        self.register = Tokens(
            prepare(directory), monotonic=map(float, itertools.count()).__next__, wall=lambda: self.wall
        )

    def revoke(self) -> None:
        """Take the token back."""
        revoke(self.directory, "grafana")

    def expire(self) -> None:
        """Let its time pass."""
        self.wall += 3600.0


@pytest.mark.parametrize("end", [Guarded.revoke, Guarded.expire])
def test_a_stream_ends_with_its_token(board: Board, tmp_path: Path, end: Callable[[Guarded], None]) -> None:
    """A token that is no good any more hears no further tick, and others hear on."""
    guarded = Guarded(tmp_path)
    lasting = (tmp_path / "token").read_text().strip()
    grafana = make(tmp_path, "grafana", Role.READ, expires=START + 60.0)
    with (
        served(board, access=Access(guarded.register)) as site,
        site.stream(token=grafana) as theirs,
        site.stream(token=lasting) as ours,
    ):
        until(theirs, 1)
        until(ours, 1)
        end(guarded)
        site.tick()

        until(ours, 2)
        assert heard(theirs) == []


def test_what_a_revoked_token_has_not_taken_yet_is_dropped(board: Board, tmp_path: Path) -> None:
    """What lies in the system's buffer for a client goes with its token."""
    guarded = Guarded(tmp_path)
    ours = (tmp_path / "token").read_text().strip()
    grafana = make(tmp_path, "grafana", Role.READ, expires=START + 60.0)
    large = (Event(code="note", message="x" * 50_000, who="test", wall=START),)
    with (
        served(board, access=Access(guarded.register)) as site,
        socket.socket() as slow,
        site.stream(token=ours) as other,
    ):
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(10.0)
        slow.connect(("127.0.0.1", site.port))
        head = f"Host: 127.0.0.1:{site.port}\r\nAuthorization: Bearer {grafana}\r\n\r\n"
        slow.sendall(f"GET /v1/stream HTTP/1.1\r\n{head}".encode())
        assert b" 200 " in slow.recv(64)
        site.tick(events=large)
        until(other, site.number)
        guarded.revoke()
        site.tick()
        until(other, site.number)

        with pytest.raises(ConnectionResetError):
            drain(slow)


def test_streams_without_a_token_end_when_reading_is_closed(board: Board, tmp_path: Path) -> None:
    """Who revokes anonymous means those as well who are reading just now."""
    guarded = Guarded(tmp_path)
    with served(board, access=Access(guarded.register)) as site, site.stream() as stream:
        until(stream, 1)
        let_anonymous_read(tmp_path, allowed=False)
        site.tick()

        assert heard(stream) == []
