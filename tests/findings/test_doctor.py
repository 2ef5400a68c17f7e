"""What doctor says: each rule where it costs, and none where it does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.bench import FakeServer
from tests.factory import A
from tests.findings.ids import ids_in
from tests.findings.patient import DISK, patient
from tests.findings.recorded import evidence, names, text
from tests.lab.plant.support import plant, watched
from tuner.cli.answer import Refused
from tuner.cli.doctor import watch
from tuner.findings.doctor import RULES, costliest, examine
from tuner.findings.evidence import Evidence
from tuner.findings.finding import Finding
from tuner.records import Capacity
from tuner.servers.port import Unreachable
from tuner.servers.survey import Survey
from tuner.system.storage import Volume

ROOT = Path(__file__).parents[2]
MIB = 1_048_576
LOW_AGE = {"age": 0.15 * A, "io_capacity_max": 20_000}
TURNS = replace(DISK, rotates=True, busy_ms=9500)
BUSY = {"data": TURNS, "redo": TURNS}
MARIADB = {"family": "mariadb", "version": "11.4.5-MariaDB", "flush_law": "soft-limit"}
FEW = {"innodb_doublewrite_pages": "4"}
CLEANERS = {"innodb_page_cleaners": "4", "innodb_buffer_pool_instances": "8"}

Change = dict[str, Any]

CASES: dict[str, tuple[Change, Change, str]] = {
    "redo-too-small": (
        {"reading": {"redo_capacity": 20 * MIB}},
        {"reading": {"redo_capacity": 40 * MIB}},
        "innobrim redo",
    ),
    "io-capacity-too-low": ({"grown": {"pages_sync": 40}}, {"grown": {"pages_sync": 1}}, "innobrim advise"),
    "io-capacity-too-high": (
        {"reading": LOW_AGE},
        {"reading": LOW_AGE | {"io_capacity_max": 1200}},
        "innobrim advise",
    ),
    "sync-flushing": (
        {"grown": {"pages_sync": 40}, "reading": {"io_capacity_max": 20_000}},
        {"grown": {"pages_sync": 40}},
        "innobrim redo",
    ),
    "doublewrite-pages": (
        {"variables": FEW, "rates": {"Innodb_dblwr_writes": 110}},
        {"variables": FEW | {"innodb_doublewrite": "OFF"}, "volumes": {}},
        "innodb_doublewrite_pages = 128 in my.cnf, and restart",
    ),
    "free-page-waits": (
        {"grown": {"free_page_waits": 5}, "rates": {"Innodb_pages_read": 3000}},
        {"rates": {"Innodb_pages_read": 3000}},
        "SET GLOBAL innodb_lru_scan_depth = 2048",
    ),
    "page-cleaners": (
        {"variables": CLEANERS, "reading": {"flush_requested": 1000}},
        {"variables": CLEANERS},
        "innodb_page_cleaners = 8 in my.cnf",
    ),
    "dirty-limit": (
        {
            "variables": {"innodb_max_dirty_pages_pct": "75"},
            "reading": {"pages_dirty": 49_000, "flush_percentage": 30},
        },
        {
            "variables": {"innodb_max_dirty_pages_pct": "75"},
            "reading": {"pages_dirty": 49_000, "flush_percentage": 139},
        },
        "SET GLOBAL innodb_max_dirty_pages_pct = 90",
    ),
    "dirty-low-water": (
        {"reading": {"pages_dirty": 20_000, "flush_percentage": 5}},
        {"reading": {"pages_dirty": 20_000, "flush_percentage": 50}},
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
    ),
    "adaptive-flushing": (
        {"reading": {"adaptive_flushing_lwm": 60.0}, "grown": {"redo_space_waits": 3}},
        {"reading": {"adaptive_flushing_lwm": 60.0}},
        "SET GLOBAL innodb_adaptive_flushing_lwm = 10",
    ),
    "flush-neighbors": (
        {"variables": {"innodb_flush_neighbors": "1"}, "grown": {"pages_neighbour": 100}},
        {
            "variables": {"innodb_flush_neighbors": "1"},
            "grown": {"pages_neighbour": 100},
            "volumes": {"data": replace(TURNS, busy_ms=100)},
        },
        "SET GLOBAL innodb_flush_neighbors = 0",
    ),
    "change-buffering": (
        {"variables": {"innodb_change_buffering": "all"}, "rates": {"ibuf_size": 1000}},
        {"variables": {"innodb_change_buffering": "all"}, "rates": {"ibuf_size": 10}},
        "SET GLOBAL innodb_change_buffering = none",
    ),
    "adaptive-hash-index": (
        {"variables": {"innodb_adaptive_hash_index": "ON"}, "rates": {"adaptive_hash_searches": 50}},
        {"variables": {"innodb_adaptive_hash_index": "ON"}},
        "SET GLOBAL innodb_adaptive_hash_index = OFF",
    ),
    "flush-method": (
        {"variables": {"innodb_flush_method": "fsync"}},
        {"variables": {"innodb_flush_method": "fsync", "innodb_data_file_buffering": "OFF"}},
        "innodb_flush_method = O_DIRECT in my.cnf",
    ),
    "doublewrite-off": (
        {"variables": {"innodb_doublewrite": "OFF"}},
        {"variables": {"innodb_doublewrite": "OFF"}, "volumes": {"data": Volume("zfs")}},
        "innodb_doublewrite = ON in my.cnf",
    ),
    "copy-on-write": (
        {"volumes": {"data": Volume("zfs")}},
        {"volumes": {"data": Volume("xfs")}},
        "innodb_doublewrite = OFF in my.cnf",
    ),
    "rotating-disk": (
        {"volumes": {"data": TURNS}},
        {"volumes": {"data": replace(TURNS, busy_ms=3000)}},
        "innobrim redo",
    ),
    "logs-share-the-device": (
        {"volumes": BUSY},
        {"volumes": BUSY | {"redo": replace(TURNS, device="sdb")}},
        "innodb_log_group_home_dir",
    ),
    "log-syncs": (
        {"rates": dict.fromkeys(("writes:redo", "syncs:redo", "writes:binlog", "syncs:binlog"), 1000)},
        {"rates": {"writes:redo": 1000, "writes:binlog": 1000}},
        "SET GLOBAL binlog_group_commit_sync_delay = 1000",
    ),
    "log-buffer": (
        {"rates": {"Innodb_log_waits": 4}},
        {"rates": {"Innodb_log_waits": 0}},
        "SET GLOBAL innodb_log_buffer_size = 33554432",
    ),
    "known-bug": (
        {"facts": MARIADB, "grown": {"free_page_waits": 5}, "reading": {"age": 1.05 * A}},
        {"facts": MARIADB, "grown": {"free_page_waits": 5}},
        "upgrade to 11.4.6 or later",
    ),
}
"""By id: where it costs, where it does not, and a part of what is to be done."""


def found(seen: Evidence) -> dict[str, Finding]:
    """Return what doctor finds, by id."""
    return {one.id: one for one in examine(seen).findings}


def test_a_server_on_which_nothing_costs_gets_no_advice() -> None:
    """Each rule looks, and none has anything to say."""
    seen = examine(patient())

    assert seen.findings == ()
    assert set(seen.fine) | set(seen.unknown) == set(RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_speaks_where_it_costs_and_nowhere_else(name: str) -> None:
    """It gives figures, a change, its effect with its source and its risk; beside the case it is silent."""
    costs, is_fine, change = CASES[name]
    one = found(patient(**costs))[name]

    assert name not in found(patient(**is_fine))
    assert re.search(r"\d", one.reason)
    assert change in "\n".join((one.fix, *one.sql))
    assert all((one.effect, one.risk))
    assert one.source.startswith(("measured: ", "known from ", "predicted "))


def test_each_finding_of_doctor_is_tried_and_explained() -> None:
    """No rule is without a case here, and each id is a row of the guide's table."""
    rooms = [ROOT / "tuner" / "findings" / f"rules_{topic}.py" for topic in ("pages", "storage")]
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8").partition("## What doctor looks at")[2]
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", guide.partition("\n## ")[0], re.MULTILINE))

    assert set(CASES) == set().union(*map(ids_in, rooms)) | {"redo-too-small"} == rows


