"""Rules of doctor on what flushes pages: redo log, C and M, page cleaners, dirty pages, doublewrite, indexes.

Each looks at one thing, and returns a finding where this server shows that it costs, None where it is fine.
It raises ``NotHereError`` for another kind of server, ``NotKnownError`` where what it needs is not shown.
"""

from __future__ import annotations

from msgspec.structs import replace

from tuner.findings.advice import small_redo
from tuner.findings.evidence import Evidence, NotHereError, NotKnownError
from tuner.findings.finding import Finding

FEW_DOUBLEWRITE_PAGES = 32
"""Fewer in a batch, and a flush of some hundred pages waits for many of them."""

ENOUGH_DOUBLEWRITE_PAGES = 128
"""The default of MySQL 8.4."""

BUSY_PAGES = 50.0
"""Pages flushed a second from which on a doublewrite batch more or less is seen."""

LOW_AGE = 0.35
"""Age ratio below which a load that flushes has most of its redo log unused."""

FAR_TOO_MUCH = 4.0
"""M over the pages that are flushed from which on it is not the load that needs so much."""

FAR_FROM_M = 0.5
"""Share of M that is flushed below which it is not M that holds flushing back, but for bursts."""

WHOLE = 100
"""Percentage of C that the age asks for from which on a share of dirty pages asks for no more."""

MOSTLY_FREED = 0.5
"""Share of the flushed pages that come from the LRU tail from which on they, and not M, keep the age low."""

LATE = 0.01
"""Share of the flushed pages that sync flushing may have."""

NEIGHBOURS = 0.05
"""Share of the flushed pages that neighbours may have."""

BEHIND = 0.9
"""Share of the pages that the flush law asks for below which the page cleaner does not come after."""

HIGH_LOW_WATER = 30.0
"""innodb_adaptive_flushing_lwm above which little is left to flush evenly in, percent; its default is 10."""

AHI_HITS, AHI_SEARCHES = 0.2, 1000.0
"""Share of the searches below which the adaptive hash index does not pay, and searches/s that tell."""

IBUF_SHARE = 0.1
"""Share of the buffer pool that changes may wait in."""

MANUAL = "known from MySQL's manual, "

CHECKPOINTS = (
    "'More on Checkpoints in InnoDB MySQL 8', Percona's blog, August 2020 (docs/results/plant-seeds.md)"
)
SHOCK = "'Shock with innodb_doublewrite_pages in MySQL 8.0.20+', January 2026 (docs/results/plant-seeds.md)"
"""Articles, and where their experiments are held against the model."""


def redo_log(seen: Evidence) -> Finding | None:
    """How fast the load fills the redo log."""
    seen.must_flush()
    found = small_redo(seen.last, redo_rate=seen.per_second("lsn_current"))
    if found is None:
        return None
    return replace(
        found,
        effect="more write combining, so fewer page writes, and room for bursts",
        source="predicted for your load by innobrim redo, for others in docs/results/predictions.md",
        risk="disk space, and a longer crash recovery",
    )


def io_capacity(seen: Evidence) -> Finding | None:
    """Whether M asks for far more, or far less, than the load needs."""
    seen.must_flush()
    most, pages = seen.last.io_capacity_max, seen.flushed
    age = f"the age is at {100 * seen.age:.0f} % of the flush limit"
    if _is_late(seen) and pages < FAR_FROM_M * most:
        return Finding(
            id="sync-flushing",
            severity="warning",
            title=f"pages are flushed late, though innodb_io_capacity_max = {most} allows more",
            reason=f"{_past(seen)}; {age}",
            effect="room for bursts before sync flushing begins",
            source="predicted for your load by innobrim redo",
            risk="disk space, and a longer crash recovery",
            fix="a larger redo log, by innobrim redo; where the device is the limit, one that writes faster",
        )
    if _is_late(seen):
        return Finding(
            id="io-capacity-too-low",
            severity="warning",
            title=f"innodb_io_capacity_max = {most} is too low for this load",
            reason=f"{_past(seen)}; {age}",
            effect="no sync flushing, and no waves in the throughput",
            source="measured: docs/results/bench/README.md, contender sync 100/100: 70 of 270 s stalled",
            risk="a value that is far too high costs page writes",
            fix="innobrim advise finds the pair for this load, and active mode follows the load",
        )
    if seen.last.degraded:
        raise NotKnownError(f"sync flushing is not shown: {seen.facts.without_counters}")
    if seen.facts.family == "mariadb" or seen.age >= LOW_AGE or most < FAR_TOO_MUCH * pages:
        return None
    if seen.per_second("pages_lru") > MOSTLY_FREED * pages:
        raise NotKnownError(
            "most pages are flushed to get free pages, which innodb_io_capacity_max does not decide"
        )
    if seen.peak_age * seen.last.flush_limit < seen.last.low_water_age:
        raise NotKnownError(
            f"{age}, below innodb_adaptive_flushing_lwm, where the server does not flush by age"
        )
    return Finding(
        id="io-capacity-too-high",
        severity="warning",
        title=f"innodb_io_capacity_max = {most} keeps the redo log almost empty",
        reason=f"{pages:.0f} pages/s were flushed, and {age}: pages are written again "
        "before they have changed often enough",
        effect="fewer page writes for the same work, more commits where the device is the limit",
        source="measured: docs/results/bench/README.md, contenders on 1200 writes/s: 1224 commits/s with "
        "10000/20000, 2552 with the best static pair",
        risk="a value below what a burst needs ends in sync flushing; a crash recovery takes longer",
        fix="innobrim advise finds the pair for this load, and active mode follows the load",
    )


