"""Which servers are taken, which are named and refused, and what is found wrong with one that is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from tests.servers.scripted import COUNTERS
from tuner.records import Facts
from tuner.servers.adapter import MAXIMUM_32, MAXIMUM_64
from tuner.servers.detect import detect
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unsupported
from tuner.servers.session import Session

MYSQL = {
    "server_uuid": "11111111-2222-3333-4444-555555555555",
    "version": "9.7.4",
    "version_comment": "MySQL Community Server - GPL",
    "innodb_page_size": "16384",
    "innodb_read_only": "OFF",
    "innodb_redo_log_capacity": "104857600",
    "innodb_thread_concurrency": "0",
}
LIMIT_COUNTERS = {
    "log_max_modified_age_async": 81_281_024,
    "log_max_modified_age_sync": 87_086_592,
    "log_concurrency_margin": 5_303_808,
}
STATUS = {"Innodb_redo_log_capacity_resized": "104857600", "Innodb_redo_log_resize_status": "OK"}


class Scripted(Session):
    """A session to a server made of tables: variables, counters that are on, their values, status."""

    def __init__(
        self,
        variables: dict[str, str] = MYSQL,
        *,
        off: tuple[str, ...] = (),
        exported: dict[str, int] = LIMIT_COUNTERS,
        status: dict[str, str] = STATUS,
        process: bool = True,
    ) -> None:
        super().__init__(Endpoint(user="innobrim"))
        self._variables, self._off, self._exported = variables, off, exported
        self._status, self._process = status, process

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer as a server with these tables would."""
        if "SHOW GLOBAL VARIABLES" in statement:
            return [row for row in self._variables.items() if repr(row[0]) in statement]
        if "innodb_metrics" in statement:
            if not self._process:
                raise pymysql.OperationalError(
                    1227, "Access denied; you need (at least one of) the PROCESS privilege(s)"
                )
            names = [name for name in (*COUNTERS, *LIMIT_COUNTERS) if repr(name) in statement]
            if "status" in statement:
                return [(name, int(name not in self._off)) for name in names]
            return [(name, self._exported[name]) for name in names]
        if "Uptime" in statement:
            return [(1_795_500_000.0, "innobrim@10.0.%")]
        if statement == "SELECT CURRENT_USER()":
            return [("innobrim@10.0.%",)]
        assert "Innodb_redo_log" in statement, statement
        return list(self._status.items())


def with_(**changes: str | None) -> dict[str, str]:
    """Return the variables of a MySQL 9.7 with changes; None takes one away."""
    return {name: value for name, value in {**MYSQL, **changes}.items() if value is not None}


def taken(session: Session) -> Facts:
    """Return what a server is that is taken."""
    facts, _adapter = detect(session)
    return facts


def refusal(variables: dict[str, str]) -> str:
    """Return why a server with these variables is refused."""
    with pytest.raises(Unsupported) as caught:
        detect(Scripted(variables))
    return str(caught.value)


@pytest.mark.parametrize(
    "version", ["8.0.30", "8.0.46", "8.4.8", "9.0.1", "9.7.4", "8.0.36-0ubuntu0.22.04.1"]
)
def test_mysql_from_8_0_30_on_is_taken(version: str) -> None:
    """Every MySQL that has innodb_redo_log_capacity can be controlled, by what it can do."""
    facts = taken(Scripted(with_(version=version)))

    assert facts.version == version
    assert facts.identity == MYSQL["server_uuid"]
    assert (facts.family, facts.flush_law, facts.page_size) == ("mysql", "legacy", 16_384)
    assert facts.started == 1_795_500_000.0
    assert facts.grant("PROCESS") == "GRANT PROCESS ON *.* TO 'innobrim'@'10.0.%'"
    assert facts.disabled_counters == facts.blockers == ()


@pytest.mark.parametrize(
    ("version", "highest"),
    [("8.0.46", MAXIMUM_64), ("8.4.0", MAXIMUM_32), ("9.7.4", MAXIMUM_32)],
)
def test_the_servers_own_range_is_known(version: str, highest: int) -> None:
    """The limits of the knobs are those of the release."""
    facts = taken(Scripted(with_(version=version)))

    assert (facts.capacity_minimum, facts.capacity_maximum) == (100, highest)


