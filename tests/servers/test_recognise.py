"""Which family a server belongs to, and which flush law is in force."""

from __future__ import annotations

import pytest

from tuner.servers.adapter import MAXIMUM_32, MAXIMUM_64
from tuner.servers.families import recognise
from tuner.servers.port import Unsupported

OLD = {
    "version": "5.7.44-log",
    "version_comment": "MySQL Community Server (GPL)",
    "innodb_page_size": "16384",
    "innodb_log_file_size": "50331648",
    "innodb_log_files_in_group": "2",
    "innodb_thread_concurrency": "0",
}
NEW = {**OLD, "version": "8.4.6", "innodb_redo_log_capacity": "104857600"}
MARIADB = {
    "version": "11.8.6-MariaDB-0+deb13u1 from Debian",
    "version_comment": "Debian 13",
    "innodb_page_size": "16384",
    "innodb_log_file_size": "104857600",
    "innodb_max_dirty_pages_pct_lwm": "0.000000",
    "hostname": "db",
    "port": "3306",
    "datadir": "/var/lib/mysql/",
}


@pytest.mark.parametrize(
    ("variables", "family", "law"),
    [
        (NEW, "mysql", "legacy"),
        ({**OLD, "version": "8.0.29"}, "mysql", "legacy-whole"),
        (OLD, "mysql", "legacy-whole"),
        ({**OLD, "version": "5.6.51"}, "mysql", "legacy-56"),
        ({**NEW, "innodb_cleaner_lsn_age_factor": "high_checkpoint"}, "percona", "high_checkpoint"),
        ({**NEW, "innodb_cleaner_lsn_age_factor": "legacy"}, "percona", "legacy"),
        ({**OLD, "innodb_cleaner_lsn_age_factor": "high_checkpoint"}, "percona", "high_checkpoint-57"),
        ({**OLD, "innodb_cleaner_lsn_age_factor": "legacy"}, "percona", "legacy-57"),
        (
            {**OLD, "version": "8.0.28-20", "innodb_cleaner_lsn_age_factor": "legacy"},
            "percona",
            "legacy-whole",
        ),
        (
            {**OLD, "version": "8.0.28-20", "innodb_cleaner_lsn_age_factor": "high_checkpoint"},
            "percona",
            "high_checkpoint-whole",
        ),
        (MARIADB, "mariadb", "soft-limit"),
        ({**MARIADB, "innodb_max_dirty_pages_pct_lwm": "0.001000"}, "mariadb", "mariadb"),
        ({**MARIADB, "version": "11.8.6", "version_comment": "mariadb.org binary"}, "mariadb", "soft-limit"),
    ],
)
def test_a_server_is_recognised(variables: dict[str, str], family: str, law: str) -> None:
    """Each family is recognised by what it can do, with the flush law that is in force."""
    found = recognise(variables)

    assert (found.name, found.flush_law) == (family, law)


@pytest.mark.parametrize(
    ("version", "law"),
    [
        ("10.6.12", "mariadb"),
        ("10.6.13", "age-blind"),
        ("10.6.16", "age-blind"),
        ("10.6.17", "mariadb"),
        ("10.8.7", "mariadb"),
        ("10.8.8", "age-blind"),
        ("10.9.5", "mariadb"),
        ("10.9.8", "age-blind"),
        ("10.10.3", "mariadb"),
        ("10.10.7", "age-blind"),
        ("10.11.2", "mariadb"),
        ("10.11.6", "age-blind"),
        ("10.11.7", "mariadb"),
        ("11.0.4", "age-blind"),
        ("11.0.5", "mariadb"),
        ("11.1.3", "age-blind"),
        ("11.1.4", "mariadb"),
        ("11.2.2", "age-blind"),
        ("11.2.3", "mariadb"),
        ("11.3.1", "age-blind"),
        ("11.3.2", "mariadb"),
        ("11.4.0", "age-blind"),
        ("11.4.1", "mariadb"),
        ("11.8.6", "mariadb"),
    ],
)
def test_builds_of_mariadb_that_ignore_the_age_are_known(version: str, law: str) -> None:
    """The releases between MDEV-26827 and the fix of MDEV-31939 are told from those before and after."""
    variables = {**MARIADB, "version": f"{version}-MariaDB", "innodb_max_dirty_pages_pct_lwm": "0.001"}

    assert recognise(variables).flush_law == law


