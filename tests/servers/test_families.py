"""Which family a server belongs to, which flush law is in force there, and what a new family takes."""

from __future__ import annotations

import pytest

from tests.servers.fixtured import good, opened
from tests.servers.made_up import LIMIT, SIZE, MadeUpAdapter
from tuner.servers import families
from tuner.servers.adapter import MAXIMUM_32, MAXIMUM_64
from tuner.servers.families import FAMILIES, recognise
from tuner.servers.families.log_files import MySQL56Adapter, MySQL57Adapter, MySQL80Adapter, MySQL8012Adapter
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.port import Unsupported

LOG_FILES = {
    "innodb_page_size": "16384",
    "innodb_log_file_size": "50331648",
    "innodb_log_files_in_group": "2",
    "innodb_thread_concurrency": "0",
}
OLD = {**LOG_FILES, "version": "5.7.44-log", "version_comment": "MySQL Community Server (GPL)"}
NEW = {**OLD, "version": "8.4.6", "innodb_redo_log_capacity": "104857600"}
EIGHT = {**OLD, "version": "8.0.28-20"}
MARIADB = {
    "version": "11.8.6-MariaDB-0+deb13u1 from Debian",
    "version_comment": "Debian 13",
    "innodb_page_size": "16384",
    "innodb_log_file_size": "104857600",
    "innodb_max_dirty_pages_pct_lwm": "0.000000",
}
FACTOR = "innodb_cleaner_lsn_age_factor"
HIGH, LEGACY = {FACTOR: "high_checkpoint"}, {FACTOR: "legacy"}


@pytest.mark.parametrize(
    ("variables", "adapter", "family", "law"),
    [
        (NEW, RedoCapacityAdapter, "mysql", "legacy"),
        ({**NEW, "version": "8.0.36-0ubuntu0.22.04.1"}, RedoCapacityAdapter, "mysql", "legacy"),
        ({**OLD, "version": "8.0.29"}, MySQL80Adapter, "mysql", "legacy-whole"),
        ({**OLD, "version": "8.0.13"}, MySQL80Adapter, "mysql", "legacy-whole"),
        ({**OLD, "version": "8.0.12"}, MySQL8012Adapter, "mysql", "legacy-whole"),
        (OLD | HIGH | {"version": "8.0.13-3"}, MySQL80Adapter, "percona", "high_checkpoint-whole"),
        (OLD, MySQL57Adapter, "mysql", "legacy-whole"),
        ({**OLD, "version": "5.6.51"}, MySQL56Adapter, "mysql", "legacy-56"),
        (NEW | HIGH, RedoCapacityAdapter, "percona", "high_checkpoint"),
        (NEW | LEGACY, RedoCapacityAdapter, "percona", "legacy"),
        (OLD | HIGH, MySQL57Adapter, "percona", "high_checkpoint-57"),
        (OLD | LEGACY, MySQL57Adapter, "percona", "legacy-57"),
        (EIGHT | HIGH, MySQL80Adapter, "percona", "high_checkpoint-whole"),
        (EIGHT | LEGACY, MySQL80Adapter, "percona", "legacy-whole"),
        (MARIADB, MariaDBAdapter, "mariadb", "soft-limit"),
        (
            {**MARIADB, "version": "11.8.6", "version_comment": "mariadb.org"},
            MariaDBAdapter,
            "mariadb",
            "soft-limit",
        ),
        ({**NEW, **MARIADB, "version": "5.5.5-10.6.22-MariaDB"}, MariaDBAdapter, "mariadb", "soft-limit"),
    ],
)
def test_a_server_is_recognised(variables: dict[str, str], adapter: type, family: str, law: str) -> None:
    """Each family is recognised by what it can do, with the flush law in force."""
    found = recognise(variables)

    assert (type(found.adapter), found.name, found.flush_law) == (adapter, family, law)


MARKED = {
    "mariadb": "10.6.12 10.6.17 10.8.7 "
    "10.9.5 10.10.3 10.11.2 10.11.7 11.0.5 11.1.4 11.2.3 11.3.2 11.4.1 11.8.6",
    "age-blind": "10.6.13 10.6.16 10.8.8 10.9.8 10.10.7 10.11.6 11.0.4 11.1.3 11.2.2 11.3.1 11.4.0",
}
UNMARKED = {
    "mariadb": "10.5.7 10.5.8",
    "mariadb-wakes": "10.5.10 10.5.23 10.6.3 10.6.12 10.7.8 10.8.7 10.9.5 10.10.3 10.11.2",
    "age-blind": "10.6.13 10.11.3",
    "soft-limit": "10.5.9 10.5.24 10.6.17 10.11.7 11.4.1 11.8.6 12.1.2",
}
"""Releases of MariaDB by their law, with a low-water mark of dirty pages above 0 and with 0."""


