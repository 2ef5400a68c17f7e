"""One decision as the journal keeps it when its tick is gone."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.records.decision import DecisionKind
from tuner.records.server import Capacity


class PastChange(Struct, frozen=True):
    """One decision: a row of the journal's table ``decisions``, which outlives its tick by weeks."""

    number: Annotated[int, Meta(description="in this journal; innobrim why --change takes it, 0 for unknown")]
    tick: Annotated[int, Meta(description="number of the tick in its run")]
    wall: Annotated[float, Meta(description="when, Unix time")]
    kind: DecisionKind
    reason: Annotated[str, Meta(description="code of why")]
    detail: Annotated[str, Meta(description="why, in the loop's own words")]
    source: Annotated[str, Meta(description="who decided; empty where nobody in particular did")]
    written: Annotated[bool, Meta(description="it was sent to the server")]
    old: Annotated[Capacity | None, Meta(description="C and M before; none where the reading had failed")]
    new: Annotated[Capacity | None, Meta(description="C and M asked for")]
    run: Annotated[int, Meta(description="number of the run in the journal; 0 for unknown")] = 0
