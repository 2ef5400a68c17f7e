"""What a server is, and what may be set on it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from policies.setpoint import FLUSH_ORDER_LAG, SAWTOOTH_SECONDS
from tuner.records.account import grant, is_account
from tuner.records.field import field

CAPACITY_MINIMUM = 100
"""Every server makes this of a lower value of either knob, without an error, pages/s."""

WRITE_PRIVILEGE = "SYSTEM_VARIABLES_ADMIN"
"""What an account needs to set C and M."""

SET_GLOBAL = "innobrim.set_global"
"""The definer procedure that sets C and M within bounds, where an administrator made it."""

ENABLE_COUNTERS = (
    "SET GLOBAL innodb_monitor_enable = 'module_log'",
    "SET GLOBAL innodb_monitor_enable = 'module_buffer'",
)
"""Turn InnoDB's counters on until mysqld restarts."""

LOW_WATER_MARK = "innodb_max_dirty_pages_pct_lwm"
"""The variable that says from which share of dirty pages on the age counts; MariaDB's."""

MILLIONTHS = 1_000_000
"""A mark is a whole number of millionths of a percent, the finest that a server shows."""

LOWEST_ABOVE_ZERO = 1_000
"""0.001 percent: the age counts as soon as a few pages are dirty."""

GROW_REDO_LOG = "innobrim.grow_redo_log"
SET_LOW_WATER = "innobrim.set_low_water_mark"
"""The definer procedure that sets the mark to 0 or 0.001, where an administrator asked for it."""

PRODUCTS = {"mysql": "MySQL", "percona": "Percona Server", "mariadb": "MariaDB"}
"""Names for people, by ``Facts.family``."""


def percent(mark: int) -> str:
    """Return a mark, in millionths of a percent, as a statement has it."""
    whole, part = divmod(mark, MILLIONTHS)
    return f"{whole}.{part:06d}".rstrip("0").rstrip(".")


