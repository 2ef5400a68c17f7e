"""What is made of a server's counts of its writes."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.findings.devicewrites import DeviceWrites, device_writes
from tuner.servers.survey import Survey

BINARY = {"log_bin": "ON", "sync_binlog": "1"}
BEFORE = {
    "writes:data": 10,
    "syncs:data": 1,
    "writes:doublewrite": 5,
    "syncs:doublewrite": 1,
    "writes:redo": 100,
    "syncs:redo": 50,
    "writes:binlog": 20,
    "syncs:binlog": 20,
    "Innodb_data_writes": 1000,
    "Innodb_log_writes": 300,
    "Innodb_os_log_fsyncs": 100,
    "Innodb_pages_created": 7,
    "ibuf_size": 9,
}
AFTER = {name: 3 * count for name, count in BEFORE.items()} | {"ibuf_size": 1}


def test_writes_and_syncs_are_counted_by_file_where_the_server_does() -> None:
    """Pages are those of data files and doublewrite; a gauge that falls meanwhile spoils nothing."""
    found = device_writes(Survey(0.0, BINARY, BEFORE), Survey(9.0, BINARY, AFTER), "mysql")

    assert found == DeviceWrites(34, 300, 80, logs_binary=True, sync_binlog=1, created=14)


def test_without_performance_schema_the_status_variables_count() -> None:
    """The binary log is then not counted, and said to be there."""
    before, after = (
        Survey(0.0, BINARY, {name: n for name, n in counts.items() if name.startswith("Innodb_")})
        for counts in (BEFORE, AFTER)
    )
    found = device_writes(before, after, "mysql")

    assert found == DeviceWrites(1400, 800, None, logs_binary=True, sync_binlog=1, created=14)
    assert device_writes(before, after, "mariadb") == replace(found, pages=None)


def test_a_binary_log_whose_writes_are_not_instrumented_is_not_counted_as_none() -> None:
    """A count that stays 0 since the start says nothing of a log that is on."""
    silent = {"writes:binlog": 0, "syncs:binlog": 0}
    found = device_writes(Survey(0.0, BINARY, BEFORE | silent), Survey(9.0, BINARY, AFTER | silent), "mysql")

    assert found is not None
    assert (found.logs_binary, found.binary_log) == (True, None)


def test_what_is_not_shown_or_began_anew_is_not_known() -> None:
    """An account that may not look, and a server that was restarted, get no share of pages."""
    assert device_writes(Survey(0.0), Survey(9.0), "mysql") is None
    assert device_writes(Survey(0.0, BINARY, AFTER), Survey(9.0, BINARY, BEFORE), "mysql") is None
