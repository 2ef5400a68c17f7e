"""Rules of doctor on what pages and logs are written to, and on known bugs; as those of ``rules_pages``."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from tuner.findings.combining import Figure
from tuner.findings.devicewrites import device_writes
from tuner.findings.evidence import Evidence, NotKnownError
from tuner.findings.finding import Finding
from tuner.findings.redo_size import percent
from tuner.findings.rules_pages import MANUAL
from tuner.servers.families.mariadb import BLIND, heeds_from
from tuner.servers.release import named
from tuner.system.storage import Volume

COPY_ON_WRITE = frozenset({"zfs", "btrfs", "bcachefs"})
"""File systems that never write a block in its place."""

LOCAL_DISK = frozenset({"ext2", "ext3", "ext4", "xfs", "overlay"})
"""Those on which a page may be torn by a crash."""

BUFFERED = frozenset({"", "fsync"})
"""Flush methods of InnoDB that leave data pages in the system's page cache."""

UNSAFE = frozenset({"nosync", "littlesync"})
"""Those that lose data in a crash of the machine."""

MOSTLY_LOGS = 0.7
"""Share of the writes from which on pages are not what the device is busy with."""

LEAST_LOGS = 5.0
"""Writes of logs a second below which there is no load by which they could be judged."""

SHARED_LOGS = 0.3
"""Share of the writes from which on a device of their own gains something for the logs."""

DELAYS = (5, 7, 5)
"""Release of MySQL from which on a binary log can wait for more commits before it is synced."""

MADE_OF_DISKS = ("dm-", "md")
"""What volumes are called that are parts of other devices, or several of them."""

BUSY_DEVICE = 0.8
"""Share of the time for which a disk that turns has something to do from which on little more fits in; of
other devices, which take many writes at a time, it says nothing."""


def flush_method(seen: Evidence) -> Finding | None:
    """Whether pages go through the system's page cache, or are not synced at all."""
    method = seen.setting("innodb_flush_method")
    if seen.after.variables.get("innodb_data_file_buffering", "ON") in {"OFF", "0"}:
        return None  # MariaDB from 11.0 on says it by this one
    if method.lower() in UNSAFE:
        return Finding(
            id="flush-method",
            severity="warning",
            title=f"innodb_flush_method = {method} loses data when the machine stops",
            reason="pages are not synced before their checkpoint is written",
            effect="a crash of the machine is recovered from",
            source=f"{MANUAL}innodb_flush_method: for tests alone",
            risk="syncs take time",
            fix=seen.at_start("innodb_flush_method = O_DIRECT"),
        )
    if method.lower() not in BUFFERED:
        return None
    seen.must_flush()
    if "data" in seen.volumes and seen.volumes["data"].file_system == "zfs":
        return None
    return Finding(
        id="flush-method",
        severity="info",
        title=f"innodb_flush_method = {method or 'fsync'} keeps every page in memory twice",
        reason=f"{seen.flushed:.0f} pages/s were written through the system's page cache, and "
        f"{seen.rate('Innodb_pages_read'):.0f} read",
        effect="memory for a larger buffer pool, and writes that come when InnoDB asks for them",
        source=f"{MANUAL}innodb_flush_method; O_DIRECT is the default from 8.4 and from MariaDB 10.6 on",
        risk="a restart; a buffer pool much smaller than the data loses the page cache behind it",
        fix=seen.at_start("innodb_flush_method = O_DIRECT"),
    )


def file_system(seen: Evidence) -> Finding | None:
    """Whether the doublewrite is what the file system needs."""
    said = seen.setting("innodb_doublewrite")
    off = said.upper() in {"OFF", "0", "DETECT_ONLY"}
    if off and "data" not in seen.volumes:
        raise NotKnownError(f"innodb_doublewrite = {said} is safe only on storage that never tears a page")
    volume = seen.volume()
    where = f"the data is on {volume.file_system}"
    if off and volume.file_system in LOCAL_DISK:
        return Finding(
            id="doublewrite-off",
            severity="warning",
            title=f"innodb_doublewrite = {said} lets a crash tear pages",
            reason=f"{where}, which may write half of a page of {seen.facts.page_size} bytes",
            effect="a page that was torn is found whole in the doublewrite files",
            source=f"{MANUAL}Doublewrite Buffer",
            risk="each page is written twice; not needed on a device that writes a page as a whole",
            fix=seen.at_start("innodb_doublewrite = ON"),
        )
    if off or volume.file_system not in COPY_ON_WRITE:
        return None
    seen.must_flush()
    if volume.file_system == "zfs":
        return Finding(
            id="copy-on-write",
            severity="info",
            title="the doublewrite does what ZFS does already",
            reason=f"{where}, and {seen.flushed:.0f} pages/s were written twice",
            effect="half of the bytes written for pages",
            source="known from OpenZFS' documentation, Workload Tuning, InnoDB",
            risk="pages can be torn where recordsize is smaller than a page: set it to the page size before "
            "the files are made; a restart",
            fix=seen.at_start("innodb_doublewrite = OFF"),
        )
    return Finding(
        id="copy-on-write",
        severity="info",
        title=f"{volume.file_system} writes each page to a new place",
        reason=f"{where}, and {seen.flushed:.0f} pages/s were written",
        effect="no fragments, and fewer writes of metadata",
        source="known from btrfs' documentation, on databases and nodatacow",
        risk="without copy-on-write it keeps no checksums; innodb_doublewrite must stay ON",
        fix="move the data to ext4 or XFS, or to a directory with chattr +C, set before the files are made",
    )