class Capacity(Struct, frozen=True):
    """The pair of knobs, pages/s."""

    io_capacity: Annotated[int, field("innodb_io_capacity", "pages/s")]
    io_capacity_max: Annotated[int, field("innodb_io_capacity_max", "pages/s")]

    @property
    def gain(self) -> int:
        """Return K, the gain that the flush law has with this pair: C * (M // C), pages/s."""
        return self.io_capacity * (self.io_capacity_max // self.io_capacity)

    @property
    def in_words(self) -> str:
        """Return both values with their names."""
        return f"io_capacity {self.io_capacity}, io_capacity_max {self.io_capacity_max}"

    def __str__(self) -> str:
        """Return the pair as people write it."""
        return f"{self.io_capacity}/{self.io_capacity_max}"


class Bounds(Struct, frozen=True):
    """What the definer procedure lets through, pages/s; all 0 before it was asked."""

    lowest_io_capacity_max: Annotated[int, field("lowest innodb_io_capacity_max", "pages/s")] = 0
    highest_io_capacity_max: Annotated[int, field("highest innodb_io_capacity_max", "pages/s")] = 0
    highest_io_capacity: Annotated[int, field("highest innodb_io_capacity", "pages/s")] = 0

    def hold(self, pair: Capacity) -> bool:
        """Tell whether a pair lies within."""
        return (
            self.lowest_io_capacity_max <= pair.io_capacity_max <= self.highest_io_capacity_max
            and CAPACITY_MINIMUM <= pair.io_capacity <= self.highest_io_capacity
        )

    def __str__(self) -> str:
        """Return them as people say them."""
        lowest, highest = self.lowest_io_capacity_max, self.highest_io_capacity_max
        below = f"io_capacity from {CAPACITY_MINIMUM} to {self.highest_io_capacity}"
        return f"io_capacity_max from {lowest} to {highest}, {below}"


class Facts(Struct, frozen=True):
    """What does not change while a server runs."""

    identity: Annotated[str, field("server_uuid: which server this is, whatever its address")]
    endpoint: Annotated[str, field("how it is reached, without credentials")]
    version: Annotated[str, field("server version")]
    version_comment: Annotated[str, field("server build")]
    family: Annotated[str, field("mysql, percona, mariadb, simulated")]
    flush_law: Annotated[str, field("name of the adaptive flush law in force")]
    page_size: Annotated[int, field("InnoDB page size", "bytes")]
    capacity_minimum: Annotated[int, field("lowest value that the server accepts for either knob", "pages/s")]
    capacity_maximum: Annotated[
        int, field("highest value that the server accepts for either knob", "pages/s")
    ]
    started: Annotated[float, field("when the server started, Unix time", "seconds")]
    disabled_counters: Annotated[
        tuple[str, ...], field("InnoDB counters that the loop needs and that are off")
    ] = ()
    blockers: Annotated[tuple[str, ...], field("reasons why this server cannot be controlled at all")] = ()
    own_limits: Annotated[
        tuple[str, ...],
        field("limits of the redo log that are not those of our arithmetic, and are taken from the server"),
    ] = ()
    lacks: Annotated[
        tuple[str, ...],
        field("InnoDB counters that this release does not have, and what holds in place of each"),
    ] = ()
    absent_counters: Annotated[
        tuple[str, ...],
        field("InnoDB counters that the loop needs, and that this server unexpectedly does not have"),
    ] = ()
    unseen: Annotated[
        tuple[str, ...],
        field("what the account may not look at: replica, group, latency, clone, locks"),
    ] = ()
    recovery_seconds: Annotated[
        float | None,
        field(
            "how long InnoDB's start took where it recovered from a crash; none where clean or unknown",
            "seconds",
        ),
    ] = None
    account: Annotated[str, field("the server's own name of the account; empty where it was not asked")] = ""
    write_privilege: Annotated[str, field("what the account needs to set either knob")] = WRITE_PRIVILEGE
    unverified: Annotated[
        str, field("why nothing that this server exports can verify its flush law; empty where something can")
    ] = ""
    managed: Annotated[
        str, field("the provider whose service this is, where that takes no SET GLOBAL; else empty")
    ] = ""
    ages_need_counters: Annotated[
        bool, field("without InnoDB's counters only SHOW ENGINE INNODB STATUS shows an age")
    ] = False

    surroundings: Annotated[str, field("what else of this server can be looked at")] = (
        "replication, locks, clones and latency"
    )
    timed: Annotated[bool, field("performance_schema is ON, so that statements are timed")] = True
    redo_variable: Annotated[str, field("the variable that says how large the redo log is")] = (
        "innodb_redo_log_capacity"
    )
    redo_dynamic: Annotated[bool, field("it can be set while the server runs")] = True
    names_setters: Annotated[bool, field("it keeps which account set a variable last")] = True
    procedure: Annotated[
        Bounds | None, field("what the definer procedure lets through; none: the daemon writes by SET GLOBAL")
    ] = None

    calls_itself: Annotated[
        str, field("what a server without a lasting identity calls itself: host name, port, data directory")
    ] = ""
    sets_low_water: Annotated[
        bool, field("a definer procedure sets the low-water mark as well, where it was looked for")
    ] = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return what this server is known as, and may have been known as before a person named it."""
        return tuple(dict.fromkeys(one for one in (self.identity, self.calls_itself) if one))

    def larger_redo(self, capacity: int) -> tuple[str, tuple[str, ...]]:
        """Return in words how the redo log is made so large, bytes, and the statements for it."""
        if self.redo_dynamic:
            return (
                f"raise {self.redo_variable}, which is dynamic, also in my.cnf for the next start",
                (f"SET GLOBAL {self.redo_variable} = {capacity}",),
            )
        wanted = f"innodb_log_file_size × innodb_log_files_in_group = {capacity}"
        if self.family == "mariadb":
            wanted = f"innodb_log_file_size = {capacity}"
        way = f"set {wanted} in my.cnf and restart mysqld"
        if self.managed:
            way = f"have {self.managed} set {wanted} and restart the instance, as it sets other variables"
        return way, ()

    flush_order_lag: Annotated[
        int, field("redo that a checkpoint stays behind the oldest modification", "bytes")
    ] = FLUSH_ORDER_LAG
    sawtooth_seconds: Annotated[
        float, field("time between two checkpoints that is reckoned with", "seconds")
    ] = SAWTOOTH_SECONDS
    sync_stalls: Annotated[bool, field("writers wait from the sync point on")] = False

    def grant(self, privileges: str, on: str = "*.*") -> str:
        """Return the statement that gives this account a privilege."""
        return grant(privileges, self.named_account, on)

    @property
    def named_account(self) -> str:
        """Return the account as the server calls it, ``user@host``, as far as it is known and fit for SQL."""
        if is_account(self.account):
            return self.account
        user = self.endpoint.partition("@")[0]
        return f"{user}@…" if is_account(f"{user}@localhost") else "…@…"

    @property
    def without_counters(self) -> str:
        """Return why a degraded reading has no InnoDB counters, in words."""
        if not self.absent_counters:
            return "InnoDB's counters are off"
        return f"this server has no InnoDB counter {', '.join(self.absent_counters)}"

    @property
    def way_to_write(self) -> str:
        """Return what gives this account back what it needs to set either knob."""
        if self.procedure is not None:
            return f"an administrator ran what innobrim setup-sql prints, which makes {SET_GLOBAL} anew"
        return self.grant(self.write_privilege)

    @property
    def product(self) -> str:
        """Return what the server is and its version, for people; the build's own comment can be anything."""
        name = f"{PRODUCTS.get(self.family, self.family)} {self.version}"
        return f"{name} on {self.managed}" if self.managed else name
