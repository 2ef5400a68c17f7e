"""What is particular to a family of servers: what a reading asks for, and what the answers mean.

A reading is two statements: the first for InnoDB's counters with all variables, the second for the status
variables. What every family says in the same way is read here. A family is one module of
``tuner.servers.families``.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, ClassVar

from msgspec import Struct

from tuner.records import WRITE_PRIVILEGE, Sample
from tuner.servers.exported import Comparison, Limits, Points, PointsOf, compared, in_force
from tuner.servers.hostlock import WRITER_LOCK
from tuner.servers.surroundings import PARTS, Part
from tuner.servers.writing import THERE
from tuner.system.printable import printable

Answers = Mapping[str, str]
"""What both statements said, by name."""


def quoted(names: Collection[str]) -> str:
    """Return names as SQL strings in a row."""
    return ", ".join(repr(name) for name in names)


SELECTS = ("Com_select",)

CHANGES = (
    *("Com_insert", "Com_insert_select", "Com_replace", "Com_replace_select", "Com_load"),
    *("Com_update", "Com_update_multi", "Com_delete", "Com_delete_multi"),
)
"""The server's own counts of the statements that read rows, and of those that change some.

Prepared ones and those inside procedures are among them; row events of replication are not, nor is what a
query cache answers.
"""

COUNTED = (
    *("pages_sync", "pages_background", "pages_lru", "pages_neighbour", "flush_percentage"),
    *("flush_requested", "flush_by_age", "lsn_average_rate", "redo_space_waits"),
)
"""Fields of a sample that only InnoDB's counters know."""

MARGIN = "log_concurrency_margin"
"""The one limit that is counted only when the server works it out, and is 0 before (``MONITOR_SET``).

Before 8.0.30 that is when mysqld starts (log/log0log.cc of 8.0.25, ``log_sys_init``), before any counter is
on, when ``innodb_thread_concurrency`` is set (seen on 8.0.15), and when the log writer makes it larger; since
then at each checkpoint and more often (log/log0chkp.cc, ``log_update_limits_low``).
"""

SET_VALUES = (
    *(MARGIN, "buffer_flush_pct_for_lsn", "buffer_flush_lsn_avg_rate"),
    *("buffer_flush_n_to_flush_requested", "buffer_flush_n_to_flush_by_age"),
)
"""Counters that are set to a value (``MONITOR_SET``); the others add up, or are worked out at each look."""

SHOWN = f"IF(name IN ({quoted(SET_VALUES)}), count_reset, count)"
"""What INNODB_METRICS has of a counter, as SQL.

After an ``innodb_monitor_reset`` ``count`` is what was counted before and since, added up: of a value that is
set, the one before on top of that of now (srv/srv0mon.cc, ``srv_mon_reset``). ``count_reset`` is the one set
since, or 0; before any reset both are the same.
"""

DDL = ("Com_alter_table", "Com_create_index", "Com_drop_index", "Com_optimize")
DROPS = ("Com_drop_table", "Com_drop_db", "Com_truncate")

VARIABLES = (
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_adaptive_flushing",
    "innodb_adaptive_flushing_lwm",
    "innodb_flush_sync",
    "innodb_max_dirty_pages_pct",
    "read_only",
    "super_read_only",
)
"""Variables of a reading; those that a server does not have are left out."""

STATUS = (
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_load_status",
    "Handler_commit",
    "Uptime",
    *DDL,
    *DROPS,
    *SELECTS,
    *CHANGES,
)

FACTOR = "innodb_cleaner_lsn_age_factor"
"""Percona Server's choice between two flush laws."""

_POOL_LOADING = re.compile(r"Loading buffer pool|Loaded \d")
_ON = frozenset({"1", "ON"})

OFF = frozenset({"0", "OFF"})
"""What a variable says that is off; MariaDB 12 has more words than ON for one that is not."""

MAXIMUM_32, MAXIMUM_64 = 2**32 - 1, 2**63 - 1

RAISED = (8, 4)
"""The release of MySQL from which on C and M are at most 32 bits."""

