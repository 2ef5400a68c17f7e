"""What ``innobrim watch`` asks a daemon for, what it makes of silence, and the picture that it draws."""

from __future__ import annotations

import io
import itertools
import threading
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from rich.console import Console
from rich.segment import Segment

from api.models import Events, HistoryAnswer, NumberedEvent, Process, Status
from api.views import status_of
from tests import factory
from tuner.cli import watch
from tuner.cli.answer import Unreachable
from tuner.cli.picture import HISTORY, SHOWN, Picture, View
from tuner.cli.status import rows
from tuner.cli.watch import LONGEST_WAIT, Follower, Screen
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    Event,
    Hold,
    HoldCode,
    Lifecycle,
    Overlay,
    Remedy,
    TickRecord,
)
from tuner.settings import Mode, Settings

AnswerT = TypeVar("AnswerT")

NOW = 1000.0
"""Monotonic time of the answer."""

SECONDS = 300
"""That the history goes back."""

PROCESS = Process(
    version="0.1.0",
    started=factory.EPOCH,
    interval=1.0,
    resident_bytes=60 * 2**20,
    cpu_seconds=1.0,
    core_share=0.002,
)


def record(number: int = SECONDS, **changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return an active tick of the factory's steady load, ``number`` seconds after its first."""
    given: dict[str, Any] = {
        "tick": factory.tick(factory.sample(float(number)), number=number),
        "lifecycle": Lifecycle.RUNNING,
        "mode": Mode.ACTIVE,
        "estimate": factory.estimate(),
        "decision": Decision(
            DecisionKind.KEEP,
            "dead_band",
            "450 pages/s hold the age",
            set_point=0.72,
            set_point_source="headroom",
        ),
        "originals": Capacity(10_000, 20_000),
        "changes_last_hour": 7,
    }
    return TickRecord(**(given | changes))


def status(made: TickRecord | None = None, **changes: Any) -> Status:  # noqa: ANN401 - any field
    """Return the answer to ``GET /v1/status`` right after a tick."""
    made = made or record()
    found = status_of(made, facts=factory.FACTS, settings=Settings(), wall=made.tick.wall, process=PROCESS)
    return replace(found, **changes)


def history(gap: range = range(0), **columns: float) -> HistoryAnswer:
    """Return the answer to ``GET /v1/history`` up to the last tick; nothing was read in the gap."""
    values = {
        "checkpoint_age": 0.7 * factory.A,
        "stall_point": float(factory.LIMITS.stall_point),
        "sync_point": float(factory.LIMITS.sync_point),
        "flush_limit": float(factory.A),
        "set_point": 0.72,
        "io_capacity": 225.0,
        "io_capacity_max": 450.0,
        "redo_rate": 1e6,
        "flush_rate": 400.0,
        "sync_rate": 0.0,
        "lru_rate": 0.0,
        "row_rate": 3000.0,
    } | columns
    made: dict[str, list[float | None]] = {
        name: [None if second in gap else values[name] for second in range(SECONDS)] for name in HISTORY
    }
    made["time"] = [factory.EPOCH + second for second in range(SECONDS)]
    return HistoryAnswer(factory.EPOCH, factory.EPOCH + SECONDS, 1.0, made, {}, oldest=factory.EPOCH)


def event(number: int, code: str, message: str) -> NumberedEvent:
    """Return one event, so many seconds after the first sample."""
    made = Event(code, message, wall=factory.EPOCH + number)
    return NumberedEvent(number, made.wall, made.code, made.message, made.who)


def view(now: Status | None = None, past: HistoryAnswer | None = None, **changes: Any) -> View:  # noqa: ANN401 - any field
    """Return all that is known of a daemon that holds a steady load."""
    now = now or status()
    made = View(
        status=now,
        answered=NOW,
        history=past or history(),
        asked=NOW,
        span=float(SECONDS),
        events=(event(1, "mode", "mode advisory → active"), event(9, "set", "C/M → 225/450")),
    )
    return replace(made, **changes)


def segments(
    found: View | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    **look: Any,  # noqa: ANN401 - any field
) -> list[list[Segment]]:
    """Return the picture as rich draws it."""
    console = Console(width=size[0], height=size[1], color_system="truecolor", legacy_windows=False)
    made = Picture(found or view(), **look)
    return console.render_lines(made, console.options.update(height=size[1]), pad=False)


def drawn(found: View | None = None, **look: Any) -> list[str]:  # noqa: ANN401 - any field
    """Return the picture as plain lines."""
    return ["".join(part.text for part in line) for line in segments(found, **look)]


class Daemon:
    """A daemon that says what a test puts into it, and nothing at all where that is None."""

    def __init__(self) -> None:
        self.status: Status | None = status()
        self.history = history()
        self.events = Events((event(1, "mode", "mode advisory → active"),), run="18bcfe56800", gap=False)
        self.asked: list[str] = []

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return the answer to a path."""
        self.asked.append(path)
        if self.status is None:
            raise Unreachable("connection refused")
        found = next(one for one in (self.status, self.history, self.events) if isinstance(one, answer))
        assert isinstance(found, answer)
        return found

    def tick(self, number: int) -> None:
        """Make another tick the newest."""
        self.status = status(record(number))


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now


@pytest.fixture
def daemon() -> Daemon:
    """Return a daemon that answers."""
    return Daemon()


@pytest.fixture
def clock() -> Time:
    """Return a clock."""
    return Time()


@pytest.fixture
def follower(daemon: Daemon, clock: Time) -> Follower:
    """Return one that asks it every second."""
    return Follower(daemon, interval=1.0, span=float(SECONDS), monotonic=clock, wall=lambda: factory.EPOCH)


def test_a_tick_costs_the_daemon_one_status(daemon: Daemon, clock: Time, follower: Follower) -> None:
    """Numbers and events are asked for anew only when a column of the charts is full."""
    follower.ask()
    for _ in range(2):
        clock.now += 1.0
        daemon.asked.clear()
        follower.ask()
        assert daemon.asked == ["/v1/status"]
    clock.now += 1.0
    follower.ask()

    assert [path.partition("?")[0] for path in daemon.asked[-2:]] == ["/v1/history", "/v1/events"]


@pytest.mark.parametrize("news", [{"changes_last_hour": 8}, {"process": replace(PROCESS, started=5.0)}])
def test_what_happened_is_asked_for_when_something_did(
    daemon: Daemon, follower: Follower, news: dict[str, Any]
) -> None:
    """A write, and another daemon in the place of the first, are followed by their events at once."""
    follower.ask()
    daemon.events = Events((event(9, "set", "C/M → 300/600"),), run="18bcfe56800", gap=False)
    daemon.status = replace(status(record(SECONDS + 1)), **news)

    assert [one.code for one in follower.ask().events] == ["set"]


def test_silence_keeps_what_was_known_and_is_asked_later_and_later(
    daemon: Daemon, clock: Time, follower: Follower
) -> None:
    """A daemon that is gone leaves its last answer, with since when and why; one never there is an error."""
    found, daemon.status = daemon.status, None
    with pytest.raises(Unreachable, match="connection refused"):
        follower.ask()
    daemon.status = found
    before = follower.ask()
    daemon.status = None
    waits: list[float] = []
    for _ in range(7):
        clock.now += 1.0
        silent = follower.ask()
        waits.append(follower.due - clock.now)

    assert (silent.status, silent.gone, silent.gone_since) == (
        before.status,
        "connection refused",
        factory.EPOCH,
    )
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_WAIT, LONGEST_WAIT]


def test_the_second_question_comes_after_an_interval(clock: Time, follower: Follower) -> None:
    """Two questions at once would tell the same tick twice."""
    follower.ask()

    assert follower.due == clock.now + 1.0


def test_keys_are_heard_while_a_slow_daemon_thinks(
    daemon: Daemon, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever presses q does not wait for an answer that may never come."""
    view = follower.ask()
    answered, keys = threading.Event(), iter(["", "", "q"])
    monkeypatch.setattr(daemon, "get", lambda *_: answered.wait(60.0))
    monkeypatch.setattr(watch, "_pressed", lambda _: next(keys))
    follower.due = 0.0

    Screen(follower, view, Console(file=io.StringIO(), force_terminal=True)).run()

    assert next(keys, None) is None
    answered.set()


def test_a_daemon_that_is_back_is_asked_for_everything(
    daemon: Daemon, clock: Time, follower: Follower
) -> None:
    """A new daemon's numbers take the place of the old one's, and waits begin anew."""
    follower.ask()
    daemon.status = None
    follower.ask()
    follower.ask()
    daemon.tick(SECONDS + 101)
    daemon.history = history(gap=range(200, 290))
    found = follower.ask()

    assert (found.gone, found.history) == ("", daemon.history)
    daemon.status = None
    follower.ask()
    assert follower.due - clock.now == 1.0


def test_every_column_that_is_drawn_is_one_that_the_daemon_keeps() -> None:
    """What is asked for is in the history's own list."""
    from api.read import HISTORY_COLUMNS  # noqa: PLC0415 - the web framework, for this alone

    assert set(HISTORY) <= set(HISTORY_COLUMNS)


CHARTS = ("age ", "C and M", "redo", "pages/s", "row changes/s")
GONE = {"gone": "connection refused", "gone_since": factory.EPOCH}


def row(lines: list[str], label: str) -> str:
    """Return the one line with that label."""
    (found,) = [line for line in lines if line.startswith(label)]
    return found


def held(code: HoldCode) -> View:
    """Return what is known of a daemon under a hold."""
    return view(status(record(holds=(Hold(code, factory.EPOCH, "somebody set M to 800", (Remedy.RESUME,)),))))


def test_a_small_terminal_has_all_that_matters() -> None:
    """In 80 × 24 there is whether it works, what it does and why, charts, holds, and what was."""
    lines = drawn()

    assert "WORKING" in lines[0]
    assert "MySQL 9.7.4" in lines[0]
    assert "63% of max checkpoint age" in row(lines, "age ")
    assert "C 225, M 450" in row(lines, "C and M")
    assert all(row(lines, label) for label in CHARTS)
    assert any("C/M → 225/450" in line for line in lines)
    assert "q quit" in lines[-1]


@pytest.mark.parametrize(
    "found",
    [
        view(),
        held(HoldCode.FOREIGN_CHANGE),
        view(status(record(mode=Mode.ADVISORY, advisory="the configuration says so"))),
        view(status(record(override_ends=factory.sample(float(SECONDS)).monotonic + 552.0))),
        view(status(record(overlay=Overlay({"max_io_capacity_max": 6000.0}, "token oncall", 0.0)))),
        view(status(missed="did not answer within 1 s")),
    ],
)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_its_words_are_those_of_status_and_none_is_cut(found: View, width: int) -> None:
    """What ``innobrim status`` says of holds, decisions and what is under way is there as a whole."""
    shown = " ".join(" ".join(drawn(found, size=(width, 90))).split())
    said = [(label, text) for label, text in rows(found.status) if label in SHOWN]

    assert said
    for _, text in said:
        assert " ".join(text.split()) in shown


@pytest.mark.parametrize("size", list(itertools.product((20, 40, 80, 119, 120, 300), (4, 10, 24, 50, 100))))
def test_every_size_has_a_picture_of_its_own(size: tuple[int, int]) -> None:
    """A picture has as many lines as the terminal, none too long, and always the verdict."""
    lines = drawn(size=size)

    assert len(lines) == size[1]
    assert max(map(len, lines)) <= size[0]
    assert lines[0].split()[0] == "WORKING"


def test_set_point_and_sync_flushing_lie_across_the_age() -> None:
    """Each has its line at its own height, in a colour of its own."""
    lines = segments(size=(80, 60))
    first = next(index for index, line in enumerate(lines) if line and line[0].text.startswith("age "))
    across = {
        str(part.style.color.name): index - first
        for index, line in enumerate(lines[first : first + 8], first)
        for part in line
        if part.style and part.style.color and "┄" in part.text
    }
    limits = factory.LIMITS

    assert across["red"] == 7 - int(8 * limits.sync_point / limits.stall_point)
    assert across["cyan"] == 7 - int(8 * 0.72 * factory.A / limits.stall_point)


def test_a_gap_in_samples_is_a_gap_in_every_chart() -> None:
    """Where nothing was read, a chart has neither a column nor a base line; a rate of 0 has a base line."""
    whole, holed = drawn(), drawn(view(past=history(gap=range(100, 200))))

    for label in CHARTS[1:]:
        assert " " not in row(whole, label)[15:50]
        broken = row(holed, label)[15:50]
        assert broken[14:21].isspace()
        assert " " not in broken[:10] + broken[26:]
    assert row(drawn(view(past=history(flush_rate=0.0))), "pages/s")[15:50] == "▁" * 35


def test_sync_flushing_is_said_however_little() -> None:
    """A single page of it in the time shown is in the figures of its chart."""
    assert "max sync 1" in row(drawn(view(past=history(sync_rate=0.6))), "pages/s")
    assert "max sync" not in row(drawn(), "pages/s")


@pytest.mark.parametrize(
    ("found", "word", "more"),
    [
        (view(), "WORKING", "active"),
        (view(status(record(mode=Mode.ADVISORY))), "ADVISORY", "nothing is written"),
        (held(HoldCode.FOREIGN_CHANGE), "HELD", "foreign_change"),
        (view(status(seconds_old=40.0)), "LOOP STANDS", "its last tick is 40 s old"),
        (view(status(missed="did not answer within 1 s")), "NO READING", "did not answer within 1 s"),
        (view(**GONE), "NO ANSWER", "since 00:00:00 UTC"),
        (view(**GONE, refused=True), "TOKEN REFUSED", "since 00:00:00 UTC"),
        (
            view(status(record(decision=Decision(DecisionKind.EMERGENCY, "emergency", "M is raised")))),
            "EMERGENCY",
            "MySQL",
        ),
    ],
)
def test_the_first_words_tell_whether_it_works(found: View, word: str, more: str) -> None:
    """Each way of not working has a word of its own, and what is known of it beside it."""
    first = drawn(found, size=(140, 24))[0]

    assert first.strip().startswith(word)
    assert more in first


def test_an_old_picture_is_kept_and_dimmed() -> None:
    """A daemon that is gone leaves its last figures, all of them dim, below a line that says since when."""
    first, why, *rest = segments(view(**GONE))

    assert "NO ANSWER  since 00:00:00 UTC" in "".join(part.text for part in first)
    assert "connection refused" in "".join(part.text for part in why)
    assert all(part.style and part.style.dim for line in rest[:-1] for part in line if part.text.strip())


def test_no_word_of_a_daemon_steers_the_terminal() -> None:
    """An escape sequence in a reason that somebody gave is shown, not obeyed."""
    evil = event(3, "override", "\x1b[2Jgone\r\n\x9b31m")
    lines = drawn(replace(view(), events=(evil,)), size=(80, 40))

    assert all(line.isprintable() for line in lines)
    assert any("?[2Jgone" in line for line in lines)
