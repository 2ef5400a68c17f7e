"""The first command that anybody runs, as it is written in README.md."""

from __future__ import annotations

import subprocess

import pytest

from lab.bench.daemon import PROGRAM
from lab.servers.base import free_port

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


def test_the_demo_shows_what_the_loop_does_to_a_real_server() -> None:
    """It fills a server of its own, loads it, is active within a minute, and ends with before and after.

    What it says to try works as it stands: the status, and the check of its server.
    """
    command = [PROGRAM, "demo", "--server", "mysql", "--seconds", "75", "--port", str(free_port())]
    said: list[str] = []
    tried: dict[str, subprocess.CompletedProcess[str]] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603 - our own program
        assert running.stdout is not None
        for line in running.stdout:
            said.append(line)
            words = line.removeprefix("try:").split()
            if words[:2] in (["innobrim", "status"], ["innobrim", "check"]):
                tried[words[1]] = subprocess.run(  # noqa: S603 - our own program
                    [PROGRAM, *words[1:]], capture_output=True, text=True, timeout=60.0, check=False
                )
        assert running.wait(timeout=60.0) == 0, "".join(said)

    assert "no reading" not in "".join(said)
    assert {name: one.returncode for name, one in tried.items()} == {"status": 0, "check": 0}, tried
    rows = {line.split("  ")[0]: line.split()[-3:] for line in said}
    before, ours, _ratio = map(float, rows["row changes/s"])
    assert before > 0.0
    assert ours > 0.0
    assert int(rows["changes"][-1]) >= 1
