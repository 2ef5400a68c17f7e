"""Where M does not always move the age, and what a low-water mark of dirty pages would change."""

from __future__ import annotations

from msgspec.structs import replace

from policies.flushlaw import LEGACY, MARIADB, SOFT_LIMIT
from policies.registry import LAWS
from tuner.findings.finding import Finding
from tuner.records import Estimate, Facts, Sample
from tuner.servers.families.mariadb import heeds_from
from tuner.servers.release import named, release_of

LWM = "innodb_max_dirty_pages_pct_lwm"
ABOVE_ZERO = f"SET GLOBAL {LWM} = 0.001"
SET_IT = (
    "set it to 0.001, also in my.cnf for the next start; before the first write the flush law "
    "is verified again"
)
ALL_IT_DOES = (
    "active mode only raises innodb_io_capacity_max, where the server flushes all of it and the "
    "age still grows "
    "beyond the flush limit"
)
LIGHT = (
    "it costs page writes where fewer pages a second become dirty than innodb_io_capacity: the server then "
    "writes each page soon after it is changed, again and again, so leave it at 0 there"
)
"""What a low-water mark of dirty pages costs: under such a load the age never reaches the law."""

STEERS = "innodb_io_capacity_max decides the age, and pages are written evenly"

OVERDUE = 1.05
"""Age ratio that no load reaches of which C pages a second suffice, where flushing begins at 1."""


def m_moves_no_age(facts: Facts) -> list[Finding]:
    """Return the finding for a server on which M does not move the age; empty where it does."""
    law = LAWS.get(facts.flush_law, LEGACY)
    if law.m_moves_age:
        return []
    if law is SOFT_LIMIT:
        return [
            Finding(
                id="no-authority",
                severity="warning",
                title="innodb_io_capacity_max does not move the age below the flush limit, because "
                f"{LWM} is 0",
                reason="with 0, MariaDB's default, the page cleaner sleeps until the age is at the "
                "flush limit, "
                "7/8 of Innodb_checkpoint_max_age. From there on it flushes up to "
                "innodb_io_capacity_max pages/s: "
                f"with any value above the page demand the age stays there. So {ALL_IT_DOES}",
                effect=f"{STEERS}; {LIGHT}",
                fix=SET_IT,
                sql=(ABOVE_ZERO,),
            )
        ]
    mended = named(heeds_from(release_of(facts.version)))
    return [
        Finding(
            id="no-authority",
            severity="warning",
            title="innodb_io_capacity_max does not move the age: this build flushes by "
            "innodb_io_capacity, whatever "
            f"the age ({law.name})",
            reason=f"this is MDEV-31939, and no setting changes it; {ALL_IT_DOES}",
            effect=STEERS,
            fix=f"upgrade to MariaDB {mended} or later, with {LWM} = 0.001 there",
        )
    ]


def while_asleep(facts: Facts) -> list[Finding]:
    """Return the finding for a server whose page cleaner sleeps at times; empty for one that does not."""
    law = LAWS.get(facts.flush_law, LEGACY)
    if not (law.m_moves_age and law.sleeps):
        return []
    return [
        Finding(
            id="page-cleaner-sleeps",
            severity="info",
            title="innodb_io_capacity_max moves the age only while the page cleaner is awake, "
            f"because {LWM} is 0",
            reason=f"{law.sleeps}. When it wakes, it flushes all dirty pages, up to "
            "innodb_io_capacity_max a second",
            effect=f"it does not sleep under load, and innodb_io_capacity_max always moves the age; {LIGHT}",
            fix=SET_IT,
            sql=(ABOVE_ZERO,),
        )
    ]


def for_load(finding: Finding, sample: Sample, estimate: Estimate, *, dirtied: float) -> Finding:
    """Return the finding; without the statement where that would cost page writes under the load seen.

    Args:
        finding: of a server on which M does not move the age, or not at all times.
        sample: the newest reading.
        estimate: what is known by it.
        dirtied: how many pages become dirty, pages/s.
    """
    if not (finding.sql and _light(sample, estimate, dirtied)):
        return finding
    seen = f"{dirtied:.0f} pages a second become dirty, and innodb_io_capacity is {sample.io_capacity}"
    return replace(finding, severity="info", fix=f"not for the load seen: {seen}", sql=())


def written_as_they_come(
    sample: Sample, estimate: Estimate, facts: Facts, *, dirtied: float
) -> list[Finding]:
    """Return the finding for a load so light that a low-water mark of dirty pages costs it page writes."""
    below = sample.lsn_current - sample.lsn_oldest < sample.low_water_age
    if facts.flush_law != MARIADB.name or not (below and _light(sample, estimate, dirtied)):
        return []
    return [
        Finding(
            id="written-as-they-come",
            severity="info",
            title=f"{LWM} above 0 costs page writes under this load",
            reason=f"{dirtied:.0f} pages a second become dirty, fewer than innodb_io_capacity = "
            f"{sample.io_capacity}: the server writes each soon after it is changed, and the age stays below "
            "innodb_adaptive_flushing_lwm",
            effect="a page that is changed again and again is written once; innodb_io_capacity_max "
            "then no longer "
            "moves the age (no-authority), but such a load does not need that",
            fix="where the load is mostly like this: set it to 0, also in my.cnf; active mode only "
            "lowers both "
            "values, as far as loop.min_io_capacity_max allows",
            sql=(f"SET GLOBAL {LWM} = 0",),
        )
    ]


def _light(sample: Sample, estimate: Estimate, dirtied: float) -> bool:
    """Tell whether fewer pages become dirty than C lets the server write out as they come.

    A server that flushes C or more, or whose age is past where C would have held it, has no light load, even
    if its writers wait just now.
    """
    busiest = max(dirtied, estimate.flush_rate)
    return estimate.redo_rate > 0 and busiest < sample.io_capacity and estimate.age_ratio < OVERDUE
