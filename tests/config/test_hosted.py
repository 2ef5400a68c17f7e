"""What the table of a hosted server takes, and what is said of one that cannot be used."""

from __future__ import annotations

import pytest

from tests.config.support import Given

ARN = "arn:aws:rds:eu-west-1:123456789012:db:db1"
IN_CHINA = "arn:aws-cn:rds:cn-north-1:123456789012:db:db1"
ON_AZURE = "/subscriptions/1/resourcegroups/g/providers/microsoft.dbformysql/flexibleServers/db1"


@pytest.mark.parametrize("instance", [ARN, IN_CHINA])
def test_an_instance_is_known_by_its_arn(given: Given, instance: str) -> None:
    """The ARN names region, account and instance; a group is nobody else's unless that is said."""
    table = given.load(f'[hosted]\ninstance = "{instance}"\nparameter_group = "mine"\n').hosted

    assert table is not None
    assert (table.instance, table.parameter_group, table.shared_group) == (instance, "mine", False)


def test_a_server_on_azure_is_known_by_its_resource_id(given: Given) -> None:
    """Its letters may be large or small, and there is no group."""
    table = given.load(f'[hosted]\ninstance = "{ON_AZURE}"\n').hosted

    assert table is not None
    assert (table.instance, table.parameter_group) == (ON_AZURE, None)


@pytest.mark.parametrize("instance", ["shop-1:europe-west1:db1", "example.com:shop:us-central1:db1"])
def test_an_instance_of_cloud_sql_is_known_by_its_connection_name(given: Given, instance: str) -> None:
    """Project, region and name stand in it, and there is no group."""
    table = given.load(f'[hosted]\ninstance = "{instance}"\n').hosted

    assert table is not None
    assert (table.instance, table.parameter_group) == (instance, None)


def test_without_the_table_there_is_no_hosted_server() -> None:
    """Nothing is guessed from the address of the server."""
    from tuner.config.schema import Config  # noqa: PLC0415 - for this test alone

    assert Config().hosted is None


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('instance = "db1"\nparameter_group = "mine"', ("hosted.instance", '"db1"', "ARN", ARN)),
        (f'instance = "{ARN}"', ("hosted.parameter_group is missing",)),
        ('parameter_group = "mine"', ("hosted.instance is missing",)),
        (f'instance = "{ARN}"\nparameter_group = "default.mysql8.0"', ("default.mysql8.0", "of your own")),
        (f'instance = "{ON_AZURE}"\nparameter_group = "mine"', ("only Amazon RDS has such groups",)),
        ('instance = "db1:europe-west1"', ("hosted.instance", "connection name", "project:europe-west1:db1")),
        (f'instance = "{ARN}"\nparameter_group = ""', ("hosted.parameter_group", '""')),
        (
            f'instance = "{ARN}"\ngroup = "mine"',
            ("hosted.group: unknown key", "a hosted server has instance, parameter_group, shared_group"),
        ),
        (
            f'instance = "{ARN}"\nparameter_group = "mine"\nshared_group = "yes"',
            ("shared_group", "true or false"),
        ),
    ],
)
def test_what_is_wrong_is_named(given: Given, table: str, said: tuple[str, ...]) -> None:
    """Key, value and what would be right stand in one line."""
    problems = given.refused(f"[hosted]\n{table}\n")

    for part in said:
        assert any(part in one for one in problems), problems


@pytest.mark.parametrize("text", ['hosted = "db1"\n', "[[hosted]]\n"])
def test_it_is_a_table(given: Given, text: str) -> None:
    """What is no table is told how to be one."""
    assert any("write [hosted]" in one for one in given.refused(text))


def test_no_variable_sets_it(given: Given) -> None:
    """As with a schedule, the file alone says what may be written at a provider."""
    (problem,) = given.refused("", {"INNOBRIM_HOSTED_INSTANCE": ARN})
    assert (
        "INNOBRIM_HOSTED_INSTANCE: unknown variable; a hosted server stands in the configuration file"
        in problem
    )
