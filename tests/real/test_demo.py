"""The first command that anybody runs, as it is written in README.md."""

from __future__ import annotations

import subprocess

import pytest

from lab.bench.daemon import PROGRAM
from lab.servers.base import free_port

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


def test_the_demo_shows_what_the_loop_does_to_a_real_server() -> None:
    """It fills a server of its own, loads it, is active within a minute, and ends with before and after."""
    command = [PROGRAM, "demo", "--server", "mysql", "--seconds", "75"]
    ran = subprocess.run(  # noqa: S603 - our own program
        [*command, "--port", str(free_port())], capture_output=True, text=True, timeout=420.0, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "no reading" not in ran.stdout
    rows = {line.split("  ")[0]: line.split()[-3:] for line in ran.stdout.splitlines()}
    before, ours, _ratio = map(float, rows["row changes/s"])
    assert before > 0.0
    assert ours > 0.0
    assert int(rows["changes of M"][-1]) >= 1
