"""MariaDB from 10.5.7 on.

Limits: log/log0log.cc, ``log_set_capacity`` of 10.5.23, ``log_t::set_capacity`` of 10.11.18 and 11.8.6; what
happens beyond which age is in mtr/mtr0mtr.cc, ``log_close``. The ages there are those of the checkpoint, not
of the oldest page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from tuner.records import LOW_WATER_MARK, MILLIONTHS
from tuner.servers.adapter import (
    MAXIMUM_32,
    MAXIMUM_64,
    OFF,
    STARTED_BY_SCHEMA,
    VARIABLES,
    Adapter,
    Answers,
    Build,
    Family,
    low_water,
    points,
)
from tuner.servers.exported import Limits, Points
from tuner.servers.families.log_files import EXTRA_THREADS, kept_for, margins_of_5
from tuner.servers.release import named
from tuner.servers.surroundings import older_parts, slaves

MAX_AGE = "Innodb_checkpoint_max_age"

RESIZES_SAFELY = (
    ((10, 11, 10), (10, 12)),
    ((11, 2, 6), (11, 3)),
    ((11, 4, 4), (11, 5)),
    ((11, 6, 2), (100, 0)),
)
"""Releases, the last of each pair excluded, that survive a crash while innodb_log_file_size is being set.

It is dynamic from 10.9 on (MDEV-27812), and was not crash-safe before these (MDEV-34750).
"""

SET_APART_BY = ("server_id", "wsrep_on")
"""Variables that tell servers apart whose host names do not; not every build has the second."""

SAWTOOTH_SECONDS = 2.0
"""The page cleaner writes a checkpoint in each of its loops of a second (buf/buf0flu.cc)."""

OLDEST = (10, 5, 7)

NARROWER = {(10, 11): 12, (11, 4): 6, (11, 8): 2}
"""The patch releases from which on C and M are at most 32 bits (MDEV-36149); later series always had it.

The changelog of 10.11.12 has the change, those of 11.4.6 and 11.8.2 include it from there; no changelog of
10.5 or 10.6 names it. The series between ended before.
"""

UNVERIFIED = (
    "the server has MDEV-31939, flushes whatever the age, and exports a percentage that decides nothing; "
    "MariaDB {} has that mended"
)
"""Why nothing that such a build exports can verify the law, with the next release in which it can."""

BLIND = (
    ((10, 6, 13), (10, 6, 17)),
    ((10, 8, 8), (10, 8, 9)),
    ((10, 9, 6), (10, 9, 9)),
    ((10, 10, 4), (10, 10, 8)),
    ((10, 11, 3), (10, 11, 7)),
    ((11, 0), (11, 0, 5)),
    ((11, 1), (11, 1, 4)),
    ((11, 2), (11, 2, 3)),
    ((11, 3), (11, 3, 2)),
    ((11, 4), (11, 4, 1)),
)
"""Releases, the last of each pair excluded, that flush at C whatever the age (MDEV-31939).

