"""How the budgets stand: what a crash recovery and a shutdown would take now, against what they may."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tuner.core.scheduled import settings_of
from tuner.records import TickRecord
from tuner.settings import Settings


class BudgetInForce(Struct, frozen=True):
    """One budget against what is predicted, seconds."""

    predicted: Annotated[float, Meta(description="what it would take now")]
    allowed: Annotated[float, Meta(description="what it may take")]
    exceeded: Annotated[bool, Meta(description="it would take longer than it may")]


def budgets_of(
    record: TickRecord, settings: Settings | None
) -> dict[Literal["recovery", "shutdown"], BudgetInForce] | None:
    """Return how the budgets in force stand, the schedule's among them; None without an estimate."""
    found = record.estimate
    if found is None or settings is None:
        return None
    settings = settings_of(settings, record.schedule)
    recovery, shutdown = settings.max_recovery_seconds, settings.max_shutdown_seconds
    return {
        "recovery": BudgetInForce(found.recovery_seconds, recovery, found.recovery_seconds > recovery),
        "shutdown": BudgetInForce(found.shutdown_seconds, shutdown, found.shutdown_seconds > shutdown),
    }
