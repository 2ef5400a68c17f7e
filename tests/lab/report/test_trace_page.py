"""What the page of a recorded trace, or of a daemon's journal, promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.report.trace import Trace, read_trace, trace_of
from lab.report.trace_page import trace_page
from tests.factory import FACTS, estimate, missed, sample, tick
from tests.lab.report.reading import Page
from tests.lab.report.recorded import SILENT, record_loop
from tuner.journal.tables import Run
from tuner.records import Capacity, Decision, DecisionKind, Event, Lifecycle, Missed, Sample, TickRecord
from tuner.settings import Mode, Settings

SECONDS = 400
RUN = Run(1, 0.0, 0, "0.1.0", "", Settings(), FACTS, b"")
KEPT = Decision(DecisionKind.KEEP, "dead_band", "close enough")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the journal of a loop that tuned a server, which was silent for a while."""
    return record_loop(tmp_path_factory.mktemp("journal"), seconds=SECONDS)


@pytest.fixture(scope="module")
def trace(journal: Path) -> Trace:
    """Return it as series."""
    return read_trace(journal)


@pytest.fixture(scope="module")
def page(trace: Trace) -> Page:
    """Return its page."""
    return Page(trace_page(trace))


def of(*readings: Sample | Missed) -> Trace:
    """Return the trace of these readings, a tick each."""
    records = [
        TickRecord(tick(one, number=number), Lifecycle.RUNNING, Mode.ADVISORY, estimate(), KEPT)
        for number, one in enumerate(readings, 1)
    ]
    return trace_of("made", [RUN, *records])


def test_the_articles_charts_are_there_with_their_tables(page: Page) -> None:
    """Throughput, uncheckpointed bytes, ratio, C and M, pages, redo and more: numbers beside each."""
    assert [label.partition(":")[0] for label in page.plots] == [
        "Throughput, per second",
        "Uncheckpointed bytes, MiB",
        "Age ratio and set-point",
        "C and M, pages/s",
        "Pages flushed per second",
        "Dirty pages, % of the buffer pool",
        "Redo written, MiB/s",
        "Latency of writing statements, ms",
    ]
    assert len([rows for rows in page.tables if rows[0][0] == "seconds"]) == len(page.plots)
    assert all(address.startswith(("#", "data:")) for address in page.asked)


def test_silence_is_a_gap_in_every_line_and_is_said(trace: Trace, page: Page) -> None:
    """Readings that failed have no value, nor has the first after them a rate; the reason is on the page."""
    first, last = SILENT[0] - 1, SILENT[-1] - 1
    for name in ("row_changes", "checkpoint_age", "pages_flushed", "io_capacity_max"):
        assert trace.columns[name][first : last + 1] == [None] * len(SILENT)
    assert trace.columns["row_changes"][last + 1] is None
    assert trace.columns["checkpoint_age"][last + 1] is not None
    assert f"{len(SILENT)} of {SECONDS} readings failed: did not answer within 1 s" in page.words
    assert None in page.data["trace"]["series"]["checkpoint_age"]


def test_every_write_and_every_hold_is_a_line_and_a_mark(trace: Trace, page: Page) -> None:
    """Decisions with what was in force before and after; holds from when to when; both in the charts."""
    written = [one for one in trace.decisions if one.carried_out]
    assert written
    marks = page.data["trace"]
    assert len(marks["writes"]) == len(written)
    assert {code for _, _, code in marks["holds"]} == {hold.code for hold in trace.holds} >= {"stale"}
    stale = next(hold for hold in trace.holds if hold.code == "stale")
    assert SILENT[0] - 1 <= stale.since < stale.until <= SILENT[-1] + 2
    assert stale.ended
    _, *lines = page.table("C/M from")
    assert [one[3] for one in lines if one[1] != "would set"] == [str(one.after) for one in written]


@pytest.mark.parametrize("kind", [one for one in DecisionKind if one is not DecisionKind.KEEP])
def test_a_write_is_one_mark_in_the_charts(kind: DecisionKind) -> None:
    """The event that says the same of it, as of each step of a trial, is no second one."""
    record = TickRecord(
        tick(sample(1.0)),
        Lifecycle.RUNNING,
        Mode.ACTIVE,
        estimate(),
        Decision(kind, kind.value, "", Capacity(400, 800), (("innodb_io_capacity_max", 800),)),
        events=(Event(code=kind.value, message="done"),),
    )
    marks = Page(trace_page(trace_of("made", [RUN, record]))).data["trace"]

    assert (len(marks["writes"]), marks["events"]) == (1, [])


