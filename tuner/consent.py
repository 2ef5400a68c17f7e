"""What the consent to try MariaDB's other low-water mark comes to on a server, in one line."""

from __future__ import annotations

from tuner.core.mark import other
from tuner.core.markbars import unfit
from tuner.preconditions import Line
from tuner.records import LOW_WATER_MARK, Facts, Sample, percent
from tuner.settings import LOW_WATER_POLICY, Settings


def low_water_mark(sample: Sample, facts: Facts, settings: Settings) -> tuple[Line, ...]:
    """Return the line about it; none without the consent, which is the policy's name."""
    if settings.policy != LOW_WATER_POLICY:
        return ()
    mark = sample.low_water_mark
    why = unfit(facts, mark)
    if why or mark is None:
        said = f"{LOW_WATER_POLICY} tries no low-water mark here, and is bayes: {why}"
        return (Line("low_water_mark", "warning", said),)
    said = f"{LOW_WATER_MARK} is {percent(mark)}; active mode tries {percent(other(mark))} against it"
    return (Line("low_water_mark", "ok", f"{said}, and puts {percent(mark)} back whenever it leaves"),)
