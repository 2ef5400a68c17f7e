"""What a server cannot say is no sample, whichever field it stands in."""

from __future__ import annotations

import contextlib
import time
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from tests.factory import FACTS, sample
from tests.servers.fixtured import HOLDERS, Fixtured, good, opened
from tuner.records import Capacity, Missed
from tuner.servers import server as server_module
from tuner.servers.driver import PACKET_BYTES
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.port import ServerError
from tuner.servers.server import READ_BACK, RealServer
from tuner.servers.surroundings import PARTS
from tuner.servers.values import LONGEST, decimal, plain, plausible, text, whole
from tuner.servers.writing import ASK, LOW_WATER_THERE, bounds, sets_low_water

SAMPLE = sample(io_capacity=225, io_capacity_max=450)


@contextlib.contextmanager
def at_once() -> Any:  # noqa: ANN401 - a context manager's generator
    """Allow a second of this process's own time."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("record", "name", "value"),
    [
        *((SAMPLE, "io_capacity", value) for value in (0, 451)),
        *((SAMPLE, "io_capacity_max", value) for value in (0, 2**64)),
        *((SAMPLE, "flush_limit", value) for value in (0, -1)),
        *((SAMPLE, "lsn_current", value) for value in (-1, 10**400)),
        *((SAMPLE, "lsn_oldest", value) for value in (0, 2**64 - 1)),
        *((SAMPLE, "pages_dirty", value) for value in (-1, 10**9)),
        *((SAMPLE, "uptime", value) for value in (float("nan"), float("inf"))),
        *((SAMPLE, "adaptive_flushing_lwm", value) for value in (1e308, 100.5)),
        (SAMPLE, "redo_capacity", 0),
        (SAMPLE, "replica_lag", float("-inf")),
        (SAMPLE, "dirty_limit", -0.5),
        (SAMPLE, "identity", "x" * (LONGEST + 1)),
        (SAMPLE, "write_time", float("nan")),
        (SAMPLE, "lsn_checkpoint", 2**64 - 1),
        *((SAMPLE, "flush_percentage", value) for value in (-1, 2**64)),
        *((FACTS, "page_size", value) for value in (0, 12_345)),
        (FACTS, "started", float("inf")),
        (FACTS, "blockers", ("x" * 5000,)),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_record_is_judged_as_a_whole(record: Any, name: str, value: Any) -> None:  # noqa: ANN401 - of any field
    """One field that cannot be so spoils all of it, and is named with what would be right."""
    assert plausible(record) is record
    with pytest.raises(ValueError, match=name) as caught:
        plausible(replace(record, **{name: value}))

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("said", [786_868, 2**40])
def test_a_percentage_of_a_pool_without_dirty_pages_is_no_missed_reading(said: int) -> None:
    """MySQL 9.7 takes the whole LSN for the age where no page is dirty; such a reading is as good as any."""
    shown = replace(SAMPLE, flush_percentage=said)
    assert plausible(shown) is shown


@pytest.mark.parametrize(
    "value",
    ["1e999", "inf", "nan", "", "None", "9" * 400, "-1", "9" * 5000, "0x10", "1_000", "４２", " 7 ", "+7"],
    ids=lambda value: value[:12],
)
@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("metrics", "log_lsn_current"),
        ("status", "Innodb_buffer_pool_pages_dirty"),
        ("variables", "innodb_io_capacity_max"),
    ],
)
def test_an_odd_number_is_a_missed_reading(
    server: RealServer, session: Fixtured, table: str, name: str, value: str
) -> None:
    """Wherever it stands, it is said in a line with its cause."""
    getattr(session.reading, table)[name] = ("enabled", value) if table == "metrics" else value
    found = server.read()

    assert isinstance(found, Missed)
    assert "unexpected answer" in found.reason
    assert len(found.reason) < 700


HUGE = [
    *("1e99999999", Decimal("1e99999999"), Decimal("-1e99999999"), "1E+99999999", b"1e99999999", "1e400000"),
    *("9" * 2_000_000, Decimal("9" * 2_000_000), "0." + "9" * 2_000_000, " " * 2_000_000 + "1", "9" * 21),
]
"""Numbers that Python could take minutes and all memory to write out; a sum comes as a Decimal."""


def named(value: object) -> str:
    """Return what a test of it is called."""
    return f"{type(value).__name__}-{str(value)[:12]}"


@pytest.mark.parametrize("value", HUGE, ids=named)
def test_a_number_is_never_written_out_before_it_was_judged(value: object) -> None:
    """However long a number would be, it is refused at once, in few words."""
    with at_once(), pytest.raises(ValueError, match="no whole number") as caught:
        whole(value)

    assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("value", "number"),
    [(7, 7), ("7", 7), (b"7", 7), (Decimal(7), 7), (Decimal("7.0000"), 7), (2.0, 2), (2**64 - 1, 2**64 - 1)],
)
def test_what_servers_say_of_a_count_is_one(value: object, number: int) -> None:
    """A sum or a count is read to the last digit, whichever type the driver made of it."""
    assert whole(value) == number


@pytest.mark.parametrize(
    "value", ["nan", "-inf", "Infinity", "1e999", " 12 ", "12\n", "+12", "1_000", "४२", "0x10", ""]
)
def test_what_only_python_takes_for_a_number_is_none(value: str) -> None:
    """In a time, a share, a count or a limit it is refused, and so it is in a reading."""
    for read in (decimal, whole):
        with pytest.raises(ValueError, match=r"is no (whole )?number"):
            read(value)
    for name in ("innodb_page_size", "innodb_max_dirty_pages_pct_lwm"):
        found, session, _ = opened("mariadb-11.8.6")
        session.reading.variables[name] = value
        with pytest.raises(ServerError, match="unexpected answer"):
            found.facts()


@pytest.mark.parametrize("value", [7, "7.5", b"-0.001", 1e-05, "1e-05", Decimal("0E-7"), Decimal("1.500000")])
def test_what_servers_say_of_a_time_or_a_share_is_one(value: object) -> None:
    """A number is read whichever type the driver made of it, with an exponent where it is very small."""
    assert decimal(value) == float(text(value))
    assert plain({"a": text(value)})


@pytest.mark.parametrize("ending", ["x", "7", "7x", "\n"])
@pytest.mark.parametrize("filling", [" ", "\t\n", "_", ".", "-", " .", "7", "7 ", "\u2007", "x"])
def test_a_long_answer_is_judged_in_no_time(filling: str, ending: str) -> None:
    """Whatever a value of the longest answer is made of, to judge it takes less than a reading may."""
    with at_once(), contextlib.suppress(ValueError):
        plain({"Uptime": filling * (PACKET_BYTES // len(filling)) + ending})


@pytest.mark.parametrize("value", HUGE[:3], ids=named)
def test_a_number_without_end_stops_nothing(
    server: RealServer, session: Fixtured, monkeypatch: pytest.MonkeyPatch, value: object
) -> None:
    """In the surroundings, a read-back, the procedure's bounds or the lock's holder it is no answer."""
    facts = replace(FACTS, disabled_counters=())
    monkeypatch.setattr(server_module, "detect", lambda _session: (facts, RedoCapacityAdapter()))
    server.watches_latency = True
    session.around = {name: [(name, value, value)] for name in PARTS}
    session.around["replica"] = [(name, value, value) for name in ("replica", "worker", "coordinator")]
    server.facts()
    assert not good(server).cloning
    assert session.third()
    session.instead[READ_BACK] = [(value, 450)]
    receipt = server.apply((), Capacity(1, 2))
    assert receipt.in_force is None
    assert "read back" in receipt.error
    session.instead |= {LOW_WATER_THERE: [(value,)], ASK: [(value, value, value)]}
    assert not sets_low_water(session)
    assert bounds(session) is None
    holder = (value, "app", "localhost", value, value, value)
    session.instead |= {"GET_LOCK": [(0,)], HOLDERS: [holder]}
    server.claims_writer = True
    good(server)
    assert good(server).lock == ""