def doublewrite_pages(seen: Evidence) -> Finding | None:
    """How many pages go into a doublewrite batch, in MySQL from 8.0.20 on, and into how many files."""
    pages = seen.number("innodb_doublewrite_pages")
    if _off(seen.setting("innodb_doublewrite")):
        raise NotHereError("innodb_doublewrite")
    if pages >= FEW_DOUBLEWRITE_PAGES:
        return None
    written, batches = seen.rate("Innodb_dblwr_pages_written"), seen.rate("Innodb_dblwr_writes")
    if written < BUSY_PAGES:
        raise NotKnownError(f"no load: {written:.0f} pages/s went through the doublewrite")
    files = seen.after.variables.get("innodb_doublewrite_files")
    where = "" if files is None else f", with innodb_doublewrite_files = {files}"
    return Finding(
        id="doublewrite-pages",
        severity="warning",
        title=f"innodb_doublewrite_pages = {pages:.0f} makes many small doublewrite batches",
        reason=f"{written:.0f} pages/s went through the doublewrite in {batches:.0f} batches/s, "
        f"{written / max(1.0, batches):.1f} pages each, each with a write and a sync of its own{where}",
        effect="fewer writes and syncs for the same pages, and no limit on flushing by their latency",
        source=f"known from {SHOCK}: 55 % fewer writes, and from {CHECKPOINTS}: no more waves; the default "
        "from 8.4 on",
        risk="a restart; some MiB more of doublewrite files",
        fix=seen.at_start(f"innodb_doublewrite_pages = {ENOUGH_DOUBLEWRITE_PAGES}"),
    )


def flush_neighbors(seen: Evidence) -> Finding | None:
    """Whether neighbours of a page are flushed with it, and whether the device gains by that."""
    mode = seen.setting("innodb_flush_neighbors")
    seen.must_flush()
    rotates = seen.volumes["data"].rotates if "data" in seen.volumes else None
    if mode == "0":
        return None
    share = seen.per_second("pages_neighbour") / seen.flushed
    if rotates or share < NEIGHBOURS:
        return None
    where = (
        f"{seen.volume().device} is no disk that turns"
        if rotates is False
        else "whether the disk turns is not known"
    )
    fix, sql = seen.at_once("innodb_flush_neighbors", "0")
    return Finding(
        id="flush-neighbors",
        severity="info" if rotates is None else "warning",
        title=f"innodb_flush_neighbors = {mode} flushes pages before their time",
        reason=f"{100 * share:.0f} % of {seen.flushed:.0f} pages/s were flushed as neighbours; {where}",
        effect="only pages that have to be written are",
        source="known from MySQL's worklog WL#9631, which made 0 the default for solid-state devices in 8.0",
        risk="on a disk that turns, neighbours are nearly free, and leaving them costs seeks",
        fix=fix if rotates is False else f"where the data is on a solid-state device: {fix}",
        sql=sql,
    )


def free_pages(seen: Evidence) -> Finding | None:
    """Whether anybody waits for a free page of the buffer pool."""
    waits = seen.per_second("free_page_waits")
    if waits <= 0.0:
        return None
    depth = seen.number("innodb_lru_scan_depth")
    instances = _instances(seen)
    reads = seen.rate("Innodb_pages_read")
    reason = (
        f"{waits:.1f} waits/s for a free page; {reads:.0f} pages/s were read, and "
        f"{seen.per_second('pages_lru'):.0f} flushed from the LRU tail, of which innodb_lru_scan_depth "
        f"{depth:.0f} × {instances:.0f} instances are looked at each second"
    )
    if reads >= depth * instances:
        fix, sql = seen.at_once("innodb_lru_scan_depth", f"{2 * depth:.0f}")
        return Finding(
            id="free-page-waits",
            severity="warning",
            title="the page cleaner frees fewer pages a second than are read",
            reason=reason,
            effect="free pages are there before a statement needs one",
            source=f"{MANUAL}innodb_lru_scan_depth",
            risk="each pass over the LRU tail takes longer",
            fix=fix,
            sql=sql,
        )
    return Finding(
        id="free-page-waits",
        severity="warning",
        title="the buffer pool is short of free pages, and statements wait for them",
        reason=reason,
        effect="statements no longer wait for a page to be written first",
        source=f"{MANUAL}Innodb_buffer_pool_wait_free",
        risk="memory",
        fix="a larger innodb_buffer_pool_size, or a device that writes faster; innodb_io_capacity "
        "and innodb_io_capacity_max do not limit these writes",
    )


