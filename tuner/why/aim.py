"""What decided the set-point, in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from policies.registry import LAWS
from policies.setpoint import SetPointSource
from tuner.core.laws import why_m_moves_no_age
from tuner.records import winners
from tuner.system.amounts import share
from tuner.why.view import View


def bound(view: View) -> str:
    """Return what decided the set-point, in a sentence."""
    source, wanted = view.decision.set_point_source, view.decision.set_point
    if wanted is None or not source:
        return ""
    why = _BOUNDS.get(source)
    return f"The set-point was {share(wanted)} because {why(view)}." if why is not None else ""


def _window(view: View, effect: str) -> str:
    found = winners(view.record.schedule).get(effect)
    return f" (the window {found.name} of the schedule)" if found is not None else ""


def _budget(name: str, what: str) -> Callable[[View], str]:
    def said(view: View) -> str:
        window = _window(view, name)
        allowed = name if window else view.setting(name)
        return f"with a higher one {what} would take longer than {allowed}{window} allows"

    return said


def _alarm(view: View) -> str:
    """Return how the alarm decided the set-point, which is a share of another whole than the alarm is."""
    wanted, sample, estimate = view.decision.set_point, view.sample, view.estimate
    setting = "max_checkpoint_age_ratio"
    of_log = 0.0
    if wanted is not None and sample is not None and estimate is not None:
        of_log = (wanted * sample.flush_limit + estimate.checkpoint_lag) / sample.redo_capacity
    if of_log > view.number(setting) + 0.005:
        return f"this load holds the age there with the original settings, above {view.setting(setting)}"
    return (
        f"the checkpoint age, at its peaks too, must stay within {view.setting(setting)} of the redo capacity"
    )


_BOUNDS: Mapping[str, Callable[[View], str]] = MappingProxyType(
    {
        SetPointSource.HEADROOM: lambda _: (
            "a higher one would leave too little room before sync flushing: this load has bursts, and a "
            "change takes some seconds to act"
        ),
        SetPointSource.ALARM: _alarm,
        SetPointSource.HIGHEST: lambda _: (
            "that is the highest one there is: the rest is room for the age to move before a change acts"
        ),
        SetPointSource.PERSON: lambda view: (
            f"a person asked for it (set_point = {view.decision.set_point:.3g})"
        ),
        SetPointSource.SCHEDULE: lambda view: f"the schedule asks for it{_window(view, 'set_point')}",
        SetPointSource.OPTIMISER: lambda _: "the optimiser tries it, or found it better in its trials",
        SetPointSource.RECOVERY: _budget("max_recovery_seconds", "a crash recovery"),
        SetPointSource.SHUTDOWN: _budget("max_shutdown_seconds", "a shutdown"),
        SetPointSource.DEGRADED: lambda _: (
            "InnoDB's counters are off: the age is known less well, so more room is kept"
        ),
        SetPointSource.FLUSH_LAW: lambda view: (
            f"{no_authority(view)}" or "above that, the age could run away under this server's flush law"
        ),
        SetPointSource.FREE_PAGES: lambda _: (
            "sessions waited for free pages in the buffer pool; a lower age leaves fewer pages dirty"
        ),
        SetPointSource.ROLE: lambda view: (
            f"this server is a replica, and {view.setting('max_replica_set_point')} is the highest there"
        ),
    }
)


def no_authority(view: View) -> str:
    facts = view.around.facts
    law = None if facts is None else LAWS.get(facts.flush_law)
    return "" if law is None else why_m_moves_no_age(law)
