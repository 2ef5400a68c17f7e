"""``innobrim advise``: watch, then say what active mode would bring, and what to set; writes nothing."""

from __future__ import annotations

import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from policies.flushlaw import SOFT_LIMIT
from policies.setpoint import LOWEST
from tuner.cli.answer import (
    FINE,
    NO,
    NO_VERDICT,
    NOTHING_TO_GAIN,
    Refused,
    Unreachable,
    Unusable,
    answering,
    say,
    say_json,
)
from tuner.cli.finding import show
from tuner.cli.options import (
    WholeNumber,
    configuration,
    json_option,
    real_server,
    refuse_given,
    server_options,
)
from tuner.config.schema import Config
from tuner.core.laws import law_of
from tuner.core.leaving.park import PARKED_RATIO
from tuner.core.setpoint.budgets import KEYS, Budget, durations_of
from tuner.core.setpoint.choose import budgets_now, headroom_of
from tuner.core.state import State
from tuner.core.step import start
from tuner.daemon.board import Board, BoardInbox
from tuner.findings.advice import advise as advise_on
from tuner.findings.advice import broken_budgets, durations, statements
from tuner.findings.beside import beside
from tuner.findings.check import Report, check
from tuner.findings.combining import Figure
from tuner.findings.devicewrites import DeviceWrites, device_writes
from tuner.findings.doctor import costliest
from tuner.findings.evidence import OTHER_RUN, evidence, local_volumes, look_again, one_run
from tuner.findings.finding import Finding
from tuner.findings.gain import Answer, Verdict, judged
from tuner.findings.hours import LEAST_SECONDS, Hour, by_hour, of_all
from tuner.findings.load import Load, load_of
from tuner.findings.providers import in_its_way
from tuner.findings.redo_size import percent
from tuner.findings.sizing import Size, Table, today
from tuner.findings.static_pair import static_pair
from tuner.journal.reader import runs, trace
from tuner.journal.tables import JournalError
from tuner.loop import drive
from tuner.records import Estimate, Missed, Sample, TickRecord
from tuner.servers.port import Server
from tuner.settings import Mode, Settings
from tuner.system.amounts import share
from tuner.system.clock import Clock, SystemClock

PROGRESS_TICKS = 10

EXITS: dict[Answer, int] = {
    "gain": FINE,
    "nothing": NOTHING_TO_GAIN,
    "rising": NO_VERDICT,
    "no-load": NO_VERDICT,
    "cannot": NO,
}


class Advised(Struct, frozen=True):
    """What ``--json`` prints.

    Attributes:
        verdict: what active mode would bring.
        advice: what to do, the setting for the load seen first.
        seconds: readings that it stands on; 0 where the server was not watched.
        hours: of a recording, in order.
        beside: who else set C and M while it was watched, and how often; empty where nobody did.
    """

    verdict: Verdict
    advice: list[Finding]
    seconds: int
    hours: list[Hour] = []
    beside: str = ""


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
                f"{record.tick.number:4d} s  age {share(estimate.age_ratio)} of the flush limit  "
                f"redo {estimate.redo_rate / 1e6:.2f} MB/s  "
                f"demand {estimate.demand:.0f} pages/s",
                err=True,
            )

    def samples(self) -> list[Sample]:
        """Return the readings, the oldest first."""
        return [one.tick.reading for one in self.records if isinstance(one.tick.reading, Sample)]

    def last(self) -> tuple[TickRecord, State]:
        """Return the last tick that estimated something, and the state after the last one of all.

        Raises:
            Refused: there is none, or the readings are not all of one run of one server.
        """
        found = next((record for record in reversed(self.records) if record.estimate is not None), None)
        if found is None or self.state is None:
            reasons = {r.tick.reading.reason for r in self.records if isinstance(r.tick.reading, Missed)}
            raise Refused(f"no usable sample in {len(self.records)} readings: {'; '.join(sorted(reasons))}")
        if not one_run(self.samples()):
            raise Refused(OTHER_RUN)
        return found, self.state


