"""The whole flushing configuration against what a server shows: the rules of doctor and their outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from tuner.findings.evidence import Evidence, NotHereError, NotKnownError
from tuner.findings.finding import Finding
from tuner.findings.providers import in_its_way
from tuner.findings.rules_pages import (
    adaptive_flushing,
    adaptive_hash_index,
    change_buffering,
    dirty_limit,
    dirty_low_water,
    doublewrite_pages,
    flush_neighbors,
    free_pages,
    io_capacity,
    page_cleaners,
    redo_log,
)
from tuner.findings.rules_storage import (
    file_system,
    flush_method,
    known_bugs,
    log_buffer,
    log_syncs,
    logs_apart,
    rotation,
)

RULES: Mapping[str, Callable[[Evidence], Finding | None]] = {
    "redo log size": redo_log,
    "innodb_io_capacity_max": io_capacity,
    "innodb_doublewrite_pages, files": doublewrite_pages,
    "innodb_lru_scan_depth, free pages": free_pages,
    "known bugs of this release": known_bugs,
    "innodb_doublewrite, file system": file_system,
    "disk that turns": rotation,
    "innodb_flush_method": flush_method,
    "innodb_max_dirty_pages_pct": dirty_limit,
    "innodb_max_dirty_pages_pct_lwm": dirty_low_water,
    "innodb_adaptive_flushing, _lwm": adaptive_flushing,
    "innodb_flush_neighbors": flush_neighbors,
    "innodb_page_cleaners, instances": page_cleaners,
    "innodb_log_buffer_size": log_buffer,
    "sync_binlog, innodb_flush_log_at_trx_commit": log_syncs,
    "redo log on a device of its own": logs_apart,
    "innodb_adaptive_hash_index": adaptive_hash_index,
    "innodb_change_buffering": change_buffering,
}
"""What is looked at, and its rule; what mostly costs most comes first."""


class Examination(Struct, frozen=True):
    """What came of all rules.

    Attributes:
        findings: what costs here, as warnings, then what is worth knowing.
        fine: what does not, by its name in ``RULES``.
        unknown: what could not be judged, and why.
    """

    findings: tuple[Finding, ...]
    fine: tuple[str, ...]
    unknown: Mapping[str, str]

    @property
    def looked_at(self) -> int:
        """Return how many settings this server has that a rule is about."""
        return len(self.findings) + len(self.fine) + len(self.unknown)


def examine(seen: Evidence) -> Examination:
    """Return what each rule says of a server; whatever a rule lacks costs that rule alone."""
    found: list[Finding] = []
    fine: list[str] = []
    unknown: dict[str, str] = {}
    for name, rule in RULES.items():
        try:
            finding = rule(seen)
        except NotKnownError as error:
            unknown[name] = str(error)
        except NotHereError:
            continue
        else:
            if finding is None:
                fine.append(name)
            else:
                found.append(finding)
    found.sort(key=lambda one: one.severity != "warning")
    return Examination(tuple(in_its_way(found, seen.facts)), tuple(fine), unknown)


def costliest(seen: Evidence, most: int = 3) -> tuple[Finding, ...]:
    """Return what costs most here, at most so many; for advise, beside its own on C, M and redo log."""
    own = {"redo-too-small", "io-capacity-too-high", "io-capacity-too-low"}
    warned = [one for one in examine(seen).findings if one.severity == "warning" and one.id not in own]
    return tuple(warned[:most])
