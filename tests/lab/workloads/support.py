"""A server that is none: sysbench pretends to talk to it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.real.fixtures import missing

PRETEND = "--mysql-dry-run=on"


@dataclass
class NoServer:
    host: str = "127.0.0.1"
    port: int = 3307
    socket: Path | None = None
    admin: Account = field(default_factory=lambda: Account("load"))

    def query(self, _statement: str) -> list[tuple[int]]:
        return [(1,)]


def no_server(**given: object) -> LabServer:
    """Return an address, an account and a query that always succeeds."""
    server: LabServer = NoServer(**given)  # type: ignore[assignment, arg-type]  # the load looks at nothing else
    return server


def need_sysbench() -> str:
    """Return the path of sysbench, or skip."""
    program = shutil.which("sysbench")
    if program is None:
        missing("the package sysbench")
    return program