def test_no_load_is_no_reason_for_advice() -> None:
    """A setting that only a load can show to cost is not known then, and is not called fine either."""
    grown = dict.fromkeys(("pages_adaptive", "pages_sync", "pages_background", "pages_lru"), 0)
    seen = examine(
        patient(variables=FEW, reading=LOW_AGE, grown=grown, rates={"Innodb_dblwr_pages_written": 0})
    )

    assert seen.findings == ()
    not_asked = "known bugs of this release"
    assert all(why.startswith("no load: ") for name, why in seen.unknown.items() if name != not_asked)
    assert "innodb_io_capacity_max" in seen.unknown


def test_what_is_not_shown_is_not_known_and_costs_only_that() -> None:
    """An account that sees nothing but the readings gets what these say, and for the rest the reason."""
    lacking = dict.fromkeys(("variables", "status", "counters", "files"), "SELECT command denied")
    seen = replace(patient(grown={"pages_sync": 40}), after=Survey(1010.0, lacking=lacking), volumes={})
    said = examine(seen)

    assert [one.id for one in said.findings] == ["io-capacity-too-low"]
    assert "SELECT command denied" in said.unknown["innodb_flush_method"]


def test_on_a_managed_server_the_change_is_its_owners() -> None:
    """What takes a restart is the provider's to set, and a statement becomes the provider's command."""
    waits = {"grown": {"free_page_waits": 5}, "rates": {"Innodb_pages_read": 3000}}
    said = found(patient(facts={"managed": "Amazon RDS"}, variables=FEW, **waits))

    assert said["doublewrite-pages"].fix.startswith("have Amazon RDS set innodb_doublewrite_pages = 128")
    assert said["free-page-waits"].sql[0].startswith("aws rds modify-db-parameter-group")


