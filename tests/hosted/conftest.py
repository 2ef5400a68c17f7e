"""A desk beside an account whose group has the engine's defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosted.account import Account, Desk, Server


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Return one where 200/2000 is in force by default."""
    server = Server()
    return Desk(tmp_path, server, Account(server), monkeypatch)
