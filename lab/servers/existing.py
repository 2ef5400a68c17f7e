"""A server of the user's own as a server of the lab: borrowed, never started, stopped or limited."""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pymysql
from msgspec.structs import replace

from lab.servers import claim
from lab.servers.accounts import SCHEMA
from lab.servers.base import Account, LabServer, LabServerError, ServerSpec
from lab.servers.disk import DiskLimit
from lab.servers.flavour import TRAITS
from lab.servers.inspection import Found, inspect
from lab.servers.optionfile import encryption, quoted, write_private
from tuner.records import Capacity
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import ServerError
from tuner.servers.session import Session, opened

DROP_SECONDS = 600.0
"""The longest wait for the schema to be dropped; its pages may have to leave a large buffer pool."""

READ_SECONDS = 5.0


class NotConfirmedError(LabServerError):
    """A server of the user's own that nothing has been done to, as nobody said yes."""


def _aloud(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def intent(endpoint: Endpoint, confirm_with: str) -> str:
    """Return exactly what would be done to a server, and how to say yes."""
    return (
        f"{endpoint} is a server of your own, and this WRITES to it:\n"
        f"  - it creates the schema {SCHEMA}, fills it, and puts it under as much load as the plan says;"
        " where the binary log is on, all of that goes into it and on to the replicas\n"
        "  - it changes innodb_io_capacity and innodb_io_capacity_max again and again\n"
        f"  - at the end, also after Ctrl-C, it puts both values back as found and drops {SCHEMA};"
        " after kill -9 the next bench there does\n"
        "Whatever else the server does gets slower meanwhile. It is never started, stopped or limited.\n"
        f"Nothing has been done yet. To go on, say the same with {confirm_with}."
    )


class DsnServer(LabServer):
    """The user's own server, while a bench has it.

    ``start`` looks at it, takes the schema and reads ``spec`` from it; ``stop`` puts everything back.
    """

    begins = "looking at the server, which is taken as it is"
    borrowed = True

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        confirmed: bool,
        confirm_with: str = "--yes",
        say: Callable[[str], None] = _aloud,
    ) -> None:
        """Prepare, without connecting.

        Args:
            endpoint: where it is and who we are there.
            confirmed: the user has read what would be done and said yes.
            confirm_with: how he says yes, for the message.
            say: told what is put back, and what could not be.

        Raises:
            NotConfirmedError: not confirmed.
        """
        super().__init__()
        if not confirmed:
            raise NotConfirmedError(intent(endpoint, confirm_with))
        self.admin = self.daemon = Account(endpoint.user, endpoint.password)
        self.host, self.port = endpoint.host, 0 if endpoint.socket else endpoint.port
        self.socket = Path(endpoint.socket) if endpoint.socket else None
        self._endpoint = endpoint
        self._say = say
        self._originals: Capacity | None = None

    def start(self) -> None:
        """Look at the server, and take the schema for the time of the bench.

        Raises:
            LabServerError: it cannot be used for this, or the schema holds what is not ours.
        """
        found = self.look()
        self.flavour = found.flavour
        try:
            self.query(f"SET GLOBAL innodb_io_capacity = {found.in_force.io_capacity}")
            atexit.register(self.stop)
            self._originals = claim.take(self._run, self._put_back, found.in_force, found.started)
        except pymysql.MySQLError as error:
            raise LabServerError(
                f"{self._endpoint} refused what the bench has to do ({error.args[-1]}); the account needs"
                f" {TRAITS[found.flavour].privileges} on *.*, and everything on {SCHEMA}.*"
            ) from error
        self.spec = ServerSpec(
            redo_capacity=found.redo_capacity,
            buffer_pool=found.buffer_pool,
            io_capacity=self._originals.io_capacity,
            io_capacity_max=self._originals.io_capacity_max,
        )

    def stop(self) -> None:
        """Put C and M back and drop the schema; what could not be done is said, and tried again at exit."""
        if self._originals is None:
            return
        try:
            self._put_back(self._originals)
            claim.release(self._run)
        except (pymysql.MySQLError, OSError, LabServerError) as error:
            self._say(
                f"NOT PUT BACK on {self._endpoint}: {error}\nBy hand: SET GLOBAL innodb_io_capacity_max ="
                f" {self._originals.io_capacity_max}; SET GLOBAL innodb_io_capacity ="
                f" {self._originals.io_capacity}; DROP SCHEMA IF EXISTS {SCHEMA}; or let the next bench do it"
            )
            return
        self._say(f"put back on {self._endpoint}: C/M {self._originals}, and the schema {SCHEMA} is dropped")
        self._originals = None
        atexit.unregister(self.stop)

    def wait_ready(self, seconds: float = 120.0) -> None:
        """Return at once: it answered when the schema was taken; ``seconds`` is not used up."""

    def alive(self) -> bool:
        """Return whether it answers."""
        with contextlib.suppress(pymysql.MySQLError, OSError):
            return bool(self.query("SELECT 1"))
        return False

    def log(self, lines: int = 30, *, stamped: bool = False) -> str:  # noqa: ARG002 - there is nothing to choose
        """Return nothing: its error log is its owner's."""
        return ""

    def kill(self) -> None:
        """Refuse."""
        self._refuse("killed")

    def terminate(self) -> None:
        """Refuse."""
        self._refuse("stopped")

    def pause(self) -> None:
        """Refuse."""
        self._refuse("frozen")

    def unpause(self) -> None:
        """Refuse."""
        self._refuse("frozen")

    def crash(self) -> float:
        """Refuse."""
        self._refuse("killed")

    def restart(self) -> tuple[float, float]:
        """Refuse."""
        self._refuse("stopped")

    @property
    def disk_limit(self) -> DiskLimit:
        """No limit, ever."""
        return DiskLimit()

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        """Limit nothing, and say so where something was asked for."""
        if limit == DiskLimit():
            return ()
        return (f"disk not limited to {limit}: {self._endpoint} is a server of your own",)

    def connect(self, account: Account | None = None, *, timeout: float = 5.0) -> pymysql.Connection[Any]:
        """Return a new autocommit connection; every call on it is bounded by ``timeout``, seconds."""
        login = account or self.admin
        endpoint = replace(self._endpoint, user=login.user, password=login.password)
        try:
            connection = opened(endpoint, timeout, connect_timeout=min(timeout, READ_SECONDS))
        except ServerError as error:
            raise LabServerError(str(error)) from error
        connection.connect()
        return connection

    def admin_endpoint(self) -> Endpoint:
        """Return where the server is, as its owner named it."""
        return self._endpoint

    def option_file(self, path: Path) -> Path:
        """Write the daemon's login, the server's address and its encryption as an option file, mode 0600."""
        address = f"socket={quoted(str(self.socket))}" if self.socket else f"host={quoted(self.host)}"
        port = f"port={self.port}\n" if not self.socket else ""
        return write_private(
            path,
            f"[client]\nuser={quoted(self.daemon.user)}\npassword={quoted(self.daemon.password)}\n"
            f"{address}\n{port}{encryption(self._endpoint, path.parent)}",
        )

    def look(self) -> Found:
        """Return what matters of the server; nothing is written to it.

        Raises:
            LabServerError: it does not answer, or must not be taken.
        """
        session = Session(replace(self._endpoint, timeout=READ_SECONDS))
        try:
            return inspect(session)
        except ServerError as error:
            raise LabServerError(str(error)) from error
        finally:
            session.close()

    def _run(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement that may drop or wait for a large table."""
        return self.query(statement, timeout=DROP_SECONDS)

    def _put_back(self, originals: Capacity) -> None:
        """Set both values at once: the load has ended by then, and its dirty pages go with the schema."""
        self.set_capacity(originals.io_capacity, originals.io_capacity_max)

    def _refuse(self, what: str) -> NoReturn:
        raise LabServerError(f"{self._endpoint} is a server of your own: it is never {what}")
