"""What is made of a server's counts of its writes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tuner.findings.combining import Figure
from tuner.findings.devicewrites import DeviceWrites, device_writes, log_writes
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
REDO = Figure(100, 200, 300)
AFTER = {name: 3 * count for name, count in BEFORE.items()} | {"ibuf_size": 1}


def test_writes_and_syncs_are_counted_by_file_where_the_server_does() -> None:
    """Pages are those of data files and doublewrite; a gauge that falls meanwhile spoils nothing."""
    found = device_writes(Survey(0.0, BINARY, BEFORE), Survey(9.0, BINARY, AFTER), "mysql")

    assert found == DeviceWrites(34, REDO, Figure(40, 80, 80), logs_binary=True, sync_binlog=1, created=14)


def test_without_performance_schema_the_status_variables_count() -> None:
    """The binary log is then not counted, and said to be there."""
    before, after = (
        Survey(0.0, BINARY, {name: n for name, n in counts.items() if name.startswith("Innodb_")})
        for counts in (BEFORE, AFTER)
    )
    found = device_writes(before, after, "mysql")

    assert found == DeviceWrites(
        1400, Figure(200, 400, 800), None, logs_binary=True, sync_binlog=1, created=14
    )
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


def test_calls_between_two_syncs_of_a_log_come_to_the_device_together() -> None:
    """With 1.917 write calls and 0.127 syncs a commit a real device made 0.705 writes, 0.38 of them pages."""
    redo = log_writes(1.917, 0.127, direct=False)
    low, likeliest, high = (0.38 / (0.38 + one) for one in (redo.high, redo.likeliest, redo.low))

    assert low < 0.38 / 0.705 < high
    assert likeliest == pytest.approx(0.38 / 0.705, abs=0.1)


def test_a_log_past_the_page_cache_has_a_write_for_each_call() -> None:
    """A MariaDB without log file buffering, and O_DSYNC, leave nothing for the cache to put together."""
    for variables in ({"innodb_log_file_buffering": "OFF"}, {"innodb_flush_method": "O_DSYNC"}):
        found = device_writes(Survey(0.0, variables, BEFORE), Survey(9.0, variables, AFTER), "mysql")
        assert found is not None
        assert found.redo == Figure(200, 300, 600)