def page_cleaners(seen: Evidence) -> Finding | None:
    """Whether fewer page cleaners than buffer-pool instances leave flushing behind."""
    if seen.facts.family == "mariadb":
        raise NotHereError("it has one page cleaner, although 10.5 shows more")
    cleaners, instances = seen.number("innodb_page_cleaners"), _instances(seen)
    if cleaners >= instances:
        return None
    seen.must_flush()
    if seen.last.degraded:
        raise NotKnownError(f"how much the flush law asks for is not shown: {seen.facts.without_counters}")
    asked, done = float(seen.last.flush_requested), seen.per_second("pages_adaptive")
    if asked <= 0.0 or done >= BEHIND * asked:
        return None
    return Finding(
        id="page-cleaners",
        severity="info",
        title=f"{cleaners:.0f} page cleaners for {instances:.0f} buffer-pool instances, and pages wait",
        reason=f"the flush law asked for {asked:.0f} pages/s, and {done:.0f} were flushed",
        effect="all instances are flushed side by side, where the device can take it",
        source=f"{MANUAL}innodb_page_cleaners; as many as instances are the default from 8.4 on",
        risk="a restart; nothing is gained where the device is the limit",
        fix=seen.at_start(f"innodb_page_cleaners = {instances:.0f}"),
    )


def dirty_limit(seen: Evidence) -> Finding | None:
    """Whether the share of dirty pages, and not the age, decides how much is flushed."""
    limit = seen.number("innodb_max_dirty_pages_pct")
    seen.must_flush()
    by_age = seen.facts.family != "mariadb" and seen.last.flush_percentage >= WHOLE
    if seen.dirty < limit - 1.0 or by_age:
        return None
    fix, sql = seen.at_once("innodb_max_dirty_pages_pct", "90")
    return Finding(
        id="dirty-limit",
        severity="warning",
        title=f"the dirty pages are at innodb_max_dirty_pages_pct = {limit:g}",
        reason=f"{seen.dirty:.0f} % of the buffer pool are dirty, the age is at {100 * seen.age:.0f} % of "
        "the flush limit: the server flushes for the pages, and not for the redo log",
        effect="the redo log is used as far as it goes, with fewer page writes",
        source=f"{MANUAL}innodb_max_dirty_pages_pct",
        risk="fewer clean pages for reads that miss",
        fix=fix if limit < 90.0 else "a larger innodb_buffer_pool_size; more redo gains nothing here",  # noqa: PLR2004 - the default
        sql=sql if limit < 90.0 else (),  # noqa: PLR2004 - the same
    )


def dirty_low_water(seen: Evidence) -> Finding | None:
    """Whether MySQL's low-water mark of dirty pages asks for more pages than the age does."""
    if seen.facts.family == "mariadb":
        raise NotHereError("what it does there is said by innobrim advise")
    mark, limit = seen.number("innodb_max_dirty_pages_pct_lwm"), seen.number("innodb_max_dirty_pages_pct")
    seen.must_flush()
    if mark <= 0.0 or seen.dirty < mark:
        return None
    if seen.last.degraded:
        raise NotKnownError(f"the server's flush percentage is not shown: {seen.facts.without_counters}")
    by_pages = 100.0 * seen.dirty / (limit + 1.0)
    if by_pages <= seen.last.flush_percentage:
        return None
    fix, sql = seen.at_once("innodb_max_dirty_pages_pct_lwm", "0")
    return Finding(
        id="dirty-low-water",
        severity="warning" if seen.age < LOW_AGE else "info",
        title=f"innodb_max_dirty_pages_pct_lwm = {mark:g} flushes more than the redo log needs",
        reason=f"{seen.dirty:.0f} % of the buffer pool are dirty, which asks for {by_pages:.0f} % of "
        f"innodb_io_capacity = {seen.last.io_capacity}; the age asks for {seen.last.flush_percentage} %",
        effect="the age alone decides, and pages are written later and less often",
        source="known from MySQL's worklog WL#9630, which trades peak throughput for early flushing with it",
        risk="a longer shutdown; where the buffer pool is small, fewer clean pages for reads that miss",
        fix=f"{fix}; or a lower innodb_io_capacity, of which it is a share",
        sql=sql,
    )


