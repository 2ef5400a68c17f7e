"""What ``innobrim advise`` makes of the time that it watched."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.bench import Bench, FakeServer
from tests.cli.advised import FOLDER, SITUATIONS, LeftAlone, asked
from tests.cli.support import SimInbox
from tuner.cli.advise import Advised, Watched, _advised, static_value, tell
from tuner.cli.main import cli
from tuner.core.estimate.load import COMBINING_PRIOR
from tuner.core.setpoint.budgets import Durations
from tuner.daemon.board import Board
from tuner.findings.finding import Finding
from tuner.findings.gain import judged
from tuner.findings.load import load_of
from tuner.recorder import Recorder
from tuner.records import Capacity, Sample
from tuner.settings import Settings

FOUND = Capacity(1_000, 2_000)
"""With these the age rests low."""


def server(found: Capacity) -> FakeServer:
    """Return a server whose load combines writes as a load does that is not known yet."""
    made = FakeServer(found)
    made.combines = COMBINING_PRIOR
    return made


def advised(found: Capacity = FOUND, **chosen: float) -> dict[str, Finding]:
    """Return the advice by id after two minutes beside a loaded server with these settings."""
    bench = Bench(Settings(**chosen), server(found))  # type: ignore[arg-type] # numbers all
    bench.turns(120)
    return {one.id: one for one in static_value(bench.records, bench.state, load_of(bench.records))}


def settled(static: Finding) -> Bench:
    """Return a loop beside a server that has run with the static value for a quarter of an hour."""
    values = dict(line.removeprefix("SET GLOBAL ").split(" = ") for line in static.sql)
    m = int(values["innodb_io_capacity_max"])
    bench = Bench(Settings(), server(Capacity(m // 2, m)))
    bench.turns(900)
    return bench


def test_where_no_m_moves_the_age_none_that_is_lower_is_advised() -> None:
    """Half a minute of light load is no reason for a twentieth of M: the settings in force are enough."""
    made = server(Capacity(200, 2_000))
    made.shows = {"flush_law": "soft-limit"}
    bench = Bench(Settings(), made)
    bench.turns(120)
    (kept, _) = static_value(bench.records, bench.state, load_of(bench.records))

    assert (kept.id, kept.sql) == ("static-io-capacity", ())
    assert "200/2000" in kept.title


@pytest.mark.parametrize(
    ("key", "gauge", "budget"),
    [
        ("max_recovery_seconds", "recovery_seconds", 20.0),
        ("max_shutdown_seconds", "shutdown_seconds", 30.0),
    ],
)
def test_the_static_value_keeps_the_budgets(key: str, gauge: str, budget: float) -> None:
    """A server left with the SQL of the advice stays within the budget that was configured."""
    free, bound = advised()["static-io-capacity"], advised(**{key: budget})["static-io-capacity"]

    assert getattr(settled(free).record.estimate, gauge) > budget
    assert f"{key} = {budget:g} allows no more" in bound.reason
    assert getattr(settled(bound).record.estimate, gauge) <= budget


def test_a_budget_that_no_static_value_keeps_is_named_with_its_figures() -> None:
    """Where the lowest set-point breaks a budget, advice says which, and how much it needs."""
    found = advised(max_recovery_seconds=2.5)

    assert "max_recovery_seconds cannot be kept" in found["budget-out-of-reach"].title
    assert "s now, and max_recovery_seconds is 2.5" in found["budget-out-of-reach"].reason
    assert "max_recovery_seconds = 2.5 is not kept by it" in found["static-io-capacity"].reason
    assert found["static-io-capacity"].sql == advised()["static-io-capacity"].sql


def test_a_budget_below_what_is_set_lowers_no_static_value_further() -> None:
    """Where the settings found hold a high age, advice says that they, too, keep the budget no better."""
    found = advised(Capacity(300, 600), max_recovery_seconds=20.0)

    assert "max_recovery_seconds = 20 is not kept by it" in found["static-io-capacity"].reason
    assert "the originals hold the age at " in found["budget-out-of-reach"].fix


def test_what_both_would_take_is_always_said_and_a_warning_only_where_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For the age now, at the set-point and with the settings found; none of it moves the static value."""
    times, static = (advised()[name] for name in ("recovery-and-shutdown", "static-io-capacity"))
    monkeypatch.setattr("tuner.core.setpoint.budgets.WARN_SECONDS", 5.0)
    warned = advised()

    for what in ("crash recovery", "shutdown"):
        assert re.search(
            rf"{what} \d+ s now, likely \d+ s and at most \d+ s at the set-point, "
            r"at most \d+ s with the originals",
            times.reason,
        )
    assert (times.severity, times.fix) == ("info", "")
    assert warned["recovery-and-shutdown"].severity == "warning"
    assert "max_recovery_seconds" in warned["recovery-and-shutdown"].fix
    assert warned["static-io-capacity"] == static


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("legacy", "% of the flush limit; the page demand"),
        ("mariadb-wakes", "% of the flush limit while the page cleaner is awake"),
        ("soft-limit", "is above the demand at the flush limit, where the age stays"),
        ("age-blind", "is above the demand; innodb_io_capacity decides the age"),
    ],
)
def test_a_static_value_promises_what_the_law_gives(law: str, said: str) -> None:
    """Where M does not decide the age, or not always, a static value is not said to hold one."""
    bench = Bench(Settings(), FakeServer(Capacity(225, 450)))
    bench.turns(60)
    state = replace(bench.state, facts=replace(bench.state.facts, flush_law=law))
    static = static_value(bench.records, state, load_of(bench.records))[0]

    assert said in static.reason


