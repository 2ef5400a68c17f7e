"""The status of the daemon, as the API answers it and as ``innobrim status`` prints it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace

from api.models import Status
from api.views import parked_of, status_of
from tests.api.factory import FACTS, START, application, estimate, get, missed, over, record, sample
from tuner.cli.status import table
from tuner.daemon.board import Board
from tuner.daemon.ticklog import canonical
from tuner.findings.redo_growth import Growing
from tuner.records import Capacity, Facts, Hold, HoldCode, Remedy, TickRecord, Window
from tuner.settings import Mode, Settings

IN_FORCE = Capacity(225, 450)
BUSY = record(7, occurrences=("backup_lock", "ddl"))
FULL = "database or disk is full"


def shown(tick: TickRecord | None = None, *, facts: Facts = FACTS, journal: str = "") -> str:
    """Return what ``innobrim status`` prints of a tick, a server and a journal."""
    return table(status_of(tick or record(7), facts=facts, wall=START, process=None, journal=journal))


def test_why_a_reading_failed_is_said_once() -> None:
    """A stale hold has the reason in it, so that what helps against a wrong password is not there twice."""
    gone = missed(10)
    stale = Hold(HoldCode.STALE, 105.0, f"last good sample 6 s ago: {gone.reason}")

    assert shown(record(10, reading=gone, holds=(stale,))).count(gone.reason) == 1
    assert shown(record(10, reading=gone)).count(gone.reason) == 1


def test_limits_that_are_taken_from_the_server_are_shown() -> None:
    """A server whose limits are not those of our arithmetic says so in the status, and no other one does."""
    own = "log_concurrency_margin is 65536 on the server and 131072 by ours"

    assert own in shown(facts=replace(FACTS, own_limits=(own,)))
    assert "limits" not in shown()


def test_how_a_release_is_known_is_shown() -> None:
    """The status tells by which law a server flushes, and whether its release was ever measured."""
    old = replace(FACTS, family="mysql", version="5.7.22", flush_law="legacy-57")

    assert "flush law legacy-57" in shown(facts=old)
    assert "this release was measured live" in shown(facts=old)
    assert "known from source" in shown(facts=replace(old, version="5.7.44"))
    assert "support " not in shown(facts=replace(FACTS, family="simulated"))


def test_how_far_the_redo_log_is_grown_is_shown() -> None:
    """Who set redo.grow_to reads the size now, wanted and found, what is in the way, and when next."""

    def told(growing: Growing) -> str:
        return table(status_of(record(7), facts=FACTS, wall=START, process=None, growth=growing))

    again = datetime(2026, 11, 27, 14, 30, tzinfo=UTC).timestamp()
    assert "1 GiB; grow_to 2 GiB: held: paused\n" in told(Growing(2**31, 2**30, None, "held: paused"))
    failed = "1 GiB; grow_to 2 GiB, from 512 MiB found: gave up; next try 2026-11-27 14:30:00 UTC\n"
    assert failed in told(Growing(2**31, 2**30, None, "gave up", 2**29, again))
    assert "redo log" not in shown()


def test_the_policy_is_the_one_that_rules_this_server() -> None:
    """A tick without an estimate, as a daemon's last one, has the policy that was asked for."""
    asked = replace(record(7), decision=replace(record(7).decision, policy="cascade"))
    policies = [
        status_of(asked, facts=replace(FACTS, flush_law=law), wall=START, process=None).decision.policy
        for law in ("soft-limit", "legacy")
    ]

    assert policies == ["pace", "cascade"]


def test_status_is_complete() -> None:
    """Status shows loop, server, estimate, limits, originals and what the daemon itself costs."""
    found = msgspec.json.decode(get(over(record()), "/v1/status").content, type=Status)

    assert found.in_force == record().tick.reading.capacity  # type: ignore[union-attr] # a good reading
    assert found.server == FACTS
    assert None not in {found.estimate, found.limits, found.originals}
    assert 0.0 <= found.seconds_old < 5.0
    assert found.process is not None
    assert found.process.resident_bytes > 2**20
    assert found.process.cpu_seconds > 0