def test_advise_gets_what_costs_most_beside_its_own() -> None:
    """The warnings alone, in the order of what they mostly cost, without redo log and pair."""
    seen = patient(
        variables=FEW | {"innodb_flush_method": "fsync"},
        reading=LOW_AGE,
        grown={"free_page_waits": 5},
        rates={"Innodb_log_waits": 4},
    )

    assert [one.id for one in costliest(seen, 2)] == ["doublewrite-pages", "free-page-waits"]


def test_bugs_of_a_release_are_named_only_in_it() -> None:
    """MDEV-31939 from 10.6.13 to 10.6.16 under load; what needs a sign is not told without it."""
    blind = found(patient(facts=MARIADB | {"version": "10.6.16-MariaDB", "flush_law": "age-blind"}))

    assert "MDEV-31939" in blind["known-bug"].title
    assert "10.6.17" in blind["known-bug"].fix
    assert "known-bug" not in found(patient(facts=MARIADB))


@pytest.mark.parametrize(
    ("release", "mended", "series"),
    [
        ("10.8.8", "10.11.7", "to another series"),
        ("10.9.8", "10.11.7", "to another series"),
        ("10.10.7", "10.11.7", "to another series"),
        ("11.2.2", "11.2.3", "within the series"),
    ],
)
def test_no_release_is_named_that_was_never_made(release: str, mended: str, series: str) -> None:
    """MariaDB 10.8 to 10.10 ended before MDEV-31939 was mended: there it takes another series."""
    blind = MARIADB | {"version": f"{release}-MariaDB", "flush_law": "age-blind"}
    bug = found(patient(facts=blind))["known-bug"]

    assert bug.fix == f"upgrade to {mended} or later"
    assert series in bug.risk


def test_that_no_bug_of_mysql_is_looked_for_is_said() -> None:
    """Only bugs of MariaDB are listed: what MySQL's releases have is not known, and not called fine."""
    assert "none of MySQL" in examine(patient()).unknown["known bugs of this release"]


def test_of_two_bugs_that_make_statements_wait_the_age_tells_which() -> None:
    """MDEV-36226 needs an age beyond the soft limit; below it a 10.6.7 has another bug."""
    waits: Change = {
        "facts": MARIADB | {"version": "10.6.7-MariaDB"},
        "grown": {"free_page_waits": 5},
    }

    assert "MDEV-33053" in found(patient(**waits))["known-bug"].title
    assert "MDEV-36226" in found(patient(**waits, reading={"age": 1.05 * A}))["known-bug"].title


