"""What lasts: the part of the estimates that a restart of the daemon must not cost."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import astuple

from tuner.core.estimate.estimator import EstimatorState
from tuner.core.estimate.load import Curve, Load, Regression
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.trends import Bursts, Late, Trends, Week
from tuner.core.evidence import Evidence

NOTHING = Evidence()


class Learned(Struct, frozen=True, rename={"measured_on": "version"}):
    """What was learned of one server and its load, stored under names that stay.

    Attributes:
        load: what the load answers with.
        recovery_factor: crash recoveries measured over predicted.
        measured_on: server version that these were measured on; empty before the first.
        proven: server version whose flush law was verified last; empty before the first.
        law: which law that was; empty in an older program's.
        week: the load's bursts by hour of the week.
        late: those of the last hours.
        evidence: what the outer loop's trials came to.
    """

    load: Load = Load()
    recovery_factor: float = 1.0
    measured_on: str = ""
    proven: str = ""
    law: str = ""
    week: Week = Week()
    late: Late = Late()
    evidence: Evidence = Evidence()

    def proof_of(self, law: str) -> str:
        """Return the server version on which this law was verified; empty where it was another one."""
        return self.proven if self.law in {"", law} else ""

    def afresh(self, *, version: str, law: str) -> tuple[str, ...]:
        """Return what is forgotten beside a server of that version and flush law, in words."""
        said = []
        if self.measured_on not in {"", version}:
            said.append(forgotten(self.recovery_factor, self.measured_on))
        if self.proven and (self.proven != version or not self.proof_of(law)):
            law = f"the flush law {self.law}" if self.law else "the flush law"
            said.append(f"{law} was verified on {self.proven}, and that of now has to match first")
        return tuple(said)


def forgotten(factor: float, version: str) -> str:
    """Return that measured recoveries of a version count no more."""
    return f"the factor {factor:.2f} of crash recoveries, measured on {version}, is forgotten"


def learn(state: EstimatorState, *, proven: str = "", law: str = "", evidence: Evidence = NOTHING) -> Learned:
    """Return what is worth keeping; a burst under way counts with what it has come to."""
    recovery, bursts = state.recovery, state.trends.bursts.interrupted()
    return Learned(
        load=state.load,
        recovery_factor=recovery.factor,
        measured_on=recovery.measured_on,
        proven=proven,
        law=law,
        week=bursts.week,
        late=bursts.late(),
        evidence=evidence,
    )


def recall(learned: Learned | None, *, version: str = "") -> EstimatorState:
    """Return a fresh state that knows what was learned; nonsense is forgotten.

    Args:
        learned: what was kept; None where nothing was.
        version: of the server now; recoveries of another version say nothing about it.
    """
    if learned is None:
        return EstimatorState()
    load = learned.load
    week = learned.week if learned.week.sound else Week()
    late = learned.late if learned.late.sound else Late()
    recovery = Recovery(factor=learned.recovery_factor, measured_on=learned.measured_on)
    return EstimatorState(
        load=Load(
            combining=load.combining if sound(load.combining) else Regression(),
            response=load.response if sound(load.response) else Regression(),
            curve=load.curve if load.curve.sound else Curve(),
        ),
        trends=Trends(bursts=Bursts.recalled(week, late)),
        recovery=recovery if recovery.sound and version == recovery.measured_on else Recovery(),
    )


def sound(fit: Regression) -> bool:
    """Tell whether a fit that was kept can be true."""
    return all(math.isfinite(value) for value in astuple(fit)) and fit.variance >= 0.0 and fit.weight >= 0.0