@click.command()
@server_options
@click.option(
    "--seconds", type=WholeNumber(15, 86_400), default=120, show_default=True, help="How long to watch."
)
@click.option(
    "--from",
    "journal",
    type=click.Path(path_type=Path),
    help="Of a recording, hour by hour: a journal's file or a state directory. No server is asked.",
)
@json_option
def advise(
    config_path: str | None, *, seconds: int, journal: Path | None, as_json: bool, **server_flags: object
) -> None:
    """Watch a server, then say what active mode would bring, what to set, and why. Writes nothing.

    It needs no daemon and no configuration file, and works on managed servers as well. The first line is the
    verdict for the load that was seen, with its range. Each advice has a stable id and SQL to paste.

    Exit 0: there is something to gain. Exit 5: there is nothing to gain. Exit 6: there is no verdict yet,
    as no load was seen or the age still rises. Exit 1: this server cannot be controlled as it is, or too
    little was seen. Exit 3: nothing answers.

    With --from it reads a recording instead, of innobrim record or of a daemon. For each hour it prints load,
    age, the best static pair, and what active mode would have gained, or did gain.

    Example: innobrim advise --socket /run/mysqld/mysqld.sock --user innobrim
    """
    with answering(as_json=as_json, means={JournalError: Unusable}):
        if journal is None:
            config = configuration(config_path, {**server_flags, "loop.mode": "advisory"})
            advised = _asked(config, seconds)
        else:
            refuse_given(click.get_current_context(), {"journal", "as_json"}, " is no option with --from")
            advised = _recorded(journal)
    if as_json:
        say_json(advised)
    else:
        tell(advised)
    sys.exit(EXITS[advised.verdict.answer])


def _asked(config: Config, seconds: int) -> Advised:
    """Return what a server shows: why it cannot be controlled, as ``check`` sees it, or what it would gain.

    Raises:
        Unreachable: nothing answers.
    """
    clock = SystemClock()
    server = real_server(config, clock)
    try:
        if (barred := _in_the_way(check(server, active=False, settings=config.loop))) is not None:
            return barred
        before = server.survey()
        volumes = local_volumes(before)
        watched = watch(server, clock, config, seconds)
        after = look_again(server, before, clock.monotonic())
    finally:
        server.close()
    facts = watched.last()[1].facts
    advised = _advised(watched, device_writes(before, after, facts.family))
    samples = watched.samples()
    if len(samples) < 2:  # noqa: PLR2004 - a rate needs two
        return advised
    seen = evidence(facts, samples, before, after, volumes)
    known = {one.id for one in advised.advice}
    costs = [one for one in costliest(seen) if one.id not in known]
    return msgspec.structs.replace(advised, advice=[*advised.advice, *in_its_way(costs, seen.facts)])


def _in_the_way(report: Report) -> Advised | None:
    problems = [one for one in report.findings if one.severity == "problem"]
    if not report.reachable:
        raise Unreachable("; ".join(said for one in problems for said in (one.title, one.fix) if said))
    if not problems:
        return None
    why = "; ".join(one.title for one in problems)
    return Advised(Verdict("cannot", why, sure="high"), problems, 0)


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


def _advised(watched: Watched, writes: DeviceWrites | None = None) -> Advised:
    last, state = watched.last()
    facts = state.facts
    dirtied = max(one.estimate.dirty_rate for one in watched.records if one.estimate is not None)
    findings = advise_on(last, facts, state.settings, dirtied=dirtied)
    static = static_value(watched.records, state, load_of(watched.records, writes))
    ids = {"set-io-capacity", *(one.id for one in static)}  # a step of the loop's is no setting to keep
    findings = in_its_way(static, facts) + [one for one in findings if one.id not in ids]
    verdict = judged(watched.records, state, writes)
    if verdict.answer != "gain":
        findings = [one for one in findings if one.id != "static-io-capacity" or not one.sql]
    elif any(one.id == "static-io-capacity" and one.sql for one in findings):
        findings = [one for one in findings if one.id != "ratio-not-whole"]  # the one pair is whole
    return Advised(verdict, findings, len(watched.records), beside=beside(watched.samples()))


def _recorded(journal: Path) -> Advised:
    """Return what a recording shows, hour by hour; of the server that it was recorded of last.

    Raises:
        JournalError: it cannot be read.
        Refused: there is too little in it.
    """
    hours: list[Hour] = []
    facts, known = None, runs(journal)
    for run in known:
        if run.facts.identity != known[-1].facts.identity:
            continue
        facts = run.facts
        state = start(msgspec.structs.replace(run.settings, mode=Mode.ADVISORY), facts)
        hours += by_hour((one for one in trace(journal, run.number) if isinstance(one, TickRecord)), state)
    if not hours:
        raise Refused(
            f"{journal}: no hour in it has {LEAST_SECONDS} readings; a recording of a day says most"
        )
    verdict = of_all(hours)
    findings = for_all(hours) if verdict.answer == "gain" else []
    if facts is not None:
        findings = in_its_way(findings, facts)
    return Advised(verdict, findings, sum(one.seconds for one in hours), hours)


