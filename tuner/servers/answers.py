"""What a server answers, by name, and what is made of it in every family."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from tuner.servers.limits import Points
from tuner.servers.parts import Around

Answers = Mapping[str, str]
"""What both statements said, by name."""


class Moment(Struct, frozen=True):
    """What a reading knows beside the server's answers.

    Attributes:
        monotonic: when, on the daemon's clock, seconds.
        wall: when, Unix time, seconds.
        read_seconds: how long the reading took.
        around: what is known of the surroundings.
        writer: false where the lock is known to be somebody else's.
        lock: who has it, or why it is one of this host alone; empty where it is simply ours.
        undo_truncating: an undo tablespace is being truncated.
    """

    monotonic: float
    wall: float
    read_seconds: float
    around: Around
    writer: bool
    undo_truncating: bool
    lock: str = ""


SELECTS = ("Com_select",)
CHANGES = (
    *("Com_insert", "Com_insert_select", "Com_replace", "Com_replace_select", "Com_load"),
    *("Com_update", "Com_update_multi", "Com_delete", "Com_delete_multi"),
)
"""The server's own counts of the statements that read rows, and of those that change some.

Prepared ones and those inside procedures are among them; row events of replication are not, nor is what a
query cache answers.
"""


def statements(answers: Answers) -> dict[str, Any]:
    """Return how many statements read and changed rows, as fields of a sample; none unless all are shown."""
    try:
        selects, changes = (sum(int(answers[name]) for name in names) for names in (SELECTS, CHANGES))
    except (KeyError, ValueError):
        return {}
    return {"select_statements": selects, "change_statements": changes}


def quoted(names: Collection[str]) -> str:
    """Return names as SQL strings in a row."""
    return ", ".join(repr(name) for name in names)


def low_water(base: int, answers: Answers) -> int:
    """Return the modified age below which adaptive flushing does nothing, bytes.

    Args:
        base: what ``innodb_adaptive_flushing_lwm`` is a percentage of, bytes.
        answers: what both statements said.
    """
    return int(base * float(answers["innodb_adaptive_flushing_lwm"]) / 100.0)


def points(limits: Points, answers: Answers) -> dict[str, int]:
    """Return the limits of the redo log in force, as fields of a sample."""
    return {
        "flush_limit": limits.flush_limit,
        "sync_point": limits.sync_point,
        "stall_point": limits.stall_point,
        "low_water": low_water(limits.low_water_base, answers),
    }


MARGIN = "log_concurrency_margin"
"""The one limit that is counted only when the server works it out, and is 0 before (``MONITOR_SET``).

Before 8.0.30 that is when mysqld starts (log/log0log.cc of 8.0.25, ``log_sys_init``), before any counter is
on, and when the log writer makes it larger; since then at each checkpoint and more often (log/log0chkp.cc,
``log_update_limits_low``).
"""


def first_mismatch(exported: Mapping[str, str], computed: Mapping[str, int], where: str) -> str:
    """Return what the first limit is that the server has otherwise than our arithmetic; empty without one.

    A margin of 0 is one that the server has not noted since its counter is on.
    """
    for name, value in computed.items():
        if name == MARGIN and int(exported[name]) == 0:
            continue
        if int(exported[name]) != value:
            return (
                f"{name} is {exported[name]} on the server and {value} by our arithmetic {where}: "
                "this build is not understood"
            )
    return ""
