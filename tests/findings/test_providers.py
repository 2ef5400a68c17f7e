"""What is said of managed servers: nothing that the provider refuses, or that its own loop undoes."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from tests.factory import FACTS, sample, tick, would_set
from tests.findings.checked import Odd, line, look
from tests.servers.fixtured import fixture, opened
from tuner.core.holds import not_writer
from tuner.core.step import start, step
from tuner.findings.advice import advise, counters_off
from tuner.findings.check import Report, check
from tuner.findings.finding import Finding
from tuner.findings.m_moves_age import m_moves_no_age
from tuner.findings.providers import in_its_way
from tuner.findings.remedies import said, told
from tuner.records import Bounds, Facts, Hold, HoldCode, Remedy
from tuner.servers.providers import HOST, PROVIDERS
from tuner.servers.setupsql import Request, script, setup
from tuner.settings import Mode, Settings

MOVING = "cloudsql-mysql-8.0.41"
RIVAL = "innodb_cloudsql_optimized_write"
SERVERS = [
    ("rds-mysql-8.0.40", "Amazon RDS", "127.0.0.1"),
    ("rds-mariadb-10.11.9", "Amazon RDS", "127.0.0.1"),
    ("cloudsql-mysql-8.0.31", "Google Cloud SQL", "127.0.0.1"),
    (MOVING, "Google Cloud SQL with optimized writes", "127.0.0.1"),
    ("azure-mysql-8.0.37", "Azure Database for MySQL", "127.0.0.1"),
    ("heatwave-mysql-8.0.36", "MySQL HeatWave", "127.0.0.1"),
    ("mysql-5.7.44-off", "Amazon RDS", "db1.c1.eu-west-1.rds.amazonaws.com"),
    ("mysql-8.0.46", "ApsaraDB RDS", "rm-1.mysql.rds.aliyuncs.com"),
    ("mysql-8.0.31", "TencentDB for MySQL", "gz-cdb-1.sql.tencentcdb.com"),
    ("mysql-8.0.46", "Aiven for MySQL", "mysql-1.a.aivencloud.com"),
    ("percona-8.4.6", "DigitalOcean Managed MySQL", "db-1.b.db.ondigitalocean.com"),
    ("mariadb-10.6.22", "MariaDB SkySQL", "db1.sysp0000.db2.skysql.com"),
]
"""Fixture, provider and address; each provider is among them."""

LOST = {
    "io_capacity_max": 451,
    "flush_sync": False,
    "adaptive_flushing": False,
    "redo_capacity": 50_000_000,
    "redo_enabled": False,
}
OFF = ("log_lsn_current",)
HOST_OR_BASEDIR = {HOST, "basedir"}
REFUSED = re.compile(r"SET GLOBAL innodb\w+ =|GRANT S(UPER|YSTEM)|in my\.cnf and restart|innobrim setup-sql")
SETS_THEM = re.compile(r"innodb_?io_?capacity(_?max)?\W+\d", re.IGNORECASE)


def checked(name: str, host: str, *, active: bool = True) -> tuple[Facts, Report]:
    """Return what a fixture's server is, and what check says of it, for active mode or not."""
    server, session, _ = opened(name, host=host)
    report = check(server, active=active, settings=Settings())

    assert all(one.startswith(("SELECT ", "SHOW ")) for one in session.asked)
    return server.facts(), report


def test_every_provider_has_a_server_here() -> None:
    """What is promised below is promised of each entry of the table."""
    assert {provider for _, provider, _ in SERVERS} == set(PROVIDERS)


@pytest.mark.parametrize(("name", "provider", "host"), SERVERS)
def test_a_managed_server_is_for_advice(name: str, provider: str, host: str) -> None:
    """Check writes nothing: advisory mode works, active mode is a problem and held by the provider's name."""
    facts, report = checked(name, host, active=False)
    _, asked = checked(name, host)
    ((reason, remedies),) = not_writer(start(Settings(mode=Mode.ACTIVE), facts), sample())

    assert facts.managed == provider
    assert (report.fine, report.controllable, "write" in report.lacking) == (True, False, True)
    assert (asked.fine, asked.controllable, line(asked, "write").severity) == (False, False, "problem")
    assert provider in line(report, "write").title
    assert (provider in reason, remedies) == (True, (Remedy.PROVIDER,))


