"""Whether a server of the user's own can be borrowed for a bench, and what it is."""

from __future__ import annotations

from typing import NamedTuple

import pymysql

from lab.servers.flavour import Flavour
from lab.servers.spec import LabServerError
from lab.servers.version import read_version
from tuner.records import ENABLE_COUNTERS, Capacity, Facts
from tuner.servers.adapter import OFF, Adapter
from tuner.servers.detect import detect
from tuner.servers.session import Session, whole
from tuner.servers.writerlock import WRITER_LOCK

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
