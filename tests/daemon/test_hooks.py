"""What a daemon tells by its hooks, and that nobody who is told makes the loop wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, MutableMapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from msgspec.structs import replace

from api.daemon import DaemonView
from api.problems import Refusals
from api.scrape import MetricsPage
from api.views import status_of
from tests.api import factory
from tests.bench import Bench, FakeServer
from tests.core.loops import HIGH
from tests.daemon.life import Life
from tests.daemon.receiver import (
    FOREVER,
    SECRETS,
    Receiver,
    gone,
    receiving,
    running,
    secret_file,
    verified,
)
from tests.factory import DEFAULT
from tests.real.support import until
from tools.hooks_page import events
from tuner.cli.status import table as status_table
from tuner.config.schema import HookTable
from tuner.daemon import hooks
from tuner.daemon.hooks import MOST_REFUSALS, MOST_WAITING, Happenings, Hook, Told, event_of
from tuner.records import Command, Event, HoldCode, TickRecord
from tuner.records.hook import HookEvent, HookHealth, HookType
from tuner.settings import Mode

ROOT = Path(__file__).parents[2]
PAUSE = Command(name="pause", who="ann")
RESUME = Command(name="resume", who="ann")
Logged = list[MutableMapping[str, Any]]


def hooked(life: Life, *tables: HookTable) -> Life:
    """Return a daemon with hooks that has not begun to live."""
    life.config = replace(life.config, hook=tables)
    life.loaded.content = life.config
    return life


def health(life: Life) -> HookHealth:
    """Return how the only hook is."""
    (found,) = life.board.hooks()
    return found


def put_to(url: str, *codes: str) -> tuple[Hook, list[str]]:
    """Return a hook with an event of each code, and their ids."""
    hook = Hook(HookTable("pager", url=url), {})
    events = [Told.now(event_of(HookType.HOLD_BEGUN, code, "", wall=0.0, mode=Mode.ACTIVE)) for code in codes]
    for one in events:
        hook.put(one)
    return hook, [one.ident for one in events]


def in_the_page(event: HookEvent) -> bool:
    """Tell whether the reference has an event under its type and code."""
    rows = [line for line in events().splitlines() if f"`{event.type}`" in line]
    prefix = f"`{event.data.code.partition('_')[0]}_` and "
    return any(f"`{event.data.code}`" in row or prefix in row for row in rows)


def paused(record: TickRecord) -> bool:
    """Tell whether a tick was held by a person."""
    return any(hold.code is HoldCode.PAUSED for hold in record.holds)


def test_a_hold_is_told_once_and_signed(active: Life, receiver: Receiver, tmp_path: Path) -> None:
    """Code, words, server, mode and the values in force; then that it is over."""
    file = secret_file(tmp_path, SECRETS[0])
    hooked(active, HookTable("pager", url=receiver.url, on=("hold",), secret_file=file))

    active.through("write", PAUSE, lambda: receiver.requests, RESUME, lambda: len(receiver.requests) == 2)

    begun, cleared = receiver.requests
    assert [one.event.type for one in (begun, cleared)] == [HookType.HOLD_BEGUN, HookType.HOLD_CLEARED]
    assert begun.ident != cleared.ident
    assert all(verified(one, SECRETS[0]) for one in (begun, cleared))
    published = json.loads((ROOT / "docs" / "hooks.schema.json").read_text(encoding="utf-8"))
    assert all(jsonschema_rs.is_valid(published, json.loads(one.body)) for one in (begun, cleared))
    assert all(in_the_page(one.event) for one in (begun, cleared))
    told, record = begun.event.data, next(one for one in active.records if paused(one))
    assert (told.code, told.mode, told.holds) == ("hold_paused", Mode.ACTIVE, (HoldCode.PAUSED,))
    assert told.text.startswith("held: ")
    assert "resume" in told.text
    assert told.server is not None
    assert told.server.identity == active.server.identity
    assert told.in_force == record.tick.reading.capacity  # type: ignore[union-attr] # a good one
    assert told.set_to is None  # safe already
    assert cleared.event.data.holds == ()


def test_the_mode_is_told(active: Life, receiver: Receiver) -> None:
    """From which to which, and the reason; a hook that is told of holds alone hears nothing of it."""
    with receiving() as other:
        hooked(
            active,
            HookTable("all", url=receiver.url),
            HookTable("holds", url=other.url, on=("hold",)),
        )
        mode = Command(name="mode", who="ann", value="advisory")
        active.through("write", mode, lambda: receiver.requests)

    event = receiver.requests[0].event
    assert event.type is HookType.MODE_CHANGED
    assert in_the_page(event)
    assert event.data.text.startswith("mode active → advisory: ann said so")
    assert event.data.mode is Mode.ADVISORY
    assert other.requests == []


def test_an_emergency_is_told_when_it_begins_and_when_its_value_is_gone() -> None:
    """Once each, however many raises it takes and steps the way back has."""
    rate = 1e6
    bench = Bench(HIGH, FakeServer(redo_rate=rate), originals=DEFAULT).in_control()
    happenings, found = Happenings(), []
    for times, seconds in ((1.0, 300), (4.0, 120), (1.0, 600)):
        bench.server.redo_rate = times * rate
        for _ in range(seconds):
            record = bench.turn()
            found += list(happenings.of(bench.state, record))

    assert [event.type for event in found] == [HookType.EMERGENCY_BEGUN, HookType.EMERGENCY_ENDED]
    assert all(in_the_page(event) for event in found)


@pytest.mark.parametrize(
    ("code", "kind"),
    [("baseline_back", HookType.BASELINE_BACK), ("baseline_left", HookType.BASELINE_LEFT)],
)
def test_the_baseline_guard_is_heard(code: str, kind: HookType) -> None:
    """What it says when the originals come back, and when that is over."""
    bench = Bench()
    record = bench.turn()
    said = Event(code=code, message="the server did worse")

    (found,) = Happenings().of(bench.state, replace(record, events=(said,)))

    assert (found.type, found.data.text) == (kind, "the server did worse")
    assert in_the_page(found)


def test_a_receiver_that_fails_gets_the_same_event_again(
    active: Life, receiver: Receiver, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same id and body under a new time; the log says once that it fails, and once that it is over."""
    monkeypatch.setattr(hooks, "LONGEST_PAUSE", 0.01)
    receiver.statuses = [500, 503, 400, 429]
    hooked(active, HookTable("pager", url=receiver.url))

    active.through("write", PAUSE, lambda: health(active).delivered == 1)

    assert len({(one.ident, one.body) for one in receiver.requests}) == 1
    assert (len(receiver.requests), health(active).failed, health(active).failing_since) == (5, 4, None)
    said = [(line["log_level"], line["event"]) for line in logged if "hook" in line["event"]]
    said = [one for one in said if one[0] != "debug"]
    assert said == [
        ("warning", "a hook failed; it is tried again, and said here once more when it delivers"),
        ("info", "a hook delivers again"),
    ]


