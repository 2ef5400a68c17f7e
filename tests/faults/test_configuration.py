"""What people and programs send: a configuration that is rubbish, a flood of questions."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import threading
from pathlib import Path

import pytest

from tests.faults.catalogue import Group, fault
from tests.faults.harness import LATEST_TICK, QuickDaemon
from tests.faults.sharing import Sharing, longest_gap
from tests.real.installation import UnixConnection
from tests.real.support import until

pytestmark = pytest.mark.real

RUBBISH = {
    "not TOML": b"[loop]\nset_point = ",
    "not UTF-8": bytes(range(256)),
    "did you mean dwell_seconds": b"[loop]\ndwel_seconds = 20.0",
    "must be a number above 0.2": b"[loop]\nset_point = 7",
    "is above": b"[loop]\nmin_io_capacity_max = 5000\nmax_io_capacity_max = 400",
    "unknown section": b"[kitchen]\nsink = true",
    "recursion": b"a = " + b"[" * 10_000,
    "no such file": None,
}
"""Content of the file, None without one, by what the refusal says of it."""

REFUSED = "configuration refused"

FLOOD = 24
"""Requests at a time."""

FLOOD_TICKS = 10
PATHS = ("/v1/history?start=-21600&step=1", "/v1/events?limit=1000", "/v1/decisions?limit=600", "/metrics")


@fault(
    Group.CONFIGURATION,
    what="SIGHUP with an unusable configuration, or none",
    left="the loop's values: the old configuration stays",
    back="not interrupted; the log has the reason",
    invariants=(1, 3),
)
def test_the_configuration_is_rubbish(sharing: Sharing) -> None:
    """Each kind of rubbish is refused whole with its reason, and the next good file counts."""
    daemon = sharing.daemon
    good = daemon.config.read_bytes()
    before, settings = daemon.await_ticks(1), daemon.ask("GET", "/v1/config")
    for number, (said, content) in enumerate(RUBBISH.items(), start=1):
        if content is None:
            daemon.config.unlink()
        else:
            daemon.config.write_bytes(content)
        daemon.hang_up()
        await_refusals(daemon, number)
        last = [line for line in daemon.log().splitlines() if REFUSED in line][-1]
        assert said in last
    daemon.config.write_bytes(good)
    after = daemon.await_ticks(2)
    assert daemon.ask("GET", "/v1/config") == settings
    assert settings is not None
    for name in ("mode", "originals", "holds"):
        assert after[name] == before[name]
    sharing.back()


def await_refusals(daemon: QuickDaemon, count: int) -> None:
    """Return once a configuration was refused so often."""
    until(lambda: daemon.log().count(REFUSED) == count, 60.0, daemon.log)


@fault(
    Group.CONFIGURATION,
    what="The API is flooded with its most expensive requests",
    left="the loop's values",
    back="not interrupted: no tick is late",
    invariants=(9,),
)
def test_the_api_is_flooded(sharing: Sharing) -> None:
    """Two dozen clients that ask for all there is, all the time, delay no tick and no write."""
    daemon = sharing.daemon
    socket = daemon.state / "api.sock"
    end, answers = threading.Event(), itertools.count()
    began = sharing.now()
    clients = [threading.Thread(target=ask, args=(socket, end, answers)) for _ in range(FLOOD)]
    for one in clients:
        one.start()
    try:
        sharing.await_tick(lambda record: record.tick.number > began + FLOOD_TICKS, began)
    finally:
        end.set()
        for one in clients:
            one.join(10.0)
    ticks = [one for one in sharing.back() if began < one.tick.number <= began + FLOOD_TICKS]
    assert next(answers) > FLOOD, "nobody was answered"
    assert longest_gap(ticks) <= LATEST_TICK
    assert daemon.resident() < 150 * 1024 * 1024


def ask(socket: Path, end: threading.Event, answers: itertools.count[int]) -> None:
    """Ask until told to stop; being turned away is an answer."""
    for path in itertools.cycle(PATHS):
        if end.is_set():
            return
        with contextlib.suppress(OSError, http.client.HTTPException):
            with contextlib.closing(UnixConnection(socket)) as connection:
                connection.request("GET", path)
                connection.getresponse().read()
            next(answers)