@pytest.mark.parametrize(
    ("version", "mark", "law"),
    [
        (version, mark, law)
        for mark, table in (("0.001", MARKED), ("0", UNMARKED))
        for law, versions in table.items()
        for version in versions.split()
    ],
)
def test_what_mariadb_goes_by_is_known_of_each_release(version: str, mark: str, law: str) -> None:
    """MDEV-26827, MDEV-31939 and its fix each changed what decides, in every series at another release."""
    variables = {**MARIADB, "version": f"{version}-MariaDB", "innodb_max_dirty_pages_pct_lwm": mark}

    assert recognise(variables).flush_law == law


@pytest.mark.parametrize(
    "variables",
    [
        {**OLD, "version": "5.5.62"},
        {**OLD, "version": "5.1.73-log"},
        {**OLD, "version": "5.6.51-91.0", **HIGH},
        {**MARIADB, "version": "10.5.6-MariaDB"},
        {**MARIADB, "version": "10.4.34-MariaDB"},
    ],
)
def test_a_server_that_is_too_old_is_told_since_when(variables: dict[str, str]) -> None:
    """An older server is told which releases are supported."""
    with pytest.raises(
        Unsupported, match=r"too old.*5\.6 to 9\.7.*5\.7 to 8\.4.*10\.5\.7 to 11\.8"
    ) as caught:
        recognise(variables)

    assert variables["version"] in str(caught.value)


@pytest.mark.parametrize(
    ("version", "mended"),
    [("10.6.13", "10.6.17"), ("10.8.8", "10.11.7"), ("10.11.4", "10.11.7"), ("11.4.0", "11.4.1")],
)
def test_a_build_that_ignores_the_age_is_told_the_next_one_that_does_not(version: str, mended: str) -> None:
    """Of its own series, or of a later one where that ended before it was mended."""
    said = recognise({**MARIADB, "version": f"{version}-MariaDB"}).unverified

    assert f"MariaDB {mended} has that mended" in said


@pytest.mark.parametrize(
    ("variables", "version", "highest", "privilege"),
    [
        (NEW, "8.0.46", MAXIMUM_64, "SYSTEM_VARIABLES_ADMIN"),
        (NEW, "8.4.0", MAXIMUM_32, "SYSTEM_VARIABLES_ADMIN"),
        (OLD, "8.0.29", MAXIMUM_64, "SYSTEM_VARIABLES_ADMIN"),
        (OLD, "5.7.44", MAXIMUM_64, "SUPER"),
        *((MARIADB, f"{one}-MariaDB", MAXIMUM_32, "SUPER") for one in ("11.8.6", "10.11.18", "12.1.2")),
        *((MARIADB, f"{one}-MariaDB", MAXIMUM_64, "SUPER") for one in ("11.8.1", "10.11.11", "10.6.28")),
    ],
)
def test_range_and_privilege_are_those_of_the_release(
    variables: dict[str, str], version: str, highest: int, privilege: str
) -> None:
    """The highest value of the knobs, and no narrower privilege than SUPER where there is none."""
    found = recognise({**variables, "version": version})

    assert (found.capacity_maximum, found.write_privilege) == (highest, privilege)


@pytest.mark.parametrize(
    ("variables", "version", "comment", "provider"),
    [
        (NEW, "8.4.6", "MySQL Enterprise Server - Commercial", ""),
        (NEW, "8.4.6-cloudy", "", ""),
        (NEW, "8.0.36-cloud.7-mycorp", "", ""),
        (NEW, "8.0.36-alibaba-cloud", "", ""),
        (NEW, "8.0.36-google-perftools", "built with google-perftools", ""),
        (NEW, "8.0.36-azure-vm", "Acme build for Azure VMs", ""),
        (NEW, "8.0.36", "Acme MySQL Enterprise - Cloud", ""),
        (NEW, "8.0.36", "see https://aws.amazon.com/rds/ for the old one", ""),
        (NEW | {"basedir": "/srv/rdsdbbin/mysql/"}, "8.4.6", "", ""),
        (MARIADB, "11.8.6-MariaDB-cloud", "", ""),
        (NEW | {"basedir": "/rdsdbbin/mysql-8.4.6.R1/"}, "8.4.6", "", "Amazon RDS"),
        (MARIADB | {"basedir": "/rdsdbbin/mariadb-11.8.6.R1/"}, "11.8.6-MariaDB", "", "Amazon RDS"),
        (MARIADB, "11.8.6-MariaDB", "managed by https://aws.amazon.com/rds/", "Amazon RDS"),
        (NEW, "8.4.6-google", "(Google)", "Google Cloud SQL"),
        (OLD, "5.7.36-google-log", "", "Google Cloud SQL"),
        (OLD, "5.7.36-log", "(Google)", "Google Cloud SQL"),
        (NEW, "8.0.37-azure", "", "Azure Database for MySQL"),
        (OLD, "5.7.44-azure-log", "", "Azure Database for MySQL"),
        (NEW, "8.4.5", "MySQL Azure", "Azure Database for MySQL"),
        (NEW, "8.0.36-u2-cloud", "MySQL Enterprise - Cloud", "MySQL HeatWave"),
        (NEW, "9.2.1-cloud", "", "MySQL HeatWave"),
        (NEW, "8.4.6", "MySQL Enterprise - Cloud", "MySQL HeatWave"),
    ],
)
def test_managed_services_are_known(
    variables: dict[str, str], version: str, comment: str, provider: str
) -> None:
    """A managed server, which takes no SET GLOBAL of the knobs, is told from a build of one's own."""
    assert recognise({**variables, "version": version, "version_comment": comment}).managed == provider


