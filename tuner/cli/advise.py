"""``innobrim advise``: watch for a while, then say what would be set and why; writes nothing."""

from __future__ import annotations

import statistics

import click
import msgspec

from policies.flushlaw import SOFT_LIMIT
from policies.setpoint import LOWEST
from tuner.cli.answer import Refused, answering, say, say_json
from tuner.cli.options import WholeNumber, configuration, json_option, real_server, server_options
from tuner.config.schema import Config
from tuner.core.laws import law_of
from tuner.core.leaving.park import PARKED_RATIO, highest_demand, pair_for
from tuner.core.limits import bounds
from tuner.core.setpoint.budgets import KEYS, Budget, durations_of
from tuner.core.setpoint.choose import budgets_now, headroom_of
from tuner.core.state import State
from tuner.core.step import start
from tuner.daemon.board import Board, BoardInbox
from tuner.findings.advice import advise as advise_on
from tuner.findings.advice import broken_budgets, durations, expected_effect, statements
from tuner.findings.finding import Finding
from tuner.findings.providers import in_its_way
from tuner.loop import drive
from tuner.records import Estimate, Missed, Sample, TickRecord
from tuner.servers.port import Server
from tuner.settings import Mode, Settings
from tuner.system.clock import Clock, SystemClock

PROGRESS_TICKS = 10


class Watched:
    """What a time of watching brought."""

    def __init__(self) -> None:
        self.records: list[TickRecord] = []
        self.state: State | None = None

    def publish(self, state: State, record: TickRecord) -> None:
        """Keep one tick and say how it goes."""
        self.state = state
        self.records.append(record)
        estimate = record.estimate
        if estimate is not None and record.tick.number % PROGRESS_TICKS == 0:
            say(
                f"{record.tick.number:4d} s  age ratio {estimate.age_ratio:.3f}  "
                f"redo {estimate.redo_rate / 1e6:.2f} MB/s  "
                f"demand {estimate.demand:.0f} pages/s",
                err=True,
            )

    def last(self) -> tuple[TickRecord, State]:
        """Return the last tick that estimated something, and the state after the last one of all.

        Raises:
            Refused: there is none.
        """
        found = next((record for record in reversed(self.records) if record.estimate is not None), None)
        if found is None or self.state is None:
            reasons = {r.tick.reading.reason for r in self.records if isinstance(r.tick.reading, Missed)}
            raise Refused(f"no usable sample in {len(self.records)} readings: {'; '.join(sorted(reasons))}")
        return found, self.state


@click.command()
@server_options
@click.option(
    "--seconds", type=WholeNumber(15, 86_400), default=60, show_default=True, help="How long to watch."
)
@json_option
def advise(config_path: str | None, *, seconds: int, as_json: bool, **server_flags: object) -> None:
    """Watch a server, then say what to set, why, and what to expect. Writes nothing.

    Each advice has a stable id and SQL to paste. Exit 0: there is advice, or all is well. Exit 1: this
    server cannot be advised on. Exit 3: nothing answers.

    Example: innobrim advise --socket /run/mysqld/mysqld.sock --user innobrim --seconds 120
    """
    with answering(as_json=as_json):
        config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
        clock = SystemClock()
        server = real_server(config, clock)
        try:
            watched = watch(server, clock, config, seconds)
        finally:
            server.close()
        _answer(watched, as_json=as_json)


def watch(server: Server, clock: Clock, config: Config, seconds: int) -> Watched:
    """Return what a time of watching a server brought; writes nothing."""
    watched = Watched()
    state = start(msgspec.structs.replace(config.loop, mode=Mode.ADVISORY), server.facts())
    drive(
        server,
        clock,
        BoardInbox(Board(), clock),  # to which nobody writes
        state,
        interval=1.0,
        publish=watched.publish,
        until=clock.monotonic() + seconds,
    )
    return watched


def _answer(watched: Watched, *, as_json: bool) -> None:
    last, state = watched.last()
    facts = state.facts
    dirtied = max(one.estimate.dirty_rate for one in watched.records if one.estimate is not None)
    findings = advise_on(last, facts, state.settings, dirtied=dirtied)
    static = static_value(watched.records, state)
    ids = {one.id for one in static}
    findings = [one for one in findings if one.id not in ids]
    findings += in_its_way(static, facts)
    if as_json:
        say_json({"advice": findings, "seconds": len(watched.records)})
    else:
        for finding in findings:
            show(finding)
        if not findings:
            say("nothing to advise: what is set suits what was seen")