def test_without_counters_an_age_beyond_the_sync_point_is_late() -> None:
    """A server that nobody turned the counters on for is told of sync flushing all the same."""
    off = {"degraded": True, "age": 1.1 * A}
    late = found(patient(reading=off))["io-capacity-too-low"]

    assert "the counters are off" in late.reason
    assert "io-capacity-too-low" not in found(patient(reading=off | {"age": 0.9 * A}))
    assert "io-capacity-too-low" not in found(patient(reading=off, facts=MARIADB)), "it rests at its limit"


def test_logs_alone_are_a_load() -> None:
    """A server that syncs forty commits a second and hardly flushes is told that its logs are the load."""
    kinds = ("pages_adaptive", "pages_sync", "pages_background", "pages_lru")
    rates = {
        "writes:data": 5,
        "writes:redo": 42,
        "syncs:redo": 20,
        "writes:binlog": 0,
        "writes:doublewrite": 0,
    }
    quiet = found(patient(grown=dict.fromkeys(kinds, 0), rates=rates, variables={"log_bin": "OFF"}))

    assert "about 89 % (80 to 93)" in quiet["log-syncs"].reason


def test_a_bug_is_not_named_where_its_end_changes_nothing() -> None:
    """With innodb_max_dirty_pages_pct_lwm = 0, the default, MDEV-31939 makes no difference."""
    seen = patient(
        facts=MARIADB | {"version": "10.6.16-MariaDB", "flush_law": "age-blind"},
        variables={"innodb_max_dirty_pages_pct_lwm": "0.000000"},
    )

    assert "known-bug" not in found(seen)


def test_a_low_age_is_not_laid_on_m_where_pages_are_flushed_to_be_freed() -> None:
    """M neither asks for nor limits what the LRU tail is flushed for: whether M costs is not known then."""
    said = examine(patient(reading=LOW_AGE, grown={"pages_lru": 2000}))

    assert "io-capacity-too-high" not in {one.id for one in said.findings}
    assert "innodb_io_capacity_max" in said.unknown


def test_sync_flushing_that_is_not_counted_is_not_called_absent() -> None:
    """With InnoDB's counters off whether M is too low is not known."""
    assert "innodb_io_capacity_max" in examine(patient(reading={"degraded": True})).unknown


def test_a_count_that_was_not_shown_at_the_beginning_is_not_called_none() -> None:
    """How fast it grew is not known then."""
    seen = patient()
    said = examine(replace(seen, before=Survey(seen.before.monotonic)))

    assert "innodb_log_buffer_size" in said.unknown


def test_two_partitions_of_a_disk_are_one_device() -> None:
    """Logs on a partition of their own still queue behind the pages; on volumes of LVM it is not known."""
    parts = [replace(TURNS, device=f"sda{number}", disk="sda") for number in (1, 2)]
    apart = dict(zip(("data", "redo"), parts, strict=True))
    volumes = {what: replace(one, device=f"dm-{one.device[-1]}", disk="") for what, one in apart.items()}

    assert "logs-share-the-device" in found(patient(volumes=apart))
    assert "redo log on a device of its own" in examine(patient(volumes=volumes)).unknown


def test_a_solid_state_device_that_is_always_busy_is_not_called_the_limit() -> None:
    """With one write in flight all the time it may do fifty times as many: whether logs wait is not known."""
    always = replace(DISK, busy_ms=10_000)
    said = examine(patient(volumes={"data": always, "redo": always}))

    assert "logs-share-the-device" not in {one.id for one in said.findings}
    assert "nvme0n1 is busy" in said.unknown["redo log on a device of its own"]


def test_no_variable_is_named_that_a_release_lacks() -> None:
    """MySQL 5.6 has no binlog_group_commit_sync_delay; MariaDB 10.5 shows page cleaners that it has not."""
    logs = dict.fromkeys(("writes:redo", "syncs:redo", "writes:binlog", "syncs:binlog"), 1000)
    old = found(patient(facts={"version": "5.6.24"}, rates=logs))["log-syncs"]
    cleaners = patient(facts=MARIADB, variables=CLEANERS, reading={"flush_requested": 1000})

    assert old.sql == ()
    assert "binlog_group_commit_sync_delay" not in old.fix
    assert "page-cleaners" not in found(cleaners)


