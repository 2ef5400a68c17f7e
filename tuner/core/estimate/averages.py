"""What the load is like, averaged over minutes, as an optimiser takes it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import plausible
from policies.types import Context
from tuner.core.estimate.readshare import Statements, counted
from tuner.records import Estimate, Sample

CONTEXT_SECONDS = 300.0
"""Time constant of the averages that say what the load is like."""


class Averages(Struct, frozen=True):
    """The load of the last minutes; rates in bytes/s and rows/s."""

    seconds: float = 0.0
    redo_rate: float = 0.0
    row_rate: float = 0.0
    lru_share: float = 0.0
    concurrency: float = 0.0
    timed: tuple[float, float] | None = None
    statements: Statements = Statements()


def averaged(
    state: Averages, sample: Sample, found: Estimate, *, lru_share: float, elapsed: float
) -> Averages:
    """Return the load with one tick more; concurrency and read share only where the server shows them."""
    seconds = min(CONTEXT_SECONDS, state.seconds + elapsed)
    weight = min(1.0, elapsed / seconds)
    timed, concurrency = state.timed, state.concurrency
    if sample.write_time is not None and (timed is None or sample.write_time != timed[1]):
        new = (sample.monotonic, sample.write_time)
        if timed is not None and new[0] > timed[0] and new[1] > timed[1]:
            seen = (new[1] - timed[1]) / (new[0] - timed[0])
            part = min(1.0, (new[0] - timed[0]) / seconds) if concurrency > 0.0 else 1.0
            concurrency += part * (seen - concurrency)
        timed = new
    return Averages(
        seconds=seconds,
        redo_rate=state.redo_rate + weight * (found.redo_rate - state.redo_rate),
        row_rate=state.row_rate + weight * (found.row_rate - state.row_rate),
        lru_share=state.lru_share + weight * (lru_share - state.lru_share),
        concurrency=concurrency,
        timed=timed,
        statements=counted(state.statements, sample, weight=weight),
    )


def interrupted(state: Averages) -> Averages:
    """Return the load while something else goes on: its statements are not the load's."""
    if state.statements.last is None:
        return state
    return replace(state, statements=state.statements.interrupted())


def afresh(state: Averages) -> Averages:
    """Return the load where a time begins that nothing is known of: no rate goes on across it."""
    return replace(interrupted(state), timed=None)


def context_of(averages: Averages, sample: Sample) -> Context | None:
    """Return the averages as a context; None where no rows are changed."""
    if averages.row_rate <= 0.0 or averages.redo_rate <= 0.0:
        return None
    context = Context(
        redo_rate=averages.redo_rate,
        row_bytes=averages.redo_rate / averages.row_rate,
        lru_share=averages.lru_share,
        concurrency=averages.concurrency,
        flush_limit=float(sample.flush_limit),
        read_share=averages.statements.read_share,
    )
    return context if plausible(context) else None