def rotation(seen: Evidence) -> Finding | None:
    """Whether random page writes go to a disk that turns."""
    volume = seen.volume()
    if volume.rotates is None:
        raise NotKnownError(f"{volume.device or volume.file_system} does not say; a virtual disk cannot")
    seen.must_flush()
    if not volume.rotates or seen.busy() < BUSY_DEVICE:
        return None
    return Finding(
        id="rotating-disk",
        severity="warning",
        title=f"the data is on a disk that turns, and {volume.device} is nearly always busy",
        reason=f"{seen.flushed:.0f} pages/s were flushed; it was busy {100 * seen.busy():.0f} % of the time",
        effect="tens of times as many random writes a second",
        source="known from any such disk: some hundred random writes a second",
        risk="none is known, but the price",
        fix="a solid-state device; until then a larger redo log, by innobrim redo, saves most writes",
    )


def logs_apart(seen: Evidence) -> Finding | None:
    """Whether logs and pages share a disk that turns and is nearly always busy."""
    data, redo = seen.volume(), seen.volume("redo")
    if not data.device or not redo.device:
        raise NotKnownError("which device that is the kernel does not say")
    if not _on_one_disk(data, redo) or seen.busy() < BUSY_DEVICE:
        return None
    apart = "binlog" in seen.volumes and not _on_one_disk(data, seen.volumes["binlog"])
    logs = _logs_share(seen, with_binary_log=not apart)
    if logs.likeliest < SHARED_LOGS:
        return None
    disk = data.disk or data.device
    if not data.rotates:
        raise NotKnownError(
            f"{disk} is busy, and whether writes wait does not show: it may take many at once"
        )
    return Finding(
        id="logs-share-the-device",
        severity="info",
        title=f"logs and pages share {disk}, a disk that turns and is nearly always busy",
        reason=f"it was busy {100 * seen.busy():.0f} % of the time, and about {percent(logs)} of its "
        "writes were of logs, for which each commit waits",
        effect="commits no longer queue behind pages",
        source="known from the post 'Introduction to theory and practice of improving MySQL write speed, "
        "with a focus on the redo log'",
        risk="a restart, and a second device that data loss depends on",
        fix=seen.at_start("innodb_log_group_home_dir = a directory on another device")
        + ", and log_bin likewise",
    )


def _logs_share(seen: Evidence, *, with_binary_log: bool = True) -> Figure:
    """Return the share of the device's writes that are of logs.

    Raises:
        NotKnownError: the server does not tell them from those of pages.
    """
    found = device_writes(seen.before, seen.after, seen.facts.family)
    if found is not None and not with_binary_log:
        found = replace(found, binary_log=None)
    pages = None if found is None else found.pages_share
    if pages is None:
        raise NotKnownError("writes of pages are not told from those of logs")
    return Figure(1.0 - pages.high, 1.0 - pages.likeliest, 1.0 - pages.low)


def _on_one_disk(one: Volume, other: Volume) -> bool:
    """Tell whether what is written to both is written to one disk.

    Raises:
        NotKnownError: they are two volumes made of disks, which may be the same ones.
    """
    if one.device == other.device:
        return True
    made = [volume.device for volume in (one, other) if volume.device.startswith(MADE_OF_DISKS)]
    if made:
        raise NotKnownError(f"which disks {' and '.join(made)} are made of is not looked at")
    return bool(one.disk) and one.disk == other.disk


def log_syncs(seen: Evidence) -> Finding | None:
    """What share of the writes the logs have, and what is synced at each commit."""
    synced = seen.setting("innodb_flush_log_at_trx_commit")
    binlog = seen.setting("log_bin").upper() in {"1", "ON"}
    writes = seen.writes()
    logs = writes.get("redo", 0.0) + writes.get("binlog", 0.0)
    if logs < LEAST_LOGS:
        raise NotKnownError(f"no load: {logs:.1f} log writes/s")
    share = _logs_share(seen)
    if synced != "1" or share.likeliest < MOSTLY_LOGS:
        return None
    both = binlog and seen.setting("sync_binlog") == "1"
    kinds = ", ".join(f"{one} {rate:.0f}" for one, rate in writes.items())
    delays = seen.facts.family != "mariadb" and seen.release >= DELAYS
    fix, sql = seen.at_once("binlog_group_commit_sync_delay", "1000") if delays and both else ("", ())
    return Finding(
        id="log-syncs",
        severity="info",
        title="most of the device's writes are of logs, which no setting of flushing saves",
        reason=f"about {percent(share)}, by write calls/s ({kinds}) and syncs, at "
        f"{seen.per_second('commits'):.0f} engine commits/s; innodb_flush_log_at_trx_commit = 1"
        f"{' and sync_binlog = 1' if both else ''}",
        effect="fewer syncs for the same commits, where many commit at the same time",
        source=f"{MANUAL}binlog_group_commit_sync_delay" if sql else "known from group commit in any release",
        risk="each commit takes as much longer as it waits for others"
        if sql
        else "syncing less often loses the newest commits in a crash of the machine",
        fix=fix or "a device that syncs faster, or transactions that commit more rows at once",
        sql=sql,
    )