def for_all(hours: list[Hour]) -> list[Finding]:
    """Return the one pair that suits the busiest minute of all hours; nothing where none moves the age."""
    pairs = [one.static for one in hours if one.static is not None]
    if not pairs:
        return []
    pair = max(pairs, key=lambda one: one.io_capacity_max)
    lowest = min(one.io_capacity_max for one in pairs)
    takes = f"innodb_io_capacity_max = {pair.io_capacity_max}"
    if lowest < pair.io_capacity_max:
        takes = f"{takes}; the hour that needs least takes {lowest}"
    return [
        Finding(
            id="static-io-capacity",
            severity="info",
            title=f"one static setting for {'the hour' if len(hours) == 1 else 'all hours'} seen: {pair}",
            reason=f"the busiest minute of all takes {takes}; its demand was "
            f"{max(one.highest_demand for one in hours):.0f} pages/s "
            f"(mean {statistics.fmean(one.demand for one in hours):.0f})",
            effect="at other times the age stays lower than it could; a static value cannot follow the load",
            fix="for a server that InnoBrim does not control; put it into my.cnf as well",
            sql=statements(hours[-1].in_force, pair),
        )
    ]


def _hour_of(hour: Hour) -> str:
    return datetime.fromtimestamp(hour.began, UTC).strftime("%Y-%m-%d %H:%M")


NOT_TOLD = "–"

HEADS = (
    "                   changes  age, of   demand  io_capacity  one static  io_capacity_max  writes  commits",
    "hour (UTC)          rows/s    limit  pages/s         _max        pair    with the loop   saved   gained",
)


def _table(hours: list[Hour]) -> list[str]:
    lines = list(HEADS)
    for one in hours:
        saved, gained = one.verdict.page_writes_saved, one.verdict.commits_gained
        wanted = NOT_TOLD if one.loop is None else "–".join(str(m) for m in dict.fromkeys(one.loop))
        lines.append(
            f"{_hour_of(one):16} {one.row_changes:9.0f} {one.age_ratio:8.0%} {one.demand:8.0f} "
            f"{one.in_force.io_capacity_max:12d} {one.static or NOT_TOLD!s:>11} {wanted:>16} "
            f"{_likeliest(saved):>7} {_likeliest(gained):>8}{'  active' if one.active else ''}"
        )
    return lines if all(NOT_TOLD not in one.split() for one in lines) else [*lines, f"{NOT_TOLD}: not known"]


def _likeliest(figure: Figure | None) -> str:
    return NOT_TOLD if figure is None else f"{100.0 * figure.likeliest:z.0f} %"


def tell(advised: Advised) -> None:
    """Print the verdict and what it depends on, then each advice."""
    verdict = advised.verdict
    say(f"{headline(verdict)}")
    if advised.beside:
        say(f"  beside:  {advised.beside}")
    if verdict.answer == "no-load":
        say("  do:      ask again at a busy hour; or innobrim record --for 24h --output day.db, and then")
        say("           innobrim advise --from day.db")
    elif verdict.answer not in {"cannot", "rising"}:
        say(f"  sure:    {verdict.sure}, for the load seen: another hour may gain more, or less")
    if verdict.answer == "gain":
        say(f"  because: {verdict.because}")
    for one in verdict.depends:
        say(f"  depends: {one}")
    if advised.hours:
        say(*_table(advised.hours))
    for finding in advised.advice:
        if (
            verdict.answer != "cannot" or finding.reason or finding.fix or finding.sql
        ):  # else all is said above
            show(finding)


def headline(verdict: Verdict) -> str:
    """Return the verdict as one sentence."""
    if verdict.answer == "cannot":
        return f"cannot be controlled, because {verdict.because}"
    if verdict.answer == "no-load":
        return f"no load was seen, so nothing can be predicted: {verdict.because}"
    if verdict.answer == "rising":
        return f"no gain can be told yet, because {verdict.because}"
    if verdict.answer == "nothing":
        return f"nothing {'was gained' if verdict.brought else 'to gain'}, because {verdict.because}"
    pages, commits = verdict.page_writes_saved, verdict.commits_gained
    gains = [] if pages is None or pages.likeliest <= 0.0 else [f"about {percent(pages)} fewer page writes"]
    if commits is not None and commits.high > 0.0:
        gains.append(f"about {percent(commits)} more commits/s")
    elif verdict.device_is_limit is False:
        gains.append("as many commits/s, as the device is not the limit")
    you = "you gained" if verdict.brought else "you gain"
    return f"{you} {' and '.join(gains) or 'commits that no longer wait for redo space'}"


