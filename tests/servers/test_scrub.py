"""What leaves the house in a fixture, and what does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.servers.fixtured import FILES, Fixtured, fixture, opened
from tuner.servers.fixture import Fixture, FixtureRecorder, decode, encode
from tuner.servers.port import Unreachable
from tuner.servers.scrub import Scrubber, privileges

SECRETS = {
    "hostname": "db-prod-17",
    "datadir": "/srv/mysql/customers/",
    "server_uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
    "basedir": "/rdsdbbin/mysql-8.0.40.R2/",
    "port": "33061",
}
STATUS = {
    "Innodb_buffer_pool_dump_status": "Cannot open '/srv/mysql/customers/ib_buffer_pool' on db-prod-17",
    "Innodb_buffer_pool_load_status": "asked for by root@10.20.30.40",
    "Innodb_redo_log_uuid": "1075899837",
}
GRANTS = [
    "GRANT SELECT, PROCESS ON *.* TO 'watcher'@'10.20.%' IDENTIFIED BY PASSWORD '*6BB4837EB74329105EE4'",
    "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `watcher`@`10.20.%`",
    "GRANT INSERT ON `payroll`.* TO `watcher`@`10.20.%`",
    "GRANT `accounting`@`%` TO `watcher`@`10.20.%`",
]
WORDS = ("db-prod-17", "customers", "3e11fa47", "8.0.40.R2", "33061", "10.20", "1075899837", "watcher")
WORDS += ("6BB4837", "payroll", "accounting", "deadlock")


class Telling(Fixtured):
    """A server whose answers hold what nobody outside should know."""

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer with secrets."""
        rows = super().query(statement)
        if statement == "SHOW GRANTS":
            return [(grant,) for grant in GRANTS]
        if statement == "SHOW ENGINE INNODB STATUS":
            before = "LATEST DETECTED DEADLOCK\n-----\ndeadlock of watcher\n"
            return [(kind, name, before + text) for kind, name, text in rows]
        return rows


def recorded(session: Fixtured) -> Fixture:
    """Return what the recorder makes of a server's two first readings."""
    recorder = FixtureRecorder(session, SimClock(start=50.0))
    recorder.look()
    for session.at in range(2):
        recorder.read()
    return recorder.fixture()


@pytest.fixture
def told() -> Fixture:
    """Return what is recorded of a server with secrets."""
    _, _, found = opened("rds-mysql-8.0.40", variables=SECRETS, status=STATUS)
    return recorded(Telling(found))


def test_no_secret_is_in_the_file(told: Fixture) -> None:
    """No host, path, port, UUID, address, account, hash, other database, role or statement is left."""
    content = encode(told).decode()

    assert [word for word in WORDS if word in content] == []


def test_what_recognition_needs_stays(told: Fixture) -> None:
    """Version, comment, the managed server's prefix and the privileges on all databases are kept."""
    variables = told.readings[0].variables

    assert (variables["version"], variables["version_comment"]) == ("8.0.40", "Source distribution")
    assert variables["basedir"] == "/rdsdbbin/"
    assert told.privileges == ("PROCESS", "SELECT", "SYSTEM_VARIABLES_ADMIN")


JANE = "customer=Jane Roe"