@pytest.mark.parametrize(("name", "host"), [(name, host) for name, _, host in SERVERS])
def test_no_statement_is_printed_that_the_provider_refuses(name: str, host: str) -> None:
    """Whatever is wrong with it, check and advise name no statement, grant or file that nobody has there."""
    facts = replace(checked(name, host)[0], disabled_counters=OFF)
    server = Odd()
    server.changed_facts = {one: getattr(facts, one) for one in Facts.__struct_fields__}
    server.changed_sample = dict(LOST)
    held = Hold(HoldCode.INERT, 0.0, "redo logging is disabled", (Remedy.ENABLE_REDO_LOG,))
    lines = look(server, active=True).findings
    found = advise(would_set(holds=(held,)), facts, Settings())

    assert server.applied == []
    for one in (*lines, *found):
        assert not any(REFUSED.search(part) for part in (one.fix, *one.sql)), one
        assert not any(part.startswith("ALTER INSTANCE") for part in one.sql), one
    redo = next(one for one in found if one.id == "hold-inert")
    assert (redo.fix.endswith("ask its support"), redo.sql) == (True, ())


@pytest.mark.parametrize(("name", "provider"), [(name, provider) for name, provider, _ in SERVERS])
def test_the_script_of_setup_sql_is_one_that_its_administrator_may_run(name: str, provider: str) -> None:
    """It makes an account that reads, by the version or, where that tells nothing, by who manages it."""
    told = provider if HOST_OR_BASEDIR & PROVIDERS[provider].marks.keys() else ""
    asked = Request(fixture(name).version, ("innobrim@%",), "p", "d", Bounds(100, 800, 400), managed=told)
    found = script(setup(asked))

    assert "GRANT PROCESS ON *.* TO 'innobrim'@'%';" in found
    assert not re.search("PROCEDURE|definer|SUPER|SYSTEM_VARIABLES|sql_log_bin", found)


FINDING = Finding(
    id="set-io-capacity",
    severity="info",
    title="set innodb_io_capacity(_max) to 225/450",
    reason="the age is low",
    fix="paste the statements in this order",
    sql=("SET GLOBAL innodb_io_capacity_max = 450", "SET GLOBAL innodb_io_capacity = 225"),
)


@pytest.mark.parametrize(
    ("provider", "pitfall", "command"),
    [
        (
            "Amazon RDS",
            "default one cannot be changed",
            (
                "aws rds modify-db-parameter-group --db-parameter-group-name GROUP --parameters "
                '"ParameterName=innodb_io_capacity_max,ParameterValue=450,ApplyMethod=immediate" '
                '"ParameterName=innodb_io_capacity,ParameterValue=225,ApplyMethod=immediate"'
            ),
        ),
        (
            "Google Cloud SQL",
            "takes the place of all flags",
            (
                "gcloud sql instances patch INSTANCE "
                "--database-flags=innodb_io_capacity_max=450,innodb_io_capacity=225"
            ),
        ),
        (
            "Azure Database for MySQL",
            "does not offer is refused",
            (
                "az mysql flexible-server parameter set-batch --resource-group GROUP --server-name SERVER "
                '--source user-override --args innodb_io_capacity_max="450" innodb_io_capacity="225"'
            ),
        ),
        (
            "ApsaraDB RDS",
            "parameters of the instance",
            (
                "aliyun rds ModifyParameter --DBInstanceId INSTANCE --Parameters "
                '\'{"innodb_io_capacity_max": "450", "innodb_io_capacity": "225"}\''
            ),
        ),
        (
            "TencentDB for MySQL",
            "parameters of the instance",
            (
                "tccli cdb ModifyInstanceParam --InstanceIds '[\"INSTANCE\"]' --ParamList "
                '\'[{"Name": "innodb_io_capacity_max", "CurrentValue": "450"}, '
                '{"Name": "innodb_io_capacity", "CurrentValue": "225"}]\''
            ),
        ),
        ("DigitalOcean Managed MySQL", "only the Advanced Edition", ""),
        ("MySQL HeatWave", "does not offer innodb_io_capacity_max and innodb_io_capacity", ""),
        ("Aiven for MySQL", "does not offer innodb_io_capacity_max and innodb_io_capacity", ""),
        ("MariaDB SkySQL", "does not offer innodb_io_capacity_max and innodb_io_capacity", ""),
    ],
)
def test_advice_comes_in_the_providers_way(provider: str, pitfall: str, command: str) -> None:
    """It is the provider's command, with its pitfall, or that there is no way; elsewhere it stays."""
    (found,) = in_its_way([FINDING], replace(FACTS, managed=provider))

    assert found.sql == ((command,) if command else ())
    assert pitfall in found.fix
    assert (found.id, found.title, found.reason) == (FINDING.id, FINDING.title, FINDING.reason)
    assert in_its_way([FINDING], FACTS) == [FINDING]


def test_a_redo_log_is_enlarged_where_only_that_is_offered() -> None:
    """HeatWave offers the size of the redo log and not C and M, nor the counters: each is said as it is."""
    facts = replace(FACTS, managed="MySQL HeatWave", disabled_counters=OFF)
    larger = replace(FINDING, sql=facts.larger_redo(2**30)[1])
    redo, counters = in_its_way([larger, counters_off(facts)], facts)

    assert redo.sql[0].endswith("--variables '{\"innodbRedoLogCapacity\": 1073741824}'")
    assert ("does not offer innodb_monitor_enable" in counters.fix, counters.sql) == (True, ())


