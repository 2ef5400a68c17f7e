"""A reader leaves every connection but its own alone, also after the server it reads has restarted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lab.servers import reader as module
from lab.servers.base import SqlClient
from lab.servers.flavour import LabServerError
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unreachable
from tuner.servers.session import Session


def test_a_lost_connection_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number is another client's once mysqld has restarted, so no later session may know it."""
    made: list[Endpoint] = []

    class Lost(Session):
        def __init__(self, endpoint: Endpoint) -> None:
            super().__init__(endpoint)
            made.append(endpoint)

        def query(self, _statement: str) -> Sequence[tuple[Any, ...]]:
            raise Unreachable("connection refused")

    monkeypatch.setattr(module, "Session", Lost)
    server = SqlClient()
    found = module.Reader(server)
    for tries in (1, 2):
        with pytest.raises(LabServerError, match="connection refused"):
            found.read()
        assert len(made) == tries + 1
    assert made[0].user == server.admin.user