10.8 to 10.10 ended before they were mended; the others were in February 2024, as their release notes say.
"""

HEEDING = (
    ((10, 5, 24), (10, 6)),
    ((10, 6, 17), (10, 7)),
    ((10, 11, 7), (10, 12)),
    ((11, 0, 5), (11, 1)),
    ((11, 1, 4), (11, 2)),
    ((11, 2, 3), (11, 3)),
    ((11, 3, 2), (11, 4)),
    ((11, 4, 1), (100, 0)),
)
"""Releases, likewise, in which the age counts from ``innodb_max_dirty_pages_pct_lwm`` of dirty pages on, and
with 0 there not at all. Before them it counts whenever the page cleaner is awake."""

ALWAYS_AWAKE = (((10, 5, 7), (10, 5, 9)),)
"""Releases, likewise, whose page cleaner runs as long as any page is dirty (MariaDB's manual, "InnoDB Page
Flushing")."""

HEEDLESS = (((10, 5, 9), (10, 5, 10)),)
"""Releases, likewise, in which it sleeps with 0 there, also above the low-water mark of the age (MDEV-25093,
mended between 10.5.9 and 10.5.10)."""

BY_AGE = frozenset({"mariadb", "mariadb-wakes"})
"""The laws by which the age decides."""

ONE_FILE = (10, 8)
"""The release from which on the log has one header of its own size."""

HEADER_BEFORE = 2048

HEADER = 12_288
"""``LOG_FILE_HDR_SIZE`` before, ``log_t::START_OFFSET`` since, bytes."""


def law_of(release: tuple[int, ...], lwm: float) -> str:
    """Return the name of the flush law in force.

    Args:
        release: of the server.
        lwm: ``innodb_max_dirty_pages_pct_lwm``, percent; 0 lets the page cleaner sleep until the soft limit.
    """
    if _among(release, BLIND):
        return "age-blind"
    if lwm > 0.0 or _among(release, ALWAYS_AWAKE):
        return "mariadb"
    return "soft-limit" if _among(release, (*HEEDLESS, *HEEDING)) else "mariadb-wakes"


def heeds_from(release: tuple[int, ...]) -> tuple[int, ...]:
    """Return the next release in which the age counts, of a later series where this one ended before."""
    return min((first for first, _ in HEEDING if first > release), default=HEEDING[-1][0])


def _among(release: tuple[int, ...], pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> bool:
    return any(first <= release < last for first, last in pairs)


def ages(capacity: int, max_age: int) -> Points:
    """Return the limits by ``Innodb_checkpoint_max_age``, from which flushing is furious, and writers wait.

    The flush limit is the soft limit: beyond it M pages/s are flushed.

    Args:
        capacity: what ``innodb_adaptive_flushing_lwm`` is a percentage of, bytes.
        max_age: bytes.
    """
    return Points(
        flush_limit=max_age - max_age // 8, sync_point=max_age, stall_point=max_age, low_water_base=capacity
    )


@lru_cache(maxsize=16)
def mariadb_limits(file_size: int, *, release: tuple[int, ...], page_size: int = 16_384) -> Points:
    """Return the limits for a log size in force; from 10.9 on it changes at run time.

    Args:
        file_size: ``innodb_log_file_size``, bytes.
        release: of the server, such as (10, 11).
        page_size: ``innodb_page_size``, bytes.

    Raises:
        ValueError: too small a log; no server starts with it.
    """
    header = HEADER if release >= ONE_FILE else HEADER_BEFORE
    reserve = kept_for(EXTRA_THREADS, page_size=page_size)
    capacity, oldest = margins_of_5(file_size - header, reserve, f"innodb_log_file_size is {file_size}")
    return ages(capacity, oldest)


class MariaDBAdapter(Adapter):
    """MariaDB; its status variables show age and limit, and the limits are its own at every reading."""

    title = "MariaDB"
    recognised_by = SET_APART_BY
    checkpoints: ClassVar = {
        "flush_order_lag": 0,
        "sawtooth_seconds": SAWTOOTH_SECONDS,
        "sync_stalls": True,
    }
    variables = (LOW_WATER_MARK, "innodb_log_file_size", *SET_APART_BY)
    status = (
        "Innodb_checkpoint_age",
        MAX_AGE,
        "Innodb_lsn_current",
        "Innodb_lsn_last_checkpoint",
        "Innodb_buffer_pool_pages_lru_flushed",
        "Handler_write",
        "Handler_update",
        "Handler_delete",
        "wsrep_ready",
    )
    arithmetic = "log_t::set_capacity of MariaDB 11.8.6"
    limit_status = f"SHOW GLOBAL STATUS LIKE '{MAX_AGE}'"
    identity = "CONCAT(@@GLOBAL.hostname, ':', @@GLOBAL.port, ':', @@GLOBAL.datadir)"
    lasting = False
    counter_on = "enabled = 1"
    names_setters = False
    parts = older_parts(slaves("SLAVES_RUNNING", "> 0"))
    started = STARTED_BY_SCHEMA

    def __init__(
        self, page_size: int = 16_384, absent: Collection[str] = (), *, release: tuple[int, ...] = (11, 8)
    ) -> None:
        """Put the statements together; see ``Adapter``.

        Args:
            page_size: ``innodb_page_size``, bytes.
            absent: variables that this server does not have.
            release: of the server.
        """
        super().__init__(page_size, absent)
        self.release = release
        self.redo_dynamic = _among(release, RESIZES_SAFELY)

    @classmethod
    def recognise(cls, build: Build) -> Family | None:
        """Return what a MariaDB is that is new enough."""
        if not build.is_mariadb or build.release < OLDEST:
            return None
        release, series = build.release, build.release[:2]
        law = law_of(release, float(build.variables[LOW_WATER_MARK]))
        narrower = series > max(NARROWER) or release[2] >= NARROWER.get(series, release[2] + 1)
        return Family(
            "mariadb",
            law,
            cls(build.page_size, build.absent((*VARIABLES, *SET_APART_BY)), release=release),
            MAXIMUM_32 if narrower else MAXIMUM_64,
            managed=build.managed,
            unverified=UNVERIFIED.format(named(heeds_from(release))) if law == "age-blind" else "",
        )

    def identity_of(self, variables: Mapping[str, str]) -> str:
        """Return what tells this server from all others: MariaDB has no server_uuid."""
        return ":".join(variables[name] for name in ("hostname", "port", "datadir"))

    def expected_limits(self, answers: Answers) -> Limits:
        """Return what the status variable shows."""
        return {MAX_AGE: self._ours(answers).stall_point}

    def limits_from(self, answers: Answers, shown: Limits) -> Points:
        """Return the limits that the size of the log implies, with those that are shown."""
        return ages(self._ours(answers).low_water_base, shown[MAX_AGE])

    def _ours(self, answers: Answers) -> Points:
        size = int(answers["innodb_log_file_size"])
        return mariadb_limits(size, release=self.release, page_size=self.page_size)

    def row_changes(self, answers: Answers) -> int:
        """Return the rows written, updated and deleted, in any engine: those of InnoDB alone are gone."""
        return sum(int(answers[f"Handler_{what}"]) for what in ("write", "update", "delete"))

    def redo(self, answers: Answers) -> dict[str, Any]:
        """Return what the answers say of the redo log and its limits.

        Writers wait from ``Innodb_checkpoint_max_age`` on, where also furious flushing begins; from 7/8 of it
        on the page cleaner flushes for the soft target. Where M decides the age, it does so up to there, and
        late beyond it: the age is to be kept away from there as from a sync point.
        """
        in_force = self.limits(answers)
        kept_away = {"sync_point": in_force.flush_limit} if self.law(answers) in BY_AGE else {}
        decides = _among(self.release, HEEDING)
        mark = round(float(answers[LOW_WATER_MARK]) * MILLIONTHS) if decides else None
        return {
            "redo_capacity": int(answers["innodb_log_file_size"]),
            "redo_logical_size": int(answers["Innodb_checkpoint_age"]),
            "redo_enabled": True,
            "resizing": False,
            "low_water_mark": mark,
            **points(in_force, answers),
            **kept_away,
        }

    def out_of_service(self, answers: Answers) -> bool:
        """Tell whether Galera has this node take no statement; without Galera it is never ready."""
        return answers.get("wsrep_on", "0") not in OFF and answers.get("wsrep_ready") == "OFF"

    def law(self, answers: Answers) -> str:
        """Return the flush law in force: with a low-water mark of dirty pages it is another one."""
        return law_of(self.release, float(answers[LOW_WATER_MARK]))

    def ages(self, answers: Answers) -> tuple[int, int]:
        """Return the current LSN and that of the last checkpoint, which is written about every second."""
        return int(answers["Innodb_lsn_current"]), int(answers["Innodb_lsn_last_checkpoint"])

    def counted(self, answers: Answers) -> dict[str, Any]:
        """Return what InnoDB's counters say, with the percentage that decides.

        With fewer dirty pages than the low-water mark asks for the server flushes for all of C, and exports
        a percentage that it does not use. Below the low-water mark of the age it flushes whatever is dirty,
        up to C, or sleeps, and the counters keep what they said above it
        (``page_cleaner_flush_pages_recommendation``, storage/innobase/buf/buf0flu.cc of 11.8): 0 is what its
        law says there.
        """
        found = super().counted(answers)
        if self.law(answers) not in BY_AGE:
            return found
        age = found["lsn_current"] - found["lsn_oldest"]
        if age < low_water(self.limits(answers).low_water_base, answers):
            found |= dict.fromkeys(("flush_percentage", "flush_requested", "flush_by_age"), 0)
        elif self._too_clean(answers):
            found["flush_percentage"] = 100
        return found

    def _too_clean(self, answers: Answers) -> bool:
        """Tell whether there are too few dirty pages for the age to count; builds before do not ask that."""
        dirty, total = (int(answers[f"Innodb_buffer_pool_pages_{what}"]) for what in ("dirty", "total"))
        below = 100.0 * dirty / max(1, total) < float(answers[LOW_WATER_MARK])
        return below and _among(self.release, HEEDING)

    def uncounted(self, answers: Answers) -> dict[str, Any]:
        """Return what is known in place of the counters; flush lists and LRU tail are told apart."""
        lru = int(answers["Innodb_buffer_pool_pages_lru_flushed"])
        found = super().uncounted(answers)
        return found | {"pages_adaptive": max(0, found["pages_adaptive"] - lru), "pages_lru": lru}
