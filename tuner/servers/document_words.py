"""The sentences of the page of supported servers, with the numbers that recognition and laws go by."""

from __future__ import annotations

from policies.flushlaw import AGE_BLIND, MARIADB, MARIADB_WAKES, SOFT_LIMIT, TERMS_WITH_NEED, FlushLaw
from tuner.servers.adapter import FACTOR, RAISED
from tuner.servers.enginestatus import SECONDS
from tuner.servers.families import SUPPORTED
from tuner.servers.families.mariadb import BLIND, HEEDING, NARROWER
from tuner.servers.release import named

LWM = "innodb_max_dirty_pages_pct_lwm"
REMEDY = f"SET GLOBAL {LWM} = 0.001"


def formula(law: FlushLaw) -> str:
    """Return in words and signs how many pages a law flushes."""
    cut = ", cut to a whole number" if law.whole else ""
    percentage = f"PCT = C × ⌊⌊M / C⌋ × X^{law.exponent:g} / {law.divisor:g}⌋ %, X = 100 × age / A{cut}"
    if law is AGE_BLIND:
        return f"the mean of C, F and p, p at most {_share(law)}: the age decides nothing"
    if not law.authority:
        return f"asleep nothing; awake the mean of C, F and p, p at most {_share(law)}; from A on up to M"
    if law.terms < TERMS_WITH_NEED:
        mean = "the mean of PCT and F"
    else:
        mean = f"the mean of PCT, F and p, p at most {_share(law)}"
    if law.sleeps:
        mean = f"asleep nothing; awake {mean}"
    alone = "; from A on PCT alone" if law.alone else ""
    return f"{mean}{alone}. {percentage}"


def _before(release: tuple[int, ...]) -> str:
    """Return the patch release before."""
    return named((*release[:-1], release[-1] - 1))


def _builds() -> str:
    pairs = ((named(first), _before(last)) for first, last in BLIND)
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in pairs)


def _mended() -> str:
    """Return the first release of each series in which MDEV-31939 is mended."""
    series = {first[:2] for first, _ in BLIND}
    return ", ".join(named(first) for first, _ in HEEDING if first[:2] in series)


def _firsts() -> str:
    """Return the first release of each series of MariaDB in which the age decides nothing with 0 there."""
    series = {first[:2]: first for first, _ in (*HEEDING, *BLIND) if first < (11,)}
    return ", ".join(named(first) for _, first in sorted(series.items()))


def _share(law: FlushLaw) -> str:
    """Return the most that p counts for."""
    return f"{law.need_cap:g} × M" if law.need_cap >= 1.0 else f"M / {1 / law.need_cap:g}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


INTRODUCTION = f"""\
# Servers

What can be said of every server is in the [README](../README.md); here is what depends on which one it is.
Families are told apart by what a server has and can do, and by its release where nothing else tells.
{_sentence(SUPPORTED)}
The line `supported` of `innobrim check` says what a server was taken for.
"""

LEVELS = """\
How each is known:

- **measured**: the loop was run on it, under load; the page has the figures.
- **recorded**: its answers under load are kept as a fixture. Its limits are those that we compute, to the
  byte, and the flush percentage that it exports is the one that our law gives, where the law goes by it.
- **source**: read in its source or manual, and never seen by us; a fixture is written from these documents.

Whatever is known of it, a server's own limits are compared with ours at the start, or when the counters
that show them are turned on, and the [model gate](decisions/model-gate.md) lets nothing be
written before its own percentages were met. You have one that is only known from its source?
`innobrim record --fixture` [makes a recording](record-and-report.md#a-fixture).
"""