@pytest.mark.parametrize("name", names())
def test_what_doctor_says_of_real_servers_is_kept(name: str) -> None:
    """The whole answer, from what was seen of a server under load; recorded anew only on purpose."""
    kept = (ROOT / "tests" / "fixtures" / "doctor" / f"{name}.txt").read_text(encoding="utf-8")

    assert text(evidence(name)) == kept


class Watched(FakeServer):
    """A server of a few lines that can be surveyed; time passes while somebody waits."""

    def __init__(self) -> None:
        super().__init__(Capacity(10_000, 20_000))
        self.clock = SimClock(start=1000.0)

    def survey(self) -> Survey:
        """Return a look without anything."""
        return Survey(self.clock.monotonic())

    def wait(self, seconds: float) -> None:
        """Let time pass here and there."""
        self.live(seconds)
        self.clock.advance_to(self.clock.monotonic() + seconds)


def test_watching_gives_the_figures_of_its_time() -> None:
    """Rates are those of the load, the age the highest, and nothing is written."""
    server = Watched()
    server.live(60.0)
    seen = watch(server, server.clock, 20.0, server.wait)

    assert seen.seconds == pytest.approx(20.0, abs=1.0)
    assert seen.per_second("lsn_current") == pytest.approx(1e6, rel=0.1)
    assert seen.peak_age >= seen.age
    assert server.applied == []


class Stalls(Watched):
    """A server whose looks are too slow from the second on, for so many of them."""

    def __init__(self, slow: int) -> None:
        super().__init__()
        self.looks, self.slow = 0, slow

    def survey(self) -> Survey:
        """Return settings and a count, or nothing in time."""
        self.looks += 1
        if 1 < self.looks <= 1 + self.slow:
            raise Unreachable("db1:3306: no answer within 1 s")
        return Survey(
            self.clock.monotonic(), {"innodb_log_buffer_size": "64"}, {"Innodb_log_waits": 4 * self.looks}
        )


def test_a_statement_that_is_too_slow_at_the_end_costs_no_more_than_its_counts() -> None:
    """What an hour of watching showed is told; the look is tried again, and then what it lacks is named."""
    once, always = Stalls(1), Stalls(9)
    again, without = (examine(watch(one, one.clock, 20.0, one.wait)) for one in (once, always))

    assert "log-buffer" in {one.id for one in again.findings}
    assert "no answer within 1 s" in without.unknown["innodb_log_buffer_size"]
    assert without.looked_at > 1


def test_a_restart_in_the_middle_is_no_load() -> None:
    """Counters that began anew are compared with none, also where uptime is higher at the end than before."""
    server = Watched()
    server.started = -3.0

    def wait(seconds: float) -> None:
        server.wait(seconds)
        if 5.0 <= server.now < 6.0:
            server.restart(server.capacity)

    with pytest.raises(Refused, match="restarted"):
        watch(server, server.clock, 20.0, wait)


@pytest.mark.parametrize(("m", "costs"), [(20_000, True), (480, False)])
def test_on_the_simulated_server_a_pair_is_too_high_only_where_it_costs(m: int, *, costs: bool) -> None:
    """At the shipped 10000/20000 most of the redo log is unused; at a pair that suits the load it is not."""
    server, samples = watched(plant(m=m), 300)
    look = Survey(0.0)
    peak = max(one.age_ratio for one in samples[-20:])
    seen = Evidence(server.facts(), samples[-20], samples[-1], peak, look, look)

    assert ("io-capacity-too-high" in found(seen)) is costs


def test_write_calls_that_the_page_cache_puts_together_are_no_writes_of_the_logs() -> None:
    """A hundred calls of the redo log for each of its syncs reach the disk as two writes: no harm."""
    rates = {"writes:redo": 2000, "syncs:redo": 20, "writes:binlog": 0, "syncs:binlog": 0}

    assert "logs-share-the-device" not in found(patient(volumes=BUSY, rates=rates))