STARTED_BY_SCHEMA = (
    f"SELECT UNIX_TIMESTAMP() - variable_value, CURRENT_USER(), {THERE} FROM information_schema.global_status"
    " WHERE variable_name = 'UPTIME'"
)
"""``Adapter.started`` of servers whose status variables are in INFORMATION_SCHEMA."""


def statements(answers: Answers) -> dict[str, Any]:
    """Return how many statements read and changed rows, as fields of a sample; none unless all are shown."""
    try:
        selects, changes = (sum(int(answers[name]) for name in names) for names in (SELECTS, CHANGES))
    except (KeyError, ValueError):
        return {}
    return {"select_statements": selects, "change_statements": changes}


def low_water(base: int, answers: Answers) -> int:
    """Return the modified age below which adaptive flushing does nothing, bytes.

    Args:
        base: what ``innodb_adaptive_flushing_lwm`` is a percentage of, bytes.
        answers: what both statements said.
    """
    return int(base * float(answers["innodb_adaptive_flushing_lwm"]) / 100.0)


def points(limits: Points, answers: Answers) -> dict[str, int]:
    """Return the limits of the redo log in force, as fields of a sample."""
    return {
        "flush_limit": limits.flush_limit,
        "sync_point": limits.sync_point,
        "stall_point": limits.stall_point,
        "low_water": low_water(limits.low_water_base, answers),
    }


class Build(Struct, frozen=True):
    """What a server says of itself, which families are told apart by.

    Attributes:
        name: the build's comment and version, in small letters.
        release: major, minor and patch.
        variables: by name, those that it has.
        managed: the provider whose service it is, where that takes no SET GLOBAL; else empty.
    """

    name: str
    release: tuple[int, int, int]
    variables: Mapping[str, str]
    managed: str = ""

    @property
    def page_size(self) -> int:
        """Return ``innodb_page_size``, bytes."""
        return int(self.variables["innodb_page_size"])

    @property
    def is_mariadb(self) -> bool:
        """Tell whether it is a MariaDB, whose releases are numbered otherwise."""
        return "mariadb" in self.name

    def absent(self, names: Collection[str]) -> list[str]:
        """Return those variables that it does not have."""
        return [one for one in names if one not in self.variables]


class Family(Struct, frozen=True):
    """What a server is.

    Attributes:
        name: mysql, percona or mariadb.
        flush_law: name of its adaptive flush law.
        adapter: how it is read.
        capacity_maximum: highest value that it accepts for C or M, pages/s.
        write_privilege: what an account needs to set them.
        managed: as in ``Build``.
        unverified: why nothing that it exports can verify the law; empty where something can.
    """

    name: str
    flush_law: str
    adapter: Adapter
    capacity_maximum: int
    write_privilege: str = "SUPER"
    managed: str = ""
    unverified: str = ""


