"""Finding the server's host takes no longer than configured, whatever the system's resolver does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unreachable
from tuner.servers.resolver import Address, Resolver, UnresolvedError, first_of
from tuner.servers.session import Session

SHORT = 0.02
LONG = 20.0
"""Seconds that no test waits for: an answer comes before."""


class Stuck:
    """A system's resolver that answers when it is let go, or never.

    Attributes:
        asked: hosts that were looked up.
        answer: what it will say; an exception is raised.
        go: lets it answer.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: list[Address] | Exception = [(socket.AF_INET, ("192.0.2.1", 3306))]
        self.go = threading.Event()

    def __call__(self, host: str, _port: int) -> list[Address]:
        """Look a host up."""
        self.asked.append(host)
        assert self.go.wait(LONG)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    """Return a resolver that hangs until the test lets it go, at its end at the latest."""
    made = Stuck()
    yield made
    made.go.set()
    for thread in lookups():
        thread.join(LONG)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Return a socket that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def lookups() -> list[threading.Thread]:
    """Return the threads that look a host up."""
    return [thread for thread in threading.enumerate() if thread.name == "innobrim-resolver"]


def test_a_resolver_that_hangs_ends_the_attempt_in_time(stuck: Stuck) -> None:
    """The message names the host and the limit, and says what would help."""
    session = Session(Endpoint(user="innobrim", host="db1.example", timeout=SHORT), resolver=Resolver(stuck))
    with pytest.raises(Unreachable, match=r"'db1\.example' was not resolved within 0\.02 s") as caught:
        session.query("SELECT 1")

    assert "server.timeout" in caught.value.fix
    assert "give an address" in caught.value.fix


def test_a_resolver_that_hangs_stacks_up_no_threads_and_its_late_answer_serves(stuck: Stuck) -> None:
    """However often a server is asked for, one lookup hangs; its answer is used once, and then asked anew."""
    resolver = Resolver(stuck)
    for _ in range(3):
        with pytest.raises(UnresolvedError, match="db1"):
            resolver.addresses("db1", 3306, SHORT)
    assert len(lookups()) == 1
    stuck.go.set()

    assert resolver.addresses("db1", 3306, LONG) == stuck.answer
    assert stuck.asked == ["db1"]
    assert resolver.addresses("db1", 3306, LONG) == stuck.answer
    assert stuck.asked == ["db1"] * 2


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "192.0.2.7"])
def test_an_address_is_no_question(host: str, stuck: Stuck) -> None:
    """An address in figures needs no lookup, so a resolver that hangs does not matter."""
    ((_, address),) = Resolver(stuck).addresses(host, 3306, SHORT)

    assert address[:2] == (host, 3306)
    assert stuck.asked == []


def test_what_the_system_says_is_said(stuck: Stuck) -> None:
    """A host that is not known is named with the system's own words."""
    stuck.go.set()
    stuck.answer = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    session = Session(Endpoint(user="innobrim", host="db1", timeout=LONG), resolver=Resolver(stuck))
    with pytest.raises(Unreachable, match=r"'db1'.*Name or service not known") as caught:
        session.query("SELECT 1")

    assert caught.value.fix == "correct the host name"


def test_what_is_found_is_connected_to(stuck: Stuck, listener: socket.socket) -> None:
    """Beyond the lookup nothing changes: a port that says nothing is told from a host that is not found."""
    port = listener.getsockname()[1]
    stuck.go.set()
    stuck.answer = [(socket.AF_INET, ("127.0.0.1", port))]
    where = Endpoint(user="innobrim", host="db1", port=port, timeout=0.2)
    with pytest.raises(Unreachable, match=r"no greeting within 0\.2 s"):
        Session(where, resolver=Resolver(stuck)).query("SELECT 1")


def test_the_next_address_is_tried(listener: socket.socket) -> None:
    """A host with two addresses of which one refuses is reached over the other."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        refuses = closed.getsockname()
    found = first_of(
        [(socket.AF_INET, refuses), (socket.AF_INET, listener.getsockname())], time.monotonic() + LONG
    )
    with found:
        assert found.getpeername() == listener.getsockname()


def test_a_lookup_that_took_all_of_the_time_leaves_none(listener: socket.socket) -> None:
    """The limit is for finding the host and connecting together."""
    with pytest.raises(TimeoutError, match="finding the host took all of the time"):
        first_of([(socket.AF_INET, listener.getsockname())], time.monotonic())