class Prying(Fixtured):
    """A server that has put what somebody wrote into every text, name and row that it sends."""

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer with one more row, and one more text in each."""
        rows = list(super().query(statement))
        if statement == "SHOW GRANTS":
            return [*rows, ("GRANT JANE_ROE_ADMIN, SELECT ON *.* TO `jane roe`",)]
        if statement == "SHOW ENGINE INNODB STATUS":
            return [
                (JANE, JANE, f"TRANSACTIONS\n'---\nLOG\n---\n{JANE}\n'\n{text}{JANE}") for *_, text in rows
            ]
        if "metrics" in statement or statement.startswith("SHOW GLOBAL"):
            names = [(JANE, *rows[0][1:]), ("innodb jane_roe", *rows[0][1:])] if rows else []
            return [*rows, *names]
        return [tuple(JANE if one is None else one for one in row) for row in rows] + [(JANE,), ()]


def test_nothing_that_is_not_recognised_gets_into_a_file() -> None:
    """Whatever somebody wrote, and wherever a server has it in its answers, no byte of it is in a fixture."""
    texts = {"version": f"5.7.44-log-{JANE}", "version_comment": f"MySQL {JANE}", "performance_schema": JANE}
    _, _, found = opened("mysql-5.7.44", variables=texts)
    for one in found.readings:
        one.status.update(dict.fromkeys(one.status, JANE) | {"Innodb_rows_read": f"7 {JANE}"})
        one.metrics.update({"jane_roe": ("enabled", "7"), "log_waits": (JANE, "1")})

    content = encode(recorded(Prying(found))).decode()

    assert re.findall(r"(?i)jane|roe|customer", content) == []
    assert '"5.7.44-log"' in content


@pytest.mark.parametrize("name", FILES)
def test_a_fixture_recorded_from_a_fixture_is_the_same(name: str) -> None:
    """Nothing is lost on the way, whatever the family, also where detection refuses the server."""
    before = fixture(name)

    after = decode(encode(recorded(Fixtured(before))))

    assert after.state_column == before.state_column
    assert after.refused == before.refused
    assert after.privileges == before.privileges
    assert {family: after.looks[family] for family in before.looks} == before.looks
    assert len(after.readings) == 2
    for old, new in zip(before.readings, after.readings, strict=False):
        assert (new.variables, new.metrics) == (old.variables, old.metrics)
        assert new.status == old.status


def test_what_is_refused_is_recorded_as_such() -> None:
    """An account that may read nothing leaves error numbers, and no words."""
    refused = {"metrics": 1227, "engine_log": 1227, "grants": 1045}
    found = recorded(Fixtured(replace(fixture("mysql-8.0.46"), refused=refused)))

    assert found.refused == refused
    assert found.readings[0].metrics == {}
    assert found.readings[0].engine_log == ""
    assert found.readings[0].variables["innodb_io_capacity"] == "200"


def test_a_part_that_gives_no_answer_in_time_spoils_nothing_else() -> None:
    """It is recorded as lost, and everything else as it is."""

    class Slow(Fixtured):
        def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
            if "events_statements_summary" in statement:
                raise Unreachable("timed out")
            return super().query(statement)

    found = recorded(Slow(fixture("mysql-8.0.46")))

    looks = found.looks["MySQL from 8.0.30 on"]
    assert (looks["latency"].error, looks["replica"].error) == (2013, 0)
    assert len(found.readings) == 2


@pytest.mark.parametrize(
    "value",
    [
        "Cannot open '/srv/big shop/customers, new/ib_buffer_pool' for reading: No such file or directory",
        "Dumping buffer pool(s) to /srv/big shop/customers; new/ib_buffer_pool",
        "Loading buffer pool(s) from C:\\big shop\\customers\\ib_buffer_pool",
        "Dumping buffer pool(s) to c:/big shop/customers/ib_buffer_pool",
        "Dumping buffer pool(s) to ./shop/customers/ib_buffer_pool",
    ],
)
def test_no_part_of_a_path_is_left(value: str) -> None:
    """Whatever stands between its slashes, and whichever way they lean."""
    kept = Scrubber().text(value, "a variable")

    assert not {"shop", "customers", "new", "ib_buffer_pool"} & set(re.findall(r"\w+", kept))
    assert kept.startswith(value.split(maxsplit=1)[0])


def test_a_grant_of_everything_is_kept_as_such() -> None:
    """ALL PRIVILEGES, and nothing of a grant of a proxy."""
    everything = ("GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost'", "GRANT PROXY ON ''@'' TO 'root'@'%'")

    assert privileges(everything) == ("ALL PRIVILEGES",)