@pytest.mark.parametrize("odd", [{"new_density": 1.0}, {"demand": 1.0}])
def test_what_a_load_makes_dirty_at_the_end_changes_no_static_pair(odd: dict[str, float]) -> None:
    """It is for the demand seen: many pages dirtied now, or none as writers wait for redo, move no M."""
    bench = Bench(Settings(), server(FOUND))
    bench.turns(120)
    plain = static_value(bench.records, bench.state, load_of(bench.records))[0]
    last = bench.records[-1]
    assert last.estimate is not None
    then = replace(last, estimate=replace(last.estimate, **odd))

    assert static_value([*bench.records, then], bench.state, None)[0].sql == plain.sql


def test_advice_is_about_the_server_as_it_was_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """A setting that somebody changed while advise watched, as told to, is not advised once more."""
    bench = Bench(Settings(), FakeServer(Capacity(225, 450)))
    bench.turns(120)
    watched = Watched()
    watched.records = bench.records
    watched.state = replace(bench.state, facts=replace(bench.state.facts, flush_law="soft-limit"))
    tell(_advised(watched))

    assert "no-authority" in capsys.readouterr().out


@pytest.mark.parametrize("writer", [True, False])
def test_values_that_move_meanwhile_are_said_at_once(
    capsys: pytest.CaptureFixture[str], *, writer: bool
) -> None:
    """Beside an active InnoBrim, or another who sets M, the answer begins with how often M changed."""
    bench = Bench(Settings(), FakeServer(Capacity(225, 450)))
    bench.turns(120)
    watched = Watched()
    watched.state, watched.records = (
        bench.state,
        [
            replace(
                one,
                tick=replace(one.tick, reading=replace(one.tick.reading, writer=writer, io_capacity_max=m)),
            )
            for place, one in enumerate(bench.records)
            for m in [450 * (1 + place // 40)]
            if isinstance(one.tick.reading, Sample)
        ],
    )
    advised = _advised(watched)
    tell(advised)

    second = capsys.readouterr().out.splitlines()[1]
    assert ("InnoBrim is active here" in second) is not writer
    assert "innodb_io_capacity_max changed 2 times, between 450 and 1350" in second
    assert advised.beside in second


def test_no_static_setting_is_advised_where_the_provider_moves_both(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Beside a provider's own loop neither the loop's wish nor one setting for the load seen is printed."""
    bench = Bench(Settings(), server(FOUND))
    bench.turns(120)
    watched = Watched()
    watched.records = bench.records
    for managed in ("Google Cloud SQL", "Google Cloud SQL with optimized writes"):
        watched.state = replace(bench.state, facts=replace(bench.state.facts, managed=managed))
        tell(_advised(watched))
    ours, theirs = capsys.readouterr().out.split("[provider-moves-them]")

    assert "[static-io-capacity]" in ours
    assert not re.search(r"\[(static|set)-io-capacity\]", theirs)


@pytest.mark.parametrize(
    ("managed", "said"),
    [
        ("Amazon RDS", "the one pair below keeps the gain"),
        ("Google Cloud SQL with optimized writes", "leave both to them"),
        ("MySQL HeatWave", "its owner can set neither"),
        ("Aiven for MySQL", "its owner can set neither"),
        ("MariaDB SkySQL", "its owner can set neither"),
    ],
)
def test_a_pair_is_praised_only_where_the_owner_can_set_it(managed: str, said: str) -> None:
    """Where the provider moves C and M, or offers neither, that is said in the pair's place."""
    printed = asked("steady-1200iops", managed=managed).stdout

    assert said in printed
    assert ("one pair below" in printed) == (managed == "Amazon RDS")


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_verdict_is_the_first_line_and_the_exit_code(situation: str) -> None:
    """A person reads one line, a script one number, and both are told the same; in JSON as well."""
    name, shown, code = SITUATIONS[situation]
    said, machine = asked(name, **shown), asked(name, "--json", **shown)
    advised = msgspec.json.decode(machine.stdout, type=Advised, strict=True)

    assert said.stdout == (FOLDER / f"{situation}.txt").read_text(encoding="utf-8")
    assert (said.exit_code, machine.exit_code) == (code, code)
    assert {"gain": 0, "nothing": 5, "rising": 6, "no-load": 6, "cannot": 1}[advised.verdict.answer] == code


def test_no_pair_is_to_be_set_where_there_is_nothing_to_gain() -> None:
    """Beside "nothing to gain" no statement that sets C or M is printed: it would be a loss."""
    for situation, (_, _, code) in SITUATIONS.items():
        said = (FOLDER / f"{situation}.txt").read_text(encoding="utf-8")

        assert ("SET GLOBAL innodb_io_capacity" in said) == (code == 0 and "managed" not in situation)


def test_a_server_that_does_not_answer_is_no_verdict() -> None:
    """A script tells it from a server that cannot be controlled, and a person reads what to do."""
    found = asked("steady-1200iops", absent="127.0.0.1:3306 refuses connections")

    assert found.exit_code == 3
    assert "127.0.0.1:3306 refuses connections; start the server" in found.stderr


def test_a_server_too_slow_for_the_last_look_gets_its_verdict() -> None:
    """An hour beside a server that stalls is not thrown away by a statement at its end."""
    assert asked("steady-1200iops", slow=True).stdout == asked("steady-1200iops").stdout


def recorded(tmp_path: Path, name: str, *, hours: float) -> Path:
    """Return the recording of a scenario's server that was left alone."""
    clock, path = SimClock(), tmp_path / "before.db"
    server = LeftAlone(name, clock)
    inbox = SimInbox(Board(), clock)
    seconds = 3600.0 * hours
    Recorder(path, server, clock).run(
        Settings(), server.facts(), inbox, seconds=seconds, interval=1.0, told=lambda *_: None
    )
    return path


def test_a_recording_is_told_hour_by_hour(tmp_path: Path) -> None:
    """Each hour has its load, the pair that suits it, and what the loop would bring."""
    path = recorded(tmp_path, "step-up", hours=1.2)
    found = CliRunner().invoke(cli, ["advise", "--from", str(path), "--json"])
    advised = msgspec.json.decode(found.stdout, type=Advised, strict=True)
    (static,) = advised.advice
    pairs = [one.static for one in advised.hours if one.static is not None]

    assert found.exit_code == 0
    assert sum(one.seconds for one in advised.hours) == pytest.approx(3600 * 1.2, abs=60)
    assert advised.verdict.page_writes_saved is not None
    assert advised.verdict.page_writes_saved.likeliest == pytest.approx(0.735, abs=0.1)
    assert max(one.io_capacity_max for one in pairs) < advised.hours[0].in_force.io_capacity_max
    assert str(max(pairs, key=lambda one: one.io_capacity_max)) in static.title


def test_too_short_a_recording_is_no_verdict(tmp_path: Path) -> None:
    """Where no hour can be judged a script is not told that there is nothing to gain."""
    found = CliRunner().invoke(cli, ["advise", "--from", str(recorded(tmp_path, "step-up", hours=0.01))])

    assert found.exit_code == 1
    assert "no hour in it has 60 readings" in found.stderr


def test_a_recording_needs_no_server(tmp_path: Path) -> None:
    """What names a server beside ``--from`` is refused: it would not be asked."""
    found = CliRunner().invoke(cli, ["advise", "--from", str(tmp_path), "--socket", "/nowhere"])

    assert found.exit_code == 2
    assert "--socket" in found.stderr


def test_a_short_watch_with_one_peak_says_that_it_is_short_and_raises_nothing() -> None:
    """25 seconds, one of nine times the demand: the pair in force is left, and a longer watch asked for."""
    bench = Bench(Settings(), server(Capacity(200, 400)))
    bench.turns(25)
    last = bench.records[-1]
    assert last.estimate is not None
    peak = replace(last, estimate=replace(last.estimate, demand=9.0 * last.estimate.demand))
    static = static_value([*bench.records, peak], bench.state, None)[0]

    assert "less than a minute is too short a watch" in static.reason
    assert static.fix.startswith("watch for two minutes or longer")
    verdict = judged(bench.records, bench.state)
    assert (verdict.sure, "is a short time to watch" in verdict.depends[0]) == ("low", True)
    assert max([400, *(int(one.split()[-1]) for one in static.sql)]) == 400


@given(
    now=st.floats(0.0, 1e4),
    bounds=st.tuples(*[st.none() | st.floats(0.0, 1e4)] * 2),
    likely=st.none() | st.floats(0.0, 1e4),
    alone=st.booleans(),
)
def test_at_most_is_never_below_what_is_likely_or_was_seen(
    now: float, bounds: tuple[float | None, float | None], likely: float | None, *, alone: bool
) -> None:
    """Whoever plans an outage by "at most" is told no less than the likely time, or than what was seen."""
    found = Durations(now, *bounds).beside(likely=likely, seen=now if alone else None)
    told = [float(one) for one in re.findall(r"at most ([\d.]+)", found.describe("{:.6f}".format))]

    assert len(told) == sum(one is not None for one in bounds)
    assert found.set_point is None or likely is None or told[0] >= likely - 1e-6
    assert found.baseline is None or not alone or told[-1] >= now - 1e-6
