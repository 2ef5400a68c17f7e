"""A daemon in active mode beside a server that answers oddly, each a process of its own.

``HOSTILE_SECONDS=3300 pytest tests/servers/test_hostile_daemon.py``: docs/results/hostile.md.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers.hostile import configured

SECONDS = float(os.environ.get("HOSTILE_SECONDS", "4"))
FIRST_SECONDS = 60.0
"""A daemon that shares its processors is up, and asks, within these."""

RESIDENT_LIMIT = 120 * 1024 * 1024
STOP_SECONDS = 2.0
WRITE = re.compile(r"SET GLOBAL (innodb_io_capacity|innodb_io_capacity_max) = (\d+)")
LOWEST, HIGHEST = 100, 20_000
"""The default limits of C and M."""


def wrong_writes(statements: list[str]) -> Iterator[str]:
    """Yield the statements that set another variable than C and M, or one of them beyond the limits."""
    for statement in statements:
        found = WRITE.fullmatch(statement)
        if found is None or not LOWEST <= int(found[2]) <= HIGHEST:
            yield statement


def resident(daemon: subprocess.Popen[bytes], seconds: float) -> int:
    """Return a daemon's memory at most, bytes, while it lives for so long."""
    end, most = time.monotonic() + seconds, 0
    while daemon.poll() is None and time.monotonic() < end:
        pages = Path(f"/proc/{daemon.pid}/statm").read_text(encoding="ascii").split()[1]
        most = max(most, int(pages) * os.sysconf("SC_PAGE_SIZE"))
        time.sleep(min(5.0, max(0.1, end - time.monotonic())))  # the time itself is what is waited for
    return most


def test_a_daemon_lives_beside_a_hostile_server(tmp_path: Path) -> None:
    """Among odd replies: no traceback, no wrong write, no file sent, bounded memory, and an orderly end."""
    odd = ("--seed", "3", "--calm", "2", "--share", "0.3")
    with (
        subprocess.Popen(  # noqa: S603 - a program of our own
            [sys.executable, "-m", "tests.servers.hostile", *odd],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server,
        (tmp_path / "log").open("wb") as log,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        config = configured(tmp_path, int(server.stdout.readline()))
        program = (sys.executable, "-c", "from tuner.cli.main import main; main()")
        daemon = subprocess.Popen([*program, "run", "--config", str(config)], stdout=log, stderr=log)  # noqa: S603 - the same
        try:
            assert select.select([server.stdout], [], [], FIRST_SECONDS)[0], "no odd reply was asked for"
            assert server.stdout.readline() == "odd\n"
            most = resident(daemon, SECONDS)
            daemon.send_signal(signal.SIGTERM)
            began = time.monotonic()
            code = daemon.wait(20.0)
            stopped = time.monotonic() - began
        finally:
            daemon.kill()
        server.stdin.close()
        told: dict[str, Any] = json.loads(server.stdout.read())
    said = (tmp_path / "log").read_text(encoding="utf-8", errors="replace")

    assert list(wrong_writes(told["writes"])) == []
    assert told["files"] == 0
    assert "Traceback (most recent call last)" not in said
    assert 0 < most < RESIDENT_LIMIT
    assert code == 0, said
    assert stopped < STOP_SECONDS