def test_status_tells_how_long_a_hold_lasts() -> None:
    """A hold is shown with its age and who clears it, in people's time."""
    held = record(10, holds=(Hold(HoldCode.PAUSED, 105.0, "a person asked", (Remedy.RESUME,)),))
    (hold,) = get(over(held), "/v1/status").json()["holds"]

    assert (hold["seconds"], hold["since"], hold["clears"]) == (5.0, START + 5.0, "innobrim resume")


def test_status_has_the_windows_that_are_active() -> None:
    """Each with its end, what it asks for, whose value counts instead, and the budget that is in force."""
    night = Window("night", START, START + 601.0, max_recovery_seconds=60.0, set_point=0.5)
    backup = Window(
        "backup", START, START + 61.0, max_recovery_seconds=90.0, drain=True, drain_waits="held: resizing"
    )
    app = over(record(schedule=(night, backup)), settings=Settings(set_point=0.7))
    found = get(app, "/v1/status").json()

    assert found["budgets"]["recovery"]["allowed"] == 60.0
    first, second = found["schedule"]
    assert first == {
        "name": "night",
        "began": START,
        "ends": START + 601.0,
        "seconds_left": 600.0,
        "effects": {"set_point": 0.5, "max_recovery_seconds": 60.0},
        "overruled": {"set_point": "person"},
        "waits": None,
    }
    assert second["overruled"] == {"max_recovery_seconds": "schedule night"}
    assert second["waits"] == "held: resizing"


def test_status_names_no_statement_that_a_provider_refuses() -> None:
    """What ends a hold on a managed server is said in its provider's way there too."""
    held = record(10, holds=(Hold(HoldCode.INERT, 105.0, "off", (Remedy.ADAPTIVE_FLUSHING,)),))
    app = over(held, facts=replace(FACTS, managed="Amazon RDS"))
    (hold,) = get(app, "/v1/status").json()["holds"]

    assert "ParameterName=innodb_adaptive_flushing,ParameterValue=ON" in hold["clears"]
    assert "SET GLOBAL innodb" not in hold["clears"]


def test_missed_reading_is_said() -> None:
    """After a failed reading status shows the reason instead of old values."""
    found = get(over(record(1, reading=missed(1), estimate=None)), "/v1/status").json()

    assert "did not answer" in found["missed"]
    assert found["in_force"] is None


def test_reading_before_the_first_tick_says_so(board: Board) -> None:
    """Before the first tick status is 503 with a reason, not an empty answer."""
    answer = get(application(board), "/v1/status")

    assert answer.status_code == 503
    assert "first tick" in answer.json()["detail"]


def test_status_survives_numbers_that_are_none() -> None:
    """A value that is not a number is null, so that every reader can parse the answer."""
    made = record(1, estimate=estimate(authority=float("nan")))

    assert get(over(made), "/v1/status").json()["estimate"]["authority"] is None


def test_a_journal_that_cannot_be_written_shows(board: Board) -> None:
    """While it cannot, the status has the reason and a gauge is 0; ticks that are lost are counted."""
    app = application(board)

    def scraped() -> dict[str, float]:
        found = re.findall(r"^(innobrim_journal_\w+) (\S+)$", get(app, "/metrics").text, re.MULTILINE)
        return {name: float(value) for name, value in found}

    board.journal(FULL, 7)
    board.publish(record(1), Settings(), FACTS)
    assert get(app, "/v1/status").json()["journal"] == FULL
    assert scraped() == {"innobrim_journal_up": 0.0, "innobrim_journal_lost_ticks_total": 7.0}

    board.journal("", 7)
    board.publish(record(2), Settings(), FACTS)
    assert get(app, "/v1/status").json()["journal"] is None
    assert scraped()["innobrim_journal_up"] == 1.0
    assert f"cannot be written: {FULL}; the newest ticks are kept in memory" in shown(journal=FULL)
    assert "cannot be written" not in shown()