def static_value(records: list[TickRecord], state: State) -> list[Finding]:
    """Return the one M that suits the window seen, its busiest seconds included, inside budgets that are set.

    With it which budget is not kept, and what recovery and shutdown would take; nothing without load.
    """
    demands = [r.estimate.demand for r in records if r.estimate is not None and r.estimate.redo_rate > 0]
    last = next((r for r in reversed(records) if r.estimate is not None), None)
    if not demands or last is None or last.estimate is None:
        return []
    sample = last.tick.reading
    if not isinstance(sample, Sample):
        return []
    now = last.estimate
    busiest = max(1.0, max(demands) / max(1.0, now.demand))
    lowest, highest = bounds(state)
    law = law_of(state)
    standing = budgets_now(state, sample, now, headroom_of(state, sample, now))
    held, why = _static_ratio(standing)
    rests, effect = f"holds about {held:.0%} of the flush limit", expected_effect(now, held)
    if law.sleeps:
        rests += " while the page cleaner is awake"
    if not law.m_moves_age:
        rests, effect = "is above the demand at the flush limit, where the age rests", "even flushing there"
        if law is not SOFT_LIMIT:
            rests, effect = "is above the demand; the age goes where C takes it", "even flushing"
    pair = pair_for(
        highest_demand(now),
        now,
        law,
        state.settings,
        slack=busiest,
        age_ratio=held,
        current=lowest if law.m_moves_age else sample.io_capacity_max,
        lowest=lowest,
        highest=highest,
        home=sample.io_capacity,
    )
    static = Finding(
        id="static-io-capacity",
        severity="info",
        title=f"one static setting for the load seen: {pair}",
        reason=f"{rests}; the highest demand in {len(records)} s was {max(demands):.0f} pages/s "
        f"(mean {statistics.fmean(demands):.0f}){why if law.m_moves_age else ''}",
        effect=f"{effect}; a static value cannot follow load or device",
        fix="for a server that is not to be controlled; put it into my.cnf as well",
        sql=statements(sample.capacity, pair),
    )
    if not law.m_moves_age and pair.io_capacity_max <= sample.io_capacity_max:
        static = msgspec.structs.replace(
            static,
            title=f"the settings in force are enough for the load seen: {sample.capacity}",
            reason="M does not move the age here, and one that is lower can cost page writes",
            effect="",
            fix="leave them",
            sql=(),
        )
    broken = broken_budgets(standing, set_point=held)
    return [*([] if broken is None else [broken]), static, _times(records, now, state.settings)]


def _times(records: list[TickRecord], last: Estimate, settings: Settings) -> Finding:
    """Return what recovery and shutdown would take, that of now at its longest in the time seen."""
    seen = [one.estimate for one in records if one.estimate is not None]
    longest = msgspec.structs.replace(
        last,
        recovery_seconds=max(one.recovery_seconds for one in seen),
        shutdown_seconds=max(one.shutdown_seconds for one in seen),
    )
    return durations(durations_of(longest), settings, seen=f"; of now the longest in {len(records)} s")


def _static_ratio(standing: dict[str, Budget]) -> tuple[float, str]:
    """Return the age ratio that a static value is to hold, and which budgets lower it or are not kept."""
    bounds = {name: one.bound for name, one in standing.items() if one.in_reach}
    held = min([PARKED_RATIO, *bounds.values()])
    said = [
        f"{KEYS[name]} = {one.allowed:g} {'allows no more' if one.kept else 'is not kept by it'}"
        for name, one in standing.items()
        if not one.kept or one.bound == held
    ]
    return max(LOWEST, held), "".join(f"; {one}" for one in said)


def show(finding: Finding) -> None:
    """Print one finding: id and title, why, what to expect, SQL."""
    say(f"[{finding.id}] {finding.title}")
    say(f"  why:    {finding.reason}")
    if finding.effect:
        say(f"  expect: {finding.effect}")
    if finding.fix:
        say(f"  how:    {finding.fix}")
    for statement in finding.sql:
        say(f"          {statement}{';' if statement.startswith('SET ') else ''}")
