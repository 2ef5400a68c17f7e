"""What implements what, checked by mypy alone and never run: ``mypy tests/typing``.

Each assignment is a promise to whoever writes a server, a policy, a clock or an inbox of their own.
"""

from __future__ import annotations

from typing import Any, assert_type

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.simulate_loop import SimInbox, WatchedServer
from policies.cascade import Cascade, CascadeState
from policies.fixed import Fixed
from policies.flushlaw import LEGACY
from policies.pace import Pace, PaceState
from policies.pid import Pid, PidState
from policies.registry import make_policy
from policies.types import Policy, Proposal, Situation
from tuner.core.state import State
from tuner.core.step import start, step
from tuner.daemon.board import BoardInbox
from tuner.daemon.schedule import ScheduledInbox
from tuner.loop import Inbox, Publish, drive
from tuner.records import Capacity, Facts, Missed, Receipt, Sample, Tick, TickRecord
from tuner.servers.port import Server
from tuner.servers.server import RealServer
from tuner.settings import Settings
from tuner.system.clock import Clock, SystemClock


def servers(real: RealServer, simulated: SimulatedServer, watched: WatchedServer) -> list[Server]:
    """Real, simulated and watched servers stand behind one port."""
    return [real, simulated, watched]


def clocks() -> list[Clock]:
    """The machine's time and a simulated one."""
    return [SystemClock(), SimClock()]


def inboxes(board: BoardInbox, simulated: SimInbox, scheduled: ScheduledInbox) -> list[Inbox]:
    """The loop's only wait, in real and in simulated time, and with a schedule in front of either."""
    return [board, simulated, scheduled]


def policies() -> None:
    """Every law is a policy of its own state."""
    cascade: Policy[CascadeState] = Cascade(LEGACY)
    pid: Policy[PidState] = Pid()
    fixed: Policy[None] = Fixed(700)
    pace: Policy[PaceState] = Pace()
    by_name: Policy[Any] = make_policy("pid", flush_law="legacy", fixed_io_capacity_max=700)
    assert_type([cascade.name, pid.name, fixed.name, pace.name, by_name.name], list[str])


def a_law_in_use(policy: Policy[PidState], situation: Situation) -> PidState:
    """A law's state goes in and comes out with its own type."""
    state, proposal = policy.propose(policy.start(), situation)
    assert_type(proposal, Proposal)
    assert_type(proposal.io_capacity_max, float)
    return policy.wrote(state, round(proposal.io_capacity_max))


def a_server_in_use(server: Server) -> None:
    """What the port gives."""
    assert_type(server.facts(), Facts)
    assert_type(server.read(), Sample | Missed)
    assert_type(server.apply((("innodb_io_capacity", 300),), Capacity(300, 600)), Receipt)
    server.close()


def a_step_in_use(facts: Facts, tick: Tick) -> None:
    """State in, state and record out."""
    state = start(Settings(), facts)
    assert_type(step(state, tick), tuple[State, TickRecord])


def a_loop_in_use(server: Server, clock: Clock, inbox: Inbox, state: State, publish: Publish) -> State:
    """The only loop there is takes any of them."""
    return drive(server, clock, inbox, state, interval=1.0, publish=publish)