def test_what_goes_on_beside_the_load_is_named() -> None:
    """Status, its table and the log name it while it lasts, and the table says that nothing is learned."""
    busy, quiet = (status_of(one, facts=FACTS, wall=START, process=None) for one in (BUSY, record(7)))

    assert msgspec.to_builtins(busy)["occurrences"] == ("backup_lock", "ddl")
    assert quiet.occurrences == ()
    assert "backup_lock, ddl; until that is over, nothing is learned" in shown(BUSY)
    assert "learned" not in shown()
    assert canonical(BUSY)["occurrences"] == ["backup_lock", "ddl"]
    assert "occurrences" not in canonical(record(7))


def at_work() -> TickRecord:
    """Return the tick of an active loop whose own pair is in force."""
    reading = sample(io_capacity=IN_FORCE.io_capacity, io_capacity_max=IN_FORCE.io_capacity_max)
    return replace(record(reading=reading), mode=Mode.ACTIVE)


def test_a_park_has_slack_and_stays_inside_the_limits() -> None:
    """It is never below what the loop has written, never above the limit, and M is a whole multiple of C."""
    wide = parked_of(at_work(), replace(FACTS, flush_law="legacy"), Settings())
    low = Settings(max_io_capacity_max=500)
    narrow = parked_of(at_work(), replace(FACTS, flush_law="legacy"), low)

    assert wide is not None
    assert narrow is not None
    assert wide.io_capacity_max > IN_FORCE.io_capacity_max
    assert wide.io_capacity_max % wide.io_capacity == 0
    assert narrow.io_capacity_max <= low.max_io_capacity_max


def test_nothing_is_promised_where_nothing_is_known() -> None:
    """Without a reading, settings, or a flush law that is known there is no pair to show."""
    facts = replace(FACTS, flush_law="legacy")

    assert parked_of(record(reading=missed(1)), facts, Settings()) is None
    assert parked_of(at_work(), None, Settings()) is None
    assert parked_of(at_work(), facts, None) is None
    assert parked_of(at_work(), replace(FACTS, flush_law="unheard of"), Settings()) is None


def test_no_authority_is_claimed_where_no_m_moves_the_age() -> None:
    """A share of what M asks for means nothing on MariaDB with its defaults, and is not printed there."""
    assert "of what the flush law asks for" in shown()
    assert "of what the flush law asks for" not in shown(facts=replace(FACTS, flush_law="soft-limit"))


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("soft-limit", "innodb_max_dirty_pages_pct_lwm = 0.001 lets it move the age"),
        ("age-blind", "MariaDB 10.5.24, 10.6.17"),
        ("mariadb-wakes", "in between no innodb_io_capacity_max moves the age"),
    ],
)
def test_a_law_by_which_m_does_less_is_explained(law: str, said: str) -> None:
    """Where M does not move the age, or not always, a line of its own says so and what would help."""
    assert re.search(
        rf"^flush law +{law}: .*{re.escape(said)}", shown(facts=replace(FACTS, flush_law=law)), re.MULTILINE
    )
    assert not re.search("^flush law", shown(), re.MULTILINE)
    assert "SET GLOBAL" not in shown(facts=replace(FACTS, flush_law=law, managed="Amazon RDS"))


def test_the_server_has_its_name() -> None:
    """The product is named as its makers do, with the provider whose service it is."""
    rented = replace(FACTS, family="percona", version="8.0.46-37", managed="Amazon RDS")

    assert "Percona Server 8.0.46-37 on Amazon RDS at" in shown(facts=rented)


def test_the_law_that_decided_has_its_name() -> None:
    """Who reads status knows which policy was asked; where none was, as under a hold, none is named."""
    asked = record(7)
    decided = replace(asked, decision=replace(asked.decision, policy="bayes"))
    nobody = replace(asked, decision=replace(asked.decision, policy=""))

    assert re.search(r"^policy +bayes; innobrim policies explains it$", shown(decided), re.MULTILINE)
    assert not re.search(r"^policy ", shown(nobody), re.MULTILINE)
