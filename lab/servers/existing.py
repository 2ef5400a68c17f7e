"""A server of the user's own: named by a DSN, looked at, borrowed; never started, stopped or limited."""

from __future__ import annotations

import atexit
import contextlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import SplitResult, unquote, urlsplit

import pymysql
from msgspec.structs import replace

from lab.servers import claim
from lab.servers.base import Account, LabServer, ServerSpec, quoted, write_private
from lab.servers.disk import DiskLimit
from lab.servers.flavour import SCHEMA, TRAITS, Flavour, LabServerError, read_version
from tuner.config.credentials import read_credentials
from tuner.config.optionfile import MODES, PREFERRED, WORDS
from tuner.config.schema import ConfigError, ServerSection
from tuner.records import ENABLE_COUNTERS, Capacity, Facts
from tuner.servers.adapter import OFF, Adapter
from tuner.servers.detect import detect
from tuner.servers.endpoint import USUAL, VERSIONS, Endpoint
from tuner.servers.port import ServerError
from tuner.servers.session import Session, opened, whole
from tuner.servers.writerlock import WRITER_LOCK

SCHEME = "mysql://"
SHAPE = "write mysql://USER@HOST:PORT, mysql://USER@/PATH/TO/SOCKET, or the path of the socket"
PASSWORD_PLACES = "INNOBRIM_PASSWORD, MYSQL_PWD or an option file"  # noqa: S105 - no password
_WITH_PASSWORD = re.compile(r"[a-z]+://[^@]*:[^@]*@", re.IGNORECASE)

Ask = Callable[[str], str]
"""Asks a person for a password; gets the question."""


class DsnError(LabServerError):
    """Words that name no server; nothing was tried."""


def parse_dsn(
    text: str, *, environ: Mapping[str, str], defaults_file: str | None = None, ask: Ask | None = None
) -> Endpoint:
    """Return the endpoint that a DSN names.

    The password comes from INNOBRIM_PASSWORD, the systemd credential, the option file, MYSQL_PWD, or from
    asking, in this order; the account from the DSN, else from the option file.

    Args:
        text: ``mysql://user@host:port/``, ``mysql://user@/path/to/socket`` or ``/path/to/socket``.
        environ: the environment.
        defaults_file: a MySQL option file with a ``[client]`` group.
        ask: asks for the password where no other place has one; None never asks.

    Raises:
        DsnError: it names no server, or has a password in it.
        LabServerError: the option file cannot be read.
    """
    where = _server(text, defaults_file)
    try:
        found = read_credentials(where, environ=environ)
    except ConfigError as error:
        raise LabServerError(str(error)) from error
    password = found.password or environ.get("MYSQL_PWD", "")
    if not password and ask is not None:
        password = ask(f"Password of {found}")
    return replace(found, password=password)


