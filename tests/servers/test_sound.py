"""What a server cannot say is no sample, whichever field it stands in."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.factory import FACTS, sample
from tests.servers.scripted import Scripted
from tuner.records import Missed
from tuner.servers.mysql import MySQLServer
from tuner.servers.sound import LONGEST, sound, sound_facts

ODD: list[tuple[str, Any]] = [
    ("io_capacity", 0),
    ("io_capacity", 451),
    ("io_capacity_max", 0),
    ("io_capacity_max", 2**64),
    ("flush_limit", 0),
    ("flush_limit", -1),
    ("redo_capacity", 0),
    ("lsn_current", -1),
    ("lsn_current", 10**400),
    ("pages_dirty", -1),
    ("uptime", float("nan")),
    ("uptime", float("inf")),
    ("replica_lag", float("-inf")),
    ("adaptive_flushing_lwm", 1e308),
    ("adaptive_flushing_lwm", 100.5),
    ("dirty_limit", -0.5),
    ("identity", "x" * (LONGEST + 1)),
    ("write_time", float("nan")),
]


@pytest.mark.parametrize(("name", "value"), ODD)
def test_a_sample_is_judged_as_a_whole(name: str, value: Any) -> None:  # noqa: ANN401 - of any field
    """One field that cannot be so spoils all of it, and is named with what would be right."""
    fine = sample(io_capacity=225, io_capacity_max=450)
    assert sound(fine) is fine
    with pytest.raises(ValueError, match=name) as caught:
        sound(replace(fine, **{name: value}))

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("page_size", 0), ("page_size", 12_345), ("started", float("inf")), ("blockers", ("x" * 5000,))],
)
def test_facts_are_judged_as_a_whole(name: str, value: Any) -> None:  # noqa: ANN401 - of any field
    """The same of what stays as it is while a server runs."""
    with pytest.raises(ValueError, match=name):
        sound_facts(replace(FACTS, **{name: value}))


@pytest.mark.parametrize(
    "value",
    ["1e999", "inf", "nan", "", "None", "9" * 400, "-1", "9" * 5000, "0x10", "1_000", "４２", " 7 ", "+7"],
)
@pytest.mark.parametrize("table", ["counters", "status", "variables"])
def test_an_odd_number_is_a_missed_reading(
    server: MySQLServer, session: Scripted, table: str, value: str
) -> None:
    """Wherever it stands, it is said in a line with its cause, and the next good answer is a sample again."""
    name = {
        "counters": "log_lsn_current",
        "status": "Innodb_buffer_pool_pages_dirty",
        "variables": "innodb_io_capacity_max",
    }[table]
    kept = getattr(session, table)
    kept[name] = value
    found = server.read()

    assert isinstance(found, Missed)
    assert "unexpected answer" in found.reason
    assert len(found.reason) < 700
