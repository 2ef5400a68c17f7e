"""No configuration of the machine that the tests run on, and what reads one of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.support import Given, OptionFile
from tuner.config import load


@pytest.fixture(autouse=True)
def _no_file_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(load, "DEFAULT_PATH", str(tmp_path / "none.toml"))


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """Return what loads a configuration."""
    return Given(tmp_path / "c.toml")


@pytest.fixture
def options(tmp_path: Path) -> OptionFile:
    """Return what reads credentials with an option file."""
    return OptionFile(tmp_path / "my.cnf")
