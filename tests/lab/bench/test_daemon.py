"""The daemon that a bench starts is never left behind, and rests where it says so."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from lab.bench.daemon import DaemonProcess, holding
from lab.servers import owner
from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.bench import Bench as Loop
from tests.factory import ACTIVE
from tests.real.fixtures import missing
from tuner.records import DecisionKind, Hold, HoldCode, TickRecord
from tuner.settings import Mode

BENCH = """
import sys, time
from pathlib import Path
from lab.bench import daemon
from lab.servers.base import LabServer
from lab.servers.spec import Account

class Server:
    host, port, socket, daemon = "127.0.0.1", 3307, None, Account("nobody")
    option_file = LabServer.option_file

daemon.PROGRAM = sys.argv[1]
with daemon.DaemonProcess(Server()) as child:
    print(child._process.pid, flush=True)
    time.sleep(60)
"""

CHILD = """#!/bin/sh
trap 'exit 0' TERM
while :; do read -r _ < "$0.wait"; done
"""

LIMIT = 20.0


def test_a_killed_benchs_daemon_leaves_nothing_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory says what it is and whose, so that the next bench removes it, and never a live one's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    child = DaemonProcess(cast("LabServer", None))
    directory = child.state.parent
    assert directory.name.startswith("innobrim-lab-daemon-")
    assert owner.remove_directories(tmp_path) == 0
    (directory / "owner").write_text("|".join((*owner.mine().split("|")[:3], "1")))
    assert owner.remove_directories(tmp_path) == 1
    assert not directory.exists()
    child.__exit__(None, None, None)


def test_a_daemon_does_not_outlive_a_bench_that_was_killed(tmp_path: Path) -> None:
    """Nobody goes on writing to a server of the user's own: the daemon gets SIGTERM, upon which it parks."""
    if shutil.which("setpriv") is None:
        missing("setpriv")
    child = tmp_path / "innobrim"
    child.write_text(CHILD, encoding="utf-8")
    child.chmod(0o700)
    os.mkfifo(f"{child}.wait")
    bench = subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", BENCH, str(child)], stdout=subprocess.PIPE, text=True
    )
    assert bench.stdout is not None
    with bench.stdout:
        pid = int(bench.stdout.readline())
        watched = os.pidfd_open(pid)
        try:
            bench.kill()
            bench.wait(LIMIT)
            ended, _, _ = select.select([watched], [], [], LIMIT)
            if not ended:
                signal.pidfd_send_signal(watched, signal.SIGKILL)
                pytest.fail("the daemon is still there")
        finally:
            os.close(watched)


def test_a_command_whose_starter_is_gone_already_does_not_begin() -> None:
    """A bench killed in the moment in which it starts a daemon or a load leaves none behind either."""
    if shutil.which("setpriv") is None:
        missing("setpriv")
    ours = owner.ending_with_us()
    command = [*ours, "echo", "begun"]
    begun = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603 - our own code
    elsewhere = ["sh", "-c", '"$@"; exit', "sh", *command]  # whose parent is another process than the starter
    left = subprocess.run(elsewhere, capture_output=True, text=True, timeout=LIMIT, check=False)  # noqa: S603 - our own code

    assert begun.stdout == "begun\n"
    assert left.stdout == ""


def test_the_daemons_configuration_is_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon that is proved reads its address, its option file and active mode from valid TOML."""

    class Fake:
        host, port, socket, daemon = "127.0.0.1", 3307, None, Account("innobrim", "x")

    (tmp_path / 'a "b"').mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / 'a "b"'))
    child = DaemonProcess(cast("LabServer", Fake()), policy="fixed")
    found = tomllib.loads(child.configuration(dwell_seconds=5.0))
    child.__exit__(None, None, None)

    assert found["server"]["port"] == 3307
    assert found["server"]["defaults_file"] == str(child.state.parent / "client.cnf")
    assert found["loop"] == {"mode": "active", "policy": "fixed", "dwell_seconds": 5.0}
    assert (found["api"]["port"], found["api"]["socket"]) == (0, "-")


@pytest.fixture(scope="module")
def right() -> Loop:
    """Return a daemon on a server that another one has brought to its set-point."""
    before = Loop(ACTIVE).in_control()
    before.server.combines = 0.3
    before.turns(2400)
    before.server.applied.clear()
    bench = Loop(ACTIVE, before.server).in_control()
    bench.turns(300)
    return bench


def test_a_daemon_whose_first_m_was_right_says_so(right: Loop) -> None:
    """It never writes, and its newest tick is all that tells it from one that has not looked yet."""
    assert right.server.applied == []
    assert holding(right.record)
    assert not holding(None)
    assert not any(holding(record) for record in right.records[:2]), "before it had a look"


@pytest.mark.parametrize("name", ["mode", "holds", "decision", "estimate", "away"])
def test_who_may_not_write_or_is_under_way_holds_nothing(right: Loop, name: str) -> None:
    """A hold, advisory mode, a write, or an age far from the set-point is no rest."""
    record = right.record
    assert record.estimate is not None
    changes = {
        "mode": {"mode": Mode.ADVISORY},
        "holds": {"holds": (Hold(HoldCode.PAUSED, 0.0, "by a person"),)},
        "decision": {"decision": replace(record.decision, kind=DecisionKind.SET, reason="raise")},
        "estimate": {"estimate": None},
        "away": {"estimate": replace(record.estimate, age_ratio=record.estimate.age_ratio - 0.1)},
    }
    changed: TickRecord = replace(record, **changes[name])
    assert not holding(changed)
