"""A thread of the daemon that dies is told, and without the journal's nothing is written."""

from __future__ import annotations

import os
import signal
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from api.daemon import DaemonView
from api.problems import Refusals
from api.scrape import MetricsPage
from tests.api import factory
from tests.daemon.life import Life
from tuner.daemon import daemon
from tuner.daemon.persistence import Persistence
from tuner.daemon.workers import WORKERS
from tuner.records import DecisionKind, HoldCode, Remedy
from tuner.settings import Mode, Settings


def broken(*_: object, **__: object) -> Any:  # noqa: ANN401 - in the place of anything
    """Fail as a defect of ours would."""
    raise ArithmeticError("a defect")


def kill(name: str, life: Life, patch: pytest.MonkeyPatch) -> None:
    """Have one of the daemon's threads die of a defect."""
    at_work = life.daemon
    if name == "journal":
        patch.setattr(at_work._memory._journal._keeper, "write", broken)
        at_work._memory._journal._wake.set()
    else:
        patch.setattr(at_work._supervisor, "_report", broken)
        with at_work._supervisor._news:
            at_work._supervisor._news.notify()


def failed(logged: Sequence[MutableMapping[str, Any]]) -> list[MutableMapping[str, Any]]:
    """Return what was said of chores that failed."""
    return [line for line in logged if "a chore failed" in line["event"]]


def seen(life: Life) -> DaemonView:
    """Return what the probes ask."""
    return DaemonView(life.board, factory.about())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # it is what is tested
@pytest.mark.parametrize("name", ["journal", "optimiser"])
def test_a_dead_thread_is_told_within_seconds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever thread it is: /readyz says no and names it, its metric is 0, and the log has an error."""
    life = Life(tmp_path, Settings())

    def script() -> None:
        life.wait_for_ticks(5)
        assert dict(life.board.tally().workers)[name]
        kill(name, life, monkeypatch)
        life.wait(lambda: life.board.tally().dead)
        assert life.board.tally().dead == (name,)
        ready = seen(life).ready()
        assert not ready.ok
        assert name in ready.reason
        text = MetricsPage(seen(life), Refusals()).text().decode()
        assert f'innobrim_worker_up{{worker="{name}"}} 0.0' in text

    with capture_logs() as logged:
        life.live(script)

    (said,) = [line for line in logged if line["event"] == "a thread of the daemon is dead"]
    assert (said["log_level"], said["thread"]) == ("error", name)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # it is what is tested
def test_without_its_journal_the_loop_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps originals and decisions is dead: nothing more is written, whatever comes, a park neither."""
    life = Life(tmp_path, Settings(mode=Mode.ACTIVE))
    written: list[int] = []

    def script() -> None:
        life.wait_for_write()
        kill("journal", life, monkeypatch)
        life.wait(lambda: life.records[-1].holds)
        written.append(len(life.server.applied))
        (held,) = life.records[-1].holds
        assert held.code is HoldCode.NOT_WRITER
        assert "'journal' is dead" in held.reason
        assert held.remedies == (Remedy.RESTART_DAEMON,)
        life.server.density *= 10.0
        life.wait_for_ticks(30)

    life.live(script)

    assert len(life.server.applied) == written[0]
    assert life.records[-1].decision.kind is DecisionKind.KEEP


@pytest.mark.parametrize("defect", ["SIGHUP", "snapshot"])
def test_a_chore_that_fails_is_logged_and_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: str
) -> None:
    """A defect costs that one turn: the log names the chore, its thread lives, and the next reload counts."""
    life = Life(tmp_path, Settings())
    if defect == "snapshot":
        monkeypatch.setattr(daemon, "SNAPSHOT_SECONDS", 0.05)
        monkeypatch.setattr(Persistence, "snapshot", broken)

    def script() -> None:
        life.wait_for_ticks(3)
        if defect == "SIGHUP":
            with monkeypatch.context() as spoilt:
                spoilt.setattr(life.daemon._notifier, "reloading", broken)
                os.kill(os.getpid(), signal.SIGHUP)
                life.wait(lambda: failed(logged))
        life.wait(lambda: len(failed(logged)) >= (2 if defect == "snapshot" else 1))
        life.loaded.content = replace(life.config, loop=Settings(set_point=0.6))
        os.kill(os.getpid(), signal.SIGHUP)
        life.wait(lambda: life.states[-1].settings.set_point == 0.6)
        assert life.board.tally().dead == ()

    with capture_logs() as logged:
        life.live(script)

    assert {line["chore"] for line in failed(logged)} == {"broken" if defect == "snapshot" else "reload"}


def test_a_dead_api_refuses_whoever_asks(tmp_path: Path) -> None:
    """A probe of an API whose thread died is refused at once, as its listeners are closed."""

    class Api:
        alive = True
        stopped = 0

        def start(self) -> None:
            pass

        def reload(self) -> None:
            pass

        def stop(self, timeout: float) -> bool:
            del timeout
            self.stopped += 1
            return True

    life, api = Life(tmp_path, Settings()), Api()

    def script() -> None:
        life.wait_for_ticks(5)
        api.alive = False
        life.wait(lambda: api.stopped)
        assert life.board.tally().dead == ("api",)

    life.live(script, api=api)


def test_every_thread_is_looked_after(tmp_path: Path) -> None:
    """A daemon with an API has all of the threads that the metric names."""
    life = Life(tmp_path, Settings())
    life.live(lambda: life.wait_for_ticks(3))

    assert set(life.board.tally().workers) == set(WORKERS) - {"api"}
    assert life.board.tally().dead == ()
