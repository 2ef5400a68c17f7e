"""What a server of the user's own is taken for before a bench borrows it, by the answers of real ones."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lab.servers.existing import inspect
from lab.servers.flavour import LabServerError
from tests.servers.fixtured import FILES, Fixtured, Rows
from tuner.servers.fixture import load

POOL = 2**31


class Lent(Fixtured):
    """A fixture's server with other variables, and what a bench asks for beside them.

    Attributes:
        channels: replication channels.
    """

    def __init__(self, name: str, **variables: str) -> None:
        fixture = load(FILES[name])
        first = fixture.readings[0]
        changed = replace(first, variables={**first.variables, **variables})
        super().__init__(replace(fixture, readings=(changed,)))
        self.channels: list[tuple[Any, ...]] = []

    def query(self, statement: str) -> Rows:
        """Answer."""
        if "innodb_buffer_pool_size" in statement:
            return [(POOL, None)]
        if "SLAVES STATUS" in statement:
            return self.channels
        if "replication_connection_configuration" in statement:
            return [(len(self.channels),)]
        if "replication_group_members" in statement:
            return []
        return super().query(statement)


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mariadb-11.8.6"])
def test_a_server_that_takes_writes_is_borrowed(name: str) -> None:
    """A primary of either kind is taken, with its buffer pool and without objections."""
    found = inspect(Lent(name))

    assert not found.read_only
    assert (found.buffer_pool, found.channels, found.group_role, found.writer) == (POOL, 0, "", None)


@pytest.mark.parametrize("said", ["ON", "NO_LOCK", "NO_LOCK_NO_ADMIN"])
def test_no_kind_of_read_only_is_borrowed(said: str) -> None:
    """MariaDB 12 has three values of read_only that refuse a load; a bench begins on none of them."""
    with pytest.raises(LabServerError, match="read-only"):
        inspect(Lent("mariadb-11.8.6", read_only=said))


def test_super_read_only_alone_is_enough() -> None:
    """A MySQL that refuses the writes of administrators as well is not borrowed."""
    with pytest.raises(LabServerError, match="read-only"):
        inspect(Lent("mysql-9.7.4", super_read_only="ON"))


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mariadb-11.8.6"])
def test_a_replica_is_not_borrowed(name: str) -> None:
    """A channel, at work or not, is enough, however the family shows it."""
    server = Lent(name)
    server.channels = [("",)]

    with pytest.raises(LabServerError, match="it is a replica"):
        inspect(server)