@pytest.mark.parametrize(
    ("provider", "offered", "unknown"),
    [
        ("MySQL HeatWave", "binlog_group_commit_sync_delay", "innodb_flush_neighbors"),
        ("Aiven for MySQL", "innodb_flush_neighbors", "innodb_lru_scan_depth"),
        ("MariaDB SkySQL", "innodb_log_file_size", "innodb_flush_neighbors"),
    ],
)
def test_what_a_provider_may_offer_is_not_called_refused(provider: str, offered: str, unknown: str) -> None:
    """Where it is not known the owner is asked to look; a variable that is offered has its place."""
    facts = replace(FACTS, managed=provider)
    asked = [replace(FINDING, sql=(f"SET GLOBAL {name} = 1",)) for name in (offered, unknown)]
    there, perhaps = in_its_way(asked, facts)

    assert PROVIDERS[provider].place in there.fix
    assert "not offer" not in there.fix
    assert perhaps.fix.startswith(f"look whether {provider} offers {unknown}, {PROVIDERS[provider].place}")
    assert perhaps.sql == ()


def test_a_list_and_a_fraction_come_in_the_providers_way() -> None:
    """Two statements that add up are one parameter: of two the second would win."""
    rds, google = replace(FACTS, managed="Amazon RDS"), replace(FACTS, managed="Google Cloud SQL")
    counters = counters_off(replace(FACTS, disabled_counters=OFF))
    (mark,) = m_moves_no_age(replace(FACTS, family="mariadb", flush_law="soft-limit"))
    (there,), (elsewhere,) = (in_its_way([counters], one)[0].sql for one in (rds, google))

    assert there.count("ParameterName=innodb_monitor_enable") == 1
    assert "ParameterValue='module_log,module_buffer'," in there
    assert elsewhere.endswith("--database-flags=^:^innodb_monitor_enable=module_log,module_buffer")
    assert "pct_lwm,ParameterValue=0.001," in in_its_way([mark], rds)[0].sql[0]


@pytest.mark.parametrize("provider", ["Amazon RDS", "Google Cloud SQL", "Azure Database for MySQL"])
def test_what_ends_a_hold_is_told_in_the_providers_way(provider: str) -> None:
    """A hold that statements would end has the provider's command."""
    remedies = (Remedy.ENABLE_COUNTERS, Remedy.MATCHING_AGAIN)
    held = Hold(HoldCode.MODEL_MISMATCH, 0.0, "counters are off", remedies)
    found = advise(would_set(holds=(held,)), replace(FACTS, managed=provider), Settings())

    assert "module_log,module_buffer" in next(one.sql[0] for one in found if one.id == "hold-model-mismatch")


@pytest.mark.parametrize(
    "reading", [{"degraded": True}, {"adaptive_flushing": False}, {"redo_enabled": False}]
)
def test_the_daemons_events_name_no_statement_either(reading: dict[str, bool]) -> None:
    """What the log and the API say when something goes wrong there is no SET GLOBAL: its owner ends it."""
    state = start(Settings(mode=Mode.ACTIVE), replace(FACTS, managed="Amazon RDS"))
    state, _ = step(state, tick(sample(0.0)))
    _, record = step(state, tick(sample(1.0, **reading)))
    words = [told(one) for one in record.events]

    assert any("owner" in one for one in words)
    assert not any("SET GLOBAL" in one or "ALTER INSTANCE" in one for one in words)


def test_where_the_provider_moves_c_and_m_they_are_left_to_it() -> None:
    """Its loop is named, with how it is turned off; no advice sets either, and active mode refuses."""
    facts, report = checked(MOVING, "127.0.0.1")
    found = advise(would_set(tick=tick(sample(io_capacity=200))), facts, Settings())
    ((reason, _),) = not_writer(start(Settings(mode=Mode.ACTIVE), facts), sample())

    assert "with optimized writes" in reason
    assert "leave both" in line(report, "write").fix
    assert "leave both" in said((Remedy.PROVIDER,), facts=facts)
    (left,) = [one for one in found if one.id == "provider-moves-them"]
    assert f"{RIVAL}=OFF" in left.fix
    for one in (*found, *report.findings):
        assert not any(SETS_THEM.search(part) for part in (one.fix, *one.sql)), one


@pytest.mark.parametrize("value", ["OFF", None])
def test_without_its_loop_the_providers_server_is_advised_on(value: str | None) -> None:
    """Turned off, or in an edition that has none, C and M are the owner's to set."""
    facts = opened(MOVING, variables={RIVAL: value})[0].facts()
    (wish,) = [one for one in advise(would_set(), facts, Settings()) if one.id == "set-io-capacity"]

    assert facts.managed == "Google Cloud SQL"
    assert SETS_THEM.search(wish.sql[0])
