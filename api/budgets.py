"""What crash recovery and shutdown would take from three ages, against the budgets that are set."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.core.budgets import KEYS, WARN_SECONDS, Name
from tuner.core.durations import Durations, durations_of
from tuner.core.scheduled import settings_of
from tuner.records import TickRecord
from tuner.settings import Settings


class BudgetInForce(Struct, frozen=True):
    """What one of them would take, against its budget; seconds."""

    predicted: Annotated[float, Meta(description="what it would take now")]
    at_set_point: Annotated[
        float | None,
        Meta(description="at its longest with the age at the set-point; none before it is known"),
    ]
    at_baseline: Annotated[
        float | None,
        Meta(
            description="at its longest with the C and M that the server was found with; none where it is "
            "not known where the age would rest"
        ),
    ]
    allowed: Annotated[float | None, Meta(description="what it may take; none where nobody set a budget")]
    exceeded: Annotated[bool, Meta(description="it would take longer now than a budget that is set allows")]
    long: Annotated[
        bool,
        Meta(
            description=f"nobody set a budget, and one of the three is longer than {WARN_SECONDS:g} s; "
            "it moves nothing"
        ),
    ]


def budgets_of(record: TickRecord, settings: Settings | None) -> dict[Name, BudgetInForce] | None:
    """Return how both stand against the budgets in force, the schedule's too; None without an estimate."""
    found = record.estimate
    if found is None or settings is None:
        return None
    settings, both = settings_of(settings, record.schedule), durations_of(found)
    return {name: _against(one, getattr(settings, KEYS[name])) for name, one in both.items()}


def _against(one: Durations, allowed: float | None) -> BudgetInForce:
    return BudgetInForce(
        predicted=one.now,
        at_set_point=one.set_point,
        at_baseline=one.baseline,
        allowed=allowed,
        exceeded=allowed is not None and one.now > allowed,
        long=one.long(allowed),
    )