def test_an_advisory_trace_says_what_would_have_been_set(tmp_path: Path) -> None:
    """Nothing was written, and the page says both that and what an active loop would have done."""
    found = read_trace(record_loop(tmp_path, seconds=120, mode=Mode.ADVISORY))

    page = Page(trace_page(found))

    assert "Advisory throughout: nothing was written to the server." in page.words
    assert {cells[1] for cells in page.table("C/M from")[1:]} == {"would set"}
    assert page.data["trace"]["writes"] == []


def test_rates_are_the_counters_own(trace: Trace) -> None:
    """One second's rates are what the counters grew by."""
    found = of(sample(0), sample(1), sample(3, pages_sync=60))

    assert found.columns["commits"] == [None, 1000.0, 1000.0]
    assert found.columns["sync_pages"] == [None, 0.0, 30.0]
    assert found.columns["redo_rate"] == [None, 1e6, 1e6]
    assert (found.sync_pages, found.stall_waits) == (60, 0)
    assert max(one for one in trace.columns["commits"] if one is not None) < 20_000


def test_a_restart_or_another_server_is_no_rate() -> None:
    """Counters that began anew would be millions a second, or less than nothing."""
    found = of(sample(0), sample(1, uptime=1.0, commits=5), sample(2, identity="other", commits=10**9))

    assert found.columns["commits"] == [None, None, None]


def test_counters_that_are_turned_on_are_no_rate() -> None:
    """Without InnoDB's counters the readings count elsewhere: the step from one to the other says nothing."""
    found = of(sample(0, degraded=True, pages_adaptive=0), sample(1), sample(2))

    assert found.columns["pages_flushed"] == [None, None, 400.0]


def test_a_latency_counts_until_it_is_asked_for_again() -> None:
    """The server is asked every ten seconds: a line between, and none while nothing is written for longer."""
    counted = [(0, 0.0)] * 3 + [(100, 0.4)] * 10 + [(300, 2.4)] * 20

    found = of(
        *(
            sample(second, write_statements=statements, write_time=seconds)
            for second, (statements, seconds) in enumerate(counted)
        )
    )

    latency = found.columns["write_latency"]
    assert latency[:3] == [None] * 3
    assert latency[3:13] == [pytest.approx(0.004)] * 10
    assert latency[13:26] == [pytest.approx(0.01)] * 13
    assert latency[26:] == [None] * 7


def test_a_long_silence_is_no_rate() -> None:
    """What was written in an hour of which nothing is known is not spread over one point."""
    readings = [sample(second) for second in range(10)]

    found = of(*readings, sample(3600), sample(3601))

    assert found.columns["commits"][10:] == [None, 1000.0]


def test_without_counters_nothing_is_drawn_that_was_not_seen() -> None:
    """A modified age and sync flushing that the readings do not have are left out, and that is said."""
    found = of(*(sample(second, degraded=True) for second in range(5)), missed(6))

    page = Page(trace_page(found))

    assert "modified_age" not in page.data["trace"]["series"]
    assert "sync_pages" not in page.data["trace"]["series"]
    assert "sync flushing is not seen" in page.words


def test_hours_are_thinned_and_their_worst_second_is_not() -> None:
    """A page of three hours stays small, and a dip of one second is still on it."""
    stalled = 6000
    commits = [1000 * second - (990 if second >= stalled else 0) for second in range(10_800)]
    readings = [
        replace(sample(0), monotonic=float(s), wall=float(s), commits=n) for s, n in enumerate(commits)
    ]

    text = trace_page(of(*readings))

    assert len(text.encode()) < 700_000
    assert min(one for one in Page(text).data["trace"]["series"]["commits"] if one is not None) == 10


def test_names_cannot_become_markup() -> None:
    """Reasons that a server gave are shown as text."""
    evil = "</script><script>alert(1)</script>"
    reading = replace(missed(1), reason=evil)
    decision = replace(KEPT, kind=DecisionKind.SET, detail=evil, target=Capacity(1, 2), steps=(("a", 1),))
    record = TickRecord(tick(sample(2)), Lifecycle.RUNNING, Mode.ACTIVE, None, decision)
    run = replace(RUN, facts=replace(FACTS, endpoint=evil))
    silent = TickRecord(tick(reading), Lifecycle.RUNNING, Mode.ACTIVE, None, KEPT)

    text = trace_page(trace_of("made", [run, silent, record]))

    assert "<script>alert" not in text
    assert Page(text).words.count(evil) >= 3


@pytest.mark.parametrize("readings", [(missed(0), missed(1)), (sample(0),), (sample(0), missed(1))])
def test_a_trace_of_hardly_anything_has_a_page(readings: tuple[Sample | Missed, ...]) -> None:
    """A server that never answered, or once: what is known is shown, and nothing breaks."""
    page = Page(trace_page(of(*readings)))

    assert "In figures" in page.words
    assert len(page.plots) == len([rows for rows in page.tables if rows and rows[0][0] == "seconds"])
