"""No configuration of the machine that the tests run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.config import load


@pytest.fixture(autouse=True)
def _no_file_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(load, "DEFAULT_PATH", str(tmp_path / "none.toml"))