def test_aurora_is_refused_with_the_reason() -> None:
    """Aurora is told that the knobs have no effect there, whatever else it looks like."""
    said = refusal(with_(aurora_version="3.08.0", innodb_redo_log_capacity=None))

    assert "Aurora 3.08.0" in said
    assert "no effect" in said


def test_counters_that_are_off_are_listed() -> None:
    """Each counter that a sample needs and that is off is named; such a server is reached all the same."""
    off = ("log_lsn_current", "buffer_flush_pct_for_lsn")

    assert taken(Scripted(off=off)).disabled_counters == off


def test_a_missing_process_privilege_is_told_as_a_grant() -> None:
    """An account that may not read the counters is told the statement that lets it."""
    with pytest.raises(Unsupported, match="GRANT PROCESS ON") as caught:
        detect(Scripted(process=False))

    assert "'innobrim'@" in str(caught.value)
    assert "PROCESS privilege" in str(caught.value)


@pytest.mark.parametrize("name", list(LIMIT_COUNTERS))
def test_limits_that_are_not_ours_block_control(name: str) -> None:
    """A build that exports other limits than our arithmetic is not controlled, with both numbers said."""
    exported = {**LIMIT_COUNTERS, name: LIMIT_COUNTERS[name] + 512}

    (blocker,) = taken(Scripted(exported=exported)).blockers

    assert name in blocker
    assert str(exported[name]) in blocker
    assert str(LIMIT_COUNTERS[name]) in blocker
    assert "not understood" in blocker


def test_a_margin_not_counted_yet_blocks_nothing() -> None:
    """The counter is 0 from when it is turned on until the server comes to its margin again."""
    exported = {**LIMIT_COUNTERS, "log_concurrency_margin": 0}

    assert taken(Scripted(exported=exported)).blockers == ()


def test_limits_are_compared_only_where_they_can_be() -> None:
    """While the redo log is resized, or where the counters are off, nothing is held against the server."""
    wrong = dict.fromkeys(LIMIT_COUNTERS, 1)
    resizing = {**STATUS, "Innodb_redo_log_resize_status": "Resizing down"}

    assert taken(Scripted(exported=wrong, status=resizing)).blockers == ()
    assert taken(Scripted(exported=wrong, off=("log_concurrency_margin",))).blockers == ()


def test_thread_concurrency_is_part_of_the_comparison() -> None:
    """A server with innodb_thread_concurrency = 20 has other limits, and matches with them."""
    variables = with_(innodb_thread_concurrency="20", innodb_redo_log_capacity="1073741824")
    status = {**STATUS, "Innodb_redo_log_capacity_resized": "1073741824"}
    exported = {
        "log_max_modified_age_async": 833_811_968,
        "log_max_modified_age_sync": 893_369_856,
        "log_concurrency_margin": 49_616_384,
    }

    assert taken(Scripted(variables, exported=exported, status=status)).blockers == ()


def test_a_read_only_server_is_blocked() -> None:
    """A server that writes no pages cannot be controlled."""
    (blocker,) = taken(Scripted(with_(innodb_read_only="ON"))).blockers

    assert "innodb_read_only is ON" in blocker


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (MYSQL, (2_097_152, 8.0, False, True)),
        (
            with_(
                version="5.7.44",
                innodb_redo_log_capacity=None,
                innodb_log_file_size="50331648",
                innodb_log_files_in_group="2",
            ),
            (0, 8.0, True, False),
        ),
    ],
)
def test_the_facts_say_what_a_family_does(
    variables: dict[str, str], said: tuple[int, float, bool, bool]
) -> None:
    """What an age is reckoned with beyond itself is the family's own, as is what it keeps of who set what."""
    facts = taken(Scripted(variables, exported=dict.fromkeys(LIMIT_COUNTERS, 0)))

    found = (facts.flush_order_lag, facts.sawtooth_seconds, facts.sync_stalls, facts.names_setters)
    assert found == said
