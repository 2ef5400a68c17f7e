"""Records as the loop makes them, what a journal is given, and its file as another process sees it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from tests import factory
from tuner.journal.items import Item, RunItem
from tuner.journal.tables import Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Decision, DecisionKind, Event, Facts, Lifecycle, Tick, TickRecord
from tuner.settings import Mode, Settings

MakeWriter = Callable[..., JournalWriter]
Keep = Callable[..., Path]

SOON = 10.0
PAIR = Capacity(10_000, 20_000)

SAMPLE = factory.sample(
    monotonic=123456.789012,
    wall=1_795_600_000.123456,
    read_seconds=0.00213,
    lsn_current=7_123_526_789_012,
    lsn_oldest=7_123_456_789_012,
    lsn_checkpoint=7_123_454_689_012,
    pages_adaptive=123_456_789,
    row_changes=987_654_321,
    commits=123_456_789,
)
ESTIMATE = factory.estimate(
    age_ratio=0.888123456,
    age_slope=12345.678,
    redo_rate=3_000_123.4,
    demand=430.2,
    demand_density=0.000143,
    combining_exponent=0.531,
    sustained_capacity=1201.5,
    seconds_to_sync=88.8,
)

KEEP = Decision(
    DecisionKind.KEEP,
    "dead_band",
    "demand 431 pages/s is within 3 % of M 450",
    target=Capacity(225, 450),
    policy="cascade",
    set_point=0.9012345,
    source="policy",
    guards=("dead_band",),
    terms={
        "demand": 431.2345,
        "inverse": 430.1,
        "proportional": 0.001,
        "integral": 0.02,
        "correction": 0.021,
    },
)
SET = replace(
    KEEP,
    kind=DecisionKind.SET,
    reason="raise",
    detail="demand 480 pages/s",
    target=Capacity(250, 500),
    steps=(("innodb_io_capacity_max", 500), ("innodb_io_capacity", 250)),
)
FACTS = Facts(
    identity=SAMPLE.identity,
    endpoint="/run/mysqld/mysqld.sock",
    version="9.7.4",
    version_comment="MySQL Community Server",
    family="mysql",
    flush_law="mysql-8.0.30",
    page_size=16384,
    capacity_minimum=100,
    capacity_maximum=4_294_967_295,
    started=1_795_500_000.0,
)
RUN = RunItem(Settings(), FACTS, b"state", 0, 1.0)
ORIGINALS = Originals("uuid-1", PAIR, 5.0, "9.7.4", 6.0)


def event_of(one: str | Event) -> Event:
    """Return an event, given by its code or as it is."""
    return Event(code=one, message=f"{one} happened") if isinstance(one, str) else one


def record(number: int, decision: Decision = KEEP, *events: str | Event) -> TickRecord:
    """Return the record of one tick, one second after the one before."""
    wall = SAMPLE.wall + number
    reading = replace(SAMPLE, monotonic=SAMPLE.monotonic + number, wall=wall)
    return TickRecord(
        tick=Tick(number, reading.monotonic + 0.003, wall + 0.003, reading),
        lifecycle=Lifecycle.RUNNING,
        mode=Mode.ACTIVE,
        estimate=ESTIMATE,
        decision=decision,
        events=tuple(replace(event_of(one), wall=wall) for one in events),
        changes_last_hour=4,
        originals=PAIR,
    )


def put(journal: JournalWriter, *things: Item | TickRecord) -> JournalWriter:
    """Hand a journal ticks and items, in order; return it."""
    for one in things:
        if isinstance(one, TickRecord):
            journal.record(one)
        else:
            journal.put(one)
    return journal


def rows(directory: Path, query: str) -> list[tuple[object, ...]]:
    """Read as another process would."""
    with closing(sqlite3.connect(f"file:{directory / 'journal.db'}?mode=ro", uri=True)) as db:
        return db.execute(query).fetchall()


def change(directory: Path, *statements: str) -> None:
    """Change a journal behind its back."""
    with closing(sqlite3.connect(directory / "journal.db")) as db, db:
        for statement in statements:
            db.execute(statement)
