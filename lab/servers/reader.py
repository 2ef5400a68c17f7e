"""One server's readings by the adapter of its family, on a connection of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pymysql
from msgspec.structs import replace

from lab.servers.spec import LabServerError
from tuner.servers.adapter import Moment
from tuner.servers.detect import detect
from tuner.servers.port import ServerError
from tuner.servers.session import Session
from tuner.servers.surroundings import Around

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.servers.client import SqlClient
    from tuner.records import Facts, Sample
    from tuner.servers.adapter import Adapter

SECONDS = 3.0
"""For connecting, and for each statement."""


class Reader:
    """Reads a server that may end and start again in between; nothing but ``close`` ends its connection."""

    def __init__(self, server: SqlClient) -> None:
        """Connect with the first reading."""
        self._endpoint = replace(server.admin_endpoint(), timeout=SECONDS)
        self._session = Session(self._endpoint)
        self._known: tuple[Facts, Adapter] | None = None

    def facts(self) -> Facts:
        """Return what the server is, as found at the first reading.

        Raises:
            LabServerError: nothing answers, or no server that can be read.
        """
        return self._recognised()[0]

    def read(self) -> Sample:
        """Return one reading; the surroundings are not looked at.

        Raises:
            LabServerError: no reading could be had; it says why.
        """
        adapter = self._recognised()[1]
        began = time.monotonic()
        try:
            answers = self._session.pairs(adapter.counter_query)
            now, wall = time.monotonic(), time.time()
            answers |= self._session.pairs(adapter.status_query)
            off = adapter.off(answers)
            if off:
                raise LabServerError(f"InnoDB counters are off: {', '.join(off)}")
            return adapter.sample(
                answers,
                Moment(
                    monotonic=now,
                    wall=wall,
                    read_seconds=time.monotonic() - began,
                    around=Around(),
                    writer=True,
                    undo_truncating=False,
                ),
            )
        except (ServerError, pymysql.MySQLError) as error:
            self._forget()
            raise LabServerError(str(error)) from error
        except (KeyError, ValueError) as error:
            raise LabServerError(f"unexpected answer: {error}") from error

    def ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Run another statement over the same connection; raises what the session raises."""
        return self._session.query(statement)

    def close(self) -> None:
        """Close the connection; never raises."""
        self._session.close()

    def _recognised(self) -> tuple[Facts, Adapter]:
        if self._known is None:
            try:
                self._known = detect(self._session)
            except ServerError as error:
                self._forget()
                raise LabServerError(str(error)) from error
        return self._known

    def _forget(self) -> None:
        """Begin anew with the next reading.

        A session that went on would end the connection it lost, by its number; after a restart of the server
        that is one of the load's, which has the same account.
        """
        self._session.close()
        self._session = Session(self._endpoint)