class Adapter(ABC):
    """One family of servers; nothing in it remembers anything.

    Attributes:
        title: the servers that it is for, in words.
        recognised_by: variables by which these are told apart, beside those of all families.
        variables: of a reading, beside those of all families.
        status: status variables, beside those of all families.
        percona_ages: further ones of Percona Server's own, that show its ages without InnoDB's counters.
        oldest: counter for the oldest modification in the flush lists.
        waits: counter for the waits of writers for redo space.
        lru: counter for the pages flushed from the LRU tail.
        by_age: counter for the pages that the server expects to flush for age; None where there is none.
        lacks: counters of its relatives that it does not have, and what holds in place of each.
        counters: InnoDB counters that a full sample is made of.
        own_law: flush law where that is no variable.
        percona_laws: flush laws of Percona Server by what ``innodb_cleaner_lsn_age_factor`` says.
        surroundings: the same in words.
        redo_variable: the variable that says how large the redo log is.
        sized_by: variables and status variables that the limits are worked out from.
        redo_dynamic: it can be set while the server runs.
        names_setters: it keeps which account set a variable last, in performance_schema.variables_info.
        ages_need_counters: without them only SHOW ENGINE INNODB STATUS or ``percona_ages`` show an age.
        checkpoints: what checkpoints do otherwise than in MySQL 8.0 and later, as fields of the facts.
        arithmetic: the function, and the release, whose source our limits are worked out by.
        limit_counters: InnoDB counters that show the server's own limits; read where they are on.
        limit_status: statement for the status variables that do, or that tell what they depend on.
        identity: expression for what tells this server from all others.
        lasting: that stays with the server's data for good.
        counter_on: condition for a counter that is on.
        parts: what else can be looked at, by name.
        started: statement for when mysqld started, by its own clock alone, the same to the second whatever
            any clock did since; for what it calls the account; and for whether that may call the procedure.
    """

    title: ClassVar[str]
    recognised_by: ClassVar[tuple[str, ...]] = ()
    variables: ClassVar[tuple[str, ...]] = ()
    status: ClassVar[tuple[str, ...]] = ()
    percona_ages: ClassVar[tuple[str, ...]] = ()
    oldest: ClassVar[str] = "log_lsn_buf_pool_oldest"
    waits: ClassVar[str] = "buffer_flush_sync_waits"
    lru: ClassVar[str] = "buffer_LRU_batch_flush_total_pages"
    by_age: ClassVar[str | None] = "buffer_flush_n_to_flush_by_age"
    lacks: ClassVar[Mapping[str, str]] = {}
    surroundings: ClassVar[str] = "replication and latency"
    redo_variable: ClassVar[str] = "innodb_log_file_size"
    sized_by: ClassVar[tuple[str, ...]] = ("innodb_log_file_size",)
    redo_dynamic: bool = False
    names_setters: ClassVar[bool] = True
    ages_need_counters: ClassVar[bool] = False
    own_law: ClassVar[str] = "legacy"
    percona_laws: ClassVar[Mapping[str, str]] = {"legacy": "legacy", "high_checkpoint": "high_checkpoint"}
    checkpoints: ClassVar[Mapping[str, Any]] = {}
    arithmetic: ClassVar[str]
    limit_counters: ClassVar[tuple[str, ...]] = ()
    limit_status: ClassVar[str] = ""
    identity: ClassVar[str] = "@@GLOBAL.server_uuid"
    lasting: ClassVar[bool] = True
    counter_on: ClassVar[str] = "status = 'enabled'"
    parts: ClassVar[Mapping[str, Part]] = PARTS
    started: ClassVar[str] = (
        f"SELECT UNIX_TIMESTAMP() - variable_value, CURRENT_USER(), {THERE}"
        " FROM performance_schema.global_status"
        " WHERE variable_name = 'Uptime'"
    )

    def __init__(
        self, page_size: int = 16_384, absent: Collection[str] = (), *, percona: bool = False
    ) -> None:
        """Put the statements together.

        Args:
            page_size: ``innodb_page_size``, bytes.
            absent: variables that this server does not have.
            percona: it is Percona Server, whose flush law is a variable.
        """
        self.page_size, self.absent, self.percona = page_size, absent, percona
        self.counters = (
            "log_lsn_current",
            self.oldest,
            "log_lsn_last_checkpoint",
            self.waits,
            "buffer_flush_adaptive_total_pages",
            "buffer_flush_sync_total_pages",
            "buffer_flush_background_total_pages",
            "buffer_flush_neighbor_total_pages",
            self.lru,
            "buffer_flush_n_to_flush_requested",
            *(() if self.by_age is None else (self.by_age,)),
            "buffer_flush_pct_for_lsn",
            "buffer_flush_lsn_avg_rate",
        )
        asked = (*VARIABLES, *self.variables, *([FACTOR] if percona else []))
        names = [name for name in asked if name not in absent]
        self.counter_query = (
            f"SELECT name, {SHOWN} FROM information_schema.innodb_metrics WHERE {self.counter_on}"
            f" AND name IN ({quoted((*self.counters, *self.limit_counters))})"
            + "".join(f" UNION ALL SELECT '{name}', @@GLOBAL.{name}" for name in names)
            + f" UNION ALL SELECT 'identity', {self.identity}"
            + f" UNION ALL SELECT 'writer', COALESCE(IS_USED_LOCK('{WRITER_LOCK}') = CONNECTION_ID(), 1)"
        )
        status = (*STATUS, *self.status, *(self.percona_ages if percona else ()))
        self.status_query = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({quoted(status)})"

    @classmethod
    @abstractmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a server is that is of this family; None of any other."""

    @classmethod
    def of_mysql(cls, build: Build, write_privilege: str = WRITE_PRIVILEGE) -> Family:
        """Return what a MySQL, or a Percona Server, of this family is."""
        factor = build.variables.get(FACTOR)
        adapter = cls(build.page_size, build.absent(VARIABLES), percona=factor is not None)
        maximum = MAXIMUM_32 if build.release >= RAISED else MAXIMUM_64
        name = "mysql" if factor is None else "percona"
        return Family(name, adapter.law_with(factor), adapter, maximum, write_privilege, build.managed)

    def identity_of(self, variables: Mapping[str, str]) -> str:
        """Return what ``identity`` comes to, from the variables by name."""
        return variables.get("server_uuid", "")

    @abstractmethod
    def expected_limits(self, answers: Answers) -> Limits:
        """Return the limits of our arithmetic, as the server shows them; none while they are changing.

        Raises:
            ValueError: a size that no server has.
        """

    @abstractmethod
    def limits_from(self, answers: Answers, shown: Limits) -> Points:
        """Return the limits of the redo log.

        Args:
            answers: the sizes that it has, by name.
            shown: as ``expected_limits``, ours or the server's own.
        """

    def limits(self, answers: Answers) -> Points:
        """Return the limits of the redo log in force: the server's own where it shows them.

        Raises:
            ValueError: a size that no server has.
        """
        return in_force(self.expected_limits(answers), answers, self._points_of(answers))

    def compared_limits(self, answers: Answers, report: str) -> Comparison:
        """Return what is to be said of the server's own limits.

        Args:
            answers: variables, and what ``limit_counters`` that are on and ``limit_status`` said, by name.
            report: the command that records what we need to know of such a server.
        """
        sizes = ", ".join(f"{name} = {answers[name]}" for name in self.sized_by)
        source = f"{self.arithmetic} for {sizes}"
        ours, points_of = self.expected_limits(answers), self._points_of(answers)
        return compared(ours, answers, points_of, source=source, report=report)

    def _points_of(self, answers: Answers) -> PointsOf:
        return partial(self.limits_from, answers)

    def missing_counters(self, answers: Answers) -> tuple[str, ...]:
        """Return the counters that a full sample needs and that are off."""
        return tuple(name for name in self.counters if name not in answers)

    def needs_engine_status(self, _answers: Answers) -> bool:
        """Tell whether nothing but SHOW ENGINE INNODB STATUS shows an age where counters are off."""
        return self.ages_need_counters

    def out_of_service(self, _answers: Answers) -> bool:
        """Tell whether this is a node of a cluster that takes no statement of clients now."""
        return False

    def inactive_undo(self, _answers: Answers) -> int:
        """Return how many undo tablespaces are not active."""
        return 0

    def sample(
        self,
        answers: Answers,
        *,
        monotonic: float,
        wall: float,
        read_seconds: float,
        writer: bool = True,
        **seen: Any,  # noqa: ANN401 - of any field
    ) -> Sample:
        """Return the sample that the answers make; a degraded one where a counter is missing.

        Args:
            answers: what both statements said.
            monotonic: when, on the daemon's clock, seconds.
            wall: when, Unix time, seconds.
            read_seconds: how long the reading took.
            writer: false where the lock is known to be somebody else's.
            seen: further fields of the sample, which are not in the answers.

        Raises:
            KeyError: an answer is missing.
            ValueError: an answer makes no sense.
        """
        degraded = bool(self.missing_counters(answers))
        return Sample(
            monotonic=monotonic,
            wall=wall,
            read_seconds=read_seconds,
            identity=printable(answers["identity"]),
            uptime=float(answers["Uptime"]),
            io_capacity=int(answers["innodb_io_capacity"]),
            io_capacity_max=int(answers["innodb_io_capacity_max"]),
            adaptive_flushing=answers["innodb_adaptive_flushing"] in _ON,
            adaptive_flushing_lwm=float(answers["innodb_adaptive_flushing_lwm"]),
            flush_sync=answers.get("innodb_flush_sync", "1") in _ON,
            pages_dirty=int(answers["Innodb_buffer_pool_pages_dirty"]),
            pages_total=int(answers["Innodb_buffer_pool_pages_total"]),
            free_page_waits=int(answers["Innodb_buffer_pool_wait_free"]),
            row_changes=self.row_changes(answers),
            commits=int(answers["Handler_commit"]),
            writer=answers["writer"] == "1" and writer,
            read_only=answers["read_only"] not in OFF,
            super_read_only=answers.get("super_read_only", "0") not in OFF,
            dirty_limit=float(answers["innodb_max_dirty_pages_pct"]),
            ddl_statements=sum(int(answers[name]) for name in DDL),
            drop_statements=sum(int(answers[name]) for name in DROPS),
            pool_loading=_POOL_LOADING.match(answers.get("Innodb_buffer_pool_load_status", "")) is not None,
            degraded=degraded,
            flush_law=self.law(answers),
            **seen,
            **statements(answers),
            **self.redo(answers),
            **(self.uncounted(answers) if degraded else self.counted(answers)),
        )

    def law_with(self, factor: str | None) -> str:
        """Return the name of the flush law by Percona Server's factor; None is a server without one."""
        return self.own_law if factor is None else self.percona_laws[factor]

    def law(self, answers: Answers) -> str:
        """Return the name of the flush law in force, where that is a variable; else empty."""
        return self.percona_laws[answers[FACTOR]] if FACTOR in answers else ""

    def row_changes(self, answers: Answers) -> int:
        """Return the rows inserted, updated and deleted since mysqld started."""
        return sum(int(answers[f"Innodb_rows_{what}"]) for what in ("inserted", "updated", "deleted"))

    @abstractmethod
    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return what the answers say of the redo log and its limits, as fields of a sample."""

    @abstractmethod
    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the current LSN and that of the last checkpoint where the counters are off."""

    def oldest_lsn(self, answers: Answers) -> int:
        """Return the LSN of the oldest modification where the counters are off.

        The checkpoint stands for it, which is never newer: the modified age comes out too high by the
        checkpoint's lag, never too low.
        """
        return self.ages(answers)[1]

    def counted(self, answers: Answers) -> dict[str, Any]:
        """Return what InnoDB's counters say, as fields of a sample."""
        current = int(answers["log_lsn_current"])
        return {
            "lsn_current": current,
            "lsn_oldest": int(answers[self.oldest]) or current,
            "lsn_checkpoint": int(answers["log_lsn_last_checkpoint"]),
            "pages_adaptive": int(answers["buffer_flush_adaptive_total_pages"]),
            "pages_sync": int(answers["buffer_flush_sync_total_pages"]),
            "pages_background": int(answers["buffer_flush_background_total_pages"]),
            "pages_lru": int(answers[self.lru]),
            "pages_neighbour": int(answers["buffer_flush_neighbor_total_pages"]),
            "flush_percentage": int(answers["buffer_flush_pct_for_lsn"]),
            "flush_requested": int(answers["buffer_flush_n_to_flush_requested"]),
            "flush_by_age": 0 if self.by_age is None else int(answers[self.by_age]),
            "lsn_average_rate": int(answers["buffer_flush_lsn_avg_rate"]),
            "redo_space_waits": int(answers[self.waits]),
        }

    def uncounted(self, answers: Answers) -> dict[str, Any]:
        """Return what is known in place of the counters, as fields of a sample.

        Pages flushed from the flush lists and from the LRU tail are one number.
        """
        current, checkpoint = self.ages(answers)
        return dict.fromkeys(COUNTED, 0) | {
            "lsn_current": current,
            "lsn_oldest": self.oldest_lsn(answers),
            "lsn_checkpoint": checkpoint,
            "pages_adaptive": int(answers["Innodb_buffer_pool_pages_flushed"]),
        }
