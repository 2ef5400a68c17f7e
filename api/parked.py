"""What a park would write now, for whoever is about to ask for one."""

from __future__ import annotations

from policies.registry import LAWS
from tuner.core.limits import allowed
from tuner.core.parking import parked
from tuner.records import Capacity, Facts, Sample, TickRecord
from tuner.settings import Mode, Settings


def parked_of(record: TickRecord, facts: Facts | None, settings: Settings | None) -> Capacity | None:
    """Return about the pair that a park would write; the loop works it out anew when it is asked.

    None without a reading, an estimate, or a flush law that is known.

    Args:
        record: of the newest tick.
        facts: the server; None where unknown.
        settings: those in force; None where unknown.
    """
    sample, found = record.tick.reading, record.estimate
    if not isinstance(sample, Sample) or found is None or facts is None or settings is None:
        return None
    law = LAWS.get(facts.flush_law)
    if law is None:
        return None
    lowest, highest = allowed(settings, facts)
    ours = record.mode is Mode.ACTIVE and record.originals != sample.capacity
    return parked(
        found,
        law,
        settings,
        current=sample.io_capacity_max if ours else lowest,
        lowest=lowest,
        highest=highest,
        home=(record.originals or sample.capacity).io_capacity,
    )
