"""Writes what a daemon of today keeps of one server, every part of it filled, to the fixtures.

``python -m tests.core.learned_document WHAT``, once for every change of what is kept; older ones stay.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from policies.types import LoadContext, Suggestion, Trial
from tests.core.readings import taught
from tuner.core.memory import Learned, learn
from tuner.core.savings.ledger import Savings
from tuner.core.savings.tried import Tried
from tuner.core.trials.evidence import Aside, Evidence, Win
from tuner.records import Capacity

FOLDER = Path(__file__).parents[1] / "fixtures" / "learned"
AT = 1_767_200_000.0


def full() -> Learned:
    """Return what is learned of a server, nothing of it being what a fresh daemon begins with."""
    day = LoadContext(
        redo_rate=1e6, row_bytes=300.0, lru_share=0.01, concurrency=4.0, flush_limit=8e7, read_share=0.8
    )
    night = LoadContext(redo_rate=2e5, row_bytes=420.0, lru_share=0.0, concurrency=0.0, flush_limit=8e7)
    low, high = Suggestion(-0.02, 0.75, 1.2), Suggestion(0.01, 1.0, 0.8)
    log = (
        Trial(low, day, 0.012, 0.002, AT),
        Trial(high, day, -0.004, 0.001, AT + 1e4),
        Trial(low, night, 0.001, 0.004, AT + 2e4),
    )
    before = Aside("8.4.8 legacy", log[:2], (Win(high, night, 0.02, 0.01, 0.03, AT),))
    evidence = Evidence("9.7.4 legacy", log, (Win(low, day, 0.012, 0.006, 0.018, AT),), (before,))
    state = taught()
    week = state.trends.bursts.week.visited(9, 6.0e7).visited(33, 4.5e7).visited(34, 0.0)
    bursts = replace(state.trends.bursts, week=week, recent=3.0e7, hours_burst=2.0e7)
    trends = replace(state.trends, bursts=bursts)
    recovery = replace(state.recovery, factor=0.5, measured_on="9.7.4")
    state = replace(state, trends=trends, recovery=recovery)
    savings = Savings(AT, 9e5, 4e7, 6e7, 8e7, 9.5e7, 0.62, 0.08, AT + 6e5)
    tried = (Tried(Capacity(10_000, 20_000), "9.7.4 legacy", 1e6, 300.0, 0.8, 8e7, 0.4, 0.02),)
    return learn(state, proven="9.7.4", law="legacy", evidence=evidence, savings=savings, tried=tried)


if __name__ == "__main__":
    number = 1 + max(int(path.name.partition("-")[0]) for path in FOLDER.glob("*.msgpack"))
    FOLDER.joinpath(f"{number}-{sys.argv[1]}.msgpack").write_bytes(msgspec.msgpack.encode(full()))
