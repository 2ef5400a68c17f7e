"""What set the aim of the age, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from policies.registry import LAWS
from policies.setpoint import SetPointSource
from tuner.core.laws import why_m_moves_no_age
from tuner.records import winners
from tuner.why.view import View, share


def bound(view: View) -> str:
    """Return what set the aim, in a sentence."""
    source, aim = view.decision.set_point_source, view.peak(view.decision.set_point)
    if aim is None or not source:
        return ""
    why = _BOUNDS.get(source)
    return f"The aim was {share(aim)} because {why(view)}." if why is not None else ""


def _window(view: View, effect: str) -> str:
    found = winners(view.record.schedule).get(effect)
    return f" (the window {found.name} of the schedule)" if found is not None else ""


def _budget(name: str, what: str) -> Callable[[View], str]:
    def said(view: View) -> str:
        window = _window(view, name)
        allowed = name if window else view.setting(name)
        return f"more would have {what} take longer than {allowed}{window} allows"

    return said


def _alarm(view: View) -> str:
    """Return how the alarm set the aim, which is a share of another whole than the alarm is."""
    aim, sample, setting = view.peak(view.decision.set_point), view.sample, "max_checkpoint_age_ratio"
    of_log = 0.0 if aim is None or sample is None else aim * sample.stall_point / sample.redo_capacity
    if of_log > view.number(setting) + 0.005:
        return (
            f"this load rests so high with the settings found, and {view.setting(setting)} gives way to that"
        )
    return (
        f"the checkpoint age, with its swings, may take no more of the redo log than "
        f"{view.setting(setting)}; the aim is {share(of_log)} of that log"
    )


_BOUNDS: Mapping[str, Callable[[View], str]] = MappingProxyType(
    {
        SetPointSource.HEADROOM: lambda _: (
            "more would leave too little room before sync flushing for this load's bursts and for the "
            "seconds that a change takes to act"
        ),
        SetPointSource.ALARM: _alarm,
        SetPointSource.HIGHEST: lambda _: (
            "no higher one is held: the rest is for what an age wanders by before a change acts"
        ),
        SetPointSource.PERSON: lambda view: (
            f"a person asked for it: set_point = {view.decision.set_point:.3g} of the flush limit"
        ),
        SetPointSource.SCHEDULE: lambda view: f"the schedule asks for it{_window(view, 'set_point')}",
        SetPointSource.OPTIMISER: lambda _: "the optimiser tries it, or found it better in trials",
        SetPointSource.RECOVERY: _budget("max_recovery_seconds", "a crash recovery"),
        SetPointSource.SHUTDOWN: _budget("max_shutdown_seconds", "a shutdown"),
        SetPointSource.DEGRADED: lambda _: (
            "InnoDB's counters are off: the age is known less well, and the aim keeps more room"
        ),
        SetPointSource.FLUSH_LAW: lambda view: (
            f"{no_authority(view)}"
            or "this server's flush law keeps an age no higher than that from running away"
        ),
        SetPointSource.FREE_PAGES: lambda _: (
            "sessions waited for free pages in the buffer pool, and a lower age leaves fewer pages dirty"
        ),
        SetPointSource.ROLE: lambda view: (
            f"this server is a replica, where {view.setting('max_replica_set_point')} of the flush limit is "
            "the highest"
        ),
    }
)


def no_authority(view: View) -> str:
    facts = view.around.facts
    law = None if facts is None else LAWS.get(facts.flush_law)
    return "" if law is None else why_m_moves_no_age(law)