@pytest.mark.parametrize(
    ("version", "law"),
    [
        ("10.5.7", "mariadb"),
        ("10.5.8", "mariadb"),
        ("10.5.9", "soft-limit"),
        ("10.5.10", "mariadb-wakes"),
        ("10.5.23", "mariadb-wakes"),
        ("10.5.24", "soft-limit"),
        ("10.6.3", "mariadb-wakes"),
        ("10.6.12", "mariadb-wakes"),
        ("10.6.13", "age-blind"),
        ("10.6.17", "soft-limit"),
        ("10.7.8", "mariadb-wakes"),
        ("10.8.7", "mariadb-wakes"),
        ("10.9.5", "mariadb-wakes"),
        ("10.10.3", "mariadb-wakes"),
        ("10.11.2", "mariadb-wakes"),
        ("10.11.3", "age-blind"),
        ("10.11.7", "soft-limit"),
        ("11.4.1", "soft-limit"),
        ("11.8.6", "soft-limit"),
        ("12.1.2", "soft-limit"),
    ],
)
def test_what_mariadb_goes_by_with_a_low_water_mark_of_0(version: str, law: str) -> None:
    """Before MDEV-26827 the age decides once the page cleaner is awake, and after MDEV-31939 it does not."""
    variables = {**MARIADB, "version": f"{version}-MariaDB", "innodb_max_dirty_pages_pct_lwm": "0"}

    assert recognise(variables).flush_law == law


@pytest.mark.parametrize(
    "variables",
    [
        {**OLD, "version": "5.5.62"},
        {**OLD, "version": "5.6.51-91.0", "innodb_cleaner_lsn_age_factor": "high_checkpoint"},
        {**MARIADB, "version": "10.5.6-MariaDB"},
        {**MARIADB, "version": "10.4.34-MariaDB"},
    ],
)
def test_a_server_that_is_too_old_is_told_since_when(variables: dict[str, str]) -> None:
    """An older server is told which releases are supported."""
    with pytest.raises(Unsupported, match=r"too old.*5\.6 to 9\.x.*5\.7 to 8\.4.*10\.5\.7") as caught:
        recognise(variables)

    assert variables["version"] in str(caught.value)


@pytest.mark.parametrize(
    ("version", "mended"),
    [("10.6.13", "10.6.17"), ("10.8.8", "10.11.7"), ("10.11.4", "10.11.7"), ("11.4.0", "11.4.1")],
)
def test_a_build_that_ignores_the_age_is_told_the_next_one_that_does_not(version: str, mended: str) -> None:
    """Of its own series, or of a later one where that ended before it was mended."""
    assert (
        f"MariaDB {mended} has that mended"
        in recognise({**MARIADB, "version": f"{version}-MariaDB"}).unverified
    )


@pytest.mark.parametrize(
    ("variables", "highest"),
    [
        ({**NEW, "version": "8.0.46"}, MAXIMUM_64),
        (NEW, MAXIMUM_32),
        (OLD, MAXIMUM_64),
        (MARIADB, MAXIMUM_32),
        ({**MARIADB, "version": "11.8.1-MariaDB"}, MAXIMUM_64),
        ({**MARIADB, "version": "10.11.18-MariaDB"}, MAXIMUM_32),
        ({**MARIADB, "version": "10.11.11-MariaDB"}, MAXIMUM_64),
        ({**MARIADB, "version": "10.6.28-MariaDB"}, MAXIMUM_64),
        ({**MARIADB, "version": "12.1.2-MariaDB"}, MAXIMUM_32),
    ],
)
def test_the_servers_own_range_is_known(variables: dict[str, str], highest: int) -> None:
    """The highest value of the knobs is that of the release."""
    assert recognise(variables).capacity_maximum == highest


@pytest.mark.parametrize(
    ("variables", "provider"),
    [
        (NEW, ""),
        ({**NEW, "basedir": "/rdsdbbin/mysql-8.4.6.R1/"}, "Amazon RDS"),
        ({**MARIADB, "basedir": "/rdsdbbin/mariadb-11.8.6.R1/"}, "Amazon RDS"),
        ({**NEW, "version": "8.4.6-google", "version_comment": "(Google)"}, "Google Cloud SQL"),
        ({**NEW, "version": "8.0.37-azure"}, "Azure Database for MySQL"),
        ({**OLD, "version": "5.7.44-azure-log"}, "Azure Database for MySQL"),
        ({**NEW, "version": "8.4.5-azure", "version_comment": "MySQL Azure"}, "Azure Database for MySQL"),
        (
            {**NEW, "version": "8.0.36-u2-cloud", "version_comment": "MySQL Enterprise - Cloud"},
            "MySQL HeatWave",
        ),
        ({**NEW, "version": "9.2.1-cloud", "version_comment": "MySQL Enterprise - Cloud"}, "MySQL HeatWave"),
        ({**NEW, "version_comment": "MySQL Enterprise - Cloud"}, "MySQL HeatWave"),
        ({**NEW, "version_comment": "MySQL Enterprise Server - Commercial"}, ""),
        ({**MARIADB, "version": "11.8.6-MariaDB-cloud"}, ""),
        ({**NEW, "version": "8.4.6-cloudy"}, ""),
    ],
)
def test_managed_services_are_known(variables: dict[str, str], provider: str) -> None:
    """A managed server that takes no SET GLOBAL of the knobs is recognised, with the provider."""
    assert recognise(variables).managed == provider


def test_privileges_are_those_of_the_release() -> None:
    """Older servers and MariaDB know no privilege narrower than SUPER for the knobs."""
    privileges = [recognise(one).write_privilege for one in (NEW, {**OLD, "version": "8.0.29"}, OLD, MARIADB)]

    assert privileges == ["SYSTEM_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER", "SUPER"]
