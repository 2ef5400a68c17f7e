"""Calls of ``innobrim simulate``, and a scenario short enough for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from tuner.cli.simulate import simulate

if TYPE_CHECKING:
    from pathlib import Path

SHORT = """
name = "short"
description = "for tests"
seconds = 420
measured_from = 240
[disk]
timeline = [{ at = 0, write_iops = 1200 }]
"""


def scenario_file(directory: Path, text: str = SHORT) -> str:
    """Write a scenario of one's own, and return its path as the command takes it."""
    path = directory / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def simulated(*arguments: str) -> Result:
    """Return what the command came to."""
    return CliRunner().invoke(simulate, arguments)


def parsed_result(*arguments: str) -> dict[str, Any]:
    """Return the object that the command prints with ``--json``."""
    found = simulated(*arguments, "--json")
    assert found.exit_code == 0, found.output
    parsed: dict[str, Any] = json.loads(found.stdout)
    return parsed