def static_value(records: list[TickRecord], state: State, load: Load | None) -> list[Finding]:
    """Return the one M that suits the busiest minute of the window seen, inside budgets that are set.

    With it which budget is not kept, and what recovery and shutdown would take; nothing without load.

    Args:
        records: of the window.
        state: after it.
        load: that it shows; None where it shows none.
    """
    loaded = [r.estimate for r in records if r.estimate is not None and r.estimate.redo_rate > 0]
    last = next((r for r in reversed(records) if r.estimate is not None), None)
    if not loaded or last is None or last.estimate is None:
        return []
    sample = last.tick.reading
    if not isinstance(sample, Sample):
        return []
    now = last.estimate
    law = law_of(state)
    standing = budgets_now(state, sample, now, headroom_of(state, sample, now))
    held, why = _static_ratio(standing)
    ratio, effect = held, "no effect can be predicted"
    if load is not None:
        size = Table(load, state, sample, set_point=held).size(1.0)
        ratio, effect = size.age_ratio, _effect(size.page_writes_saved)
    rests = f"holds an age of about {share(ratio)} of the flush limit"
    if law.sleeps:
        rests += " while the page cleaner is awake"
    if not law.m_moves_age:
        rests, effect = "is above the demand at the flush limit, where the age stays", "even flushing there"
        if law is not SOFT_LIMIT:
            rests, effect = "is above the demand; innodb_io_capacity decides the age", "even flushing"
    found = static_pair(loaded, sample, state, age_ratio=held)
    pair = found.pair
    busiest = "time seen" if found.short else "busiest minute"
    if found.bound_by:
        rests = f"{found.bound_by}, and the load may need more"
    static = Finding(
        id="static-io-capacity",
        severity="info",
        title=f"{'leave' if pair == sample.capacity else 'one static setting for the load seen:'} {pair}",
        reason=f"{rests}; the page demand of the {busiest} was {found.demand:.0f} pages/s "
        f"(mean {statistics.fmean(one.demand for one in loaded):.0f})"
        f"{why if law.m_moves_age else ''}",
        effect=f"{effect}; a static value cannot follow load or device",
        fix=f"{'watch for two minutes or longer before you keep it; ' if found.short else ''}"
        "for a server that InnoBrim does not control; put it into my.cnf as well",
        sql=statements(sample.capacity, pair),
    )
    if not law.m_moves_age and pair.io_capacity_max <= sample.io_capacity_max:
        static = msgspec.structs.replace(
            static,
            title=f"the settings in force are enough for the load seen: {sample.capacity}",
            reason="innodb_io_capacity_max does not move the age here, and a lower one can cost page writes",
            effect="",
            fix="leave them as they are",
            sql=(),
        )
    broken = broken_budgets(standing, set_point=held)
    then = None if load is None else today(load, state, sample, now)
    return [*([] if broken is None else [broken]), static, _times(records, now, then, state.settings)]


def _effect(saved: Figure) -> str:
    """Return in words what holding an age ratio brings."""
    if saved.likeliest < 0.0:
        more = f"about {-100.0 * saved.likeliest:.0f} % more page writes"
        return f"{more}, in exchange for room before sync flushing"
    return f"about {percent(saved)} fewer page writes"


def _times(records: list[TickRecord], last: Estimate, held: Size | None, settings: Settings) -> Finding:
    """Return what recovery and shutdown would take, that of now at its longest in the time seen.

    Args:
        records: of the time seen.
        last: the newest estimate.
        held: what the log that there is comes to, as in ``redo``; None where there was no load.
        settings: of the loop.
    """
    seen = [one.estimate for one in records if one.estimate is not None]
    longest = msgspec.structs.replace(
        last,
        recovery_seconds=max(one.recovery_seconds for one in seen),
        shutdown_seconds=max(one.shutdown_seconds for one in seen),
    )
    likely = {} if held is None else {"recovery": held.recovery_seconds, "shutdown": held.shutdown_seconds}
    alone = len({one.tick.reading.capacity for one in records if isinstance(one.tick.reading, Sample)}) == 1
    times = {
        name: one.beside(likely=likely.get(name), seen=one.now if alone else None)
        for name, one in durations_of(longest).items()
    }
    return durations(times, settings, seen=f"; now: the longest of the {len(records)} s watched")


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
