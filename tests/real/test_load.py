"""What two hundred requests a second and fifty streams do to the loop: nothing that a tick would show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.servers.base import LabServer
from tests.api.factory import free_port
from tests.real.clients import Asking, Listening, Ticks, ticks
from tests.real.installation import Innobrim
from tests.real.support import Work

pytestmark = pytest.mark.real

SECONDS = 60.0
RATE = 200.0
STREAMS = 49
"""With the one that the ticks are read from, as many as there may be."""

MEBIBYTE = 1024 * 1024
MOST_RESIDENT = 75 * MEBIBYTE
MOST_GROWTH = 4 * MEBIBYTE
MOST_JITTER = 0.1
"""Seconds at the 99th percentile, under load; a tick is a second."""


@pytest.fixture(scope="module")
def daemon(
    server: LabServer, work: Work, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Innobrim, int]]:
    """Yield a daemon and its port; without load the machine is left to the daemon and its clients."""
    work.at(None)
    port = free_port()
    with Innobrim(server, tmp_path_factory.mktemp("load")) as found:
        found.start("--api-port", str(port))
        found.await_ticks(15)
        yield found, port


@pytest.fixture(scope="module")
def quiet(daemon: tuple[Innobrim, int]) -> Ticks:
    """Return the ticks of a minute in which one client listens."""
    return ticks(daemon[1], SECONDS)


def test_two_hundred_requests_a_second(
    daemon: tuple[Innobrim, int], quiet: Ticks, figures: list[str]
) -> None:
    """All are answered, no tick is left out or late, and the daemon's memory stays what it was."""
    innobrim, port = daemon
    with Asking(port, RATE) as asking:
        ticks(port, SECONDS / 6)
        before = innobrim.resident()
        asking.count_anew()
        loaded = ticks(port, SECONDS)
        answers = asking.answers
    after = innobrim.resident()

    total = sum(answers.values())
    figures.append(f"one stream: {quiet}")
    figures.append(f"with {total / SECONDS:.0f} requests/s: {loaded}; {after / MEBIBYTE:.1f} MiB")
    assert set(answers) == {200}
    assert total > 0.9 * RATE * SECONDS
    _judge(loaded, before, after)


def test_fifty_streams(daemon: tuple[Innobrim, int], quiet: Ticks, figures: list[str]) -> None:
    """All get their ticks, none of which is left out or late, and the daemon's memory stays what it was."""
    innobrim, port = daemon
    with Listening(port, STREAMS) as listening:
        ticks(port, SECONDS / 6)
        before = innobrim.resident()
        listening.count_anew()
        loaded = ticks(port, SECONDS)
        fewest, ended = listening.fewest, listening.ended
    after = innobrim.resident()

    figures.append(f"one stream: {quiet}")
    figures.append(f"with {STREAMS + 1} streams: {loaded}; {after / MEBIBYTE:.1f} MiB")
    assert ended == 0
    assert fewest >= SECONDS - 2
    _judge(loaded, before, after)


def _judge(loaded: Ticks, before: int, after: int) -> None:
    assert loaded.missed == 0
    assert len(loaded.numbers) >= SECONDS - 2
    assert loaded.at(0.99) < MOST_JITTER
    assert after - before <= MOST_GROWTH
    assert after <= MOST_RESIDENT
