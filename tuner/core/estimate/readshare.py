"""Which share of the statements are reads, averaged over minutes."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.records import Sample


class Counted(Struct, frozen=True):
    """How many statements one start of a server had begun at a reading.

    Attributes:
        identity: which server.
        uptime: of it, seconds.
        at: monotonic time of the reading, seconds.
        selects: that read rows.
        changes: that change rows.
    """

    identity: str
    uptime: float
    at: float
    selects: int
    changes: int

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
        state: the averages.
        sample: the reading.
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