def adaptive_flushing(seen: Evidence) -> Finding | None:
    """Whether the server flushes by age early enough."""
    seen.must_flush()
    mark = seen.last.adaptive_flushing_lwm
    on = seen.last.adaptive_flushing
    if on and not (mark > HIGH_LOW_WATER and _is_late(seen)):
        return None
    name, value = ("innodb_adaptive_flushing_lwm", "10") if on else ("innodb_adaptive_flushing", "ON")
    fix, sql = seen.at_once(name, value)
    return Finding(
        id="adaptive-flushing",
        severity="warning",
        title=f"innodb_adaptive_flushing_lwm = {mark:g} begins to flush late"
        if on
        else "innodb_adaptive_flushing is OFF: the flush law ignores the age",
        reason=f"{_past(seen)}; the age reached {100 * seen.peak_age:.0f} % of the flush limit",
        effect="pages are written evenly, before writers have to wait",
        source=f"{MANUAL}innodb_adaptive_flushing",
        risk="none is known",
        fix=fix,
        sql=sql,
    )


def change_buffering(seen: Evidence) -> Finding | None:
    """Whether changes of secondary indexes wait in much of the buffer pool."""
    mode = seen.setting("innodb_change_buffering")
    if mode.lower() in {"none", "0"}:
        return None
    pages, total = seen.counter("ibuf_size"), max(1, seen.last.pages_total)
    if pages < IBUF_SHARE * total:
        return None
    fix, sql = seen.at_once("innodb_change_buffering", "none")
    return Finding(
        id="change-buffering",
        severity="info",
        title=f"innodb_change_buffering = {mode} keeps many changes waiting",
        reason=f"its tree has {pages} pages, {100 * pages / total:.0f} % of the buffer pool",
        effect="room for other pages, and no merges that come later, with a slow shutdown or an upgrade too",
        source=f"{MANUAL}which made none the default in 8.4",
        risk="inserts into secondary indexes read their pages at once; where they are the load, leave it",
        fix=fix,
        sql=sql,
    )


def adaptive_hash_index(seen: Evidence) -> Finding | None:
    """Whether the adaptive hash index answers enough searches to pay for itself."""
    if _off(seen.setting("innodb_adaptive_hash_index")):
        return None
    hits, misses = seen.rate("adaptive_hash_searches"), seen.rate("adaptive_hash_searches_btree")
    if hits + misses < AHI_SEARCHES:
        raise NotKnownError(f"no load: {hits + misses:.0f} searches/s tell little")
    if hits >= AHI_HITS * (hits + misses):
        return None
    fix, sql = seen.at_once("innodb_adaptive_hash_index", "OFF")
    return Finding(
        id="adaptive-hash-index",
        severity="info",
        title="the adaptive hash index answers few searches",
        reason=f"{100 * hits / (hits + misses):.0f} % of {hits + misses:.0f} searches/s, and each change of "
        "a page that it has is a change of it",
        effect="less work for each change",
        source=f"known from {CHECKPOINTS}: 7579 → 7996 transactions/s without; "
        "OFF is the default from 8.4 on",
        risk="lookups by the same keys take longer; it is dropped at once and built again when turned on",
        fix=fix,
        sql=sql,
    )


def _is_late(seen: Evidence) -> bool:
    """Tell whether the server flushed past the sync point, or writers waited for redo space.

    Where InnoDB's counters are off, an age beyond that point shows it.
    """
    synced = seen.per_second("pages_sync") >= LATE * seen.flushed
    return synced or _beyond(seen) or seen.per_second("redo_space_waits") > 0.0


def _beyond(seen: Evidence) -> bool:
    """Tell whether the age is beyond the sync point and no counter says what is flushed there."""
    point = seen.last.stall_point if seen.facts.family == "mariadb" else seen.last.sync_point
    return seen.last.degraded and min(seen.first.modified_age, seen.last.modified_age) >= point


def _past(seen: Evidence) -> str:
    flushed, synced = f"{seen.flushed:.0f} pages/s were flushed", seen.per_second("pages_sync")
    if _beyond(seen):
        return f"{flushed} with an age beyond the sync point; who waited is not shown: the counters are off"
    waits = seen.per_second("redo_space_waits")
    return f"{synced:.0f} of {flushed} past the sync point, and {waits:.1f} writers/s waited for redo space"


def _instances(seen: Evidence) -> float:
    """Return how many buffer-pool instances there are; one in MariaDB, whatever 10.5 shows."""
    if seen.facts.family == "mariadb":
        return 1.0
    try:
        return seen.number("innodb_buffer_pool_instances")
    except NotHereError:
        return 1.0


def _off(said: str) -> bool:
    return said.upper() in {"OFF", "0"}
