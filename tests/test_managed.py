"""What is advised on a server whose provider takes no SET GLOBAL."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.factory import FACTS, would_set
from tuner.advice import advise, counters_off
from tuner.findings import Finding, in_its_way, without_authority
from tuner.records import Hold, HoldCode, Remedy
from tuner.remedies import ENABLE, clears, sql_of
from tuner.settings import Settings

FINDING = Finding(
    id="set-io-capacity",
    severity="info",
    title="set innodb_io_capacity(_max) to 225/450",
    reason="the age is low",
    fix="paste the statements in this order",
    sql=("SET GLOBAL innodb_io_capacity_max = 450", "SET GLOBAL innodb_io_capacity = 225"),
)


@pytest.mark.parametrize(
    ("provider", "command", "warning"),
    [
        (
            "Amazon RDS",
            (
                "aws rds modify-db-parameter-group --db-parameter-group-name GROUP --parameters "
                '"ParameterName=innodb_io_capacity_max,ParameterValue=450,ApplyMethod=immediate" '
                '"ParameterName=innodb_io_capacity,ParameterValue=225,ApplyMethod=immediate"'
            ),
            "default one cannot be changed",
        ),
        (
            "Google Cloud SQL",
            (
                "gcloud sql instances patch INSTANCE "
                "--database-flags=innodb_io_capacity_max=450,innodb_io_capacity=225"
            ),
            "takes the place of all flags",
        ),
        (
            "Azure Database for MySQL",
            (
                "az mysql flexible-server parameter set-batch --resource-group GROUP --server-name SERVER "
                '--source user-override --args innodb_io_capacity_max="450" innodb_io_capacity="225"'
            ),
            "does not offer is refused",
        ),
        (
            "MySQL HeatWave",
            (
                "oci mysql configuration create --compartment-id COMPARTMENT --shape-name SHAPE "
                "--parent-configuration-id CONFIGURATION --variables "
                '\'{"innodbIoCapacityMax": 450, "innodbIoCapacity": 225}\''
            ),
            "the DB system is then given",
        ),
    ],
)
def test_advice_comes_in_the_providers_way(provider: str, command: str, warning: str) -> None:
    """On a managed server the advice is the provider's command with the values in it, and its pitfall."""
    found = in_its_way(FINDING, provider)

    assert found.sql == (command,)
    assert warning in found.fix
    assert (found.id, found.title, found.reason) == (FINDING.id, FINDING.title, FINDING.reason)


@pytest.mark.parametrize("finding", [FINDING, Finding(id="x", severity="info", title="t", reason="r")])
def test_other_advice_stays(finding: Finding) -> None:
    """Where SET GLOBAL works, and where nothing is to be set, the advice stays what it is."""
    assert in_its_way(finding, "") is finding
    assert in_its_way(Finding(id="x", severity="info", title="t", reason="r"), "Amazon RDS").sql == ()


def test_a_variable_that_is_set_twice_is_one_list() -> None:
    """Two statements that add up, as for counters, are one parameter: of two the second would win."""
    finding = counters_off(replace(FACTS, disabled_counters=("log_lsn_current",)))
    (rds,), (google,) = (in_its_way(finding, one).sql for one in ("Amazon RDS", "Google Cloud SQL"))

    assert rds.count("ParameterName=innodb_monitor_enable") == 1
    assert "ParameterValue='module_log,module_buffer'," in rds
    assert google.endswith("--database-flags=^:^innodb_monitor_enable=module_log,module_buffer")


@pytest.mark.parametrize(
    "provider", ["Amazon RDS", "Google Cloud SQL", "Azure Database for MySQL", "MySQL HeatWave"]
)
@pytest.mark.parametrize("more", [(), (Remedy.MATCHING_AGAIN,)])
def test_what_ends_a_hold_is_told_in_the_providers_way(provider: str, more: tuple[Remedy, ...]) -> None:
    """A hold that statements would end names none that the provider refuses, whoever reads the advice."""
    held = Hold(HoldCode.MODEL_MISMATCH, 0.0, "InnoDB's counters are off", (Remedy.ENABLE_COUNTERS, *more))
    tick = would_set(holds=(held,))
    found = {one.id: one for one in advise(tick, replace(FACTS, managed=provider), Settings())}
    hold = found["hold-model-mismatch"]

    assert f"{provider} takes no SET GLOBAL" in hold.fix
    assert "module_log,module_buffer" in hold.sql[0]
    assert not any("SET GLOBAL" in one for one in hold.sql)
    assert not any("SET GLOBAL innodb" in one.fix for one in found.values())


def test_what_no_account_may_run_there_is_for_the_providers_support() -> None:
    """No statement is printed that is refused to everybody but the provider."""
    off = Finding(id="redo", severity="problem", title="", reason="", sql=sql_of((Remedy.ENABLE_REDO_LOG,)))
    found = in_its_way(off, "Amazon RDS")
    hold = Hold(code=HoldCode.INERT, since=0.0, reason="", remedies=(Remedy.ENABLE_REDO_LOG,))

    assert (found.fix.endswith("ask its support"), found.sql) == (True, ())
    assert clears(hold, replace(FACTS, managed="Amazon RDS")) == found.fix
    assert in_its_way(off, "") == off


def test_a_hold_elsewhere_keeps_its_words() -> None:
    """Where SET GLOBAL works, a hold's advice is what ends it; the statements come with the counters' own."""
    held = Hold(HoldCode.MODEL_MISMATCH, 0.0, "InnoDB's counters are off", (Remedy.ENABLE_COUNTERS,))
    found = {one.id: one for one in advise(would_set(holds=(held,)), FACTS, Settings())}

    assert found["hold-model-mismatch"].fix == f"cleared by {ENABLE}"


def test_a_fraction_is_advised_in_the_providers_way() -> None:
    """What gives M authority on MariaDB is no SET GLOBAL on a managed one either."""
    (finding,) = without_authority(replace(FACTS, family="mariadb", flush_law="soft-limit"))
    found = in_its_way(finding, "Amazon RDS")

    assert "ParameterName=innodb_max_dirty_pages_pct_lwm,ParameterValue=0.001," in found.sql[0]
