"""What a trial against the baseline showed, for the ledger: it stands in place of the model for its load."""

from __future__ import annotations

import math
from statistics import fmean

from msgspec import Struct

from tuner.core.trials.paired import paired
from tuner.core.trials.proof import FEWEST_PAIRS, Running
from tuner.core.trials.switchback import ALIKE
from tuner.records import Capacity

MOST = 8  # Trials that are remembered, the newest
AGES_ALIKE = 0.2  # Difference of ln(age ratio) up to which a trial's ratio counts


class Tried(Struct, frozen=True):
    """One trial: under which load, and how many pages the baseline wrote for each of ours."""

    baseline: Capacity  # the originals, which ours was compared with
    server: str  # version and flush law
    redo_rate: float  # of the blocks of ours, bytes/s
    row_bytes: float  # redo for each row change, bytes
    age_ratio: float  # at which ours came to rest
    flush_limit: float  # bytes
    log: float  # ln of the pages for each row change, the baseline's over ours
    error: float  # half of its 95 % bounds' half width

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        sizes = (self.redo_rate, self.row_bytes, self.age_ratio, self.flush_limit)
        return all(0.0 < one < math.inf for one in sizes) and all(map(math.isfinite, (self.log, self.error)))

    def counts_for(self, other: Tried) -> bool:
        """Tell whether a time is like the trial: baseline, server, load and age."""
        return (
            (self.baseline, self.server, self.flush_limit)
            == (other.baseline, other.server, other.flush_limit)
            and abs(math.log(self.redo_rate / other.redo_rate)) <= ALIKE
            and abs(math.log(self.row_bytes / other.row_bytes)) <= ALIKE
            and abs(math.log(self.age_ratio / other.age_ratio)) <= AGES_ALIKE
        )


def tried(running: Running, *, server: str, flush_limit: float) -> Tried | None:
    """Return what a trial that ends tells the ledger; None with too few pairs.

    Args:
        running: the trial.
        server: its version and flush law.
        flush_limit: bytes.
    """
    ratio, ours = paired(running.pairs, "pages_per_row"), [pair.ours for pair in running.pairs]
    if ratio is None or len(ours) < FEWEST_PAIRS:
        return None
    if min(min(one.redo_rate, one.age_ratio) for one in ours) <= 0.0:
        return None
    found = Tried(
        baseline=running.baseline,
        server=server,
        redo_rate=fmean(one.redo_rate for one in ours),
        row_bytes=fmean(one.redo_rate / one.row_changes for one in ours),
        age_ratio=math.exp(fmean(math.log(one.age_ratio) for one in ours)),
        flush_limit=flush_limit,
        log=-math.log(ratio.ratio),
        error=math.log(ratio.high / ratio.low) / 4.0,
    )
    return found if found.valid else None
