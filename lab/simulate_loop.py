"""The daemon's own loop on a simulated server, as fast as the machine goes, and what its optimiser did."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter, deque
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios.trace import Outcome, Trace
from tuner.core.savings.ledger import Savings
from tuner.core.step import start
from tuner.core.trials.engine import Came
from tuner.loop import drive
from tuner.optimiser.child import answer, seed_of
from tuner.records import Capacity, Command, Decision, DecisionKind, EventCode, InUse, OptimiserPhase, Reason
from tuner.settings import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.scenarios.schema import Scenario
    from tuner.core.state import State
    from tuner.records import OptimiserProgress, Receipt, Sample, TickRecord
    from tuner.settings import Settings


class Optimised(Struct, frozen=True):
    """What came of the trials of a run.

    Attributes:
        questions: suggestions asked for.
        begun: trials; each was won, not used or abandoned, or is under way.
        won: trials that showed something better, and those in which it did so again.
        not_used: trials that did not.
        abandoned: trials that something else ended, unsafe ones among them.
        unsafe: suggestions under which a guard fired, in a trial or in use.
        under_way: trials at the end.
        in_use: the suggestion at the end, and what it won; None for the analytic set-point.
    """

    questions: int = 0
    begun: int = 0
    won: int = 0
    not_used: int = 0
    abandoned: int = 0
    unsafe: int = 0
    under_way: int = 0
    in_use: InUse | None = None


class Trials:
    """Counts a run's trials, tick by tick."""

    def __init__(self) -> None:
        """Begin before the first tick."""
        self._counted: Counter[str] = Counter()
        self._number = 0
        self._last: OptimiserProgress | None = None

    def add(self, record: TickRecord) -> None:
        """Take one tick in."""
        codes = [event.code for event in record.events]
        outcomes = [event.subject for event in record.events]
        begun, now = codes.count(EventCode.TRIAL_BEGUN), record.optimiser
        # what is in use is tried again without an event
        if now is not None and now.phase is OptimiserPhase.TRIAL and now.number != self._number:
            self._number, begun = now.number, max(begun, 1)
        self._counted.update(
            questions=now is not None and now.phase is OptimiserPhase.ASKING,
            begun=begun,
            won=outcomes.count(Came.WON),
            not_used=outcomes.count(Came.NOT_USED),
            unsafe=codes.count(EventCode.SUGGESTION_UNSAFE),
        )
        self._last = now

    def found(self) -> Optimised | None:
        """Return what came of them so far; None where the policy has no optimiser."""
        last = self._last
        if last is None:
            return None
        counted, under_way = self._counted, int(last.phase is OptimiserPhase.TRIAL)
        return Optimised(
            **counted,
            abandoned=counted["begun"] - counted["won"] - counted["not_used"] - under_way,
            under_way=under_way,
            in_use=last.in_use,
        )


HOUR = 3600.0

INTERVAL = 1.0
"""Simulated seconds between two ticks."""


class SimInbox:
    """The loop's wait on simulated time: it ends at once, and the clock is where it should be."""

    def __init__(self, clock: SimClock, *commands: Command) -> None:
        """Start with commands for the first wait to return."""
        self._clock = clock
        self._commands = commands

    def put(self, command: Command) -> None:
        """Have the next wait return this as well."""
        self._commands = (*self._commands, command)

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Move the clock to the deadline and return what is there."""
        self._clock.advance_to(until)
        found, self._commands = self._commands, ()
        return found


class WatchedServer(SimulatedServer):
    """A simulated server that notes its readings in a trace.

    Attributes:
        changes: when a write changed the pair in force, seconds.
    """

    def __init__(self, scenario: Scenario, clock: SimClock, trace: Trace) -> None:
        """Start the server of a scenario."""
        super().__init__(scenario.plant, clock, seed=scenario.seed)
        self._trace = trace
        self.changes: list[float] = []

    @property
    def pair(self) -> Capacity:
        """Return C and M in force."""
        cleaner = self.engine.cleaner
        return Capacity(cleaner.io_capacity, cleaner.io_capacity_max)

    def read(self) -> Sample:
        """Return one reading."""
        sample = super().read()
        self._trace.add(sample, self.engine.stalled, self.engine.latencies)
        return sample

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs."""
        before, receipt = self.pair, super().apply(steps, wanted)
        if receipt.in_force != before:
            self.changes.append(self._trace.elapsed)
        return receipt