@pytest.mark.parametrize(
    ("host", "provider"),
    [
        ("shop.c1a2b3.eu-west-1.rds.amazonaws.com", "Amazon RDS"),
        ("shop.c1a2b3.eu-west-1.rds.amazonaws.com.", "Amazon RDS"),
        ("shop.c1a2b3.cn-north-1.rds.amazonaws.com.cn", "Amazon RDS"),
        ("shop.c1a2b3.rds.cn-north-1.amazonaws.com.cn", "Amazon RDS"),
        ("shop.mysql.database.azure.com", "Azure Database for MySQL"),
        ("shop.mysql.database.usgovcloudapi.net", "Azure Database for MySQL"),
        ("shop.mysql.database.chinacloudapi.cn", "Azure Database for MySQL"),
        ("rm-1a2b.mysql.rds.aliyuncs.com", "ApsaraDB RDS"),
        ("rm-1a2b.mysql.singapore.rds.aliyuncs.com", "ApsaraDB RDS"),
        ("pc-1a2b.mysql.polardb.rds.aliyuncs.com", ""),
        ("sh-cdb-1a2b.sql.tencentcdb.com", "TencentDB for MySQL"),
        ("MySQL-1a2b.c.aivencloud.com", "Aiven for MySQL"),
        ("db-mysql-fra1-1.b.db.ondigitalocean.com", "DigitalOcean Managed MySQL"),
        ("dbpgf1.sysp0000.db2.skysql.com", "MariaDB SkySQL"),
        ("aivencloud.com.example.org", ""),
        ("db1.myrds.amazonaws.com", ""),
        ("127.0.0.1", ""),
    ],
)
def test_managed_services_are_known_by_their_addresses(host: str, provider: str) -> None:
    """Where nothing that the server says tells it, the address under which its provider has it does."""
    assert recognise({**NEW, "version": "8.0.30-txsql"}, host).managed == provider


@pytest.mark.parametrize(
    ("name", "lag", "sawtooth", "stalls", "setters"),
    [
        ("mysql-9.7.4", 2_097_152, 8.0, False, True),
        ("mysql-8.0.29", 2_097_152, 8.0, False, True),
        ("mysql-5.7.44", 0, 8.0, True, False),
        ("mysql-5.6.24", 0, 8.0, True, False),
        ("mariadb-10.11.18", 0, 2.0, True, False),
    ],
)
def test_the_facts_say_what_a_family_does(
    name: str, lag: int, sawtooth: float, *, stalls: bool, setters: bool
) -> None:
    """What checkpoints do, where writers wait, and whether the server keeps who set what."""
    found = opened(name)[0].facts()

    assert (found.flush_order_lag, found.sawtooth_seconds) == (lag, sawtooth)
    assert (found.sync_stalls, found.names_setters) == (stalls, setters)


def test_a_new_family_is_one_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes through detection, a reading and the comparison of limits, and needs nothing elsewhere."""
    monkeypatch.setattr(families, "FAMILIES", [MadeUpAdapter, *FAMILIES])
    own = {"made_up_version": "1", SIZE: "500000000"}
    server, _, _ = opened("mysql-8.0.46", variables=own, metrics={LIMIT: 250_000_000})
    facts, reading = server.facts(), good(server)

    assert (facts.family, facts.redo_variable, facts.capacity_maximum) == ("made-up", SIZE, 50_000)
    assert (facts.blockers, facts.disabled_counters) == ((), ())
    assert (reading.redo_capacity, reading.flush_limit) == (500_000_000, 250_000_000)
    assert reading.modified_age > 0
    (blocker,) = opened("mysql-8.0.46", variables=own, metrics={LIMIT: 300_000_000})[0].facts().blockers
    assert f"{LIMIT} is" in blocker