DIFFERENT = f"""
The third column is the M at which the age rests there, over the pages a second that the load makes dirty.
C and M are `innodb_io_capacity` and `innodb_io_capacity_max`, A is the age that the law divides by, F the
mean rate of the flushing so far, p the pages that the mean redo rate needs. No law flushes more than M.
Sources are named in [policies/flushlaw.py](../policies/flushlaw.py). The law in force is looked up at every
reading, since `{FACTOR}` and `{LWM}` can be set at any time; after a change it is verified anew.

## What is different

- **MariaDB with `{LWM}` = 0**, its default (`{SOFT_LIMIT.name}`). The page cleaner falls asleep below the
  low-water mark and sleeps until the age is 7/8 of `Innodb_checkpoint_max_age`. M does not move the age,
  only how evenly the pages go: it is kept above the demand, and a drain is refused.
  {SOFT_LIMIT.remedy.replace(REMEDY, f"`{REMEDY}`")}. More [here](decisions/no-authority.md).
- **MariaDB before MDEV-26827**, with the same default: before {_firsts()} (`{MARIADB_WAKES.name}`). It falls
  asleep there too, but awake it goes by the age, so that M moves it: the loop holds a set-point while it is
  awake, and writes nothing while it sleeps. More [here](decisions/mariadb-wakes.md). 10.5.7 and 10.5.8 never
  sleep (`{MARIADB.name}`); 10.5.9 does, and awake it heeds no age (`{SOFT_LIMIT.name}`).
- **MariaDB with MDEV-31939**: {_builds()} (`{AGE_BLIND.name}`). They flush whatever the age,
  and the percentage that they export decides nothing; {_mended()} and later have it mended. So active mode
  needs `loop.accept_unverified = true` there. Every other server exports what the model gate needs, or has
  no percentage that decides (`{SOFT_LIMIT.name}`).
- **MariaDB with `{LWM}` above 0**, in builds without that bug: the age counts only while at least so much
  of the buffer pool is dirty. Below, the server flushes for all of C and exports a percentage that it does
  not use: the model gate takes that for a mismatch, and active mode holds. With 0.001 that does not happen.
  The age counts only from `innodb_adaptive_flushing_lwm` on, too. Below, the server writes out whatever is
  dirty, up to C pages a second, and leaves its counters as they were. So under a light load, one that makes
  fewer than C pages dirty a second, there is next to no age, and a page is written again after each change:
  leave the variable at 0 there. The loop can only lower C and M, as far as `min_io_capacity_max` allows.
  M decides the age below the flush limit; beyond it does so late, and little lies between there and where
  writers wait. So the loop keeps away from it as from a sync point ([why](decisions/mariadb-flush-limit.md)).
- **Writers that wait.** In MySQL 8.0 and later sync flushing goes on beside the writers, who wait from the
  stall point on. In MySQL 5.6 and 5.7 they wait from the sync point on, and in MariaDB the two are one:
  there the set-point keeps more distance.
- **Setting one knob beyond the other.** MySQL and Percona Server cut what was asked for: C to M, or M to C.
  MariaDB moves the other one: a C above M makes M twice C, an M below C lowers C to it. The loop sets them
  in the order in which neither happens, and reads both back.
- **Values above 2³² − 1** are possible before MySQL {named(RAISED)}, and in MariaDB in all of
  10.5 and 10.6, and before {", ".join(named((*one, patch)) for one, patch in NARROWER.items())}.
- **MySQL 26.7** came after 9.7: from there on the numbers are year and month. Its manual names no
  system or status variable that is read or set here as changed or removed; its source was not read. It is
  taken for what it has, as any later release is.
- **MySQL 5.6 and 5.7** go by the `innodb_thread_concurrency` that mysqld started with. Where another one was
  set since, the limits that they export are not those of the one in force: `check` says so, with both
  numbers (`blocked`), and nothing is written until they agree.
- **MySQL 8.0 before 8.0.30** works `log_concurrency_margin` out before its counters go on: it is 0, and not
  compared, until the server makes it larger, which is seen where the counters were on by then.
- **MySQL 8.0.16**, and what is like it among the early 8.0, exports limits that are not rounded to log
  blocks, and flushes by them without taking the margin off. It is read and not controlled: `check` says that
  this build is not understood (`blocked`).
- **Percona Server** flushes by `{FACTOR}`: `high_checkpoint`, its default, or `legacy`, which is MySQL's
  law.
- **Managed servers.** Amazon RDS, Google Cloud SQL, Azure Database for MySQL and MySQL HeatWave take no
  `SET GLOBAL` of the two: `check`, `advise`, `record` and the advisory loop work, and print what is to be
  set as `aws rds modify-db-parameter-group`, `gcloud sql instances patch`,
  `az mysql flexible-server parameter set-batch` or `oci mysql configuration create`, the counters too. What
  can be set there is one pair for all hours: ask for it at a busy one. The grants are the administrator's
  account's to give: those of the reading account in the [README](../README.md#beside-a-server-of-your-own).
  `innobrim setup-sql` knows Cloud SQL, Azure and HeatWave by their version, such as `8.0.37-azure` or
  `8.0.36-u2-cloud`, and prints those; RDS it does not, and its script ends at the definer's privilege to
  write, which nobody there can give. Aurora flushes no pages from the instance: it is refused. Other
  providers are not told from servers of your own: where nobody may be given the privilege, `check` names it
  as missing, and advisory mode works.
- **Counters off.** What is left is in [degraded.md](degraded.md). Where only `SHOW ENGINE INNODB STATUS`
  shows an age, it is asked every {SECONDS:g} s, since it holds up statements.
- **Surroundings.** Before MySQL 8.0, and on MariaDB, a replica is seen and its lag is not; locks and clones
  are not seen either. MariaDB counts the latency of statements only with `performance_schema = ON`, and its
  default is OFF: a `restore` goes by time alone then.
"""
