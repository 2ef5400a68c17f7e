"""The only loop there is: real server, simulated server and replayed trace all turn in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec.structs import replace

from tuner.core.leaving.park import once_more
from tuner.core.state import State
from tuner.core.step import step
from tuner.records import Command, EventCode, Facts, Lifecycle, Missed, Receipt, Sample, Tick, TickRecord
from tuner.servers.port import Server, ServerError, Unreachable
from tuner.system.clock import Clock


class Inbox(Protocol):
    """The loop's only wait."""

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait until the deadline on the loop's clock, or until a command comes; return what came."""
        ...


Publish = Callable[[State, TickRecord], None]
"""Called once a tick, before a write is carried out; must never block."""


RENEWED_AFTER = frozenset({EventCode.RESTARTED, EventCode.OTHER_SERVER, EventCode.COUNTERS_BACK})
"""Events after which version, limits and blockers may be others, or can be seen for the first time.

So they are after a resize of the redo log: limits are compared for the size in force.
"""


RENEW_SECONDS = 5.0
"""Between two tries where the server did not answer, or gave an answer that it cannot be controlled with."""


def _renewed(server: Server, known: Facts) -> tuple[Facts | None, bool]:
    """Return the facts as they are now, None where nothing answers; and whether they are final."""
    try:
        return server.facts(), True
    except Unreachable:
        return None, False
    except ServerError as error:
        return replace(known, blockers=(str(error),)), False


def _redo_size(reading: Sample | Missed) -> int | None:
    """Return the redo capacity in force, bytes; None where that is unknown, or about to change."""
    return reading.redo_capacity if isinstance(reading, Sample) and not reading.resizing else None


def drive(
    server: Server,
    clock: Clock,
    inbox: Inbox,
    state: State,
    *,
    interval: float,
    publish: Publish,
    until: float | None = None,
    number: int = 0,
    last: Callable[[Receipt], None] | None = None,
) -> State:
    """Turn until told to stop, or until a time on the clock.

    Args:
        server: what is sampled and written.
        clock: whose time it is.
        inbox: the loop's only wait.
        state: where to begin.
        interval: seconds between two ticks.
        publish: who is told, once a tick; a write is published before it is carried out.
        until: monotonic time to end at; None for ever.
        number: number of the last tick that this state saw.
        last: told what became of the write that a stop ends with; no tick follows it.

    Returns:
        The last state.
    """
    receipt: Receipt | None = None
    commands: tuple[Command, ...] = ()
    reading: Sample | Missed | None = None
    renew, renew_from, again = False, 0.0, False
    size: int | None = None
    due = clock.monotonic()
    while until is None or clock.monotonic() < until:
        number += 1
        stopping = state.lifecycle is Lifecycle.STOPPING or any(one.name == "stop" for one in commands)
        failed = isinstance(reading, Missed) or (receipt is not None and bool(receipt.error))
        facts = None
        if stopping and failed:
            reading = Missed(clock.monotonic(), clock.wall(), "not read again: stopping")
        elif renew and not stopping and clock.monotonic() >= renew_from:
            reading = Missed(clock.monotonic(), clock.wall(), "asked again what server this is")
            facts, settled = _renewed(server, state.facts)
            renew, renew_from = not settled, clock.monotonic() + RENEW_SECONDS
        else:
            reading = server.read()
        tick = Tick(
            number=number,
            now=clock.monotonic(),
            wall=clock.wall(),
            reading=reading,
            commands=commands,
            receipt=receipt,
            facts=facts,
        )
        state, record = step(state, tick)
        decision = record.decision
        publish(state, record)
        before, size = size, _redo_size(reading) or size
        resized = before not in {None, size}
        renew = renew or resized or any(event.code in RENEWED_AFTER for event in record.events)
        receipt = None
        if decision.steps and decision.target is not None:
            receipt = server.apply(decision.steps, decision.target)
        if state.lifecycle is Lifecycle.STOPPING:
            if not again and once_more(state, record, receipt):
                again, commands = True, ()
                continue
            if receipt is not None and last is not None:
                last(receipt)
            return state
        now = clock.monotonic()
        if now >= due:
            due = max(due + interval, now)
        commands = inbox.take(until=due)
    return state
