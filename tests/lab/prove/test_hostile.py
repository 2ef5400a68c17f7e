"""The proof against a hostile server: what it takes for a breach, and a daemon that lives beside one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lab.prove.hostile import RESIDENT_LIMIT, STOP_LIMIT, Lived, live, wrong_writes

FINE = Lived(60.0, 90, 3, (), 0, RESIDENT_LIMIT - 1, 0, 12, STOP_LIMIT, 0)


@pytest.mark.parametrize(
    "statements",
    [
        ["SET GLOBAL innodb_io_capacity_max = 20001"],
        ["SET GLOBAL innodb_io_capacity = 99"],
        ["SET GLOBAL innodb_io_capacity = DEFAULT"],
        ["SET GLOBAL innodb_io_capacity = 200; SHUTDOWN"],
        ["SET PERSIST innodb_io_capacity = 200"],
        ["SET GLOBAL innodb_monitor_enable = 'module_log'"],
    ],
)
def test_a_wrong_write_is_a_breach(statements: Sequence[str]) -> None:
    """Whatever is none of the two variables, or leaves their limits, is found."""
    assert list(wrong_writes([*statements, "SET GLOBAL innodb_io_capacity_max = 800"])) == statements
    assert list(FINE._replace(wrong=tuple(statements)).breaches())


def test_what_is_promised_is_no_breach() -> None:
    """Each figure is one only beyond its limit."""
    assert list(FINE.breaches()) == []
    for changes in (
        {"files": 1},
        {"resident": RESIDENT_LIMIT},
        {"tracebacks": 1},
        {"stop_seconds": STOP_LIMIT + 0.1},
        {"stop_seconds": None},
        {"code": 1},
    ):
        assert len(list(FINE._replace(**changes).breaches())) == 1


def test_a_daemon_lives_beside_a_hostile_server() -> None:
    """For some seconds of odd replies: no traceback, no wrong write, no file sent, and an orderly end."""
    lived = live(3, 6.0, calm=2.0, share=0.3)

    assert lived.odd > 0
    assert (lived.wrong, lived.files, lived.tracebacks, lived.code) == ((), 0, 0, 0)
    assert 0 < lived.resident < RESIDENT_LIMIT
    assert lived.stop_seconds is not None
