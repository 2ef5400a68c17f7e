"""What every server of the lab can do: start, end and be waited for, limits, counts, crash and restart."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql

from lab.servers.accounts import SCHEMA, Account, account_statements
from lab.servers.client import SqlClient
from lab.servers.disk import DeviceCounters, DiskLimit
from lab.servers.flavour import TRAITS, Flavour
from lab.servers.spec import MEBIBYTE, LabServerError, ServerSpec
from lab.servers.timing import initialisation

__all__ = [
    "MEBIBYTE",
    "SCHEMA",
    "Account",
    "DeviceCounters",
    "DiskLimit",
    "Flavour",
    "LabServer",
    "LabServerError",
    "ServerSpec",
    "account_statements",
]

END_SECONDS = 900.0
"""The longest shutdown or start waited for: a slow disk writes a pool of dirty pages for minutes."""

Ask = Callable[[str], Iterable[tuple[Any, ...]]]

OWN_COUNTERS = "the server's own counters"
_STATUS = ("Innodb_data_reads", "Innodb_data_writes", "Innodb_data_read", "Innodb_data_written")


class LabServer(SqlClient, ABC):
    """One server: started on entry, gone with its data on exit where it is a throw-away one.

    Attributes:
        spec: how it is started.
        flavour: what it is, as far as starting, filling and ending it goes.
        begins: what ``start`` does, for people.
        borrowed: it is somebody's own, and only what a bench is about is changed in it.
    """

    begins = "starting the server"
    borrowed = False

    def __init__(self, spec: ServerSpec | None = None, flavour: Flavour = Flavour.MYSQL) -> None:
        super().__init__()
        self.spec = spec or ServerSpec()
        self.flavour = flavour
        self.tls = TRAITS[flavour].tls

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def start(self) -> None:
        """Start the server, with its old data where it had some; returns before it answers."""

    @abstractmethod
    def stop(self) -> None:
        """Remove the server and its data; never raises, safe to call twice."""

    @abstractmethod
    def kill(self) -> None:
        """SIGKILL mysqld and return when it is gone; the data stays for the next ``start``."""

    @abstractmethod
    def terminate(self) -> None:
        """SIGTERM mysqld, which then shuts down in order; returns at once."""

    @abstractmethod
    def pause(self) -> None:
        """Freeze every thread of the server: it keeps its connections but answers nothing."""

    @abstractmethod
    def unpause(self) -> None:
        """Let a frozen server run on."""

    @abstractmethod
    def alive(self) -> bool:
        """Return whether the process is there."""

    @abstractmethod
    def log(self, lines: int = 30, *, stamped: bool = False) -> str:
        """Return the last lines of the server's error log.

        Args:
            lines: how many.
            stamped: each begins with when it was written, where somebody else than the server knows.
        """

    @abstractmethod
    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        """Limit this server's disk from now on, also in the middle of a run; what is None is lifted.

        Returns:
            A sentence for everything that could not be limited; none when all is in force.
        """

    @property
    @abstractmethod
    def disk_limit(self) -> DiskLimit:
        """The disk limit that was asked for last."""

    def limit_write_iops(self, writes: int | None) -> str | None:
        """Limit the disk's writes per second, other limits as they are; None lifts it.

        Returns:
            None when the limit is in force, else a sentence saying why it is not.
        """
        return "; ".join(self.limit_disk(replace(self.disk_limit, write_iops=writes))) or None

    def device(self, ask: Ask | None = None) -> DeviceCounters | None:
        """Return what the server has had its disk do so far, None where nobody knows.

        Counted by its control group where there is one, else by the server itself: its
        ``Innodb_data_reads``, ``_writes``, ``_read`` and ``_written``, which leave out the binary log and
        know nothing of merged or split operations. The source stays the same for one server.

        Args:
            ask: runs a statement; None is on a connection of its own, which is dear where it is asked often.
        """
        names = ", ".join(f"'{name}'" for name in _STATUS)
        with contextlib.suppress(pymysql.MySQLError, OSError, KeyError):
            rows: dict[str, str] = dict(
                (ask or self.query)(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
            )
            reads, writes, read, written = (int(rows[name]) for name in _STATUS)
            return DeviceCounters(reads, writes, read, written, OWN_COUNTERS)
        return None

    def crash(self) -> float:
        """SIGKILL mysqld, start it again and return how long InnoDB took until it was ready, seconds.

        By the server's error log, from the start of InnoDB's initialisation to its end, which an empty
        redo log makes as short as it gets. The disk limit stays; C and M are those of the spec again.
        MariaDB and MySQL 5.6 write whole seconds into their logs; in a container Docker knows better.

        Raises:
            LabServerError: it is not ours to kill, or does not come back.
        """
        self.kill()
        self.start()
        self.wait_ready(END_SECONDS)
        return initialisation(self)

    def restart(self) -> tuple[float, float]:
        """Shut mysqld down in order and start it again; a load that is at work ends with its connections.

        Returns:
            Seconds from the order to the end of its process, and seconds from the start to the first answer.

        Raises:
            LabServerError: it is not ours to stop, or does not end or come back.
        """
        began = time.monotonic()
        if TRAITS[self.flavour].shutdown_statement:
            self.query("SHUTDOWN")
        else:
            self.terminate()
        self.wait_gone(END_SECONDS)
        ended = time.monotonic()
        self.start()
        self.wait_ready(END_SECONDS)
        return ended - began, time.monotonic() - ended

    def wait_gone(self, seconds: float = 30.0) -> None:
        """Return when the process has ended by itself, for example after SHUTDOWN.

        Raises:
            LabServerError: it still runs after so many seconds.
        """
        end = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > end:
                raise LabServerError(f"mysqld still runs after {seconds:.0f} s")
            time.sleep(0.05)  # nothing announces the end of a process that is not a child

    def data_directory(self) -> Path | None:
        """Return where the server's data can be reached from here, None where it cannot."""
        return None

    def wait_ready(self, seconds: float = 120.0) -> None:
        """Return when the server answers a query.

        Raises:
            LabServerError: it ended, or did not answer within so many seconds.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                self.query("SELECT 1")
            except (pymysql.MySQLError, OSError) as error:
                if not self.alive():
                    raise LabServerError(f"mysqld ended while starting:\n{self.log()}") from error
                if time.monotonic() > end:
                    raise LabServerError(
                        f"mysqld did not answer within {seconds:.0f} s: {error}\n{self.log()}"
                    ) from error
                time.sleep(0.1)  # a closed port announces nothing that could be waited for
            else:
                return