def _server(text: str, defaults_file: str | None) -> ServerSection:
    if _WITH_PASSWORD.match(text):
        raise DsnError(
            f"a password in a DSN can be seen by everybody; put it into {PASSWORD_PLACES}, and {SHAPE}"
        )
    if text.startswith("/"):
        return ServerSection(socket=text, defaults_file=defaults_file)
    if not text.startswith(SCHEME):
        raise DsnError(f"{text!r} names no server: {SHAPE}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise DsnError(f"{text!r}: {error}; {SHAPE}") from error
    _nothing_else(text, parts)
    if "%00" in text:
        raise DsnError(f"{text!r} has a zero byte; {SHAPE}")
    user = unquote(parts.username) if parts.username else None
    if parts.hostname and "%2f" in parts.hostname.lower():
        raise DsnError(f"{text!r}: a path is not escaped; {SHAPE}")
    if parts.hostname:
        return ServerSection(host=parts.hostname, port=port, user=user, defaults_file=defaults_file)
    if len(parts.path) > 1:
        return ServerSection(socket=unquote(parts.path), user=user, defaults_file=defaults_file)
    raise DsnError(f"{text!r} has neither host nor socket: {SHAPE}")


def _nothing_else(text: str, parts: SplitResult) -> None:
    """Refuse what would be ignored."""
    if parts.query or parts.fragment:
        raise DsnError(f"{text!r}: nothing may follow the address; {SHAPE}")
    if parts.hostname and parts.path.strip("/"):
        schema = unquote(parts.path.strip("/"))
        raise DsnError(f"{text!r} names the schema {schema!r}; no schema is taken but one of our own")


def encryption(endpoint: Endpoint, directory: Path) -> str:
    """Return an endpoint's encryption as lines of an option file; the server's public key gets a file.

    Args:
        endpoint: whose.
        directory: for that file.
    """
    details = endpoint.tls_details
    level = MODES.index(endpoint.tls)
    given = {
        "ssl-mode": next(word for word, place in WORDS.items() if place == level)
        if level != PREFERRED
        else "",
        "ssl-ca": endpoint.tls_ca,
        "ssl-capath": details.authorities,
        "ssl-cert": details.certificate,
        "ssl-key": details.key,
        "ssl-cipher": details.ciphers,
    }
    words = {name: value for name, value in given.items() if value}
    if (details.lowest, details.highest) != (USUAL.lowest, USUAL.highest):
        spoken = list(VERSIONS)
        between = spoken[spoken.index(details.lowest) : spoken.index(details.highest) + 1]
        words["tls-version"] = ",".join(between)
    if endpoint.public_key:
        words["server-public-key-path"] = str(
            write_private(directory / "public_key.pem", endpoint.public_key)
        )
    return "".join(f"{name}={quoted(value)}\n" for name, value in words.items())


_CHANNELS = (
    "SELECT COUNT(*) FROM performance_schema.replication_connection_configuration"
    " WHERE CHANNEL_NAME NOT LIKE 'group_replication%'"
)
_MEMBER = (
    "SELECT MEMBER_ROLE FROM performance_schema.replication_group_members"
    " WHERE MEMBER_ID = @@GLOBAL.server_uuid AND MEMBER_STATE <> 'OFFLINE'"
)
_VALUES = f"SELECT @@GLOBAL.innodb_buffer_pool_size, IS_USED_LOCK('{WRITER_LOCK}')"
_SLAVES = {Flavour.MYSQL_56: "SHOW SLAVE STATUS", Flavour.MARIADB: "SHOW ALL SLAVES STATUS"}
"""Where no table tells what channels there are; a row is one."""


class Found(NamedTuple):
    """What matters of a server.

    Attributes:
        in_force: C and M.
        started: when mysqld started, Unix time.
        redo_capacity: in force, bytes.
        buffer_pool: bytes.
        read_only: it takes no writes from everybody.
        channels: replication channels that bring it changes, at work or not.
        group_role: PRIMARY or SECONDARY in a replication group, else empty.
        writer: connection that holds the tuner's lock, None when nobody does.
        disabled_counters: InnoDB counters that are needed and off.
        blockers: why it cannot be tuned at all.
        flavour: what it is.
    """

    in_force: Capacity
    started: float
    redo_capacity: int
    buffer_pool: int
    read_only: bool = False
    channels: int = 0
    group_role: str = ""
    writer: int | None = None
    disabled_counters: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    flavour: Flavour = Flavour.MYSQL


def inspect(session: Session) -> Found:
    """Return what a server is, where it can be borrowed.

    Raises:
        LabServerError: it cannot be, or the account may not look.
        ServerError: nothing answers, or it is not supported.
    """
    facts, adapter = detect(session)
    try:
        found = _ask(session, facts, adapter)
    except pymysql.MySQLError as error:
        raise LabServerError(
            f"{session.endpoint} does not show what is needed ({error.args[-1]}); grant the account SELECT on"
            " performance_schema.*, or where the server has no tables for replication what it says it wants"
        ) from error
    refusal = objection(found)
    if refusal is not None:
        raise LabServerError(f"{session.endpoint} is not taken: {refusal}")
    return found


def objection(found: Found) -> str | None:
    """Return why a server cannot be borrowed and what would be right, None when it can."""
    enable = "; ".join(ENABLE_COUNTERS)
    reasons: tuple[tuple[object, str], ...] = (
        (found.blockers, "; ".join(found.blockers)),
        (
            found.channels,
            "it is a replica, where a load of its own would part it from its source; take the source",
        ),
        (
            found.group_role not in ("", "PRIMARY"),
            f"it is {found.group_role} in its replication group; take the primary",
        ),
        (
            found.read_only,
            "it is read-only (read_only or super_read_only is ON); take one that can be written to",
        ),
        (
            found.writer is not None,
            f"connection {found.writer} of an InnoBrim daemon has its writer lock; end that daemon first",
        ),
        (
            found.disabled_counters,
            f"{len(found.disabled_counters)} InnoDB counters are off that a bench has to read: {enable}",
        ),
    )
    return next((words for wrong, words in reasons if wrong), None)


def _ask(session: Session, facts: Facts, adapter: Adapter) -> Found:
    version = read_version(f"Ver {facts.version}")
    flavour = Flavour.MYSQL if version is None else version.flavour
    statements = (adapter.counter_query, adapter.status_query)
    answers = {name: value for one in statements for name, value in session.pairs(one).items()}
    buffer_pool, writer = session.query(_VALUES)[0]
    return Found(
        in_force=Capacity(int(answers["innodb_io_capacity"]), int(answers["innodb_io_capacity_max"])),
        started=facts.started,
        redo_capacity=int(adapter.redo(answers)["redo_capacity"]),
        buffer_pool=whole(buffer_pool),
        read_only=not OFF.issuperset((answers["read_only"], answers.get("super_read_only", "0"))),
        channels=_channels(session, flavour),
        group_role=_group_role(session) if flavour is Flavour.MYSQL else "",
        writer=None if writer is None else whole(writer),
        disabled_counters=facts.disabled_counters,
        blockers=facts.blockers,
        flavour=flavour,
    )


def _channels(session: Session, flavour: Flavour) -> int:
    if flavour in _SLAVES:
        return len(session.query(_SLAVES[flavour]))
    return whole(session.query(_CHANNELS)[0][0])


def _group_role(session: Session) -> str:
    """Return the role in a replication group; before 8.0 a member that is not primary is read-only."""
    member = session.query(_MEMBER)
    return str(member[0][0]) if member else ""


DROP_SECONDS = 600.0
"""The longest wait for the schema to be dropped; its pages may have to leave a large buffer pool."""

READ_SECONDS = 5.0


class NotConfirmedError(LabServerError):
    """A server of the user's own that nothing has been done to, as nobody said yes."""


def _aloud(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def intent(endpoint: Endpoint) -> str:
    """Return exactly what would be done to a server, and how to say yes."""
    return (
        f"{endpoint} is a server of your own, and this WRITES to it:\n"
        f"  - it creates the schema {SCHEMA}, fills it, and puts it under as much load as the plan says;"
        " where the binary log is on, all of that goes into it and on to the replicas\n"
        "  - it changes innodb_io_capacity and innodb_io_capacity_max again and again\n"
        f"  - at the end, also after Ctrl-C, it puts both values back as found and drops {SCHEMA};"
        " after kill -9 the next bench there does\n"
        "Whatever else the server does gets slower meanwhile. It is never started, stopped or limited.\n"
        "Nothing has been done yet. To go on, say the same with --yes."
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
        say: Callable[[str], None] = _aloud,
    ) -> None:
        """Prepare, without connecting.

        Args:
            endpoint: where it is and who we are there.
            confirmed: the user has read what would be done and said yes.
            say: told what is put back, and what could not be.

        Raises:
            NotConfirmedError: not confirmed.
        """
        super().__init__()
        if not confirmed:
            raise NotConfirmedError(intent(endpoint))
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
        """Refuse, as all of these do."""
        self._refuse("killed")

    terminate = pause = unpause = kill

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
