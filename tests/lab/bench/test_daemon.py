"""The daemon that a bench starts is never left behind."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.fixtures import missing

BENCH = """
import sys, time
from pathlib import Path
from lab.bench import daemon
from lab.servers.base import Account, LabServer

class Server:
    host, port, socket, daemon = "127.0.0.1", 3307, None, Account("nobody")
    option_file = LabServer.option_file

daemon.PROGRAM = sys.argv[1]
with daemon.Daemon(Server()) as child:
    print(child._process.pid, flush=True)
    time.sleep(60)
"""

CHILD = """#!/bin/sh
trap 'exit 0' TERM
while :; do read -r _ < "$0.wait"; done
"""

LIMIT = 20.0


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