@pytest.mark.parametrize("status", [400, 404, 410, 413])
@pytest.mark.parametrize("before", [[], [503, 503, 503]])
def test_an_event_that_its_receiver_refuses_makes_way(
    receiver: Receiver, logged: Logged, monkeypatch: pytest.MonkeyPatch, status: int, before: list[int]
) -> None:
    """After seven refusals it is given up, counted and said with the answer, and the next one goes on."""
    monkeypatch.setattr(hooks, "LONGEST_PAUSE", 0.01)
    receiver.statuses = [*before, *[status] * MOST_REFUSALS]
    hook, (refused, other) = put_to(receiver.url, "a", "b")

    until(lambda: hook.health().delivered == 1, 10.0, "the event behind it is delivered")

    assert [one.ident for one in receiver.requests] == [refused] * (len(before) + MOST_REFUSALS) + [other]
    assert (hook.health().waiting, hook.health().dropped) == (0, 1)
    (drop,) = [line for line in logged if line["event"] == "a hook dropped an event"]
    assert f"HTTP {status}" in drop["reason"]
    hook.stop(time.monotonic())


@pytest.mark.parametrize("status", [401, 403, 408, 425, 429, 500, 503, 302])
def test_what_may_be_taken_later_is_not_given_up(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """A receiver that is busy, down, or has not got a new secret yet gets the event once it is ready."""
    monkeypatch.setattr(hooks, "LONGEST_PAUSE", 0.01)
    receiver.statuses = [status] * (2 * MOST_REFUSALS)
    hook, _ = put_to(receiver.url, "a")

    until(lambda: hook.health().delivered == 1, 10.0, "the event is delivered")

    assert hook.health().dropped == 0
    hook.stop(time.monotonic())


def test_refusals_last_about_a_minute(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the receiver was silent before, a refused event holds up the next one for 63 s at most."""
    pauses: list[float] = []

    def no_time(low: float, high: float) -> float:
        pauses.append(hook._pause)
        return 0.0 * low * high

    monkeypatch.setattr("random.uniform", no_time)
    receiver.statuses = [503] * 12 + [400] * MOST_REFUSALS
    hook, _ = put_to(receiver.url, "a", "b")

    until(lambda: hook.health().delivered == 1, 10.0, "the event behind it is delivered")

    assert max(pauses) == hooks.LONGEST_PAUSE
    assert sum(pauses[12 : 12 + MOST_REFUSALS - 1]) == 63.0
    hook.stop(time.monotonic())


def test_a_hook_that_fails_is_seen(active: Life) -> None:
    """In status, in its metrics, and nowhere with the path of its URL, which may be a secret."""
    hooked(active, HookTable("pager", url="http://127.0.0.1:1/geheim"))
    texts: list[str] = []

    def script() -> None:
        active.wait_for_write()
        active.board.submit(PAUSE)
        active.wait(lambda: health(active).failed)
        record, facts = active.records[-1], active.states[-1].facts
        status = status_of(
            record, facts=facts, wall=record.tick.wall, process=None, hooks=active.board.hooks()
        )
        texts.extend(
            (
                status_table(status),
                MetricsPage(DaemonView(active.board, factory.about()), Refusals()).text().decode(),
            )
        )

    active.live(script)

    status, metrics = texts
    assert "pager has failed since" in status
    assert "Connection refused; 1 event waiting, 0 dropped" in status
    assert 'innobrim_hook_up{hook="pager"} 0.0' in metrics
    assert 'innobrim_hook_waiting_events{hook="pager"} 1.0' in metrics
    assert 'innobrim_hook_delivered_events_total{hook="pager"} 0.0' in metrics
    assert 'innobrim_hook_dropped_events_total{hook="pager"} 0.0' in metrics
    assert "geheim" not in status + metrics


def slowest(life: Life, script: Callable[[], None]) -> float:
    """Live; return the longest real time from one tick to the next, seconds."""
    at: list[float] = []
    life.board.listen(lambda _record, _events: at.append(time.monotonic()))
    life.live(script)
    return max(after - before for before, after in pairwise(at))


@pytest.mark.parametrize("who", ["receiver", "command"])
def test_the_loop_waits_for_nobody_who_hangs(
    active: Life, receiver: Receiver, tmp_path: Path, who: str
) -> None:
    """Ticks come a hundred a second all the while, and the daemon ends without them."""
    receiver.hangs = threading.Event()
    url = HookTable("hangs", url=receiver.url, timeout=60.0)
    code = f"open({str(tmp_path / 'ran')!r}, 'w').write(str(__import__('os').getpid()))"
    command = replace(running(code, FOREVER, folder=tmp_path), timeout=60.0)
    hooked(active, url if who == "receiver" else command)
    ran = tmp_path / "ran"

    def script() -> None:
        active.wait_for_write()
        active.board.submit(PAUSE)
        active.wait(lambda: receiver.requests or (ran.exists() and ran.read_text()))
        active.wait_for_ticks(200)
        assert health(active).waiting == 1

    longest = slowest(active, script)

    assert longest < 5.0  # 10 ms each, on a machine that is busy with other tests; who hangs takes a minute
    assert active.seconds_to_end < 10.0
    assert who == "receiver" or gone(int(ran.read_text()))


def test_a_full_queue_loses_the_oldest(logged: Logged) -> None:
    """A hundred wait; the others are counted, and said once."""
    table = HookTable("pager", url="http://127.0.0.1:1/")
    hook = Hook(table, {})
    events = [
        Told.now(event_of(HookType.HOLD_BEGUN, str(number), "", wall=0.0, mode=Mode.ACTIVE))
        for number in range(MOST_WAITING + 50)
    ]

    for one in events:
        hook.put(one)

    found = hook.health()
    assert (found.waiting, found.dropped) == (MOST_WAITING, 50)
    assert [one.event.data.code for one in hook._waiting] == [str(number) for number in range(50, 150)]
    drops = [line["log_level"] for line in logged if line["event"] == "a hook dropped an event"]
    assert drops.count("warning") == 1
    hook.stop(time.monotonic())
    hook.join(5.0)
    assert not hook.alive


def test_an_old_event_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody took in its time is counted as dropped, and those behind it are tried."""
    monkeypatch.setattr(hooks, "OLDEST", 0.05)
    monkeypatch.setattr(hooks, "LONGEST_PAUSE", 0.01)
    hook = Hook(HookTable("pager", url="http://127.0.0.1:1/"), {})
    hook.put(Told.now(event_of(HookType.HOLD_BEGUN, "x", "", wall=0.0, mode=Mode.ACTIVE)))

    until(lambda: hook.health().dropped == 1, 60.0, "the event is given up")

    assert hook.health().waiting == 0
    hook.stop(time.monotonic())


def test_a_reload_changes_the_hooks(active: Life, receiver: Receiver) -> None:
    """What waits goes to the new address at once, a hook that is gone gets nothing more, a new one begins."""
    with receiving() as gone_by_then:
        gone_table = HookTable("gone", url=gone_by_then.url)
        hooked(active, HookTable("pager", url="http://127.0.0.1:1/"), gone_table)

        def script() -> None:
            active.wait_for_write()
            active.board.submit(PAUSE)
            active.wait(lambda: gone_by_then.requests and active.board.hooks()[0].failed > 1)
            tables = (HookTable("pager", url=receiver.url), HookTable("new", url=receiver.url))
            active.loaded.content = replace(active.config, hook=tables)
            active.signal("SIGHUP")
            active.wait(lambda: receiver.requests)
            active.wait(lambda: [one.name for one in active.board.hooks()] == ["pager", "new"])
            active.board.submit(RESUME)
            active.wait(lambda: len(receiver.requests) == 3)

        active.live(script)

    assert len(gone_by_then.requests) == 1
    assert receiver.requests[0].ident == gone_by_then.requests[0].ident
    assert sorted(one.event.type for one in receiver.requests) == [
        "hold.begun",
        "hold.cleared",
        "hold.cleared",
    ]


def test_what_happens_at_the_end_is_told(
    active: Life, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that waits for its next attempt is tried once more when the daemon stops."""
    monkeypatch.setattr(hooks, "LONGEST_PAUSE", 1e9)
    hooked(active, HookTable("pager", url=receiver.url))
    receiver.statuses = [500] * 10
    monkeypatch.setattr("random.uniform", lambda *_: 1e6)

    active.through(
        "write", PAUSE, lambda: health(active).failed == 1, lambda: receiver.statuses.clear() is None
    )

    assert [one.ident for one in receiver.requests] == [receiver.requests[0].ident] * 2


PROGRAM = """
import sys
from lab.demo import simulated_server
from tuner.config.load import load_config
from tuner.daemon.board import Board
from tuner.daemon.daemon import Daemon
from tuner.records import Command
from tuner.system.clock import SystemClock
from tuner.system.systemd import Notifier

config = load_config(sys.argv[1], environ={}, flags={})
clock, board = SystemClock(), Board()
board.submit(Command(name="pause", who="ann"))
server, notifier = simulated_server(clock, seed=1), Notifier({})
Daemon(config, server, clock, board=board, notifier=notifier, reload=lambda: config).run()
"""


def test_what_a_killed_daemon_had_not_delivered_is_lost(receiver: Receiver, tmp_path: Path) -> None:
    """At most once: it never comes; the next daemon tells the hold that is there, as another event."""
    config = tmp_path / "innobrim.toml"
    config.write_text(
        f'[loop]\nmode = "active"\n[daemon]\nstate_directory = "{tmp_path / "state"}"\ninterval = 0.2\n'
        f'[[hook]]\nname = "pager"\nurl = "{receiver.url}"\non = ["hold"]\n',
        encoding="utf-8",
    )
    receiver.statuses = [500]

    def daemon() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - our own
            [sys.executable, "-c", PROGRAM, str(config)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    with daemon() as first:
        lost = receiver.wait(1)[0].ident
        first.kill()
    receiver.requests.clear()
    with daemon() as second:
        try:
            found = receiver.wait(1)
        finally:
            second.send_signal(signal.SIGTERM)

    assert [json.loads(one.body)["data"]["code"] for one in found] == ["hold_paused"]
    assert lost not in {one.ident for one in receiver.requests}
