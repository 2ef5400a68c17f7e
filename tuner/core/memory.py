"""What outlasts a run: what was learned of a server, and how it is read again.

What earlier daemons learned, read part by part: what cannot be read is forgotten alone, and by name.

A field that was added since has its default, which stands for "unknown"; one that is gone is passed over.
Of records in a list each is read on its own. What can be read and cannot be true is forgotten likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import FieldInfo, fields

from policies.suggestions import valid as valid_trial
from policies.types import Trial
from tuner.core.estimate.estimator import EstimatorState
from tuner.core.estimate.load import Load
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.trends import Bursts, Late, Trends, Week
from tuner.core.savings.ledger import Savings
from tuner.core.savings.tried import Tried
from tuner.core.state import State
from tuner.core.trials.evidence import Aside, Evidence

NOTHING, NOTHING_SAVED = Evidence(), Savings()


class Learned(Struct, frozen=True, rename={"measured_on": "version"}):
    """What was learned of one server and its load, stored under names that stay."""

    load: Load = Load()  # what the load answers with
    recovery_factor: float = 1.0  # crash recoveries measured over predicted
    measured_on: str = ""  # server version that these were measured on; empty before the first
    proven: str = ""  # server version whose flush law was verified last; empty before the first
    law: str = ""  # which law that was; empty in an older program's
    week: Week = Week()  # the load's bursts by hour of the week
    late: Late = Late()  # those of the last hours
    evidence: Evidence = Evidence()  # what the outer loop's trials came to
    savings: Savings = Savings()  # the ledger of what was saved
    tried: tuple[Tried, ...] = ()  # what trials against the baseline showed, for the ledger

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


def learn(
    state: EstimatorState,
    *,
    proven: str = "",
    law: str = "",
    evidence: Evidence = NOTHING,
    savings: Savings = NOTHING_SAVED,
    tried: tuple[Tried, ...] = (),
) -> Learned:
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
        savings=savings,
        tried=tried,
    )


def estimator_of(learned: Learned | None, *, version: str = "") -> EstimatorState:
    """Return a fresh state that knows what was learned.

    Args:
        learned: what was kept; None where nothing was.
        version: of the server now; recoveries of another version say nothing about it.
    """
    if learned is None:
        return EstimatorState()
    recovery = Recovery()
    if version == learned.measured_on:
        recovery = Recovery(factor=learned.recovery_factor, measured_on=version)
    bursts = Bursts.recalled(learned.week, learned.late)
    return EstimatorState(load=learned.load, trends=Trends(bursts=bursts), recovery=recovery)


_TAKEN_APART: frozenset[Any] = frozenset({Learned, Load, Evidence, Aside})
"""Records of which each field is a part of its own."""

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "load.combining": "write combining",
        "load.answer": "what a page flushed costs in redo",
        "load.curve": "write combining by age",
        "recovery_factor": "the factor of crash recoveries",
        "version": "the version that crash recoveries were measured on",
        "proven": "the version on which the flush law was verified",
        "law": "the flush law that was verified",
        "week": "bursts by hour of the week",
        "late": "bursts of the last hours",
        "evidence.server": "which server the trials were made on",
        "evidence.log": "trials",
        "evidence.wins": "won suggestions",
        "evidence.aside": "versions before with their trials",
        "evidence.aside.log": "trials of a version before",
        "evidence.aside.wins": "won suggestions of a version before",
        "savings": "the ledger of what was saved",
        "tried": "what trials against the baseline showed",
    }
)
"""Parts by their path in the document, for people; a part without words goes by its path."""

_MISSING = object()


class Remembered(NamedTuple):
    """What was kept of one server."""

    learned: Learned | None = None  # all that could be read; None where that is nothing
    lost: tuple[str, ...] = ()  # each part that could not, with the reason


def remember(blob: bytes) -> Remembered:
    """Read what a daemon of any version kept. Never raises."""
    try:
        raw = msgspec.msgpack.decode(blob)
    except (ValueError, RecursionError) as error:
        return Remembered(lost=(f"all of it: {error}",))
    if not isinstance(raw, dict):
        return Remembered(lost=("all of it: no fields",))
    lost: list[str] = []
    return Remembered(_record(raw, Learned, "", lost), tuple(lost))


def _record(raw: Any, kind: type[Struct], path: str, lost: list[str]) -> Any:  # noqa: ANN401 - of that kind
    if not isinstance(raw, dict):
        lost.append(f"{_named(path)}: no fields")
        return kind()
    values = {}
    for field in fields(kind):
        name = f"{path}.{field.encode_name}" if path else field.encode_name
        part = raw.get(field.encode_name, _MISSING)
        if part is not _MISSING:
            values[field.name] = _part(part, field, name, lost)
    return kind(**values)


def _part(raw: Any, field: FieldInfo, path: str, lost: list[str]) -> Any:  # noqa: ANN401 - what the field takes
    if field.type in _TAKEN_APART:
        return _record(raw, field.type, path, lost)
    if get_origin(field.type) is tuple:
        return _list(raw, get_args(field.type)[0], path, lost)
    value, why = _value(raw, field.type, path)
    if not why:
        return value
    lost.append(f"{_named(path)}: {why}")
    return field.default if field.default is not NODEFAULT else field.default_factory()


def _list(raw: Any, kind: Any, path: str, lost: list[str]) -> tuple[Any, ...]:  # noqa: ANN401 - any type
    if not isinstance(raw, list):
        lost.append(f"{_named(path)}: no list")
        return ()
    if kind in _TAKEN_APART:
        return tuple(_record(one, kind, path, lost) for one in raw)
    read = [_value(one, kind, path) for one in raw]
    wrong = [why for _, why in read if why]
    if wrong:
        lost.append(f"{len(wrong)} of {len(raw)} {_named(path)}: {wrong[0]}")
    return tuple(value for value, why in read if not why)


def _value(raw: Any, kind: Any, path: str) -> tuple[Any, str]:  # noqa: ANN401 - any type
    """Return a value of that type, and why there is none; empty where there is one."""
    try:
        value = msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        return None, str(error)
    return value, "" if _can_be(value, path) else "it cannot be true"


def _can_be(value: Any, path: str) -> bool:  # noqa: ANN401 - any type
    """Tell whether a part can be true; one that says nothing of that can."""
    if path == "recovery_factor":
        return Recovery(factor=value).valid
    return valid_trial(value) if isinstance(value, Trial) else getattr(value, "valid", True)


def _named(path: str) -> str:
    return _WORDS.get(path, path)


class Known(Struct, frozen=True):
    """What was learned of one server."""

    hours: Annotated[int, Meta(description="hours of the week, of 168, that were seen once at least")]
    visits: Annotated[int, Meta(description="how often the hour of the week was seen that was seen most")]
    burst_bytes: Annotated[float, Meta(description="the largest burst that is remembered, bytes")]
    recovery_factor: Annotated[float, Meta(description="crash recoveries, measured over predicted")]
    recovery_version: Annotated[
        str | None, Meta(description="server version that they were measured on; none before the first")
    ]
    proven_version: Annotated[
        str | None, Meta(description="server version whose flush law was verified; none before")
    ]
    trials: Annotated[int, Meta(description="the optimiser's trials that are remembered")]
    trials_since: Annotated[
        float | None, Meta(description="when the oldest of these ended, Unix time; none without one")
    ]
    wins: Annotated[int, Meta(description="suggestions that won their trials, for loads of any kind")]
    aside: Annotated[
        tuple[str, ...], Meta(description="versions, flush laws and roles whose trials are set aside")
    ]


def learned_of(state: State) -> Learned:
    """Return what the next daemon should know of the server."""
    return learn(
        state.estimator,
        proven=state.gate.proven,
        law=state.facts.flush_law,
        evidence=state.trials.evidence,
        savings=state.savings.total,
        tried=state.savings.tried,
    )


def known_of(learned: Learned) -> Known:
    """Return the figures of what was learned."""
    week, late, evidence = learned.week, learned.late, learned.evidence
    return Known(
        hours=sum(visits > 0 for visits in week.visits),
        visits=max(week.visits, default=0),
        burst_bytes=max((*week.bytes, late.recent, late.hours_burst)),
        recovery_factor=learned.recovery_factor,
        recovery_version=learned.measured_on or None,
        proven_version=learned.proven or None,
        trials=len(evidence.log),
        trials_since=min((one.at for one in evidence.log), default=None),
        wins=len(evidence.wins),
        aside=tuple(one.server for one in evidence.aside),
    )
