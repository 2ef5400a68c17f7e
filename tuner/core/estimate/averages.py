"""What the load is like, averaged over minutes, as an optimiser takes it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import plausible
from policies.types import LoadContext
from tuner.records import Estimate, Sample


class Counted(Struct, frozen=True):
    """How many statements one start of a server had begun at a reading."""

    identity: str  # which server
    uptime: float  # of it, seconds
    at: float  # monotonic time of the reading, seconds
    selects: int  # that read rows
    changes: int  # that change rows

    def follows(self, last: Counted) -> bool:
        """Tell whether this is a later reading of the same start of the same server."""
        return (
            self.identity == last.identity
            and self.uptime >= last.uptime
            and self.at > last.at
            and self.selects >= last.selects
            and self.changes >= last.changes
        )


class Statements(Struct, frozen=True):
    """Statements that read rows and that change them, 1/s, averaged; both 0 where they are not counted."""

    select_rate: float = 0.0
    change_rate: float = 0.0
    last: Counted | None = None

    @property
    def read_share(self) -> float | None:
        """Return the SELECT statements over all that read or change rows, 0 to 1; None where unknown."""
        whole = self.select_rate + self.change_rate
        return self.select_rate / whole if whole > 0.0 else None

    def interrupted(self) -> Statements:
        """Return them where a time begins that says nothing about the load: what is counted in it is not."""
        return replace(self, last=None)


def counted(state: Statements, sample: Sample, *, weight: float) -> Statements:
    """Return the averages with a reading more; nothing is known any more where it does not count statements.

    Args:
        weight: of the time since the reading before, 0 to 1.
    """
    if sample.select_statements is None or sample.change_statements is None:
        return Statements()
    now = Counted(
        identity=sample.identity,
        uptime=sample.uptime,
        at=sample.monotonic,
        selects=sample.select_statements,
        changes=sample.change_statements,
    )
    last = state.last
    if last is None or not now.follows(last):
        return replace(state, last=now)
    seconds = now.at - last.at
    selects, changes = (now.selects - last.selects) / seconds, (now.changes - last.changes) / seconds
    return Statements(
        select_rate=state.select_rate + weight * (selects - state.select_rate),
        change_rate=state.change_rate + weight * (changes - state.change_rate),
        last=now,
    )


CONTEXT_SECONDS = 300.0  # Time constant of the averages that say what the load is like


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
    state: Averages, sample: Sample, estimate: Estimate, *, lru_share: float, elapsed: float
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
        redo_rate=state.redo_rate + weight * (estimate.redo_rate - state.redo_rate),
        row_rate=state.row_rate + weight * (estimate.row_rate - state.row_rate),
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


def context_of(averages: Averages, sample: Sample) -> LoadContext | None:
    """Return the averages as a context; None where no rows are changed."""
    if averages.row_rate <= 0.0 or averages.redo_rate <= 0.0:
        return None
    context = LoadContext(
        redo_rate=averages.redo_rate,
        row_bytes=averages.redo_rate / averages.row_rate,
        lru_share=averages.lru_share,
        concurrency=averages.concurrency,
        flush_limit=float(sample.flush_limit),
        read_share=averages.statements.read_share,
    )
    return context if plausible(context) else None