class PolicyRun(Struct, frozen=True):
    """The policy's part of a result.

    Attributes:
        outcome: what was counted.
        settling_seconds: after which the age ratio stays where it ends; None when it never does.
        knob_changes: writes that changed the pair, over the whole run.
        final: the pair in force at the end, pages/s.
        wall_seconds: real time that the loop took.
        last: what the last tick decided, and why.
        trace: every reading, and when it was.
        budgeted: when C or M was changed, seconds; without emergencies and their way back, which are free.
        changes_in_hour: of all changes the most within an hour.
        optimiser: what it did; None where the policy has none.
        savings: the loop's own ledger of them.
    """

    outcome: Outcome
    settling_seconds: float | None
    knob_changes: int
    final: Capacity
    wall_seconds: float
    last: Decision
    trace: Trace
    budgeted: tuple[float, ...]
    changes_in_hour: int = 0
    optimiser: Optimised | None = None
    savings: Savings = Savings()


def _suggested(state: State, number: int, seed: int) -> Command:
    """Return what the daemon's optimiser would answer, at once and in this process."""
    context = state.trials.context
    found = None
    if context is not None:
        found = answer(state.trials.evidence.log, context, seed=seed_of(str(seed), number))
    return Command(name="suggest", who="optimiser", value=number, suggestion=found)


def run_policy(
    scenario: Scenario,
    settings: Settings,
    *,
    publish: Callable[[TickRecord], None] = lambda _: None,
    active_from: float | None = None,
) -> PolicyRun:
    """Let the loop turn on a scenario, as ``innobrim run --active`` would on a server.

    Args:
        scenario: what it goes through.
        settings: the loop's settings; mode active to write.
        publish: told every tick's record.
        active_from: seconds after which a person asks for active mode; None for never.
    """
    clock = SimClock()
    trace = Trace(scenario.measured_from)
    server = WatchedServer(scenario, clock, trace)
    inbox = SimInbox(clock)
    asked = Command(name="mode", who="simulate", value=Mode.ACTIVE.value)

    decisions: deque[Decision] = deque(maxlen=1)
    trials = Trials()
    budgeted: list[float] = []

    def ticked(state: State, record: TickRecord) -> None:
        decisions.append(record.decision)
        if _is_budgeted(record.decision):
            budgeted.append(record.tick.now)
        trials.add(record)
        if record.optimiser is not None and record.optimiser.phase is OptimiserPhase.ASKING:
            inbox.put(_suggested(state, record.optimiser.number, scenario.seed))
        if any(event.code == EventCode.ORIGINALS for event in record.events):
            inbox.put(Command(name="originals_saved", who="simulate"))
        if active_from is not None and record.tick.now - INTERVAL < active_from <= record.tick.now:
            inbox.put(asked)
        if state.low_water.original is not None and not state.low_water.saved:
            inbox.put(Command(name="low_water_saved", who="simulate"))
        publish(record)

    began = time.perf_counter()
    state = drive(
        server,
        clock,
        inbox,
        start(settings, server.facts()),
        interval=INTERVAL,
        publish=ticked,
        until=scenario.seconds + INTERVAL / 2,
    )
    wall = time.perf_counter() - began
    return PolicyRun(
        outcome=trace.outcome(scenario.measured_from),
        settling_seconds=trace.settling(),
        knob_changes=len(server.changes),
        final=server.pair,
        wall_seconds=wall,
        last=decisions[-1],
        trace=trace,
        budgeted=tuple(budgeted),
        changes_in_hour=most_in_an_hour(server.changes),
        optimiser=trials.found(),
        savings=state.savings.total,
    )


def _is_budgeted(decision: Decision) -> bool:
    emergency = decision.kind is DecisionKind.EMERGENCY or decision.reason is Reason.WAY_BACK
    return bool(decision.steps) and not emergency


def most_in_an_hour(moments: Sequence[float]) -> int:
    """Return how many moments at most lie within an hour; they rise."""
    return max((place + 1 - bisect_right(moments, at - HOUR) for place, at in enumerate(moments)), default=0)