def log_buffer(seen: Evidence) -> Finding | None:
    """Whether anybody waits for room in the redo log's buffer."""
    size = seen.number("innodb_log_buffer_size")
    waits = seen.rate("Innodb_log_waits")
    if waits <= 0.0:
        return None
    fix, sql = seen.at_once("innodb_log_buffer_size", f"{2 * size:.0f}")
    if seen.facts.family == "mariadb" or seen.release < (8, 0, 11):
        fix, sql = seen.at_start(f"innodb_log_buffer_size = {2 * size:.0f}"), ()
    return Finding(
        id="log-buffer",
        severity="warning",
        title=f"innodb_log_buffer_size = {size:.0f} is too small for this load",
        reason=f"{waits:.1f} writers a second waited until redo was written out of it",
        effect="these waits are gone",
        source=f"{MANUAL}innodb_log_buffer_size",
        risk="memory",
        fix=fix,
        sql=sql,
    )


class Bug(Struct, frozen=True):
    """A bug of some releases that concerns flushing.

    Attributes:
        number: the maker's own.
        what: it does, in words.
        family: of servers.
        releases: first with it, first without it, for each series.
        source: where its end is told.
        shows: whether it can be what this server does.
        mended: the first release without it after one that has it, where its series ended before.
    """

    number: str
    what: str
    family: str
    releases: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    source: str
    shows: Callable[[Evidence], bool]
    mended: Callable[[tuple[int, ...]], tuple[int, ...]] | None = None


def _waits(seen: Evidence) -> bool:
    return seen.per_second("free_page_waits") > 0.0


def _waits_beyond(seen: Evidence) -> bool:
    """Tell whether statements waited for free pages while the age was beyond the soft limit."""
    return _waits(seen) and seen.peak_age >= 1.0


def _heeds_dirty(seen: Evidence) -> bool:
    """Tell whether a release without MDEV-31939 would do anything else: with a mark of 0 it does the same."""
    seen.must_flush()
    return seen.number("innodb_max_dirty_pages_pct_lwm") > 0.0


NOTES = "known from the release notes of MariaDB "
BUGS = (
    Bug(
        "MDEV-31939",
        "pages are flushed for all of innodb_io_capacity, whatever the age and the share of dirty pages",
        "mariadb",
        BLIND,
        f"{NOTES}10.6.17, 10.11.7 and 11.4.1",
        _heeds_dirty,
        heeds_from,
    ),
    Bug(
        "MDEV-36226",
        "the page cleaner stalls without making free pages when the age is beyond the soft limit",
        "mariadb",
        (
            ((10, 6), (10, 6, 22)),
            ((10, 11), (10, 11, 12)),
            ((11, 4), (11, 4, 6)),
            ((11, 8), (11, 8, 2)),
        ),
        f"{NOTES}10.6.22, 10.11.12, 11.4.6 and 11.8.2",
        _waits_beyond,
    ),
    Bug(
        "MDEV-33053",
        "the page cleaner flushes from the LRU tail only once the buffer pool has no free page",
        "mariadb",
        (((10, 6), (10, 6, 17)), ((10, 11), (10, 11, 7)), ((11, 4), (11, 4, 1))),
        f"{NOTES}10.6.17, 10.11.7 and 11.4.1",
        _waits,
    ),
)


def known_bugs(seen: Evidence) -> Finding | None:
    """Whether this release has a bug of flushing that is mended in a later one, and that shows here."""
    if not any(one.family == seen.facts.family for one in BUGS):
        raise NotKnownError(f"bugs of MariaDB alone are looked for, and none of {seen.facts.product}")
    for bug in BUGS:
        ends = [end for first, end in bug.releases if first <= seen.release < end]
        if not ends or seen.facts.family != bug.family:
            continue
        if not bug.shows(seen):
            continue
        mended = ends[0] if bug.mended is None else bug.mended(seen.release)
        same = mended[:2] == seen.release[:2]
        return Finding(
            id="known-bug",
            severity="warning",
            title=f"this release has {bug.number}: {bug.what}",
            reason=f"{seen.facts.version}; {seen.flushed:.0f} pages/s were flushed, the age reached "
            f"{100 * seen.peak_age:.0f} % of the flush limit, "
            f"{seen.per_second('free_page_waits'):.1f} waits/s for a free page",
            effect="the bug is gone",
            source=bug.source,
            risk=f"an upgrade {'within the series' if same else 'to another series'}, and a restart",
            fix=f"upgrade to {named(mended)} or later",
        )
    return None
